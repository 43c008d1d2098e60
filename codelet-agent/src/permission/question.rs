//! The facts that the user reads before a call is made. Every front end shows these facts, in this order and in its own
//! way, so that none of them omits any.

use crate::permission::asking::Question;
use crate::permission::need::{Lack, Looking, Need, Owner};
use crate::permission::orders;
use crate::permission::{Asked, Permission};
use codelet_text::short::clip;
use codelet_text::unseen::misleads;
use std::path::{Path, PathBuf};

/// The maximum length, in characters, of a remark by a hook, a skill or a command.
const WARY: usize = 400;

/// One fact for the user to read before answering. Texts are raw: front ends must escape control sequences and
/// invisible characters, and keep all but [`Fact::Exact`] and [`Fact::Change`] on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact<'a> {
    /// The task that makes the call.
    Task(&'a str),
    /// The question: a sentence with a question mark.
    Asks(String),
    /// A warning, in sentences.
    Warning(String),
    /// The exact text that would be run or sent, and its language, if any.
    Exact(&'a str, &'static str),
    /// The change, as in [`Need::Change`]; never empty.
    Change(&'a str),
}

impl Question {
    /// Returns the facts for the user to read before answering. Commands run in this directory, where the session
    /// began.
    pub fn facts<'a>(&'a self, directory: &Path) -> Vec<Fact<'a>> {
        let asked = Asked {
            call: &self.call,
            task: self.task.as_deref(),
            tool: &self.tool,
            description: &self.description,
            needs: &self.needs,
            wary: self.wary.as_deref(),
        };
        facts(asked, self.permission, directory)
    }
}

/// Returns the facts for the user to read before a call, in a session with this permission that began in `directory`.
pub fn facts<'a>(asked: Asked<'a>, permission: Permission, directory: &Path) -> Vec<Fact<'a>> {
    let mut facts: Vec<Fact<'a>> = asked.task.map(Fact::Task).into_iter().collect();
    let title = format!("Allow {}", asked.tool);
    for need in asked.needs {
        of_need(need, &title, permission, directory, &mut facts);
    }
    if asked.needs.is_empty() {
        facts.push(Fact::Asks(format!("{title}: {}?", asked.description)));
    }
    let wary = asked.wary.map(|wary| Fact::Warning(clip(wary, WARY).into_owned()));
    facts.extend(wary);
    facts
}

fn of_need<'a>(need: &'a Need, title: &str, permission: Permission, directory: &Path, facts: &mut Vec<Fact<'a>>) {
    match need {
        Need::Run { command, folder, looks } => {
            let place = stand(directory, folder);
            facts.push(Fact::Asks(format!(
                "{title} to run this command in {}?",
                place.display()
            )));
            if let Looking::Beyond(why) = looks {
                facts.push(warning(&sentence(why)));
            }
            facts.extend(sandbox(permission).map(warning));
            facts.extend(orders(command, folder));
            exactly(command, "sh", facts);
        }
        Need::RunWith { command, folder, lack } => {
            let how = match lack {
                Lack::Freedom => "outside the sandbox".to_owned(),
                lack => format!("with {}", lack.named()),
            };
            let place = match folder.is_empty() {
                true => String::new(),
                false => format!(" in {}", stand(directory, folder).display()),
            };
            facts.push(Fact::Asks(format!(
                "The sandbox may have stopped this command. Run it again{place} {how}?"
            )));
            facts.push(warning(given(lack)));
            facts.extend(orders(command, folder));
            exactly(command, "sh", facts);
        }
        Need::Change {
            path,
            is_inside,
            owner,
            diff,
        } => {
            facts.push(Fact::Asks(format!("{title} to change {}?", path.display())));
            facts.extend(outside(*is_inside));
            facts.extend(owner.map(|owner| Fact::Warning(whose(owner))));
            match diff.is_empty() {
                true => facts.push(warning("No change: the file already has this content.")),
                false => facts.push(Fact::Change(diff)),
            }
            // `lines` strips the line ends of every system.
            facts.extend(diff.lines().find_map(misleading));
        }
        Need::Read { path, is_inside, .. } => {
            facts.push(Fact::Asks(format!("{title} to read {}?", path.display())));
            facts.extend(outside(*is_inside));
        }
        Need::Call {
            server,
            parameters,
            is_changed,
            ..
        } => {
            facts.push(Fact::Asks(format!(
                "{title} on MCP server {server} with these parameters?"
            )));
            let changed = "The server has changed its description of this tool since you allowed it.";
            facts.extend(is_changed.then(|| warning(changed)));
            exactly(parameters, "json", facts);
        }
        Need::Fetch { host, url, remarks, .. } => {
            facts.push(Fact::Asks(format!("{title} to fetch this from {host}?")));
            facts.extend(remarks.iter().cloned().map(Fact::Warning));
            exactly(url, "", facts);
        }
    }
}

/// Returns a clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str())
}

fn warning<'a>(text: &str) -> Fact<'a> {
    Fact::Warning(text.to_owned())
}

/// Returns the shell's directory.
fn stand(directory: &Path, folder: &str) -> PathBuf {
    match folder {
        // A join would end in a slash.
        "" => directory.to_owned(),
        folder => directory.join(folder),
    }
}

fn exactly<'a>(text: &'a str, language: &'static str, facts: &mut Vec<Fact<'a>>) {
    facts.push(Fact::Exact(text, language));
    facts.extend(misleading(text));
}

fn misleading<'a>(text: &str) -> Option<Fact<'a>> {
    let told = "It contains invisible or misleading characters; they are shown escaped above.";
    misleads(text).then(|| warning(told))
}

fn outside<'a>(is_inside: bool) -> Option<Fact<'a>> {
    (!is_inside).then(|| warning("This is outside the workspace."))
}

/// Returns a warning about the obeyed file that a command plainly changes.
fn orders<'a>(command: &str, folder: &str) -> Option<Fact<'a>> {
    let (file, owner) = orders::changed_by(command, folder)?;
    Some(Fact::Warning(format!("It changes {file}. {}", whose(owner))))
}

/// Returns how permitted commands run, if unusual: the user has to know before permitting one in vain.
fn sandbox(permission: Permission) -> Option<&'static str> {
    match permission {
        Permission::Plan => Some("In plan mode it runs in a sandbox without network, and cannot change the workspace."),
        Permission::Read => {
            Some("Under the permission read it runs in a sandbox without network, and cannot change the workspace.")
        }
        Permission::Edit => None,
        Permission::All => Some("Under the permission all it runs without a sandbox."),
    }
}

/// Returns what a command can do with its exemption from the sandbox.
fn given(lack: &Lack) -> &'static str {
    match lack {
        Lack::Network => {
            "It starts over, and can send what it reads, such as files in your home directory, to any server. It still writes only where commands may."
        }
        Lack::Freedom => {
            "It starts over, and can do whatever you can: change all your files, use the network, and reach other programs."
        }
    }
}

fn whose(owner: Owner) -> String {
    format!("This {}.", owner.reason().replace("the user's", "your"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, folder: &str) -> Need {
        Need::Run {
            command: command.to_owned(),
            folder: folder.to_owned(),
            looks: Looking::Outside,
        }
    }

    /// Returns the facts of one need, as one text.
    fn told(need: &Need, permission: Permission) -> String {
        let asked = Asked {
            call: "call_1",
            task: None,
            tool: "Bash",
            description: "something",
            needs: std::slice::from_ref(need),
            wary: None,
        };
        let all = facts(asked, permission, Path::new("/work"));
        let lines: Vec<String> = all.iter().map(|fact| format!("{fact:?}")).collect();
        lines.join("\n")
    }

    #[test]
    fn a_command_is_asked_about_with_where_it_runs_and_in_what_sandbox() {
        for (permission, part) in [
            (Permission::Plan, "cannot change the workspace"),
            (
                Permission::Read,
                "sandbox without network, and cannot change the workspace",
            ),
            (Permission::All, "without a sandbox"),
        ] {
            let told = told(&run("make", "sub"), permission);
            assert!(told.contains(part) && told.contains("command in /work/sub?"), "{told}");
        }
        assert!(!told(&run("make", ""), Permission::Edit).contains("sandbox"));
        assert!(told(&run("make", ""), Permission::Edit).contains("command in /work?"));
        assert!(told(&run("make", "/tmp"), Permission::Edit).contains("command in /tmp?"));
    }

    #[test]
    fn the_reason_why_a_reading_command_is_asked_about_is_told() {
        let mut need = run("cat /etc/os-release", "");
        if let Need::Run { looks, .. } = &mut need {
            *looks = Looking::Beyond("it reads /etc/os-release, which is outside the workspace".to_owned());
        }
        let told = told(&need, Permission::Edit);
        assert!(
            told.contains("It reads /etc/os-release, which is outside the workspace."),
            "{told}"
        );
    }

    #[test]
    fn what_gives_orders_is_told_also_where_a_command_runs_again() {
        let again = Need::RunWith {
            command: "tee AGENTS.md".to_owned(),
            folder: "sub".to_owned(),
            lack: Lack::Network,
        };
        for need in [run("tee AGENTS.md", ""), again.clone()] {
            let told = told(&need, Permission::Edit);
            assert!(
                told.contains("It changes AGENTS.md. This gives instructions to agents."),
                "{told}"
            );
        }
        let told = told(&again, Permission::Edit);
        assert!(
            told.contains("can send what it reads") && told.contains("again in /work/sub with network access?"),
            "{told}"
        );
    }

    #[test]
    fn what_is_not_seen_is_told_of_commands_and_changes() {
        let change = |text: &str| Need::Change {
            path: "/work/a".into(),
            is_inside: true,
            owner: None,
            diff: format!("--- a\n+++ a\n@@ -1 +1 @@\n-a\n+{text}\n"),
        };
        for (text, is_told) in [
            ("a\tb", false),
            ("a\u{202e}b", true),
            ("a\u{200d}b", true),
            ("\u{1b}[2J", true),
        ] {
            for need in [run(text, ""), change(text)] {
                let told = told(&need, Permission::Edit);
                assert_eq!(told.contains("invisible or misleading"), is_told, "{told}");
            }
        }
    }

    #[test]
    fn the_task_stands_first_and_what_a_hook_says_last() {
        let needs = [run("make", "")];
        let wary = "w".repeat(9_000);
        let asked = Asked {
            call: "call_1",
            task: Some("look around"),
            tool: "Bash",
            description: "make",
            needs: &needs,
            wary: Some(&wary),
        };
        let all = facts(asked, Permission::Edit, Path::new("/work"));
        assert_eq!(all.first(), Some(&Fact::Task("look around")));
        let Some(Fact::Warning(last)) = all.last() else {
            panic!("{all:?}")
        };
        assert!(last.starts_with("www") && last.chars().count() == WARY);
    }
}
