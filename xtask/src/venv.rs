//! Environments of Python under `target`, with what a pinned list names.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Why there is no environment.
pub enum Missing {
    /// It cannot be had here; not our fault.
    Skipped(String),
    /// What came is not what it should be.
    Wrong(String),
}

impl Missing {
    /// What a chore ends with that cannot go on without: a line, or a fault.
    ///
    /// # Errors
    /// Where what came is not what it should be.
    pub fn told(self) -> Result<String, Vec<String>> {
        match self {
            Missing::Skipped(why) => Ok(format!("skipped: {why}")),
            Missing::Wrong(why) => Err(vec![why]),
        }
    }

    /// Why, where it makes no difference: what is to be shipped is not skipped.
    pub fn why(self) -> String {
        let (Missing::Skipped(why) | Missing::Wrong(why)) = self;
        why
    }
}

/// What goes into an environment.
pub struct Packages {
    /// For messages: what cannot be had.
    pub name: &'static str,
    /// The list, for `pip`.
    pub pins: &'static str,
    /// Whether the list names the hash of everything; else only versions.
    pub has_hashes: bool,
}

/// Puts packages into an environment of their own, unless they are there already, and says where its programs are.
///
/// # Errors
/// Where there is no Python or no package index, and where what comes is not what it should be.
pub fn install(folder: &Path, packages: &Packages) -> Result<PathBuf, Missing> {
    let Packages { name, pins, .. } = packages;
    if !cfg!(unix) {
        return Err(Missing::Skipped(format!("{name} is run on Unix only")));
    }
    let (bin, list) = (folder.join("venv/bin"), folder.join("kit.txt"));
    if std::fs::read_to_string(&list).is_ok_and(|list| list == *pins) && bin.join("python3").is_file() {
        return Ok(bin);
    }
    let wrong = |error: std::io::Error| Missing::Wrong(format!("{}: {error}", folder.display()));
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let made = output(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder));
    made.map_err(|_| Missing::Skipped("there is no python3 with venv".to_owned()))?;
    let draft = folder.join("pins.txt");
    std::fs::write(&draft, pins).map_err(wrong)?;
    // `--isolated`: no setting of the user redirects where packages come from.
    let arguments = "-m pip --isolated install -q --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
                     --retries 1 --timeout 15 -r pins.txt";
    let mut pip = Command::new(bin.join("python3"));
    pip.args(arguments.split_whitespace()).current_dir(folder);
    if packages.has_hashes {
        pip.arg("--require-hashes");
    }
    match output(&mut pip) {
        Ok(_) => {}
        Err(said) if said.contains("DO NOT MATCH THE HASHES") => return Err(Missing::Wrong(said)),
        Err(_) => {
            let why = format!("{name} cannot be had: it needs Python 3.11 and a package index");
            return Err(Missing::Skipped(why));
        }
    }
    // Last: it says that everything else is there.
    std::fs::rename(&draft, &list).map_err(wrong)?;
    Ok(bin)
}

/// What a program printed, or how it failed.
///
/// # Errors
/// When it cannot be started, or says that it failed.
pub fn output(command: &mut Command) -> Result<Output, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("{program}: {error}"))?;
    match done.status.success() {
        true => Ok(done),
        false => {
            let (said, told) = (
                String::from_utf8_lossy(&done.stderr),
                String::from_utf8_lossy(&done.stdout),
            );
            Err(format!("{program}: {}\n{}", said.trim(), told.trim())
                .trim_end()
                .to_owned())
        }
    }
}
