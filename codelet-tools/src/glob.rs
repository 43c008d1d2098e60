//! `Glob`: finds files by name, newest first.

use crate::arguments;
use crate::files;
use crate::path::Paths;
use crate::run_blocking::INTERRUPTED;
use crate::tool_context::{ToolContext, judged, spec};
use crate::walk::{self, Pattern, Unread, Walked};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, Parameters};
use codelet_text::short::{counted, grouped};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Files that are shown.
const SHOWN: usize = 200;
/// Files that are sorted; more are only counted.
const SORTED: usize = 100_000;

/// The tool.
pub(crate) struct Glob {
    spec: ToolSpec,
    context: Arc<ToolContext>,
}

impl Glob {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "folder"},
            },
            "required": ["pattern"],
        });
        Glob {
            spec: spec("Glob", include_str!("glob.md"), parameters),
            context: Arc::clone(context),
        }
    }
}

/// The start folder of the walk, and the pattern below it. Literal folders of the pattern become part of the path that
/// is judged, so the walk cannot reach anything above it.
fn asked(parameters: &Parameters, paths: &Paths) -> Result<(String, Pattern), String> {
    let pattern = arguments::text(parameters, "pattern")?;
    if pattern.starts_with('!') {
        return Err(
            "`pattern` says what is looked for, such as *.rs, and nothing that is left out; a `!` that belongs to a name is written \\!"
                .to_owned(),
        );
    }
    let folder = arguments::optional_text(parameters, "path")?.unwrap_or(".");
    let is_magic = |piece: &str| piece.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    let pieces: Vec<&str> = pattern.split('/').collect();
    let below = |named: &[&str]| match named {
        [] => folder.to_owned(),
        // A pattern that starts with a slash or `~` is a full path.
        _ if pattern.starts_with(['/', '~']) => format!("{}/", named.join("/")),
        _ => format!("{folder}/{}", named.join("/")),
    };
    let is_folder = |named: &[&str]| {
        let place = paths.resolve(&below(named));
        place.is_ok_and(|place| walk::is_name(named[named.len() - 1], &place.path))
    };
    let plain = (0..pieces.len() - 1)
        .take_while(|&at| !is_magic(pieces[at]) || is_folder(&pieces[..=at]))
        .count();
    let (named, rest) = pieces.split_at(plain);
    if rest.iter().all(|piece| piece.is_empty()) {
        return Err("`pattern` is empty".to_owned());
    }
    if rest.contains(&"..") {
        return Err("`pattern` has `..` after a wildcard; name the folder by `path`".to_owned());
    }
    let folder = below(named);
    let root = paths.resolve(&folder)?.path;
    let pattern = Pattern::new(&rest.join("/"), &root).map_err(|error| format!("`pattern`: {error}"))?;
    // Below a literal folder, a name matches only files directly in it.
    let is_by_path = !named.is_empty() && rest.len() == 1;
    Ok((folder, if is_by_path { pattern.by_path() } else { pattern }))
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, parameters: &Parameters) -> Action {
        arguments::search(parameters)
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let (folder, _) = asked(parameters, &self.context.paths)?;
        self.context.to_look_at(&folder)
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let pattern = parameters.str("pattern").unwrap_or_default();
        match parameters.str("path").filter(|path| !path.is_empty()) {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern.to_owned(),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let asked = move || {
            let (folder, pattern) = asked(call.parameters, &self.context.paths)?;
            let path = judged(call.permitted)?;
            Ok((folder, path, pattern))
        };
        let work =
            |context: &ToolContext, (folder, path, pattern): (String, PathBuf, _), interrupt: &Interrupt| match path
                .metadata()
            {
                Ok(metadata) if metadata.is_dir() => find(context, &folder, &path, &pattern, interrupt),
                Err(error) if !walk::is_absence(&error) => context.fail(&folder, &path, &files::reason(&error)),
                _ => context.fail(&folder, &path, "there is no such folder"),
            };
        Box::pin(self.context.work(call.interrupt, asked, work))
    }
}

fn find(context: &ToolContext, name: &str, root: &Path, pattern: &Pattern, interrupt: &Interrupt) -> Output {
    let mut found: Vec<(Reverse<SystemTime>, PathBuf)> = Vec::new();
    let mut count = 0;
    let mut unread = Unread::default();
    let walked = walk::files(root, interrupt, &mut unread, |path, _| {
        if pattern.matches(root, path) {
            count += 1;
            if found.len() < SORTED {
                let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
                found.push((Reverse(modified.unwrap_or(SystemTime::UNIX_EPOCH)), path.to_owned()));
            }
        }
        true
    });
    if walked == Walked::Interrupted {
        return Output::failure(INTERRUPTED);
    }
    if let Some(why) = unread.objection() {
        return context.fail(name, root, why);
    }
    found.sort_unstable();
    let mut text: String = found
        .iter()
        .take(SHOWN)
        .map(|(_, path)| context.paths.show(path) + "\n")
        .collect();
    match count {
        0 => text.push_str("[no file matches]\n"),
        count if count > SHOWN => {
            let newest = if count > SORTED { "" } else { "newest" };
            text.push_str(&format!("[the {SHOWN} {newest} of {} files]\n", grouped(count)));
        }
        _ => {}
    }
    if walked == Walked::Cut {
        text.push_str(&format!("[only {} were looked at]\n", counted(walk::ENTRIES, "file")));
    }
    text.push_str(&unread.note(|path| context.paths.show(path)));
    Output::success(text)
}
