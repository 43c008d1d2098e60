//! What a call needs to be permitted: what a gate judges, and a person is asked about.

use std::path::PathBuf;

/// What a call needs to be permitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Need {
    /// To look at a file or folder.
    Read {
        /// Where, resolved.
        path: PathBuf,
        /// Whether that is inside the workspace.
        is_inside: bool,
        /// Whether a file stands there, and no folder, device or nothing at all.
        is_file: bool,
    },
    /// To create, alter or overwrite a file.
    Change {
        /// Where, resolved.
        path: PathBuf,
        /// Whether that is inside the workspace.
        is_inside: bool,
        /// Whose it is, where it is not the workspace's wherever it lies.
        owner: Option<Owner>,
        /// What changes, for a person to judge: a unified diff, or empty where nothing does. Where it does not show all,
        /// a line before it says how much that is, as git does: `1 file changed, 1 insertion(+), 2 deletions(-)`. A
        /// line outside of its hunks that begins with `…` says what else is to be known.
        diff: String,
    },
    /// To run a command line.
    Run {
        /// The command line.
        command: String,
        /// Where the shell stands, from where the session began; empty where it stands there.
        folder: String,
        /// Whether it only looks, and where.
        looks: Looking,
    },
    /// To run a command line again that the sandbox has stopped, with what it lacked there.
    RunWith {
        /// The command line.
        command: String,
        /// Where the shell stands, as for [`Need::Run`].
        folder: String,
        /// What it is given besides.
        lack: Lack,
    },
    /// To call a tool of another program, which may do anything that this program can.
    Call {
        /// The server's name in the settings.
        server: String,
        /// The tool's name towards the model, `server__tool`.
        tool: String,
        /// Tells what the server says of the tool, its description and parameters, from whatever else it may come to say.
        definition: String,
        /// Somebody has permitted a tool of this name, with another definition.
        is_changed: bool,
        /// What it is called with, as JSON.
        parameters: String,
    },
    /// To fetch what a host on the web answers at an address.
    Fetch {
        /// The host as [patterns](crate::permission::Rules::allow) name it: in ASCII and small letters, with its port where that is not
        /// the usual one.
        host: String,
        /// The whole address.
        url: String,
        /// What a person should know of it, a sentence each.
        remarks: Vec<String>,
        /// It is long enough to carry data away, so that no answer to an earlier question covers it.
        is_long: bool,
    },
}

impl Need {
    /// Whether it is to look at something, and nothing else.
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
}

/// What a command in the sandbox lacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lack {
    /// The network.
    Network,
    /// To be outside of the sandbox, as what it wants cannot be had in one.
    Freedom,
}

impl Lack {
    /// What it is, behind "with" or "run": `network access`.
    pub fn named(&self) -> &'static str {
        match self {
            Lack::Network => "network access",
            Lack::Freedom => "no sandbox",
        }
    }
}

/// How far a command line only looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looking {
    /// It does nothing else, and within the workspace: it runs shut in so that it can do nothing else.
    Only,
    /// Those of its commands that only look do so within the workspace.
    Inside,
    /// Such a command may look at what is outside of the workspace, or nothing is known of it.
    Outside,
}

/// Whose a file is that may lie in the workspace and is not the workspace's: somebody obeys what stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Git's: settings, hooks, whatever else it obeys or keeps.
    Git,
    /// Codelet's: settings, which say what a session may do.
    Codelet,
    /// The user's, in a home that is all of the workspace: what shells, keys and programs are told there.
    Home,
    /// Nobody's else than the workspace's, but something obeys it unasked: what does, behind the name of the file.
    Obeyed(&'static str),
}

impl Owner {
    /// Why nobody changes such a file unasked, behind its name.
    pub fn reason(self) -> &'static str {
        match self {
            Owner::Git => "belongs to git, which may run programs that it names",
            Owner::Codelet => "is a Codelet setting, which decides what a session may do",
            Owner::Home => "is in the user's home directory, where shells and other programs may run it",
            Owner::Obeyed(reason) => reason,
        }
    }
}
