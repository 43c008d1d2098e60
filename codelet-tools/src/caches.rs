//! Folders that only sandboxed commands use: the caches of build tools and package managers, one folder per workspace,
//! and temporary files where the usual folder for them is not wholly open to commands. Nothing outside the sandbox reads
//! them.
//!
//! The usual folders of caches are in the home. A command that could write there would decide what the user's own builds
//! use and run later, outside any sandbox; one that cannot write there often fails.

use crate::sandbox::Sandbox;
use crate::scratch::{self, Scratch};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The name of a workspace's cache folder, below the components of the workspace's path; it keeps nested workspaces
/// apart.
const LEAF: &str = "=caches=";
/// The name of the folder for temporary files. Its path is short, since a socket's may have 108 bytes.
const TEMPORARY: &str = "tmp";

/// Programs that fail, or redo all work, if they cannot write to their folder: the variable that sets the folder, its
/// default relative to the home, its name here, and whether it is used only with network access (until then, the user's
/// own downloads are read in place).
const CACHES: [(&str, &str, &str, bool); 9] = [
    ("GOCACHE", ".cache/go-build", "go-build", false),
    ("UV_CACHE_DIR", ".cache/uv", "uv", false),
    ("PIP_CACHE_DIR", ".cache/pip", "pip", false),
    ("CCACHE_DIR", ".cache/ccache", "ccache", false),
    ("npm_config_cache", ".npm", "npm", false),
    ("CARGO_HOME", ".cargo", "cargo", true),
    // Module checksums are kept beside the modules.
    ("GOPATH", "go", "go", true),
    ("GOMODCACHE", "go/pkg/mod", "go/pkg/mod", true),
    ("YARN_CACHE_FOLDER", ".cache/yarn", "yarn", true),
];

/// The folders of a session.
pub(crate) struct CommandFolders {
    /// The cache folder of the workspace, which remains.
    pub caches: PathBuf,
    /// Contains the folder for temporary files, and is removed with it.
    scratch: Option<Scratch>,
}

impl CommandFolders {
    /// Creates the folders, one for temporary files only if the session needs it; `None` if commands in this sandbox
    /// could replace them.
    pub(crate) fn create(all: &Path, workspace: &Path, sandbox: &Sandbox, has_temporary: bool) -> Option<Self> {
        let own = workspace.strip_prefix("/").ok()?;
        let all = scratch::private(all, sandbox)?;
        let caches = all.join(own).join(LEAF);
        DirBuilder::new().recursive(true).mode(0o700).create(&caches).ok()?;
        // An earlier command cannot have replaced it by a link: none can write above it.
        let caches = caches.canonicalize().ok().filter(|real| *real == caches)?;
        scratch::clear(&all);
        let scratch = has_temporary.then(|| Scratch::new(&all).ok()).flatten();
        let scratch = scratch.filter(|scratch| scratch.make_folder(TEMPORARY).is_ok());
        Some(CommandFolders { caches, scratch })
    }

    /// The folder for temporary files.
    pub(crate) fn temporary(&self) -> Option<PathBuf> {
        Some(self.scratch.as_ref()?.path().join(TEMPORARY))
    }

    /// The folders that commands write to.
    pub(crate) fn writable(&self) -> impl Iterator<Item = PathBuf> {
        [self.caches.clone()].into_iter().chain(self.temporary())
    }
}

/// Changes an environment so that programs use this folder, unless the sandbox lets them write to their usual one.
pub(crate) fn redirect(
    environment: &mut Vec<(OsString, OsString)>,
    folder: &Path,
    home: Option<&Path>,
    sandbox: &Sandbox,
) {
    fn value(environment: &[(OsString, OsString)], wanted: &str) -> Option<OsString> {
        let found = environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }
    for (variable, usual, name, is_download) in CACHES {
        if is_download && !sandbox.has_network() {
            continue;
        }
        let of_all = || Some(PathBuf::from(value(environment, "XDG_CACHE_HOME")?).join(usual.strip_prefix(".cache/")?));
        let named = value(environment, variable).map(PathBuf::from);
        let usual = named.or_else(of_all).or_else(|| Some(home?.join(usual)));
        let is_writable = |usual: PathBuf| sandbox.writes(&usual.canonicalize().unwrap_or(usual));
        if usual.is_some_and(is_writable) {
            continue;
        }
        environment.retain(|(known, _)| known != variable);
        environment.push((variable.into(), folder.join(name).into()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The variables that are set, separated by spaces, with `~` for the cache folder.
    fn redirected(environment: &[(&str, &str)], writable: &[&str], has_network: bool) -> String {
        let sandbox = Sandbox::new(writable.iter().map(PathBuf::from)).with_network(has_network);
        let before: Vec<(OsString, OsString)> = environment.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let mut after = before.clone();
        redirect(
            &mut after,
            Path::new("/caches"),
            Some(Path::new("/nowhere/ada")),
            &sandbox,
        );
        let changed = after.into_iter().filter(|pair| !before.contains(pair));
        let told = changed.map(|(name, value)| {
            let (name, value) = (name.into_string().unwrap(), value.into_string().unwrap());
            format!("{name}={}", value.replace("/caches", "~"))
        });
        told.collect::<Vec<_>>().join(" ")
    }

    const ALWAYS: &str =
        "GOCACHE=~/go-build UV_CACHE_DIR=~/uv PIP_CACHE_DIR=~/pip CCACHE_DIR=~/ccache npm_config_cache=~/npm";

    #[test]
    fn programs_keep_their_things_where_nothing_else_looks() {
        assert_eq!(redirected(&[], &[], false), ALWAYS);
        // Downloads are read in place until something can be downloaded.
        let all = redirected(&[], &[], true);
        assert!(all.starts_with(ALWAYS), "{all}");
        for more in [
            "CARGO_HOME=~/cargo", "GOPATH=~/go ", "GOMODCACHE=~/go/pkg/mod", "YARN_CACHE_FOLDER=~/yarn",
        ] {
            assert!(all.contains(more), "{more}: {all}");
        }
        // A folder that the user's variable names is not writable for commands either.
        let all = redirected(&[("GOCACHE", "/nowhere/else")], &[], false);
        assert!(all.contains("GOCACHE=~/go-build"), "{all}");
    }

    #[test]
    fn where_the_settings_let_a_program_write_it_keeps_to_its_own_folder() {
        let own = redirected(&[], &["/nowhere/ada/.cache/uv", "/nowhere/ada/.npm"], false);
        assert_eq!(own, "GOCACHE=~/go-build PIP_CACHE_DIR=~/pip CCACHE_DIR=~/ccache");
        let named = [("GOCACHE", "/big/go"), ("XDG_CACHE_HOME", "/big/caches")];
        assert_eq!(redirected(&named, &["/big"], false), "npm_config_cache=~/npm");
    }
}
