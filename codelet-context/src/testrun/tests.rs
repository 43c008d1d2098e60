#![allow(clippy::unwrap_used)]

use super::*;
use CheckKind::{Build, Lint};
use proptest::prelude::*;

/// The last test run of a command line, if it runs tests.
fn test_run(line: &str) -> Option<Check> {
    checks(line).into_iter().rfind(|check| check.kind == CheckKind::Test)
}

/// The last build or lint of a command line, if it runs one.
fn build_run(line: &str) -> Option<Check> {
    checks(line).into_iter().rfind(|check| check.kind != CheckKind::Test)
}

fn is_question(line: &str) -> bool {
    Line::read(line).is_question
}

/// Command lines with `¦` between them and `⏎` in them.
fn lines(text: &str) -> Vec<String> {
    text.split('¦').map(|line| line.trim().replace('⏎', "\n")).collect()
}

/// Whether the last check of one line ends the failure of that of another.
pub(super) fn covers(passed: &str, failed: &str) -> bool {
    let last = |line: &str| checks(line).pop().unwrap();
    last(passed).covers(&last(failed))
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
           Rscript -e "devtools::test()" ¦ R -q -e 'testthat::test_local(".")' ¦
           julia --project -e "using Pkg; Pkg.test()" ¦ hurl --test api.hurl ¦ hurl --variable a=b --test a ¦
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
fn lines_of_windows_are_understood() {
    for line in lines(
        r#"npm.cmd test ¦ cmd.exe /c "npm.cmd test" ¦ cmd /c npm test ¦ pwsh -Command "npm test" ¦
           powershell.exe -NoProfile -Command "npm test" ¦ powershell -ExecutionPolicy Bypass -File .\run_tests.ps1 ¦
           pwsh -c npm test ¦ powershell "cd x; npm test" ¦ npx.cmd jest ¦ cd 'C:\src\x'; npm test ¦ dotnet.exe test x.sln ¦
           & "C:\Program Files\dotnet\dotnet.exe" test ¦ .\gradlew.bat test ¦ gradlew.bat test ¦ mvnw.cmd test ¦
           .\venv\Scripts\python.exe -m pytest ¦ venv\Scripts\pytest.exe -q ¦ C:\venv\Scripts\python -m pytest ¦
           py -3 -m pytest ¦ $env:CI="1"; npm test ¦ vstest.console.exe Tests.dll ¦ C:/tools/cargo.exe test ¦
           "C:\Program Files\nodejs\npm.cmd" test ¦ Set-Location C:\x; dotnet test ¦ call npm test ¦ Cargo.exe test"#,
    ) {
        assert!(test_run(&line).is_some_and(|run| run.decides), "{line}");
    }
    assert_eq!(test_run(".\\gradlew.bat test").unwrap().name, "gradlew test");
    let build = build_run("& 'C:\\VS\\MSBuild.exe' a.sln /t:Build").unwrap();
    assert_eq!((build.kind, build.name.as_str()), (Build, "msbuild"));
    for line in lines(
        r#"cmd /c dir ¦ pwsh -EncodedCommand bnBtIHRlc3Q= ¦ type test.bat ¦ Get-Content tests\a.py ¦ cmd ¦ powershell"#,
    ) {
        assert_eq!(test_run(&line), None, "{line}");
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
           node -e 'test()' ¦ Rscript -e 'library(devtools)' ¦ julia -e 'using Pkg; Pkg.add("X")' ¦ hurl api.hurl ¦
           Rscript -e 'devtools::test_active' ¦ go build ./... ¦ docker run postgres ¦ find . -name 'test*' ¦
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
        ("./gradlew clean build -x test", Some((Build, "gradlew build"))),
        ("gradle :app:build", Some((Build, "gradle :app:build"))),
        ("./gradlew clean", None),
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
fn the_name_of_a_script_says_that_it_looks_for_faults_in_code_and_not_only_that_it_checks() {
    for line in lines(
        "npm run check ¦ pnpm check:types ¦ yarn type-check ¦ npm run check-format ¦ npm run ci:check ¦ bun run svelte-check ¦
         npm run check:all ¦ hatch run check ¦ pdm run check_style ¦ npm run code-quality:check ¦ npm run lint-check",
    ) {
        assert_eq!(build_run(&line).map(|run| run.kind), Some(Lint), "{line}");
    }
    for line in lines(
        "npm run check-users ¦ npm run health:check ¦ yarn healthcheck ¦ pdm run check_users.py ¦ python check_users.py ¦
         ./healthcheck.sh ¦ bash scripts/health-check.sh ¦ npm run check-updates ¦ hatch run check-db ¦ pnpm check:env ¦
         composer check-platform-reqs ¦ uv run check_links.py",
    ) {
        assert_eq!(checks(&line), [], "{line}");
    }
}

#[test]
fn a_check_knows_what_it_is_narrowed_to() {
    let scope = |line| test_run(line).unwrap().scope;
    let words = |line| scope(line).words;
    let filters = |line| -> Vec<String> {
        let filters = scope(line).filters.into_iter();
        filters.map(|(name, value)| format!("{name}={value}")).collect()
    };
    let none = [""; 0];
    assert_eq!(scope("cargo test"), Scope::default());
    assert_eq!(
        scope("cargo test -q -j 4 -- --nocapture --test-threads=1"),
        Scope::default()
    );
    assert_eq!(words("cargo test -p core parser::tests"), ["parser::tests"]);
    assert_eq!(filters("cargo test -p core parser::tests"), ["-p=core"]);
    assert_eq!(filters("cargo test -pcore --lib"), ["-p=core", "--lib="]);
    assert_eq!(words("pytest -k fast tests/a.py"), ["tests/a.py"]);
    assert_eq!(words("pytest -s tests/a.py"), ["tests/a.py"]);
    assert_eq!(filters("pytest -k fast tests/a.py --tb short -q -x"), ["-k=fast"]);
    assert_eq!(filters("go test -run TestA -count 1 ./..."), ["-run=TestA"]);
    assert_eq!(words("go test -v -race -timeout 60s ./..."), ["./..."]);
    assert_eq!(filters("npx jest -t 'a b' --coverage"), ["-t=a b"]);
    assert_eq!(filters("mvn -q test -Dtest=FooTest"), ["-Dtest=FooTest"]);
    assert_eq!(filters("./gradlew test --tests a.B"), ["--tests=a.B"]);
    assert_eq!(filters("dotnet test -c Release --filter Name=x"), ["--filter=Name=x"]);
    assert_eq!(filters("ctest -R parse -j 8"), ["-R=parse"]);
    assert_eq!(filters("npm test -w core -- --grep x"), ["-w=core", "--grep=x"]);
    assert_eq!(filters("make test TEST=a V=1"), ["TEST=a"]);
    assert_eq!(words("npm run test:unit -- a"), ["a"]);
    assert_eq!(words("npx vitest run a"), ["a"]);
    assert_eq!(words("make clean test"), none);
    assert_eq!(scope("cd a && (cd ./b/ && npm test)").place.as_deref(), Some("a/b"));
    assert_eq!(scope("make -C b test").place.as_deref(), Some("b"));
}

#[test]
fn the_success_of_a_check_counts_for_what_it_looked_at() {
    let covers = |passed: &str, failed: &str| test_run(passed).unwrap().covers(&test_run(failed).unwrap());
    let wider = lines(
        r#"pytest < pytest -k almond ¦ pytest < pytest tests/a.py ¦ pytest tests < pytest tests/a.py ¦
           pytest tests/a.py < pytest tests/a.py::test_x ¦ pytest a.py b.py < pytest a.py ¦ pytest . < pytest a.py ¦
           pytest tests/ -x < python -m pytest ./tests -q --tb=short ¦ uv run pytest < pytest -m slow ¦
           go test ./... < go test ./a ./b ¦ go test ./a/... < go test ./a/b ¦ go test ./... < go test -run X ./a ¦
           go test -race ./... < go test -v ./... ¦ cargo test < cargo test parser ¦
           cargo test parser < cargo test parser::tests ¦ cargo test --workspace < cargo test ¦
           cargo test -p a < cargo test -p a --lib x ¦ npm test < npm test -- --grep x ¦
           npm test -- src < npm test -- src/a.test.js ¦ npx jest < npx jest -t 'a b' ¦ jest a.test.js < jest a.test.js -t x ¦
           mvn clean test < mvn -q test -Dtest=Foo ¦ ./gradlew test < ./gradlew test --tests a.B ¦
           rspec a_spec.rb < rspec a_spec.rb:12 ¦ dotnet test < dotnet test --filter x ¦ ctest < ctest -R x ¦
           vitest < vitest run a ¦ bundle exec rspec < rspec spec ¦ make test < make -j4 test ¦ make clean test < make test ¦
           .\gradlew.bat test < .\gradlew.bat test --tests a.B ¦ cd /p && pytest < pytest ¦ pytest < cd /p && pytest ¦ cd web && npm test < cd /p/web && npm test"#,
    );
    for pair in wider {
        let (passed, failed) = pair.split_once(" < ").unwrap();
        assert!(covers(passed, failed), "{pair}");
        assert!(covers(passed, passed) && covers(failed, failed), "{pair}");
    }
    let other = lines(
        r#"pytest tests/a.py < pytest tests/a.py tests/b.py ¦ pytest -k almond < pytest ¦ pytest -k a < pytest -k b ¦
           pytest -k almond tests < pytest tests ¦ pytest tests/a.py < pytest ¦ pytest tests/a.py::test_x < pytest tests/a.py ¦
           pytest tests/a < pytest tests/ab.py ¦ pytest --lf < pytest ¦ pytest --ignore=b.py < pytest ¦
           pytest --deselect a.py::x < pytest ¦ go test ./a < go test ./a ./b ¦ go test -run X ./... < go test ./... ¦
           go test ./a < go test ./a/b ¦ go test < go test ./... ¦ go test ./a < go test ./... ¦ go test -short ./... < go test ./... ¦
           cargo test -p a < cargo test ¦ cargo test < cargo test --workspace ¦ cargo test < cargo test --all-features ¦
           cargo test --lib < cargo test ¦ cargo test -p a < cargo test -p a -p b ¦ cargo test -p a x < cargo test -p a ¦
           cargo test < cargo test -- --ignored ¦ cargo test -- --skip x < cargo test ¦ cargo build < cargo test --no-run x ¦
           npm test -- --grep x < npm test ¦ npm test -w a < npm test ¦ npm test < npm run test:e2e ¦
           npx jest -t a < npx jest ¦ jest a.test.js < jest ¦ npx jest --onlyChanged < npx jest ¦ npx vitest run a < npx vitest ¦
           mvn test -Dtest=Foo < mvn test ¦ mvn -pl core test < mvn test ¦ ./gradlew test --tests a.B < ./gradlew test ¦
           rspec a_spec.rb:12 < rspec a_spec.rb ¦ ctest -R x < ctest ¦ ctest -E slow < ctest ¦ dotnet test --filter x < dotnet test ¦
           make test TEST=a < make test ¦ cd a && npm test < cd b && npm test ¦ cd a && npm test < npm test ¦
           tox -e py311 < tox ¦ pytest < cargo test ¦ cargo test --no-run < cargo test ¦ go test -c ./... < go test ./... ¦
           npx tsc --noEmit -p tsconfig.node.json < npx tsc --noEmit -p tsconfig.app.json ¦ npx tsc -p b < npx tsc ¦
           jest -c b.json < jest -c a.json ¦ playwright test -c b.ts < playwright test -c a.ts ¦ jest --config=b < jest --config=a ¦
           mvn -f b/pom.xml test < mvn -f a/pom.xml test ¦ make -f b.mk test < make -f a.mk test ¦
           make TARGET=b < make TARGET=a ¦ pytest --rootdir b < pytest --rootdir a"#,
    );
    for pair in other {
        let (passed, failed) = pair.split_once(" < ").unwrap();
        let failed = checks(failed).pop().unwrap();
        assert!(!checks(passed).pop().unwrap().covers(&failed), "{pair}");
    }
}

proptest! {
    #[test]
    fn what_is_unrestricted_covers_every_form_of_it_and_none_but_equals_covers_it(
        program in prop::sample::select(vec!["pytest", "cargo test", "npx jest", "npm test --", "rspec"]),
        words in proptest::collection::vec("(-k|-p|-t|--lib|--filter|=|-q|a|tests/[ab]\\.py(::x)?|\\.|/|[0-9])", 0..6),
    ) {
        let narrowed = format!("{program} {}", words.join(" "));
        let (all, narrowed) = (test_run(program).unwrap(), test_run(&narrowed).unwrap());
        prop_assert!(narrowed.covers(&narrowed));
        prop_assert!(all.covers(&narrowed));
        let is_free = narrowed.scope.words.is_empty() && narrowed.scope.filters.is_empty();
        prop_assert_eq!(narrowed.covers(&all), is_free);
    }
}

#[test]
fn a_question_may_be_answered_with_no() {
    for line in lines(
        r#"grep x y ¦ cd a && rg foo ¦ diff a b ¦ [ -f a ] ¦ git diff --exit-code ¦ ls nope ¦ kubectl -n b logs deploy/api --previous ¦ docker logs api ¦ journalctl -u api ¦ gh run view 991 --log"#,
    ) {
        assert!(is_question(&line), "{line}");
    }
    for line in lines(r#"cargo test ¦ rm a ¦ git push ¦ grep a b; make ¦ kubectl apply -f a.yaml ¦ docker push app"#)
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

#[test]
fn a_package_manager_runs_programs_by_their_bare_name() {
    for (line, name) in [
        ("pnpm vitest run", "vitest"),
        ("yarn jest --ci", "jest"),
        ("pnpm playwright test", "playwright test"),
        ("bun vitest run src/a.test.ts", "vitest"),
    ] {
        let names: Vec<String> = checks(line).into_iter().map(|check| check.name).collect();
        assert_eq!(names, [name], "{line}");
    }
    for line in [
        "pnpm install",
        "yarn add jest",
        "pnpm dev",
        "pnpm make",
        "npm vitest",
        "pnpm vitest --help",
    ] {
        assert_eq!(checks(line), [], "{line}");
    }
}

#[test]
fn where_the_tests_are_left_out_something_is_built() {
    for (line, expected) in [
        ("mvn -q verify -DskipTests", CheckKind::Build),
        ("mvn verify -Dmaven.test.skip=true", CheckKind::Build),
        ("./mvnw verify -DskipTests=true", CheckKind::Build),
        ("./gradlew check -x test", CheckKind::Build),
        ("./gradlew check -x :app:test", CheckKind::Build),
        ("mvn verify -DskipTests=false", CheckKind::Test),
        ("mvn verify -DskipITs", CheckKind::Test),
        ("./gradlew check -x lint", CheckKind::Test),
        ("./gradlew test", CheckKind::Test),
    ] {
        let kinds: Vec<CheckKind> = checks(line).iter().map(|check| check.kind).collect();
        assert_eq!(kinds, [expected], "{line}");
    }
}

#[test]
fn what_a_container_or_a_session_is_sent_off_with_is_left_to_run() {
    for line in [
        "docker run -d --name t app:test pytest -q",
        "docker run --detach app pytest",
        "docker run -itd app pytest",
        "docker compose -f f.yml run -d web pytest",
        "systemd-run --user pytest",
        "docker compose exec -d api pytest -q",
        "setsid -f cargo test",
        "sudo -b pytest",
        "sudo -nb -u ci npm test",
        "sudo --background make test",
        "ssh -fn host 'cd a && pytest'",
    ] {
        assert!(
            checks(line).iter().all(|check| check.is_left) && !checks(line).is_empty(),
            "{line}"
        );
    }
    for line in [
        "docker run --rm app pytest -d x",
        "docker run -it app pytest",
        "systemd-run --user --scope pytest",
        "docker compose exec api pytest -q",
        "setsid cargo test",
        "sudo -u b pytest",
        "sudo -ub pytest",
    ] {
        assert!(
            checks(line).iter().all(|check| !check.is_left) && !checks(line).is_empty(),
            "{line}"
        );
    }
}

#[test]
fn a_weaker_run_is_not_over_what_failed() {
    let mut wrong = Vec::new();
    for pair in lines(
        "pylint --disable=all src < pylint src ¦ pylint --exit-zero src < pylint src ¦ pylint -E src < pylint src ¦
         ruff check . --exit-zero < ruff check . ¦ npx eslint . --max-warnings 100 < npx eslint . ¦
         npx eslint --no-eslintrc . < npx eslint . ¦ npx tsc --noCheck < npx tsc ¦ npx tsc --strict false < npx tsc ¦
         mypy . --no-strict-optional < mypy . ¦ golangci-lint run --disable-all < golangci-lint run ¦
         go vet -printf=false ./... < go vet ./... ¦ npx jest -o < npx jest ¦ npx vitest run --changed < npx vitest run ¦
         mix test --stale < mix test ¦ ./run_tests.sh 2 < ./run_tests.sh 7 ¦ npm test -- 3 < npm test",
    ) {
        let (passed, failed) = pair.split_once(" < ").unwrap();
        if covers(passed, failed) {
            wrong.push(format!("clears it: {pair}"));
        }
    }
    for pair in lines(
        "pylint src --output-format=text -j 4 < pylint src ¦ ruff check . --no-cache --fix < ruff check . ¦
         npx eslint . --max-warnings=0 --cache < npx eslint . ¦ npx tsc --noEmit --pretty false < npx tsc --noEmit ¦
         mypy . --strict --no-color-output < mypy . ¦ cargo clippy --all-targets -- -D warnings < cargo clippy ¦
         golangci-lint run --timeout 5m < golangci-lint run ¦ npx jest -w 4 < npx jest ¦ pytest -n 4 < pytest ¦
         ./run_tests.sh < ./run_tests.sh 7 ¦ ./run_tests.sh 7 < ./run_tests.sh 7 ¦ go test -count 1 ./... < go test ./...",
    ) {
        let (passed, failed) = pair.split_once(" < ").unwrap();
        if !covers(passed, failed) {
            wrong.push(format!("leaves it open: {pair}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn who_looks_for_a_program_runs_none() {
    for line in [
        "command -v pytest",
        "command -pv cargo test",
        "command -V npm test",
        "type pytest",
        "type -a pytest",
        "hash pytest",
        "whereis pytest",
        "sudo -l pytest",
        "sudo -nl make test",
        "sudo --list -U ci npm test",
        "doas -C /etc/doas.conf pytest",
        "xcrun --find swiftc",
        "npx --version && timeout --help pytest",
        "ssh -G host pytest",
        "env --help pytest",
    ] {
        assert_eq!(checks(line), [], "{line}");
    }
    for line in [
        "command pytest",
        "command -p pytest",
        "sudo -n pytest -v",
        "sudo -u list pytest",
        "sudo -k pytest",
        "sudo -ul pytest",
        "doas -u ci pytest",
        "command -v pytest && pytest",
        "command -v node >/dev/null || exit 1; npm test",
        "env -C a pytest",
        "xcrun swift test",
    ] {
        assert_eq!(checks(line).len(), 1, "{line}");
    }
    assert!(is_question("command -v pytest"));
}

#[test]
fn a_target_is_a_build_where_it_says_so_and_a_program_that_runs_proves_none() {
    for line in lines(
        "make help ¦ make clean ¦ make run ¦ make deploy ¦ make dev-db ¦ ninja -t clean ¦ cargo run -- list ¦ make -C web seed ¦
         go run ./cmd/main.go hook ¦ cargo run --release ¦ make db/migrate ¦ make -j 4 clean ¦ make docker-push V=1 ¦ make clean-all ¦
         make build-clean ¦ make run-debug ¦ make list-bins ¦ cargo run --bin app 2>&1 | tail ¦ make fmt ¦ make check-users-db ¦
         gmake -s release-notes ¦ make docs/serve ¦ make $TARGET",
    ) {
        assert_eq!(build_run(&line), None, "{line}");
    }
    for line in lines(
        "make ¦ make -j8 ¦ make -j 8 ¦ make -j $(nproc) ¦ make -C src ¦ make all ¦ make clean all ¦ make build ¦ make build-web ¦
         make bin/shop ¦ make parse.o ¦ make build/x ¦ make CC=clang ¦ make release ¦ ninja ¦ ninja -C out ¦ ninja -C out -k 0 all ¦
         scons -j 4 ¦ make -f a.mk debug ¦ make libs V=1 ¦ make -j`nproc` ¦ make dist",
    ) {
        let found = build_run(&line).map(|run| (run.kind, run.name.split(' ').count()));
        assert_eq!(found, Some((Build, 1)), "{line}");
    }
    for line in
        lines("make lint ¦ make lint-go ¦ make type-check ¦ make check-types ¦ make check-format ¦ make clean web-lint")
    {
        let found = checks(&line).pop().map(|run| run.kind);
        assert_eq!(found, Some(Lint), "{line}");
    }
    for line in lines("make test ¦ make test-unit ¦ make build test ¦ make check ¦ ninja -C b test ¦ make e2e") {
        assert!(test_run(&line).is_some(), "{line}");
    }
}
