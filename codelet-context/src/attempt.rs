//! What a command that is no check was an attempt at: whether it only asked, whether somebody will want it done, and on what.

use crate::command::git::Git;
use crate::command::{Command, Script};
use crate::effects::{awk_writes, perl_writes, sed_writes, yq_writes};
use crate::path::plain;
use crate::word_list::is_in;
use crate::wrapped::base;

/// What a command that is no check was an attempt at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attempt {
    /// It only asked: it shows something, or tries out a few lines of code. Nobody waits for it to succeed.
    pub is_probe: bool,
    /// It changes something outside of the files that are worked on: a release, a deployment, a database.
    pub acts: bool,
    /// Git joins what others have done with what is here, and may stop where both have changed the same.
    pub joins: bool,
    /// It ends such a stop, or gives up what was to be joined.
    pub concludes: bool,
    /// What it is done to, by names that mean one thing: branches, files, hosts. Each once, in order.
    operands: Vec<String>,
}

/// What shows something and changes nothing.
const LOOKS: &str = "cat nl head tail less more bat batcat grep egrep fgrep rg ag ack fd ls tree stat file wc sort \
                     uniq cut tr jq gron xmllint diff cmp comm which type whereis echo printf pwd test [[ true false sleep \
                     date env printenv uname id whoami hostname ps pgrep lsof df du free top ping dig nslookup host wget http \
                     netstat ss xxd od hexdump strings base64 md5sum sha256sum man help column paste seq get-content gc \
                     select-string get-childitem gci test-path resolve-path dir where tasklist findstr";
/// What stands between commands, or goes to another folder.
const BESIDE: &str = "cd pushd popd set export unset : for done fi case esac } [ source . set-location sl chdir exit return break \
                      continue read local declare";
/// What a program is told that only shows something, as the first or second of its words.
const LOOKING: &str = "status log show diff rev-parse rev-list describe ls-files ls-remote ls-tree blame shortlog reflog grep view \
                       list ls get info search logs inspect ps version whoami outdated why explain check-ignore merge-base \
                       show-ref cat-file name-rev config remote capture history images events dig doctor env cat find which \
                       help tail print read";
/// Programs that are given code to run, and the options that stand before it.
const INTERPRETERS: &str =
    "python pypy py node nodejs bun deno tsx ts-node ruby perl php lua rscript julia osascript irb ghci";
const GIVEN_CODE: &str = "-c -e --eval -p --print -r -pe -ne -";
/// Programs that ask a database.
const DATABASES: &str = "psql mysql mariadb sqlite3 duckdb sqlcmd clickhouse-client mongosh redis-cli";
/// What changes the world outside, by the name of a program, of a script, or of what a program is told.
const ACTS: &str = "publish push deploy deployment migrate migration migrations upgrade apply release rollout rollback provision \
                    destroy promote ship upload submit scp rsync alembic flyway liquibase ansible terraform pulumi vercel \
                    goose dbmate sendmail merge";
/// Of these, what is told by a word that is otherwise harmless.
const ACTING: &[(&str, &str)] = &[
    (
        "kubectl oc helm",
        "create delete install uninstall scale patch replace restart",
    ),
    ("gh glab", "create edit close comment"),
];
/// Names that mean something else to everybody.
const COMMON: &str = "origin/main origin/master origin/HEAD upstream/main /dev/null /tmp ../";
/// What Git keeps of files is nothing done to them.
const KEEPING: &str = "add commit rm mv";
/// What joins what others have done, or what was put aside, with what is here; and what it is told once it has stopped.
const JOINING: &str = "merge pull stash cherry-pick revert rebase am";
const ENDING_A_STOP: &str = "--continue --abort --quit --skip";

impl Attempt {
    /// Reads a line that is no call's own, such as one that a summary quotes.
    pub fn read(line: &str) -> Attempt {
        Attempt::of(&Script::read(line).commands)
    }

    /// What these commands were an attempt at.
    pub fn of(commands: &[Command]) -> Attempt {
        let mut attempt = Attempt {
            is_probe: true,
            ..Attempt::default()
        };
        attempt.take(commands);
        attempt.operands.sort_unstable();
        attempt.operands.dedup();
        attempt
    }

    fn take(&mut self, commands: &[Command]) {
        for command in commands {
            if let Some(script) = &command.script {
                self.take(&script.commands);
                continue;
            }
            let Some((program, rest)) = command.words().split_first() else {
                continue;
            };
            let name = base(program);
            if is_in(&name, BESIDE) {
                continue;
            }
            let is_look = looks(&name, program, rest, command);
            self.is_probe &= is_look;
            self.acts |= !is_look && acts(&name, rest);
            let git = Git::of(command);
            if let Some(git) = git.as_ref().filter(|git| is_in(git.verb, JOINING)) {
                let is_end = git.has(ENDING_A_STOP);
                self.concludes |= is_end;
                self.joins |= !is_end;
            }
            let keeps = git.is_some_and(|git| is_in(git.verb, KEEPING));
            if !keeps {
                self.operands.extend(rest.iter().filter_map(|word| operand(word)));
            }
        }
    }

    /// Whether the success of this one is a sign that what the other failed at is done, or no longer wanted.
    pub fn settles(&self, other: &Attempt) -> bool {
        self.is_as_much_as(other) && self.is_on_the_same(other)
    }

    /// Whether the success of this one, by the same program with the same verb, ends what the other failed at. What shows
    /// something or only tries ends nothing that does something, and a release of one thing is none of another.
    pub fn repeats(&self, other: &Attempt) -> bool {
        let is_of_another = other.acts && !self.operands.is_empty() && !other.operands.is_empty();
        self.is_as_much_as(other) && (!is_of_another || self.is_on_the_same(other))
    }

    fn is_as_much_as(&self, other: &Attempt) -> bool {
        (!self.is_probe || other.is_probe) && (self.acts || !other.acts)
    }

    fn is_on_the_same(&self, other: &Attempt) -> bool {
        let mut operands = self.operands.iter();
        operands.any(|operand| other.operands.binary_search(operand).is_ok())
    }
}

/// Whether a command only shows something.
fn looks(name: &str, program: &str, rest: &[String], command: &Command) -> bool {
    let has = |list: &str| rest.iter().any(|word| is_in(word, list));
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if is_in(name, LOOKS) {
        // What is written is no look, but a note of one.
        return true;
    }
    if has("--dry-run --dryrun --dry_run --what-if -whatif") {
        return true;
    }
    if is_in(plain, "perl ruby") && perl_writes(rest) {
        return false;
    }
    if is_in(plain, INTERPRETERS) {
        let script = rest.iter().find(|word| !word.starts_with('-'));
        let is_aside = script.is_some_and(|script| script.starts_with("/tmp/") || script.starts_with("$TMP"));
        return has(GIVEN_CODE)
            || has("eval --version -v -V --help")
            || !command.simple.documents.is_empty()
            || rest.is_empty()
            || is_aside;
    }
    match name {
        "sed" => !sed_writes(rest),
        "awk" | "gawk" => !awk_writes(rest),
        "yq" => !yq_writes(rest),
        "find" => !has("-delete") && finds(rest),
        "curl" | "invoke-webrequest" | "iwr" => {
            const SENDS: &str =
                "-d --data --data-raw --data-binary --json -F --form -T --upload-file -XPOST -XPUT -XDELETE -XPATCH";
            !has(SENDS) && !has("POST PUT DELETE PATCH")
        }
        _ if is_in(name, DATABASES) => rest.iter().any(|word| {
            let verb = word.split_whitespace().next().unwrap_or_default();
            is_in(
                &verb.to_ascii_lowercase(),
                "select show explain describe desc pragma with .tables .schema get keys",
            )
        }),
        _ => {
            let mut verbs = rest
                .iter()
                .filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
            let first = verbs.next();
            let mut verbs = first.into_iter().chain(verbs.next());
            let is_own = program.contains('/') && !program.starts_with('/');
            !is_own && verbs.any(|verb| is_in(verb, LOOKING)) || has("--version --help")
        }
    }
}

/// Whether what `find` runs only shows what was found.
fn finds(arguments: &[String]) -> bool {
    let run = arguments
        .windows(2)
        .filter(|pair| is_in(&pair[0], "-exec -execdir -ok -okdir"));
    run.into_iter().all(|pair| is_in(&base(&pair[1]), LOOKS))
}

/// Whether a command changes something outside.
fn acts(name: &str, rest: &[String]) -> bool {
    let is_act = |word: &str| {
        word.split(|c: char| !c.is_alphanumeric())
            .any(|piece| is_in(piece, ACTS))
    };
    let mut verbs = rest.iter().filter(|word| !word.starts_with('-')).take(3);
    let is_told = |names: &str, verbs: &str| is_in(name, names) && rest.iter().any(|word| is_in(word, verbs));
    is_act(name)
        || verbs.any(|verb| !verb.contains(char::is_whitespace) && is_act(verb))
        || ACTING.iter().any(|(names, verbs)| is_told(names, verbs))
}

/// What a word means one thing by: a path, a branch, a host.
fn operand(word: &str) -> Option<String> {
    if let Some((_, rest)) = word.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        return (!host.is_empty()).then(|| host.to_owned());
    }
    let is_name = |c: char| c.is_alphanumeric() || "/._-@:+~#\\".contains(c);
    let is_one_thing = word.contains(['/', '.', '@', '\\', '-']) || word.contains(|c: char| c.is_ascii_digit());
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_operand = !word.starts_with('-')
        && (3..200).contains(&word.len())
        && word.chars().all(is_name)
        && is_one_thing
        && !is_number
        && !is_in(word, COMMON);
    is_operand.then(|| plain(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_probe_shows_something_or_tries_out_a_few_lines() {
        for line in [
            "for f in $(find a -name '*.json'); do node -e \"JSON.parse(1)\" \"$f\" || echo bad $f; done",
            "npx tsx -e \"import { a } from './a.js'\"",
            "python3 - <<'PY'\nimport a\nPY",
            "python3 -c 'import a'",
            "cd x && python /tmp/probe.py",
            "npm view a version --json; npm view b version --json",
            "curl -sSL https://api.example.com/x | jq '.a + .b'",
            "git rev-parse --short HEAD origin/x",
            "gh run view 123 --log-failed",
            "kubectl get pods -n x",
            "aws s3 ls s3://bucket",
            "workmux capture a-b",
            "psql postgres://u@h:5432/d -c 'select 1'",
            "cat missing.txt",
            "timeout 5 node --version",
            "sed -es/i/x/ a.rs",
            "perl -ne 'print if /x/' a.rs",
            "find . -name x -exec grep -l y {} +",
            "yq .a x.yaml",
        ] {
            assert!(Attempt::read(line).is_probe, "{line}");
        }
        for line in [
            "./deploy.sh",
            "kubectl apply -f k8s/",
            "git checkout -b x",
            "git rev-parse x && git checkout -b x",
            "npm install",
            "python manage.py migrate",
            "curl -X POST https://h/x",
            "psql h -c 'drop table a'",
            "docker compose up -d",
            "./show logs",
            "sed -Ei s/a/b/ x.rs",
            "perl -pi -e s/a/b/ x.rs",
            "ruby -i.bak -pe 'gsub(1, 2)' x.rb",
            "gawk -i inplace '{ print }' x.txt",
            "yq -i .a=1 x.yaml",
            "find . -name x -delete",
            "find . -name x -exec rm {} +",
        ] {
            assert!(!Attempt::read(line).is_probe, "{line}");
        }
    }

    #[test]
    fn what_changes_the_world_outside_is_known_by_what_it_is_called() {
        for line in [
            "./deploy.sh",
            "bash scripts/deploy-prod.sh eu",
            "kubectl apply -f k8s/",
            "kubectl -n x delete pod a",
            "alembic upgrade head",
            "python manage.py migrate",
            "npx prisma migrate deploy",
            "bin/rails db:migrate",
            "npm publish",
            "npm run publish",
            "cargo publish -p a",
            "git push origin x",
            "docker push a/b:1",
            "helm upgrade --install a ./chart",
            "terraform -chdir=x apply",
            "twine upload dist/*",
            "gh release create v1",
            "make deploy",
            "fly deploy",
        ] {
            assert!(Attempt::read(line).acts, "{line}");
        }
        for line in [
            "npm install",
            "git commit -m 'deploy it'",
            "ls deploy",
            "cat release.md",
            "python a.py",
            "git checkout -b x",
        ] {
            assert!(!Attempt::read(line).acts, "{line}");
        }
    }

    #[test]
    fn what_is_done_to_the_same_thing_settles_what_failed() {
        let settles = |done: &str, failed: &str| Attempt::read(done).settles(&Attempt::read(failed));
        let branch = "git rev-parse --short HEAD origin/main && git checkout -b fix/publish origin/main";
        assert!(settles("git fetch && git checkout -b fix/publish", branch));
        assert!(!settles("git fetch origin main", branch));
        assert!(!settles("git log fix/publish", branch));
        assert!(settles("curl https://h.example.com/b", "curl https://h.example.com/a"));
        assert!(settles("python tools/gen.py --all", "python3 tools/gen.py"));
        assert!(!settles("git add k8s/", "kubectl apply -f k8s/"));
        assert!(!settles("python tools/check.py k8s/", "kubectl apply -f k8s/"));
        assert!(settles("kubectl apply --server-side -f k8s", "kubectl apply -f k8s/"));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(\PC|git |&& |\| |'|"|\$\(|<<E|\n|-|://){0,40}"#) {
            let attempt = Attempt::read(&line);
            prop_assert!(!attempt.is_probe || !attempt.acts);
        }
    }
}
