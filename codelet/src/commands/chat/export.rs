//! `/export FILE`: writes the conversation to a file.

use crate::exit::Failure;
use crate::live_page::Page;
use crate::output::Pinned;
use crate::place::Place;
use crate::transcript;
use codelet_agent::session::Session;
use codelet_agent::spelling;
use codelet_text::shell;
use codelet_transcript::origin::SESSION;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FORCE: &str = "--force";

/// File name extensions of formats that an export does not support.
const OTHERS: [&str; 16] = [
    "md", "markdown", "txt", "text", "rst", "adoc", "org", "rtf", "pdf", "doc", "docx", "odt", "csv", "yaml", "yml",
    "jsonl",
];

/// The parsed arguments of an export.
#[derive(PartialEq, Eq, Debug)]
struct ExportRequest {
    path: PathBuf,
    /// True if an existing file is overwritten.
    is_forced: bool,
}

impl ExportRequest {
    /// Parses a file name as `@` accepts it, optionally quoted, with `--force` before or after it.
    fn read(words: &str, home: Option<&Path>) -> Result<Self, String> {
        let words = words.trim();
        let bare = words
            .strip_suffix(FORCE)
            .filter(|rest| rest.ends_with(char::is_whitespace));
        let bare = bare.or_else(|| {
            words
                .strip_prefix(FORCE)
                .filter(|rest| rest.starts_with(char::is_whitespace))
        });
        let name = bare.unwrap_or(words).trim();
        // A completed word may begin with an apostrophe.
        let is_quoted = name.starts_with('"') || name.starts_with('\'') && !is_word(name);
        let path = match is_quoted {
            true => PathBuf::from(
                quoted(name).ok_or_else(|| format!("{name}: the closing quote is missing; nothing was written."))?,
            ),
            false => PathBuf::from(unquoted(name)?),
        };
        if path.as_os_str().is_empty() {
            return Err("Usage: /export FILE. Nothing was written.".to_owned());
        }
        let path = match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        };
        Ok(ExportRequest {
            path,
            is_forced: bare.is_some(),
        })
    }
}

/// Returns the name inside quotes: double quotes use the escapes of spelled names, single quotes are literal.
fn quoted(name: &str) -> Option<OsString> {
    let bare = |name: &str| {
        let inner = name.strip_prefix('\'')?.strip_suffix('\'')?;
        (!inner.contains('\'')).then(|| inner.into())
    };
    spelling::read(name).or_else(|| bare(name))
}

/// Returns whether the text merely begins like a single-quoted one.
fn is_word(name: &str) -> bool {
    !name.contains(char::is_whitespace) && name.matches('\'').count() == 1
}

/// Checks an unquoted name, which must not begin or end with an unknown option.
fn unquoted(name: &str) -> Result<&str, String> {
    let is_flag = |word: &str| word.starts_with("--") && word != "--";
    let told = |flag: &str| format!("Unknown option {flag}; /export FILE {FORCE} overwrites an existing file.");
    let mut words = name.split_whitespace();
    if let Some(first) = words.next().filter(|word| is_flag(word) && *word != FORCE) {
        return Err(format!("{} For a file of that name, write ./{first}.", told(first)));
    }
    match words.last().filter(|word| is_flag(word)) {
        Some(flag) => Err(told(flag)),
        // The option without a name.
        None if name == FORCE => Ok(""),
        None => Ok(name),
    }
}

/// Formats a file name for typing: a leading dash would be parsed as an option.
fn typed(path: &Path) -> String {
    let spelled = spelling::spell(path.as_os_str());
    match path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        true => spelling::spell(Path::new(".").join(path).as_os_str()),
        false => spelled,
    }
}

/// Writes the conversation in the format that the file's extension selects: an HTML report for `.html`, else JSON;
/// extensions of unsupported formats are rejected. An existing file that is not an export is overwritten only with
/// `--force`.
///
/// # Errors
/// Explains why nothing was written.
pub fn export(words: &str, place: &Place, session: &Session, page: &Page) -> Result<String, String> {
    let ExportRequest { path, is_forced } = ExportRequest::read(words, place.home.as_deref())?;
    let file = typed(&path);
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    let end = end.as_deref().unwrap_or_default();
    if OTHERS.contains(&end) {
        return Err(format!(
            "Cannot export as .{end}; nothing was written. Use .html for a report, or .json for the whole conversation."
        ));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = spelling::spell(folder.as_os_str());
        return Err(format!("No such directory: {folder}; nothing was written."));
    }
    let told = |failure| match failure {
        Failure::Told(why) => why,
        Failure::PipeClosed => format!("{file}: its reader has closed the pipe"),
    };
    // The name is typed while commands run, so it is pinned before it is checked.
    let pinned = transcript::pin(&path, place).map_err(told)?;
    if pinned.is_stream() {
        // Its reader may never read.
        return Err(format!("{file} is not a regular file; nothing was written."));
    }
    if !is_forced && pinned.exists() && !is_export(&pinned) {
        return Err(format!(
            "{file} exists and is not an export; nothing was written. /export {file} {FORCE} overwrites it."
        ));
    }
    if ["html", "htm"].contains(&end) {
        let html = page.html(session);
        pinned.write(|out| out.write_all(html.as_bytes())).map_err(told)?;
        return Ok(format!("Report written to {file}; open it in a browser."));
    }
    transcript::write(&pinned, session, place).map_err(told)?;
    Ok(format!(
        "Conversation written to {file}; inspect it with `codelet inspect {}`.",
        shell::word(&file)
    ))
}

/// Returns whether a file is an export or empty.
fn is_export(pinned: &Pinned) -> bool {
    const FIELDS: [&str; 4] = ["max_tokens", "messages", "model", "system"];
    /// The maximum size of an export, in bytes.
    const LONGEST: u64 = 1 << 30;
    let Some(text) = pinned.text(LONGEST) else {
        return false;
    };
    if text.trim().is_empty() || Page::is_one(&text) {
        return true;
    }
    let conversation: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(&text).ok();
    conversation.is_some_and(|fields| {
        let names = fields.keys().map(String::as_str);
        let mut names: Vec<&str> = names.filter(|name| *name != SESSION).collect();
        names.sort_unstable();
        names == FIELDS
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::ffi::OsStr;

    fn asked(words: &str) -> Result<(String, bool), String> {
        let asked = ExportRequest::read(words, Some(Path::new("/home/u")))?;
        Ok((asked.path.to_str().unwrap().to_owned(), asked.is_forced))
    }

    #[test]
    fn a_name_is_read_as_a_mention_is() {
        for (words, path, is_forced) in [
            ("session.json", "session.json", false),
            ("\"my session.html\"", "my session.html", false),
            ("my session.html", "my session.html", false),
            ("\"my session.html\" --force", "my session.html", true),
            ("--force out.json", "out.json", true),
            ("~/exp.html", "/home/u/exp.html", false),
            ("\"~/my exp.html\"", "/home/u/my exp.html", false),
            ("a~/b", "a~/b", false),
            ("~other/b", "~other/b", false),
            ("\"a \\\"b\\\".json\"", "a \"b\".json", false),
            ("./--force", "./--force", false),
            ("'sp ace/s.json'", "sp ace/s.json", false),
            ("'my session.html' --force", "my session.html", true),
            ("--force '~/a \\ b.html'", "/home/u/a \\ b.html", true),
            ("\"'tis.json\"", "'tis.json", false),
            ("'tis.json", "'tis.json", false),
            ("it's.json", "it's.json", false),
            ("'--dashed x.json'", "--dashed x.json", false),
            ("\"a --b\"", "a --b", false),
            ("-x", "-x", false),
        ] {
            assert_eq!(asked(words), Ok((path.to_owned(), is_forced)), "{words}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for words in [
            "\"open.json",
            "\"a\" b\"",
            "'open it.json",
            "'a' b'",
            "'a'/b.json",
            "--forced",
            "out.json --forec",
            "--html out",
            "\"\"",
            "''",
            "\"\" --force",
            "--force",
        ] {
            let why = asked(words).unwrap_err();
            let is_told = ["quote", "--force", "Usage:"].iter().any(|told| why.contains(told));
            assert!(is_told, "{words}: {why}");
        }
    }

    #[test]
    fn an_option_that_there_is_not_may_be_a_file_only_where_a_file_is_named() {
        assert!(
            asked("--forse")
                .unwrap_err()
                .ends_with("For a file of that name, write ./--forse.")
        );
        assert!(
            asked("x.html --forse")
                .unwrap_err()
                .ends_with("overwrites an existing file.")
        );
    }

    #[test]
    fn a_file_whose_name_begins_with_a_dash_is_named_as_it_can_be_typed() {
        for (name, typed_as) in [
            ("-x", "./-x"),
            ("-x y.json", "./-x y.json"),
            ("-\u{1b}", "\"./-\\u{1b}\""),
            ("--", "./--"),
            ("a-x", "a-x"),
            ("./-x", "./-x"),
            ("/-x", "/-x"),
        ] {
            assert_eq!(typed(Path::new(name)), typed_as);
        }
    }

    #[test]
    fn a_name_as_it_is_completed_is_read_back() {
        for name in [
            "my session.html",
            "a \"b\" \\ c.json",
            "\"",
            "esc\u{1b}[31m x",
            "日本 語.html",
            "'tis.json",
            "it's a 'b'.json",
        ] {
            let written = codelet_agent::file_reference::write(&spelling::spell(OsStr::new(name)));
            assert_eq!(asked(&written[1..]), Ok((name.to_owned(), false)), "{written}");
        }
    }
}
