//! What is written in more than one way and means the same: programs, what they are told to do, and their options.

use crate::programs::Program;
use crate::word_list::is_in;

/// Programs that stand for others, as pairs of names.
const PROGRAMS: &str =
    "gradlew gradle mvnw mvn mvnd mvn gmake make mingw32-make make samu ninja bazelisk bazel py.test pytest";
/// What programs are told in short: their names, and pairs of words.
const VERBS: &[(&str, &str)] = &[
    ("cargo", "t test b build c check"),
    ("npm pnpm yarn bun", "t test tst test"),
];
/// Options: a program of the row that they are for, and pairs of them. Of a short and a long one that is taken which nothing
/// else of the table means.
const OPTIONS: &[(&str, &str)] = &[
    ("cargo", "--package -p -F --features -r --release --all --workspace"),
    ("npm", "--workspace -w -F --filter"),
    ("jest", "--testNamePattern -t --grep -g --config -c"),
    ("vitest", "--testNamePattern -t --config -c"),
    ("playwright", "--grep -g --config -c"),
    ("tsc", "--project -p"),
    ("eslint", "--config -c"),
    ("golangci-lint", "--config -c"),
    (
        "go",
        "--run -run --skip -skip --bench -bench --tags -tags --race -race --count -count --short -short",
    ),
    ("mvn", "--projects -pl --file -f --activate-profiles -P"),
    ("gradle", "--exclude-task -x"),
    ("dotnet", "-c --configuration -f --framework"),
    (
        "ctest",
        "--tests-regex -R --exclude-regex -E --label-regex -L --label-exclude -LE",
    ),
    ("make", "--file -f --makefile -f"),
    ("rspec", "--example -e --tag -t --format -f"),
    ("phpunit", "--configuration -c"),
];

/// What a word of pairs stands for, or the word itself.
fn meant<'a>(word: &'a str, pairs: &'static str) -> &'a str {
    let mut words = pairs.split(' ');
    while let (Some(written), Some(meant)) = (words.next(), words.next()) {
        if written == word {
            return meant;
        }
    }
    word
}

/// The name of a check with the program that it stands for, and what that is told to do.
pub(super) fn name(name: &str) -> (&str, &str) {
    let (program, verb) = name.split_once(' ').unwrap_or((name, ""));
    (meant(program, PROGRAMS), verb)
}

/// What a program is told to do, at length.
pub(super) fn verb<'a>(program: &str, verb: &'a str) -> &'a str {
    let pairs = VERBS.iter().find(|(names, _)| is_in(program, names));
    pairs.map_or(verb, |(_, pairs)| meant(verb, pairs))
}

/// An option of a program, in the one spelling that is compared.
pub(super) fn option<'a>(key: &'a str, row: &Program) -> &'a str {
    let pairs = OPTIONS.iter().find(|(name, _)| is_in(name, row.names));
    pairs.map_or(key, |(_, pairs)| meant(key, pairs))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::testrun::checks;
    use crate::testrun::tests::covers;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_in_two_ways_is_one_check() {
        for (one, other) in [
            ("cargo test -p shop", "cargo test --package shop"),
            ("cargo test -pshop", "cargo test --package=shop"),
            ("cargo t", "cargo test"),
            ("cargo b --release", "cargo build -r"),
            ("cargo c --all", "cargo check --workspace"),
            ("cargo test -F a", "cargo test --features=a"),
            ("cargo test --features a,b", "cargo test --features 'b a'"),
            ("cargo test -F a -F b", "cargo test --features b,a"),
            ("npm t", "npm run test"),
            ("npm test -w core", "npm test --workspace=core"),
            ("pnpm -F core test", "pnpm --filter core test"),
            ("npx tsc --noEmit", "pnpm tsc --noEmit"),
            ("yarn tsc -p tsconfig.app.json", "npx tsc --project tsconfig.app.json"),
            ("yarn eslint src", "npx eslint src"),
            ("npx jest -t opens", "npx jest --testNamePattern=opens"),
            ("mvn test -pl core", "./mvnw test --projects core"),
            ("gradle test", "./gradlew test"),
            ("gmake check", "make check"),
            ("make --file=a.mk test", "make -f a.mk test"),
            ("dotnet test -c Release", "dotnet test --configuration Release"),
            ("ctest -R parse", "ctest --tests-regex parse"),
            ("go test -run TestA ./...", "go test --run TestA ./..."),
            ("py.test -q", "pytest"),
        ] {
            assert!(covers(one, other), "{one}: {other}");
            assert!(covers(other, one), "{other}: {one}");
        }
        assert!(covers("cargo test --all-features", "cargo test --features a"));
        assert!(covers("gradle test", "./gradlew :web:test"));
    }

    #[test]
    fn what_is_written_alike_and_means_something_else_is_another_check() {
        for (passed, failed) in [
            ("cargo test -p shop", "cargo test --package cart"),
            ("cargo test --features a", "cargo test -F b"),
            ("cargo test --features a", "cargo test --features a,b"),
            ("cargo test --features a", "cargo test --all-features"),
            ("cargo test", "cargo test --features a"),
            ("cargo test", "cargo test -r"),
            (
                "cargo test --no-default-features --all-features",
                "cargo test --features a",
            ),
            ("cargo check", "cargo t --no-run"),
            ("npm t", "yarn test"),
            ("gradle :web:test", "./gradlew test"),
            ("mvn test", "gradle test"),
            ("dotnet test -c Debug", "dotnet test --configuration Release"),
            ("yarn tsc -p b", "npx tsc -p a"),
            ("npm run tsc", "npx tsc -p a"),
            ("mvn test -pl core", "./mvnw test"),
        ] {
            assert!(!covers(passed, failed), "{passed}: {failed}");
        }
    }

    #[test]
    fn no_spelling_stands_for_one_that_stands_for_another() {
        for pairs in VERBS.iter().chain(OPTIONS).map(|(_, pairs)| *pairs).chain([PROGRAMS]) {
            let words: Vec<&str> = pairs.split(' ').collect();
            assert_eq!(words.len() % 2, 0, "{pairs}");
            for pair in words.chunks(2) {
                assert_eq!(meant(pair[1], pairs), pair[1], "{pairs}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_option_is_what_it_means(line in "(cargo|npm|go|mvn) test( (-p|--package|-F|--features|--all|-w|=|a|a,b|--)){0,6}") {
            for check in checks(&line) {
                prop_assert!(check.covers(&check));
            }
        }
    }
}
