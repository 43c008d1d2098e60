//! Formatters, which put files in order and say nothing of the work, unless they are told only to look.

use crate::word_list::is_in;

/// Formatters, by their names as checks have them, with the words that tell them only to look.
const FORMATTERS: &[(&str, &str)] = &[
    ("gofmt", "-l -d"),
    ("gofumpt", "-l -d"),
    ("goimports", "-l -d"),
    ("cargo fmt", "--check"),
    ("go fmt", ""),
    ("prettier", "--check -c --list-different -l"),
    ("black", "--check --diff"),
    ("isort", "--check --check-only -c --diff --df"),
    ("ruff format", "--check --diff"),
    ("deno fmt", "--check"),
    ("dotnet format", "--verify-no-changes --check"),
    ("mix format", "--check-formatted --check-equivalent"),
    ("terraform fmt", "-check --check"),
    ("tofu fmt", "-check --check"),
    ("dart format", "--set-exit-if-changed"),
    ("swift format", "lint"),
    ("swiftformat", "--lint"),
    ("clang-format", "--Werror -Werror"),
    ("shfmt", "-d -l --diff --list"),
    ("pint", "--test"),
];
/// What a script of a project is called that formats, in one of its pieces; and what such a script is told so that it only looks.
const NAMES: &str = "fmt format formats formatter prettier";
const LOOKING: &str = "--check -c --list-different -l --dry-run --diff --verify";

/// What it is called otherwise that looks, in another piece.
const LOOKS: &str = "check checks lint verify diff ci types typecheck eslint";

/// Whether a script or a target of a project is named for formatting and for nothing else.
pub(super) fn is_named_for_formats(name: &str) -> bool {
    let has = |list: &str| {
        name.split(|c: char| !c.is_alphanumeric())
            .any(|piece| is_in(piece, list))
    };
    has(NAMES) && !has(LOOKS)
}

/// Whether what a check of this name is told makes it put files in order.
pub(super) fn writes(name: &str, words: &[String]) -> bool {
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    // Of its own it only looks.
    if name == "biome" {
        return has("format") && has("--write --fix");
    }
    // `gofmt -l -w`
    if is_in(name, "gofmt gofumpt goimports shfmt prettier") && has("-w --write") {
        return true;
    }
    if let Some((_, looking)) = FORMATTERS.iter().find(|(formatter, _)| *formatter == name) {
        return !has(looking);
    }
    let script = name.split_once(' ').map(|(_, script)| script);
    script.is_some_and(is_named_for_formats) && !has(LOOKING)
}

/// Whether a formatter of this name is told to list what is not in order, and succeeds whatever it lists.
pub(super) fn lists(name: &str, words: &[String]) -> bool {
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    is_in(name, "gofmt gofumpt goimports shfmt") && has("-l -d --list --diff")
}

#[cfg(test)]
mod tests {
    use crate::testrun::CheckKind::{self, Build, Lint, Test};
    use crate::testrun::checks;

    fn kinds(line: &str) -> Vec<CheckKind> {
        checks(line).iter().map(|check| check.kind).collect()
    }

    #[test]
    fn a_formatter_that_writes_checks_nothing() {
        for line in [
            "gofmt -s -w .",
            "go fmt ./...",
            "cargo fmt",
            "cargo fmt --all",
            "npx prettier --write src",
            "prettier . -w",
            "black .",
            "uv run ruff format src",
            "poetry run isort .",
            "npx @biomejs/biome format --write .",
            "npm run format",
            "pnpm format",
            "yarn prettier:write",
            "bun run fmt",
            "mise run fmt",
            "make fmt",
            "just format",
            "deno fmt",
            "dotnet format",
            "mix format",
            "terraform fmt -recursive",
            "dart format lib",
            "shfmt -w scripts",
            "gofmt -l -w .",
            "goimports -w -l .",
            "npx prettier --write --list-different src",
            "./vendor/bin/pint",
        ] {
            assert_eq!(kinds(line), [], "{line}");
        }
        assert_eq!(kinds("mise run fmt && mise run lint"), [Lint]);
        assert_eq!(kinds("cargo fmt && cargo test"), [Test]);
    }

    #[test]
    fn a_formatter_that_only_looks_and_a_lint_that_mends_are_checks() {
        for line in [
            "gofmt -l .",
            "cargo fmt --all -- --check",
            "npx prettier --check .",
            "prettier -c src",
            "black --check .",
            "ruff format --check",
            "isort --check-only .",
            "npx biome check --write .",
            "npx biome format .",
            "biome ci",
            "npm run format:check",
            "npm run check-format",
            "npm run format -- --check",
            "yarn lint:format",
            "npm run lint:fix",
            "npx eslint --fix src",
            "ruff check --fix .",
            "make format lint",
            "make lint format",
            "deno fmt --check",
            "dotnet format --verify-no-changes",
            "mix format --check-formatted",
            "terraform fmt -check",
            "dart format --set-exit-if-changed .",
            "pint --test",
        ] {
            assert_eq!(kinds(line), [Lint], "{line}");
        }
        for line in ["goimports -l .", "gofumpt -l ./internal", "shfmt -l -i 2 scripts"] {
            assert_eq!(kinds(line), [Lint], "{line}");
        }
        assert_eq!(kinds("npm run build:format"), [Build]);
        assert_eq!(kinds("npm run test:format"), [Test]);
    }
}
