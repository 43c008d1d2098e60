//! What tools may do, and who says so.

mod builtin;
mod denied;
mod line;
mod looks;
mod proposed;

use denied::denies;
pub use looks::{Looks, looks};
pub(crate) use proposed::{pattern_for, patterns, proposal};

use crate::orders;
use crate::tool::{Looking, Need, Owner};
use futures_util::future::{self, BoxFuture};
use line::{Word, split};
use std::fmt;

/// How far the tools may go without being asked about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Permission {
    /// They look, and change nothing.
    Read,
    /// They also change files in the workspace, and run the commands that a pattern allows.
    #[default]
    Edit,
    /// They do whatever the user could.
    All,
}

impl Permission {
    /// All of them, from the narrowest on.
    pub const ALL: [Permission; 3] = [Permission::Read, Permission::Edit, Permission::All];

    /// The name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Permission::Read => "read",
            Permission::Edit => "edit",
            Permission::All => "all",
        }
    }

    /// The permission of that name.
    pub fn from_name(name: &str) -> Option<Permission> {
        Permission::ALL.into_iter().find(|permission| permission.name() == name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Says whether a call may be made.
pub trait Gate: Send + Sync {
    /// Judges one call. It may take as long as a person takes to answer.
    fn judge<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Verdict>;

    /// Whether a person can be asked about what the rules do not permit.
    fn can_ask(&self) -> bool {
        false
    }

    /// What commands may be given besides the sandbox, from the start, as somebody has permitted it for these needs.
    fn given(&self, _: &[Need]) -> Vec<Need> {
        Vec::new()
    }
}

/// What is asked of a gate.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The call in one line.
    pub description: &'a str,
    /// What it needs.
    pub needs: &'a [Need],
}

/// What a gate says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It may.
    Yes,
    /// It may not, for this reason, which the model is told.
    No(String),
}

/// A gate that decides by rules alone, for runs that nobody watches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// How far the tools may go.
    pub permission: Permission,
    /// Command lines that may be run under [`Permission::Edit`], see [`allows`]; and tools of servers that may be called
    /// under any permission.
    pub allow: Vec<String>,
    /// Command lines and tools of servers that are never run or called, whatever permits them: patterns as for `allow`, of which one of a
    /// line's commands fits one.
    pub deny: Vec<String>,
}

impl Rules {
    /// The rule that denies this for good, in a sentence; nothing if none does.
    pub fn denial(&self, need: &Need) -> Option<String> {
        let denies = |pattern: &&String| match need {
            Need::Run { command, .. } | Need::RunWith { command, .. } => denies(pattern, command),
            Need::Call { tool, .. } => allows_call(std::slice::from_ref(*pattern), tool),
            _ => false,
        };
        let pattern = self.deny.iter().find(denies)?;
        Some(format!("the user's settings deny `{pattern}`"))
    }

    /// What speaks against one need; nothing if it may.
    pub fn objection(&self, need: &Need) -> Option<String> {
        if let Some(denial) = self.denial(need) {
            return Some(denial);
        }
        match (self.permission, need) {
            (Permission::All, _) => None,
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
            (Permission::Read, Need::Run { .. }) => {
                Some("this session is read-only (permission `read`): no command may be run".to_owned())
            }
            (Permission::Edit, Need::Run { command, folder, looks }) => {
                if self.allow.iter().any(|pattern| pattern == "*")
                    || allows(&self.allow, command, !folder.is_empty(), *looks == Looking::Inside)
                {
                    orders::changed_by(command, folder).map(|(file, owner)| kept(file, owner))
                } else if *looks == Looking::Outside && self::looks(command).is_some_and(|looks| looks.is_all) {
                    Some(
                        "it reads files outside the workspace, which needs the permission `all` or a pattern"
                            .to_owned(),
                    )
                } else {
                    Some(self.command_objection())
                }
            }
            (_, Need::RunWith { lack, .. }) => Some(format!(
                "running it again with {} needs somebody who permits it",
                lack.named()
            )),
            (_, Need::Call { server, tool, .. }) => (!allows_call(&self.allow, tool)).then(|| {
                format!(
                    "{tool} is a tool of the server {server}: calling it needs the permission `all`, or a pattern that \
                     allows it, such as `{CALL}{tool}` or `{CALL}{server}__*`"
                )
            }),
        }
    }

    fn command_objection(&self) -> String {
        let of_commands: Vec<&str> = self
            .allow
            .iter()
            .map(String::as_str)
            .filter(|pattern| !is_of_calls(pattern))
            .collect();
        match of_commands.as_slice() {
            [] => {
                "commands need the permission `all`, or a pattern that allows them; none is given. Use the other tools"
                    .to_owned()
            }
            patterns => format!(
                "this command matches none of the allowed patterns ({}). Each command of a line must match one, and \
                 redirections, substitutions, background jobs, and what evaluates or sets variables (`export`, `set`, \
                 `[[`) match none",
                patterns.join(", ")
            ),
        }
    }
}

fn kept(file: impl fmt::Display, owner: Owner) -> String {
    format!("{file} {}; changing it needs the permission `all`", owner.reason())
}

impl Gate for Rules {
    fn judge<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Verdict> {
        let objection = asked.needs.iter().find_map(|need| self.objection(need));
        Box::pin(future::ready(objection.map_or(Verdict::Yes, Verdict::No)))
    }
}

/// Whether every command of a line matches one of the patterns, or, if `may_look`, only looks and may do so beside others. A pattern that names a place from where the
/// session began fits nothing where the shell stands elsewhere (`is_elsewhere`), nor behind a `cd`. A pattern is compared word by word, where `*` stands for any
/// text within a word and a last word `*` for any further words, none included: `cargo *` matches `cargo` and
/// `cargo test -p x`, not `cargo-x`. No `*` leads out of a folder that the pattern names, nor up from where the command runs:
/// in the first word it stands for text without `/`, and nowhere behind a folder for `..`, nor for a wildcard that could become
/// that: `rm build/*` allows neither `rm build/../x` nor `rm build/.?/x`.
///
/// A line is judged as a shell would split it: at `&&`, `||`, `;`, `|` and line ends. What could hide a command or write
/// elsewhere matches nothing: substitutions, redirections other than to `/dev/null` or between the outputs, groups, background jobs, assignments
/// before a command, commands of the shell itself that evaluate their words or set variables (`export`, `let`, `[[`, `printf -v`),
/// programs named by a wildcard, quotes that do not close, and control characters. A `set` that only says how the shell runs the
/// other commands (`set -euo pipefail`) needs no pattern. Words are separated
/// by spaces and tabs alone, as in a shell: any other blank belongs into quotes.
pub fn allows(patterns: &[String], line: &str, is_elsewhere: bool, may_look: bool) -> bool {
    fits_all(patterns, line, is_elsewhere, |words| {
        may_look && looks::only_looks(words, false)
    })
}

/// The same, where these commands need no pattern.
fn fits_all(patterns: &[String], line: &str, is_elsewhere: bool, is_free: impl Fn(&[Word]) -> bool) -> bool {
    let Some(commands) = split(line) else { return false };
    let of_commands: Vec<&String> = patterns.iter().filter(|pattern| !is_of_calls(pattern)).collect();
    let mut is_elsewhere = is_elsewhere;
    !commands.is_empty()
        && commands.iter().all(|words| {
            let may = looks::below(words).is_some()
                || is_free(words)
                || of_commands.iter().any(|pattern| matches(pattern, words, is_elsewhere));
            is_elsewhere |= looks::moves(words);
            may
        })
}

/// How patterns begin that allow calls of servers' tools.
const CALL: &str = "mcp:";

/// Whether one of the patterns allows to call this tool of a server: `mcp:`, then the tool's name towards the model, in
/// which `*` stands for any text. `mcp:files__*` allows all tools of the server `files`.
pub(crate) fn allows_call(patterns: &[String], tool: &str) -> bool {
    let mut of_calls = patterns.iter().filter_map(|pattern| pattern.strip_prefix(CALL));
    of_calls.any(|pattern| fits(pattern, tool))
}

/// Whether a pattern is about servers' tools, and not about commands.
pub fn is_of_calls(pattern: &str) -> bool {
    pattern.starts_with(CALL)
}

fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|other| other == name)
}

fn matches(pattern: &str, words: &[Word], is_elsewhere: bool) -> bool {
    // At the same characters as a command line, or the two would not speak of the same words.
    let parts: Vec<&str> = pattern
        .trim_matches(|c: char| c.is_ascii_whitespace())
        .split(line::is_blank)
        .filter(|part| !part.is_empty())
        .collect();
    let (parts, is_open) = match parts.split_last() {
        Some((&"*", rest)) if !rest.is_empty() => (rest, true),
        _ => (&parts[..], false),
    };
    let is_of_beginning = |part: &&str| part.contains('/') && !part.starts_with(['/', '~']);
    let means_another = is_elsewhere && parts.iter().any(is_of_beginning);
    !parts.is_empty()
        && !means_another
        && words.len() >= parts.len()
        && (is_open || words.len() == parts.len())
        && parts.iter().zip(words).enumerate().all(|(place, (part, word))| {
            let fits = match place {
                0 => fits_program(part, &word.text),
                _ => fits(part, &word.text) && stays_below(part, word),
            };
            // A folder may really be called `~`; a pattern means the one that a shell puts in its place.
            fits && (word.is_home || !part.starts_with('~'))
        })
}

/// Whether a program fits a pattern, folder by folder: `./scripts/*` is what lies in that folder, not what can be reached from it.
fn fits_program(pattern: &str, program: &str) -> bool {
    let (mut wanted, mut folders) = (pattern.split('/'), program.split('/'));
    loop {
        match (wanted.next(), folders.next()) {
            (None, None) => return true,
            (Some(wanted), Some(name)) => {
                let is_elsewhere = matches!(name, "" | "." | "..");
                if !(wanted == name || !is_elsewhere && fits(wanted, name)) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// Whether an argument leaves no folder that the pattern names: `src/*` is not `src/../secret`, nor anything that a shell may turn
/// into that.
fn stays_below(pattern: &str, argument: &Word) -> bool {
    /// Where a shell puts a home into a word that looks like an assignment.
    const HOMES: [&str; 2] = ["=~", ":~"];
    // Whatever a program may take a word apart at.
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let times_up = |text: &str| text.split(|c| !is_in_name(c)).filter(|&name| name == "..").count();
    let homes = |text: &str| HOMES.iter().map(|home| text.matches(home).count()).sum::<usize>();
    let text = argument.text.as_str();
    // A wildcard at the beginning is no whole path either.
    let is_elsewhere = text.starts_with('/') || argument.is_home;
    !(pattern.contains(['/', '*']))
        || times_up(text) <= times_up(pattern)
            && !(is_elsewhere && pattern.starts_with('*'))
            && homes(text) <= homes(pattern)
            && !(text.contains('/') && argument.is_wild && text.split('/').any(may_be_dots))
}

/// Whether a component with wildcards could stand for `.` or `..`. Shells differ in that, by kind, version and options, so that none of
/// them is asked: a component is safe with a sign outside of brackets that is neither a dot nor a wildcard, and so is a lone `*`, which
/// no shell takes for a name that begins with a dot unless it is told to, and for these two not even then.
fn may_be_dots(component: &str) -> bool {
    let is_wild = component.contains(['*', '?', '[']);
    let is_star = component.chars().all(|c| c == '*');
    let before = component.split('[').next().unwrap_or_default();
    let behind = component.rsplit_once(']').map_or("", |(_, behind)| behind);
    let mut outside = before.chars().chain(behind.chars());
    is_wild && !is_star && outside.all(|c| matches!(c, '.' | '*' | '?' | '['))
}

/// Whether a word fits a pattern in which `*` stands for any text. Linear but for the number of stars.
pub fn fits(pattern: &str, word: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| word.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn may(patterns: &[&str], line: &str) -> bool {
        fits_all(
            &patterns.iter().map(|&p| p.to_owned()).collect::<Vec<_>>(),
            line,
            false,
            |_| false,
        )
    }

    #[test]
    fn a_pattern_of_a_folder_allows_nothing_outside_of_it() {
        for (pattern, line) in [
            ("./scripts/*", "./scripts/ok.sh"),
            ("./scripts/* *", "./scripts/ok.sh -c ../x"),
            ("target/*/app", "target/debug/app"),
            ("/usr/bin/*", "/usr/bin/ls"),
            ("../tools/*", "../tools/gen"),
            ("cat src/*", "cat src/a/b.rs"),
            ("cat ../src/*", "cat ../src/a.rs"),
            ("diff a *", "diff a ../b"),
            ("cat src/*", "cat src/*"),
            ("cat src/*", "cat src/*/mod.rs"),
            ("cat src/*", "cat src/**/a?.rs"),
            ("cat src/*", "cat src/[ab]c/x*"),
            ("cat src/* src/*", "cat src/*.rs src/a"),
            ("rm *", "rm .?"),
            ("rm *.o", "rm src/x.o"),
            ("rm *.o", "rm src/*.o"),
            ("rm *", "rm ../x.o"),
            ("tool --in=*", "tool --in=/a"),
            ("rm build/*", "rm build/'.?'/a"),
            ("git log o/*", "git log o/main..HEAD"),
        ] {
            assert!(may(&[pattern], line), "{pattern}: {line}");
        }
        for (pattern, line) in [
            ("./scripts/*", "./scripts/../evil.sh"),
            ("./scripts/*", "./scripts/a/../../evil.sh"),
            ("./scripts/*", "./scripts/sub/evil.sh"),
            ("./scripts/*", "./scripts/.."),
            ("./scripts/* *", "./scripts/../../../../../bin/sh -c evil"),
            ("./*/run", "./../run"),
            ("target/debug/*", "target/debug/../../evil"),
            ("/usr/bin/*", "/usr/bin/../../tmp/evil"),
            ("/usr/bin/*", "/usr/bin//tmp"),
            ("my-*", "my-/../evil"),
            ("*/ok.sh", "evil/ok.sh/../ok.sh"),
            ("cat src/*", "cat src/../../secret"),
            ("rm *.o", "rm ../x.o"),
            ("rm *.o", "rm src/../../x.o"),
            ("rm *.o", "rm .?/x.o"),
            ("rm *.o", "rm /tmp/x.o"),
            ("rm *.o", "rm ~/x.o"),
            ("tool --in=src/*", "tool --in=src/../secret"),
            ("tool --in=src/*", "tool --in=src/a:../secret"),
            ("tool --in=src/*", "tool --in=src/a,../secret"),
            ("tool in=src/*", "tool in=src/a:~/secret"),
            ("tool a/*", "tool a/b=~/secret"),
            ("./x build/*", "./x 'build/a\\..\\..\\b'"),
        ] {
            assert!(!may(&[pattern], line), "{pattern}: {line}");
        }
    }

    /// What bash, dash, zsh, ksh or an old one of them makes `..` of, or may make it of.
    #[test]
    fn no_expansion_of_a_shell_leads_out_of_a_folder() {
        for word in [
            "build/../x",
            "build/\\.\\./x",
            "build/.\\./x",
            "build/'..'/x",
            "build/\".\".\"/x\"",
            "build/.''./x",
            "build/.\\\n./x",
            "build/..",
            "build//../x",
            "build/./../x",
            "build/a/../../x",
            "build/.?/x",
            "build/?./x",
            "build/??/x",
            "build/?/x",
            "build/.?",
            "build/.*",
            "build/.*/x",
            "build/*./x",
            "build/*.*/x",
            "build/..*/x",
            "build/.*.*/x",
            "build/?*/x",
            "build/a/.?/.?/x",
            "build/[.][.]/x",
            "build/.[.]/x",
            "build/[.]./x",
            "build/[!a][!a]/x",
            "build/[^a]./x",
            "build/[+-/]./x",
            "build/[[:punct:]][[:punct:]]/x",
            "build/[[.period.]][[=.=]]/x",
            "build/.['.']/x",
            "build/.[\\.]/x",
            "build/'.'?/x",
            "build/\\.?/x",
            "build/{..,x}/y",
            "build/{.,x}./y",
            "build/.{.,x}/y",
            "build/{a,../x}",
            "build/@(..)/x",
            "build/?(.)./x",
            "build/+(.)/x",
            "build/!(a)/x",
            "build/$'..'/x",
            "build/$'\\x2e.'/x",
            "build/$\"..\"/x",
            "build/$x/y",
            "build/${x:-..}/y",
            "build/$(echo ..)/x",
            "build/`echo ..`/x",
            "build/(..)/x",
            "build/.<->/x",
            "~/build/x",
            "./build/x",
            "b*/x",
            "*/x",
        ] {
            let line = format!("rm {word}");
            assert!(!may(&["rm build/*"], &line), "{line}");
            let line = format!("rm build/ok {word}");
            assert!(!may(&["rm build/* build/*"], &line), "{line}");
        }
    }

    #[test]
    fn a_pattern_allows_the_command_and_its_arguments_and_nothing_else() {
        for line in [
            "cargo",
            "cargo test",
            "cargo test -p 'a b' && cargo fmt",
            "cargo test 2>&1 | tail -n 5",
            "cargo test >/dev/null 2>&1",
            "cargo build;\ncargo test",
            "cargo build;",
            "\"cargo\" test \\\n --all",
        ] {
            assert!(may(&["cargo *", "tail *"], line), "{line}");
        }
        for line in [
            "",
            "rm -rf /",
            "cargo-x",
            "cargo test; rm -rf /",
            "cargo test\nrm x",
            "cargo test | sh",
            "cargo test && rm x",
            "cargo test || rm x",
            "cargo test & rm x",
            "cargo $(rm x)",
            "cargo `rm x`",
            "cargo \"$(rm x)\"",
            "cargo <(rm x)",
            "cargo test > src/main.rs",
            "cargo test >> x",
            "cargo test >&out",
            "(cargo test)",
            "{ cargo test; }",
            "!cargo test",
            "RUSTC=rm cargo test",
            "PATH=. cargo test",
            "cargo 'test",
            "cargo \\",
            "cargo test # and\n rm x",
            "; cargo test",
            "cargo test ;; cargo",
        ] {
            assert!(!may(&["cargo *", "tail *"], line), "{line}");
        }
    }

    #[test]
    fn a_star_in_a_word_stays_in_the_word() {
        assert!(may(&["git log --*"], "git log --oneline"));
        assert!(!may(&["git log --*"], "git log --oneline x"));
        assert!(may(&["npm run test:*"], "npm run test:unit"));
        assert!(may(&["./x*y*z"], "./x-y-y-z"));
        assert!(!may(&["./x*y*z"], "./xz"));
        assert!(!may(&["ab*ba"], "aba"));
        assert!(!may(&["*"], "anything goes"));
    }

    #[test]
    fn a_pattern_of_calls_allows_no_command() {
        assert!(!may(&["mcp:*"], "mcp:x"));
        let patterns = ["mcp:files__read_*".to_owned()];
        assert!(allows_call(&patterns, "files__read_text"));
        assert!(!allows_call(&patterns, "files__write") && !allows_call(&patterns, "other__files__read_x"));
    }

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
                parameters: "{}".to_owned(),
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
        assert_eq!(verdicts(Permission::Read, &["*"]), "+------");
        assert_eq!(verdicts(Permission::Read, &["mcp:files__*"]), "+-----+");
        assert_eq!(verdicts(Permission::Edit, &[]), "+-+----");
        assert_eq!(verdicts(Permission::Edit, &["cargo *"]), "+-+--+-");
        assert_eq!(verdicts(Permission::Edit, &["*", "mcp:other__*"]), "+-+--+-");
        assert_eq!(verdicts(Permission::Edit, &["mcp:files__stat"]), "+-+---+");
        assert_eq!(verdicts(Permission::All, &[]), "+++++++");
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
            ("git push *", "timeout 9 env A=b git push"),
            ("git push *", "git >x push o m"),
            ("git push *", "git <<< x push o m"),
            ("git push *", "git < README.md push"),
            ("git push *", "git &> x push"),
            ("git push *", "git <<E push o m\nE"),
            ("git push *", "git {f}>x push o m"),
            ("git push *", "gi't' 3>&1 >\"$(echo a b)\" -C . push"),
            ("rm *", "ls | xargs rm -rf"),
            ("cat .env", "cat .env"),
            ("*", "ls"),
        ] {
            assert!(denied(pattern, line), "{pattern}: {line}");
        }
        for (pattern, line) in [
            ("git push *", "git pull"),
            ("git push *", "echo git; push"),
            ("git push *", "git log --grep push"),
            ("git push *", "git commit -m push"),
            ("rm *", "cargo rm-old"),
        ] {
            assert!(!denied(pattern, line), "{pattern}: {line}");
        }
    }

    #[test]
    fn a_pattern_that_names_a_place_holds_from_where_the_session_began() {
        let patterns = ["./ok.sh *", "cargo *", "rm build/*", "/usr/bin/x"].map(str::to_owned);
        for line in [
            "./ok.sh",
            "rm build/x",
            "cd sub && cargo test",
            "cargo test && cd sub",
            "cd sub; /usr/bin/x",
        ] {
            assert!(allows(&patterns, line, false, true), "{line}");
        }
        for line in [
            "cd sub && ./ok.sh",
            "cd sub; rm build/x",
            "cd ..; cargo test",
            "pushd sub; cargo test",
        ] {
            assert!(!allows(&patterns, line, false, true), "{line}");
        }
        assert!(allows(&patterns, "cargo test", true, true) && !allows(&patterns, "./ok.sh", true, true));
    }

    #[test]
    fn a_line_has_a_pattern_where_one_would_be_understood() {
        for (line, patterns) in [
            ("cargo test -p x", &["cargo test *"][..]),
            ("mkdir -p src", &["mkdir *"]),
            ("cargo fmt && cargo test | tail -n 5", &["cargo fmt *", "cargo test *"]),
            ("/usr/bin/git status -s", &["/usr/bin/git status *"]),
            ("git commit -qm x", &["git commit *"]),
            ("python3 -m pytest -q a.py", &["python3 -m pytest *"]),
            ("/usr/bin/python3.12 -m mypy .", &["/usr/bin/python3.12 -m mypy *"]),
        ] {
            assert_eq!(pattern_for(line).unwrap(), patterns, "{line}");
        }
        for line in [
            // An option may start a program, or write.
            "sort -o y x",
            "gcc -c a.c",
            "zip -r a.zip x",
            "git log --output=x",
            "git diff --stat",
            "git push",
            "go build ./...",
            "make test",
            "./check.sh",
            "./gradlew build",
            "./git status",
            "sub/cargo test",
            "cargo install x",
            "cargo test; sort -o y x",
            "rm -rf target",
            "bash -c 'ls'",
            "/usr/bin/python3 x.py",
            "python3.13t x.py",
            "python3 -m pip install x",
            "python3 -m timeit x",
            "python3 -c x -m pytest",
            "lua5.4 x.lua",
            "Rscript x.R",
            "/usr/bin/git -C / status",
            "/usr/bin/git",
            "git submodule foreach ls",
            "docker compose run x",
            ". x",
            "npm exec thing",
            "git -C / status",
            "git",
            "echo x > y",
            "a=b ls",
            "ls; rm x",
            "",
        ] {
            assert_eq!(pattern_for(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_permits_the_line_that_it_was_made_for(line in "[a-z \"'\\\\;|&<>$`(){}=#\n!*?~./-]{0,40}") {
            if let Some(patterns) = pattern_for(&line) {
                prop_assert!(allows(&patterns, &line, false, true));
            }
        }

        /// Whatever stands behind an allowed command, a forbidden word is never the first of a command that runs.
        #[test]
        fn no_line_hides_a_second_command(line in "[a-z \"'\\\\;|&<>$`(){}=#\n!*?~-]{0,40}") {
            let judged = may(&["cargo *"], &format!("cargo {line}"));
            if judged {
                let commands = split(&format!("cargo {line}")).unwrap();
                prop_assert!(commands.iter().all(|words| words[0].text == "cargo"));
            }
        }

        #[test]
        fn any_line_is_judged_without_a_panic(line in ".{0,60}", pattern in ".{0,20}") {
            let _ = allows(&[pattern], &line, false, true);
        }
    }
}
