#![allow(clippy::unwrap_used)]

use crate::command::CommandLine;
use crate::effects::written;
use crate::testrun::{Check, CheckKind, checks};
use proptest::prelude::*;

fn last(line: &str) -> Check {
    checks(line).pop().unwrap()
}

/// The name of the last test run of a line.
fn test_run(line: &str) -> Option<String> {
    let found = checks(line).into_iter().rfind(|check| check.kind == CheckKind::Test);
    found.map(|check| check.name)
}

#[test]
fn a_test_run_is_seen_in_whatever_it_is_wrapped() {
    let mut wrong = Vec::new();
    for (name, lines) in [
        (
            "pytest",
            r#"kubectl exec pod-1 -- pytest ¦ kubectl -n dev exec -it deploy/web -c app -- pytest -q ¦ oc exec pod -- pytest ¦
               ssh host 'cd /srv/x && pytest' ¦ ssh -p 22 -o BatchMode=yes me@host pytest -q ¦ sshpass -p x ssh h pytest ¦
               docker compose -f f.yml run --rm web pytest ¦ docker compose -f a.yml -f b.yml --profile t exec -T web pytest ¦
               docker --context far exec web pytest ¦ docker compose -p x run --rm -e A=1 web python -m pytest ¦
               podman exec web pytest ¦ podman-compose -f x.yml exec web pytest ¦ nerdctl compose run web pytest ¦
               vagrant ssh -c 'cd /x && pytest' ¦ vagrant ssh web --command pytest ¦ wsl -d Ubuntu -- pytest ¦
               poetry run pytest ¦ poetry -C api run pytest ¦ uv run pytest ¦ uv --directory api run --extra dev pytest ¦
               uv run --with pytest-cov -- pytest ¦ pipenv run pytest ¦ hatch run pytest ¦ hatch -e test run pytest ¦
               hatch env run -e test pytest ¦ pixi run -e test pytest ¦ pdm run pytest ¦ rye run pytest ¦
               mise exec -- pytest ¦ mise x python@3.12 -- pytest ¦ pyenv exec pytest ¦ asdf exec pytest ¦
               direnv exec . pytest ¦ devbox run pytest ¦ devbox run -- pytest ¦ devenv shell pytest ¦
               nix develop -c pytest ¦ nix develop .#ci --command pytest ¦ nix-shell --run 'pytest -q' ¦
               nix-shell -p python3 git --pure --run pytest ¦ nix shell nixpkgs#python3 -c pytest ¦ guix shell -D x -- pytest ¦
               sudo -u x pytest ¦ sudo -E -H -u x -- pytest ¦ su app -c 'pytest' ¦ su - app -c pytest ¦ su -c 'pytest' app ¦
               su - postgres -s /bin/bash -c 'cd x; pytest' ¦ su -lc pytest app ¦ runuser -u app -- pytest ¦ runuser -l app -c pytest ¦
               gosu app pytest ¦ env -i PATH=/bin pytest ¦ env -S 'A=1 pytest' ¦ dotenv -- pytest ¦ dotenv run -- pytest ¦
               dotenvx run -f .env -- pytest ¦ op run --env-file=.env -- pytest ¦ doppler run -- pytest ¦ aws-vault exec p -- pytest ¦
               xvfb-run -a --server-args '-screen 0' pytest ¦ time -p pytest ¦ /usr/bin/time -f %E pytest ¦
               flock /tmp/l pytest ¦ flock -w 60 /tmp/l pytest -c setup.cfg ¦ flock /tmp/l -c 'pytest -q' ¦
               timeout --signal=KILL 60 pytest ¦ timeout --foreground -s KILL 60 pytest ¦ conda run --no-capture-output -n x pytest ¦
               taskset -c 0,1 pytest ¦ strace -f -o /tmp/s pytest ¦ script -qc 'pytest' /dev/null ¦ systemd-run --user --scope pytest ¦
               docker exec web su app -c 'poetry run pytest' ¦ ssh h "docker exec web bash -lc 'pytest'""#,
        ),
        (
            "jest",
            r"npx jest ¦ npx -y cross-env A=1 jest ¦ npx dotenv -e .env.test -- jest ¦ npx -w web jest ¦ npm exec -w web -- jest ¦
              pnpm --filter web exec jest ¦ pnpm -C web exec jest ¦ pnpm --filter web jest ¦ yarn run -T jest ¦ yarn --cwd web jest ¦
              yarn workspace web jest ¦ yarn workspace web run jest ¦ npx env-cmd -f .env.test jest ¦ volta run --node 18 npx jest ¦
              node --experimental-vm-modules node_modules/.bin/jest",
        ),
        (
            "yarn test",
            "yarn workspace web test ¦ yarn workspace @a/web run test ¦ yarn workspaces foreach -A run test ¦
             yarn workspaces foreach -pt --include web run test ¦ corepack yarn test ¦ nvm exec 18 yarn test",
        ),
        (
            "npm test",
            "npm -w web test ¦ npm test --workspace web ¦ fnm exec --using=18 npm test ¦ npx nyc npm test ¦ nyc -r text npm test",
        ),
        (
            "mocha",
            "npx nyc mocha ¦ npx c8 --reporter=text mocha ¦ node node_modules/.bin/mocha -r ts-node/register ¦ npx c8 -r text mocha",
        ),
        (
            "phpunit",
            "php -d memory_limit=-1 vendor/bin/phpunit ¦ php -c ci.ini vendor/bin/phpunit ¦ sail phpunit ¦ ddev exec phpunit ¦ composer exec phpunit",
        ),
        ("sail test", "sail test ¦ ./vendor/bin/sail test --filter A"),
        (
            "artisan test",
            "sail artisan test ¦ docker compose exec app php artisan test",
        ),
        ("hatch test", "hatch run test"),
        ("devbox test", "devbox run test"),
        (
            "make test",
            "ssh host make test ¦ kubectl exec pod -- make -C /srv test ¦ nix develop --command make test",
        ),
    ] {
        for line in lines.split('¦').map(str::trim) {
            let found = test_run(line);
            if found.as_deref() != Some(name) || !last(line).decides {
                wrong.push(format!("{line}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn who_only_names_a_program_runs_none() {
    for line in [
        "ssh host",
        "kubectl exec -it pod -- bash",
        "kubectl exec pod",
        "docker compose -f pytest.yml up -d",
        "nix develop",
        "nix-shell -p pytest",
        "su pytest",
        "flock /tmp/pytest.lock",
        "flock /tmp/l echo -c pytest",
        "runuser -u app -- echo -c pytest",
        "nyc report",
        "c8 report",
        "mise exec pytest",
        "vagrant ssh",
        "yarn workspace web add jest",
        "yarn workspaces list",
        "pnpm --filter web add -D jest",
        "php -r 'phpunit();'",
        "corepack enable",
    ] {
        assert_eq!(test_run(line), None, "{line}");
    }
}

#[test]
fn what_a_wrapper_selects_belongs_to_the_check() {
    for (passed, failed) in [
        ("yarn workspace api test", "yarn workspace web test"),
        (
            "yarn workspaces foreach --include api run test",
            "yarn workspaces foreach --include web run test",
        ),
        ("npm -w api test", "npm -w web test"),
        ("pnpm --filter api exec jest", "pnpm --filter web exec jest"),
        ("pnpm exec jest", "pnpm --filter web exec jest"),
        ("pnpm --filter web exec jest", "pnpm exec jest"),
        ("pnpm --filter api jest", "pnpm --filter web jest"),
        ("npm exec -w api jest", "npm exec -w web jest"),
        ("uv run --package api pytest", "uv run --package web pytest"),
        ("uv --directory api run pytest", "uv --directory web run pytest"),
        ("uv --directory api run pytest", "uv run pytest"),
        ("poetry -C api run pytest", "poetry -C web run pytest"),
        ("kubectl exec api-1 -- pytest", "kubectl exec web-1 -- pytest"),
        (
            "kubectl -n prod exec web -- pytest",
            "kubectl -n dev exec web -- pytest",
        ),
        ("kubectl exec web -c b -- pytest", "kubectl exec web -c a -- pytest"),
        ("kubectl exec web -- pytest", "pytest"),
        ("pytest", "kubectl exec web -- pytest"),
        ("ssh b make test", "ssh a make test"),
        ("ssh a make test", "make test"),
        ("make test", "ssh a 'cd x && make test'"),
        ("vagrant ssh b -c pytest", "vagrant ssh a -c pytest"),
        (
            "docker compose run api pytest",
            "docker compose -f f.yml run web pytest",
        ),
        (
            "docker compose -f a.yml run web pytest",
            "docker compose -f b.yml run web pytest",
        ),
        ("podman-compose exec api pytest", "podman-compose exec web pytest"),
        ("nerdctl exec api pytest", "nerdctl exec web pytest"),
        ("docker exec -w /srv/api c pytest", "docker exec -w /srv/web c pytest"),
        ("nix develop .#old -c pytest", "nix develop .#new -c pytest"),
        ("mise x node@18 -- npm test", "mise x node@20 -- npm test"),
        ("nvm exec 18 npm test", "nvm exec 20 npm test"),
        ("pixi run -e old pytest", "pixi run -e new pytest"),
        ("npx mocha", "npx nyc --check-coverage mocha"),
        ("./run_tests", "valgrind --error-exitcode=1 ./run_tests"),
    ] {
        assert!(!last(passed).covers(&last(failed)), "{passed}: {failed}");
    }
}

#[test]
fn how_a_wrapper_is_told_does_not_keep_a_failure_open() {
    for (passed, failed) in [
        (
            "docker compose -f f.yml run --rm web pytest",
            "docker compose -f f.yml run web pytest",
        ),
        (
            "docker compose -f f.yml exec -T web pytest",
            "docker compose -f f.yml run --rm web pytest",
        ),
        (
            "docker compose run web pytest",
            "docker compose --file=docker-compose.yml run -T web pytest",
        ),
        (
            "docker compose -f f.yml run web pytest",
            "docker compose run web pytest",
        ),
        (
            "docker compose exec web pytest",
            "docker compose exec -u root web pytest",
        ),
        ("podman exec -it web pytest", "podman exec web pytest"),
        ("kubectl exec -it web -- pytest -q", "kubectl exec web -- pytest"),
        (
            "kubectl exec --namespace dev web -- pytest",
            "kubectl -n dev exec web -- pytest",
        ),
        ("ssh -t -o A=b host 'make test'", "ssh host make test"),
        ("yarn workspace web run test", "yarn workspace web test"),
        ("yarn test", "yarn workspace web test"),
        ("nix develop -c pytest", "nix develop . --command pytest"),
        ("pytest", "nix-shell shell.nix --run pytest"),
        ("timeout 90 pytest", "flock /tmp/l pytest"),
        ("su app -c pytest", "sudo -u app pytest"),
        ("npx nyc mocha", "npx mocha"),
        ("php vendor/bin/phpunit", "php -d memory_limit=-1 vendor/bin/phpunit"),
        ("npx eslint src --ext .ts --ext .tsx", "eslint --ext .ts,.tsx src"),
        ("npx eslint --ext=ts,js src", "npx eslint --ext .ts src"),
        ("npx eslint src", "npx eslint --ext .ts src"),
    ] {
        assert!(last(passed).covers(&last(failed)), "{passed}: {failed}");
    }
    for (passed, failed) in [
        ("npx eslint --ext .js src", "npx eslint --ext .ts src"),
        ("npx eslint --ext .ts src", "npx eslint src"),
        ("npx eslint --ext .ts src", "npx eslint --ext .ts,.js src"),
    ] {
        assert!(!last(passed).covers(&last(failed)), "{passed}: {failed}");
    }
}

#[test]
fn what_is_done_on_another_machine_writes_no_file_here() {
    for line in [
        "ssh host 'echo a > b.txt'",
        "ssh host \"cd x && sed -i s/a/b/ c.py\"",
        "kubectl exec pod -- sed -i s/a/b/ c.py",
        "docker exec web bash -c 'echo a > b.txt'",
        "docker compose -f f.yml exec web sed -i s/a/b/ c.py",
        "vagrant ssh -c 'echo a > b.txt'",
    ] {
        assert!(written(CommandLine::new(line).effects()).is_empty(), "{line}");
    }
    for (line, path) in [
        ("su app -c 'echo a > b.txt'", "b.txt"),
        ("nix-shell --run 'cd x && echo a > b.txt'", "x/b.txt"),
        ("nix develop -c sed -i s/a/b/ c.py", "c.py"),
        ("env -C x sed -i s/a/b/ c.py", "x/c.py"),
    ] {
        assert_eq!(written(CommandLine::new(line).effects()), [path], "{line}");
    }
}

#[test]
fn long_rows_of_wrappers_take_linear_time() {
    for piece in [
        "su ",
        "mise x ",
        "mise x -- ",
        "nix-shell ",
        "kubectl exec ",
        "kubectl exec a -- ",
        "ssh a ",
        "flock ",
        "docker -f x ",
    ] {
        CommandLine::new(&piece.repeat(100_000));
    }
}

proptest! {
    #[test]
    fn no_row_of_wrappers_is_too_odd(
        line in r#"(ssh|su|docker|compose|exec|run|kubectl|yarn|workspaces?|foreach|nix develop|nix-shell|mise x|flock|env|-c|-C|-f|-n|--run|--run=|--|-|a|é|pytest|'pytest -q'|"cd a;make test"|[ ;&]){0,24}"#,
        blanks in any::<bool>(),
    ) {
        let line = if blanks { line.replace("ssh", " ssh ").replace("--", " -- ") } else { line };
        for check in checks(&line) {
            prop_assert!(check.covers(&check), "{line}");
        }
        CommandLine::new(&line);
    }
}
