//! Files in the workspace that do not belong to it: git's own files, Codelet's settings and, if the workspace is or
//! contains the user's home, the files there that shells and other programs obey.

use crate::committed::Committed;
use crate::path::{self, pieces};
use crate::repository::{entries, is_gits};
use codelet_agent::orders;
use codelet_agent::tool::Owner;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Decides to whom a path belongs.
#[derive(Clone)]
pub(crate) struct Owned {
    root: PathBuf,
    /// Folders that may be changed like the workspace.
    added: Vec<PathBuf>,
    /// Codelet's settings, and its private folders where commands would reach them, by every path that leads there.
    settings: Vec<PathBuf>,
    /// The home, if the workspace contains it.
    home: Option<PathBuf>,
    /// Further protected paths of such a home: the targets of dot files that are links, and its program folders.
    dotted: Vec<PathBuf>,
    /// The location of the workspace's commits, if outside it.
    pub committed: Committed,
}

impl Owned {
    /// Creates the rules for this workspace, whose path has no links.
    pub(crate) fn new(root: &Path, home: Option<&Path>, settings: &[PathBuf]) -> Self {
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        let committed = Committed::of(root, home.as_deref());
        let home = home.filter(|home| home.starts_with(root));
        let dotted = home.as_deref().map(dotted_targets).unwrap_or_default();
        Owned {
            root: root.to_owned(),
            added: Vec::new(),
            committed,
            settings: Vec::new(),
            home,
            dotted,
        }
        .keeping(settings)
    }

    /// Protects these files and folders of Codelet's, whether or not they exist yet.
    pub(crate) fn keeping(mut self, paths: &[PathBuf]) -> Self {
        for path in paths {
            self.settings.push(path.clone());
            self.settings.extend(as_it_would_be(path));
            self.settings.extend(on_the_way(path));
        }
        self
    }

    /// The same rules with the workspace protected, too: it may lie in a folder that commands can otherwise write to.
    pub(crate) fn without_workspace(&self) -> Self {
        let workspace: Vec<PathBuf> = self.committed.writable.iter().chain(self.roots()).cloned().collect();
        self.clone().keeping(&workspace)
    }

    /// Lets these folders, whose paths have no links, be changed like the workspace, with the same exceptions.
    pub(crate) fn with(mut self, added: &[PathBuf]) -> Self {
        self.added = added.to_vec();
        self
    }

    /// Protects the folders of this `PATH` that are in a home inside the workspace like its dot files, even if they do
    /// not exist yet: any program put there can be run by name.
    pub(crate) fn keeping_programs(mut self, path: &OsStr) -> Self {
        if let Some(home) = &self.home {
            let folders = std::env::split_paths(path).filter_map(|folder| as_it_would_be(&folder));
            self.dotted
                .extend(folders.filter(|folder| folder.starts_with(home) && folder != home));
        }
        self
    }

    /// The workspace and the folders that were added to it.
    fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.root).chain(&self.added)
    }

    /// Returns whether the workspace contains the user's home.
    pub(crate) fn holds_home(&self) -> bool {
        self.home.is_some()
    }

    /// Returns whether a resolved path is in a dot file or dot folder of such a home, or in the target of one. A
    /// repository there belongs to the workspace.
    pub(crate) fn is_of_home(&self, path: &Path) -> bool {
        let below = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let first = below.and_then(|below| below.iter().next());
        first.is_some_and(|name| name.as_bytes().starts_with(b".") && name != ".git")
            || self.dotted.iter().any(|kept| path.starts_with(kept))
    }

    /// Returns the owner of a resolved path; `None` if it belongs to the workspace, or is an ordinary file of the user.
    pub(crate) fn owner(&self, path: &Path) -> Option<Owner> {
        if is_gits(path) {
            Some(Owner::Git)
        } else if self.settings.iter().any(|settings| path.starts_with(settings)) {
            Some(Owner::Codelet)
        } else if self.is_of_home(path) {
            Some(Owner::Home)
        } else {
            self.obeyed(path)
        }
    }

    /// Finds who obeys the file at a path, by its name or by that of a link that leads there.
    fn obeyed(&self, path: &Path) -> Option<Owner> {
        let below = |path: &Path| path::below(self.roots(), path).to_string_lossy().into_owned();
        orders::obeys(&below(path)).or_else(|| {
            // Links deeper down are not searched.
            let top: Vec<PathBuf> = self.roots().flat_map(|root| entries(root)).collect();
            let is_dotted = |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
            let folders = top.iter().filter(is_dotted).filter(|path| !path.is_symlink());
            let within = folders.flat_map(|folder| entries(folder));
            let mut links = top.iter().cloned().chain(within).filter(|path| path.is_symlink());
            links.find_map(|link| {
                let owner = orders::obeys(&below(&link))?;
                let leads_there = link.canonicalize().is_ok_and(|real| path.starts_with(real));
                leads_there.then_some(owner)
            })
        })
    }

    /// The parts of the workspace that commands may write to: all of it or, if something in it is protected, everything
    /// beside that. The kernel's rules only permit, so a folder that contains something protected is not permitted
    /// itself. Includes the place where commits are stored, as determined at the start of the session, before any
    /// command could change it.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in self.committed.writable.iter().chain(self.roots()) {
            self.collect(folder, &mut found);
        }
        found
    }

    /// The writable parts of another folder.
    pub(crate) fn writable_of(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.collect(folder, &mut found);
        found
    }

    /// Paths that are protected wherever they are.
    fn kept(&self) -> impl Iterator<Item = &PathBuf> {
        self.settings.iter().chain(&self.dotted)
    }

    fn collect(&self, path: &Path, found: &mut Vec<PathBuf>) {
        if self.kept().any(|kept| path.starts_with(kept)) {
            return;
        }
        // A path that goes on with `..` leaves this folder, which must only stay in its place.
        let next = |kept: &PathBuf| {
            let next = kept.strip_prefix(path).ok()?.iter().next()?;
            (next != "..").then(|| next.to_owned())
        };
        // A temporary folder that holds the home can have thousands of entries: only these are compared with all paths.
        let parted: HashSet<OsString> = self.kept().chain(&self.home).filter_map(next).collect();
        let is_home = self.home.as_deref() == Some(path);
        if parted.is_empty() && !is_home {
            found.push(path.to_owned());
            return;
        }
        for entry in path.read_dir().into_iter().flatten().flatten() {
            // A link would permit its target. Files that git obeys are watched instead, as in every repository.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let name = entry.file_name();
            let is_kept = is_home && name.as_bytes().starts_with(b".") && name != ".git";
            if is_link || is_kept {
                continue;
            }
            match parted.contains(&name) {
                true => self.collect(&entry.path(), found),
                false => found.push(entry.path()),
            }
        }
    }
}

/// The resolved path of a folder, or the one that it would have if created.
pub(crate) fn as_it_would_be(folder: &Path) -> Option<PathBuf> {
    let mut above = folder.ancestors();
    let (there, real) = above.find_map(|above| Some((above, above.canonicalize().ok()?)))?;
    Some(real.join(folder.strip_prefix(there).ok()?))
}

/// All paths on the way to a place: those of links and of their targets, whether or not they exist. Anyone who can
/// change one of them decides where the path leads.
pub(crate) fn on_the_way(path: &Path) -> Vec<PathBuf> {
    /// Links that are followed, as in the kernel.
    const LINKS: usize = 40;
    let mut names = Vec::new();
    let mut waiting = pieces(path);
    let mut there = PathBuf::from("/");
    while let Some(part) = waiting.pop() {
        if part == ".." {
            there.pop();
            continue;
        }
        let next = there.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) if names.len() < 2 * LINKS => {
                names.push(next);
                if target.is_absolute() {
                    there = PathBuf::from("/");
                }
                waiting.extend(pieces(&target));
                names.push(waiting.iter().rev().fold(there.clone(), |path, part| path.join(part)));
            }
            _ => there = next,
        }
    }
    if !names.is_empty() {
        names.push(there);
    }
    names
}

/// The targets of a home's dot files, and of the links in its folders where programs look for settings.
pub(crate) fn dotted_targets(home: &Path) -> Vec<PathBuf> {
    let is_dotted = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    let dotted: Vec<PathBuf> = entries(home).filter(is_dotted).collect();
    let within = [".config", ".ssh", ".gnupg"].map(|name| home.join(name));
    let links = dotted
        .into_iter()
        .chain(within.iter().flat_map(|folder| entries(folder)));
    links
        .filter(|path| path.is_symlink())
        .flat_map(|link| on_the_way(&link))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn where_programs_of_a_home_are_is_kept_as_its_dot_files_are() {
        let (_folder, home) = home();
        let bin = home.join("go/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(home.join("go/src")).unwrap();
        let none = home.join("rust/none");
        std::fs::create_dir_all(home.join("rust/src")).unwrap();
        let path = std::env::join_paths([Path::new("/usr/bin"), &bin, &none, &home]).unwrap();
        let owned = Owned::new(&home, Some(&home), &[]).keeping_programs(&path);
        assert_eq!(owned.owner(&bin.join("git")), Some(Owner::Home));
        assert_eq!(owned.owner(&none.join("git")), Some(Owner::Home));
        for own in ["go/src/a.go", "rust/src/a.rs"] {
            assert_eq!(owned.owner(&home.join(own)), None);
        }
        let writable = owned.writable();
        assert!(writable.contains(&home.join("rust/src")) && !writable.iter().any(|folder| none.starts_with(folder)));
        assert!(writable.contains(&home.join("go/src")) && !writable.iter().any(|folder| bin.starts_with(folder)));
        // In a workspace inside the home, the folder belongs to the workspace.
        let go = home.join("go");
        assert_eq!(
            Owned::new(&go, Some(&home), &[])
                .keeping_programs(&path)
                .owner(&bin.join("a")),
            None
        );
    }

    fn home() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("ada");
        for inner in [".ssh", ".config/codelet", ".config/nvim", "notes/.hidden", ".git"] {
            std::fs::create_dir_all(home.join(inner)).unwrap();
        }
        std::fs::write(home.join("todo.txt"), "").unwrap();
        symlink(".ssh", home.join("keys")).unwrap();
        (folder, home)
    }

    fn names(paths: Vec<PathBuf>, base: &Path) -> Vec<String> {
        let name = |path: PathBuf| path.strip_prefix(base).unwrap().display().to_string();
        let mut names: Vec<String> = paths.into_iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn of_a_home_its_dot_files_are_not_the_workspaces() {
        let (_folder, home) = home();
        let settings = [home.join(".config/codelet")];
        let owned = Owned::new(&home, Some(&home), &settings);
        for (name, owner) in [
            (".bashrc", Some(Owner::Home)),
            (".ssh/authorized_keys", Some(Owner::Home)),
            (".config/nvim/init.lua", Some(Owner::Home)),
            (".config/codelet/settings.toml", Some(Owner::Codelet)),
            (".git/config", Some(Owner::Git)),
            ("todo.txt", None),
            ("notes/.hidden/a", None),
            ("new/.env", None),
        ] {
            assert_eq!(owned.owner(&home.join(name)), owner, "{name}");
        }
        assert_eq!(names(owned.writable(), &home), [".git", "notes", "todo.txt"]);
        // The same for a workspace above the home.
        let above = home.parent().unwrap();
        let owned = Owned::new(above, Some(&home), &settings);
        assert_eq!(owned.owner(&home.join(".bashrc")), Some(Owner::Home));
        assert_eq!(owned.owner(&above.join(".bashrc")), None);
        assert_eq!(names(owned.writable(), &home), [".git", "notes", "todo.txt"]);
    }

    #[test]
    fn settings_are_kept_by_every_name_on_the_way_to_them_also_where_nothing_is_yet() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (work, config) = (base.join("dotfiles"), base.join("ada/.config"));
        for inner in ["dotfiles/conf", "dotfiles/src", "ada/.config", "real"] {
            std::fs::create_dir_all(base.join(inner)).unwrap();
        }
        let writable = |settings: &Path| names(Owned::new(&work, None, &[settings.to_owned()]).writable(), &work);
        assert_eq!(writable(&base.join("none")), [""]);
        // Nothing exists there now, and a command could create it.
        symlink("../../dotfiles/codelet", config.join("codelet")).unwrap();
        assert_eq!(writable(&config.join("codelet")), ["conf", "src"]);
        // Through a link in the workspace, which a command could redirect.
        symlink(base.join("real"), work.join("conf/codelet")).unwrap();
        std::fs::remove_file(config.join("codelet")).unwrap();
        symlink(work.join("conf/codelet"), config.join("codelet")).unwrap();
        assert_eq!(writable(&config.join("codelet")), ["src"]);
    }

    #[test]
    fn a_path_that_leads_through_the_workspace_and_out_of_it_protects_only_its_way() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let work = base.join("work");
        for inner in ["work/sub/deep", "work/src", "ada/.config"] {
            std::fs::create_dir_all(base.join(inner)).unwrap();
        }
        let writable = |settings: &str| names(Owned::new(&work, None, &[work.join(settings)]).writable(), &work);
        assert_eq!(writable("../ada/.config/codelet"), [""]);
        // A command that put a link in its place would decide where the path leads.
        assert_eq!(writable("sub/../../ada/.config/codelet"), ["src", "sub"]);
    }

    #[test]
    fn what_dot_files_of_a_home_lead_to_is_the_users_own_too() {
        let (_folder, home) = home();
        std::fs::create_dir(home.join("dotfiles")).unwrap();
        std::fs::write(home.join("dotfiles/bashrc"), "").unwrap();
        std::fs::write(home.join("dotfiles/notes"), "").unwrap();
        symlink("dotfiles/bashrc", home.join(".bashrc")).unwrap();
        let owned = Owned::new(&home, Some(&home), &[]);
        assert_eq!(owned.owner(&home.join("dotfiles/bashrc")), Some(Owner::Home));
        assert_eq!(owned.owner(&home.join("dotfiles/notes")), None);
        assert_eq!(
            names(owned.writable(), &home),
            [".git", "dotfiles/notes", "notes", "todo.txt"]
        );
    }

    #[test]
    fn what_somebody_obeys_is_kept_by_its_name_and_by_links_to_it() {
        let (_folder, home) = home();
        let notes = home.join("notes");
        std::fs::create_dir_all(notes.join("ci/deep")).unwrap();
        std::fs::create_dir_all(notes.join(".github")).unwrap();
        std::fs::write(notes.join("rules.md"), "").unwrap();
        symlink("rules.md", notes.join("AGENTS.md")).unwrap();
        symlink("../ci", notes.join(".github/workflows")).unwrap();
        let owned = Owned::new(&notes, Some(&home), &[]);
        let instructs = Some(Owner::Obeyed("gives instructions to agents"));
        let runs = Some(Owner::Obeyed("runs in CI"));
        for (name, owner) in [
            ("rules.md", instructs),
            ("sub/CLAUDE.md", instructs),
            ("ci/deep/a.yml", runs),
            (".codelet/settings.toml", Some(Owner::Codelet)),
            (".github/a.md", None),
            ("cider/a", None),
            ("Makefile", None),
        ] {
            assert_eq!(owned.owner(&notes.join(name)), owner, "{name}");
        }
        // The location of a workspace does not protect it from itself.
        let inner = notes.join(".claude/plugin");
        std::fs::create_dir_all(&inner).unwrap();
        let owned = Owned::new(&inner, Some(&home), &[]);
        assert_eq!(owned.owner(&inner.join("a.rs")), None);
        assert_eq!(owned.owner(&inner.join("AGENTS.md")), instructs);
    }

    #[test]
    fn below_the_home_only_codelets_settings_are_kept() {
        let (_folder, home) = home();
        let settings = [home.join(".config/codelet")];
        let notes = home.join("notes");
        let owned = Owned::new(&notes, Some(&home), &settings);
        assert_eq!(owned.owner(&notes.join(".hidden/a")), None);
        assert_eq!(owned.writable(), [notes]);
        let config = home.join(".config");
        let owned = Owned::new(&config, Some(&home), &settings);
        assert_eq!(owned.owner(&config.join("nvim/init.lua")), None);
        assert_eq!(owned.owner(&config.join("codelet/new.toml")), Some(Owner::Codelet));
        assert_eq!(names(owned.writable(), &config), ["nvim"]);
        let owned = Owned::new(&settings[0], Some(&home), &settings);
        assert_eq!(owned.writable(), [] as [PathBuf; 0]);
    }

    #[test]
    fn settings_that_are_kept_elsewhere_are_kept_there_too() {
        let (_folder, home) = home();
        let dotfiles = home.join("notes");
        std::fs::write(dotfiles.join("codelet.toml"), "").unwrap();
        let link = home.join(".config/codelet/settings.toml");
        symlink("../../notes/codelet.toml", &link).unwrap();
        let owned = Owned::new(&dotfiles, Some(&home), &[link]);
        assert_eq!(owned.owner(&dotfiles.join("codelet.toml")), Some(Owner::Codelet));
        assert_eq!(names(owned.writable(), &dotfiles), [".hidden"]);
    }
}
