//! The programs that run other programs, as a table. Lists are words with blanks between.

use Begins::{Behind, Given, Here, Joined};
use Names::{Container, Environment, Host, Nothing, Toolchain, Version};
use std::collections::HashMap;
use std::sync::OnceLock;

/// A program that runs another one.
pub(crate) struct Wrapper {
    /// Its name, with what it is told to do; options may stand between.
    pub name: &'static str,
    /// Its options with a value.
    pub valued: &'static str,
    /// … of which the value is the folder that the other one runs in.
    pub goes: &'static str,
    /// … of which the value is the environment that it runs in.
    pub environment: &'static str,
    /// … of which the value is the part of the project that it runs in.
    pub part: &'static str,
    /// … of which the value says where to look for what is named, if not where it is looked for anyhow: each with its other
    /// spellings.
    pub presumed: &'static [&'static str],
    /// Options by which it only tells of the other one, or does something else: that is not run.
    pub asks: &'static str,
    /// … by which it is started, and nobody waits for it.
    pub leaves: &'static str,
    /// How many words stand before the other one, at most where it stands behind a sign.
    pub before: usize,
    /// What these words name.
    pub names: Names,
    /// Where the other one stands.
    pub begins: Begins,
    /// The other one runs where the files are not those of here.
    pub is_elsewhere: bool,
    /// It looks at how the other one goes, and may find fault with it itself.
    pub is_judge: bool,
}

/// What the words before a wrapped program name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Nothing by which something else comes of it.
    Nothing,
    /// A machine that shares the project with this one, as a rule.
    Container,
    /// A machine of which nobody knows what is on it.
    Host,
    Environment,
    Toolchain,
    /// The version of Node.js.
    Version,
}

/// Where a wrapped program stands.
#[derive(Clone, Copy)]
pub(crate) enum Begins {
    /// Behind the options and so many words.
    Here,
    /// Behind one of these.
    Behind(&'static str),
    /// In a line that one of these options is given.
    Given(&'static str),
    /// Behind the options and so many words, all the rest being a line.
    Joined,
}

/// Wrappers by which scripts of a project are called as well as programs: what is called so is looked for there first.
pub(crate) const CALLERS: &str = "hatch pdm pixi pipenv rye devbox sail";

/// The wrappers whose first word is this, in the order of the table. Looked up by name, because every command of a long
/// conversation is.
pub(crate) fn wrappers(name: &str) -> &'static [&'static Wrapper] {
    static INDEX: OnceLock<HashMap<&str, Vec<&Wrapper>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for row in WRAPPERS {
            let first = row.name.split(' ').next().unwrap_or_default();
            index.entry(first).or_default().push(row);
        }
        index
    });
    index.get(name).map_or(&[], Vec::as_slice)
}

impl Wrapper {
    const fn goes(self, goes: &'static str) -> Wrapper {
        Wrapper { goes, ..self }
    }

    const fn within(self, environment: &'static str) -> Wrapper {
        Wrapper { environment, ..self }
    }

    const fn part(self, part: &'static str) -> Wrapper {
        Wrapper { part, ..self }
    }

    const fn presumes(self, presumed: &'static [&'static str]) -> Wrapper {
        Wrapper { presumed, ..self }
    }

    const fn asks(self, asks: &'static str) -> Wrapper {
        Wrapper { asks, ..self }
    }

    const fn leaves(self, leaves: &'static str) -> Wrapper {
        Wrapper { leaves, ..self }
    }

    /// So many words stand before the other one.
    const fn names(self, before: usize, names: Names) -> Wrapper {
        Wrapper { before, names, ..self }
    }

    const fn begins(self, begins: Begins) -> Wrapper {
        Wrapper { begins, ..self }
    }

    const fn judges(self) -> Wrapper {
        Wrapper { is_judge: true, ..self }
    }
}

const fn here(name: &'static str, valued: &'static str) -> Wrapper {
    Wrapper {
        name,
        valued,
        goes: "",
        environment: "",
        part: "",
        presumed: &[],
        asks: "",
        leaves: "",
        before: 0,
        names: Nothing,
        begins: Here,
        is_elsewhere: false,
        is_judge: false,
    }
}

/// In a container, which is named before the program.
const fn contained(name: &'static str, valued: &'static str) -> Wrapper {
    Wrapper {
        is_elsewhere: true,
        presumed: STACK,
        ..here(name, valued).names(1, Container).goes("-w --workdir")
    }
}

/// In a new one, named after what it is made of.
const fn fresh(name: &'static str) -> Wrapper {
    contained(name, RUN).presumes(FRESH)
}

/// On another machine.
const fn remote(name: &'static str, valued: &'static str) -> Wrapper {
    Wrapper {
        is_elsewhere: true,
        ..here(name, valued).names(1, Host)
    }
}

/// As many words as there are.
const MANY: usize = usize::MAX;
/// The options with a value of who runs programs in a container that is there …
const EXEC: &str =
    "-e -u -H --env --env-file --user --index --log-level --config --profile --ansi --parallel --detach-keys";
/// … and in a new one.
const RUN: &str = "-e -u -v -p -l -m -h -a -c -H --env --env-file --user --volume --publish --label --memory --cpus --cpuset-cpus \
                   --hostname --name --network --net --network-alias --entrypoint --mount --platform --pull --gpus --shm-size \
                   --add-host --cap-add --cap-drop --security-opt --ulimit --tmpfs --device --ipc --pid --restart --log-level \
                   --config --profile --ansi --parallel --userns --volumes-from --cidfile --group-add --dns --stop-timeout --isolation";
/// Which containers are meant, where there are several of a name.
const STACK: &[&str] = &[
    "-f --file",
    "-p --project-name",
    "--project-directory",
    "--context",
    "--host",
];
/// … where `-p` is a port.
const FRESH: &[&str] = &[
    "-f --file",
    "--project-name",
    "--project-directory",
    "--context",
    "--host",
];
const CLUSTER: &[&str] = &[
    "-n --namespace",
    "--context",
    "--cluster",
    "--kubeconfig",
    "-c --container",
];
const SSH: &str = "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w";
const CHANGE_USER: &str = "-s --shell -g --group -G --supp-group -w --whitelist-environment -u --user";
const LINE: Begins = Given("-c --command --session-command");
const NIX: &str = "--inputs-from -I --include -f --file --expr --profile --system -j --max-jobs --log-format";
const COVERAGE: &str = "-r --reporter -o --reports-dir --report-dir -n --include -x --exclude -e --extension -t --temp-dir --temp-directory -i \
                        --require -c --config --nycrc-path --src --lines --branches --functions --statements";
const PNPM: &str = "--loglevel --reporter --workspace-concurrency --package";
const PARTS: &str = "-w --workspace --filter -F";
const PYTHON: &str = "--python -p";

/// In the order in which they are tried. What is told to run a script of a project, as `npm run` is, is none of them.
const WRAPPERS: &[Wrapper] = &[
    here("sudo", "-u -g -C -h -p -U -r -t -T --user --group --host --prompt")
        .goes("-D --chdir")
        .asks("-l --list -v --validate -K --remove-timestamp -V -e --edit")
        .leaves("-b --background"),
    here("doas", "-u -C").asks("-C -L"),
    here("su", CHANGE_USER).names(1, Nothing).begins(LINE),
    here("runuser", CHANGE_USER).names(1, Nothing).begins(LINE),
    here("runuser", "-u --user -g --group -G --supp-group"),
    here("sg", "").names(1, Nothing).begins(LINE),
    here("gosu", "").names(1, Nothing),
    here("su-exec", "").names(1, Nothing),
    here("setpriv", "--reuid --regid --groups --securebits"),
    here("time", "-f -o --format --output"),
    here("env", "").begins(Given("-S --split-string")),
    here("env", "-u --unset").goes("-C --chdir"),
    here("nice", "-n --adjustment"),
    here("ionice", "-c -n --class --classdata"),
    here("chrt", "-T -P -D").names(1, Nothing),
    here("taskset", "").names(1, Nothing),
    here("numactl", "-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred"),
    here("prlimit", ""),
    here("setarch", "").names(1, Nothing),
    here("arch", "-e"),
    here("systemd-run", "-p -u -E --property --unit --slice --uid --gid --setenv --description").goes("--working-directory"),
    here("firejail", ""),
    here("faketime", "-f").names(1, Nothing),
    here("nohup", ""),
    here("rtk", ""),
    here("setsid", "").leaves("-f --fork"),
    here("command", "").asks("-v -V"),
    here("builtin", ""),
    here("exec", "-a"),
    here("eval", ""),
    here("invoke-expression", ""),
    here("call", ""),
    here("tini", "-p -e"),
    here("dumb-init", "-r --rewrite"),
    here("stdbuf", "-i -o -e --input --output --error"),
    here("unbuffer", ""),
    here("script", "-o -I -O -B -T -m -E -t").names(1, Nothing).begins(Given("-c --command")),
    here("chronic", ""),
    here("caffeinate", "-t -w"),
    here("xvfb-run", "-s -n -e -f -w -p --server-args --server-num --error-file --auth-file --wait --xauth-protocol"),
    here("dbus-run-session", "--config-file --dbus-daemon"),
    here("timeout", "-s -k --signal --kill-after").names(1, Nothing),
    here("gtimeout", "-s -k --signal --kill-after").names(1, Nothing),
    here("flock", FLOCK).names(1, Nothing).begins(Given("-c --command")),
    here("flock", FLOCK).names(1, Nothing),
    here("strace", "-e -o -p -s -P -O -S -I -u -E -a -b"),
    here("ltrace", "-e -o -p -s -u -a -n -x -l"),
    here("valgrind", "").judges(),
    here("nyc", COVERAGE).goes("--cwd").judges(),
    here("c8", COVERAGE).judges(),
    here("cross-env", ""),
    here("cross-env-shell", ""),
    here("dotenv run", "").within("-e -f --file"),
    here("dotenv", "-v -c -p").within("-e -f"),
    here("dotenv-cli", "-v -c -p").within("-e -f"),
    here("dotenvx run", "-e --env -fk").within("-f --env-file"),
    here("env-cmd", "-r -e --environments").within("-f --file"),
    here("op run", "--account").within("--env-file").begins(Behind("--")),
    here("doppler run", "-t --token --scope").within("-c --config -p --project").begins(Behind("--")),
    here("infisical run", "--token --path --projectId").within("--env").begins(Behind("--")),
    here("aws-vault exec", "-d --duration --region").names(1, Nothing).begins(Behind("--")),
    here("chamber exec", "-r -b").names(MANY, Environment).begins(Behind("--")),
    here("xcrun", "--sdk --toolchain").asks("-f -find --find"),
    here("npx", "-p --package").goes("--prefix").part(PARTS),
    here("bunx", "-p --package").goes("--cwd"),
    here("uvx", "--from --with -p --python"),
    here(
        "uv run",
        "--with --with-requirements --with-editable --extra --group --no-group --only-group -p --python --project --env-file \
         --index-url --cache-dir --config-file",
    )
    .goes("--directory")
    .part("--package"),
    here("poetry run", "-P --project").goes("-C --directory"),
    here("pipenv run", PYTHON),
    here("pdm run", "").within("-e --environment -p --project"),
    here("rye run", "").within("-e --environment"),
    here("pixi run", "--color").within("-e --environment --manifest-path"),
    here("hatch env run", "--filter -i --include -x --exclude").within("-e --env"),
    here("hatch run", "").within("-e --env"),
    here("conda run", "").within("-n --name -p --prefix").goes("--cwd"),
    here("mamba run", "").within("-n --name -p --prefix").goes("--cwd"),
    here("micromamba run", "-r -a").within("-n --name -p --prefix").goes("--cwd"),
    here("bundle exec", "--gemfile"),
    here("spring", ""),
    here("composer exec", "-d"),
    here("pnpm exec", PNPM).goes("-C --dir").part(PARTS),
    here("pnpm dlx", PNPM).goes("-C --dir"),
    here("yarn exec", "").goes("--cwd"),
    here("yarn dlx", "-p --package"),
    here("npm exec", "-p --package").goes("--prefix -C").part(PARTS),
    here("bun x", "").goes("--cwd"),
    here("corepack", "").asks("-v"),
    here("volta run", "--npm --pnpm --yarn --env --node"),
    here("fnm exec", "--using"),
    here("nvm exec", "").names(1, Version),
    here("stack exec", ""),
    here("opam exec", "--switch"),
    here("mise exec", "-j --jobs").goes("-C --cd").names(MANY, Environment).begins(Behind("--")),
    here("mise x", "-j --jobs").goes("-C --cd").names(MANY, Environment).begins(Behind("--")),
    here("asdf exec", ""),
    here("pyenv exec", ""),
    here("rbenv exec", ""),
    here("nodenv exec", ""),
    here("rustup run", "").names(1, Toolchain),
    here("direnv exec", "").names(1, Nothing),
    here("devbox run", "-e --env --env-file").goes("-c --config"),
    here("devenv shell", ""),
    here("nix develop", NIX).names(MANY, Environment).begins(Behind("-c --command")),
    here("nix shell", NIX).names(MANY, Environment).begins(Behind("-c --command")),
    here("nix-shell", "-A --attr -I -E --expr --arg --argstr -i").names(MANY, Environment).begins(Given("--run --command")),
    here("guix shell", "-m -f -L --manifest --file").names(MANY, Environment).begins(Behind("--")),
    contained("docker exec", EXEC),
    fresh("docker run"),
    contained("docker container exec", EXEC),
    fresh("docker container run"),
    contained("docker compose exec", EXEC),
    fresh("docker compose run"),
    contained("docker-compose exec", EXEC),
    fresh("docker-compose run"),
    contained("podman exec", EXEC),
    fresh("podman run"),
    contained("podman container exec", EXEC),
    fresh("podman container run"),
    contained("podman compose exec", EXEC),
    fresh("podman compose run"),
    contained("podman-compose exec", EXEC),
    fresh("podman-compose run"),
    contained("nerdctl exec", EXEC),
    fresh("nerdctl run"),
    contained("nerdctl compose exec", EXEC),
    fresh("nerdctl compose run"),
    contained("apptainer exec", "-B --bind --env --overlay -H --home").goes("--pwd"),
    contained("singularity exec", "-B --bind --env --overlay -H --home").goes("--pwd"),
    contained("lxc exec", "--env --user --group").goes("--cwd").begins(Behind("--")),
    contained("incus exec", "--env --user --group").goes("--cwd").begins(Behind("--")),
    contained("distrobox enter", "-n --name").begins(Behind("-- -e")),
    contained("ddev exec", "").goes("-d --dir").within("-s --service").names(0, Container),
    contained("chroot", "--userspec --groups"),
    contained("sail", "").names(0, Container),
    remote("kubectl exec", "-f --filename --pod-running-timeout --user --token --request-timeout")
        .presumes(CLUSTER)
        .begins(Behind("--")),
    remote("oc exec", "-f --filename --pod-running-timeout --user --token --request-timeout")
        .presumes(CLUSTER)
        .begins(Behind("--")),
    remote("oc rsh", "--shell --timeout").presumes(CLUSTER),
    remote("ssh", SSH).asks("-G -V").leaves("-f").begins(Joined),
    remote("tsh ssh", "-l --login -p --port --proxy --cluster").begins(Joined),
    here("sshpass", "-p -f -d -P"),
    remote("vagrant ssh", "-p").begins(LINE),
    remote("gcloud compute ssh", "--ssh-flag --ssh-key-file").presumes(&["--zone", "--project"]).begins(LINE),
    remote("multipass exec", "").goes("-d --working-directory").begins(Behind("--")),
    remote("heroku run", "-s --size -e --env --type").presumes(&["-a --app", "-r --remote"]).names(0, Host),
    remote("wsl", "-u --user").goes("--cd").presumes(&["-d --distribution"]).names(0, Host),
];
const FLOCK: &str = "-w --wait --timeout -E --conflict-exit-code";
