//! `/export FILE`: writes the conversation to a file.

use crate::exit::Failure;
use crate::live_page::Page;
use crate::place::Place;
use crate::transcript;
use codelet_agent::session::Session;
use codelet_agent::spelling;
use codelet_text::shell;
use std::path::{Path, PathBuf};

/// Writes the conversation to a new file: an HTML report if its name ends with `.html`, else JSON.
///
/// # Errors
/// Explains why nothing was written.
pub fn export(name: &str, place: &Place, session: &Session, page: &Page) -> Result<String, String> {
    if let Some(option) = option(name) {
        return Err(format!(
            "Unknown option {option}: /export has none. Nothing was written."
        ));
    }
    let path = path(name, place.home.as_deref());
    if path.as_os_str().is_empty() {
        return Err("Usage: /export FILE. Nothing was written.".to_owned());
    }
    let file = spelling::spell(path.as_os_str());
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
    if pinned.exists() {
        return Err(format!("{file} exists; nothing was written. Name another file."));
    }
    let end = path
        .extension()
        .map(|end| end.to_ascii_lowercase().to_string_lossy().into_owned());
    let is_report = match end.as_deref() {
        Some("html" | "htm") => true,
        // What is written is JSON, and a transcript in one object: neither Markdown nor JSON Lines.
        Some("json") | None => false,
        Some(_) => {
            return Err(format!(
                "{file}: /export writes the conversation as .json, or a report as .html. Nothing was written."
            ));
        }
    };
    if is_report {
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

/// Returns a word that looks like an option, unless the name is in quotes.
fn option(name: &str) -> Option<&str> {
    let is_quoted = name.trim_start().starts_with(['"', '\'']);
    name.split_whitespace()
        .find(|word| !is_quoted && word.starts_with("--"))
}

/// Returns the file that is named, optionally in quotes. `~/` is the home directory.
fn path(name: &str, home: Option<&Path>) -> PathBuf {
    let name = name.trim();
    let bare = || name.strip_prefix('\'')?.strip_suffix('\'').map(Into::into);
    let path = PathBuf::from(spelling::read(name).or_else(bare).unwrap_or_else(|| name.into()));
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_word_that_looks_like_an_option_is_no_part_of_a_name_without_quotes() {
        for (name, expected) in [
            ("a.json --force", Some("--force")),
            ("--html a", Some("--html")),
            ("\"a --b\"", None),
            ("a -- b-c.json", Some("--")),
            ("a-b.json", None),
        ] {
            assert_eq!(option(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_may_stand_in_quotes_and_in_the_home_directory() {
        for (name, expected) in [
            ("session.json", "session.json"),
            (" my session.html ", "my session.html"),
            ("\"my session.html\"", "my session.html"),
            ("'sp ace/s.json'", "sp ace/s.json"),
            ("~/exp.html", "/home/u/exp.html"),
            ("\"~/my exp.html\"", "/home/u/my exp.html"),
            ("~other/b", "~other/b"),
            ("it's.json", "it's.json"),
            ("'tis.json", "'tis.json"),
        ] {
            assert_eq!(path(name, Some(Path::new("/home/u"))), Path::new(expected), "{name}");
        }
    }

    #[test]
    fn a_name_as_it_is_completed_is_read_back() {
        for name in [
            "my session.html", "a \"b\" \\ c.json", "\"", "esc\u{1b}[31m x", "日本 語.html", "'tis.json",
        ] {
            let written = codelet_agent::file_reference::write(&spelling::spell(OsStr::new(name)));
            assert_eq!(path(&written[1..], None), Path::new(name), "{written}");
        }
    }
}
