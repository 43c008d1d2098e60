//! `/export FILE`: the conversation in a file.

use crate::exit::Failure;
use crate::live_page::Page;
use crate::output::Output;
use crate::transcript;
use codelet_agent::session::Session;
use codelet_agent::spelling;
use std::path::{Path, PathBuf};

const FORCE: &str = "--force";

/// What an export is asked to do.
#[derive(PartialEq, Eq, Debug)]
struct Asked {
    path: PathBuf,
    /// Whatever is there is replaced.
    is_forced: bool,
}

impl Asked {
    /// Reads a file's name as `@` takes it, in quotes where it is written so, with `--force` before or behind it.
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
        let is_flag = |word: &&str| word.starts_with("--") && *word != "--";
        if let Some(flag) = [name.split_whitespace().next(), name.split_whitespace().last()]
            .into_iter()
            .flatten()
            .find(is_flag)
        {
            return Err(format!(
                "There is no {flag}; /export FILE {FORCE} replaces what is there. A file of that name is ./{flag}."
            ));
        }
        let path = match name.starts_with('"') {
            true => PathBuf::from(
                spelling::read(name)
                    .ok_or_else(|| format!("{name}: a name in quotes ends with its quote; nothing was written."))?,
            ),
            false => PathBuf::from(name),
        };
        let path = match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        };
        Ok(Asked {
            path,
            is_forced: bare.is_some(),
        })
    }
}

/// Writes the conversation as the form that its file's name asks for: a page about it as `.html`, else all of it as JSON.
/// A file that is there and was not written so is replaced only where that is said.
///
/// # Errors
/// When nothing was written: why.
pub fn export(words: &str, home: Option<&Path>, session: &Session, page: &Page) -> Result<String, String> {
    let Asked { path, is_forced } = Asked::read(words, home)?;
    let file = spelling::spell(path.as_os_str());
    if !is_forced && path.is_file() && !is_export(&path) {
        return Err(format!(
            "{file} is there already and is no export; nothing was written. /export {file} {FORCE} replaces it."
        ));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = spelling::spell(folder.as_os_str());
        return Err(format!("There is no folder {folder}; nothing was written."));
    }
    let is_page = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("html"));
    let (written, told) = match is_page {
        true => {
            let html = page.html(session);
            let output = Output::named(&path);
            let written = output
                .check()
                .and_then(|()| output.write(|out| out.write_all(html.as_bytes())));
            (written, format!("The report is in {file}; any browser shows it."))
        }
        false => {
            let written = transcript::check(&path).and_then(|()| transcript::write(&path, session));
            let told = format!("The whole conversation is in {file}; `codelet inspect {file}` looks into it.");
            (written, told)
        }
    };
    match written {
        Ok(()) => Ok(told),
        Err(Failure::Told(why)) => Err(why),
        Err(Failure::PipeClosed) => Err(format!("{file}: nobody reads it")),
    }
}

/// Whether a file is what an export leaves, or empty.
fn is_export(path: &Path) -> bool {
    const FIELDS: [&str; 4] = ["max_tokens", "messages", "model", "system"];
    let Ok(text) = std::fs::read_to_string(path) else {
        return false;
    };
    if text.trim().is_empty() || Page::is_one(&text) {
        return true;
    }
    let conversation: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(&text).ok();
    conversation.is_some_and(|fields| {
        let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
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
        let asked = Asked::read(words, Some(Path::new("/home/u")))?;
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
        ] {
            assert_eq!(asked(words), Ok((path.to_owned(), is_forced)), "{words}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for words in ["\"open.json", "\"a\" b\"", "--forced", "out.json --forec", "--html out"] {
            let why = asked(words).unwrap_err();
            assert!(why.contains("quote") || why.contains("--force"), "{words}: {why}");
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
        ] {
            let written = codelet_agent::mention::write(&spelling::spell(OsStr::new(name)));
            assert_eq!(asked(&written[1..]), Ok((name.to_owned(), false)), "{written}");
        }
    }
}
