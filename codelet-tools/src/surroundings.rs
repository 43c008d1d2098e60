//! The world around a session, as the loop tells the model of it: files of instructions, the machine, the repository.

use crate::files;
use crate::process::{self, End, Program};
use crate::text;
use codelet_agent::surroundings::{Places, Surroundings};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long git may take in all. What it has not said by then is left out.
const TIME: Duration = Duration::from_secs(2);
/// Bytes of one answer of git that are looked at.
const ANSWER: usize = 256 * 1024;
/// Changed files, and commits, that are named.
const CHANGED: usize = 50;
const COMMITS: usize = 5;
/// Bytes of one line that are shown.
const LINE: usize = 200;

/// What the world is to be seen from.
#[derive(Clone)]
pub struct World {
    /// Where the session works.
    pub directory: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Folders with the user's own instructions.
    pub own: Vec<PathBuf>,
    /// The shell's name, as the model is told.
    pub shell: String,
    /// The environment that git gets: without keys.
    pub env: Vec<(OsString, OsString)>,
    /// Today, as `2026-11-22`. It is asked each time, since sessions outlast days.
    pub today: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The day in UTC, as `2026-11-22`.
pub fn date_utc(time: SystemTime) -> String {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    // Days since 0000-03-01, in eras of 400 years (Howard Hinnant's `civil_from_days`).
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

impl Surroundings for World {
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok().filter(|path| path.is_file())
    }

    fn text(&self, path: &Path, limit: usize) -> Option<(String, u64)> {
        // Instructions may well be a link to a file kept elsewhere.
        let path = path.canonicalize().ok()?;
        let (file, metadata) = files::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.take((limit as u64).saturating_add(4))
            .read_to_end(&mut bytes)
            .ok()?;
        if text::picture(&bytes).is_some() || text::binary_kind(&bytes).is_some() {
            return None;
        }
        let size = metadata.len().max(bytes.len() as u64);
        let mut text = text::decode(&bytes).text.into_owned();
        if text.len() > limit {
            text.truncate(text.floor_char_boundary(limit));
        }
        Some((text, size))
    }

    fn places(&self) -> Places {
        let directory = self.directory.canonicalize().unwrap_or_else(|_| self.directory.clone());
        Places {
            root: root(&directory).unwrap_or_else(|| directory.clone()),
            directory,
            own: self.own.clone(),
            home: self.home.clone(),
        }
    }

    fn environment(&self) -> String {
        let is_git = root(&self.places().directory).is_some();
        format!(
            "directory: {}\nplatform: {}\narchitecture: {}\nshell: {}\ndate: {}\ngit repository: {}\n",
            self.places().directory.display(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            self.shell,
            (self.today)(),
            if is_git { "yes" } else { "no" },
        )
    }

    fn git_status(&self) -> Option<String> {
        root(&self.places().directory)?;
        let deadline = std::time::Instant::now() + TIME;
        let ask = |arguments: &[&str]| {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            self.git(arguments, left)
        };
        let status = ask(&["status", "--porcelain=v1", "--branch", "--untracked-files=normal", "-z"]);
        let mut out = match status {
            Some((answer, is_whole)) => state(&answer, is_whole),
            // The repository may be too large to look through in time; its branch is known at once.
            None => {
                let (branch, _) = ask(&["rev-parse", "--abbrev-ref", "HEAD"])
                    .or_else(|| self.git(&["rev-parse", "--abbrev-ref", "HEAD"], TIME / 4))?;
                format!(
                    "branch: {}\nchanged files: not known, git took too long\n",
                    one_line(branch.trim())
                )
            }
        };
        let count = format!("-{COMMITS}");
        if let Some((log, _)) = ask(&["log", "--no-show-signature", "--format=%h %s", &count])
            && !log.trim().is_empty()
        {
            out.push_str("last commits:\n");
            for line in log.lines().take(COMMITS) {
                out.push_str(&format!("  {}\n", one_line(line)));
            }
        }
        Some(out)
    }
}

impl World {
    /// What git answers, and whether that is all; nothing where it fails or takes too long.
    fn git(&self, arguments: &[&str], timeout: Duration) -> Option<(String, bool)> {
        // A look changes nothing, not even git's own notes, and starts nothing that the repository names.
        let quiet = [
            "--no-optional-locks",
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ];
        let mut environment = self.env.clone();
        environment.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
        environment.push(("LC_ALL".into(), "C".into()));
        let program = Program {
            program: "git".into(),
            arguments: quiet.iter().chain(arguments).map(OsString::from).collect(),
            directory: self.directory.clone(),
            environment,
            sandbox: None,
            timeout,
        };
        let mut answer = Vec::new();
        let mut is_whole = true;
        let ended = process::run(program, None, &mut |bytes| {
            let room = ANSWER - answer.len();
            is_whole &= bytes.len() <= room;
            answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
        });
        let is_done = ended.is_ok_and(|ended| ended.end == End::Exited(0));
        is_done.then(|| (String::from_utf8_lossy(&answer).into_owned(), is_whole))
    }
}

/// The repository that a folder belongs to.
pub fn root(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
        .map(Path::to_owned)
}

/// Branch and changed files, from what `git status --porcelain=v1 --branch -z` says.
fn state(answer: &str, is_whole: bool) -> String {
    let mut entries = answer.split('\0').filter(|entry| !entry.is_empty());
    let mut out = String::new();
    let mut changed: Vec<String> = Vec::new();
    let mut count = 0;
    while let Some(entry) = entries.next() {
        if let Some(branch) = entry.strip_prefix("## ") {
            out.push_str(&format!("branch: {}\n", one_line(branch)));
            continue;
        }
        let Some((signs, path)) = entry.split_at_checked(3) else {
            continue;
        };
        // The old name of what was renamed or copied is an entry of its own.
        let from = signs.contains(['R', 'C']).then(|| entries.next()).flatten();
        count += 1;
        if changed.len() < CHANGED {
            let from = from.map(|from| format!("{from} -> ")).unwrap_or_default();
            changed.push(one_line(&format!("{signs}{from}{path}")));
        }
    }
    match count {
        0 => out.push_str("changed files: none\n"),
        _ => out.push_str("changed files:\n"),
    }
    for line in &changed {
        out.push_str(&format!("  {line}\n"));
    }
    if count > changed.len() || !is_whole {
        let more = if is_whole {
            (count - changed.len()).to_string()
        } else {
            "many".to_owned()
        };
        out.push_str(&format!("  and {more} more\n"));
    }
    out
}

/// A line that comes from a name or a commit, which may hold anything.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text::shorten(&line, LINE).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn world(directory: &Path) -> World {
        World {
            directory: directory.to_owned(),
            home: None,
            own: Vec::new(),
            shell: "bash".to_owned(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            today: Arc::new(|| "2026-11-22".to_owned()),
        }
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let identity = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "-c",
            "init.defaultBranch=main",
        ];
        let done = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    #[test]
    fn a_repository_is_told_in_a_few_lines() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        assert_eq!(world(&base).git_status(), None);
        git(&base, &["init", "-q"]);
        std::fs::write(base.join("a b"), "x").unwrap();
        std::fs::create_dir(base.join("sub")).unwrap();
        assert!(world(&base).git_status().unwrap().contains("No commits yet on main"));
        git(&base, &["add", "."]);
        git(&base, &["commit", "-qm", "The first\n\nbody"]);
        git(&base, &["mv", "a b", "c"]);
        std::fs::write(base.join("new\n## line"), "x").unwrap();
        let status = world(&base.join("sub")).git_status().unwrap();
        let (state, commits) = status.split_once("last commits:\n").unwrap();
        assert_eq!(state, "branch: main\nchanged files:\n  R  a b -> c\n  ?? new ## line\n");
        assert!(
            commits.ends_with(" The first\n") && commits.lines().count() == 1,
            "{commits}"
        );
        assert_eq!(world(&base.join("sub")).places().root, base);
    }

    #[test]
    fn many_changes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        for number in 0..80 {
            std::fs::write(folder.path().join(format!("file{number}")), "").unwrap();
        }
        let status = world(folder.path()).git_status().unwrap();
        assert!(status.contains("  and 30 more\n"), "{status}");
    }

    #[test]
    fn the_environment_is_one_fact_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let told = world(folder.path()).environment();
        assert!(
            told.contains("shell: bash\ndate: 2026-11-22\ngit repository: no\n"),
            "{told}"
        );
        assert!(told.lines().all(|line| line.contains(": ")));
    }

    #[test]
    fn instructions_are_text_of_bounded_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("AGENTS.md");
        std::fs::write(&path, "ä".repeat(100)).unwrap();
        let world = world(folder.path());
        assert_eq!(world.text(&path, 5), Some(("ää".to_owned(), 200)));
        std::os::unix::fs::symlink("AGENTS.md", folder.path().join("CLAUDE.md")).unwrap();
        assert_eq!(world.text(&folder.path().join("CLAUDE.md"), 1000).unwrap().0.len(), 200);
        std::fs::write(&path, "a\0b").unwrap();
        assert_eq!(world.text(&path, 100), None);
        assert_eq!(world.text(folder.path(), 100), None);
        assert_eq!(world.text(Path::new("/dev/zero"), 100), None);
    }

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_305_600, "2026-11-22"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(
                date_utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
                expected
            );
        }
    }

    proptest! {
        #[test]
        fn any_answer_of_git_becomes_a_few_lines(answer in "(?s)[#a-zRC? \0\n]{0,200}.{0,20}", is_whole: bool) {
            let told = state(&answer, is_whole);
            prop_assert!(told.lines().count() <= answer.len() + 3);
            prop_assert!(!told.contains('\0'));
        }
    }
}
