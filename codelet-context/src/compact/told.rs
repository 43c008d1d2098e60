//! What the summary tells: the facts of the template or the words of a model, the pinned texts, the lines of the digest, and
//! the room that each of them has.

use super::{Work, room};
use crate::body::Body;
use crate::draft::{self, Draft};
use crate::outcome::Facts;
use crate::pack::Choice;
use crate::summary::{self, Story};
use crate::tokens::{self, Tokens};
use crate::{cut, digest, labels, posing};

/// The share of a budget, and the most bytes, for the facts that the summary begins with.
pub(super) const FACTS_SHARE: f64 = 0.05;
const FACTS_BYTES: usize = 8_000;
/// In a small budget that share is too little for what the user wants and how the checks stand: so many bytes, but no more
/// than half of the summary.
const FACTS_LEAST: usize = 480;
/// What the turns came to may take this share of the room for the summary, whatever its facts take.
const OUTCOMES_SHARE: f64 = 0.1;
/// Without a budget, the summary's lines take this share of what they stand for, and at most so many bytes.
const DIGEST_SHARE: f64 = 0.1;
const DIGEST_BYTES: usize = 24_000;
/// A pinned text that is longer, in bytes, or has several lines, is shown as it stands and not among the facts.
const SENTENCE: usize = 300;
/// About what stands around a pinned text, in bytes.
const HEADER: usize = 40;

impl<'a> Work<'a> {
    /// The most bytes that the summary of what stands before `start` may have beside what is kept.
    pub(super) fn summary_bytes(&self, start: usize, drafts: &[Draft], budget: Option<Tokens>) -> usize {
        match budget {
            Some(budget) => {
                let used = room::whole(drafts) + room::overhead(drafts);
                tokens::bytes_in(budget.saturating_sub(used))
            }
            None => {
                let rest: Tokens = self.history.estimates()[..start].iter().sum();
                let digest = (tokens::bytes_in(rest) as f64 * DIGEST_SHARE) as usize;
                digest.min(DIGEST_BYTES) + FACTS_BYTES
            }
        }
    }

    /// The summary: facts, pinned texts, and the lines that are most needed, as many as these bytes have room for; and which
    /// lines those are. `shown` are the blocks that are kept whole.
    pub(super) fn summarise(
        &mut self,
        start: usize,
        drafts: &[Draft],
        shown: &[u32],
        bytes: usize,
        budget: Option<Tokens>,
    ) -> (String, Choice) {
        let pinned = self.pinned_texts(bytes / 2);
        let facts = self.history.facts();
        let mut told = self.tell(&facts, start, bytes.saturating_sub(pinned.len() + 1), budget);
        if !told.is_empty() {
            told.push('\n');
        }
        told.push_str(&pinned);
        let room = bytes.saturating_sub(told.len() + labels::DIGEST.len());
        let left = self.left_of_cuts(drafts);
        let (digest, choice) = self.digest(&facts, shown, &left, room);
        let mut summary = String::from(labels::SUMMARY);
        summary.push_str(&told);
        if !digest.is_empty() {
            summary.push_str(labels::DIGEST);
            summary.push_str(&digest);
        }
        summary.truncate(summary.trim_end().len());
        (summary, choice)
    }

    /// What the summary and what ends the view are given where prompts have to fold: the list and the pins, and the first facts
    /// where a budget is large enough to have a share for them. In a smaller one there is no summary.
    pub(super) fn told_beside_prompts(&self, drafts: &[Draft], budget: Tokens) -> Tokens {
        let facts = room::share(budget, FACTS_SHARE);
        let least = tokens::estimate_bytes(FACTS_LEAST) / 2;
        let told = self
            .listed()
            .min(budget / 4)
            .max(if facts >= least { facts } else { 0 });
        match told {
            0 => room::ending(drafts),
            _ => told + room::overhead(drafts),
        }
    }

    /// What the summary takes at least beside its other facts: the open list, decisions, and the pinned texts, as far as
    /// they have room of their own in it.
    pub(super) fn listed(&self) -> Tokens {
        let list = summary::standing_bytes(&self.history.facts());
        let notes: usize = self.options.notes.iter().map(|note| note.len() + HEADER).sum();
        tokens::estimate_bytes((4 * list + notes).max(2 * notes))
    }

    /// The facts that the summary begins with.
    fn tell(&self, facts: &Facts, start: usize, bytes: usize, budget: Option<Tokens>) -> String {
        // The list and the user's decisions have room of their own beside the other facts: all that is left to do is to be
        // told, and nothing that is quoted says what was decided.
        let listed = summary::standing_bytes(facts).min(bytes / 4);
        let most = match budget {
            Some(budget) => {
                let most = tokens::bytes_in(room::share(budget, FACTS_SHARE));
                let most = most.min(FACTS_BYTES).max(FACTS_LEAST.min(bytes / 2));
                most.saturating_add(listed).min(bytes)
            }
            None => FACTS_BYTES + listed,
        };
        let (_, notes) = self.notes();
        if let Some(written) = self.options.written {
            let mut text = summary::tell_what_stands(&notes, facts, most);
            if !text.is_empty() {
                text.push('\n');
            }
            let end = written.floor_char_boundary(bytes.saturating_sub(text.len() + 1));
            text.push_str(written[..end].trim_end());
            return text;
        }
        let story = Story {
            messages: self.history.messages(),
            summarising: self.history.course().summarising(),
            turns: &self.turns,
            until: start,
            ledger: self.history.ledger(),
            facts,
            anchors: &self.anchors,
            pins: &notes,
        };
        // A line for each turn that came to something, however many there are, and half of the room for the rest.
        let outcomes = summary::outcome_bytes(&story, (bytes as f64 * OUTCOMES_SHARE) as usize);
        summary::tell(&story, most.max(outcomes + most / 2).min(bytes))
    }

    /// The pinned texts: those that are shown as they stand, and those that are a sentence among the facts.
    fn notes(&self) -> (Vec<&'a str>, Vec<&'a str>) {
        let is_long = |note: &&str| note.len() > SENTENCE || note.trim_end().contains('\n');
        self.options.notes.iter().copied().partition(is_long)
    }

    /// The long ones of the pinned texts in at most `bytes`: whole, or without the middle, under the handle of the whole.
    fn pinned_texts(&mut self, bytes: usize) -> String {
        let (long, _) = self.notes();
        let mut text = String::new();
        for (number, note) in long.iter().enumerate() {
            let handle = self.archive.keep(&Body::from(*note), "pin", draft::REASON);
            let header = format!("[pinned {handle}]\n");
            let lines: Vec<_> = note.lines().filter_map(posing::quotable).collect();
            // Each line may get a space in front, and the mark in the middle is one more.
            let frame = header.len() + lines.len() + digest::GAP.len() + 2;
            let room = (bytes.saturating_sub(text.len()) / (long.len() - number)).saturating_sub(frame);
            let shown = lines.join("\n");
            let (head, tail) = match shown.len() <= room {
                true => (shown.as_str(), ""),
                false => cut::ends(&shown, room / 2, room / 2).unwrap_or_default(),
            };
            if head.is_empty() && tail.is_empty() {
                continue;
            }
            text.push_str(&header);
            head.lines().for_each(|line| digest::push_line(&mut text, line));
            if head.len() < shown.len() {
                text.push_str(digest::GAP);
            }
            tail.lines().for_each(|line| digest::push_line(&mut text, line));
        }
        text
    }
}
