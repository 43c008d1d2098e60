//! Hooks: programs of the user or the project that are notified of session events and may object. This module finds and
//! selects them; [`runner`] runs them on the agent loop's events, and [`consent`] asks about a project's hooks.

mod answer;
pub mod consent;
mod occasion;
pub mod runner;
pub mod written;

use crate::exit::{Failure, words};
use crate::input;
use crate::paint::clean;
use crate::place::Place;
use crate::settings::{HooksFrom, Places, Settings};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
pub use written::Hook;

/// The size limit for another agent's settings file, in bytes.
const MOST: u64 = 1024 * 1024;
/// Project settings files of other agents, relative to the project's folder.
const OTHERS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// The hooks of one file.
#[derive(Clone, PartialEq, Debug)]
pub struct HookSource {
    /// The file.
    pub file: PathBuf,
    /// The parsed JSON value of its hooks.
    pub value: Value,
    /// The hooks in it.
    pub hooks: Vec<Hook>,
}

/// The hooks found for a session.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FoundHooks {
    /// The user's hooks, from the user's settings.
    pub own: Vec<HookSource>,
    /// The project's hooks, which run only with the user's consent.
    pub project: Vec<HookSource>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// Returns the hooks of a session at this place: the user's own, and the project's if the user has permitted them,
/// asking if possible. Notices are added to those of the settings.
///
/// # Errors
/// If hooks in the user's own settings file are invalid, or the question cannot be asked on the terminal.
pub fn of_session(settings: &mut Settings, place: &Place, can_ask: bool) -> Result<Vec<Hook>, Failure> {
    let mut found = FoundHooks::look(settings, place)?;
    if !consent::permitted(&mut found, settings, place, can_ask)? {
        found.project.clear();
    }
    settings.notices.append(&mut found.notices);
    let sources = found.own.into_iter().chain(found.project);
    Ok(sources.flat_map(|source| source.hooks).collect())
}

impl FoundHooks {
    /// Finds the hooks of a session at this place.
    ///
    /// # Errors
    /// If hooks in the user's own settings file are invalid: a skipped hook might guard something.
    pub fn look(settings: &Settings, place: &Place) -> Result<FoundHooks, Failure> {
        let mut found = FoundHooks::default();
        if let (Some(value), Some(file)) = (&settings.hooks, &settings.user_file) {
            let source = found.read(file, value, false);
            let source = source.map_err(|why| Failure::at(file.display(), why))?;
            found.own.push(source);
        }
        let others = place.home.as_ref().map(|home| home.join(OTHERS[0]));
        if let Some(file) = others
            .as_ref()
            .filter(|_| settings.hooks_from.value == HooksFrom::Claude)
        {
            let source = found.of_file(file);
            found.own.extend(source);
        }
        if let Some(value) = &settings.project_hooks {
            let file = Places::of(place).project;
            let source = match is_plain(&file, &place.root) {
                true => found.read(&file, value, true).map_err(|why| unusable(&file, &why)),
                false => Err(linked(&file)),
            };
            found.take(source);
        }
        for folder in folders(&place.root, &place.directory) {
            for file in OTHERS.map(|name| folder.join(name)) {
                // If the home folder is the workspace, this is the user's own file.
                if others.as_ref() != Some(&file) && file.symlink_metadata().is_ok() {
                    let source = match is_plain(&file, &place.root) {
                        true => found.of_file(&file),
                        false => {
                            found.notices.push(linked(&file));
                            None
                        }
                    };
                    found.project.extend(source);
                }
            }
        }
        found.project.retain(|source| !source.hooks.is_empty());
        Ok(found)
    }

    fn take(&mut self, source: Result<HookSource, String>) {
        match source {
            Ok(source) => self.project.push(source),
            Err(told) => self.notices.push(told),
        }
    }

    /// Reads the hooks of another agent's settings file; `None` if it is missing, has no hooks or is invalid.
    fn of_file(&mut self, file: &Path) -> Option<HookSource> {
        let value = match hooks_of(file) {
            Ok(value) => value?,
            Err(why) => {
                self.notices.push(unusable(file, &why));
                return None;
            }
        };
        let source = self.read(file, &value, true);
        source.map_err(|why| self.notices.push(unusable(file, &why))).ok()
    }

    /// Reads the hooks of a file. In the user's own, unsupported ones are an error; otherwise each adds a notice, and so
    /// does a request to leave the sandbox.
    fn read(&mut self, file: &Path, value: &Value, is_shut_in: bool) -> Result<HookSource, String> {
        let mut written = written::read(value)?;
        if let (false, Some(unsupported)) = (is_shut_in, written.unsupported.first()) {
            return Err(clean(unsupported));
        }
        for unsupported in &written.unsupported {
            let (file, what) = (file.display(), clean(unsupported));
            self.notices.push(format!("{file}: {what}"));
        }
        for hook in written.hooks.iter_mut().filter(|hook| is_shut_in && hook.wants_freedom) {
            hook.wants_freedom = false;
            self.notices.push(format!(
                "{}: a hook of {} has `sandbox = false`, which only your own settings may set; it runs in the sandbox",
                file.display(),
                hook.event
            ));
        }
        Ok(HookSource {
            file: file.to_owned(),
            value: value.clone(),
            hooks: written.hooks,
        })
    }
}

/// Returns the value of `hooks` in another agent's settings file; `None` if the file or the value is missing.
fn hooks_of(file: &Path) -> Result<Option<Value>, String> {
    let bytes = match input::regular(file, MOST) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(words(&error)),
    };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let settings: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(settings.get("hooks").filter(|hooks| !hooks.is_null()).cloned())
}

/// Returns the folders from the project's root down to the session's working directory.
fn folders(root: &Path, directory: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = directory
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .map(Path::to_owned)
        .collect();
    folders.reverse();
    folders
}

/// Returns whether a file is at this path without links in between: consent covers only the project's own files.
fn is_plain(file: &Path, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let below = file.strip_prefix(root).ok();
    matches!((real(file), real(root), below), (Some(file), Some(root), Some(below)) if file == root.join(below))
}

fn unusable(file: &Path, why: &str) -> String {
    format!("{}: {}; its hooks are not run", file.display(), clean(why))
}

fn linked(file: &Path) -> String {
    format!(
        "{}: it is reached through a link; its hooks are not run",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const HOOKS: &str = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;

    fn place(root: &Path, directory: &str, home: &str) -> Place {
        Place {
            directory: root.join(directory),
            root: root.to_owned(),
            home: Some(root.join(home)),
            config: None,
            added: Vec::new(),
            write: Vec::new(),
        }
    }

    fn files(place: &Place, settings: &Settings) -> (Vec<PathBuf>, Vec<PathBuf>, Vec<String>) {
        let Ok(found) = FoundHooks::look(settings, place) else {
            panic!()
        };
        let names = |sources: Vec<HookSource>| -> Vec<PathBuf> {
            let names = sources.into_iter();
            names
                .map(|source| source.file.strip_prefix(&place.root).unwrap().to_owned())
                .collect()
        };
        (names(found.own), names(found.project), found.notices)
    }

    #[test]
    fn files_down_to_the_working_folder_are_the_projects_and_those_behind_links_are_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for at in [
            ".claude", "app/.claude", "app/deep", "other/.claude", "home/.claude", "linked",
        ] {
            fs::create_dir_all(root.join(at)).unwrap();
        }
        for at in [
            ".claude/settings.json",
            "app/.claude/settings.local.json",
            "other/.claude/settings.json",
            "home/.claude/settings.json",
        ] {
            fs::write(root.join(at), HOOKS).unwrap();
        }
        symlink("../home/.claude", root.join("linked/.claude")).unwrap();
        symlink(
            "../../home/.claude/settings.json",
            root.join("app/.claude/settings.json"),
        )
        .unwrap();
        let (own, project, notices) = files(&place(&root, "app/deep", "home"), &Settings::default());
        assert!(own.is_empty());
        assert_eq!(
            project,
            [".claude/settings.json", "app/.claude/settings.local.json"].map(PathBuf::from)
        );
        assert!(
            notices.len() == 1 && notices[0].contains("app/.claude/settings.json: it is reached through a link"),
            "{notices:?}"
        );
        let (_, project, notices) = files(&place(&root, "linked", "home"), &Settings::default());
        assert_eq!((project.len(), notices.len()), (1, 1), "{notices:?}");
        // The user's own file is read if the user's settings say so, and does not count as the project's where both are
        // the same.
        let settings = Settings {
            hooks_from: crate::settings::Set {
                value: HooksFrom::Claude,
                from: crate::settings::From::CommandLine,
            },
            ..Settings::default()
        };
        let (own, project, _) = files(&place(&root, "", "."), &settings);
        assert_eq!((own.len(), project.len()), (1, 0));
    }

    #[test]
    fn a_file_that_is_no_settings_file_runs_nothing_and_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".claude")).unwrap();
        let file = root.join(".claude/settings.json");
        for (text, told) in [
            ("{", 1),
            (r#"{"hooks": 3}"#, 1),
            (r#"{"hooks": null}"#, 0),
            ("{}", 0),
            (HOOKS, 0),
        ] {
            fs::write(&file, text).unwrap();
            let (_, project, notices) = files(&place(&root, "", "home"), &Settings::default());
            assert_eq!(
                (notices.len(), project.len()),
                (told, usize::from(text == HOOKS)),
                "{text}: {notices:?}"
            );
        }
        fs::remove_file(&file).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &file,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(files(&place(&root, "", "home"), &Settings::default()).2.len(), 1);
    }
}
