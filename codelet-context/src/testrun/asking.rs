//! Options and words by which a program that checks something only tells of itself, of what it would run, or of how it is
//! set up: nothing is checked then.

use super::recognise::plain;
use crate::programs::Program;
use crate::word_list::is_in;
use crate::wrapped::is_option;

/// Options by which every program only tells something.
const ASKING: &str = "--help --version -V --co --collect-only --dry-run --just-print --recon --show-only --nobuild --init \
                      --print-config --explain";
/// How others begin that do so, and those that begin alike and do not.
const LISTING: &str = "--list";
const NOT_LISTING: &str = "--list-different --listFiles --listEmittedFiles";
/// Programs for which `-V` is how much they tell, or what they tell before they go on.
const TELLING: &str = "ctest mvn mvnw mvnd gradle gradlew";

/// Programs with options of their own by which they only tell something.
const OPTIONS: &[(&str, &str)] = &[
    ("make gmake mingw32-make", "-n -q -t -v --question --touch --no-op"),
    ("ninja samu", "-n -t"),
    ("just", "-n -l --summary --show --evaluate --dump --choose --edit"),
    ("rake", "-n -T -P -D -W --tasks --prereqs --describe --where"),
    ("task", "-n -l -a --status --summary"),
    ("gradle gradlew", "-m -v"),
    ("mvn mvnw mvnd", "-v"),
    ("cmake", "-E -P --install --open"),
    ("ctest", "-N --print-labels"),
    ("go", "-n -list"),
    ("tox", "-l -a --listenvs --listenvs-all --showconfig"),
    ("nox", "-l"),
    (
        "pytest py.test",
        "--collectonly --fixtures --funcargs --fixtures-per-test --markers --setup-plan --setup-only --cache-show",
    ),
    ("behave", "-d --steps-catalog --tags-help --lang-list --lang-help"),
    ("jest", "-v --showConfig --clearCache"),
    ("vitest", "-v --clearCache"),
    ("playwright", "-V"),
    ("tsc vue-tsc", "-v --showConfig --all"),
    (
        "eslint prettier stylelint",
        "-v --env-info --inspect-config --find-config-path --find-config-file --file-info --support-info",
    ),
    ("oxlint", "--rules"),
    ("webpack rollup", "-v"),
    ("ruff", "--show-settings --show-files"),
    ("isort", "--show-files --show-config --show-settings"),
    (
        "pylint",
        "--generate-rcfile --generate-toml-config --help-msg --long-help",
    ),
    (
        "phpunit pest paratest simple-phpunit",
        "--generate-configuration --migrate-configuration --warm-coverage-cache --check-version",
    ),
    ("psalm", "--clear-cache --clear-global-cache"),
    (
        "rubocop standardrb",
        "-L -v --show-cops --show-docs-url --auto-gen-config",
    ),
    ("rspec", "-v"),
    ("bats", "-c --count"),
    ("lit llvm-lit", "--show-suites --show-tests --show-used-features"),
    ("swift", "-l"),
    ("dotnet", "-t"),
    ("busted", "-l"),
    ("swiftlint swiftformat", "--rules --options"),
    (
        "xcodebuild",
        "-list -version -showsdks -showdestinations -showBuildSettings -showTestPlans",
    ),
];

/// Those of which short options may be written as one, and their options with a value, of which the rest of a word is that.
const CLUSTERING: &str = "make gmake mingw32-make ninja samu";
const VALUED: &str = "-C -f -I -j -l -o -O -W";

/// Programs with words by which they only tell something, where these stand first behind what they are told to do.
const WORDS: &[(&str, &str)] = &[
    ("vitest", "list init"),
    ("swift", "list"),
    ("tox", "config c list l depends de devenv d quickstart q man schema"),
    ("gradle gradlew", "help tasks projects properties dependencies"),
    ("biome", "init start stop rage migrate explain version search clean"),
    (
        "golangci-lint",
        "linters formatters config cache custom migrate version help completion",
    ),
    ("codecept", "generate bootstrap build init clean console"),
    ("phpspec", "describe desc"),
    ("phpstan", "clear-result-cache diagnose dump-parameters"),
    ("php-cs-fixer", "list list-files describe init"),
    ("swiftlint", "rules docs generate-docs version"),
    ("webpack", "info init configtest version"),
    ("karma", "init start stop"),
    ("xcodebuild", "clean"),
];

/// Whether the options of a program ask for a list, a version or help, and nothing is run.
pub(super) fn is_only_asking(name: &str, words: &[String]) -> bool {
    let before = || words.iter().take_while(|word| *word != "--");
    let asks = |word: &str| {
        let word = word.split('=').next().unwrap_or(word);
        is_in(word, ASKING) && !(word == "-V" && is_in(name, TELLING))
            || word.starts_with(LISTING) && !is_in(word, NOT_LISTING)
    };
    // A value behind it says that it means something else: `./run_tests.sh -h db.local`.
    let is_help = |(at, word): (usize, &String)| {
        let next = words.get(at + 1);
        word == "-h" && next.is_none_or(|next| next.starts_with('-'))
    };
    before().any(|word| asks(word)) || before().enumerate().any(is_help)
}

/// Whether a program is told in a way of its own only to say something, by the name of its check.
pub(super) fn is_only_listing(name: &str, words: &[String], row: &Program) -> bool {
    let (program, verb) = name.split_once(' ').unwrap_or((name, ""));
    let before = || words.iter().take_while(|word| *word != "--");
    let has = |options: &str| {
        before().any(|word| {
            is_in(word.split('=').next().unwrap_or(word), options)
                || is_in(program, CLUSTERING) && is_option(word, options, VALUED)
        })
    };
    let first = || plain(words, row).find(|word| *word != verb);
    let told =
        |(_, words): &(&str, &str)| first().is_some_and(|first| is_in(first.split(':').next().unwrap_or(first), words));
    OPTIONS
        .iter()
        .any(|(names, options)| is_in(program, names) && has(options))
        || WORDS.iter().filter(|(names, _)| is_in(program, names)).any(told)
        || match program {
            "pre-commit" => first() != Some("run"),
            "cargo" if verb == "nextest" => {
                first().is_some_and(|first| is_in(first, "list show-config self help debug"))
            }
            // What is not of the project is fetched.
            "cargo" if verb == "install" => !has("--path"),
            "go" if verb == "install" => before().any(|word| word.contains('@')),
            "cmake" => {
                let mut targets = before().skip_while(|word| !is_in(word, "--target -t")).skip(1);
                targets.next().is_some_and(|target| is_in(target, "clean help install"))
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use crate::testrun::checks;
    use proptest::prelude::*;

    #[test]
    fn what_only_says_what_it_would_run_is_no_check() {
        for line in [
            "make -n test",
            "make --just-print test",
            "ctest -N --test-dir build",
            "ctest --show-only=json-v1",
            "cargo nextest list",
            "cargo nextest list --workspace",
            "npx vitest list",
            "bazel test //... --nobuild",
            "go test -list . ./...",
            "swift test list",
            "pytest --collect-only",
        ] {
            assert!(checks(line).is_empty(), "{line}");
        }
        for line in [
            "pytest -n 4",
            "pytest -n auto tests",
            "make test N=1",
            "npx jest list",
            "cargo test list",
            "cargo nextest run list",
            "npx vitest run list",
            "ctest -n 1 -R x",
            "pytest tests/list",
        ] {
            assert_eq!(checks(line).len(), 1, "{line}");
        }
    }

    #[test]
    fn what_tells_of_itself_or_of_its_settings_is_no_check() {
        for line in [
            "pytest -h",
            "python -m pytest -h",
            "uv run pytest --fixtures tests",
            "pytest --markers",
            "pytest --collectonly -q",
            "pytest --setup-plan",
            "pytest --cache-show",
            "npx jest --showConfig",
            "jest --clearCache",
            "npx jest --init",
            "npx tsc --init",
            "npx tsc --showConfig -p a",
            "tsc -v",
            "npx eslint --print-config a.js",
            "eslint --init",
            "./gradlew test -m",
            "gradle help --task test",
            "make -q test",
            "make -kn test",
            "ninja -C out -t clean",
            "vendor/bin/phpunit --list-suites",
            "cargo nextest show-config version",
            "cargo clippy --explain needless_return",
            "npx mocha --list-files",
            "nox --list-sessions",
            "tox config -e py312",
            "ruff check --show-settings",
            "ruff check --show-files src",
            "pre-commit install",
            "pre-commit autoupdate",
            "pre-commit clean",
            "cmake -E make_directory build",
            "cmake --build build --target clean",
            "cargo install ripgrep",
            "go install golang.org/x/tools/gopls@latest",
            "golangci-lint linters",
            "xcodebuild -list",
            "just -l",
            "npm test -h",
        ] {
            assert_eq!(checks(line), [], "{line}");
        }
    }

    #[test]
    fn options_that_look_alike_and_run_are_checks() {
        for line in [
            "pytest --show-capture=no",
            "mypy --show-error-codes src",
            "pre-commit run --all-files --show-diff-on-failure",
            "npx prettier --list-different .",
            "npx tsc --listFiles",
            "npx tsc -p a --noEmit",
            "ctest -V",
            "mvn -V test",
            "./gradlew test -V",
            "gradle test -Pm=1",
            "make -j4 test",
            "make -Cqt test",
            "ninja -v",
            "ninja -C tn",
            "go test -v ./...",
            "./run_tests.sh -h db.local",
            "npm test -- --init",
            "pytest tests/config",
            "tox -e config",
            "cargo nextest run show-config",
            "cargo install --path .",
            "go install ./cmd/shop",
            "golangci-lint run",
            "golangci-lint run config",
            "jest -t 'shows -v'",
            "flake8 --show-source",
            "cmake --build build --target all",
            "rspec -fd",
        ] {
            assert_eq!(checks(line).len(), 1, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_option_is_too_odd(line in "(make|pytest|tsc|tox|cmake|gradle test|cargo nextest)( (-h|-|--|--list|-nq|=|-t|é|config|--target|-Vé)){0,5}") {
            checks(&line);
        }
    }
}
