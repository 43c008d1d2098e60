//! `Edit`: replaces one text in a file and leaves the rest untouched.

use crate::arguments;
use crate::copies::Old;
use crate::diff;
use crate::files::{self, Whole};
use crate::near;
use crate::path::Place;
use crate::replace::{self, Refusal, Replaced};
use crate::secrets::{MASK, Secrets};
use crate::seen::Look;
use crate::text::{self, Decoded, Encoding, shorten};
use crate::tool_context::{ToolContext, judged, spec};
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, ActionKind, Parameters};
use codelet_text::short::counted;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lines shown around a change.
const AROUND: usize = 3;
/// Lines of a change, and changes, that are shown.
const LINES: usize = 30;
const PLACES: usize = 5;
/// Bytes of a line that are shown.
const LINE: usize = 300;

/// The tool.
pub(crate) struct Edit {
    spec: ToolSpec,
    context: Arc<ToolContext>,
}

impl Edit {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            "required": ["file_path", "old_string", "new_string"],
        });
        Edit {
            spec: spec("Edit", include_str!("edit.md"), parameters),
            context: Arc::clone(context),
        }
    }
}

/// The text to replace and its replacement.
#[derive(Clone)]
struct EditRequest {
    old: String,
    new: String,
    all: bool,
}

impl EditRequest {
    fn of(parameters: &Parameters) -> Result<EditRequest, String> {
        let old = arguments::text(parameters, "old_string")?.to_owned();
        let new = arguments::text(parameters, "new_string")?.to_owned();
        let all = arguments::flag(parameters, "replace_all")?;
        if old.is_empty() {
            return Err("`old_string` is empty; Write creates a file or replaces all of it".to_owned());
        }
        if old == new {
            return Err("`old_string` and `new_string` are the same".to_owned());
        }
        Ok(EditRequest { old, new, all })
    }

    /// Returns the edit without a leading byte-order mark, unless the mark is an ordinary character in the text.
    fn without_mark(&self, text: &str, is_marked: bool) -> EditRequest {
        let bare = |given: &str| given.strip_prefix('\u{feff}').unwrap_or(given).to_owned();
        let (old, new) = (bare(&self.old), bare(&self.new));
        let is_mark = (is_marked && text.starts_with(&old)) || !text.contains(&self.old);
        match is_mark && !old.is_empty() {
            true => EditRequest {
                old,
                new,
                all: self.all,
            },
            false => self.clone(),
        }
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, parameters: &Parameters) -> Action {
        Action::on(ActionKind::Change, arguments::file(parameters).ok())
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let asked = EditRequest::of(parameters)?;
        let name = arguments::file(parameters)?;
        let Place { path, is_inside } = self.context.paths.resolve(name)?;
        let diff = match prepared(&self.context, &path, &asked) {
            Ok(Prepared { whole, done, .. }) => {
                let (old, new) = (text::decode(&whole.bytes).text, text::decode(&done.bytes).text);
                diff::unified(&self.context.paths.show(&path), &old, &new, &self.context.secrets())
            }
            // An impossible edit needs no permission, if the model may know what is in the file.
            Err(why) if is_inside || self.context.seen.last(&path).is_some() => {
                return Err(self.context.unmade(name, &path, &why));
            }
            // The model learns nothing about a file that it was not permitted to read.
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                diff::remark(&format!("This edit cannot be made: {why}"))
            }
        };
        Ok(self.context.to_change(Place { path, is_inside }, diff))
    }

    fn describe(&self, parameters: &Parameters) -> String {
        arguments::file(parameters).unwrap_or_default().to_owned()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let asked = move || {
            let asked = EditRequest::of(call.parameters)?;
            let name = arguments::file(call.parameters)?;
            Ok((name.to_owned(), judged(call.permitted)?, asked))
        };
        let work = |context: &ToolContext, (name, path, asked): (String, PathBuf, EditRequest), _: &_| {
            edit(context, &path, &asked).map_or_else(|why| context.fail(&name, &path, &why), Output::success)
        };
        Box::pin(self.context.work(call.interrupt, asked, work))
    }
}

/// A file and the result of an edit.
struct Prepared {
    whole: Whole,
    done: Replaced,
    /// True if the session has seen the file.
    is_known: bool,
}

fn prepared(context: &ToolContext, path: &Path, asked: &EditRequest) -> Result<Prepared, String> {
    let Some(whole) = files::read(path)? else {
        return Err("it is larger than 10 MiB; change it by a command".to_owned());
    };
    if text::is_binary(&whole.bytes) {
        return Err("this is not a text".to_owned());
    }
    let last = context.seen.last(path);
    if last.is_some_and(|last| last != Look::at(&whole.bytes)) {
        return Err("it was changed since it was read: Read it again, then edit".to_owned());
    }
    let done = edited(&whole.bytes, asked, &context.secrets())?;
    let is_known = last.is_some();
    Ok(Prepared { whole, done, is_known })
}

fn edit(context: &ToolContext, path: &Path, asked: &EditRequest) -> Result<String, String> {
    let Prepared { whole, done, is_known } = prepared(context, path, asked)?;
    let replaced = Old {
        standing: &whole.standing,
        bytes: Some(&whole.bytes),
    };
    context.copies.put(path, &done.bytes, Some(replaced))?;
    if is_known {
        context.seen.note(path, Look::at(&done.bytes));
    }
    Ok(answer(&context.paths.show(path), &done))
}

/// Applies the edit to a file's bytes. The model never sees a byte-order mark, so none is searched for, and the file
/// keeps its own.
fn edited(bytes: &[u8], asked: &EditRequest, secrets: &Secrets) -> Result<Replaced, String> {
    let Decoded {
        text,
        encoding,
        is_lossy,
    } = text::decode(bytes);
    let asked = &asked.without_mark(&text, encoding != Encoding::Utf8);
    if encoding.is_utf16() {
        if is_lossy {
            return Err("it is invalid UTF-16, which an edit would not keep".to_owned());
        }
        let done = replaced(text.as_bytes(), asked, secrets)?;
        return Ok(done.written(|text| text::encode_utf16(&String::from_utf8_lossy(text), encoding)));
    }
    let behind = text::unmarked(bytes);
    let mark = &bytes[..bytes.len() - behind.len()];
    let done = replaced(behind, asked, secrets)?;
    match unwritable(asked).filter(|_| is_lossy) {
        Some(new) => Err(mixing(&text, new)),
        None if mark.is_empty() => Ok(done),
        None => Ok(done.written(|text| [mark, text].concat())),
    }
}

/// The first new character that is not the same byte in every encoding.
fn unwritable(EditRequest { old, new, .. }: &EditRequest) -> Option<char> {
    // Characters of the old text exist in the file as they are.
    new.chars().find(|c| !c.is_ascii() && !old.contains(*c))
}

/// Explains why such a character is not inserted into a text of another, unknown encoding.
fn mixing(text: &str, new: char) -> String {
    format!(
        "from line {} on it has bytes that are not UTF-8, and {new:?} in new_string would be put beside them in UTF-8: leave \
         out what is not ASCII, change the file by a command that keeps its encoding, or make it UTF-8 first (iconv)",
        text::first_replacement(text)
    )
}

fn replaced(bytes: &[u8], asked: &EditRequest, secrets: &Secrets) -> Result<Replaced, String> {
    let EditRequest { old, new, all } = asked;
    let hidden = secrets.places(bytes);
    if !hidden.is_empty() && (old.contains(MASK) || new.contains(MASK)) {
        return Err(format!(
            "{MASK} in old_string or new_string stands for a hidden value of the file: edit other lines"
        ));
    }
    let done = replace::replace(bytes, old, new, *all).map_err(|refusal| match refusal {
        Refusal::NotFound => near::explain(&secrets.hide(&text::decode(bytes).text), old),
        Refusal::Several(lines) => several(&lines),
        Refusal::TooLarge(times) => format!(
            "old_string occurs {times} times, and with that much in place of each the file would become larger than 10 MiB"
        ),
    })?;
    let is_hidden = |changed: &Range<usize>| {
        let next = hidden.partition_point(|value| value.end <= changed.start);
        hidden.get(next).is_some_and(|value| value.start < changed.end)
    };
    match done.changed.iter().any(is_hidden) {
        true => Err("this would change a hidden value of the file: edit other lines".to_owned()),
        false => Ok(done),
    }
}

fn several(lines: &[usize]) -> String {
    let named: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
    let more = if lines.len() > 10 { ", …" } else { "" };
    format!(
        "old_string occurs {} times, at lines {}{more}: add lines around it until it is unique, or set replace_all",
        lines.len(),
        named.join(", ")
    )
}

/// The changed lines with some context.
fn answer(name: &str, done: &Replaced) -> String {
    let bytes = done.shown.as_deref().unwrap_or(&done.bytes);
    let mut text = format!("Edited {name}, {}:\n", counted(done.places.len(), "place"));
    let (mut at, mut number) = (0, 1);
    for (index, place) in done.places.iter().take(PLACES).enumerate() {
        if index > 0 {
            text.push_str("…\n");
        }
        let from = lines_before(bytes, place.start);
        // The next place may be within lines that are shown already.
        let from = from.max(at);
        number += bytes[at..from].iter().filter(|&&byte| byte == b'\n').count();
        let to = lines_after(bytes, place.end).max(from);
        let lines = String::from_utf8_lossy(&bytes[from..to]);
        let all: Vec<&str> = lines.lines().collect();
        for (line, shown) in all.iter().take(LINES).enumerate() {
            text.push_str(&format!("{}\t{}\n", number + line, shorten(shown, LINE)));
        }
        if all.len() > LINES {
            text.push_str(&format!("… {}\n", counted(all.len() - LINES, "more line")));
        }
        number += bytes[from..to].iter().filter(|&&byte| byte == b'\n').count();
        at = to;
    }
    if done.places.len() > PLACES {
        text.push_str(&format!(
            "… and {}\n",
            counted(done.places.len() - PLACES, "more place")
        ));
    }
    text
}

/// The start of the line [`AROUND`] lines before this byte.
fn lines_before(bytes: &[u8], at: usize) -> usize {
    let mut start = at;
    for _ in 0..=AROUND {
        match memchr::memrchr(b'\n', &bytes[..start]) {
            Some(end) => start = end,
            None => return 0,
        }
    }
    start + 1
}

/// The end of the line [`AROUND`] lines after this byte.
fn lines_after(bytes: &[u8], at: usize) -> usize {
    // A change that ends with a line break does not extend into the next line.
    let mut end = if at > 0 && bytes[at - 1] == b'\n' { at - 1 } else { at };
    for _ in 0..=AROUND {
        match memchr::memchr(b'\n', &bytes[end..]) {
            Some(next) => end += next + 1,
            None => return bytes.len(),
        }
    }
    end
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_edit_loses_a_hidden_value(
            file in "(abcd1234|ab|1234|cd12|[\n x]){0,9}",
            old in "(abcd1234|ab|1234|cd12|[\n x]){1,3}",
            new in "(ab|x|\n){0,2}",
            all: bool,
        ) {
            let secrets = Secrets::new(&["abcd1234".to_owned()]);
            let stood = secrets.places(file.as_bytes()).len();
            if let Ok(done) = replaced(file.as_bytes(), &EditRequest { old, new, all }, &secrets) {
                prop_assert!(secrets.places(&done.bytes).len() >= stood);
            }
        }
    }
}
