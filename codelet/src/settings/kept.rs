//! Stores permissions granted for a project, for commands and hooks, in the user's own settings under the project's
//! folder, never in the project.

use super::Places;
use super::files::has_another_name;
use super::written::{MOST, SettingsFile, parse};
use crate::exit::Failure;
use crate::output::{Access, Output};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Table};

/// Adds patterns for the project with this root and preserves comments and everything else. Returns a message that
/// names the file and how to revoke the patterns.
///
/// # Errors
/// Explains why they cannot be stored; the file is then unchanged.
pub fn keep(places: &Places, fenced: &[PathBuf], patterns: &[String]) -> Result<String, String> {
    let (file, root) = kept(places, fenced, &ProjectGrant::Patterns(patterns))?;
    let file = file.display();
    Ok(format!("saved in {file}, under [projects.\"{root}\"]"))
}

/// Stores the user's consent to the hooks with this digest for the project with this root.
///
/// # Errors
/// Explains why it cannot be stored; the file is then unchanged.
pub fn keep_consent(places: &Places, fenced: &[PathBuf], digest: &str) -> Result<(), String> {
    kept(places, fenced, &ProjectGrant::Hooks(digest)).map(|_| ())
}

/// A permission to store for a project.
enum ProjectGrant<'a> {
    /// Allow patterns, added to the existing ones.
    Patterns(&'a [String]),
    /// The digest of its hooks, which replaces the existing one.
    Hooks(&'a str),
}

impl ProjectGrant<'_> {
    fn is_in(&self, written: &SettingsFile, root: &Path) -> bool {
        match self {
            ProjectGrant::Patterns(patterns) => {
                let allowed = written.allowed_in(root);
                patterns.iter().all(|pattern| allowed.contains(pattern))
            }
            ProjectGrant::Hooks(digest) => written.consent_in(root).as_deref() == Some(digest),
        }
    }
}

fn kept<'a>(places: &'a Places, fenced: &[PathBuf], kept: &ProjectGrant<'_>) -> Result<(&'a Path, &'a str), String> {
    let file = places
        .user
        .as_deref()
        .ok_or("there is no home directory to keep settings in")?;
    let root = places
        .root
        .to_str()
        .ok_or("the name of the project's folder is not valid UTF-8")?;
    add(file, (root, &places.root), fenced, kept).map_err(|failure| match failure {
        Failure::Told(why) => why,
        Failure::PipeClosed => "the file cannot be written".to_owned(),
    })?;
    Ok((file, root))
}

fn add(file: &Path, (root, key): (&str, &Path), fenced: &[PathBuf], kept: &ProjectGrant<'_>) -> Result<(), Failure> {
    if let Some(folder) = file.parent() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Failure::io(folder, &error))?;
    }
    if has_another_name(file) {
        return Err(Failure::at(file.display(), "it has a hard link"));
    }
    let pinned = Output::File(file.to_owned()).pin(Access::OwnerOnly, fenced)?;
    if !pinned.is_replaced() {
        return Err(Failure::at(file.display(), "it is not a regular file"));
    }
    let before = match pinned.text(MOST) {
        Some(text) => text,
        None if pinned.exists() => return Err(Failure::at(file.display(), "it cannot be read")),
        None => String::new(),
    };
    let after = with(&before, root, kept).map_err(|why| Failure::at(file.display(), why))?;
    // The next session must be able to read the new text and to find the addition.
    let read = parse(file, &after)?;
    if !kept.is_in(&read, key) {
        return Err(Failure::at(
            file.display(),
            "its `projects` cannot be extended; write each project under a heading of its own, [projects.\"/FOLDER\"]",
        ));
    }
    pinned.for_owner_only().write(|out| out.write_all(after.as_bytes()))
}

/// Returns the text of a settings file with this permission added.
fn with(text: &str, root: &str, kept: &ProjectGrant<'_>) -> Result<String, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut document: DocumentMut = text
        .parse()
        .map_err(|_| "it is not a valid settings file any more".to_owned())?;
    let is_new = !document.contains_key("projects");
    let projects = document.entry("projects").or_insert_with(|| {
        let mut projects = Table::new();
        projects.set_implicit(true);
        Item::Table(projects)
    });
    let projects = projects.as_table_like_mut().ok_or("`projects` is not a table there")?;
    let project = projects.entry(root).or_insert_with(toml_edit::table);
    let project = project.as_table_like_mut().ok_or("the project is not a table there")?;
    match kept {
        ProjectGrant::Patterns(patterns) => {
            let allow = project.entry("allow").or_insert(toml_edit::value(Array::new()));
            let allow = allow
                .as_array_mut()
                .ok_or("`allow` of the project is not a list there")?;
            for pattern in *patterns {
                if !allow.iter().any(|held| held.as_str() == Some(pattern)) {
                    allow.push(pattern.as_str());
                }
            }
        }
        ProjectGrant::Hooks(digest) => {
            project.insert("hooks", toml_edit::value(*digest));
        }
    }
    if is_new {
        keep_above(&mut document, root);
    }
    Ok(document.to_string())
}

/// Keeps a comment at the end of the file above an added table: below it, a commented-out example setting would belong
/// to the table.
fn keep_above(document: &mut DocumentMut, root: &str) {
    let comment = document.trailing().as_str().unwrap_or_default().to_owned();
    let table = document
        .get_mut("projects")
        .and_then(|projects| projects.get_mut(root)?.as_table_mut());
    if let Some(table) = table.filter(|_| !comment.trim().is_empty()) {
        table.decor_mut().set_prefix(format!("{}\n\n", comment.trim_end()));
        document.set_trailing("");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{Places, Settings};
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    struct Home {
        folder: tempfile::TempDir,
        places: Places,
    }

    impl Home {
        fn new() -> Home {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            let root = base.join("pro ject");
            fs::create_dir(&root).unwrap();
            let places = Places::new(Some(&base.join("config")), &root);
            Home { folder, places }
        }

        fn file(&self) -> PathBuf {
            self.places.user.clone().unwrap()
        }

        fn holds(&self, text: &str) {
            fs::create_dir_all(self.file().parent().unwrap()).unwrap();
            fs::write(self.file(), text).unwrap();
        }

        fn keep(&self, patterns: &[&str]) -> Result<String, String> {
            let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            keep(&self.places, std::slice::from_ref(&self.places.root), &patterns)
        }

        fn allowed(&self) -> Vec<String> {
            let Ok(settings) = Settings::read(&self.places) else {
                panic!()
            };
            settings.allowed()
        }
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_kept_holds_in_that_project_and_in_no_other() {
        let home = Home::new();
        let told = home.keep(&["cargo test *"]).unwrap();
        assert!(
            told.contains("settings.toml") && told.contains("[projects.\""),
            "{told}"
        );
        home.keep(&["cargo test *", "mcp:files__*"]).unwrap();
        assert_eq!(home.allowed(), ["cargo test *", "mcp:files__*"]);
        assert_eq!(mode(&home.file()), 0o600);
        assert_eq!(mode(home.file().parent().unwrap()), 0o700);
        assert_eq!(
            home.places.root.read_dir().unwrap().count(),
            0,
            "something is in the project"
        );
        let other = Places::new(Some(&home.folder.path().join("config")), home.folder.path());
        let Ok(settings) = Settings::read(&other) else { panic!() };
        assert_eq!(settings.allowed(), [""; 0]);
    }

    #[test]
    fn everything_else_in_the_file_stays_as_it_was() {
        let before =
            "# mine\nallow = [\"make *\"] # builds\n\n[keys] # secret\nopenai = \"sk-x\"\n\n# model = \"a/b\"\n";
        let home = Home::new();
        home.holds(before);
        fs::set_permissions(home.file(), fs::Permissions::from_mode(0o640)).unwrap();
        home.keep(&["cargo test *"]).unwrap();
        let after = fs::read_to_string(home.file()).unwrap();
        assert!(after.starts_with(before.trim_end()), "{after}");
        assert_eq!(mode(&home.file()), 0o600);
        assert_eq!(home.allowed(), ["make *", "cargo test *"]);
        // Lists keep their lines and comments, in every notation of a project.
        let root = home.places.root.display();
        for text in [
            format!("[projects.\"{root}\"]\nallow = [\n    \"a *\", # one\n    \"b *\", # two\n]\n"),
            format!("projects.\"{root}\".allow = [\"a *\", \"b *\"] # both\n"),
            format!("[projects]\n\"{root}\" = {{ allow = [\"a *\", \"b *\"] }} # one\n"),
            format!("projects = {{ \"{root}\" = {{ allow = [\"a *\", \"b *\"] }} }} # one\n"),
        ] {
            home.holds(&text);
            home.keep(&["c *"]).unwrap();
            assert_eq!(home.allowed(), ["a *", "b *", "c *"], "{text}");
            let after = fs::read_to_string(home.file()).unwrap();
            assert_eq!(after.matches('#').count(), text.matches('#').count(), "{after}");
        }
    }

    #[test]
    fn a_link_to_the_file_stays_one_unless_a_command_could_have_put_it_there() {
        let home = Home::new();
        let real = home.folder.path().join("dotfiles.toml");
        fs::write(&real, "max_steps = 5\n").unwrap();
        fs::create_dir_all(home.file().parent().unwrap()).unwrap();
        symlink(&real, home.file()).unwrap();
        home.keep(&["make *"]).unwrap();
        assert!(home.file().is_symlink() && fs::read_to_string(&real).unwrap().starts_with("max_steps = 5\n"));
        assert_eq!(home.allowed(), ["make *"]);

        let in_project = home.places.root.join("link.toml");
        symlink(&real, &in_project).unwrap();
        fs::remove_file(home.file()).unwrap();
        symlink(&in_project, home.file()).unwrap();
        let before = fs::read_to_string(&real).unwrap();
        let why = home.keep(&["rm *"]).unwrap_err();
        assert!(why.contains("through a link"), "{why}");
        assert_eq!(fs::read_to_string(&real).unwrap(), before);
    }

    #[test]
    fn a_file_that_cannot_take_it_is_left_as_it_is() {
        let home = Home::new();
        for text in ["model = ", "projects = 3\n", "[projects]\n\"/x\" = 1\n", "alow = []\n"] {
            home.holds(text);
            assert!(home.keep(&["make *"]).is_err(), "{text}");
            assert_eq!(fs::read_to_string(home.file()).unwrap(), text);
        }
        home.holds("max_steps = 5\n");
        fs::hard_link(home.file(), home.folder.path().join("other")).unwrap();
        let why = home.keep(&["make *"]).unwrap_err();
        assert!(why.contains("hard link"), "{why}");
        assert_eq!(fs::read_to_string(home.file()).unwrap(), "max_steps = 5\n");
        fs::remove_file(home.file()).unwrap();
        fs::create_dir(home.file()).unwrap();
        assert!(home.keep(&["make *"]).is_err());
        let nowhere = Places::new(None, &home.places.root);
        assert!(keep(&nowhere, &[], &["make *".to_owned()]).is_err());
    }

    #[test]
    fn a_project_permits_nothing_for_itself() {
        let home = Home::new();
        let root = &home.places.root;
        fs::create_dir(root.join(".codelet")).unwrap();
        let text = format!("[projects.\"{}\"]\nallow = [\"rm *\"]\n", root.display());
        fs::write(&home.places.project, text).unwrap();
        let Ok(settings) = Settings::read(&home.places) else {
            panic!()
        };
        assert_eq!(settings.allowed(), [""; 0]);
        assert!(
            settings.notices[0].contains("ignored projects: "),
            "{:?}",
            settings.notices
        );
    }
}
