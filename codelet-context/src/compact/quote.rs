//! What is quoted: the lines of the older part that are most needed, as many as there is room for.

use super::{Work, fate};
use crate::body::Body;
use crate::candidates::Candidates;
use crate::digest;
use crate::draft::{self, Draft};
use crate::history::History;
use crate::index::{self, Block};
use crate::message::Part;
use crate::outcome::{Facts, FileFact, FileState};
use crate::pack::{self, Choice, Task, Use};
use crate::path::{self, below_temporary};
use crate::posing;
use crate::recall::Handle;
use crate::scope::Scope;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Which lines the next compaction of this history should look at, with so many bytes for those that are quoted, if these are
/// the ones that it would look at now.
pub(crate) fn look_ahead(history: &History, room: usize, candidates: &Candidates) -> Candidates {
    let index = history.index();
    let candidates = candidates.for_room(index, room);
    let mut scope = Scope::of(index, Some(&candidates), &[], std::iter::empty());
    // Nothing is, this time.
    scope.may_be_quoted.fill(false);
    let units = digest::units(index, history.messages(), scope, || None, |_| None);
    pack::candidates(&Task {
        index,
        scope: &units.scope,
        shown: &[],
        units: &units.units,
        states: &units.states,
        bytes: room,
        focus: None,
        candidates: Some(&candidates),
    })
}

impl Work<'_> {
    /// Which blocks are shown, ascending; of all others there may be lines in the digest.
    pub(super) fn shown_blocks(&self, drafts: &[Draft]) -> Vec<u32> {
        let index = self.history.index();
        let mut shown = Vec::new();
        for draft in drafts {
            let whole: Vec<bool> = draft.message.parts.iter().map(fate::is_whole).collect();
            for number in index.blocks_of(draft.source as u32) {
                let place = draft.parts.binary_search(&index.blocks[number].part);
                if place.is_ok_and(|at| whole.get(at) == Some(&true)) {
                    shown.push(number as u32);
                }
            }
        }
        shown
    }

    /// The lines of the history that are left in parts of the view that were cut.
    pub(super) fn left_of_cuts(&self, drafts: &[Draft]) -> Vec<u32> {
        let index = self.history.index();
        let mut found = Vec::new();
        for draft in drafts {
            let mut left: HashMap<u32, HashSet<&str>> = HashMap::new();
            let parts = draft.parts.iter().zip(&draft.message.parts);
            for (&number, part) in parts.filter(|(_, part)| !fate::is_whole(part)) {
                let lines = left.entry(number).or_default();
                draft::visit_texts(part, &mut |text| lines.extend(text.lines().flat_map(index::pieces)));
            }
            if left.is_empty() {
                continue;
            }
            for block in &index.blocks[index.blocks_of(draft.source as u32)] {
                if let Some(left) = left.get(&block.part) {
                    let is_left = |line: &u32| left.contains(index.whole_text_of(block, *line as usize));
                    found.extend(block.lines.clone().filter(is_left));
                }
            }
        }
        found
    }

    /// The lines that are most needed, as text of at most `bytes`, and which they are.
    pub(super) fn digest(&mut self, facts: &Facts, shown: &[u32], left: &[u32], bytes: usize) -> (String, Choice) {
        let index = self.history.index();
        let messages = self.history.messages();
        let candidates = self.candidates.map(|candidates| candidates.for_room(index, bytes));
        let mut states: HashMap<u64, FileState> = HashMap::new();
        for file in facts.files.iter().filter(|file| file.state != FileState::Read) {
            if let Some(number) = index.file(&file.path) {
                let state = states.entry(number).or_insert(file.state);
                *state = state.then(file.state);
            }
        }
        let listed = states.keys().filter_map(|&file| index.noted.about_file(file));
        let scope = Scope::of(index, candidates.as_deref(), shown, listed);
        // A unit is known by the handle of its largest text: the output, or what a call wrote.
        let mut known: Vec<(usize, Option<Handle>)> = vec![(0, None); scope.may_be_quoted.len()];
        for (at, &number) in scope.blocks.iter().enumerate() {
            let block = &index.blocks[number as usize];
            let unit = scope.unit_of[at] as usize;
            if !scope.may_be_quoted[unit] || scope.uses[at] != Use::Choose {
                continue;
            }
            if block.text.len() >= known[unit].0 && !block.text.is_empty() {
                let part = &messages[block.message as usize].parts[block.part as usize];
                let (body, tool) = match part {
                    Part::ToolCall(call) => (call.parameters.json(), &*call.tool),
                    _ => (&block.text, "tool"),
                };
                let handle = self.archive.keep(body, tool, draft::REASON);
                known[unit] = (block.text.len(), Some(handle));
            }
        }
        self.join_outputs(&scope, &mut known);
        let mut handles = known.into_iter();
        let mut units = digest::units(
            index,
            messages,
            scope,
            || handles.next().and_then(|(_, handle)| handle),
            |file| states.get(&file).copied(),
        );
        let (unlisted, taken_up) = self.unlisted(facts, (bytes as f64 * pack::CHANGED_SHARE) as usize);
        let task = Task {
            index,
            scope: &units.scope,
            shown: left,
            units: &units.units,
            states: &units.states,
            bytes: bytes - taken_up,
            focus: self.options.focus,
            candidates: candidates.as_deref(),
        };
        let (text, choice) = pack::choose(&task, |taken| digest::render(index, &units, taken));
        if unlisted.is_empty() {
            return (text, choice);
        }
        units.unlisted = unlisted;
        (digest::render(index, &units, &choice.taken), choice)
    }

    /// The changed files that no call is about, as many as there is room for, the newest first and those that are gone last;
    /// and what they take. What was put among temporary files is none of the project's, but where that is there, too.
    fn unlisted(&self, facts: &Facts, room: usize) -> (Vec<(FileState, String)>, usize) {
        let index = self.history.index();
        let is_listed = |file: &FileFact| {
            let file = index.file(&file.path);
            file.is_some_and(|file| index.noted.about_file(file).is_some())
        };
        let changed = facts
            .files
            .iter()
            .rev()
            .filter(|file| file.state != FileState::Read && !is_listed(file) && !path::is_open(&file.path));
        let homes: HashSet<&str> = facts
            .files
            .iter()
            .filter(|file| is_listed(file))
            .filter_map(home)
            .collect();
        let is_project = |file: &FileFact| below_temporary(&file.path).is_none();
        let has_project = facts.files.iter().any(is_project);
        let is_told =
            |file: &&FileFact| is_project(file) || !has_project || home(file).is_some_and(|home| homes.contains(home));
        let changed = changed.filter(is_told);
        let (gone, there): (Vec<_>, Vec<_>) = changed.partition(|file| file.state == FileState::Deleted);
        let mut found: Vec<(FileState, String)> = Vec::new();
        let mut taken_up = 0;
        for file in there.into_iter().chain(gone) {
            let one_line = !file.path.contains('\n');
            let Some(path) = posing::quotable(&file.path).filter(|_| one_line) else {
                continue;
            };
            let is_first = found.iter().all(|(state, _)| *state != file.state);
            let header = if is_first {
                pack::files_header(file.state).len()
            } else {
                0
            };
            // A line break, and a space in front where it would pose as a line of the summary.
            let bytes = path.len() + 2 + header;
            if taken_up + bytes <= room {
                taken_up += bytes;
                found.push((file.state, path.into_owned()));
            }
        }
        (found, taken_up)
    }

    /// Units whose output is in several texts are known by all of them together.
    fn join_outputs(&mut self, scope: &Scope, known: &mut [(usize, Option<Handle>)]) {
        let index = self.history.index();
        // In their order, since the archive gives longer handles to what comes later.
        let mut outputs: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        let is_output = |block: &Block| block.call.is_some() && !block.text.is_empty();
        for (at, pair) in (1..).zip(scope.blocks.windows(2)) {
            let (number, next) = (pair[0] as usize, pair[1] as usize);
            let (before, block) = (&index.blocks[number], &index.blocks[next]);
            let unit = scope.unit_of[at] as usize;
            let is_beside = number + 1 == next && before.call == block.call;
            let is_one_more = is_beside && is_output(before) && is_output(block);
            if is_one_more && scope.may_be_quoted[unit] && scope.uses[at] == Use::Choose {
                let texts = outputs.entry(unit).or_insert_with(|| vec![before.text.as_str()]);
                texts.push(block.text.as_str());
            }
        }
        for (unit, texts) in outputs {
            let whole = Body::new(texts.join("\n"));
            known[unit].1 = Some(self.archive.keep(&whole, "tool", draft::REASON));
        }
    }
}

/// The folder among temporary files that a file is in.
fn home(file: &FileFact) -> Option<&str> {
    let below = below_temporary(&file.path)?;
    below.split_once(['/', '\\']).map(|(home, _)| home)
}
