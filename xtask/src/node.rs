//! The JavaScript package: packing it, and its tests as installed from there.

use crate::npm::{self, Packages, npm};
use crate::program;
use crate::venv::{Missing, output};
use serde_json::{Value, json};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

const LIGHT: Packages = Packages {
    name: "what tests the JavaScript package",
    manifest: include_str!("../node/light/package.json"),
    lock: Some(include_str!("../node/light/package-lock.json")),
};

/// The same with the programs and libraries that it has plugins for.
const HOSTS: Packages = Packages {
    name: "what tests the plugs",
    manifest: include_str!("../node/hosts/package.json"),
    lock: None,
};

/// The tests of the plugins.
const PLUGS: &str = "ai.plug.mjs opencode.plug.mjs pi.plug.mjs openclaw.plug.mjs claude-code.plug.mjs";

/// A platform, in npm's terms.
struct Platform {
    system: &'static str,
    processor: &'static str,
    /// The C library that the addon needs, if there are several.
    library: Option<&'static str>,
}

impl Platform {
    const fn new(system: &'static str, processor: &'static str, library: Option<&'static str>) -> Self {
        Self {
            system,
            processor,
            library,
        }
    }

    /// The name of the package with its binaries.
    fn package(&self) -> String {
        format!("codelet-{}-{}", self.system, self.processor)
    }

    /// The platform of this program.
    fn this() -> Result<&'static Self, String> {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let processor = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let mut known = PLATFORMS.iter();
        let this = known.find(|one| (one.system, one.processor) == (system, processor));
        this.ok_or_else(|| format!("no package is made for {system} on {processor}"))
    }
}

/// The platforms that a release is built for, the same as for the program.
const PLATFORMS: &[Platform] = &[
    Platform::new("linux", "x64", Some("glibc")),
    Platform::new("linux", "arm64", Some("glibc")),
    Platform::new("darwin", "x64", None),
    Platform::new("darwin", "arm64", None),
];

/// The contents of the packages.
struct Built<'a> {
    program: PathBuf,
    addon: PathBuf,
    repository: Option<&'a str>,
}

/// Packs the test build, installs it into an empty project and tests it there; with `all`, also its plugins in the real
/// hosts.
///
/// # Errors
/// If a build or a test fails. If Node or its packages are unavailable, returns a message and no error.
pub fn run(root: &Path, all: bool) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let (name, packages) = if all { ("node-all", HOSTS) } else { ("node", LIGHT) };
    let folder = target.join(name);
    let modules = match npm::install(&folder, &packages) {
        Ok(modules) => modules,
        Err(missing) => return missing.told(),
    };
    let tested = || -> Result<String, String> {
        let this = Platform::this()?;
        let built = Built {
            program: program::as_tested(root)?,
            addon: addon_in(&target.join("debug/deps")),
            repository: None,
        };
        let packed = packed(
            root,
            &built,
            &modules,
            &target.join("npm/dev"),
            std::slice::from_ref(this),
        )?;
        let project = Project {
            folder: folder.join("project"),
            modules,
        };
        project.install(root, &packed)?;
        project.check_types("typed.mts", &[])?;
        let passed = project.test("node", "codelet.test.mjs", root)?;
        match all {
            false => Ok(passed),
            true => Ok(format!("{passed}; in hosts: {}", project.test_plugs(this, root)?)),
        }
    };
    tested().map_err(|error| vec![error])
}

/// Packs the release build for this platform and returns its path. With a `repository`, the package names it, which a
/// registry requires to accept its provenance. Without one, the package is for local installation: it does not name the
/// other platforms' packages, as npm would request them from a registry.
///
/// # Errors
/// If a build fails, or the TypeScript compiler is unavailable.
pub fn package(root: &Path, repository: Option<&str>) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let shipped = || -> Result<String, String> {
        let modules = npm::install(&target.join("node"), &LIGHT).map_err(Missing::why)?;
        let mut cargo = Command::new("cargo");
        cargo.args([
            "build", "--profile", "dist", "--quiet", "-p", "codelet", "-p", "codelet-node",
        ]);
        output(cargo.current_dir(root))?;
        let built = Built {
            program: target.join("dist/codelet"),
            addon: addon_in(&target.join("dist")),
            repository,
        };
        let platforms = match repository {
            Some(_) => PLATFORMS,
            None => std::slice::from_ref(Platform::this()?),
        };
        let packed = packed(root, &built, &modules, &target.join("npm/dist"), platforms)?;
        let packed: Vec<String> = packed.iter().map(|file| file.display().to_string()).collect();
        Ok(packed.join("\n"))
    };
    shipped().map_err(|error| vec![error])
}

fn addon_in(folder: &Path) -> PathBuf {
    folder.join(format!("{DLL_PREFIX}codelet_node{DLL_SUFFIX}"))
}

/// Packs the package, which names these platforms, and the one for this platform that it needs.
fn packed(
    root: &Path,
    built: &Built<'_>,
    modules: &Path,
    out: &Path,
    platforms: &[Platform],
) -> Result<[PathBuf; 2], String> {
    let source = root.join("codelet-node");
    let _ = std::fs::remove_dir_all(out);
    let manifest = std::fs::read_to_string(source.join("package.json")).map_err(|error| error.to_string())?;
    let mut manifest: Value = serde_json::from_str(&manifest).map_err(|error| format!("package.json: {error}"))?;
    manifest["version"] = json!(VERSION);
    let platforms = platforms.iter().map(|one| (one.package(), json!(VERSION)));
    manifest["optionalDependencies"] = platforms.collect();
    name_repository(&mut manifest, built.repository);
    let all = out.join("codelet");
    write(root, &all, &manifest)?;
    copy(&source.join("README.md"), &all.join("README.md"))?;
    let mut tsc = tsc(modules);
    output(tsc.arg("-p").arg(&source).arg("--outDir").arg(all.join("dist")))?;

    let this = Platform::this()?;
    let own = out.join(this.package());
    let mut manifest = manifest_of(this);
    name_repository(&mut manifest, built.repository);
    write(root, &own, &manifest)?;
    let program = built.program.file_name().unwrap_or_default();
    copy(&built.program, &own.join("bin").join(program))?;
    copy(&built.addon, &own.join("codelet.node"))?;

    output(npm("pack", out).args([&own, &all]).arg("--pack-destination").arg(out))?;
    let tarball = |name: &str| out.join(format!("{name}-{VERSION}.tgz"));
    Ok([tarball(&this.package()), tarball("codelet")])
}

fn manifest_of(platform: &Platform) -> Value {
    let mut manifest = json!({
        "name": platform.package(),
        "version": VERSION,
        "description": format!("What codelet needs for {} on {}.", platform.system, platform.processor),
        "license": "MIT OR Apache-2.0",
        "os": [platform.system],
        "cpu": [platform.processor],
        "main": "codelet.node",
        "files": ["codelet.node", "bin", "LICENSE-*"],
    });
    if let Some(library) = platform.library {
        manifest["libc"] = json!([library]);
    }
    manifest
}

fn name_repository(manifest: &mut Value, repository: Option<&str>) {
    if let Some(address) = repository {
        manifest["repository"] = json!({"type": "git", "url": format!("git+{address}.git")});
    }
}

/// The TypeScript compiler, without its input files.
fn tsc(modules: &Path) -> Command {
    let mut tsc = Command::new("node");
    tsc.arg(modules.join("typescript/bin/tsc"))
        .arg("--typeRoots")
        .arg(modules.join("@types"));
    tsc
}

/// Writes a package's manifest.
fn write(root: &Path, folder: &Path, manifest: &Value) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(wrong)?;
    std::fs::write(folder.join("package.json"), format!("{manifest:#}\n")).map_err(wrong)?;
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(license), &folder.join(license))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{} → {}: {error}", from.display(), to.display());
    std::fs::create_dir_all(to.parent().unwrap_or(to)).map_err(wrong)?;
    std::fs::copy(from, to).map(drop).map_err(wrong)
}

/// A project into which the package is installed, together with what its tests need.
struct Project {
    folder: PathBuf,
    modules: PathBuf,
}

impl Project {
    /// Installs the packed packages, and copies the tests.
    fn install(&self, root: &Path, packed: &[PathBuf]) -> Result<(), String> {
        let Self { folder, .. } = self;
        let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(wrong)?;
        std::fs::write(folder.join("package.json"), "{\"private\": true}\n").map_err(wrong)?;
        output(npm("install", folder).arg("--offline").args(packed))?;
        let tests = std::fs::read_dir(root.join("codelet-node/tests")).map_err(wrong)?;
        let tests = tests.flatten().map(|test| test.path());
        for test in tests.filter(|test| test.extension().is_some_and(|kind| kind != "rs")) {
            copy(&test, &folder.join(test.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Compiles a test of argument and return types.
    fn check_types(&self, file: &str, more: &[&str]) -> Result<(), String> {
        let strict = "--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2022 --types node";
        let mut tsc = tsc(&self.modules);
        tsc.args(strict.split(' ')).args(more).arg(file);
        output(tsc.current_dir(&self.folder)).map(drop)
    }

    /// Runs tests and reports how many passed.
    fn test(&self, node: impl AsRef<OsStr>, files: &str, root: &Path) -> Result<String, String> {
        let mut node = Command::new(node);
        node.args(["--test", "--test-reporter=tap"])
            .args(files.split(' '))
            .env("CODELET_FIXTURES", root.join("fixtures"));
        let said = output(node.current_dir(&self.folder))?;
        let said = String::from_utf8_lossy(&said.stdout);
        let passed = said.lines().find_map(|line| line.strip_prefix("# pass "));
        passed.map_or_else(
            || Err("no test was run".to_owned()),
            |count| Ok(format!("{count} passed")),
        )
    }

    /// Tests the plugins with a Node that is new enough for their hosts.
    fn test_plugs(&self, this: &Platform, root: &Path) -> Result<String, String> {
        let newer = format!("node-{}-{}/bin/node", this.system, this.processor);
        let newer = self.modules.join(newer);
        let node = if newer.is_file() { newer } else { PathBuf::from("node") };
        // The hosts' own types are not checked.
        self.check_types("plugs.mts", &["--skipLibCheck"])?;
        self.test(node, PLUGS, root)
    }
}
