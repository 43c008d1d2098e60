//! `Write`: writes a whole file at once.

use crate::arguments;
use crate::copies::Old;
use crate::diff;
use crate::files::{self, Standing};
use crate::secrets::{MASK, Secrets};
use crate::seen::Look;
use crate::text::{self, Decoded, Encoding, count_lines};
use crate::tool_context::{ToolContext, judged, spec};
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, ActionKind, Parameters};
use codelet_text::short::counted;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tool.
pub(crate) struct Write {
    spec: ToolSpec,
    context: Arc<ToolContext>,
}

impl Write {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "content": {"type": "string"},
            },
            "required": ["file_path", "content"],
        });
        Write {
            spec: spec("Write", include_str!("write.md"), parameters),
            context: Arc::clone(context),
        }
    }
}

impl Write {
    /// The diff for the permission prompt.
    fn diff(&self, path: &Path, content: &str) -> String {
        let name = self.context.paths.show(path);
        let unified = |old: &str, new: &str| diff::unified(&name, old, new, &self.context.secrets());
        // What cannot be written is answered by the call.
        let restored =
            |old: &str| restored(old, content, &self.context.secrets()).unwrap_or_else(|_| content.to_owned());
        let Ok(there) = path.symlink_metadata() else {
            return match content.is_empty() {
                // A diff without lines would say that nothing changes.
                true => diff::remark("A new, empty file"),
                false => unified("", content),
            };
        };
        match files::read(path) {
            Ok(Some(old)) => {
                let old = text::decode(&old.bytes).text;
                unified(&old, &restored(&old))
            }
            Ok(None) => {
                let megabytes = there.len() as f64 / 1e6;
                let told = format!("It replaces a file of {megabytes:.1} MB, which is too large to compare");
                diff::remark(&told) + &unified("", content)
            }
            Err(why) => diff::remark(&format!("The existing file cannot be read: {why}")) + &unified("", content),
        }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, parameters: &Parameters) -> Action {
        Action::on(ActionKind::Change, arguments::file(parameters).ok())
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let content = arguments::text(parameters, "content")?;
        let place = self.context.paths.resolve(arguments::file(parameters)?)?;
        let diff = self.diff(&place.path, content);
        Ok(self.context.to_change(place, diff))
    }

    fn describe(&self, parameters: &Parameters) -> String {
        arguments::file(parameters).unwrap_or_default().to_owned()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let asked = move || {
            let name = arguments::file(call.parameters)?;
            let content = arguments::text(call.parameters, "content")?;
            Ok((name.to_owned(), judged(call.permitted)?, content.to_owned()))
        };
        let work = |context: &ToolContext, (name, path, content): (String, PathBuf, String), _: &_| {
            write(context, &path, &content).map_or_else(|why| context.fail(&name, &path, &why), Output::success)
        };
        Box::pin(self.context.work(call.interrupt, asked, work))
    }
}

fn write(context: &ToolContext, path: &Path, content: &str) -> Result<String, String> {
    let shown = context.paths.show(path);
    let lines = counted(count_lines(content.as_bytes()), "line");
    if path.symlink_metadata().is_err() {
        context.copies.put(path, content.as_bytes(), None)?;
        context.seen.note(path, Look::at(content.as_bytes()));
        return Ok(format!("Created {shown} ({lines})"));
    }
    let (standing, look, old) = match files::read(path)? {
        Some(whole) => {
            let look = Look::at(&whole.bytes);
            (whole.standing, look, Some(whole.bytes))
        }
        None => {
            let standing = Standing::of(files::open(path)?.1);
            let look = Look::Outside(standing.stamp);
            (standing, look, None)
        }
    };
    if old.as_deref() == Some(content.as_bytes()) {
        context.seen.note(path, look);
        return Ok(already(&shown, &lines));
    }
    match context.seen.last(path) {
        // Replacing an empty file loses nothing.
        None if old.as_ref().is_some_and(Vec::is_empty) => {}
        None if old.as_deref().is_some_and(text::is_binary) => {
            return Err("it exists and is not a text; only texts are replaced".to_owned());
        }
        None => return Err("it exists, and was not read in this session: Read it before replacing it".to_owned()),
        Some(last) if last != look => {
            return Err("it was changed since it was read: Read it again before replacing it".to_owned());
        }
        Some(_) => {}
    }
    let (new, changed) = match &old {
        Some(old) => renewed(old, content, &context.secrets())?,
        None => (content.as_bytes().to_vec(), ""),
    };
    if old.as_ref() == Some(&new) {
        context.seen.note(path, look);
        return Ok(already(&shown, &lines));
    }
    let replaced = Old {
        standing: &standing,
        bytes: old.as_deref(),
    };
    context.copies.put(path, &new, Some(replaced))?;
    context.seen.note(path, Look::at(&new));
    let before = match &old {
        Some(old) => format!(
            "before: {}",
            counted(count_lines(text::decode(old).text.as_bytes()), "line")
        ),
        None => "before: a large file".to_owned(),
    };
    let had_crlf = old.is_some_and(|old| text::decode(&old).text.contains("\r\n"));
    let has_crlf = text::decode(&new).text.contains("\r\n");
    let ends = match (had_crlf, has_crlf) {
        (true, true) if !content.contains("\r\n") => "; its lines still end in CRLF",
        (true, false) if content.contains('\n') => "; some of its lines ended in CRLF, and all end in LF now",
        _ => "",
    };
    Ok(format!("Overwrote {shown} ({lines}; {before}{ends}{changed})"))
}

/// The bytes that replace an old file: its line endings and encoding are kept. Also says what has
/// changed.
fn renewed(old: &[u8], content: &str, secrets: &Secrets) -> Result<(Vec<u8>, &'static str), String> {
    let Decoded {
        text,
        encoding,
        is_lossy,
    } = text::decode(old);
    let shown_as = |text: &str| text.matches(char::REPLACEMENT_CHARACTER).count();
    // A `�` that is really in the file may stay.
    if is_lossy && shown_as(content) > text::replacements(old) {
        let line = text::first_replacement(&text);
        return Err(format!(
            "from line {line} on it has bytes that are not {}, and � in content would take their place: change other lines \
             with Edit, which keeps them, or make the file UTF-8 first (iconv)",
            if encoding.is_utf16() { "UTF-16" } else { "UTF-8" }
        ));
    }
    let new = restored(&text, content, secrets)?;
    let plain = new.strip_prefix('\u{feff}').unwrap_or(&new);
    let changed = match is_lossy {
        true => "; it had bytes that were no text in its encoding, and has none now",
        false => "",
    };
    Ok(match encoding {
        Encoding::Utf8 => (new.into_bytes(), changed),
        Encoding::Utf8Marked => (format!("\u{feff}{plain}").into_bytes(), changed),
        Encoding::Utf16Little | Encoding::Utf16Big => (text::encode_utf16(plain, encoding), changed),
    })
}

fn already(shown: &str, lines: &str) -> String {
    format!("{shown} already is exactly this ({lines}); nothing was written")
}

/// Restores the line endings of the old text; refuses a mask in place of one of its hidden values.
fn restored(old: &str, content: &str, secrets: &Secrets) -> Result<String, String> {
    if content.contains(MASK) && !secrets.places(old.as_bytes()).is_empty() {
        return Err(format!(
            "{MASK} in content stands for a hidden value of the file: change other lines with Edit"
        ));
    }
    // Read shows lines without carriage returns, so their absence means nothing.
    Ok(match text::ends_in_crlf(old) {
        true => content.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => content.to_owned(),
    })
}
