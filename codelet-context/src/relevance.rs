//! Which lines of an output are near what the session is about.
//!
//! A file that the user named, a line near a name that the user said, near names that the assistant uses in its calls or near
//! what a search of its has found are needed several times as often as the rest of what was read. What the newest prompt names
//! is needed next, whoever printed it and however long ago.

use crate::candidates::Candidates;
use crate::hash::QuickMap;
use crate::index::{Block, BlockKind, Index};
use crate::marked::Marked;
use crate::pack::factors::FINISHED_FACTOR;
use crate::scope::Lines;
use crate::value;

/// Lines of a file that the user named.
const NAMED_FILE: f32 = 2.5;
/// Lines near a name that the user said.
const NEAR_PROMPTED: f32 = 2.5;
/// What each near line with a name from a call adds, and how many of them count.
const NEAR_CALLED: f32 = 0.3;
const MOST_CALLED: u32 = 4;
/// Lines near one that a search has found …
const NEAR_FOUND: f32 = 2.0;
/// … in full if no more lines of what was read were found than this, and the less the more were: a search that finds much of
/// a file points nowhere in it.
const FEW_FOUND: f32 = 10.0;
/// A name that the newest prompt says asks for its lines if no more messages than this have it …
const FEW: u16 = 6;
/// … in full if no more lines than this have it, and the less the more do.
const FEW_LINES: f32 = 8.0;
/// A prompt that names more things than this, of those that occur, asks for each of them the less.
const MANY: f32 = 6.0;
/// What such a line is worth more, and one at most so far away from it …
const ASKED_FOR: f32 = 4.0;
const BESIDE: f32 = 2.0;
const BESIDE_REACH: u32 = 2;
/// … and how much more than that where no reading tool printed it: of what others print little is needed by itself.
const PRINTED: f32 = 8.0;
/// Lines that say that something went wrong, where few of an output do, are quoted before others: that many of the newest, in
/// at most this share of the room. By rule, since no score of theirs would stand against a file that was read.
const NEWEST_SEVERE: usize = 6;
const SEVERE_SHARE: f32 = 0.03;
const FIRST: f32 = 1_000.0;
/// How many lines away is near.
pub(crate) const REACH: u32 = 5;

/// The names that stand in these blocks, if there are any.
pub(crate) fn names_in<'a>(index: &Index, blocks: impl Iterator<Item = &'a Block>) -> Option<Marked> {
    let mut found: Option<Marked> = None;
    for line in blocks.flat_map(|block| block.lines.clone()) {
        for &name in index.names_of(line as usize) {
            let names = found.get_or_insert_with(|| Marked::with_room(index.items.len()));
            names.mark(name);
        }
    }
    found
}

/// Multiplies the factors of the lines that are looked at, which are among these blocks, by whether the newest prompt names
/// what they are about.
pub(crate) fn weigh_asked(index: &Index, candidates: &Candidates, blocks: &[u32], of: &Lines, factors: &mut [f32]) {
    let Some(newest) = index.noted.prompt else {
        return;
    };
    let prompt = index.blocks_of(index.blocks[newest as usize].message);
    let said = index.blocks[prompt.clone()].iter();
    let Some(asked) = names_in(index, said.filter(|block| block.kind == BlockKind::Prompt)) else {
        return;
    };
    let few = value::frequent(index).min(FEW);
    let is_asked = |&name: &u32| asked.has(name) && index.items[name as usize].messages <= few;
    // Lines with an asked name, what such a line is worth more, and the block that holds it.
    let mut found: Vec<(u32, u32, f32, &Block)> = Vec::new();
    let mut counts: QuickMap<u32, u32> = QuickMap::default();
    for number in blocks.iter().map(|&number| number as usize) {
        let block = &index.blocks[number];
        let more = match block.kind {
            BlockKind::Prompt => continue,
            // What came after the prompt was printed on its behalf.
            BlockKind::Command | BlockKind::Search | BlockKind::Report | BlockKind::Other if number < prompt.start => {
                PRINTED
            }
            _ => 1.0,
        };
        // What is asked for now is part of the work at hand.
        let more = match index.is_finished(number) {
            true => more / FINISHED_FACTOR,
            false => more,
        };
        for line in candidates.within(block.lines.clone()) {
            for &name in index.names_of(line as usize).iter().filter(|name| is_asked(name)) {
                found.push((line, name, more, block));
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let share = (MANY / counts.len().max(1) as f32).min(1.0);
    // A line is weighed once, by the best reason that there is.
    let mut gains: QuickMap<u32, f32> = QuickMap::default();
    for (line, name, more, block) in found {
        let part = share * (FEW_LINES / counts[&name] as f32).min(1.0);
        let first = line.saturating_sub(BESIDE_REACH).max(block.lines.start);
        for near in first..(line + BESIDE_REACH + 1).min(block.lines.end) {
            let gain = if near == line { ASKED_FOR } else { BESIDE };
            let best = gains.entry(near).or_insert(1.0);
            *best = best.max(1.0 + (gain * more - 1.0) * part);
        }
    }
    for (line, gain) in gains {
        multiply(of, factors, line, gain);
    }
}

/// Puts the newest lines that say that something went wrong, where few of an output do, before all others, of which `bytes`
/// bytes are quoted.
pub(crate) fn weigh_severe(index: &Index, bytes: usize, of: &Lines, factors: &mut [f32]) {
    let mut room = (bytes as f32 * SEVERE_SHARE) as usize;
    for &line in index.severe.iter().rev().take(NEWEST_SEVERE) {
        let Some(left) = room.checked_sub(usize::from(index.lines[line as usize].bytes)) else {
            return;
        };
        room = left;
        multiply(of, factors, line, FIRST);
    }
}

/// Multiplies the factor of a line, if it has one.
fn multiply(of: &Lines, factors: &mut [f32], line: u32, by: f32) {
    if let Some(place) = of.place(line) {
        factors[place] *= by;
    }
}

/// Multiplies the factors of the lines of what reading tools printed by how near they are, of those that are looked at, which
/// are among these blocks.
pub(crate) fn weigh(index: &Index, candidates: &Candidates, blocks: &[u32], of: &Lines, factors: &mut [f32]) {
    let frequent = value::frequent(index);
    let said_by = |line: usize| {
        let mut said = (false, false);
        for &id in index.names_of(line).iter().filter(|&&id| index.items.is_said(id)) {
            let item = &index.items[id as usize];
            let is_rare = item.messages <= frequent;
            said.0 |= is_rare && item.is_prompted();
            said.1 |= is_rare && item.calls > 0;
        }
        said
    };
    let matches = index.found.among(&index.items);
    let mut lines: Vec<usize> = Vec::new();
    // How many of the lines before each one have such a name, of the user's and of a call, and were found.
    let mut sums: Vec<[u32; 3]> = Vec::new();
    for number in blocks.iter().map(|&number| number as usize) {
        let block = &index.blocks[number];
        if block.kind != BlockKind::Read {
            continue;
        }
        lines.clear();
        lines.extend(candidates.within(block.lines.clone()).map(|line| line as usize));
        let mut sum = [0; 3];
        sums.clear();
        sums.push(sum);
        for &line in &lines {
            let (prompted, called) = said_by(line);
            // The item of a whole line comes last.
            let item = index.items_of(line).last();
            let is_found = item.is_some_and(|&item| matches.as_ref().is_some_and(|matches| matches.has(item)));
            sum[0] += u32::from(prompted);
            sum[1] += u32::from(called);
            sum[2] += u32::from(is_found);
            sums.push(sum);
        }
        let file = if index.is_named_by_user(number) {
            NAMED_FILE
        } else {
            1.0
        };
        let near_found = 1.0 + (NEAR_FOUND - 1.0) * (FEW_FOUND / sum[2].max(1) as f32).min(1.0);
        // Those that are near go on from line to line.
        let (mut start, mut end) = (0, 0);
        for &line in &lines {
            while lines[start] + (REACH as usize) < line {
                start += 1;
            }
            while end < lines.len() && lines[end] <= line + REACH as usize {
                end += 1;
            }
            let [prompted, called, found] = std::array::from_fn(|which| sums[end][which] - sums[start][which]);
            let said = if prompted > 0 { NEAR_PROMPTED } else { 1.0 };
            let used = 1.0 + NEAR_CALLED * called.min(MOST_CALLED) as f32;
            let sought = if found > 0 { near_found } else { 1.0 };
            multiply(of, factors, line as u32, file * said * used * sought);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::digest::tests::{call, quoted, run};
    use crate::history::History;
    use crate::message::{Action, ActionKind, Message};
    use serde_json::json;

    /// A command has printed a line about `box_17` among many others, and much was read since.
    fn long_ago(prompt: &str, mut lines: impl FnMut(usize) -> String) -> String {
        let mut history = History::new();
        let log: Vec<String> = (0..120).map(&mut lines).collect();
        run(&mut history, "./work --all", &log.join("\n"));
        for file in 0..8 {
            let text: String = (0..40)
                .map(|line| format!("fn part_{file}_{line}(count: usize) -> usize {{ count + {line} }}\n"))
                .collect();
            run(&mut history, &format!("cat src/part_{file}.rs"), &text);
        }
        history.append(Message::user(prompt));
        quoted(&history, &[], 1_500)
    }

    #[test]
    fn what_the_newest_prompt_names_is_quoted_however_old_it_is() {
        let log = |line: usize| match line {
            60 => String::from("INFO box_17 was drained of 187 of 200"),
            _ => format!("INFO consumed {}", line * 37),
        };
        assert!(!long_ago("go on", log).contains("187 of 200"));
        assert!(long_ago("What became of box_17?", log).contains("187 of 200"));
    }

    #[test]
    fn a_name_that_many_lines_have_does_not_fill_the_room() {
        let log = |line: usize| format!("INFO box_17 was drained of {} of 200", line * 37);
        let text = long_ago("What became of box_17?", log);
        assert!(text.contains("part_"), "{text}");
    }

    /// What is quoted of a long file that was read after a search.
    fn of_what_was_read(found: impl Fn(usize) -> bool) -> String {
        let mut history = History::new();
        let line = |line: usize| format!("let part_{line} = part_{}.join(other_{line});", line * 7);
        let all: Vec<String> = (0..120).map(line).collect();
        let matches: String = (0..120)
            .filter(|&line| found(line))
            .map(|line| format!("src/parts.rs:{}:{}\n", line + 1, all[line]))
            .collect();
        let search = Action {
            kind: ActionKind::Search,
            ..Action::default()
        };
        let parameters = json!({"pattern": "join"});
        call(&mut history, "Grep", search, parameters, (Some(true), &matches));
        let action = Action::on(ActionKind::Read, ["src/parts.rs"]);
        let parameters = json!({"file_path": "src/parts.rs"});
        call(&mut history, "Read", action, parameters, (Some(true), &all.join("\n")));
        quoted(&history, &[], 700)
    }

    #[test]
    fn of_what_was_read_the_lines_near_those_that_a_search_has_found_are_quoted() {
        let beside = "let part_57 =";
        let text = of_what_was_read(|line| line == 60);
        assert!(text.contains(beside), "{text}");
        assert!(!of_what_was_read(|_| false).contains(beside));
        assert!(
            !of_what_was_read(|_| true).contains(beside),
            "what finds everything points nowhere"
        );
    }

    #[test]
    fn what_the_newest_prompt_names_is_of_the_work_at_hand_whenever_it_was_read() {
        let mut history = History::new();
        history.append(Message::user("begin"));
        let read = |history: &mut History, file: &str, name: &str| {
            let lines: Vec<String> = (0..40)
                .map(|line| format!("let {name}_{line} = {name}_new({line});"))
                .collect();
            let action = Action::on(ActionKind::Read, [file]);
            let parameters = json!({"file_path": file});
            call(history, "Read", action, parameters, (Some(true), &lines.join("\n")));
        };
        read(&mut history, "src/nuts.rs", "walnut");
        history.append(Message::user("What became of walnut_17 in src/fruits.rs?"));
        for _ in 0..3 {
            read(&mut history, "src/fruits.rs", "cherry");
        }
        let text = quoted(&history, &[], 300);
        assert!(text.contains("let walnut_17 ="), "{text}");
        assert!(!text.contains("let walnut_30 ="), "{text}");
    }
}
