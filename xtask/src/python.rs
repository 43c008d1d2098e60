//! The Python package: its wheel, and its tests as installed from there.

use crate::program;
use crate::venv::{self, Missing, Packages, output};
use std::path::{Path, PathBuf};
use std::process::Command;

const LIGHT: Packages = Packages {
    name: "what tests the Python package",
    pins: include_str!("../python/light.txt"),
    has_hashes: true,
};
/// The same with the libraries that it has plugins for.
const HOSTS: Packages = Packages {
    name: "what tests the plugs",
    pins: include_str!("../python/hosts.txt"),
    has_hashes: false,
};

/// Installs the package's test dependencies under the target directory and returns the directory of their programs.
///
/// # Errors
/// Those of [`venv::install`].
pub fn install(target: &Path) -> Result<PathBuf, Missing> {
    venv::install(&target.join("python"), &LIGHT)
}

/// Builds the wheel without optimisation, installs it and tests it; with `all`, also its plugins in the real libraries.
///
/// # Errors
/// If a build or a test fails. If Python or its packages are unavailable, returns a message and no error.
pub fn run(root: &Path, all: bool) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let installed = match all {
        true => venv::install(&target.join("python-all"), &HOSTS),
        false => install(&target),
    };
    let bin = match installed {
        Ok(bin) => bin,
        Err(missing) => return missing.told(),
    };
    let tested = || -> Result<String, String> {
        let codelet = program::as_tested(root)?;
        // `dev` optimises this crate for a benchmark, which takes a minute.
        let profile = [
            "--profile",
            "dev",
            "--config",
            "profile.dev.package.codelet-transcript.opt-level=0",
        ];
        let wheel = built(root, &bin, &codelet, &target.join("wheels/dev"), &profile)?;
        let mut pip = Command::new(bin.join("python3"));
        pip.args(
            "-m pip --isolated install -q --disable-pip-version-check --no-deps --no-index --force-reinstall"
                .split(' '),
        );
        output(pip.arg(&wheel))?;
        // Run from another directory, so that the installed package is imported.
        let tests = root.join("codelet-python/tests");
        let mut types = Command::new(bin.join("mypy"));
        types
            .args(["--strict", "--no-incremental", "--cache-dir=/dev/null"])
            .arg(tests.join("typed.py"));
        output(types.current_dir(&target))?;
        let mut pytest = Command::new(bin.join("python3"));
        pytest
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"])
            .arg(&tests);
        if !all {
            pytest.args(["-m", "not large"]);
        }
        let said = output(pytest.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(&target))?;
        let said = String::from_utf8_lossy(&said.stdout);
        Ok(said.lines().last().unwrap_or_default().to_owned())
    };
    tested().map_err(|error| vec![error])
}

/// Builds the release wheel and returns its path.
///
/// # Errors
/// If a build fails, or maturin is unavailable.
pub fn wheel(root: &Path) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let shipped = || -> Result<String, String> {
        let bin = install(&target).map_err(Missing::why)?;
        output(
            Command::new("cargo")
                .args(["build", "--profile", "dist", "--quiet", "-p", "codelet"])
                .current_dir(root),
        )?;
        let codelet = target.join("dist/codelet");
        let wheel = built(
            root,
            &bin,
            &codelet,
            &target.join("wheels/dist"),
            &["--profile", "dist"],
        )?;
        Ok(wheel.display().to_string())
    };
    shipped().map_err(|error| vec![error])
}

/// Builds a wheel that contains this program.
fn built(root: &Path, bin: &Path, codelet: &Path, out: &Path, profile: &[&str]) -> Result<PathBuf, String> {
    let wrong = |error: std::io::Error| error.to_string();
    let package = root.join("codelet-python");
    let scripts = package.join("wheel-data/scripts");
    std::fs::create_dir_all(&scripts).map_err(wrong)?;
    std::fs::copy(codelet, scripts.join("codelet")).map_err(wrong)?;
    // The program once more under the name of the distribution, for `uvx`.
    std::fs::copy(package.join("codelet-context"), scripts.join("codelet-context")).map_err(wrong)?;
    let _ = std::fs::remove_dir_all(out);
    let mut maturin = Command::new(bin.join("maturin"));
    maturin.arg("build").args(profile).arg("--out").arg(out);
    maturin
        .arg("--interpreter")
        .arg(bin.join("python3"))
        .arg("--target-dir")
        .arg(program::target(root));
    output(maturin.current_dir(&package))?;
    let mut wheels = std::fs::read_dir(out)
        .map_err(wrong)?
        .flatten()
        .map(|entry| entry.path());
    wheels.next().ok_or_else(|| "maturin has built no wheel".to_owned())
}
