//! The permissions that a call needs: gates judge them, and questions to the user show them.

use std::path::PathBuf;

/// A permission that a call needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Need {
    /// Read a file or folder.
    Read {
        /// The resolved path.
        path: PathBuf,
        /// True if it is inside the workspace.
        is_inside: bool,
        /// True if it is a file, rather than a folder, a device or nothing at all.
        is_file: bool,
    },
    /// Create, alter or overwrite a file.
    Change {
        /// The resolved path.
        path: PathBuf,
        /// True if it is inside the workspace.
        is_inside: bool,
        /// The owner, if it is not an ordinary file of the workspace.
        owner: Option<Owner>,
        /// The change as a unified diff, for the user to review; empty if there is none. If the diff is incomplete, it
        /// starts with a line that says how much changes in all, as in git: `1 file changed, 1 insertion(+), 2
        /// deletions(-)`. A line outside of its hunks that begins with `…` is a further remark.
        diff: String,
    },
    /// Run a command line.
    Run {
        /// The command line.
        command: String,
        /// The shell's directory, relative to the session's; empty if they are the same.
        folder: String,
        /// The extent to which it only reads.
        looks: Looking,
    },
    /// Run a command line again that the sandbox stopped, with what it lacked there.
    RunWith {
        /// The command line.
        command: String,
        /// The shell's directory, as for [`Need::Run`].
        folder: String,
        /// The exemption that it gets.
        lack: Lack,
    },
    /// Call a tool of another program, which may do anything that this program can.
    Call {
        /// The server's name in the settings.
        server: String,
        /// The tool's name for the model, `server__tool`.
        tool: String,
        /// A fingerprint of the tool's description and parameters, which detects that the server changed them.
        definition: String,
        /// True if a tool of this name was permitted with a different definition.
        is_changed: bool,
        /// The parameters, as JSON.
        parameters: String,
    },
    /// Fetch a URL from a web host.
    Fetch {
        /// The host as in [patterns](crate::permission::Rules::allow): lowercase ASCII, with its port if that is not
        /// the default.
        host: String,
        /// The whole URL.
        url: String,
        /// Remarks for the user, a sentence each.
        remarks: Vec<String>,
        /// True if the URL is long enough to carry data away, so that no earlier grant covers it.
        is_long: bool,
    },
}

impl Need {
    /// Returns whether the need is only to read.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Need::Read { .. }
                | Need::Fetch { .. }
                | Need::Run {
                    looks: Looking::Only,
                    ..
                }
        )
    }

    /// Returns what the need is about.
    pub(crate) fn aim(&self) -> Aim {
        match self {
            Need::Run {
                looks: Looking::Beyond(_),
                ..
            } => Aim::Look,
            need if need.only_looks() => Aim::Look,
            _ => Aim::Deed,
        }
    }
}

/// What a call is about. Once denied, the same or the greater, done later, makes up for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aim {
    /// Only reading.
    Look,
    /// A change, a command, or a call of another program.
    Deed,
}

/// A capability that a command lacked in the sandbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lack {
    /// Network access.
    Network,
    /// Freedom from the sandbox, if it needs something impossible in one.
    Freedom,
}

impl Lack {
    /// Returns the name, to follow "with": `network access`.
    pub fn named(&self) -> &'static str {
        match self {
            Lack::Network => "network access",
            Lack::Freedom => "no sandbox",
        }
    }
}

/// The extent to which a command line only reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Looking {
    /// It only reads, and within the workspace: its sandbox prevents everything else.
    Only,
    /// Its read-only commands stay within the workspace.
    Inside,
    /// It only reads, but not within the workspace alone or not with the system's programs alone: the reason, as a
    /// clause.
    Beyond(String),
    /// Its read-only commands, beside others, may read outside the workspace, or nothing is known about it.
    Outside,
}

/// The owner of a file that may be in the workspace but is obeyed by some other program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Git: settings, hooks, and everything else in its folder.
    Git,
    /// Codelet: settings that control what a session may do.
    Codelet,
    /// The user, if the workspace is their home: files that configure shells, keys and programs.
    Home,
    /// The workspace itself, but something obeys the file unasked: what it does, to follow the file's name.
    Obeyed(&'static str),
}

impl Owner {
    /// Returns why such a file is not changed without asking, to follow its name.
    pub fn reason(self) -> &'static str {
        match self {
            Owner::Git => "belongs to git, which may run programs that it names",
            Owner::Codelet => "is a Codelet setting, which decides what a session may do",
            Owner::Home => "is in the user's home directory, where shells and other programs may run it",
            Owner::Obeyed(reason) => reason,
        }
    }
}
