//! Recorded sessions without duplicates, selected like in `codelet replay`.

use codelet_context::price;
use codelet_context::tokens::{self, Tokens};
use codelet_gateway::Api;
use codelet_replay::policy::Settings;
use codelet_replay::session::Session;
use codelet_replay::totals::{Played, repeated};
use codelet_transcript::read_items;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ENDINGS: [&str; 4] = ["json", "jsonl", "ndjson", "traj"];

/// The sessions in the corpus with at least this many requests.
///
/// # Errors
/// Directories and files that cannot be opened, as messages. Files that are no conversations are skipped.
pub fn all(corpus: &Path, least: usize) -> Result<Vec<Session>, Vec<String>> {
    let mut files = Vec::new();
    for folder in ["raw", "neutral"] {
        find(&corpus.join(folder), &mut files)?;
    }
    files.sort();
    let mut sessions = Vec::new();
    for file in files {
        let bytes = std::fs::read(&file).map_err(|error| vec![format!("{}: {error}", file.display())])?;
        if let Ok(recording) = codelet_transcript::record(&bytes, None) {
            sessions.push(Session::new(title(&file), recording));
        }
    }
    let settings = Settings::new(200_000, price::usual());
    let played: Vec<Played> = sessions
        .iter()
        .map(|session| Played::new(session, String::new(), &[], &settings))
        .collect();
    let again: BTreeSet<usize> = repeated(&played).into_iter().map(|(again, _)| again).collect();
    let sessions = sessions.into_iter().enumerate();
    let once = sessions.filter(|(number, session)| !again.contains(number) && session.requests.len() >= least);
    Ok(once.map(|(_, session)| session).collect())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Vec<String>> {
    let told = |error: std::io::Error| vec![format!("{}: {error}", folder.display())];
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            find(&path, files)?;
        } else if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            files.push(path);
        }
    }
    Ok(())
}

/// The file name without any extensions.
fn title(file: &Path) -> String {
    let mut title = file.to_owned();
    while title
        .extension()
        .is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one))
    {
        title.set_extension("");
    }
    title.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Estimates the tokens of a session's texts.
#[derive(Clone, Copy)]
pub struct Weigher {
    /// Actual tokens per estimated token.
    pub ratio: f64,
}

impl Weigher {
    /// The tokens of an item of a request.
    pub fn item(&self, item: &[u8], api: Api) -> f64 {
        let read = read_items(&[item], 1, api.format()).unwrap_or_default();
        let estimate: Tokens = match read.is_empty() {
            true => tokens::estimate_bytes(item.len()),
            false => read.iter().map(|(message, _)| tokens::estimate_message(message)).sum(),
        };
        estimate as f64 * self.ratio
    }
}
