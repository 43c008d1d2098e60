//! Programs of the user that run outside the sandbox: nothing that a sandboxed command could have changed decides what
//! is started.

use crate::owned::on_the_way;
use crate::sandbox::Sandbox;
use crate::tool_context::{PATH, ToolContext, program_folders};
use crate::{Options, TEMPORARY, environment};
use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Variables that make interpreters, linkers and browser launchers run other code.
const STARTS_CODE: [&str; 22] = [
    "BASH_ENV", "BROWSER", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "ENV",
    "GEM_HOME", "GEM_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT", "PYTHONHOME", "PYTHONPATH", "RUBYLIB", "RUBYOPT",
];

/// The search path and environment of such programs.
pub struct Outside {
    context: ToolContext,
    /// The sandbox with the most writable folders.
    sandbox: Sandbox,
    /// Folders in which earlier commands may have left anything.
    open: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

impl Outside {
    /// Creates the environment for a session with these options.
    pub fn new(options: &Options) -> Self {
        Outside::beside(options, TEMPORARY.map(PathBuf::from).into())
    }

    fn beside(options: &Options, open: Vec<PathBuf>) -> Self {
        let context = ToolContext::new(options.clone());
        let sandbox = context.widest();
        let mut outside = Outside {
            context,
            sandbox,
            open,
            environment: Vec::new(),
        };
        let mut environment = environment(options);
        environment.retain(|(name, value)| {
            let starts_code = STARTS_CODE.iter().any(|known| name == known);
            name != "PATH" && !(starts_code && outside.names_changeable(value))
        });
        let mut path = outside.context.safe_path();
        if path.is_empty() {
            // Without `PATH`, programs would be searched in the working directory.
            path = PATH.into();
        }
        environment.push(("PATH".into(), path));
        outside.environment = environment;
        outside
    }

    /// The session's environment without secrets, without `PATH` folders into which commands can write programs, and
    /// without variables that load code which commands can change.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Finds a program in that `PATH`. A name with a `/` is a path already, and a name that is not found is returned as
    /// it is.
    ///
    /// # Errors
    /// If it is found only through links that lead to places where commands can write.
    pub fn program(&self, name: &str) -> Result<PathBuf, String> {
        let mut changeable = None;
        if !name.contains('/') {
            for folder in program_folders(&self.environment, PATH, &self.sandbox) {
                let path = folder.join(name);
                if !path.is_file() || rustix::fs::access(&path, Access::EXEC_OK).is_err() {
                    continue;
                }
                if !self.is_changeable(&path) {
                    return Ok(path);
                }
                changeable = Some(path);
            }
        }
        match changeable {
            None => Ok(name.into()),
            Some(path) => Err(format!(
                "{} leads to where commands in the sandbox can change it; name the program by its whole path",
                path.display()
            )),
        }
    }

    /// Returns an empty, permanent folder of this name, in which no sandboxed command can put anything.
    ///
    /// # Errors
    /// Says why there is no place for it.
    pub fn folder(&self, name: &str) -> Result<PathBuf, String> {
        self.context.within_private(|private| {
            let folder = private.join(name);
            // Without its own `node_modules`, `npx` uses packages from parent folders.
            for folder in [&folder, &folder.join("node_modules")] {
                match std::fs::create_dir(folder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ if !folder.symlink_metadata()?.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
                    _ => {}
                }
            }
            Ok(folder)
        })
    }

    /// Returns whether a sandboxed command, of this session or an earlier one, can have changed this path or a link on
    /// the way.
    fn is_changeable(&self, path: &Path) -> bool {
        let mut places = on_the_way(path);
        places.extend(path.canonicalize());
        places.push(path.to_owned());
        let is_open = |place: &PathBuf| self.open.iter().any(|folder| place.starts_with(folder));
        places.iter().any(|place| self.sandbox.writes(place) || is_open(place))
    }

    /// Returns whether the value of a variable contains such a path.
    fn names_changeable(&self, value: &OsStr) -> bool {
        let bytes = value.as_bytes();
        // In lists, in options such as `--require=…` and `-javaagent:…`, in quotes; paths may contain spaces.
        let part = |separators: &'static [u8]| bytes.split(|byte| separators.contains(byte));
        part(b":=,;'\"").chain(part(b" \t\n:=,;'\"")).any(|part| {
            let part = part.trim_ascii();
            // `-I/folder`.
            let begins = part.iter().position(|byte| *byte == b'/');
            let begins = begins.filter(|begins| *begins == 0 || part[0] == b'-');
            begins.is_some_and(|begins| self.is_changeable(Path::new(OsStr::from_bytes(&part[begins..]))))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// Options of a session in a folder `work`, with programs in the folders `bin` and `work/bin`; `cache` belongs to
    /// the user.
    fn options(folder: &Path) -> Options {
        for inner in ["work/bin", "bin", "cache"] {
            std::fs::create_dir_all(folder.join(inner)).unwrap();
        }
        let mut options = Options::new(folder.join("work"));
        options.temporary = folder.join("work");
        options.private = vec![folder.join("cache/codelet")];
        let path = std::env::join_paths([folder.join("work/bin"), folder.join("bin")]).unwrap();
        options.env = vec![("PATH".into(), path)];
        options
    }

    fn program(path: &Path) {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The outside environment for these options; the tests' own folder counts as open to earlier commands.
    fn outside(options: &Options) -> Outside {
        Outside::beside(options, vec![PathBuf::from("/tmp/earlier")])
    }

    #[test]
    fn programs_are_found_by_name_where_no_command_can_have_put_them() {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().canonicalize().unwrap();
        let options = options(&folder);
        for name in ["work/bin/one", "bin/one", "work/tool", "real"] {
            program(&folder.join(name));
        }
        std::fs::write(folder.join("bin/text"), "").unwrap();
        for (name, target) in [("two", "../work/tool"), ("three", "../work/way"), ("four", "../real")] {
            symlink(target, folder.join("bin").join(name)).unwrap();
        }
        symlink("../real", folder.join("work/way")).unwrap();
        let outside = outside(&options);
        let bin = folder.join("bin");
        assert_eq!(outside.environment(), [("PATH".into(), bin.clone().into_os_string())]);
        assert_eq!(outside.program("one").unwrap(), bin.join("one"));
        assert_eq!(outside.program("four").unwrap(), bin.join("four"));
        for name in ["two", "three"] {
            let why = outside.program(name).unwrap_err();
            assert!(why.contains(&bin.join(name).display().to_string()), "{why}");
        }
        for name in ["text", "none", "./one", "/no/such"] {
            assert_eq!(outside.program(name).unwrap(), Path::new(name));
        }
    }

    #[test]
    fn variables_that_start_what_commands_can_change_are_left_out() {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().canonicalize().unwrap();
        let mut options = options(&folder);
        let (own, theirs) = (
            folder.join("lib").display().to_string(),
            folder.join("work/lib dir").display().to_string(),
        );
        for (name, value) in [
            ("PYTHONPATH", format!("{own}:{theirs}")),
            ("RUBYLIB", own.clone()),
            ("NODE_OPTIONS", format!("--no-warnings --require={theirs}/a.js")),
            ("JAVA_TOOL_OPTIONS", format!("-javaagent:\"{theirs}/a.jar\"")),
            ("PERL5OPT", "-I/tmp/earlier/x".to_owned()),
            ("PROJECT", theirs.clone()),
        ] {
            options.env.push((name.into(), value.into()));
        }
        let outside = outside(&options);
        let names: Vec<_> = outside
            .environment()
            .iter()
            .map(|(name, _)| name.to_str().unwrap())
            .collect();
        assert_eq!(names, ["RUBYLIB", "PROJECT", "PATH"]);
    }

    #[test]
    fn where_commands_can_put_programs_everywhere_the_usual_folders_are_left() {
        let held = tempfile::tempdir().unwrap();
        let mut options = options(&held.path().canonicalize().unwrap());
        options.env = vec![("PATH".into(), held.path().join("work/bin").into())];
        assert_eq!(outside(&options).environment(), [("PATH".into(), PATH.into())]);
    }

    #[test]
    fn a_folder_apart_is_the_users_and_has_a_place_for_packages() {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().canonicalize().unwrap();
        let options = options(&folder);
        for _ in 0..2 {
            let made = outside(&options).folder("servers").unwrap();
            assert_eq!(made, folder.join("cache/codelet/servers"));
            assert!(made.join("node_modules").is_dir());
        }
        std::fs::remove_dir(folder.join("cache/codelet/servers/node_modules")).unwrap();
        symlink(folder.join("work"), folder.join("cache/codelet/servers/node_modules")).unwrap();
        assert!(outside(&options).folder("servers").is_err());
    }

    #[test]
    fn a_folder_that_commands_could_write_to_if_it_existed_is_used_only_in_the_home_if_there_is_no_other_and_then_kept_from_them()
     {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().canonicalize().unwrap();
        let mut options = options(&folder);
        let shared = folder.join("shared");
        for inner in ["home", "bin"] {
            std::fs::create_dir_all(shared.join(inner)).unwrap();
        }
        options.temporary = shared.clone();
        options.home = Some(shared.join("home"));
        let within = shared.join("home/.cache/codelet");
        options.private.insert(0, within.clone());
        let made = outside(&options).folder("servers").unwrap();
        assert_eq!(made, folder.join("cache/codelet/servers"));
        options.private = vec![
            folder.join("work/cache/codelet"),
            shared.join("run/codelet"),
            within.clone(),
        ];
        for _ in 0..2 {
            let outside = outside(&options);
            assert_eq!(outside.folder("servers").unwrap(), within.join("servers"));
            let sandbox = outside.context.widest();
            assert!(!sandbox.writes(&within) && sandbox.writes(&shared.join("bin")));
        }
        options.private = vec![folder.join("work/cache/codelet"), shared.join("run/codelet")];
        assert!(outside(&options).folder("servers").is_err());
    }
}
