//! Completion of the input: commands after `/`, files after `@`.

use crate::command::{COMMANDS, Name};
use codelet_agent::file_reference;
use codelet_agent::prompts::{PromptSpec, usage};

/// Candidates that are shown.
pub const SHOWN: usize = 8;

/// A completion candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The text inserted if it is chosen.
    pub text: String,
    /// Its description.
    pub help: String,
    /// It needs an argument before it can be sent.
    pub wants_more: bool,
}

/// Known arguments of commands in this session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arguments {
    /// Models.
    pub models: Vec<String>,
    /// Efforts of the model.
    pub efforts: Vec<String>,
    /// Prompts that can be gone back to, with their numbers, newest first.
    pub prompts: Vec<(usize, String)>,
}

impl Arguments {
    /// Returns the candidates for the argument at `place`, counted from 0, of a command, given the letters typed so
    /// far. A word that is already complete is no candidate.
    pub fn candidates(&self, word: &str, place: usize, letters: &str) -> Vec<Candidate> {
        let Some(entry) = COMMANDS.iter().find(|entry| entry.word.eq_ignore_ascii_case(word)) else {
            return Vec::new();
        };
        let known: Vec<(String, &str)> = match (entry.name, place) {
            // Of several versions, the newest comes first.
            (Name::Model, 0) => self.models.iter().rev().map(|model| (model.clone(), "")).collect(),
            (Name::Effort, 0) => self.efforts.iter().map(|effort| (effort.clone(), "")).collect(),
            (Name::Rewind, 0) => {
                let numbers = self
                    .prompts
                    .iter()
                    .map(|(number, text)| (number.to_string(), text.as_str()));
                numbers.collect()
            }
            (_, place) => words_of(entry.arguments, place)
                .map(|word| (word.to_owned(), ""))
                .collect(),
        };
        // Model names are rarely typed from the provider's name on.
        let begins = |text: &str, letters: &str| match entry.name {
            Name::Model => text.contains(letters),
            _ => text.starts_with(letters),
        };
        let wanted = letters.to_lowercase();
        let found = known
            .into_iter()
            .filter(|(text, _)| begins(text, &wanted) && text != letters);
        found
            .map(|(text, help)| Candidate {
                text,
                help: help.to_owned(),
                wants_more: false,
            })
            .collect()
    }
}

/// The literal words in a command's usage at `place`: `[plan | read]` has two at place 0, and nested brackets belong to
/// the next place.
fn words_of(arguments: &str, place: usize) -> impl Iterator<Item = &str> {
    let is_word = |word: &str| word.starts_with("--") || word.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut depth = 0_usize;
    let mut words = Vec::new();
    for part in arguments.split_inclusive([' ', '[', ']']) {
        let (word, end) = part.split_at(part.len() - usize::from(part.ends_with([' ', '[', ']'])));
        if !word.is_empty() && word != "|" && is_word(word) && depth.saturating_sub(1) == place {
            words.push(word);
        }
        match end {
            "[" => depth += 1,
            "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    words.into_iter()
}

/// The text before the cursor that can be completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sought {
    /// A command with this prefix.
    Command(String),
    /// The argument of this command at this place, with this prefix.
    Argument(String, usize, String),
    /// A file whose name contains these letters; a leading quote begins a name with spaces.
    File(String),
}

/// Returns what can be completed, given the text before the cursor and whether that is all of the first line.
pub fn sought(before: &str, is_first_line: bool) -> Option<Sought> {
    if is_first_line
        && let Some(word) = before.strip_prefix('/')
        && !word.contains(|c: char| c.is_whitespace() || c == '/')
    {
        return Some(Sought::Command(word.to_owned()));
    }
    if let Some(file) = file_reference::begun(before) {
        return Some(Sought::File(file.to_owned()));
    }
    let (word, rest) = before.strip_prefix('/').filter(|_| is_first_line)?.split_once(' ')?;
    let mut written: Vec<&str> = rest.split(' ').collect();
    let letters = written.pop()?;
    written.retain(|word| !word.is_empty());
    Some(Sought::Argument(word.to_owned(), written.len(), letters.to_owned()))
}

/// Commands that begin with or contain the word, followed by those of files and servers' prompts.
pub fn commands(word: &str, prompts: &[PromptSpec]) -> Vec<Candidate> {
    let word = &*word.to_lowercase();
    let mut own: Vec<_> = COMMANDS
        .iter()
        .filter(|entry| entry.word.contains(word) && !entry.is_replaced(prompts))
        .collect();
    own.sort_by_key(|entry| !entry.word.starts_with(word));
    let own = own.into_iter().map(|entry| Candidate {
        text: format!("/{}", entry.word),
        help: match entry.arguments {
            "" => entry.help.to_owned(),
            arguments => format!("{} · {arguments}", entry.help),
        },
        wants_more: false,
    });
    let name = |prompt: &PromptSpec| prompt.command.to_lowercase();
    let mut offered: Vec<_> = prompts.iter().filter(|prompt| name(prompt).contains(word)).collect();
    offered.sort_by_key(|prompt| !name(prompt).starts_with(word));
    let offered = offered.into_iter().map(|prompt| {
        let written = usage(prompt);
        let arguments = written.split_once(' ').map_or("", |(_, arguments)| arguments);
        let parts = [prompt.description.as_str(), arguments];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Candidate {
            text: format!("/{}", prompt.command),
            help: parts.join(" · "),
            wants_more: prompt.arguments.iter().any(|argument| argument.is_required),
        }
    });
    own.chain(offered).collect()
}

/// The best matching files, best first.
pub fn files(letters: &str, all: &[String]) -> Vec<Candidate> {
    let letters: Vec<char> = letters.trim_start_matches('"').to_lowercase().chars().collect();
    let mut found: Vec<(i64, &String)> = all
        .iter()
        .filter_map(|path| Some((score(&letters, path)?, path)))
        .collect();
    let best_first = |a: &(i64, &String), b: &(i64, &String)| {
        b.0.cmp(&a.0)
            .then_with(|| a.1.len().cmp(&b.1.len()))
            .then_with(|| a.1.cmp(b.1))
    };
    // All files of a large workspace match one letter, so only those that are shown are sorted.
    if found.len() > SHOWN {
        found.select_nth_unstable_by(SHOWN, best_first);
        found.truncate(SHOWN);
    }
    found.sort_by(best_first);
    found
        .into_iter()
        .map(|(_, path)| Candidate {
            text: file_reference::write(path),
            help: String::new(),
            wants_more: false,
        })
        .collect()
}

/// Scores a path for letters that must occur in this order; `None` if one is missing. Letters score higher at the
/// beginning of a word, next to each other, and in the file name.
fn score(letters: &[char], path: &str) -> Option<i64> {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    // The file name is searched first, since that is what people type.
    let in_name = fit(letters, &path[name_at..]).map(|score| score + 40);
    in_name.or_else(|| fit(letters, path))
}

fn fit(letters: &[char], text: &str) -> Option<i64> {
    let mut score = 0;
    let mut wanted = letters.iter().peekable();
    let mut last_fit = false;
    let mut before = '/';
    for c in text.chars() {
        let Some(&&next) = wanted.peek() else { break };
        let is_fit = c.to_lowercase().next() == Some(next);
        if is_fit {
            let begins = !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase());
            score += 1 + if begins { 6 } else { 0 } + if last_fit { 4 } else { 0 };
            wanted.next();
        }
        last_fit = is_fit;
        before = c;
    }
    wanted.peek().is_none().then_some(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn best(letters: &str, all: &[&str]) -> Vec<String> {
        let all: Vec<String> = all.iter().map(|&path| path.to_owned()).collect();
        files(letters, &all)
            .into_iter()
            .map(|candidate| candidate.text)
            .collect()
    }

    #[test]
    fn files_are_found_by_some_of_their_letters() {
        let all = [
            "src/main.rs", "src/compact.rs", "docs/domain.md", "src/commands/compare.rs",
        ];
        assert_eq!(best("main", &all)[0], "@src/main.rs");
        assert_eq!(best("cmp", &all), ["@src/compact.rs", "@src/commands/compare.rs"]);
        assert_eq!(best("src/com", &all)[0], "@src/compact.rs");
        assert_eq!(best("xyz", &all), Vec::<String>::new());
        assert_eq!(best("\"my sh", &["docs/my shot.png"]), ["@\"docs/my shot.png\""]);
        assert_eq!(best("", &all).len(), 4);
    }

    #[test]
    fn a_word_behind_a_sign_is_sought() {
        assert_eq!(sought("/co", true), Some(Sought::Command("co".to_owned())));
        assert_eq!(sought("/co", false), None);
        assert_eq!(sought("/pin @ma", true), Some(Sought::File("ma".to_owned())));
        assert_eq!(sought("look at @src/m", true), Some(Sought::File("src/m".to_owned())));
        assert_eq!(sought("me@home", true), None);
        assert_eq!(
            sought("look at @\"my sh", true),
            Some(Sought::File("\"my sh".to_owned()))
        );
        assert_eq!(commands("comp", &[])[0].text, "/compact");
    }

    #[test]
    fn what_may_stand_behind_a_command_is_found() {
        let known = Arguments {
            models: ["anthropic/claude-opus-5", "openai/gpt-6", "anthropic/claude-sonnet-5"]
                .map(str::to_owned)
                .to_vec(),
            efforts: ["low", "high"].map(str::to_owned).to_vec(),
            prompts: vec![(12, "Fix it".to_owned()), (1, "Look".to_owned())],
        };
        for (text, expected) in [
            ("/permission ", &["plan", "read", "edit", "all"][..]),
            ("/permission re", &["read"]),
            ("/permission read", &[]),
            ("/permission read ", &[]),
            ("/effort h", &["high"]),
            (
                "/model claude-",
                &["anthropic/claude-sonnet-5", "anthropic/claude-opus-5"],
            ),
            ("/model opus", &["anthropic/claude-opus-5"]),
            ("/rewind ", &["12", "1"]),
            ("/rewind 12 c", &["conversation"]),
            ("/commit ", &["accept"]),
            ("/notes ", &["add", "drop"]),
            ("/pin ", &[]),
            ("/cost ", &[]),
            ("/nothing ", &[]),
        ] {
            let Some(Sought::Argument(word, place, letters)) = sought(text, true) else {
                panic!("{text}");
            };
            let found = known.candidates(&word, place, &letters);
            let found: Vec<&str> = found.iter().map(|candidate| candidate.text.as_str()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn prompts_of_servers_are_found_behind_the_own_commands() {
        let argument = |name: &str, is_required| codelet_agent::prompts::PromptArgument {
            name: name.to_owned(),
            description: String::new(),
            is_required,
        };
        let prompt = |command: &str, arguments: &[_]| PromptSpec {
            command: command.to_owned(),
            description: "Says it.".to_owned(),
            arguments: arguments.to_vec(),
            ..PromptSpec::default()
        };
        let all = [
            prompt("files:compare", &[argument("file", true), argument("style", false)]),
            prompt("Comp:hello", &[]),
        ];
        let found = commands("comp", &all);
        let texts: Vec<&str> = found.iter().map(|candidate| candidate.text.as_str()).collect();
        assert_eq!(texts, ["/compact", "/undo-compact", "/Comp:hello", "/files:compare"]);
        assert_eq!(found[3].help, "Says it. · FILE [STYLE]");
        assert_eq!((found[2].wants_more, found[3].wants_more), (false, true));
    }

    proptest! {
        #[test]
        fn whatever_is_found_holds_the_letters(letters in "[a-c/]{0,4}", all in proptest::collection::vec("[a-c/]{1,10}", 0..20)) {
            for found in files(&letters, &all) {
                let mut left = found.text[1..].chars();
                prop_assert!(letters.chars().all(|c| left.any(|d| c == d)));
            }
        }
    }
}
