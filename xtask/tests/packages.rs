//! Tests the installer and the formula, filled in for archives in a directory.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TARGETS: [&str; 4] = [
    "aarch64-apple-darwin", "aarch64-unknown-linux-musl", "x86_64-apple-darwin", "x86_64-unknown-linux-musl",
];
const URL: &str = "https://example.org/releases/v9.8.7";

/// A temporary directory with the archives of a release, and one to install into.
struct Release(PathBuf);

impl Release {
    fn new(name: &str) -> Self {
        let release = Release(std::env::temp_dir().join(format!("codelet-packages-{name}-{}", std::process::id())));
        fs::create_dir_all(&release.0).expect("the folder is there");
        for target in TARGETS {
            release.pack(target, &format!("#!/bin/sh\necho codelet 9.8.7 for {target}\n"));
        }
        release
    }

    fn pack(&self, target: &str, program: &str) {
        fs::write(self.0.join("codelet"), program).expect("the program is written");
        let archive = format!("codelet-9.8.7-{target}.tar.gz");
        succeeds(
            Command::new("tar")
                .args(["-czf", &archive, "codelet"])
                .current_dir(&self.0),
        );
    }

    fn fill(&self) -> Output {
        let fill = codelet_testkit::workspace().join("packages/fill");
        let mut fill = Command::new(fill);
        done(fill.args(["9.8.7", URL]).arg(&self.0))
    }

    fn bin(&self) -> PathBuf {
        self.0.join("into")
    }

    fn install(&self, from: &Path) -> Output {
        let mut sh = Command::new("sh");
        sh.arg(self.0.join("install.sh")).env("CODELET_FROM", from);
        done(sh.env("CODELET_INTO", self.bin()))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn done(command: &mut Command) -> Output {
    command.output().expect("it can be started")
}

#[track_caller]
fn succeeds(command: &mut Command) {
    let output = done(command);
    assert!(output.status.success(), "{}", errors(&output));
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_has_the_hash_of_the_release_is_installed() {
    let release = Release::new("installed");
    let filled = release.fill();
    assert!(filled.status.success(), "{}", errors(&filled));
    for _ in 0..2 {
        let installed = release.install(&release.0);
        assert!(installed.status.success(), "{}", errors(&installed));
        let said = String::from_utf8_lossy(&installed.stdout).into_owned();
        assert!(said.contains("into/codelet, codelet 9.8.7 for "), "{said}");
    }
    assert_eq!(fs::read_dir(release.bin()).expect("it is there").count(), 1);
}

#[test]
fn what_has_another_hash_or_none_is_not_installed() {
    let release = Release::new("refused");
    assert!(release.fill().status.success());
    for target in TARGETS {
        release.pack(target, "#!/bin/sh\necho something else\n");
    }
    let other = release.install(&release.0);
    assert!(!other.status.success());
    assert!(
        errors(&other).contains("is not the released file"),
        "{}",
        errors(&other)
    );

    let installer = release.0.join("install.sh");
    let text = fs::read_to_string(&installer).expect("it was filled in");
    let without: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("unknown-linux-musl.tar.gz"))
        .collect();
    let without: Vec<&str> = without
        .into_iter()
        .filter(|line| !line.contains("apple-darwin.tar.gz"))
        .collect();
    fs::write(&installer, without.join("\n").replace("set -eu", "set -eu\nhashes=")).expect("it is written");
    let unknown = release.install(&release.0);
    assert!(!unknown.status.success());
    assert!(
        errors(&unknown).contains("no hash of codelet-9.8.7-"),
        "{}",
        errors(&unknown)
    );
    assert!(!release.bin().exists());
}

#[test]
fn nothing_is_fetched_unencrypted_and_half_an_installer_does_nothing() {
    let release = Release::new("fetched");
    assert!(release.fill().status.success());
    let plain = release.install(Path::new("http://example.org"));
    assert!(!plain.status.success());
    assert!(errors(&plain).contains("only https is allowed"), "{}", errors(&plain));

    let installer = release.0.join("install.sh");
    let text = fs::read_to_string(&installer).expect("it was filled in");
    let half = text
        .trim_end()
        .strip_suffix("main")
        .expect("it ends with the call of all of it");
    fs::write(&installer, half).expect("it is written");
    assert!(release.install(&release.0).stdout.is_empty());
    assert!(!release.bin().exists());
}

#[test]
fn the_formula_names_every_archive_with_its_hash_and_a_release_lacks_none() {
    let release = Release::new("formula");
    assert!(release.fill().status.success());
    let formula = fs::read_to_string(release.0.join("codelet.rb")).expect("it was filled in");
    let sums = fs::read_to_string(release.0.join("SHA256SUMS")).expect("it was filled in");
    for (line, target) in sums.lines().zip(TARGETS) {
        let (sum, name) = line.split_once("  ").expect("a hash and a name");
        assert_eq!(name, format!("codelet-9.8.7-{target}.tar.gz"));
        let pair = format!("url \"{URL}/{name}\"\n      sha256 \"{sum}\"");
        assert!(formula.contains(&pair), "{formula}");
    }
    assert!(!formula.contains('@'), "{formula}");

    fs::remove_file(release.0.join("codelet-9.8.7-x86_64-apple-darwin.tar.gz")).expect("it was there");
    let filled = release.fill();
    assert!(!filled.status.success());
    assert!(
        errors(&filled).contains("no archive for x86_64-apple-darwin"),
        "{}",
        errors(&filled)
    );
}
