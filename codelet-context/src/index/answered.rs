//! What an answer tells of the conversation before it: what changed, what came of a command, what went wrong.

use super::{Block, BlockKind, Came, Index, NONE, Open, is_report};
use crate::answer;
use crate::command::CommandLine;
use crate::effects::{self, Effect};
use crate::failing;
use crate::lead;
use crate::message::{Action, ActionKind, Role, ToolResult};
use crate::pattern::is_pattern;
use crate::severe;

/// A line that says why a change was not made is told with it if it is at most so long, in bytes.
const REASON_BYTES: u16 = 160;

impl Index {
    /// Takes in an answer.
    pub(super) fn answered(&mut self, role: Role, number: u32, result: &ToolResult) {
        let Open {
            block: call,
            tool,
            action,
            is_look,
            is_everywhere,
        } = self.open.answered(result).unwrap_or_else(|| Open {
            block: NONE,
            ..Open::default()
        });
        let is_change = action.kind == ActionKind::Change;
        let made = if is_change {
            answer::has_done(&action, result)
        } else {
            result.success != Some(false)
        };
        if made {
            self.note_changed(&action, result);
        } else if let Some(line) = &action.command {
            self.note_effects(&effects::done(line, result));
        }
        if let Some(line) = &action.command {
            self.note_rewritten(line, result);
        }
        if let Some(line) = action.command.as_ref().filter(|_| made) {
            self.take_away_patched(call, line, result);
        }
        if is_change && made {
            self.change(call, &tool, action.change, is_everywhere);
        } else if let Some(block) = self.blocks.get_mut(call as usize) {
            let before = std::mem::replace(&mut block.came, Came::of(&action, result));
            self.noted.answered(block, before);
        }
        let amended = (is_change && made).then(|| self.amend(call, result)).flatten();
        let kind = match action.kind {
            ActionKind::Read => BlockKind::Read,
            ActionKind::Command if is_look => BlockKind::Read,
            ActionKind::Command => BlockKind::Command,
            ActionKind::Search => BlockKind::Search,
            ActionKind::Other if self.is_reported(call, result) => BlockKind::Report,
            _ => BlockKind::Other,
        };
        let first = self.blocks.len();
        if let Some(shown) = amended {
            self.show_amended(call, number, shown);
        } else {
            for output in &result.output {
                self.part(role, number, output, Some((call, kind)));
            }
        }
        if kind == BlockKind::Read && made {
            self.note_undone(call, &action, first);
        }
        // That it was stopped, its header tells.
        let is_told = self
            .blocks
            .get(call as usize)
            .is_some_and(|block| block.came == Came::Stopped);
        if is_change && !made && !is_told {
            self.lead_to_reason(call, first, result);
        }
        if matches!(action.kind, ActionKind::Command | ActionKind::Other) {
            self.note_answer(call, &action, first, result);
        }
        // Of what failed, and of checks, the facts tell.
        if result.success != Some(false) {
            let checks = action
                .command
                .as_ref()
                .is_some_and(|line| !line.said().checks.is_empty());
            self.note_severe(first, checks);
        }
        if is_look {
            self.blocks[first..].iter_mut().for_each(|block| block.look = true);
        } else if kind == BlockKind::Read {
            self.has_reader = true;
        }
    }

    /// Whether the answer to this call is what somebody has found out for it.
    fn is_reported(&self, call: u32, result: &ToolResult) -> bool {
        let call = self.blocks.get(call as usize);
        call.is_some_and(|call| is_report(call.text.as_str(), result))
    }

    /// Notes that from here on files are not what was shown of them before.
    fn note_changed(&mut self, action: &Action, result: &ToolResult) {
        for path in action.changed() {
            let file = self.files.file(path);
            self.changed.insert(file, self.blocks.len() as u32);
        }
        if let Some(line) = &action.command {
            self.note_effects(line.effects());
        }
        let line = action.command.as_ref();
        for target in line.map_or_else(Vec::new, |line| self.authored.written(line, result)) {
            let files = match is_pattern(&target.path) {
                true => self
                    .files
                    .matching(&target.path)
                    .into_iter()
                    .map(|(file, _)| file)
                    .collect(),
                false => Vec::from_iter(self.files.meant(&target.path)),
            };
            let now = self.blocks.len() as u32;
            self.changed.extend(files.into_iter().map(|file| (file, now)));
        }
    }

    /// The same of what a command does to files.
    fn note_effects(&mut self, effects: &[Effect]) {
        let now = self.blocks.len() as u32;
        for path in effects::written(effects) {
            let file = self.files.file(path);
            self.changed.insert(file, now);
        }
        for (path, is_folder) in effects::undone(effects) {
            let found = match is_folder {
                true => self
                    .files
                    .within(path, |_| true)
                    .iter()
                    .map(|found| found.file)
                    .collect(),
                false => Vec::from_iter(self.files.meant(path)),
            };
            self.changed.extend(found.into_iter().map(|file| (file, now)));
        }
    }

    /// The same of files that a line does not name, and says it has changed.
    fn note_rewritten(&mut self, line: &CommandLine, result: &ToolResult) {
        let rewrites = line.said().rewrites.iter();
        for rewritten in rewrites.filter_map(|(_, rewrite)| rewrite.came_of(result, result.success)) {
            let now = self.blocks.len() as u32;
            let known = rewritten.paths.iter().filter_map(|path| self.files.meant(path));
            self.changed.extend(known.map(|file| (file, now)));
            let doubted = rewritten.doubted().flat_map(|pattern| self.files.matching(pattern));
            self.changed.extend(doubted.map(|(file, _)| (file, now)));
        }
    }

    /// The call of this block was not carried out. Whoever reads what it would have changed has to know why: a line of its
    /// answer, whose blocks begin at `first`, comes with any other.
    fn lead_to_reason(&mut self, call: u32, first: usize, result: &ToolResult) {
        let lines = |block: &Block| block.lines.clone();
        let telling = failing::failing(result).0.into_iter().next().unwrap_or_default();
        let telling = failing::as_printed(&telling);
        let says =
            |block: &Block, line: u32| !telling.is_empty() && self.text_of(block, line as usize).contains(telling);
        let answer = &self.blocks[first..];
        let all = answer
            .iter()
            .flat_map(|block| lines(block).map(move |line| (block, line)));
        let mut short = all.filter(|(_, line)| self.lines[*line as usize].bytes <= REASON_BYTES);
        let reason = short
            .clone()
            .find(|&(block, line)| says(block, line))
            .or_else(|| short.next());
        if let Some((_, line)) = reason
            && let Some(block) = self.blocks.get_mut(call as usize)
        {
            block.lead = line..line;
        }
    }

    /// What came of the call of this block, where that is soon said, comes with it: whoever reads the one without the other
    /// makes it again. The blocks of its answer begin at `first`.
    fn note_answer(&mut self, call: u32, action: &Action, first: usize, result: &ToolResult) {
        let has_lead = |block: &&Block| match action.kind {
            ActionKind::Command => !block.lead.is_empty(),
            _ => block.lead.start != NONE,
        };
        let Some(block) = self.blocks.get(call as usize).filter(has_lead) else {
            return;
        };
        let index: &Index = self;
        let lines = index.blocks[first..].iter().flat_map(|block| {
            let lines = block.lines.clone();
            lines.map(move |line| (line, index.text_of(block, line as usize)))
        });
        if let Some(answer) = lead::answer(action, block.came, result, lines) {
            self.blocks[call as usize].answer = answer;
        }
    }

    /// Notes the lines of the blocks from this one on, which a check printed or not, that say that something went wrong.
    fn note_severe(&mut self, first: usize, is_check: bool) {
        for block in &self.blocks[first..] {
            if !matches!(block.kind, BlockKind::Command | BlockKind::Other | BlockKind::Read) {
                continue;
            }
            let text = block.text.as_str();
            let lines = &self.lines[block.lines.start as usize..block.lines.end as usize];
            let places = lines.iter().map(|line| {
                let start = line.start as usize;
                start + usize::from(line.prefix())..start + usize::from(line.bytes)
            });
            // Source files speak of errors too: of a file, only a log tells of any.
            if block.kind == BlockKind::Read && !severe::is_log(text, places.clone()) {
                continue;
            }
            let few = severe::few(text, places);
            if is_check || few.is_empty() {
                continue;
            }
            let lines = few.into_iter().map(|line| block.lines.start + line as u32);
            self.severe.extend(lines);
        }
    }
}
