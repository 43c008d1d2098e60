//! `LS`: lists a folder, and which of its entries are ignored.

use crate::arguments;
use crate::files;
use crate::ignored::Ignored;
use crate::tool_context::{ToolContext, judged, spec};
use crate::walk;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::spelling;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, Parameters};
use codelet_text::short::{counted, grouped};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Entries examined, and shown.
const ENTRIES: usize = 20_000;
const SHOWN: usize = 300;
/// Ignored entries that are named.
const NAMED: usize = 8;

/// The tool.
pub(crate) struct Ls {
    spec: ToolSpec,
    context: Arc<ToolContext>,
}

impl Ls {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
        });
        Ls {
            spec: spec("LS", include_str!("ls.md"), parameters),
            context: Arc::clone(context),
        }
    }
}

impl Tool for Ls {
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
        self.context.to_look_at(arguments::place(parameters)?)
    }

    fn describe(&self, parameters: &Parameters) -> String {
        arguments::place(parameters).unwrap_or_default().to_owned()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let asked = move || {
            let name = arguments::place(call.parameters)?;
            Ok((name.to_owned(), judged(call.permitted)?))
        };
        let work = |context: &ToolContext, (name, path): (String, PathBuf), interrupt: &Interrupt| {
            list(&path, interrupt, |path| context.paths.show(path))
                .map_or_else(|why| context.fail(&name, &path, &why), Output::success)
        };
        Box::pin(self.context.work(call.interrupt, asked, work))
    }
}

fn list(path: &Path, interrupt: &Interrupt, show: impl Fn(&Path) -> String) -> Result<String, String> {
    let metadata = path.symlink_metadata().map_err(|error| files::reason(&error))?;
    if !metadata.is_dir() {
        return Err("this is a file; Read shows it".to_owned());
    }
    let mut entries = std::fs::read_dir(path).map_err(|error| files::reason(&error))?;
    let mut found: Vec<(bool, OsString, String)> = entries
        .by_ref()
        .take(ENTRIES)
        .take_while(|_| !interrupt.is_thrown())
        .filter_map(Result::ok)
        .map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            (!is_folder, entry.file_name(), shown(&entry))
        })
        .collect();
    // Folders first.
    found.sort_unstable();
    let mut patterns = Ignored::above(path);
    patterns.enter(path, |name| found.iter().any(|(_, found, _)| found == name));
    let is_kept = |(is_no_folder, name, _): &(bool, OsString, String)| {
        !walk::is_store(name) && !patterns.names(&path.join(name), !is_no_folder)
    };
    let (kept, ignored): (Vec<_>, Vec<_>) = found.into_iter().partition(is_kept);
    let mut text: String = kept
        .iter()
        .take(SHOWN)
        .map(|(_, _, shown)| format!("{shown}\n"))
        .collect();
    if kept.len() > SHOWN {
        text.push_str(&format!(
            "[and {} more; Glob finds files by name]\n",
            grouped(kept.len() - SHOWN)
        ));
    }
    if entries.next().is_some() {
        text.push_str(&format!("[only {} were looked at]\n", counted(ENTRIES, "file")));
    }
    if !ignored.is_empty() {
        let names: Vec<&str> = ignored.iter().take(NAMED).map(|(_, _, shown)| shown.as_str()).collect();
        let more = if ignored.len() > NAMED { ", …" } else { "" };
        text.push_str(&format!(
            "[{} ignored: {}{more}]\n",
            grouped(ignored.len()),
            names.join(", ")
        ));
    }
    text.push_str(&patterns.unheeded.note(show));
    if text.is_empty() {
        text.push_str("[the folder is empty]\n");
    }
    Ok(text)
}

/// `folder/`, `file (12 bytes)`, `link -> target`. Characters that would break the list are escaped.
fn shown(entry: &DirEntry) -> String {
    let name = entry.file_name();
    let name = spelling::spell(&name);
    let Ok(metadata) = entry.metadata() else { return name };
    let kind = metadata.file_type();
    if kind.is_dir() {
        format!("{name}/")
    } else if kind.is_symlink() {
        let target = entry.path().read_link().unwrap_or_default();
        format!("{name} -> {}", spelling::spell(target.as_os_str()))
    } else if kind.is_file() {
        format!("{name} ({})", counted(metadata.len() as usize, "byte"))
    } else {
        format!("{name} (no file)")
    }
}
