//! Scripts that were written in the conversation, and the files that they write when they are run.
//!
//! An agent without a tool that edits files writes a script that does it, runs that, and is told "done". Whoever reads the
//! command line alone would take `python3 fix.py` for nothing.

use crate::command::{Command, CommandLine, Script};
use crate::effects::scripted::{self, Target};
use crate::effects::{self, Applies, Effect};
use crate::hash::ByHash;
use crate::message::{ActionKind, ToolCall, ToolResult};
use crate::outcome::FileState;
use crate::path::Folder;
use crate::testrun::WHOLE;
use crate::word_list::is_in;
use crate::wrapped::base;
use crate::{failing, hash};

/// What runs a script, given as a file, in an option, or by standard input.
const INTERPRETERS: &str = "python pypy py node nodejs bun deno tsx ts-node ruby perl php";
const SHELLS: &str = "sh bash zsh dash ksh fish";
/// The options with a script behind them.
const GIVEN: &str = "-c -e --eval -E -r";
/// What a program is told so that it changes nothing.
const REHEARSING: &str = "--dry-run --dryrun --check -n --diff";
/// Scripts of a line that are looked at.
const MOST: usize = 20;
/// Shorter answers that say that nothing was found are about all that was to be done, in bytes.
const SHORT: usize = 400;

/// The scripts that were written so far, by the names of their files: what each writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authored(ByHash<Vec<Target>>);

/// What a command line says of scripts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scripted {
    /// Those that it writes, by the names of their files.
    written: Vec<(u64, Vec<Target>)>,
    runs: Vec<(Run, Folder)>,
    /// The patches that it writes to files, by the names of those.
    patches: Vec<u64>,
    /// The patches that it applies.
    applied: Vec<Patch>,
}

/// A patch that a line applies.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    /// The name of the file that it is in; nothing where the line brings it itself.
    pub file: Option<u64>,
    /// The folder from which it names its files.
    pub at: Folder,
}

impl Scripted {
    /// The patches that the line applies.
    pub fn applied(&self) -> &[Patch] {
        &self.applied
    }
}

#[derive(Clone, Debug)]
enum Run {
    /// A file of this name.
    File(u64),
    /// What stands in the line.
    Text(Vec<Target>),
}

impl Scripted {
    fn apply(&mut self, applies: &Applies) {
        let files: Vec<Option<u64>> = match &applies.files[..] {
            [] => vec![None],
            files => files.iter().map(|file| Some(name(file))).collect(),
        };
        for file in files.into_iter().take(MOST) {
            let at = applies.at.clone();
            self.runs.extend(file.map(|file| (Run::File(file), at.clone())));
            self.applied.push(Patch { file, at });
        }
    }
}

impl Authored {
    /// Takes what a call writes.
    pub fn note(&mut self, call: &ToolCall) {
        match (call.action.kind, &call.action.command) {
            (ActionKind::Command, Some(line)) => {
                let written = line.scripted().map_or(&[][..], |scripted| &scripted.written);
                self.0.extend(written.iter().cloned());
            }
            (ActionKind::Change, _) => {
                let map = call.parameters.as_map();
                let whole = WHOLE.iter().find_map(|name| map.get(*name)?.as_str());
                if let ([path], Some(text)) = (call.action.changed(), whole) {
                    let targets = targets(path, text);
                    if targets.is_empty() {
                        self.0.remove(&name(path));
                    } else {
                        self.0.insert(name(path), targets);
                    }
                }
            }
            _ => {}
        }
    }

    /// The files that a line has written by the scripts that it runs, as seen from where it began, if this is its answer.
    pub fn written(&self, line: &CommandLine, result: &ToolResult) -> Vec<Target> {
        let Some(scripted) = line.scripted().filter(|_| result.success != Some(false)) else {
            return Vec::new();
        };
        let mut found: Vec<Target> = Vec::new();
        for (run, folder) in &scripted.runs {
            let targets = match run {
                Run::Text(targets) => Some(targets),
                Run::File(name) => self.0.get(name),
            };
            for target in targets.into_iter().flatten() {
                let path = folder.name(&target.path).into_owned();
                if !found.iter().any(|other| other.path == path) {
                    found.push(Target { path, ..*target });
                }
            }
        }
        if found.is_empty() || has_done_nothing(result) {
            return Vec::new();
        }
        found
    }
}

/// The files that a call writes patches to, by their names.
pub(crate) fn patches(call: &ToolCall) -> Vec<u64> {
    if let Some(line) = &call.action.command {
        return line
            .scripted()
            .map_or_else(Vec::new, |scripted| scripted.patches.clone());
    }
    let map = call.parameters.as_map();
    let whole = || WHOLE.iter().find_map(|name| map.get(*name)?.as_str());
    match (call.action.kind, call.action.changed()) {
        (ActionKind::Change, [path]) if whole().is_some_and(|text| effects::is_patch(path, text)) => vec![name(path)],
        _ => Vec::new(),
    }
}

/// Whether a script says that it broke off, or that there was nothing to do, whatever its status is.
pub(crate) fn has_done_nothing(result: &ToolResult) -> bool {
    const BROKEN: &[&str] = &[
        "Traceback (most recent call last)",
        "SyntaxError",
        "Error:",
        "error:",
        "Uncaught ",
        "patch: **** ",
    ];
    const NOTHING: &[&str] = &[
        "not found",
        "no match",
        "no change",
        "nothing to",
        "unchanged",
        "could not",
        "failed",
    ];
    result.texts().any(|text| {
        let text = text.body.as_str();
        let is_broken = |line: &str| {
            let word = line.split(' ').next().unwrap_or_default();
            BROKEN.iter().any(|sign| line.starts_with(sign) || word.ends_with(sign))
        };
        let says_nothing = || {
            let text = text.to_lowercase();
            NOTHING.iter().any(|sign| text.contains(sign))
        };
        text.lines().filter_map(failing::within_frame).any(is_broken) || text.len() <= SHORT && says_nothing()
    })
}

/// What a line says of scripts, if it says anything.
pub(crate) fn read(script: &Script) -> Option<Box<Scripted>> {
    let mut scripted = Scripted::default();
    collect(script, &mut scripted);
    let is_empty = scripted.written.is_empty() && scripted.runs.is_empty() && scripted.applied.is_empty();
    (!is_empty).then(|| Box::new(scripted))
}

fn collect(script: &Script, found: &mut Scripted) {
    for command in &script.commands {
        if command.is_elsewhere || found.runs.len() >= MOST || found.written.len() >= MOST {
            continue;
        }
        if let Some(inner) = command.script.as_ref().filter(|_| command.is_script()) {
            collect(inner, found);
            continue;
        }
        match Applies::of(command).filter(|_| command.is_sure) {
            Some(applies) => found.apply(&applies),
            None => {
                let run = run(command).filter(|_| command.is_sure);
                found.runs.extend(run.map(|run| (run, command.folder.clone())));
            }
        }
        let simple = &command.simple;
        let Some(document) = simple.documents.last() else {
            continue;
        };
        let is_tee = command.name() == "tee";
        let to = command.arguments(1).map(|(word, _)| word).filter(|_| is_tee);
        let files = simple.outputs.iter().map(String::as_str).chain(to);
        for file in files.filter(|file| !file.starts_with('-')).take(MOST) {
            if effects::is_patch(file, &document.text) {
                found.patches.push(name(file));
            }
            found.written.push((name(file), targets(file, &document.text)));
        }
    }
}

/// The script that a command runs.
fn run(command: &Command) -> Option<Run> {
    let (words, called) = (command.words(), command.name());
    if words.iter().skip(1).any(|word| is_in(word, REHEARSING)) {
        return None;
    }
    let bare = called.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_shell = is_in(&called, SHELLS);
    if !is_shell && !is_in(bare, INTERPRETERS) {
        let is_file = words
            .first()
            .is_some_and(|word| word.contains('/') || word.contains('\\'));
        return is_file.then(|| Run::File(name(&words[0])));
    }
    let mut words = words.iter().skip(1).map(String::as_str).peekable();
    while let Some(word) = words.next_if(|word| word.starts_with('-') && word.len() > 1) {
        if is_in(word, GIVEN) && !is_shell {
            let targets = scripted::targets(words.next()?);
            return (!targets.is_empty()).then_some(Run::Text(targets));
        }
        if word == "-m" || is_shell && word.contains('c') {
            return None;
        }
    }
    words.next_if(|word| *word == "run" && is_in(bare, "bun deno"));
    match words.next().filter(|word| *word != "-") {
        Some(file) => Some(Run::File(name(file))),
        // What a shell is given so, is read as a script of its own.
        None if is_shell => None,
        None => {
            let targets = scripted::targets(&command.simple.documents.last()?.text);
            (!targets.is_empty()).then_some(Run::Text(targets))
        }
    }
}

/// What a script writes that is in this file, or a patch.
fn targets(file: &str, text: &str) -> Vec<Target> {
    if effects::is_patch(file, text) {
        let patched = effects::patched(text).into_iter();
        let target = |(path, state): (&str, _)| Target {
            path: path.to_owned(),
            is_read: true,
            state,
        };
        return patched.map(target).collect();
    }
    let is_shell = [".sh", ".bash", ".zsh"].iter().any(|end| file.ends_with(end))
        || text
            .lines()
            .next()
            .is_some_and(|line| line.starts_with("#!") && line.ends_with("sh"));
    if !is_shell {
        return scripted::targets(text);
    }
    let effects = effects::effects(&Script::read(text));
    let written = effects.into_iter().filter_map(|effect| match effect {
        Effect::Write(path, _) => Some(Target {
            path,
            is_read: false,
            state: FileState::Edited,
        }),
        _ => None,
    });
    written.take(MOST).collect()
}

/// A file by its name: it is written by its whole path, and run from its folder.
fn name(path: &str) -> u64 {
    hash::bytes(base(path).as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;
    use serde_json::{Map, json};

    const FIX: &str =
        "p = 'src/del.py'\ns = open(p).read()\nopen(p, 'w').write(s.replace('a', 'b'))\nprint('Applied fix.')";

    /// The files that the last of these lines has written, if it says this and succeeds as far as is known.
    fn written(lines: &[&str], says: &str, success: Option<bool>) -> String {
        let mut authored = Authored::default();
        let mut last = Vec::new();
        for line in lines {
            let call = ToolCall::new("1", "bash", Map::new()).doing(Action::command(line));
            authored.note(&call);
            let line = call.action.command.as_ref().unwrap();
            last = authored.written(line, &ToolResult::new("1", success, says));
        }
        let told = |target: Target| target.path + if target.is_read { "" } else { "!" };
        last.into_iter().map(told).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_script_that_was_written_here_writes_its_files_when_it_is_run() {
        let write = format!("cat <<'EOF' > apply_fix.py\n{FIX}\nEOF");
        for (line, expected) in [
            ("python3 apply_fix.py", "src/del.py"),
            ("cd app && python -u ./apply_fix.py && git diff", "app/src/del.py"),
            ("python3 apply_fix.py; cat x", "src/del.py"),
            ("chmod +x apply_fix.py && ./apply_fix.py", "src/del.py"),
            ("python3 apply_fix.py --dry-run", ""),
            ("python3 other.py", ""),
            ("cat apply_fix.py", ""),
            ("python3 -m apply_fix", ""),
            ("docker exec app python3 apply_fix.py", ""),
        ] {
            assert_eq!(written(&[&write, line], "Applied fix.", None), expected, "{line}");
        }
        let together = format!("{write}\npython3 apply_fix.py");
        assert_eq!(written(&[&together], "", Some(true)), "src/del.py");
        let again = "cat <<'EOF' > apply_fix.py\nprint('nothing')\nEOF";
        assert_eq!(written(&[&write, again, "python3 apply_fix.py"], "", Some(true)), "");
        let shell = "cat > fix.sh <<'EOF'\nsed -i s/a/b/ src/x.c\nEOF";
        assert_eq!(written(&[shell, "bash fix.sh"], "", Some(true)), "src/x.c!");
    }

    #[test]
    fn a_script_in_the_line_writes_its_files() {
        for line in [
            format!("python3 - <<'EOF'\n{FIX}\nEOF"),
            format!("python3 <<'EOF'\n{FIX}\nEOF\ngit diff"),
            format!("python -c \"{FIX}\""),
        ] {
            assert_eq!(written(&[&line], "Applied fix.", Some(true)), "src/del.py", "{line}");
        }
        let node =
            "node -e \"const fs = require('fs'); fs.writeFileSync('a.js', fs.readFileSync('a.js', 'utf8').trim())\"";
        assert_eq!(written(&[node], "", Some(true)), "a.js");
    }

    #[test]
    fn a_script_that_failed_or_found_nothing_has_written_nothing() {
        let line = format!("python3 - <<'EOF'\n{FIX}\nEOF");
        let broken = "Traceback (most recent call last):\n  File \"<stdin>\", line 1\nFileNotFoundError: no";
        for (says, success) in [
            (broken, None),
            ("<output>\nSyntaxError: invalid syntax\n</output>", Some(true)),
            ("Pattern not found!", Some(true)),
            ("No changes made.", Some(true)),
            ("", Some(false)),
        ] {
            assert_eq!(written(&[&line], says, success), "", "{says}");
        }
    }

    #[test]
    fn a_script_that_a_tool_wrote_is_known_too() {
        let mut authored = Authored::default();
        let parameters = json!({ "file_path": "/w/tools/fix.py", "content": FIX });
        let call = ToolCall::new("1", "Write", parameters.as_object().unwrap().clone());
        authored.note(&call.doing(Action::on(ActionKind::Change, ["/w/tools/fix.py"])));
        let line = CommandLine::new("cd /w && python3 tools/fix.py");
        let written = authored.written(&line, &ToolResult::new("1", Some(true), "Done"));
        assert_eq!(written[0].path, "/w/src/del.py");
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(python3|node|bash|-c|-e|-| |'|"|a\.py|<<E|\nE\n|cat > a\.py|open\('b\.c', 'w'\)|;|\n|\./|run){0,30}"#) {
            let mut authored = Authored::default();
            let call = ToolCall::new("1", "bash", Map::new()).doing(Action::command(&line));
            authored.note(&call);
            let line = call.action.command.as_ref().unwrap();
            let _ = authored.written(line, &ToolResult::new("1", None, ""));
        }
    }
}
