//! How a check is run, as far as that may change what comes of it: variables, toolchains, machines, and options of which no
//! table knows that they change only what is told.

use super::telling::{finds_no_less, is_telling};
use super::variables::{Role, variable};
use crate::path::plain;
use crate::programs::Program;
use crate::word_list::is_in;
use crate::wrapped::{Layer, base, first_word, is_assignment};
use crate::wrappers::Names;
use std::collections::HashSet;

/// A name and a value.
type Setting = (String, String);

/// How a check is run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// What is said for this run.
    own: Vec<Setting>,
    /// What may hold where nothing says so as well: what was said to the shell before (`nvm use 18`), and the environment that a
    /// program lies in.
    presumed: Vec<Setting>,
    /// Variables by which something is chosen of what is checked, until the check takes them for its own.
    chosen: Vec<Setting>,
}

/// Presumed settings that are looked at.
const MOST: usize = 16;
/// The key of what stands for the machine, the version of the interpreter, its environment, and the toolchain.
const MACHINE: &str = "on";
const INTERPRETER: &str = "python";
const ENVIRONMENT: &str = "environment";
const TOOLCHAIN: &str = "toolchain";
const NODE: &str = "node";
/// … a machine that is not known to have what is here, a part of the project, and a program that looks on.
const HOST: &str = "host";
const PART: &str = "part";
const JUDGE: &str = "judge";
/// Settings of which one takes the place of another instead of adding to it: who checks with them has not checked without.
const INSTEAD: &str = "GOOS GOARCH toolchain host part --target --no-default-features -destination";
/// Variables by which a program knows that it is tested, which those who run tests set by themselves if nobody else does.
const TESTED: &str = "NODE_ENV RAILS_ENV RACK_ENV APP_ENV MIX_ENV BABEL_ENV";
impl Settings {
    /// Notes an option of the program, with its value or nothing.
    pub(super) fn option(&mut self, key: &str, value: &str, row: &Program) {
        if !is_telling(key, value, row) {
            self.own.push((key.to_owned(), value.to_owned()));
        }
    }

    /// Notes an option by which something else is checked.
    pub(super) fn other(&mut self, key: &str, value: &str) {
        self.own.push((key.to_owned(), value.to_owned()));
    }

    /// Notes a variable that is set for the program.
    pub(super) fn variable(&mut self, word: &str) {
        match variable(word) {
            Some((Role::Alters, setting)) => self.own.push(setting),
            Some((Role::Chooses, setting)) => self.choose(setting),
            Some((Role::Tells, _)) | None => {}
        }
    }

    /// What is said of the same later counts.
    fn choose(&mut self, (name, value): Setting) {
        self.chosen.retain(|(known, _)| *known != name);
        self.chosen.push((name, value));
    }

    /// The variables that choose of what is checked, which are no settings but what a check is narrowed to.
    pub(super) fn take_chosen(&mut self) -> Vec<Setting> {
        std::mem::take(&mut self.chosen)
    }

    /// Notes the toolchain that a program is asked to be, without its sign: `cargo +nightly`.
    pub(super) fn toolchain(&mut self, name: &str) {
        // What is stable is what there is without a word.
        if name != "stable" && !name.is_empty() {
            self.own.push((TOOLCHAIN.to_owned(), name.to_owned()));
        }
    }

    /// Notes what a program is wrapped in by the first so many words, and the folder and the version in its own name.
    pub(super) fn program(&mut self, all: &[String], front: usize) {
        self.wrapping(all, front);
        let words = &all[front.min(all.len())..];
        let Some(program) = words.first() else { return };
        self.presume(environment(program).map(|name| (ENVIRONMENT, name)));
        let name = base(program);
        let version = ["python", "pypy", "py"].iter().find_map(|one| name.strip_prefix(one));
        if let Some(version) = version.filter(|version| is_version(version)) {
            self.own.push((INTERPRETER.to_owned(), version.to_owned()));
        }
        // Of `py -3.9` the version is an option.
        let option = words.get(1).and_then(|word| word.strip_prefix('-'));
        if let Some(version) = option.filter(|version| name == "py" && is_version(version)) {
            self.own.push((INTERPRETER.to_owned(), version.to_owned()));
        }
    }

    /// Notes what a command is wrapped in: the first so many words, and the program behind them if it is given a script.
    pub(super) fn wrapping(&mut self, words: &[String], front: usize) {
        let mut rest = words;
        while let Some(first) = rest.first() {
            let is_behind = words.len() - rest.len() >= front;
            if !is_behind && is_assignment(first) {
                self.variable(first);
                rest = &rest[1..];
            } else if let Some(layer) = Layer::of(rest).filter(|layer| !is_behind || layer.script.is_some()) {
                self.layer(&layer);
                rest = layer.rest;
            } else {
                rest = &rest[1..];
            }
            if is_behind {
                return;
            }
        }
    }

    /// Notes what comes of one wrapper.
    fn layer(&mut self, layer: &Layer) {
        const PYTHON: &str = "--python -p";
        // What is taken where nothing is said.
        const USUAL: &str = ". shell.nix default.nix docker-compose.yml docker-compose.yaml compose.yml compose.yaml";
        let row = layer.wrapper;
        let unusual = |values: Vec<&str>| Some(values.join(" ")).filter(|said| !is_in(plain(said).as_str(), USUAL));
        for (key, value) in &layer.options {
            if row.names != Names::Host {
                self.variable(value);
            }
            if row.name == "uv run" && is_in(key, PYTHON) && !value.is_empty() {
                self.own.push((INTERPRETER.to_owned(), (*value).to_owned()));
            }
        }
        let values: Vec<&str> = layer.values(row.environment).collect();
        if !values.is_empty() {
            self.presume(Some((ENVIRONMENT, values.join(" "))));
        }
        self.own
            .extend(layer.values(row.part).map(|part| (PART.to_owned(), part.to_owned())));
        for options in row.presumed {
            let said: Vec<&str> = layer.values(options).collect();
            if let Some(said) = (!said.is_empty()).then(|| unusual(said)).flatten() {
                self.presume(Some((options, said)));
            }
        }
        if row.is_judge {
            self.own.push((JUDGE.to_owned(), row.name.to_owned()));
        }
        let named = if layer.named.is_empty() {
            row.name.to_owned()
        } else {
            layer.named.join(" ")
        };
        match row.names {
            Names::Nothing => {}
            Names::Container => self.own.push((MACHINE.to_owned(), named)),
            Names::Host => self.own.push((HOST.to_owned(), named)),
            Names::Toolchain => self.toolchain(&named),
            Names::Environment if layer.named.is_empty() => {}
            Names::Environment => {
                let named = unusual(layer.named.clone());
                self.presume(named.map(|named| (ENVIRONMENT, named)));
            }
            Names::Version => self.presume(Some((NODE, named))),
        }
    }

    /// Notes what a command says to the shell that it stands in.
    pub(super) fn tell_shell(&mut self, words: &[String]) {
        let Some((program, rest)) = words.split_first() else {
            return;
        };
        let Some((verb, behind)) = first_word(rest, "") else {
            return;
        };
        let value = behind.iter().find(|word| !word.starts_with('-'));
        let told = match &*base(program) {
            "export" => {
                for (role, setting) in rest.iter().filter_map(|word| variable(word)) {
                    match role {
                        Role::Alters => self.presumed.push(setting),
                        Role::Chooses => self.choose(setting),
                        Role::Tells => self.chosen.retain(|(known, _)| *known != setting.0),
                    }
                }
                None
            }
            "nvm" | "fnm" | "volta" | "sdk" if verb == "use" => value.map(|value| (NODE, value.clone())),
            "pyenv" if is_in(verb, "shell local global") => value.map(|value| (INTERPRETER, value.clone())),
            "conda" | "mamba" | "micromamba" if verb == "activate" => value.map(|value| (ENVIRONMENT, value.clone())),
            "source" | "." => environment(verb).map(|name| (ENVIRONMENT, name)),
            _ => None,
        };
        self.presumed.truncate(MOST);
        self.presume(told);
    }

    /// One environment takes the place of another.
    fn presume(&mut self, told: Option<(&str, String)>) {
        if let Some((key, value)) = told {
            self.presumed.retain(|(known, _)| known != key);
            self.presumed.push((key.to_owned(), value));
        }
    }

    /// Takes over what holds around this run, unless it says otherwise.
    pub(super) fn within(&mut self, outer: &Settings) {
        self.own.extend(outer.own.iter().cloned());
        for (key, value) in &outer.presumed {
            if self.presumed.len() < MOST && !self.presumed.iter().any(|(known, _)| known == key) {
                self.presumed.push((key.clone(), value.clone()));
            }
        }
        for (key, value) in &outer.chosen {
            if !self.chosen.iter().any(|(known, _)| known == key) {
                self.chosen.push((key.clone(), value.clone()));
            }
        }
    }

    /// Forgets what tests are run with anyhow.
    pub(super) fn of_tests(&mut self) {
        let is_other = |(name, value): &Setting| value != "test" || !is_in(name, TESTED);
        self.own.retain(is_other);
        self.presumed.retain(is_other);
    }

    /// Whether what goes well in this way would have shown what has failed in the other way: it is run with all that the other
    /// was run with. It may have more.
    pub(super) fn cover(&self, other: &Settings) -> bool {
        if self == other {
            return true;
        }
        let own: HashSet<&Setting> = self.own.iter().chain(&self.presumed).collect();
        let others: HashSet<&Setting> = other.own.iter().chain(&other.presumed).collect();
        let is_other = |(key, value): &Setting| {
            let mut all = self.own.iter().chain(&self.presumed);
            all.any(|(known, told)| known == key && told != value)
        };
        other.own.iter().all(|setting| own.contains(setting))
            && !other.presumed.iter().any(is_other)
            && !self
                .own
                .iter()
                .any(|setting| is_in(&setting.0, INSTEAD) && !others.contains(setting))
    }

    /// Whether this is the other way with nothing more to it by which a lint may find less. In doubt it may.
    pub(super) fn finds_no_less_than(&self, other: &Settings) -> bool {
        let others: HashSet<&Setting> = other.own.iter().collect();
        let mut own = self.own.iter();
        own.all(|setting| others.contains(setting) || finds_no_less(&setting.0, &setting.1))
    }
}

fn is_version(text: &str) -> bool {
    // `python3` is what there is.
    text != "3" && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// The environment of programs that a path leads into, where it is another than the one that projects and systems have:
/// `.venv39/bin/pytest`.
fn environment(program: &str) -> Option<String> {
    const USUAL: &str = ". .. usr local .local opt homebrew .cargo .venv venv env .env vendor node_modules .bin sbin go .bun .deno root";
    let path = program.replace('\\', "/");
    let (front, _) = path.rsplit_once("/bin/").or_else(|| path.rsplit_once("/Scripts/"))?;
    let name = front.rsplit('/').next().unwrap_or_default();
    let is_usual = name.is_empty() || is_in(name, USUAL) || name.starts_with('$') || name.starts_with('~');
    (!is_usual).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::testrun::checks;
    use crate::testrun::tests::covers;
    use proptest::prelude::*;

    #[test]
    fn what_passes_in_another_way_says_nothing_of_what_failed() {
        for (passed, failed) in [
            ("go build ./...", "GOOS=windows go build ./..."),
            ("GOOS=windows go build ./...", "go build ./..."),
            ("GOARCH=arm64 go vet ./...", "env GOARCH=amd64 go vet ./..."),
            ("DB=sqlite pytest", "DB=postgres pytest"),
            ("bash -c 'npm test'", "STRICT=1 bash -c 'npm test'"),
            ("cargo test", "cargo +nightly test"),
            ("cargo test", "rustup run 1.70 cargo test"),
            ("cargo build", "cargo build --target wasm32-unknown-unknown"),
            ("cargo clippy", "cargo clippy --all-targets -- -D warnings"),
            ("cargo clippy -- -A clippy::all", "cargo clippy"),
            ("python3.12 -m pytest", "python3.9 -m pytest"),
            ("uv run -p 3.12 pytest", "uv run --python=3.9 pytest"),
            (".venv312/bin/pytest", "/w/.venv39/bin/pytest"),
            ("source a/bin/activate && pytest", "source b/bin/activate && pytest"),
            ("fnm use 20 && npm test", "fnm use 18 && npm test"),
            ("docker compose exec -T web pytest", "docker compose exec -T api pytest"),
            (
                "docker run --rm -v .:/w img:1 make test",
                "docker run --rm -v .:/w img:2 make test",
            ),
            ("docker exec a sh -c 'make test'", "docker exec b sh -c 'make test'"),
            ("go test ./...", "go test -race ./..."),
            ("go test ./a", "go test ./a -count 20"),
            ("pytest", "pytest --runslow"),
            ("mypy .", "mypy . --strict"),
            ("npx eslint .", "npx eslint . --max-warnings=0"),
            ("npx jest", "npx jest -c jest.e2e.config.js"),
            ("make", "make CFLAGS=-Werror"),
            ("make", "make -f ci.mk -j$(nproc)"),
            ("gcc a.c", "gcc a.c -lm"),
            ("cargo test", "cargo test --target x86_64-pc-windows-gnu"),
            ("go build ./...", "go build -ldflags -s ./..."),
            ("npm test", "NODE_ENV=production npm test"),
            ("npm run build", "NODE_ENV=test npm run build"),
            ("pytest", "PYTHONWARNINGS=error pytest"),
            ("make", "MAKEFLAGS=CFLAGS=-Werror make"),
            ("npm run test:e2e", "BROWSER=firefox npm run test:e2e"),
            ("pytest", "KERAS_BACKEND=torch pytest"),
            ("npm test", "npm_config_arch=arm64 npm test"),
            ("dotnet test -c Debug", "dotnet test -c Release"),
            ("xcodebuild test -scheme B", "xcodebuild test -scheme A"),
            ("./gradlew -p api test", "./gradlew -p web test"),
        ] {
            assert!(!covers(passed, failed), "{passed}: {failed}");
            assert!(covers(failed, failed), "{failed}");
        }
    }

    #[test]
    fn what_only_tells_more_or_less_is_no_other_way() {
        for (passed, failed) in [
            ("npm test", "CI=1 NO_COLOR=1 npm test"),
            (
                "cargo test",
                "RUST_LOG=debug RUST_BACKTRACE=1 cargo test -- --nocapture --test-threads=1",
            ),
            (
                "cargo test",
                "cargo +stable test --no-fail-fast -q --message-format short --locked --offline",
            ),
            (
                "pytest",
                "PYTHONPATH=src python3 -m pytest -xvs --tb=short -n 4 -p no:cacheprovider --no-cov -rA --maxfail=3",
            ),
            ("pytest -q", ".venv/bin/python -m pytest --color=no --disable-warnings"),
            ("uv run pytest", "source .venv/bin/activate && pytest"),
            ("pytest", "conda activate testbed && pytest"),
            ("python -m pytest", "/opt/miniconda3/envs/testbed/bin/python -m pytest"),
            (
                "go test ./...",
                "go test -v -count=1 -timeout 60s -json -failfast ./...",
            ),
            ("go test -race ./...", "go test ./..."),
            (
                "npx jest",
                "npx jest --ci --runInBand --coverage --silent --verbose=false --forceExit",
            ),
            ("npx jest", "npx jest --config jest.config.js"),
            ("npx vitest run", "npx vitest --reporter=verbose --no-color"),
            ("npx vitest", "npx vitest run"),
            ("npx tsc", "npx tsc --noEmit --pretty false -p tsconfig.json"),
            ("npx tsc -p .", "npx tsc"),
            ("npx eslint .", "npx eslint . --fix --format unix --cache"),
            ("mvn test", "mvn -B -ntp -q -T4 test"),
            (
                "./gradlew test",
                "./gradlew test --no-daemon --stacktrace --console=plain --info",
            ),
            ("./gradlew test", "./gradlew :web:test"),
            ("golangci-lint run", "golangci-lint run ./a --timeout 5m"),
            ("cargo nextest run", "cargo nextest run one"),
            ("make test", "make -j8 test V=1"),
            ("make test", "make test TESTARGS=-v"),
            ("make", "make -j$(nproc)"),
            ("make", "make -j\"$(nproc)\" --no-print-directory"),
            ("make", "make -j`nproc`"),
            ("make", "make -j $(nproc)"),
            ("make test", "make -j$(sysctl -n hw.ncpu) test"),
            ("make", "make -j 4 -O"),
            ("make", "make -j$((2 * 4)) -l4"),
            ("cmake --build build -j 4", "cmake --build build -j$(nproc)"),
            ("cmake --build build", "cmake --build build --parallel $(nproc)"),
            ("ninja -C build", "ninja -C build -j${JOBS:-4}"),
            ("npm test", "HUSKY=0 NEXT_TELEMETRY_DISABLED=1 DO_NOT_TRACK=1 npm test"),
            (
                "npm test",
                "NODE_ENV=test BROWSER=none npm_config_yes=true NX_DAEMON=false npm test",
            ),
            ("npm test", "export NODE_ENV=test; SHELL=/bin/bash npm test"),
            ("bundle exec rspec", "RAILS_ENV=test bundle exec rspec"),
            (
                "dotnet test",
                "DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 dotnet test --blame",
            ),
            (
                "pytest",
                "PYTHONWARNINGS=ignore MPLBACKEND=Agg DISPLAY=:99 QT_QPA_PLATFORM=offscreen pytest",
            ),
            ("go test ./...", "GOMAXPROCS=2 go test ./..."),
            ("make", "MAKEFLAGS=-j8 make"),
            ("cargo test", "RUSTC_WRAPPER=sccache cargo test"),
            ("mvn test", "mvn test -X"),
            ("bundle exec rspec", "bundle exec rspec -fd --seed 3"),
            ("bundle exec rspec --order rand", "bundle exec rspec"),
            ("npx tsc --noEmit --pretty false", "npx tsc --noEmit"),
            ("npx tsc --noEmit --incremental false", "npx tsc --noEmit"),
            ("npx playwright test --trace on", "npx playwright test"),
            ("npx eslint .", "npx eslint --color ."),
            ("cargo test --color never", "cargo test --color always"),
            ("pytest --color yes", "pytest"),
            ("vendor/bin/phpunit --testdox", "vendor/bin/phpunit"),
            ("vendor/bin/phpunit", "vendor/bin/phpunit --testdox"),
            ("cargo test", "cargo test --target-dir /tmp/t"),
            ("pytest", "pytest --basetemp=/tmp/x"),
            ("npx tsc --noEmit", "npx tsc --noEmit --extendedDiagnostics"),
            ("bundle exec rspec", "bundle exec rspec --format documentation"),
        ] {
            assert!(covers(passed, failed), "{passed}: {failed}");
        }
        assert!(!covers("cargo test run", "cargo test"));
        assert!(!covers("npx jest run", "npx jest"));
    }

    proptest! {
        #[test]
        fn no_way_is_too_odd_and_each_is_its_own(
            line in "(A=b |env |sudo |docker |exec |run |uv run |rustup run |nvm use |source |export |[+]1 |/bin/|\\.venv|-p |--x=|-e |&& |pytest |cargo test |'|sh -c ){0,12}",
        ) {
            for check in checks(&line) {
                prop_assert!(check.scope.settings.cover(&check.scope.settings));
                prop_assert!(check.covers(&check));
            }
        }
    }
}
