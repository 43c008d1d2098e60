//! Whether a text is a command line.
//!
//! People write sentences that begin with the name of a program (`make sure that …`, `git rebase conflict`), so the name
//! alone proves nothing: what follows it has to be what follows a program.

use super::values::{self, has_file_name};
use codelet_context::command::CommandLine;
use codelet_context::word_list::is_in;

/// How much a text looks like a command line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Likeness {
    None,
    /// It begins with a program, and nothing else shows that it is one.
    Some,
    Clear,
}

/// Bytes of a text that are looked at.
const HEAD: usize = 400;
/// Programs that are no words of a language. Which of them check something, or run another one, the engine knows; here a name
/// is enough, and most are of neither kind.
const PROGRAMS: &str = "ls cd pwd echo printf mkdir rmdir rm cp mv ln chmod chown chgrp stat du df grep egrep fgrep rg ag fd awk sed \
    xargs tr uniq wc tee diff cmp tar gzip gunzip zip unzip xz curl wget ssh scp rsync nc dig ping netstat lsof ps pgrep pkill \
    sudo doas env nohup xvfb-run timeout printenv uname whoami id hostname git gh glab hg svn jj python python2 python3 python3.10 \
    python3.11 python3.12 python3.13 pip pip3 pipx uv uvx poetry pipenv pdm conda mamba pytest tox nox mypy ruff black flake8 pylint \
    pyright isort coverage ipython jupyter node nodejs npm npx pnpm yarn bun bunx deno tsc tsx ts-node eslint prettier biome jest vitest \
    mocha playwright cypress webpack vite next nx turbo cargo rustc rustup rustfmt clippy-driver gofmt golangci-lint gotestsum java \
    javac mvn gradle gradlew kotlinc scala sbt lein clojure dotnet msbuild nuget ruby bundle gem rake rails rspec rubocop php composer \
    phpunit artisan perl cpan lua luarocks Rscript julia ghc cabal stack elixir mix erl rebar3 swift swiftc xcodebuild xcrun zig nim \
    dart flutter gcc g++ cc c++ clang clang++ ld cmake ninja meson ctest autoconf gdb lldb valgrind strace perf bazel bazelisk buck2 \
    docker podman docker-compose kubectl helm minikube kind terraform tofu ansible ansible-playbook vagrant packer nix nix-shell aws \
    gcloud az doctl flyctl heroku psql mysql sqlite3 redis-cli mongosh createdb dropdb pg_dump alembic flask django-admin gunicorn \
    uvicorn celery systemctl journalctl service crontab apt apt-get apt-cache dpkg yum dnf apk pacman brew snap bash sh zsh fish dash \
    pwsh powershell cmd export unset pushd popd md5sum sha1sum sha256sum base64 xxd hexdump od jq yq tree nl readlink realpath dirname \
    basename mktemp openssl ffmpeg shellcheck shfmt hadolint pre-commit actionlint dir findstr protoc buf sphinx-build mkdocs hugo";
/// Programs that are words of a language, too.
const WORDS: &str = "cat head tail find sort cut paste join split touch kill test make just task go time watch which who whereis file open \
    start less more date sleep true false set type source node command exec nice at yes tee convert code read seq export service sum expr \
    look import . [ [[ if for while until case function";
/// What a sentence has and a command line hardly.
const FILLERS: &str = "the a an to of is are was that this these please with and should could would how what why when where my your our \
    does it its we you i in on be not using about into from";

/// How much a text looks like a command line.
pub(super) fn likeness(text: &str) -> Likeness {
    let Some(line) = first_line(text) else {
        return Likeness::None;
    };
    let outside = without_quotes(line);
    let mut words = outside.split_whitespace().skip_while(|word| is_before(word));
    let Some(program) = words.next() else {
        return Likeness::None;
    };
    let rest: Vec<&str> = words.collect();
    let is_path = is_program_path(program);
    if is_path && outside.trim() == program {
        // As likely the path of something else.
        let is_script = program.starts_with("./") && program.ends_with(".sh");
        return if values::is_path(program) && !is_script {
            Likeness::None
        } else {
            Likeness::Some
        };
    }
    let is_program = is_path || is_in(program, PROGRAMS) || is_cmdlet(program);
    if !is_program && !is_in(program, WORDS) {
        return Likeness::None;
    }
    let is_compound = matches!(program, "for" | "while" | "until" | "if" | "[" | "[[" | "case");
    if is_compound
        && [";do", ";then", "; do", "; then", " ]; ", " ]]; ", "] &&", "] ||"]
            .iter()
            .any(|sign| line.contains(sign))
    {
        return Likeness::Clear;
    }
    let is_flag = |word: &&str| {
        let name = word.trim_start_matches('-');
        word.len() > name.len() && name.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    let is_operator = |word: &&str| {
        matches!(
            *word,
            "|" | "||" | "&&" | ">" | ">>" | "<" | "2>&1" | "&" | "2>/dev/null"
        ) || word.starts_with("<<")
    };
    let ends_one = |word: &&str| word.ends_with(';') || word.starts_with("$(");
    let has_signs = rest
        .iter()
        .any(|word| is_flag(word) || is_operator(word) || ends_one(word));
    let has_file = || {
        rest.iter()
            .any(|word| word.contains('/') && !word.contains("://") || has_file_name(word))
    };
    let fillers = rest.iter().filter(|word| is_in(&word.to_lowercase(), FILLERS)).count();
    let ends_sentence = outside.ends_with(['?', '!', ':']) || outside.ends_with('.') && rest.last() != Some(&".");
    let most_fillers = if is_program { 2 } else { 0 };
    if has_signs && fillers <= most_fillers || has_file() && fillers == 0 && !ends_sentence {
        return Likeness::Clear;
    }
    if fillers > 0 || ends_sentence {
        return Likeness::None;
    }
    let is_check = || is_program && rest.len() <= 2 && CommandLine::new(line).runs_checks();
    // A program and what it is to do, and no more than a command has of such words.
    match is_path || is_cmdlet(program) || is_program && rest.is_empty() || is_check() || line.len() > outside.len() {
        true if is_program => Likeness::Clear,
        _ => Likeness::Some,
    }
}

/// The line of a script that says something first.
fn first_line(text: &str) -> Option<&str> {
    let head = &text[..text.floor_char_boundary(HEAD)];
    let mut lines = head.lines().map(str::trim);
    lines.find(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("set -"))
}

/// A line without what stands in quotation marks.
fn without_quotes(line: &str) -> String {
    let mut open = None;
    line.chars()
        .filter(|c| match open {
            Some(quote) => {
                open = Some(quote).filter(|quote| quote != c);
                false
            }
            None if matches!(c, '"' | '\'' | '`') => {
                open = Some(*c);
                false
            }
            None => true,
        })
        .collect()
}

/// Whether a word may stand before a program: a variable, what opens a group.
fn is_before(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    matches!(word, "(" | "{" | "!" | "time") || word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// `./run.sh`, `/usr/bin/env`, `node_modules/.bin/jest`.
fn is_program_path(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+~$\\".contains(c);
    let from_somewhere = [
        "./",
        "../",
        "/",
        "~/",
        ".venv/",
        "venv/",
        "bin/",
        "scripts/",
        "node_modules/",
        "$HOME/",
    ];
    word.len() > 3 && word.chars().all(is_plain) && from_somewhere.iter().any(|start| word.starts_with(start))
}

/// `Get-ChildItem`
fn is_cmdlet(word: &str) -> bool {
    const VERBS: &str = "Get Set New Remove Copy Move Test Invoke Select Write Start Stop Out ConvertTo ConvertFrom Rename Add Import Export";
    let is_noun = |noun: &str| noun.len() > 2 && noun.starts_with(|c: char| c.is_ascii_uppercase());
    word.split_once('-')
        .is_some_and(|(verb, noun)| is_in(verb, VERBS) && is_noun(noun))
}

/// Whether a word is the name of a program that is no word of a language.
pub(super) fn is_program(word: &str) -> bool {
    is_in(word, PROGRAMS) || is_program_path(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn command_lines_are_told_from_sentences() {
        for line in [
            "cargo test -p core",
            "git status",
            "ls",
            "pytest -q tests/test_a.py",
            "cd src && make test",
            "FOO=1 ./run.sh",
            "cat > /tmp/probe.py <<'PY'\nprint(1)\nPY",
            "find . -name '*.rs' | head",
            "npm run build",
            "for f in *.py; do python $f; done",
            "Get-ChildItem -Recurse",
            "git commit -am \"Say what the user should do with this\"",
            "# what is there\nls -la",
            "mypy svc 2>&1 | tail -1",
            "git log --oneline -8 -- svc/a.py",
            "rm /tmp/probe.py",
            "docker compose up -d worker",
            "echo 'the end of it'",
        ] {
            assert!(likeness(line) > Likeness::None, "{line}");
            let is_short = line == "git status" || line.starts_with("for ");
            assert!(is_short || likeness(line) == Likeness::Clear, "{line}");
        }
        for text in [
            "",
            "make sure that the tests pass",
            "find the function that parses dates",
            "sort out the imports, please",
            "git is how we share it",
            "python is a language.",
            "Which file has this?",
            "select * from users",
            "Hello",
            "src/a.rs",
            "go to the next step",
            "{\"a\": 1}",
            "import os\nprint(os.getcwd())",
            "/srv/settle/a.py",
            "/srv/settle",
            "make it work with git rebase -i",
        ] {
            assert_ne!(likeness(text), Likeness::Clear, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "(git|make| |-|'|\"|`|\\$\\(|#|\n|=|é|\\PC){0,30}") {
            likeness(&text);
        }
    }
}
