//! Permissions: what tools may do, and who decides.

pub mod asking;
pub mod narrowed;
pub(crate) mod need;
pub mod orders;
pub mod question;

mod builtin;
mod denied;
mod grant;
mod line;
mod looks;
pub(crate) mod pattern;
mod proposed;
mod uncovered;
mod word;

use denied::denies;
pub use looks::{Looks, looks};
use pattern::{CALL, WEB, denies_fetch};
pub use pattern::{allows, fits, is_of_calls, read as read_pattern, without_definition};
pub(crate) use pattern::{allows_call, allows_fetch, allows_other, is_of_hosts};
pub(crate) use proposed::{pattern_for, patterns, proposal};
use uncovered::uncovered;

use crate::permission::need::{Looking, Need, Owner};
use futures_util::future::{self, BoxFuture};
use std::fmt;

/// The extent to which tools may act without asking.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Permission {
    /// They only read, and nothing else can be permitted: the answer is a plan.
    Plan,
    /// They only read.
    Read,
    /// They also change files in the workspace, and run the commands that a pattern allows.
    #[default]
    Edit,
    /// They may do anything that the user can.
    All,
}

impl Permission {
    /// All permissions, narrowest first.
    pub const ALL: [Permission; 4] = [Permission::Plan, Permission::Read, Permission::Edit, Permission::All];

    /// Returns the name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Permission::Plan => "plan",
            Permission::Read => "read",
            Permission::Edit => "edit",
            Permission::All => "all",
        }
    }

    /// Returns what the model has to know about it, besides the reasons in refusals.
    pub fn told(self) -> Option<&'static str> {
        (self == Permission::Plan).then_some(PLANNING)
    }

    /// Returns the permission of that name.
    pub fn from_name(name: &str) -> Option<Permission> {
        Permission::ALL.into_iter().find(|permission| permission.name() == name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The model's instructions for [`Permission::Plan`].
const PLANNING: &str = "Mode: plan. Only look: no file can be changed, and no command runs that does more than look. Find out what the \
    task needs, ask where it is unclear, and answer with a plan: what is to be changed in which files, in which order, and how it will be \
    checked. The user decides on it before any of it is done.";

/// Decides whether a call may be made.
pub trait Gate: Send + Sync {
    /// Judges one call. This may take as long as the user takes to answer.
    fn judge<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Verdict>;

    /// Returns how far the tools may currently go without asking.
    fn permission(&self) -> Permission;

    /// Returns whether the user can be asked about anything that the rules do not permit.
    fn can_ask(&self) -> bool {
        false
    }

    /// Returns what commands with these needs get in addition to the sandbox from the start, as already permitted.
    fn given(&self, _: &[Need]) -> Vec<Need> {
        Vec::new()
    }
}

/// The details of a call for a gate to judge.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The call's id.
    pub call: &'a str,
    /// The task that makes the call; `None` if the session itself does.
    pub task: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// The call in one line.
    pub description: &'a str,
    /// The permissions that it needs.
    pub needs: &'a [Need],
    /// The reason to ask the user whatever the rules permit; `None` if the rules decide.
    pub wary: Option<&'a str>,
}

/// A gate's decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The call may be made.
    Yes,
    /// It may not, for this reason, which the model is told.
    No(String),
}

/// A gate that decides by rules alone, for unattended runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// The permission without asking.
    pub permission: Permission,
    /// Command lines that may be run under [`Permission::Edit`], see [`allows`]; and tools of servers that may be
    /// called, and web hosts that may be fetched from, under any permission.
    pub allow: Vec<String>,
    /// Command lines, tools of servers and web hosts that are never run, called or fetched from, whatever else permits
    /// them: patterns as for `allow`, and a line is denied if any of its commands begins with the words of one.
    pub deny: Vec<String>,
}

impl Rules {
    /// Returns the rule that denies this need outright, in a sentence; `None` if there is none.
    pub(crate) fn denial(&self, need: &Need) -> Option<String> {
        let denies = |pattern: &&String| match need {
            Need::Run { command, .. } | Need::RunWith { command, .. } => denies(pattern, command),
            Need::Call { tool, definition, .. } => allows_call(std::slice::from_ref(*pattern), tool, definition),
            Need::Fetch { host, .. } => denies_fetch(pattern, host),
            _ => false,
        };
        let pattern = self.deny.iter().find(denies)?;
        Some(format!("the user's settings deny `{pattern}`"))
    }

    /// Returns the objection to a need; `None` if it is permitted.
    pub fn objection(&self, need: &Need) -> Option<String> {
        if let Some(denial) = self.denial(need) {
            return Some(denial);
        }
        match (self.permission, need) {
            (Permission::All, _) => None,
            (Permission::Plan, Need::Change { .. } | Need::RunWith { .. } | Need::Call { .. }) => Some(planning()),
            (_, Need::Read { path, is_inside, .. }) => (!is_inside).then(|| {
                let path = path.display();
                format!("{path} is outside the workspace, and reading it needs the permission `all`")
            }),
            (Permission::Read, Need::Change { .. }) => {
                Some("this session is read-only (permission `read`): no file may be changed".to_owned())
            }
            (
                Permission::Edit,
                Need::Change {
                    path, is_inside: false, ..
                },
            ) => Some(format!(
                "{} is outside the workspace, and changing it needs the permission `all`",
                path.display()
            )),
            (
                Permission::Edit,
                Need::Change {
                    path,
                    owner: Some(owner),
                    ..
                },
            ) => Some(kept(path.display(), *owner)),
            (Permission::Edit, Need::Change { .. }) => None,
            (
                _,
                Need::Run {
                    looks: Looking::Only, ..
                },
            ) => None,
            (Permission::Plan, Need::Run { .. }) => Some(planning()),
            (Permission::Read, Need::Run { looks, .. }) => {
                let why = match looks {
                    Looking::Beyond(why) => why,
                    _ => "this does more than read",
                };
                Some(format!(
                    "{why}; this session is read-only (permission `read`), and that needs the permission `edit` and a pattern"
                ))
            }
            (Permission::Edit, Need::Run { command, folder, looks }) => {
                if self.allow.iter().any(|pattern| pattern == "*")
                    || allows(&self.allow, command, !folder.is_empty(), *looks == Looking::Inside)
                {
                    orders::changed_by(command, folder).map(|(file, owner)| kept(file, owner))
                } else if let Looking::Beyond(why) = looks {
                    Some(format!("{why}; that needs the permission `all` or a pattern"))
                } else {
                    Some(self.command_objection(command, !folder.is_empty(), *looks == Looking::Inside))
                }
            }
            (_, Need::RunWith { lack, .. }) => Some(format!(
                "running it again with {} needs the user's permission",
                lack.named()
            )),
            (
                _,
                Need::Call {
                    server,
                    tool,
                    definition,
                    ..
                },
            ) => (!allows_call(&self.allow, tool, definition)).then(|| {
                let changed = match allows_other(&self.allow, tool, definition) {
                    true => " (its description has changed since it was allowed)",
                    false => "",
                };
                format!(
                    "{tool} is a tool of the server {server}{changed}: calling it needs the permission `all`, or a pattern that \
                     allows it, such as `{CALL}{tool}` or `{CALL}{server}__*`"
                )
            }),
            (_, Need::Fetch { host, .. }) => (!allows_fetch(&self.allow, host)).then(|| {
                format!(
                    "fetching from {host} needs the permission `all`, or a pattern that allows it, such as `{WEB}{host}`"
                )
            }),
        }
    }

    fn command_objection(&self, command: &str, is_elsewhere: bool, may_look: bool) -> String {
        let of_commands: Vec<&str> = self
            .allow
            .iter()
            .map(String::as_str)
            .filter(|pattern| !is_of_calls(pattern))
            .collect();
        match of_commands.as_slice() {
            [] => "commands need the option `--allow PATTERN` or `--permission all`; the file tools work".to_owned(),
            patterns => {
                let what = match uncovered(&self.allow, command, is_elsewhere, may_look) {
                    Some(part) => format!("{part} in this command"),
                    None => "this command".to_owned(),
                };
                format!(
                    "{what} matches none of the allowed patterns ({}). Each command of a line must match one, and \
                     redirections, substitutions, background jobs, and what evaluates or sets variables (`export`, `set`, \
                     `[[`) match none",
                    patterns.join(", ")
                )
            }
        }
    }
}

fn planning() -> String {
    "this session is in plan mode: nothing is changed, and nothing runs that does more than look. Answer with a plan; the user decides on it"
        .to_owned()
}

fn kept(file: impl fmt::Display, owner: Owner) -> String {
    format!("{file} {}; changing it needs the permission `all`", owner.reason())
}

impl Gate for Rules {
    fn permission(&self) -> Permission {
        self.permission
    }

    fn judge<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Verdict> {
        let objection = asked.needs.iter().find_map(|need| self.objection(need));
        let unasked = || Some(format!("{}, and nobody can be asked", asked.wary?));
        let objection = objection.or_else(unasked);
        Box::pin(future::ready(objection.map_or(Verdict::Yes, Verdict::No)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_permission_allows_what_the_narrower_ones_do_and_more() {
        let path = std::path::PathBuf::from("/x");
        let needs = [
            Need::Read {
                path: path.clone(),
                is_inside: true,
                is_file: true,
            },
            Need::Read {
                path: path.clone(),
                is_inside: false,
                is_file: true,
            },
            Need::Change {
                path: path.clone(),
                is_inside: true,
                owner: None,
                diff: String::new(),
            },
            Need::Change {
                path: path.clone(),
                is_inside: false,
                owner: None,
                diff: String::new(),
            },
            Need::Change {
                path,
                is_inside: true,
                owner: Some(Owner::Git),
                diff: String::new(),
            },
            Need::Run {
                command: "cargo test".to_owned(),
                folder: String::new(),
                looks: Looking::Inside,
            },
            Need::Call {
                server: "files".to_owned(),
                tool: "files__stat".to_owned(),
                definition: "d1".to_owned(),
                is_changed: false,
                parameters: "{}".to_owned(),
            },
            Need::Fetch {
                host: "docs.rs".to_owned(),
                url: "https://docs.rs/".to_owned(),
                remarks: Vec::new(),
                is_long: false,
            },
        ];
        let verdicts = |permission, allow: &[&str]| -> String {
            let allow = allow.iter().map(|&p| p.to_owned()).collect();
            let rules = Rules {
                permission,
                allow,
                deny: Vec::new(),
            };
            needs
                .iter()
                .map(|need| if rules.objection(need).is_none() { '+' } else { '-' })
                .collect()
        };
        assert_eq!(verdicts(Permission::Plan, &["*", "mcp:files__*"]), "+-------");
        assert_eq!(verdicts(Permission::Read, &["*"]), "+-------");
        assert_eq!(verdicts(Permission::Read, &["mcp:files__*"]), "+-----+-");
        assert_eq!(verdicts(Permission::Edit, &[]), "+-+-----");
        assert_eq!(verdicts(Permission::Edit, &["cargo *"]), "+-+--+--");
        assert_eq!(verdicts(Permission::Edit, &["*", "mcp:other__*"]), "+-+--+--");
        assert_eq!(verdicts(Permission::Edit, &["mcp:files__stat"]), "+-+---+-");
        assert_eq!(verdicts(Permission::Edit, &["mcp:files__*#d1"]), "+-+---+-");
        assert_eq!(
            verdicts(Permission::Edit, &["mcp:files__stat#d2", "mcp:files__stat#"]),
            "+-+-----"
        );
        assert_eq!(verdicts(Permission::Read, &["web:docs.rs"]), "+------+");
        assert_eq!(verdicts(Permission::Plan, &["web:docs.rs"]), "+------+");
        assert_eq!(verdicts(Permission::All, &[]), "++++++++");
    }

    #[test]
    fn a_pattern_names_a_host_with_its_port_and_denies_it_at_every_port() {
        let objection = |permission, allow: &str, deny: &str, host: &str| {
            let list = |pattern: &str| Some(pattern.to_owned()).filter(|p| !p.is_empty()).into_iter().collect();
            let rules = Rules {
                permission,
                allow: list(allow),
                deny: list(deny),
            };
            let need = Need::Fetch {
                host: host.to_owned(),
                url: format!("https://{host}/"),
                remarks: Vec::new(),
                is_long: false,
            };
            rules.objection(&need)
        };
        for (allow, host, may) in [
            ("web:docs.rs", "docs.rs", true),
            ("web:Docs.RS", "docs.rs", true),
            ("web:*.python.org", "docs.python.org", true),
            ("web:localhost:3000", "localhost:3000", true),
            ("web:*", "anything.example", true),
            ("web:*.python.org", "python.org", false),
            ("web:*.python.org", "docs.python.org.evil.example", false),
            ("web:docs.rs", "docs.rs:8080", false),
            ("web:docs.rs", "evil-docs.rs", false),
            ("*", "docs.rs", false),
            ("docs.rs", "docs.rs", false),
            ("mcp:*", "docs.rs", false),
        ] {
            assert_eq!(
                objection(Permission::Edit, allow, "", host).is_none(),
                may,
                "{allow}: {host}"
            );
        }
        for (deny, host, may) in [
            ("web:evil.example", "evil.example", false),
            ("web:evil.example", "evil.example:8080", false),
            ("web:[::1]", "[::1]:8080", false),
            ("web:*", "docs.rs", false),
            ("web:evil.example:1", "evil.example:2", true),
            ("*", "docs.rs", true),
        ] {
            assert_eq!(
                objection(Permission::All, "", deny, host).is_none(),
                may,
                "{deny}: {host}"
            );
        }
    }

    #[test]
    fn what_is_denied_is_denied_whatever_permits_it() {
        let denied = |pattern: &str, line: &str| {
            let rules = Rules {
                permission: Permission::All,
                allow: vec!["*".to_owned()],
                deny: vec![pattern.to_owned()],
            };
            let need = Need::Run {
                command: line.to_owned(),
                folder: String::new(),
                looks: Looking::Inside,
            };
            rules.objection(&need).is_some()
        };
        for (pattern, line) in [
            ("git push *", "git push"),
            ("git push *", "cargo test && git push -f origin main"),
            ("git push *", "if true; then git push; fi"),
            ("git push *", "X=1 git push"),
            ("git push *", "echo $(git push)"),
            ("git push *", "(cd a; git push) > log"),
            ("git push *", "git -C . push origin"),
            ("git push *", "git --no-pager push"),
            ("git push *", "git -c a.b=c push"),
            ("git push *", "/usr/bin/git push"),
            ("git push *", "exec git push"),
            ("git push *", "bash -c 'git push x'"),
            ("git push *", "flock lock -c 'git push x'"),
            ("git push *", "script -qc 'git push x' /dev/null"),
            ("git push *", "env -S 'git push x'"),
            ("git push *", "su --command 'git push x' ada"),
            ("git push *", "timeout 9 /bin/sh -ec \"cd a; git push\""),
            ("git push *", "sh -c git\\ push"),
            ("git push *", "timeout 9 env A=b git push"),
            ("git push *", "git >x push o m"),
            ("git push *", "git <<< x push o m"),
            ("git push *", "git < README.md push"),
            ("git push *", "git &> x push"),
            ("git push *", "git <<E push o m\nE"),
            ("git push *", "git {f}>x push o m"),
            ("git push *", "gi't' 3>&1 >\"$(echo a b)\" -C . push"),
            ("git push *", "find . -exec sh -c 'git push x' \\;"),
            ("git push *", "tar --to-command='git push x' -xf a"),
            ("git push *", "tar cf a --checkpoint-action=exec='git push x' ."),
            ("git push *", "sed '1e git push x' a"),
            ("git push *", "awk 'BEGIN {system(\"git push x\")}'"),
            ("git push *", "git -c core.pager='git push x' log"),
            ("git push *", "git rebase -x 'git push x' main"),
            ("git push *", "rg --pre 'git push x' a"),
            ("git push *", "vim -c '!git push x' a"),
            ("git push *", "echo 'git push x' | bash"),
            ("git push *", "time (git push)"),
            ("rm *", "ls | xargs rm -rf"),
            ("cat .env", "cat .env"),
            ("git push", "git push origin main"),
            ("git push*", "git push origin main"),
            ("git*", "/usr/bin/git push origin main"),
            ("git", "git push"),
            ("git push --f*", "git -C . push --force origin"),
            ("git * --force", "git push --force"),
            ("git push", "bash -c 'git push origin main'"),
            ("git push*", "echo $(git push origin main)"),
            ("rm *.o", "rm /tmp/x.o"),
            ("rm *.o", "rm ../x.o y"),
            ("./scripts/*", "./scripts/a/b.sh"),
            ("*", "ls"),
        ] {
            assert!(denied(pattern, line), "{pattern}: {line}");
        }
        for (pattern, line) in [
            ("git push *", "git pull"),
            ("git push *", "git commit -m 'git push later'"),
            ("git push *", "bash -c 'git pull'"),
            ("git push *", "git commit -m 'git push x'"),
            (
                "git push *",
                "git commit --message='git push x' && git log --grep 'git push'",
            ),
            ("git push *", "echo 'git push x' && grep -rn 'git push' docs | head"),
            ("git push *", "git grep 'git push'"),
            ("git push *", "echo git; push"),
            ("git push *", "git log --grep push"),
            ("git push *", "git commit -m push"),
            ("rm *", "cargo rm-old"),
            ("git push", "git pushed"),
            ("git push --force", "git push origin"),
        ] {
            assert!(!denied(pattern, line), "{pattern}: {line}");
        }
    }
}
