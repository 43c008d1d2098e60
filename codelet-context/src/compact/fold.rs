//! The fold: if not even the prompts fit, one message under one handle replaces the oldest of them and quotes the most
//! telling pieces.
//!
//! The newest prompts stay separate messages. The fold of an earlier compaction, in a conversation that is read again,
//! is merged: its quotes are candidates again, and the content of the new handle starts with it.

use crate::compact::draft::{self, Draft, PartClass};
use crate::compact::telling;
use crate::message::cut;
use crate::message::recall::{Archive, Handle};
use crate::message::tokens::{self, PART_TOKENS, Tokens};
use crate::message::{Message, Origin, Part, Role, Text};
use crate::text::body::Body;
use std::collections::HashSet;
use std::sync::Arc;

/// The share of the room for prompts in which the newest of them stay separate messages.
const NEWEST_SHARE: f64 = 0.125;
/// The prefix of the further lines of a quoted prompt, and of a first line that could pose as the first line of a fold.
const FURTHER: &str = " ";
/// The mark for omitted text of a prompt.
const GAP: &str = " … ";

/// The message that replaces prompts.
pub(super) struct Fold {
    pub message: Message,
    /// The history messages that it contains, ascending.
    pub sources: Vec<usize>,
}

impl Fold {
    pub fn estimate(&self) -> Tokens {
        tokens::estimate_message(&self.message)
    }
}

/// Returns whether this text is a fold.
pub(crate) fn is_fold(text: &Text) -> bool {
    text.cut.is_some() && earlier(text.body.as_str()).is_some()
}

/// Folds the oldest prompts of these drafts so that everything takes at most this room, as far as possible; `None` if
/// there is nothing to fold.
pub(super) fn fold(
    history: &[Arc<Message>],
    drafts: &mut Vec<Draft>,
    room: Tokens,
    archive: &mut Archive,
) -> Option<Fold> {
    let weights: Vec<Tokens> = drafts.iter().map(weight).collect();
    let all: Tokens = drafts.iter().map(Draft::estimate).sum();
    let room = room.saturating_sub(all - weights.iter().sum::<Tokens>());
    let answered = drafts.iter().filter(|draft| draft.is_answered);
    let mut whole: Tokens = draft::weights(answered, PartClass::Prompts).into_iter().sum();
    let newest = ((room + whole) as f64 * NEWEST_SHARE) as Tokens;
    let mut left = room;
    let mut until = drafts.len();
    for (at, &weight) in weights.iter().enumerate().rev().filter(|(_, weight)| **weight > 0) {
        whole += weight;
        if whole > newest {
            until = at + 1;
            break;
        }
        left -= weight;
        until = at;
    }
    let folded = |(at, weight): (usize, &Tokens)| (at < until && *weight > 0).then_some(at);
    let places: Vec<usize> = weights.iter().enumerate().filter_map(folded).collect();
    if places.is_empty() {
        return None;
    }
    let sources = places.iter().map(|&at| drafts[at].source).collect();
    let mut said = Said::default();
    for at in places {
        let source = &history[drafts[at].source];
        said.take(&mut drafts[at], source);
    }
    drafts.retain(|draft| !draft.parts.is_empty());
    let shown = drafts.iter().flat_map(|draft| &draft.message.parts);
    let shown: HashSet<&str> = shown
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.body.as_str().trim()),
            _ => None,
        })
        .collect();
    let bytes = tokens::bytes_in(left.saturating_sub(PART_TOKENS));
    Some(Fold {
        message: Message::new(Role::User, vec![Part::Text(said.told(bytes, &shown, archive))]),
        sources,
    })
}

/// The tokens that folding would remove from a draft.
fn weight(draft: &Draft) -> Tokens {
    match draft.is_answered || draft.pinned || draft.spared {
        true => 0,
        false => draft::weights([draft], PartClass::Prompts).into_iter().sum(),
    }
}

/// The folded prompts, in order.
#[derive(Default)]
struct Said {
    prompts: usize,
    texts: Vec<Body>,
    /// Their exact full text.
    whole: String,
}

impl Said {
    /// Moves the text out of a draft of this message.
    fn take(&mut self, draft: &mut Draft, source: &Message) {
        // A cut text is whole in the source; the marker of an image or a file corresponds to no text there.
        let mut words = Vec::new();
        let mut shown = Vec::new();
        draft.retain(|number, part| {
            match (part, &source.parts[number as usize]) {
                (Part::Text(text), _) if !is_prompt(text) => return true,
                (Part::Text(_), Part::Text(whole)) => words.push(whole.body.clone()),
                (Part::Text(marker), _) => shown.push(marker.body.clone()),
                _ => return true,
            }
            false
        });
        draft.message.bare = false;
        if let ([text], []) = (&words[..], &shown[..])
            && let Some((prompts, quotes)) = earlier(text.as_str())
        {
            self.prompts = self.prompts.saturating_add(prompts);
            self.whole.push_str(text.as_str());
            self.whole.push('\n');
            self.texts.extend(quotes.into_iter().map(Body::new));
            return;
        }
        self.prompts = self.prompts.saturating_add(1);
        self.whole
            .push_str(&format!("## Prompt {}\n", cut::grouped(self.prompts)));
        for text in words.iter().chain(&shown) {
            self.whole.push_str(text.as_str());
            self.whole.push('\n');
        }
        self.texts.extend(words);
    }

    /// Builds the message: its first line, and as many quotes as fit into these bytes, the most telling ones, in order.
    fn told(self, bytes: usize, shown: &HashSet<&str>, archive: &mut Archive) -> Text {
        let handle = archive.keep(&Body::new(self.whole), "prompts", draft::REASON);
        let mut out = header(self.prompts, &handle);
        let chosen = choose(&self.texts, bytes.saturating_sub(out.len()), shown);
        for (text, pieces) in self.texts.iter().zip(chosen) {
            quote(text.as_str(), &pieces, &mut out);
        }
        Text {
            cut: Some(handle),
            ..Text::new(out, Origin::Own)
        }
    }
}

/// Returns whether this text of a message folds.
fn is_prompt(text: &Text) -> bool {
    matches!(text.origin, Origin::Own | Origin::Summary | Origin::Notice)
}

fn header(prompts: usize, handle: &Handle) -> String {
    format!("[{} · recall {handle}]", cut::counted(prompts, "earlier prompt"))
}

/// Parses an earlier fold: the number of its prompts and its quotes; `None` for any other text.
fn earlier(text: &str) -> Option<(usize, Vec<String>)> {
    let mut lines = text.lines();
    let head = lines.next()?.strip_prefix('[')?.strip_suffix(']')?;
    let (prompts, handle) = head.split_once(" · recall ")?;
    let number = prompts
        .strip_suffix(" earlier prompts")
        .or_else(|| prompts.strip_suffix(" earlier prompt"))?;
    let number = number.replace(',', "").parse().ok()?;
    if header(number, &Handle::new(handle)) != text.lines().next()? {
        return None;
    }
    let mut quotes: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix(FURTHER), quotes.last_mut()) {
            (Some(further), Some(last)) => {
                last.push('\n');
                last.push_str(further);
            }
            (further, _) => quotes.push(further.unwrap_or(line).to_owned()),
        }
    }
    Some((number, quotes))
}

/// Chooses the pieces of each text to quote within this many bytes; none that is `shown` elsewhere.
fn choose<'a>(texts: &'a [Body], bytes: usize, shown: &HashSet<&'a str>) -> Vec<Vec<(usize, &'a str)>> {
    let mut candidates: Vec<((bool, usize), usize, usize, &str)> = Vec::new();
    let mut seen = shown.clone();
    let mut frames: HashSet<String> = HashSet::new();
    // Of repeated pieces, even with other values, the last is quoted.
    for (at, text) in texts.iter().enumerate().rev() {
        for (number, piece) in telling::pieces(text.as_str()).into_iter().enumerate() {
            if seen.insert(piece) && frames.insert(telling::frame(piece)) {
                candidates.push((telling::rank(piece), at, number, piece));
            }
        }
    }
    // The sort is stable: of equally telling pieces, the newest comes first.
    candidates.sort_by_key(|(rank, ..)| std::cmp::Reverse(*rank));
    let mut left = bytes;
    let mut chosen: Vec<Vec<(usize, &str)>> = vec![Vec::new(); texts.len()];
    for (_, at, number, piece) in candidates {
        // A line break before each line, and the prefix of further lines.
        let lines = piece.lines().count();
        let further = lines + (lines - 1 + usize::from(piece.starts_with('['))) * FURTHER.len();
        // A gap may be on both sides of a piece.
        let around = if piece.len() < texts[at].len() {
            2 * GAP.len()
        } else {
            0
        };
        let cost = piece.len() + further + around;
        if cost <= left {
            left -= cost;
            chosen[at].push((number, piece));
        }
    }
    chosen.iter_mut().for_each(|pieces| pieces.sort_unstable());
    chosen
}

/// Quotes the chosen pieces of a text on separate lines.
fn quote(text: &str, pieces: &[(usize, &str)], out: &mut String) {
    let Some(((first, _), (last, _))) = pieces.first().zip(pieces.last()) else {
        return;
    };
    let mut quoted = String::new();
    if *first > 0 {
        quoted.push_str(GAP.trim_start());
    }
    for (at, (number, piece)) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| pieces[before].0);
        match before {
            Some(before) if before + 1 == *number => quoted.push(' '),
            Some(_) => quoted.push_str(GAP),
            None => {}
        }
        quoted.push_str(piece);
    }
    if last + 1 < telling::pieces(text).len() {
        quoted.push_str(GAP.trim_end());
    }
    for (at, line) in quoted.lines().enumerate() {
        out.push('\n');
        if at > 0 || line.starts_with(['[', ' ']) {
            out.push_str(FURTHER);
        }
        out.push_str(line);
    }
}
