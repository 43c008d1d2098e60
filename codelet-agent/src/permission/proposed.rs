//! The patterns proposed for a project: the user reads and edits them before they take effect.

use super::line::{split, split_with_pipes};
use super::looks;
use super::pattern::{CALL, DEFINITION, WEB, allows, allows_call, allows_fetch, is_of_calls, read};
use super::word::{ShellWord, is_among};
use crate::permission::need::{Looking, Need};
use crate::permission::orders;
use codelet_text::unseen;

/// Separates the patterns of a line's commands. No command's words contain it unquoted.
const BETWEEN: &str = " && ";
/// The longest text that is proposed or accepted, in bytes: the user has to read it first.
const LONGEST: usize = 300;

/// Commands for which a pattern with any further arguments is proposed: those that build or test the project, and so
/// run its code in any case, and those that can do little with any option. With others an option may start a program or
/// write elsewhere (`sort -T`, `gcc -wrapper`, `git log --output`), so only the exact line is proposed, and the user
/// may widen it.
const WIDENED: &[(&str, &str)] = &[
    ("cargo", "build b check c clippy test t nextest bench fmt doc run r"),
    ("npm", "test t"),
    ("pnpm", "test t"),
    ("yarn", "test"),
    ("bun", "test"),
    ("go", "test"),
    ("git", "add commit status"),
];
/// The same for programs without subcommands.
const WIDENED_ALONE: &str =
    "pytest mypy pyright ruff black isort tsc eslint jest vitest ctest rspec phpunit mkdir rmdir touch test [ sleep";
/// Modules that check or build the project, as `cargo test` does: their arguments are not Python code.
const MODULES: &str =
    "pytest unittest doctest mypy pyright ruff black isort flake8 pylint bandit build compileall coverage";

/// Returns the patterns that permit this command line and similar ones; `None` if only the line itself can be
/// permitted.
pub(crate) fn pattern_for(line: &str) -> Option<Vec<String>> {
    let mut patterns: Vec<String> = Vec::new();
    for words in split(line)? {
        // These run without asking.
        if looks::below(&words).is_some() || looks::only_looks(&words, false) {
            continue;
        }
        let pattern = widened(&words)?;
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    // A pattern has to permit at least this line.
    (!patterns.is_empty() && allows(&patterns, line, false, true)).then_some(patterns)
}

/// Returns the pattern for commands like this one.
fn widened(words: &[ShellWord]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let program = *words.first()?;
    // Only the system's own: a project's folder may contain anything under such a name.
    let name = program.strip_prefix("/usr/bin/").unwrap_or(program);
    if is_among(WIDENED_ALONE, name) {
        return Some(format!("{program} *"));
    }
    let told = *words.get(1)?;
    let is_told = |(known, subcommands): &(&str, &str)| *known == name && is_among(subcommands, told);
    if WIDENED.iter().any(is_told) {
        return Some(format!("{program} {told} *"));
    }
    let is_python = name
        .strip_prefix("python")
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'));
    match words[1..] {
        ["-m", module, ..] if is_python && is_among(MODULES, module) => Some(format!("{program} -m {module} *")),
        _ => None,
    }
}

/// Returns patterns that permit these needs and can be saved, as text; `None` if there are none.
pub(crate) fn proposal(needs: &[Need]) -> Option<String> {
    let text = match needs {
        [Need::Run { command, .. }] => pattern_for(command).or_else(|| exactly(command))?.join(BETWEEN),
        [Need::Call { tool, .. }] => format!("{CALL}{tool}"),
        [Need::Fetch { host, .. }] => format!("{WEB}{host}"),
        _ => return None,
    };
    patterns(&text, needs).is_ok().then_some(text)
}

/// Parses the patterns that the user wrote, if they can be saved and permit the request. The name of an MCP tool alone
/// becomes a pattern for its current definition, which users need not read.
///
/// # Errors
/// Says why not.
pub(crate) fn patterns(text: &str, needs: &[Need]) -> Result<Vec<String>, String> {
    if text.len() > LONGEST {
        return Err("a pattern can have at most 300 characters".to_owned());
    }
    if text.chars().any(|c| c.is_control() || unseen::hides(c)) {
        return Err("a pattern must be one line of visible characters".to_owned());
    }
    let mut patterns = text.trim().split(BETWEEN).map(read).collect::<Result<Vec<_>, _>>()?;
    // It would permit every request in this project; for that, users can edit the settings.
    if patterns.iter().any(|pattern| pattern == "*") {
        return Err("* alone would permit every command".to_owned());
    }
    let is_permitted = match needs {
        [Need::Run { command, folder, looks }] => {
            let is_of_commands = !patterns.iter().any(|pattern| is_of_calls(pattern));
            let is_bound = orders::changed_by(command, folder).is_some();
            is_of_commands && !is_bound && allows(&patterns, command, !folder.is_empty(), *looks == Looking::Inside)
        }
        [Need::Call { tool, definition, .. }] => {
            for pattern in &mut patterns {
                if pattern.strip_prefix(CALL) == Some(tool) {
                    pattern.push(DEFINITION);
                    pattern.push_str(definition);
                }
            }
            patterns.iter().all(|pattern| is_of_calls(pattern)) && allows_call(&patterns, tool, definition)
        }
        // Every host would include those that a fetched page names.
        [Need::Fetch { .. }] if patterns.iter().any(|pattern| pattern.strip_prefix(WEB) == Some("*")) => {
            return Err("web:* would permit every host".to_owned());
        }
        [Need::Fetch { host, .. }] => {
            patterns.iter().all(|pattern| pattern.starts_with(WEB)) && allows_fetch(&patterns, host)
        }
        _ => false,
    };
    match is_permitted {
        true => Ok(patterns),
        false => Err("this pattern does not match what is asked for".to_owned()),
    }
}

/// Returns the commands of a line verbatim, if a pattern can express them: plain words without special meaning in a
/// pattern. A command's input is not covered by a pattern, and may be a program.
fn exactly(line: &str) -> Option<Vec<String>> {
    let is_plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_graphic() && c != '*');
    let mut patterns = Vec::new();
    for (words, is_fed) in split_with_pipes(line)? {
        if looks::below(&words).is_some() || looks::only_looks(&words, false) {
            continue;
        }
        if is_fed || words.iter().any(ShellWord::is_document) {
            return None;
        }
        let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        if words.is_empty() || !words.iter().all(|word| is_plain(word)) {
            return None;
        }
        patterns.push(words.join(" "));
    }
    (!patterns.is_empty()).then_some(patterns)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn run(command: &str) -> [Need; 1] {
        [Need::Run {
            command: command.to_owned(),
            folder: String::new(),
            looks: Looking::Inside,
        }]
    }

    #[test]
    fn what_is_proposed_permits_what_is_asked_for_and_says_it_in_plain_words() {
        for (line, proposed) in [
            ("python3 -m pytest -q tests/test_a.py", "python3 -m pytest *"),
            ("cargo fmt && cargo test -p x | tail -5", "cargo fmt * && cargo test *"),
            ("rm -rf target", "rm -rf target"),
            ("./check.sh --fast", "./check.sh --fast"),
            ("sort -o y x", "sort -o y x"),
            ("gcc -c a.c && cargo test", "gcc -c a.c && cargo test"),
            ("git log --output=x", "git log --output=x"),
            ("bash scripts/run.sh", "bash scripts/run.sh"),
            ("cat a.txt | grep x || ./run.sh", "./run.sh"),
        ] {
            assert_eq!(proposal(&run(line)).as_deref(), Some(proposed), "{line}");
        }
        let call = [Need::Call {
            server: "files".to_owned(),
            tool: "files__stat".to_owned(),
            definition: "d1".to_owned(),
            is_changed: false,
            parameters: "{}".to_owned(),
        }];
        assert_eq!(proposal(&call).as_deref(), Some("mcp:files__stat"));
        assert_eq!(patterns("mcp:files__stat", &call).unwrap(), ["mcp:files__stat#d1"]);
        assert!(patterns("mcp:files__stat#d2", &call).is_err());
        assert!(patterns("mcp:files__*", &call).is_ok() && patterns("files *", &call).is_err());
        let fetch = [Need::Fetch {
            host: "docs.python.org".to_owned(),
            url: "https://docs.python.org/3/".to_owned(),
            remarks: Vec::new(),
            is_long: false,
        }];
        assert_eq!(proposal(&fetch).as_deref(), Some("web:docs.python.org"));
        assert!(patterns("web:*.python.org", &fetch).is_ok());
        for text in ["web:*", "docs.python.org", "web:docs.rs", "mcp:*", "*"] {
            assert!(patterns(text, &fetch).is_err(), "{text}");
        }
    }

    #[test]
    fn nothing_is_proposed_that_would_mean_more_than_it_says_or_cannot_be_read() {
        let long = format!("python3 {}", "a".repeat(400));
        for line in [
            "rm *",
            "python3 -c 'print(1)  # x'",
            "echo x > y",
            "python3 a.py\u{202e}",
            "python3 a.py && tee AGENTS.md",
            "bash <<'EOF'\necho hi\nEOF",
            "python3 - <<'EOF'\nprint(1)\nEOF",
            "cat <<'EOF' | sh\necho hi\nEOF",
            "cat a.txt | sh",
            "cat a.txt |\nsh",
            &long,
        ] {
            assert_eq!(proposal(&run(line)), None, "{line}");
        }
    }

    #[test]
    fn a_pattern_is_taken_if_it_permits_the_command_and_is_not_every_command() {
        let asked = run("python3 -m pytest -q");
        for text in [
            "python3 -m pytest *", " python3 * ", "python* -m pytest -q", "python3 * && make *",
        ] {
            assert!(patterns(text, &asked).is_ok(), "{text}");
        }
        for text in [
            "",
            " && ",
            "*",
            "python3 * && *",
            "python3 -m mypy *",
            "python3",
            "mcp:*",
            "python3 *\nrm *",
            "python3 \u{200b}*",
            "python3 -m pytest *lease stop",
        ] {
            assert!(patterns(text, &asked).is_err(), "{text}");
        }
        assert!(patterns("make *", &run("make")).is_ok() && patterns("*", &run("make")).is_err());
    }

    #[test]
    fn what_is_denied_stays_denied_behind_a_variable() {
        use crate::permission::denied::denies;
        for (pattern, line) in [
            ("git push *", "CI=1 git push"),
            ("git push *", "cd a && CI=1 LANG=C git push -f"),
            ("CI=1 cargo *", "CI=1 cargo test"),
            ("RUST_LOG=* *", "RUST_LOG=trace cargo test"),
        ] {
            assert!(denies(pattern, line), "{pattern}: {line}");
        }
        assert!(!denies("CI=1 cargo *", "cargo test") && !denies("git push *", "CI=1 git status"));
    }

    #[test]
    fn a_line_has_a_pattern_where_one_would_be_understood() {
        for (line, patterns) in [
            ("cargo test -p x", &["cargo test *"][..]),
            ("mkdir -p src", &["mkdir *"]),
            ("cargo fmt && cargo test | tail -n 5", &["cargo fmt *", "cargo test *"]),
            ("/usr/bin/git status -s", &["/usr/bin/git status *"]),
            ("git commit -qm x", &["git commit *"]),
            ("RUST_BACKTRACE=1 CI=true cargo test -p x", &["cargo test *"]),
            ("cd sub && RUST_LOG=a=debug,b cargo test", &["cargo test *"]),
            ("python3 -m pytest -q a.py", &["python3 -m pytest *"]),
            ("/usr/bin/python3.12 -m mypy .", &["/usr/bin/python3.12 -m mypy *"]),
        ] {
            assert_eq!(pattern_for(line).unwrap(), patterns, "{line}");
        }
        for line in [
            // An option may start a program, or write.
            "sort -o y x", "gcc -c a.c", "zip -r a.zip x", "git log --output=x", "git diff --stat", "git push",
            "go build ./...", "make test", "./check.sh", "./gradlew build", "./git status", "sub/cargo test",
            "cargo install x", "cargo test; sort -o y x", "rm -rf target", "bash -c 'ls'", "/usr/bin/python3 x.py",
            "python3.13t x.py", "python3 -m pip install x", "python3 -m timeit x", "python3 -c x -m pytest",
            "lua5.4 x.lua", "Rscript x.R", "/usr/bin/git -C / status", "/usr/bin/git", "git submodule foreach ls",
            "docker compose run x", ". x", "npm exec thing", "git -C / status", "git", "echo x > y", "a=b ls",
            // A variable may start a program, and not everything that looks like an assignment is one.
            "PATH=. cargo test", "LD_PRELOAD=x.so cargo test", "RUSTC_WRAPPER=x cargo test",
            "GIT_SSH_COMMAND=x git status", "CI=1 PATH=. cargo test", "CI=./x cargo test", "CI=~ cargo test",
            "CI=$(x) cargo test", "'CI=1' cargo test", "C\\I=1 cargo test", "CI+=1 cargo test", "CI=1", "CI=1; rm x",
            "CI=1 if cargo test", "CI=1 export X", "command CI=1 cargo test", "env CI=1 cargo test", "cargo CI=1 test",
            "ls; rm x", "",
        ] {
            assert_eq!(pattern_for(line), None, "{line}");
        }
    }
}
