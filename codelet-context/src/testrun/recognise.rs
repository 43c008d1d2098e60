//! What a command without its wrappers checks, by the table of programs.

use super::CheckKind::{self, Build, Lint, Test};
use super::asking::{is_only_asking, is_only_listing};
use super::formats::is_named_for_formats;
use super::scope::{Filter, Scope};
use super::spelled;
use crate::programs::{Program, Told, programs};
use crate::word_list::is_in;
use crate::wrapped::{DEEPEST, base, first_word, is_assignment, skip_options};

/// A check: its kind, its name, and what it is narrowed to.
type Recognised = (CheckKind, String, Scope);

/// Programs that package managers run by their bare name, and that scripts are not called like.
const BROUGHT: &str = "vitest jest mocha ava playwright cypress wdio biome oxlint stylelint";

/// The same, where a script that is called like the program runs nothing else.
const BROUGHT_AS_NAMED: &str = "tsc vue-tsc eslint";

/// What a command checks; `depth` counts the interpreters around it.
pub(super) fn recognise(words: &[String], depth: usize) -> Option<Recognised> {
    let (program, rest) = words.split_first()?;
    let name = base(program);
    if depth > DEEPEST || is_only_asking(&name, rest) {
        return None;
    }
    if let Some(script) = run_by_interpreter(&name, rest, depth + 1) {
        return script;
    }
    if let Some((parts, words)) = in_workspaces(program, rest) {
        let (kind, name, mut scope) = recognise(&words, depth + 1)?;
        scope.filters.extend(parts);
        return Some((kind, name, scope));
    }
    let brought = |list: &str| {
        let row = programs(&name).iter().find(|row| matches!(row.told, Told::Script(_)))?;
        let (words, options) = brought(row, rest).filter(|(words, _)| is_in(&words[0], list))?;
        let (kind, name, mut scope) = recognise(words, depth + 1)?;
        let around = Scope::of(row, options, None);
        scope.filters.extend(around.filters);
        if let Some(folder) = around.place {
            scope.go_to(&folder);
        }
        Some((kind, name, scope))
    };
    let is_bringing = is_in(&name, "pnpm yarn bun");
    if let Some(found) = is_bringing.then(|| brought(BROUGHT_AS_NAMED)).flatten() {
        return Some(found);
    }
    let found = programs(&name).iter().find_map(|row| {
        let (kind, verb) = told(row, rest)?;
        let scope = Scope::of(row, rest, verb);
        let name = match verb {
            Some(verb) => format!("{name} {}", spelled::verb(&name, verb)),
            None => name.to_string(),
        };
        let is_listing = is_only_listing(&name, rest, row);
        Some((is_listing, (kind, name, scope)))
    });
    let (is_listing, found) = found.map_or((false, None), |(is_listing, found)| (is_listing, Some(found)));
    match found {
        _ if is_listing => None,
        Some((Test, name, scope)) if is_only_building(&name, rest) => Some((Build, name, scope)),
        Some(found) => Some(found),
        None if is_bringing && let Some(found) = brought(BROUGHT) => Some(found),
        // A program of the project's own, named for what it does: `./run_tests.sh`.
        None if program.contains(['/', '\\']) && is_named_for_tests(stem(&name)) => {
            Some((Test, name.into_owned(), Scope::of(&Program::OWN, rest, None)))
        }
        None => None,
    }
}

/// The program that a package manager is told to run which the project brings, with what is said before it:
/// `pnpm --filter web vitest`, `yarn run -T jest`.
fn brought<'a>(row: &Program, words: &'a [String]) -> Option<(&'a [String], &'a [String])> {
    let valued = format!("{} {}", row.valued, row.narrows);
    let mut rest = skip_options(words, &valued);
    if rest.first().is_some_and(|word| word == "run") {
        rest = skip_options(&rest[1..], &valued);
    }
    rest.first()?;
    Some((rest, &words[..words.len() - rest.len()]))
}

/// What is told to workspaces of a project, as it would be told in one of them, and to which: `yarn workspace web test`.
fn in_workspaces(program: &str, words: &[String]) -> Option<(Vec<Filter>, Vec<String>)> {
    const CHOOSING: &str = "--include --exclude --from";
    if base(program) != "yarn" {
        return None;
    }
    let told = |rest: &[String]| [program.to_owned()].into_iter().chain(rest.iter().cloned()).collect();
    match words {
        [verb, part, rest @ ..] if verb == "workspace" => Some((vec![("-w".to_owned(), part.clone())], told(rest))),
        [all, each, rest @ ..] if all == "workspaces" && each == "foreach" => {
            let words = skip_options(rest, "--include --exclude --from -j --jobs");
            let options = &rest[..rest.len() - words.len()];
            let mut parts = Vec::new();
            for (at, option) in options.iter().enumerate() {
                let (key, value) = option.split_once('=').unwrap_or((option, ""));
                let value = if value.is_empty() {
                    options.get(at + 1).map_or("", String::as_str)
                } else {
                    value
                };
                if is_in(key, CHOOSING) {
                    parts.push((key.to_owned(), value.to_owned()));
                } else if key == "--since" {
                    parts.push((key.to_owned(), String::new()));
                }
            }
            Some((parts, told(words)))
        }
        _ => None,
    }
}

/// Whether tests are built and not run, or left out of what else is done.
fn is_only_building(name: &str, words: &[String]) -> bool {
    let program = name.split(' ').next().unwrap_or_default();
    let is_left_out = |word: &String| match program {
        "mvn" | "mvnw" | "mvnd" => {
            let (option, value) = word.split_once('=').unwrap_or((word, "true"));
            is_in(option, "-DskipTests -Dmaven.test.skip") && value != "false"
        }
        _ => false,
    };
    // `-x :app:test`
    let is_excluded = || {
        let mut pairs = words.windows(2);
        is_in(program, "gradle gradlew")
            && pairs.any(|pair| is_in(&pair[0], "-x --exclude-task") && last_piece(&pair[1]) == "test")
    };
    let without = if name == "go test" { "--no-run -c" } else { "--no-run" };
    words.iter().any(|word| is_in(word, without) || is_left_out(word)) || is_excluded()
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
        language => {
            let (valued, code) = interpreter(language)?;
            if is_in(language, "node tsx") && words.iter().any(|word| word == "--test") {
                return Some(Some((
                    Test,
                    format!("{language} --test"),
                    Scope::of(&Program::OWN, words, None),
                )));
            }
            if let Some(call) = called_in_code(language, words) {
                return Some(Some((
                    Test,
                    format!("{language} {call}"),
                    Scope::of(&Program::OWN, words, None),
                )));
            }
            let script = skip_options(words, valued);
            if words[..words.len() - script.len()].iter().any(|word| is_in(word, code)) {
                return Some(None);
            }
            script
        }
    };
    let Some((file, rest)) = script.split_first() else {
        return Some(None);
    };
    if file == "-c" || is_only_asking(&base(file), rest) {
        return Some(None);
    }
    let file = base(file);
    let in_table = !programs(&file).is_empty() || !programs(stem(&file)).is_empty();
    Some(match recognise(script, depth).filter(|_| in_table) {
        Some(found) => Some(found),
        None if is_named_for_tests(stem(&file)) => {
            Some((Test, file.into_owned(), Scope::of(&Program::OWN, rest, None)))
        }
        None => None,
    })
}

/// What an interpreter calls to run tests, in code that stands in its command: `Rscript -e "devtools::test()"`.
fn called_in_code(language: &str, words: &[String]) -> Option<&'static str> {
    const R: &[&str] = &[
        "devtools::test",
        "testthat::test_check",
        "testthat::test_dir",
        "testthat::test_file",
        "testthat::test_local",
        "testthat::test_package",
        "tinytest::run_test_dir",
        "tinytest::test_all",
        "tinytest::test_package",
    ];
    let calls = match language {
        "r" | "rscript" => R,
        "julia" => &["Pkg.test"],
        _ => return None,
    };
    let at = words.iter().position(|word| is_in(word, "-e --eval -E"))?;
    let code = words.get(at + 1)?;
    let is_called = |call: &&&str| {
        let ends = code.match_indices(**call).map(|(at, call)| &code[at + call.len()..]);
        let mut ends = ends.map(str::trim_start);
        ends.any(|rest| rest.starts_with('('))
    };
    calls.iter().find(is_called).copied()
}

/// The options with a value of an interpreter, and those that bring the code that it runs.
fn interpreter(language: &str) -> Option<(&'static str, &'static str)> {
    Some(match language {
        "node" | "tsx" | "ts-node" => (
            "-r --require --import --loader --experimental-loader -C --conditions --tsconfig -P --project -O --stack-trace-limit",
            "-e --eval -p --print -pe",
        ),
        "php" => ("-d -c -z", "-r -R -B -E --run"),
        "ruby" => ("-I -r -C", "-e"),
        "perl" => ("-I", "-e -E -ne -pe -lne -lpe"),
        "bash" | "sh" | "zsh" => ("-o +o -O --rcfile --init-file", ""),
        "lua" | "r" | "rscript" | "julia" => ("-l --project -L -t --threads", "-e --eval"),
        _ => return None,
    })
}

/// What a program is told to check, and by which word if it needs one.
fn told<'a>(row: &Program, words: &'a [String]) -> Option<(CheckKind, Option<&'a str>)> {
    match &row.told {
        Told::Always => Some((row.kind, None)),
        Told::By(option) => words.iter().any(|word| word == option).then_some((row.kind, None)),
        Told::First(verbs) => {
            let valued = format!("{} {} {}", row.valued, row.narrows, row.alters);
            let (verb, _) = first_word(words, &valued)?;
            is_in(verb, verbs).then_some((row.kind, Some(verb)))
        }
        Told::Any(verbs) => {
            let is_told = |word: &&str| is_in(last_piece(word), verbs);
            let verbs = || plain(words, row).filter(is_told);
            // `make format lint` checks.
            let verb = verbs().find(|verb| !is_named_for_formats(verb));
            Some((row.kind, Some(verb.or_else(|| verbs().next())?)))
        }
        // What follows `-e` is code.
        Told::Script(_) if words.iter().take(2).any(|word| is_in(word, "-e --eval --print")) => None,
        Told::Script(leads) => {
            let mut words = plain(words, row).enumerate();
            let (at, verb) = words.find(|(_, word)| !is_in(word, leads))?;
            let is_lead_free = at == 0;
            let kind = match verb {
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
            Some((kind, Some(verb)))
        }
        Told::Target => {
            let verb = plain(words, row).find(|word| is_test_target(word))?;
            Some((row.kind, Some(verb)))
        }
        Told::Maker => {
            let is_target = |word: &&str| !word.bytes().all(|b| b.is_ascii_digit());
            let targets = || plain(words, row).filter(is_target);
            // How many may run at once, the shell finds out.
            let is_counted = words.iter().any(|word| is_in(word, "-j -l --jobs"));
            let is_count = |word: &&str| is_counted && word.starts_with(['$', '`', '%']);
            let mut named = targets().filter(|word| !is_count(word)).peekable();
            if named.peek().is_none() || targets().any(is_made) {
                return Some((row.kind, None));
            }
            let mut lints = named.filter(|target| project_script(target) == Some(Lint));
            Some((Lint, Some(lints.next()?)))
        }
    }
}

/// Whether what a target is called says that something is compiled or packed for it: `build-web`, `bin/shop`, `parse.o`.
fn is_made(target: &str) -> bool {
    const NAMES: &str = "all build builds rebuild compile dist release debug lib libs bin binary binaries bundle package jar wheel wasm \
                         obj objects exe";
    const OTHERWISE: &str = "clean cleanup distclean clobber rm remove run serve start stop restart up down watch deploy publish push \
                             upload pull install uninstall help list show print logs setup deps tag bump notes changelog version shell \
                             ssh exec";
    const ENDINGS: &str = "o obj a so dylib dll lib exe elf bin hex img ko rlib wasm class jar war whl pdf";
    let ending = target.rsplit_once('.').map(|(_, ending)| ending);
    let has = |list: &str| pieces(target).any(|piece| is_in(piece, list));
    ending.is_some_and(|ending| is_in(ending, ENDINGS)) || has(NAMES) && !has(OTHERWISE)
}

/// What the name of a script with `check` in it may hold besides if it looks for faults in the code: `check:types` does, and
/// `check-users` checks something else.
const CHECKED: &str = "check checks run all ci fast quick full strict only staged changed no fix type types typing code codes quality source \
                       sources src style styles format formats formatting fmt prettier eslint lint lints linter biome spelling spell syntax \
                       static analysis import imports ts tsc js jsx tsx css scss vue svelte astro py python mypy pyright ruff rust clippy \
                       go vet php java kotlin shell sh md markdown docs license licenses deadcode knip unused circular ui web \
                       client frontend backend packages lib core";

/// What a script of a project does, by the names that projects give to builds and lints.
fn project_script(name: &str) -> Option<CheckKind> {
    let kind = pieces(name).find_map(|piece| match piece {
        "build" | "compile" | "tsc" | "bundle" => Some(Build),
        "lint" | "eslint" | "typecheck" | "types" => Some(Lint),
        "check" if pieces(name).all(|piece| is_in(piece, CHECKED)) => Some(Lint),
        _ => None,
    });
    kind.or_else(|| is_named_for_formats(name).then_some(Lint))
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
pub(super) fn is_named_for_tests(name: &str) -> bool {
    const NAMES: &str = "test tests spec specs e2e unittest unittests runtest runtests testsuite selftest Test Tests";
    const OTHERWISE: &str = "update fix create add make generate gen write edit modify patch setup clean reset install";
    let first = pieces(name).next().unwrap_or_default();
    !is_in(first, OTHERWISE) && pieces(name).any(|piece| is_in(piece, NAMES))
}

fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric())
}

/// A file's name without what follows its first dot.
pub(super) fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

/// The words that are no options, nor their values.
pub(super) fn plain<'a>(words: &'a [String], row: &Program) -> impl Iterator<Item = &'a str> {
    let (valued, narrows, alters) = (row.valued, row.narrows, row.alters);
    let mut words = words.iter();
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            if is_in(word, valued) || is_in(word, narrows) || is_in(word, alters) {
                words.next();
            } else if !word.starts_with(['-', '+']) && !is_assignment(word) {
                return Some(word.as_str());
            }
        }
    })
}
