//! The effect of a definition's `allowed-tools`: until the next prompt, calls of other tools that do more than read are
//! asked about, whatever the rules permit. It grants nothing.

use crate::permission::allows;
use crate::permission::need::{Looking, Need};

/// The tools that a definition lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Narrowed {
    /// The source of the list, as shown to the user: `/review`, `the skill pdf`.
    pub by: String,
    /// The tool names, with patterns for commands: `Read`, `Bash(git log *)`.
    pub tools: Vec<String>,
}

impl Narrowed {
    /// Returns why the user is asked about a call, if it is not listed and does more than read.
    pub(crate) fn objection(&self, tool: &str, needs: &[Need]) -> Option<String> {
        let only_looks = needs.iter().all(Need::only_looks);
        let is_listed = self.tools.iter().any(|entry| fits(entry, tool, needs));
        (!only_looks && !is_listed).then(|| {
            let by = &self.by;
            format!("{by} lists the tools it needs (`allowed-tools`), and this call is none of them")
        })
    }
}

/// Returns whether a name in a tool list means this tool, ignoring the prefix that other agents use for tools of
/// servers.
pub(crate) fn names(name: &str, tool: &str) -> bool {
    match (name, name.strip_prefix("mcp__")) {
        ("*", _) => true,
        (_, Some("*")) => tool.contains("__"),
        (_, bare) => bare.unwrap_or(name).eq_ignore_ascii_case(tool),
    }
}

fn fits(entry: &str, tool: &str, needs: &[Need]) -> bool {
    let (name, pattern) = match entry.split_once('(') {
        Some((name, pattern)) => (name, Some(pattern.trim_end_matches(')'))),
        None => (entry, None),
    };
    let is_named = names(name, tool);
    let fits_pattern = |pattern: &str| {
        // `git log:*` is an older form of `git log *`, and also covers the command alone.
        let patterns = match pattern.strip_suffix(":*") {
            Some(command) => vec![command.to_owned(), format!("{command} *")],
            None => vec![pattern.to_owned()],
        };
        needs.iter().all(|need| match need {
            Need::Run { command, folder, looks } => {
                allows(&patterns, command, !folder.is_empty(), *looks == Looking::Inside)
            }
            _ => true,
        })
    };
    is_named && pattern.is_none_or(|pattern| pattern == "*" || fits_pattern(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(tools: &[&str]) -> Narrowed {
        Narrowed {
            by: "/review".to_owned(),
            tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        }
    }

    fn run(command: &str) -> Vec<Need> {
        vec![Need::Run {
            command: command.to_owned(),
            folder: String::new(),
            looks: Looking::Outside,
        }]
    }

    fn change() -> Vec<Need> {
        vec![Need::Change {
            path: "/repo/a".into(),
            is_inside: true,
            owner: None,
            diff: String::new(),
        }]
    }

    #[test]
    fn what_is_not_listed_and_does_more_than_look_is_objected_to() {
        let git = listed(&["Read", "Bash(git add:*)", "Bash(git commit *)", "mcp__files__write"]);
        for (tool, needs, is_fine) in [
            ("Bash", run("git add a.rs"), true),
            ("Bash", run("git add"), true),
            ("Bash", run("git add a && git commit -m x"), false),
            ("Bash", run("git commit -m x"), true),
            ("Bash", run("git push"), false),
            ("Bash", run("git add $(rm -rf /)"), false),
            ("Edit", change(), false),
            ("files__write", change(), true),
            ("TodoWrite", Vec::new(), true),
        ] {
            assert_eq!(git.objection(tool, &needs).is_none(), is_fine, "{tool} {needs:?}");
        }
        let servers = listed(&["mcp__*"]);
        assert!(servers.objection("Edit", &change()).is_some());
        assert_eq!(servers.objection("files__write", &change()), None);
        assert_eq!(listed(&["Bash"]).objection("Bash", &run("rm a")), None);
        assert_eq!(listed(&["*"]).objection("Edit", &change()), None);
    }
}
