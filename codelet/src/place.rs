//! The location of a session: its directory, the repository around it, and the user's folders.

use crate::exit::Failure;
use codelet_mcp::Logins;
use std::path::{Path, PathBuf};

/// The location of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The working directory, with links resolved.
    pub directory: PathBuf,
    /// The workspace: the root of the repository, or the directory itself if there is none or if it would contain the
    /// home folder.
    pub root: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The user's configuration folder.
    pub config: Option<PathBuf>,
    /// Folders added to the workspace, with links resolved.
    pub added: Vec<PathBuf>,
    /// Additional folders that the user's settings let commands write to.
    pub write: Vec<PathBuf>,
}

/// The maximum number of links followed in a row, as on Linux.
const LINKS: usize = 40;

impl Place {
    /// Returns the location at this folder, or at the process's working directory.
    ///
    /// # Errors
    /// If the folder does not exist.
    pub fn find(folder: Option<&Path>) -> Result<Self, Failure> {
        let folder = folder.unwrap_or(Path::new("."));
        let directory = folder.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::at(folder.display(), "no such folder"),
            _ => Failure::io(folder, &error),
        })?;
        if !directory.is_dir() {
            return Err(Failure::at(folder.display(), "expected a folder"));
        }
        // Checked here, since otherwise the error would name the first file looked up in it.
        std::fs::metadata(directory.join(".")).map_err(|error| Failure::io(folder, &error))?;
        let home = absolute(variable("HOME")).or_else(|| absolute(variable("USERPROFILE")));
        let config = absolute(variable("XDG_CONFIG_HOME")).or_else(|| home.as_ref().map(|home| home.join(".config")));
        let repository = codelet_tools::environment::root(&directory);
        // A user with a git repository in the home folder still works on a part of it.
        let repository = repository.filter(|root| !holds(root, home.as_deref()));
        Ok(Place {
            root: repository.unwrap_or_else(|| directory.clone()),
            directory,
            home,
            config,
            added: Vec::new(),
            write: Vec::new(),
        })
    }

    /// Returns the first link on the path to a folder that is in a place where commands of an earlier session could
    /// have created it.
    pub fn planted(&self, folder: &Path, write: &[PathBuf]) -> Option<PathBuf> {
        let temporary = codelet_tools::TEMPORARY.map(PathBuf::from);
        let named = variable("TMPDIR").map(PathBuf::from);
        let others = write.iter().filter(|other| *other != folder).cloned();
        let places = temporary
            .into_iter()
            .chain(named)
            .chain(others)
            .chain([self.root.clone()]);
        let places: Vec<PathBuf> = places.filter_map(|place| place.canonicalize().ok()).collect();
        planted(folder, &places, LINKS)
    }

    /// Adds a folder to the workspace.
    ///
    /// # Errors
    /// Explains why it cannot be added.
    pub fn add(&mut self, folder: &Path) -> Result<(), String> {
        let real = self.addable(folder)?;
        // A folder inside another one is already covered.
        let is_held = self.added.iter().chain([&self.root]).any(|held| real.starts_with(held));
        self.added.extend((!is_held).then_some(real));
        Ok(())
    }

    fn addable(&self, folder: &Path) -> Result<PathBuf, String> {
        let real = folder.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "no such folder".to_owned(),
            _ => crate::exit::words(&error),
        })?;
        if !real.is_dir() {
            return Err("expected a folder".to_owned());
        }
        let own = self.config.as_ref().map(|config| config.join("codelet"));
        let own = own.map(|own| own.canonicalize().unwrap_or(own));
        let is_own = own.is_some_and(|own| real.starts_with(&own) || own.starts_with(&real));
        match real.parent().is_none() || holds(&real, self.home.as_deref()) || is_own {
            true => {
                Err("it contains your home directory or your settings; name the folder in it that you need".to_owned())
            }
            false => Ok(real),
        }
    }

    /// Returns whether the workspace is the user's home folder or contains it.
    pub fn holds_home(&self) -> bool {
        holds(&self.root, self.home.as_deref())
    }

    /// Returns the store of MCP logins, next to the user's settings, where no sandboxed command can write.
    pub fn logins(&self) -> Option<Logins> {
        let folder = self.config.as_ref()?;
        Some(Logins::new(folder.join("codelet/logins")))
    }
}

/// Formats a path with `~` for the home folder.
pub fn shown(folder: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.display().to_string(),
    }
}

/// Returns whether the home folder is this folder or inside it.
fn holds(folder: &Path, home: Option<&Path>) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    home.is_some_and(|home| whole(home).starts_with(whole(folder)))
}

/// Returns the folder that a variable names. A relative one is ignored: it would put the user's settings inside
/// whichever project the session works in.
fn absolute(named: Option<String>) -> Option<PathBuf> {
    named.map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Returns an environment variable that is set and not blank.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Returns the first link on the path to a folder that is in one of these places, following at most `most` links.
fn planted(folder: &Path, places: &[PathBuf], most: usize) -> Option<PathBuf> {
    let mut ways: Vec<&Path> = folder.ancestors().collect();
    ways.reverse();
    ways.into_iter().find_map(|way| {
        let target = std::fs::read_link(way).ok()?;
        let stands_in = way.parent()?.canonicalize().ok()?;
        if most == 0 || places.iter().any(|place| stands_in.starts_with(place)) {
            return Some(way.to_owned());
        }
        planted(&stands_in.join(target), places, most - 1)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_folder_holds_the_home_whichever_way_leads_there() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        std::fs::create_dir_all(base.join("ada/notes")).unwrap();
        std::os::unix::fs::symlink("ada", base.join("link")).unwrap();
        for (name, is_held) in [
            ("", true),
            ("ada", true),
            ("link", true),
            ("ada/notes", false),
            ("ad", false),
        ] {
            assert_eq!(holds(&base.join(name), Some(&base.join("link"))), is_held, "{name}");
        }
        assert!(!holds(base, None));
    }

    #[test]
    fn a_link_counts_as_planted_where_commands_write_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("cache")).unwrap();
        std::fs::create_dir_all(base.join("keys/deep")).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, base.join(name)).unwrap();
        link("../keys", "cache/uv");
        link("cache/uv", "own");
        link("keys", "plain");
        link("round", "round");
        let places = [base.join("cache")];
        let found = |name: &str| planted(&base.join(name), &places, LINKS);
        assert_eq!(found("cache/uv"), Some(base.join("cache/uv")));
        assert_eq!(found("cache/uv/deep"), Some(base.join("cache/uv")));
        assert_eq!(found("own"), Some(base.join("cache/uv")));
        assert_eq!(found("plain/deep"), None);
        assert_eq!(found("cache"), None);
        assert!(found("round").is_some());
    }
}
