//! Which commands run tests, builds or lints, seen through the wrappers that they are run in.

use crate::programs::{Program, Told, programs, wrappers};
use crate::shell::{self, Next, Simple};
use CheckKind::{Build, Lint, Test};

/// What a command checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum CheckKind {
    /// It runs tests.
    Test,
    /// It compiles or packs.
    Build,
    /// It looks for faults without running anything: lints, types, formats.
    Lint,
}

/// A check that a command line runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What is checked.
    pub kind: CheckKind,
    /// The program and what it is told to do, such as `cargo test` or `pytest`.
    pub name: String,
    /// What the check is narrowed to: the arguments that are no options, in their order.
    pub only: Vec<String>,
    /// Status 0 of the whole line means that this check succeeded. Behind a pipe or a `;` it means nothing.
    pub decides: bool,
}

/// Nesting of `sh -c "…"` and of `python -m …` that is looked into.
const DEEPEST: usize = 3;
/// Checks of one line that are looked for.
const MOST: usize = 32;

/// The checks that a command line runs, in the order in which it runs them.
pub fn checks(line: &str) -> Vec<Check> {
    let mut found = Vec::new();
    collect(&shell::commands(line), true, 0, &mut found);
    found
}

/// What a command line says of itself, from reading it once.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// See [`checks`].
    pub checks: Vec<Check>,
    /// The program that the line ends with, by its name and what it is asked to do.
    pub program: Option<String>,
    /// See [`is_question`].
    pub is_question: bool,
}

impl Line {
    pub fn read(line: &str) -> Line {
        let commands = shell::commands(line);
        let mut checks = Vec::new();
        collect(&commands, true, 0, &mut checks);
        Line {
            checks,
            program: program_name(&commands),
            is_question: ends_with_question(&commands),
        }
    }
}

/// The last test run of a command line, if it runs tests.
pub fn test_run(line: &str) -> Option<Check> {
    checks(line).into_iter().rfind(|check| check.kind == CheckKind::Test)
}

/// The last build or lint of a command line, if it runs one.
pub fn build_run(line: &str) -> Option<Check> {
    checks(line).into_iter().rfind(|check| check.kind != CheckKind::Test)
}

/// Whether a status other than 0 is an answer of this command line and not a failure: `grep` has found nothing, `diff`
/// has found a difference.
pub fn is_question(line: &str) -> bool {
    ends_with_question(&shell::commands(line))
}

fn ends_with_question(commands: &[Simple]) -> bool {
    const QUESTIONS: &str =
        "grep egrep fgrep rg ag ack diff cmp test [ [[ which type ls find fd pgrep lsof false cat head tail journalctl";
    const GIT_QUESTIONS: &str = "diff grep check-ignore rev-parse show-ref merge-base";
    // What they print was said by others, and how that went says nothing of them.
    const LOOKS: &str = "logs log describe view inspect ps";
    const LOOKED_WITH: &str = "docker podman kubectl oc gh glab";
    let last = commands.iter().rfind(|command| command.words[0] != "exit");
    last.is_some_and(|command| match unwrap(&command.words).words {
        [git, rest @ ..] if git == "git" => {
            first_word(rest, "-C -c").is_some_and(|(verb, _)| is_in(verb, GIT_QUESTIONS))
        }
        [program, rest @ ..] if is_in(base(program), LOOKED_WITH) => rest
            .iter()
            .filter(|word| is_verb(word))
            .take(2)
            .any(|word| is_in(word, LOOKS)),
        [program, ..] => is_in(base(program), QUESTIONS),
        [] => false,
    })
}

/// The program of the last command, with what it is asked to do: `npm install`, `docker push`, `npm run publish`. That
/// another of them succeeds mends nothing.
fn program_name(commands: &[Simple]) -> Option<String> {
    let last = commands.last()?;
    let (program, rest) = unwrap(&last.words).words.split_first()?;
    let mut name = base(program).to_owned();
    if program.starts_with('.') {
        // A script of the project's own does one thing.
        return Some(name);
    }
    let mut verbs = rest.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    while let Some(verb) = verbs.next().filter(|word| is_verb(word)) {
        name.push(' ');
        name.push_str(verb);
        if verb != "run" {
            break;
        }
    }
    Some(name)
}

/// Whether a word may say what to do, and is no number, path, address or text.
fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

fn collect(commands: &[Simple], is_outermost: bool, depth: usize, found: &mut Vec<Check>) {
    for (command, decides) in commands.iter().zip(deciding(commands)) {
        if found.len() >= MOST {
            return;
        }
        let Unwrapped {
            words,
            outer,
            is_inverted,
        } = unwrap(&command.words);
        let decides = is_outermost && decides && !is_inverted;
        match inner_script(words) {
            Some(script) if depth < DEEPEST => collect(&shell::commands(script), decides, depth + 1, found),
            // `hatch run test` runs a script of that name where `hatch run pytest` runs a program.
            _ => found.extend(
                recognise(words, 0)
                    .or_else(|| recognise(outer, 0))
                    .map(|(kind, name, only)| Check {
                        kind,
                        name,
                        only,
                        decides,
                    }),
            ),
        }
    }
}

/// For each command, whether status 0 of the whole line means status 0 of it: it surely ran, and nothing after it hides its
/// status.
fn deciding(commands: &[Simple]) -> Vec<bool> {
    // What `set` has switched on before each command, and whether an `||` may have passed it over.
    let (mut stops, mut pipes_fail, mut is_optional) = (false, false, false);
    let before: Vec<_> = commands
        .iter()
        .map(|command| {
            let now = (stops, pipes_fail, is_optional);
            if command.words[0] == "set" {
                let flags = &command.words[1..];
                stops |= flags
                    .iter()
                    .any(|f| f == "errexit" || (f.starts_with('-') && f.contains('e')));
                pipes_fail |= flags.iter().any(|f| f == "pipefail");
            }
            is_optional |= command.then == Next::Or;
            now
        })
        .collect();
    let mut decides = vec![false; commands.len()];
    // Whether the next command decides, and whether all from the next on runs only if this one has succeeded and decides.
    let (mut next, mut rest) = (true, true);
    for (index, command) in commands.iter().enumerate().rev() {
        let (stops, pipes_fail, is_optional) = before[index];
        let (this, behind) = match command.then {
            Next::End => (true, true),
            Next::And => (rest, rest),
            Next::Then => (stops && rest, stops && rest),
            Next::Pipe => (pipes_fail && next, rest),
            Next::Or | Next::Background => (false, false),
        };
        (next, rest) = (this, behind);
        decides[index] = this && !is_optional;
    }
    decides
}

/// A command without what it is wrapped in.
struct Unwrapped<'a> {
    /// The program that is run in the end.
    words: &'a [String],
    /// The same with its innermost wrapper.
    outer: &'a [String],
    /// The status is turned round.
    is_inverted: bool,
}

fn unwrap(words: &[String]) -> Unwrapped<'_> {
    const RESERVED: &str = "if then elif else do while until {";
    let (mut rest, mut outer, mut is_inverted) = (words, &words[..0], false);
    while let Some(first) = rest.first() {
        if first == "!" {
            is_inverted = !is_inverted;
            rest = &rest[1..];
        } else if is_assignment(first) || is_in(first, RESERVED) {
            rest = &rest[1..];
        } else if let Some((names, valued, before)) =
            wrappers(base(first)).iter().find(|(names, ..)| is_called(rest, names))
        {
            outer = rest;
            rest = skip_options(&rest[names.split(' ').count()..], valued);
            rest = skip_options(&rest[(*before).min(rest.len())..], valued);
        } else {
            break;
        }
    }
    Unwrapped {
        words: rest,
        outer,
        is_inverted,
    }
}

fn is_called(words: &[String], names: &str) -> bool {
    let mut names = names.split(' ');
    // Nothing is run where nothing follows.
    let Some(followed) = words.len().checked_sub(1) else {
        return false;
    };
    let first = names.next();
    first == Some(base(&words[0]))
        && names
            .enumerate()
            .all(|(at, name)| at + 1 < followed && words[at + 1] == name)
}

/// Whether a word is one of a list of words.
fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

fn skip_options<'a>(words: &'a [String], valued: &str) -> &'a [String] {
    let mut rest = words;
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let taken = if is_in(option, valued) { 2 } else { 1 };
        rest = &rest[taken.min(rest.len())..];
        if option == "--" {
            break;
        }
    }
    rest
}

/// The first word that is no option, and what follows it.
fn first_word<'a>(words: &'a [String], valued: &str) -> Option<(&'a str, &'a [String])> {
    // A toolchain (`cargo +nightly test`) is an option by another sign.
    let mut rest = skip_options(words, valued);
    while rest.first().is_some_and(|word| word.starts_with('+')) {
        rest = skip_options(&rest[1..], valued);
    }
    let (first, rest) = rest.split_first()?;
    Some((first, rest))
}

/// The name of a program, without its folder and without the endings that platforms add.
fn base(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe")
        .or_else(|| name.strip_suffix(".cmd"))
        .unwrap_or(name)
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish", "ash"];

/// The line that `sh -c "line"` runs.
fn inner_script(words: &[String]) -> Option<&str> {
    let (program, rest) = words.split_first()?;
    if !SHELLS.contains(&base(program)) {
        // `eval "line"` has lost its name by now: a program's name has no blanks.
        return (program.contains(' ') && rest.is_empty()).then_some(program.as_str());
    }
    let at = rest
        .iter()
        .position(|word| !word.starts_with("--") && word.starts_with('-') && word.contains('c'))?;
    rest[at + 1..]
        .iter()
        .find(|word| !word.starts_with('-'))
        .map(String::as_str)
}

type Recognised = (CheckKind, String, Vec<String>);

fn recognise(words: &[String], depth: usize) -> Option<Recognised> {
    let (program, rest) = words.split_first()?;
    if depth > DEEPEST || is_only_asking(rest) {
        return None;
    }
    let name = base(program);
    if let Some(script) = run_by_interpreter(name, rest, depth + 1) {
        return script;
    }
    let found = programs(name).iter().find_map(|row| {
        let (kind, verb, only) = told(row, rest)?;
        let name = if verb.is_empty() {
            name.to_owned()
        } else {
            format!("{name} {verb}")
        };
        Some((kind, name, only))
    });
    match found {
        Some((Test, name, only)) if is_only_building(&name, rest) => Some((Build, name, only)),
        Some(found) => Some(found),
        // A program of the project's own, named for what it does: `./run_tests.sh`.
        None if program.contains('/') && is_named_for_tests(stem(name)) => {
            Some((Test, name.to_owned(), plain(rest, "")))
        }
        None => None,
    }
}

/// Whether the options ask for a list, a version or help and nothing is run.
fn is_only_asking(words: &[String]) -> bool {
    const ASKING: &str =
        "--help --version -V --list --list-tests --listTests --collect-only --co --dry-run --just-print --show-only";
    words
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| is_in(word, ASKING))
}

/// Whether tests are built and not run.
fn is_only_building(name: &str, words: &[String]) -> bool {
    let without = if name == "go test" { "--no-run -c" } else { "--no-run" };
    words.iter().any(|word| is_in(word, without))
}

/// What an interpreter is given to run, where it is one: `None` for other programs.
fn run_by_interpreter(name: &str, words: &[String], depth: usize) -> Option<Option<Recognised>> {
    let version = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .to_owned()
    };
    let script = match version(name).as_str() {
        "python" | "pypy" | "py" | "coverage" => {
            let words = match words.split_first() {
                Some((run, rest)) if name == "coverage" && run == "run" => rest,
                _ => words,
            };
            if let Some(at) = words.iter().position(|word| word == "-m") {
                let script = words.get(at + 1..)?;
                // A module in front of it would be a file to run.
                let is_first = skip_options(&words[..at], "-W -X").is_empty();
                return Some(recognise(script, depth).filter(|_| is_first));
            }
            skip_options(words, "-W -X --source --rcfile")
        }
        "node" | "tsx" | "ts-node" | "ruby" | "perl" | "php" | "lua" | "Rscript" | "julia" | "bash" | "sh" | "zsh" => {
            if version(name) == "node" && words.iter().any(|word| word == "--test") {
                return Some(Some((Test, "node --test".to_owned(), plain(words, ""))));
            }
            if words
                .iter()
                .any(|word| word == "-e" || word == "--eval" || word == "-r")
                && version(name) != "ruby"
            {
                return Some(None);
            }
            skip_options(words, "-I -r --import --loader")
        }
        _ => return None,
    };
    let Some((file, rest)) = script.split_first() else {
        return Some(None);
    };
    if file == "-c" || is_only_asking(rest) {
        return Some(None);
    }
    let file = base(file);
    let in_table = !programs(file).is_empty() || !programs(stem(file)).is_empty();
    Some(match recognise(script, depth).filter(|_| in_table) {
        Some(found) => Some(found),
        None if is_named_for_tests(stem(file)) => Some((Test, file.to_owned(), plain(rest, ""))),
        None => None,
    })
}

fn told(row: &Program, words: &[String]) -> Option<Recognised> {
    match &row.told {
        Told::Always => Some((row.kind, String::new(), plain(words, row.valued))),
        Told::First(verbs) => {
            let (verb, rest) = first_word(words, row.valued)?;
            is_in(verb, verbs).then(|| (row.kind, verb.to_owned(), plain(rest, "")))
        }
        Told::Any(verbs) => {
            let words = plain(words, row.valued);
            let verb = words.iter().find(|word| is_in(last_piece(word), verbs))?.clone();
            Some((row.kind, verb.clone(), others(words, &verb)))
        }
        // What follows `-e` is code.
        Told::Script(_) if words.iter().take(2).any(|word| is_in(word, "-e --eval --print")) => None,
        Told::Script(leads) => {
            let words = plain(words, row.valued);
            let at = words.iter().position(|word| !is_in(word, leads))?;
            let verb = words[at].clone();
            let is_lead_free = at == 0;
            let kind = match verb.as_str() {
                "t" | "tst" if is_lead_free => Test,
                // What a package manager does itself.
                "install" | "i" | "ci" | "add" | "remove" | "init" | "publish" | "pack" | "why" | "ls" | "view"
                | "exec"
                    if is_lead_free =>
                {
                    return None;
                }
                script if is_named_for_tests(script) => Test,
                script => project_script(script)?,
            };
            Some((kind, verb, words[at + 1..].to_vec()))
        }
        Told::Target => {
            let words = plain(words, row.valued);
            let verb = words.iter().find(|word| is_test_target(word))?.clone();
            Some((row.kind, verb.clone(), others(words, &verb)))
        }
    }
}

/// What a script of a project does, by the names that projects give to builds and lints.
fn project_script(name: &str) -> Option<CheckKind> {
    let mut pieces = pieces(name);
    pieces.find_map(|piece| match piece {
        "build" | "compile" | "tsc" | "bundle" => Some(Build),
        "lint" | "eslint" | "typecheck" | "types" | "check" | "fmt" | "format" | "prettier" => Some(Lint),
        _ => None,
    })
}

fn is_test_target(word: &str) -> bool {
    let last = last_piece(word);
    last == "check"
        || last == "verify"
        || is_named_for_tests(last)
        || last.starts_with("test") && last.ends_with("UnitTest")
}

/// The last piece of a path of targets: `:app:test`, `core/test`.
fn last_piece(word: &str) -> &str {
    word.rsplit([':', '/']).next().unwrap_or(word)
}

/// Whether a name says that tests are run, in one of its pieces; `update_test` changes one.
fn is_named_for_tests(name: &str) -> bool {
    const NAMES: &str = "test tests spec specs e2e unittest unittests runtest runtests testsuite selftest Test Tests";
    const OTHERWISE: &str = "update fix create add make generate gen write edit modify patch setup clean reset install";
    let first = pieces(name).next().unwrap_or_default();
    !is_in(first, OTHERWISE) && pieces(name).any(|piece| is_in(piece, NAMES))
}

fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric())
}

/// A file's name without what follows its first dot.
fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

/// The words that are no options, nor their values.
fn plain(words: &[String], valued: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = words;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if is_in(first, valued) {
            rest = rest.get(1..).unwrap_or(&[]);
        } else if !first.starts_with('-') && !first.starts_with('+') && !is_assignment(first) {
            found.push(first.clone());
        }
    }
    found
}

fn others(words: Vec<String>, verb: &str) -> Vec<String> {
    let mut is_found = false;
    words
        .into_iter()
        .filter(|word| is_found || word != verb || std::mem::replace(&mut is_found, true))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    /// Command lines with `¦` between them and `⏎` in them.
    fn lines(text: &str) -> Vec<String> {
        text.split('¦').map(|line| line.trim().replace('⏎', "\n")).collect()
    }

    #[test]
    fn commands_that_run_tests_are_recognised() {
        for line in lines(
            r#"cargo test ¦ cargo +nightly -q test --workspace ¦ cargo nextest run ¦ cargo t -p core ¦
               pytest -x tests/test_a.py ¦ python -m pytest -q ¦ python3.12 -m unittest discover ¦
               python -W ignore -m pytest ¦ python manage.py test app ¦ npm test ¦ npm t ¦ npm run test:unit ¦
               npm --prefix web test ¦ pnpm -r test ¦ pnpm --filter core test ¦ yarn test ¦ yarn run test ¦
               bun test ¦ bun run test ¦ npx vitest run ¦ npx --yes jest -t name ¦ vitest ¦
               node_modules/.bin/mocha ¦ go test ./... ¦ go -C sub test ./... ¦ gotestsum ¦ mvn -q test ¦
               ./mvnw -pl core verify ¦ gradle test ¦ ./gradlew :app:test --info ¦ ./gradlew testDebugUnitTest ¦
               dotnet test ¦ ctest --output-on-failure ¦ make test ¦ make -C build check ¦ make -j8 test ¦
               just test ¦ just test-unit ¦ task test ¦ rspec spec/a_spec.rb ¦ bundle exec rspec ¦
               bundle exec rake test ¦ rake spec ¦ bin/rails test ¦ rails test ¦ vendor/bin/phpunit ¦
               composer test ¦ php artisan test ¦ mix test ¦ swift test ¦ zig test a.zig ¦ zig build test ¦
               deno test -A ¦ deno task test ¦ tox -e py312 ¦ nox -s tests ¦ bazel test //... ¦ uv run pytest ¦
               uv run --with x python -m pytest ¦ poetry run pytest ¦ hatch run test ¦
               pipenv run python -m unittest ¦ conda run -n x pytest ¦ coverage run -m pytest ¦ sbt test ¦
               lein test ¦ stack test ¦ cabal test ¦ dune runtest ¦ flutter test ¦ dart test ¦ forge test ¦
               rebar3 eunit ¦ meson test -C build ¦ ninja -C build test ¦ prove -l t ¦ bats tests ¦
               ./run_tests.sh ¦ bash scripts/test.sh fast ¦ python tests/runtests.py ¦ python test_parser.py ¦
               ./target/debug/deps/parser_test ¦ node --test ¦ node test.js ¦ playwright test ¦
               npx cypress run ¦ busted ¦ nx test web ¦ turbo run test ¦ xcodebuild -scheme A test"#,
        ) {
            assert!(test_run(&line).is_some_and(|run| run.decides), "{line}");
        }
    }

    #[test]
    fn wrappers_do_not_hide_a_test_run() {
        for line in lines(
            r#"cd x && cargo test ¦ rtk bun run test ¦ RUST_LOG=debug CI=1 cargo test ¦ timeout 60 cargo test ¦
               timeout -k 5 60s cargo test ¦ sudo -u me cargo test ¦ time cargo test ¦ env -u A B=1 cargo test ¦
               nice -n 5 cargo test ¦ cargo test 2>&1 ¦ cargo test > log.txt 2>&1 ¦ (cd a && cargo test) ¦
               bash -lc 'cd a && cargo test' ¦ sh -c "cargo test" ¦
               set -o pipefail; cargo test 2>&1 | tail -20 ¦
               set -euo pipefail⏎cargo build⏎cargo test⏎echo done ¦ cargo build && cargo test && echo ok | cat ¦
               docker compose exec -T app cargo test ¦ docker exec c cargo test ¦ xvfb-run -a npx jest ¦
               eval "cargo test" ¦ cargo test; ¦ cat > a.rs <<'EOF'⏎fn a() {}⏎EOF⏎cargo test"#,
        ) {
            assert!(test_run(&line).is_some_and(|run| run.decides), "{line}");
        }
    }

    #[test]
    fn behind_a_pipe_or_a_semicolon_the_status_is_another_commands() {
        for line in lines(
            r#"cargo test | tail ¦ cargo test 2>&1 | tail -5 ¦ cargo test; echo done ¦ cargo test || true ¦
               cargo test & ¦ cargo test⏎git status ¦ if cargo test; then echo good; fi ¦ ! cargo test ¦
               test -f a || cargo test ¦ cargo test | tee log && echo ok ¦ bash -c 'cargo test | tail' ¦
               bash -c 'cargo test' | tail"#,
        ) {
            assert!(test_run(&line).is_some_and(|run| !run.decides), "{line}");
        }
    }

    #[test]
    fn commands_that_only_speak_of_tests_are_not_taken_for_test_runs() {
        for line in lines(
            r#"echo "cargo test" ¦ echo cargo test ¦ grep -r pytest . ¦ cat test.rs ¦ pip install pytest ¦
               uv add pytest ¦ git commit -m "npm test" ¦ git commit -m 'x; cargo test' ¦ ls tests/ ¦
               vim test.js ¦ test -f a ¦ [ -f test ] ¦ cargo build ¦ cargo test --help ¦ pytest --version ¦
               pytest --collect-only ¦ cargo test -- --list-x --version | head -0 # no ¦ npm install jest ¦
               npm i --save-dev mocha ¦ which pytest ¦ make ¦ make build ¦ npm run build ¦ npm ls test ¦
               cat <<'EOF' > run.sh⏎cargo test⏎EOF ¦ # cargo test ¦ rm -rf test ¦ cp test.sh a.sh ¦
               sed -i s/a/b/ tests/a.py ¦ python -c 'import pytest' ¦ python setup.py install ¦
               node -e 'test()' ¦ go build ./... ¦ docker run postgres ¦ find . -name 'test*' ¦
               cargo run --bin app ¦ mkdir -p tests ¦ python gen.py -m pytest ¦ python update_test.py ¦ bun -e 'test()' ¦ go test -c ./a"#,
        ) {
            let found = test_run(&line);
            // What follows `--` is for the tests; only what stands before it asks.
            if line.contains("--list-x") {
                assert!(found.is_some());
            } else {
                assert_eq!(found, None, "{line}");
            }
        }
    }

    #[test]
    fn builds_and_lints_are_told_apart_from_tests() {
        let table = [
            ("cargo build --release", Some((Build, "cargo build"))),
            ("cargo test --no-run", Some((Build, "cargo test"))),
            ("cargo clippy -- -D warnings", Some((Lint, "cargo clippy"))),
            ("npx tsc --noEmit", Some((Build, "tsc"))),
            ("npm run build", Some((Build, "npm build"))),
            ("pnpm lint", Some((Lint, "pnpm lint"))),
            ("make", Some((Build, "make"))),
            ("make lint", Some((Lint, "make lint"))),
            ("python -m mypy src", Some((Lint, "mypy"))),
            ("go vet ./...", Some((Lint, "go vet"))),
            ("./gradlew assemble", Some((Build, "gradlew assemble"))),
            ("cargo test", None),
            ("npm run dev", None),
            ("git status", None),
        ];
        for (line, expected) in table {
            let found = build_run(line);
            assert_eq!(
                found.as_ref().map(|run| (run.kind, run.name.as_str())),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_check_knows_what_it_is_narrowed_to() {
        let only = |line| test_run(line).unwrap().only;
        assert_eq!(only("cargo test"), [""; 0]);
        assert_eq!(only("cargo test -p core parser::tests"), ["core", "parser::tests"]);
        assert_eq!(only("pytest -k fast tests/a.py"), ["tests/a.py"]);
        assert_eq!(only("npm run test:unit -- a"), ["a"]);
        assert_eq!(only("make clean test"), ["clean"]);
    }

    #[test]
    fn a_question_may_be_answered_with_no() {
        for line in lines(
            r#"grep x y ¦ cd a && rg foo ¦ diff a b ¦ [ -f a ] ¦ git diff --exit-code ¦ ls nope ¦ kubectl -n b logs deploy/api --previous ¦ docker logs api ¦ journalctl -u api ¦ gh run view 991 --log"#,
        ) {
            assert!(is_question(&line), "{line}");
        }
        for line in
            lines(r#"cargo test ¦ rm a ¦ git push ¦ grep a b; make ¦ kubectl apply -f a.yaml ¦ docker push app"#)
        {
            assert!(!is_question(&line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_command_line_is_too_odd(line in r#"(cargo|test|sudo|env|-c|bash|python|-m|npm|run|make|[ ;|&'"$()<>=\n-]){0,30}"#) {
            for check in checks(&line) {
                prop_assert!(!check.name.is_empty());
            }
        }
    }

    #[test]
    fn a_long_line_takes_linear_time() {
        for piece in [
            "cargo test;",
            "a;",
            "sh -c a;",
            "sudo ",
            "A=1 ",
            "bash -c 'bash -c ",
            "! ",
        ] {
            checks(&piece.repeat(20_000));
            is_question(&piece.repeat(20_000));
        }
    }
}
