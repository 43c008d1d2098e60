//! The kinds of tool calls that matter to a record: can the output be obtained again?

use crate::message::{ActionKind, ToolCall};
use codelet_text::path::Path;

/// The purpose of a tool call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum CallKind {
    /// Shows a file.
    Read,
    /// Changes a file.
    Edit,
    /// Changes a file of prose.
    Document,
    /// Searches for files or text.
    Find,
    /// Queries or updates a version control system or its host.
    Git,
    /// Runs a build, a check or a test.
    Check,
    /// Runs another command.
    Shell,
    /// Delegates work to another agent.
    Agent,
    /// Fetches pages or queries a service.
    Web,
    /// Asks the user.
    Ask,
    /// Updates the to-do list, or records a note.
    Todo,
    /// Anything else.
    #[default]
    Other,
}

/// Programs that show files.
const SHOWING: &[&str] = &["awk", "bat", "cat", "head", "jq", "less", "nl", "sed", "tail"];
/// Programs that search for files or text.
const FINDING: &[&str] = &["fd", "find", "grep", "ls", "rg", "tree", "wc", "which"];
/// Programs of version control and of its hosts.
const VERSIONS: &[&str] = &["gh", "git", "glab", "hg", "jj", "svn"];
/// Programs that build, check or test.
const CHECKING: &[&str] = &[
    "bun", "cargo", "cmake", "ctest", "docker", "dotnet", "go", "gradle", "jest", "just", "make", "mise", "mvn",
    "mypy", "npm", "npx", "phpunit", "pnpm", "pytest", "rspec", "ruff", "swift", "tox", "tsc", "uv", "vitest", "yarn",
];
/// Parts of the names of tools that delegate work, and of tools that use the network.
const AGENTS: &[&str] = &["agent", "delegate", "skill", "spawn", "task", "wait"];
const REACHING: &[&str] = &[
    "browser", "fetch", "github", "http", "issue", "pull_request", "url", "web",
];
/// Extensions of prose files.
const PROSE: &[&str] = &["adoc", "md", "mdx", "rst", "txt"];

impl CallKind {
    /// Returns whether repeating a call of this kind obtains the current state of what it printed.
    pub fn is_read_again(self) -> bool {
        matches!(
            self,
            CallKind::Read | CallKind::Edit | CallKind::Document | CallKind::Find | CallKind::Todo
        )
    }

    /// The kind of a call.
    pub fn of(call: &ToolCall) -> CallKind {
        match call.action.kind {
            ActionKind::Read => CallKind::Read,
            ActionKind::Change if is_prose(call) => CallKind::Document,
            ActionKind::Change => CallKind::Edit,
            ActionKind::Search => CallKind::Find,
            ActionKind::Todo | ActionKind::Note => CallKind::Todo,
            ActionKind::Ask => CallKind::Ask,
            ActionKind::Command => {
                let line = call.action.command.as_deref().unwrap_or_default();
                of_command(line)
            }
            ActionKind::Other => {
                let name = call.tool.to_ascii_lowercase();
                let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
                if has(AGENTS) {
                    CallKind::Agent
                } else if has(REACHING) {
                    CallKind::Web
                } else {
                    CallKind::Other
                }
            }
        }
    }
}

/// Returns whether a call is about a prose file.
pub(crate) fn is_prose(call: &ToolCall) -> bool {
    let path = call.action.paths.first();
    let ending = path.and_then(|path| path.rsplit(['/', '\\']).next()?.rsplit_once('.'));
    ending.is_some_and(|(_, ending)| PROSE.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The kind of a command line, from its first significant program; `cd` is skipped.
fn of_command(line: &str) -> CallKind {
    let line = &plain_command(line);
    let first_line = line.lines().next().unwrap_or("");
    let names = |known: &[&str], word: &str| known.contains(&word);
    let mut kind = CallKind::Shell;
    for command in first_line.split(['|', ';', '&']) {
        let words = command.split_whitespace().filter(|word| !word.contains('='));
        let Some(program) = words
            .map(name_of)
            .find(|word| !matches!(*word, "sudo" | "time" | "timeout" | "env"))
        else {
            continue;
        };
        if names(VERSIONS, program) {
            return CallKind::Git;
        }
        if kind != CallKind::Shell {
            continue;
        }
        if names(SHOWING, program) {
            kind = CallKind::Read;
        } else if names(FINDING, program) {
            kind = CallKind::Find;
        } else if CHECKING.contains(&program) || program.contains("test") || program.contains("lint") {
            kind = CallKind::Check;
        }
    }
    kind
}

/// The name of a program without its folder.
fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// A command line with continued lines in one, and without a leading `cd FOLDER &&` of an absolute path, mostly the
/// project's: a relative one says where the command runs.
pub(crate) fn plain_command(line: &str) -> String {
    let lines: Vec<&str> = line.split(CONTINUED).map(str::trim).collect();
    without_folder(&lines.join(" ")).to_owned()
}

/// The mark of a shell that a line goes on in the next one.
const CONTINUED: &str = "\\\n";

fn without_folder(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("cd ") else {
        return line;
    };
    let end = rest
        .find("&&")
        .map(|at| (at, 2))
        .or_else(|| rest.find([';', '\n']).map(|at| (at, 1)));
    let folder = rest.trim_start().trim_start_matches(['"', '\'']);
    let is_absolute = folder.starts_with('~') || Path::of(folder).is_absolute();
    match end {
        Some((at, length)) if is_absolute && !rest[..at].contains('\n') => match rest[at + length..].trim_start() {
            "" => line,
            rest => rest,
        },
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_its_first_program() {
        for (line, kind) in [
            ("cat a.rs | head", CallKind::Read),
            ("cd /w && rg -n foo", CallKind::Find),
            ("cd /w && git log", CallKind::Git),
            ("npm test 2>&1 | tail -5", CallKind::Check),
            ("RUST_LOG=1 cargo test", CallKind::Check),
            ("./deploy.sh", CallKind::Shell),
            ("echo hello", CallKind::Shell),
        ] {
            assert_eq!(of_command(line), kind, "{line}");
        }
    }

    #[test]
    fn a_change_to_an_absolute_folder_before_a_command_is_left_out() {
        for (line, rest) in [
            ("cd /a && make", "make"),
            ("cd '/a b'; make", "make"),
            ("cd ~/a; make", "make"),
            ("cd a && make", "cd a && make"),
            ("cd /a", "cd /a"),
            ("cdrom x", "cdrom x"),
            ("cd /a\nmake", "make"),
            ("cd /a && \\\n  make \\\n  -j 2\necho", "make -j 2\necho"),
        ] {
            assert_eq!(plain_command(line), rest);
        }
    }
}
