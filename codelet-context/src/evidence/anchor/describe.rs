//! One-line descriptions of anchors.

use super::AnchorKind;
use super::event::RunKind;
use crate::message::{Message, Origin, Part};
use codelet_text::short::clip;
use std::sync::Arc;

/// The maximum number of files that a description names; the others are counted.
const NAMED: usize = 4;
/// The maximum characters of a name or a prompt in a description.
pub(super) const SHOWN: usize = 60;

/// Returns the kind and the description of an anchor, such as `Build error fixed in a.rs, b.rs and tests now pass`.
pub(super) fn describe(repaired: Option<RunKind>, changed: &[Arc<str>]) -> (AnchorKind, String) {
    let files = names(changed);
    let (kind, what) = match repaired {
        Some(RunKind::Build) => (AnchorKind::ErrorResolution, "Build error fixed"),
        Some(RunKind::Tests) => (AnchorKind::ErrorResolution, "Failing tests fixed"),
        Some(RunKind::Other) => (AnchorKind::ErrorResolution, "Error fixed"),
        None => (AnchorKind::TaskCompletion, "Changes made"),
    };
    let files = if files.is_empty() {
        files
    } else {
        format!(" in {files}")
    };
    (kind, format!("{what}{files} and tests now pass"))
}

/// Lists file names for a person: without folders unless two names are equal; the first few, and the number of the
/// others.
pub(crate) fn names(paths: &[Arc<str>]) -> String {
    let last = |path: &str, pieces: usize| {
        let at = path
            .rmatch_indices(['/', '\\'])
            .nth(pieces - 1)
            .map_or(0, |(at, _)| at + 1);
        path[at..].to_owned()
    };
    let named: Vec<&str> = paths
        .iter()
        .map(AsRef::as_ref)
        .filter(|path| !path.trim().is_empty())
        .collect();
    let shown: Vec<String> = named
        .iter()
        .take(NAMED)
        .map(|path| {
            // As many parent folders as distinguish it from the others.
            let most = path.split(['/', '\\']).count();
            let is_alone = |pieces: &usize| {
                let name = last(path, *pieces);
                named.iter().all(|other| other == path || last(other, *pieces) != name)
            };
            shorten_middle(&last(path, (1..most).find(is_alone).unwrap_or(most)))
        })
        .collect();
    let more = named.len() - shown.len();
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    shown.join(", ") + &rest
}

/// Describes a pinned turn by the first line of its prompt.
pub(super) fn checkpoint(turn: &[Arc<Message>]) -> String {
    let own = turn
        .iter()
        .filter(|message| message.is_prompt())
        .flat_map(|message| &message.parts);
    let words = own.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => {
            text.body.as_str().lines().map(str::trim).find(|l| !l.is_empty())
        }
        _ => None,
    });
    match words.map(|words| clip(words, SHOWN + 1)).next() {
        Some(words) => format!("Pinned: {words}"),
        None => "Pinned".to_owned(),
    }
}

/// Shortens a long path in the middle, keeping its start and its end.
fn shorten_middle(name: &str) -> String {
    let count = name.chars().count();
    if count <= SHOWN {
        return name.to_owned();
    }
    let head: String = name.chars().take(SHOWN / 2).collect();
    let tail: String = name.chars().skip(count - SHOWN / 2).collect();
    format!("{head}…{tail}")
}
