//! Python virtual environments under `target`, with packages from a pinned list.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The reason why an environment is unavailable.
pub enum Missing {
    /// It cannot be installed here; not a fault.
    Skipped(String),
    /// The installed packages are not the pinned ones.
    Wrong(String),
}

impl Missing {
    /// The result of a chore that cannot continue without it: a message, or an error.
    ///
    /// # Errors
    /// If the installed packages are not the pinned ones.
    pub fn told(self) -> Result<String, Vec<String>> {
        match self {
            Missing::Skipped(why) => Ok(format!("skipped: {why}")),
            Missing::Wrong(why) => Err(vec![why]),
        }
    }

    /// The reason, where both cases are errors: a release is not skipped.
    pub fn why(self) -> String {
        let (Missing::Skipped(why) | Missing::Wrong(why)) = self;
        why
    }
}

/// Packages to be installed into an environment.
pub struct Packages {
    /// The name in messages.
    pub name: &'static str,
    /// The list, for `pip`.
    pub pins: &'static str,
    /// True if the list has hashes of everything; otherwise it has only versions.
    pub has_hashes: bool,
}

/// Installs packages into their own environment, unless they are already there, and returns the directory of their
/// programs.
///
/// # Errors
/// If there is no Python or no package index, or the installed packages are not the pinned ones.
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
    // `--isolated`: user settings must not redirect the package source.
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
    // Done last: it marks the environment as complete.
    std::fs::rename(&draft, &list).map_err(wrong)?;
    Ok(bin)
}

/// The output of a program, or its failure.
///
/// # Errors
/// If it cannot be started, or fails.
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
