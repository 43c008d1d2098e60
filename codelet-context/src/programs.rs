//! The programs that check something, as a table. Lists are words with blanks between.

use crate::testrun::CheckKind::{self, Build, Lint, Test};
use Told::{Always, Any, By, First, Maker, Script, Target};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The rows for programs of this name, in the order of the table. Looked up by name, because every command of a long
/// conversation is.
pub(crate) fn programs(name: &str) -> &'static [&'static Program] {
    static INDEX: OnceLock<HashMap<&str, Vec<&Program>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for row in PROGRAMS {
            for name in row.names.split(' ') {
                index.entry(name).or_default().push(row);
            }
        }
        index
    });
    index.get(name).map_or(&[], Vec::as_slice)
}

/// Where a program is told what to do.
pub(crate) enum Told {
    /// It does nothing else.
    Always,
    /// By its first word, one of these.
    First(&'static str),
    /// By this option.
    By(&'static str),
    /// By any of its words: it may be told to do several things.
    Any(&'static str),
    /// By the name of a script of the project, after one of these words or none.
    Script(&'static str),
    /// By a target of the project that is named for what it does.
    Target,
    /// The same, and by none it is told to do what it is there for.
    Maker,
}

/// A program that checks something when it is told to.
pub(crate) struct Program {
    pub names: &'static str,
    pub told: Told,
    pub kind: CheckKind,
    /// Options that are followed by a value.
    pub valued: &'static str,
    /// … and of which the value says what is checked of all.
    pub narrows: &'static str,
    /// … and of which the value says that something else is checked.
    pub alters: &'static str,
    /// A first word that says no more than none.
    pub leading: &'static str,
}

impl Program {
    /// A program of the project's own, of which no row knows.
    pub const OWN: Program = program(Test, "", Always, "");

    const fn by(self, narrows: &'static str) -> Program {
        Program { narrows, ..self }
    }

    const fn other(self, alters: &'static str) -> Program {
        Program { alters, ..self }
    }

    const fn led(self, leading: &'static str) -> Program {
        Program { leading, ..self }
    }
}

const fn program(kind: CheckKind, names: &'static str, told: Told, valued: &'static str) -> Program {
    Program {
        names,
        told,
        kind,
        valued,
        narrows: "",
        alters: "",
        leading: "",
    }
}

const CARGO: &str = "--manifest-path -C --config --color -Z --target -j --features -F -D -W -A";
/// What of a workspace, and which tests of it.
const CRATES: &str = "-p --package --exclude --test --bin --example --bench --skip -E --run-ignored";
const NPM: &str = "--prefix -C --dir --cwd --loglevel -R";
const WORKSPACES: &str = "-w --workspace --filter -F -t -g --grep --testNamePattern --testPathPattern --project";
const MAKE: &str = "-C -I -o -W --directory";
const MAVEN: &str = "-s -P -T";
/// Another file of what is to be done is another project.
const PROJECT: &str = "-f --file";
const GRADLE: &str = "-I --project-dir";

/// The programs that check. The first row that fits counts.
const PROGRAMS: &[Program] = &[
    program(Test, "cargo", First("nextest"), CARGO).by(CRATES).led("run"),
    program(
        Test,
        "cargo",
        First("test t tarpaulin llvm-cov miri mutants insta"),
        CARGO,
    )
    .by(CRATES),
    program(
        Build,
        "cargo",
        First("build b rustc check c doc install zigbuild"),
        CARGO,
    )
    .by(CRATES),
    program(Lint, "cargo", First("clippy fmt deny audit machete"), CARGO).by(CRATES),
    program(Test, "cargo-nextest trybuild", Always, ""),
    program(Build, "rustc wasm-pack trunk", Always, ""),
    program(
        Test,
        "pytest py.test unittest nose2 nosetests trial behave ward green",
        Always,
        "-n -p -o -W --tb -r",
    )
    .by("-k -m --deselect --ignore --ignore-glob")
    .other("-c"),
    program(Test, "tox nox", Always, "-f").by("-e -s -k -t").other("-c"),
    program(
        Lint,
        "mypy pyright basedpyright flake8 pylint black isort bandit ty",
        Always,
        "",
    ),
    program(Lint, "ruff", First("check format"), ""),
    program(Build, "py_compile compileall build", Always, ""),
    program(Test, "hatch", First("test"), "-e --env"),
    program(
        Test,
        "hatch pdm pixi pipenv rye mise devbox",
        Script("run"),
        "-e --environment --env",
    ),
    program(Build, "uv poetry hatch pdm flit", First("build"), ""),
    program(
        Test,
        "jest mocha ava jasmine karma uvu qunit",
        Always,
        "-R",
    )
    .by("-t -g --grep --testNamePattern --testPathPattern --project --selectProjects")
    .other("-c --config"),
    program(Test, "vitest tap wdio", Always, "-R")
        .by("-t -g --grep --testNamePattern --testPathPattern --project")
        .other("-c --config")
        .led("run"),
    program(Test, "playwright", First("test"), "--reporter")
        .by("-g --grep --grep-invert --project")
        .other("-c --config"),
    program(Test, "cypress", Any("run"), "-b -e -C").by("-s --spec"),
    program(
        Test,
        "ng react-scripts lerna turbo nx vue-cli-service ember",
        Any("test e2e test:unit"),
        "",
    ),
    program(
        Build,
        "ng react-scripts lerna turbo nx next vite astro nuxt expo parcel",
        Any("build"),
        "",
    ),
    program(
        Build,
        "tsc webpack rollup esbuild tsup swc babel vue-tsc svelte-check",
        Always,
        "",
    )
    .other("-p --project"),
    program(
        Lint,
        "eslint prettier biome oxlint stylelint standard xo tslint markdownlint",
        Always,
        "",
    )
    .other("-c"),
    program(
        Test,
        "npm pnpm yarn bun",
        Script("run run-script recursive workspaces foreach turbo"),
        NPM,
    )
    .by(WORKSPACES),
    program(Test, "deno", First("test"), ""),
    program(Test, "deno", Script("task"), ""),
    program(Build, "deno", First("check compile bundle"), ""),
    program(Lint, "deno", First("lint fmt"), ""),
    program(Test, "go", First("test"), "-C -count -p -parallel -tags").by("-run -skip -bench -fuzz"),
    program(Build, "go", First("build install generate"), "-C"),
    program(Lint, "go", First("vet fmt"), "-C"),
    program(Test, "gotestsum ginkgo richgo gotest", Always, "-tags").by("-run -skip --focus"),
    program(Lint, "golangci-lint", Always, "").other("-c").led("run"),
    program(Lint, "staticcheck gofmt gofumpt goimports revive", Always, ""),
    program(
        Test,
        "mvn mvnw mvnd",
        Any("test verify integration-test surefire:test failsafe:verify"),
        MAVEN,
    )
    .by("-pl --projects")
    .other(PROJECT),
    program(
        Build,
        "mvn mvnw mvnd",
        Any("compile package install test-compile deploy"),
        MAVEN,
    )
    .by("-pl --projects")
    .other(PROJECT),
    program(Test, "gradle gradlew", Target, GRADLE).by("--tests -x -p -b"),
    program(
        Build,
        "gradle gradlew",
        Any("build assemble classes testClasses compileJava compileKotlin compileTestJava jar bootJar shadowJar war installDist bundle assembleDebug assembleRelease"),
        GRADLE,
    )
    .by("-x -p -b"),
    program(
        Lint,
        "gradle gradlew",
        Any("lint ktlintCheck detekt spotlessCheck checkstyleMain"),
        GRADLE,
    )
    .by("-x -p -b"),
    program(Test, "sbt mill lein clj clojure amm bloop", Target, ""),
    program(
        Build,
        "sbt mill javac kotlinc scalac ant",
        Any("compile package assembly"),
        "",
    ),
    program(Build, "javac kotlinc scalac", Always, ""),
    program(Test, "dotnet", First("test vstest"), "-c --configuration -f --framework --logger -l -v -o").by("--filter"),
    program(Build, "dotnet", First("build publish pack msbuild"), "-c --configuration -f --framework -o -v -r"),
    program(Lint, "dotnet", First("format"), ""),
    program(Build, "msbuild xbuild", Always, ""),
    program(
        Test,
        "vstest.console mstest xunit.console nunit3-console",
        Always,
        "",
    ),
    program(
        Test,
        "ctest bats shellspec shunit2 prove busted runtests cram lit llvm-lit",
        Always,
        "-C -j --test-dir",
    )
    .by("-R -E -L -LE -I --tests-regex"),
    program(
        Test,
        "hurl",
        By("--test"),
        "--variable --variables-file --secret --jobs --retry --report-html --report-json --report-junit --report-tap",
    )
    .by("--glob --from-entry --to-entry"),
    program(Test, "meson", First("test"), "-C"),
    program(Build, "meson", First("compile setup"), "-C"),
    program(
        Test,
        "make gmake ninja samu just task rake mage invoke inv doit ant scons earthly mise moon xmake waf poe nmake mingw32-make thor",
        Target,
        MAKE,
    )
    .other(PROJECT),
    program(
        Lint,
        "make gmake just task rake mage invoke inv poe",
        Any("lint fmt format clippy typecheck vet rubocop"),
        MAKE,
    )
    .other(PROJECT),
    program(
        Build,
        "just task rake mage invoke inv ant xmake",
        Any("build compile all release debug"),
        MAKE,
    )
    .other(PROJECT),
    program(Build, "make gmake ninja samu scons nmake mingw32-make", Maker, MAKE).other(PROJECT),
    program(Build, "cmake", Always, ""),
    program(
        Build,
        "gcc g++ cc c++ clang clang++ ld nvcc emcc protoc buf latexmk pdflatex elm tinygo",
        Always,
        "",
    ),
    program(
        Lint,
        "clang-tidy clang-format cppcheck shellcheck shfmt hadolint yamllint actionlint sqlfluff tflint",
        Always,
        "",
    ),
    program(Lint, "pre-commit", Always, "--hook-stage").led("run"),
    program(
        Test,
        "bazel bazelisk buck buck2 pants please plz",
        First("test coverage"),
        "",
    ),
    program(
        Build,
        "bazel bazelisk buck buck2 pants please plz",
        First("build package"),
        "",
    ),
    program(Test, "rspec minitest cucumber parallel_rspec", Always, "-f -r --order --require").by("-e -t -n"),
    program(Test, "rails spring zeus bin/rails", Any("test test:system spec"), ""),
    program(Lint, "rubocop standardrb sorbet steep brakeman", Always, ""),
    program(
        Test,
        "phpunit pest paratest codecept phpspec simple-phpunit",
        Always,
        "",
    )
    .by("--filter --group --testsuite")
    .other("-c")
    .led("run"),
    program(Test, "composer", Script("run run-script"), "-d"),
    program(Test, "artisan sail", First("test"), ""),
    program(Lint, "phpstan psalm phpcs php-cs-fixer pint", Always, ""),
    program(Test, "mix", First("test espec"), ""),
    program(Build, "mix", First("compile release"), ""),
    program(Lint, "mix", First("credo dialyzer format"), ""),
    program(Test, "rebar3", Any("eunit ct proper"), ""),
    program(Build, "rebar3", Any("compile release"), ""),
    program(Test, "zig", Any("test"), ""),
    program(
        Test,
        "swift zig gleam dart flutter nim nimble dub fpm stack cabal dune forge hardhat truffle anchor aptos snforge scarb roc v crystal shards raku zef alr melos helm opa conftest terraform tofu dbt wasm-pack spago elm mops sui",
        First("test spec runtest unittest drive"),
        "--package-path -C",
    )
    .by("--filter --name --plain-name --match-path --match-test -p"),
    program(
        Build,
        "swift zig gleam dart flutter nim nimble dub fpm stack cabal dune forge hardhat truffle anchor scarb crystal v spago roc",
        First("build compile build-exe c make check"),
        "--package-path -C",
    ),
    program(
        Lint,
        "dart flutter swift terraform tofu",
        First("analyze format validate fmt"),
        "",
    ),
    program(
        Test,
        "xcodebuild",
        Any("test test-without-building"),
        "-project -workspace -destination",
    )
    .by("-only-testing -skip-testing")
    .other("-scheme"),
    program(Build, "xcodebuild swiftc", Always, ""),
    program(Lint, "swiftlint swiftformat ktlint detekt", Always, ""),
    program(Test, "manage.py setup.py runtests.py", First("test"), ""),
    program(Test, "doctest", Always, ""),
    program(
        Build,
        "setup.py",
        First("build develop build_ext sdist bdist_wheel"),
        "",
    ),
    program(
        Build,
        "docker podman docker-compose nix buildah",
        First("build buildx flake"),
        "",
    ),
    program(Build, "nix-build", Always, ""),
];
