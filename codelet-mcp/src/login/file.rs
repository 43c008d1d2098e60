//! Stores logins as files: one per server, readable only by the user, written atomically, and never through a link.

use super::Login;
use crate::is_name;
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes; some companies' tokens are long.
const LARGEST: u64 = 512 * 1024;
/// The mode of the folder: access for the user only.
const FOLDER: Mode = Mode::RWXU;
/// The mode of a file.
const OWN: Mode = Mode::RUSR.union(Mode::WUSR);

/// The folder of the logins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logins(PathBuf);

impl Logins {
    /// The logins stored in this folder, which is created with the first of them.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Logins(folder.into())
    }

    /// The file of the login at a server.
    pub fn path(&self, server: &str) -> PathBuf {
        self.0.join(file_name(server))
    }

    /// The folder of the logins. It changes with each login that is written.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The secrets in all logins that can be read.
    pub fn secrets(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().filter_map(Result::ok);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter_map(|name| self.read(name.strip_suffix(".json")?).ok().flatten())
            .flat_map(|login| login.secrets())
            .collect()
    }

    /// Deletes the login at a server. Returns whether there was one.
    ///
    /// # Errors
    /// If the folder or file has the wrong owner, mode or type, or may not be changed.
    pub fn remove(&self, server: &str) -> io::Result<bool> {
        named(server)?;
        match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
            Ok(folder) => match fs::unlinkat(&folder, file_name(server), AtFlags::empty()) {
                Err(Errno::NOENT) => Ok(false),
                Err(error) => Err(error.into()),
                Ok(()) => Ok(true),
            },
        }
    }

    /// Reads the login at a server, if there is one.
    pub(crate) fn read(&self, server: &str) -> io::Result<Option<Login>> {
        named(server)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = self.open().and_then(|folder| {
            let opened = fs::openat(&folder, file_name(server), flags, Mode::empty());
            opened.map_err(|error| match error {
                Errno::LOOP => io::Error::other("it is a link"),
                error => error.into(),
            })
        });
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => File::from(opened?),
        };
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        is_own(&found, &self.path(server))?;
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other("it is too large"));
        }
        // The parser's message would repeat the file's contents.
        let login = serde_json::from_slice(&bytes).map_err(|_| io::Error::other("it is not a valid login"))?;
        Ok(Some(login))
    }

    /// Stores a login, replacing the previous one.
    pub(crate) fn write(&self, server: &str, login: &Login) -> io::Result<()> {
        named(server)?;
        let text = serde_json::to_vec_pretty(login).map_err(io::Error::other)?;
        if let Some(parent) = self.0.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match fs::mkdir(&self.0, FOLDER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = self.open()?;
        let draft = format!(".{server}.{:016x}", fastrand::u64(..));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(fs::openat(&folder, draft.as_str(), flags, OWN)?);
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        let placed = written.and_then(|()| {
            let name = file_name(server);
            fs::renameat(&folder, draft.as_str(), &folder, name).map_err(io::Error::from)
        });
        if placed.is_err() {
            let _ = fs::unlinkat(&folder, draft.as_str(), AtFlags::empty());
        }
        placed
    }

    /// Waits for the lock on renewals, which is held until the file is dropped. Blocks.
    pub(crate) fn lock(&self) -> io::Result<File> {
        let folder = self.open()?;
        folder.lock()?;
        Ok(folder)
    }

    /// Opens the folder, unless it is a link or another user's.
    fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = fs::open(&self.0, flags, Mode::empty());
        let folder = File::from(opened.map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => io::Error::other(format!("{} is not a folder", shown(&self.0))),
            error => error.into(),
        })?);
        is_own(&folder.metadata()?, &self.0)?;
        Ok(folder)
    }
}

fn shown(path: &Path) -> String {
    crate::text::one_line(&path.display().to_string(), 300)
}

/// Checks that only the user can access something.
fn is_own(found: &std::fs::Metadata, path: &Path) -> io::Result<()> {
    let wrong = |what: &str| Err(io::Error::other(format!("{} {what}", shown(path))));
    match found.mode() & 0o077 {
        _ if found.uid() != rustix::process::geteuid().as_raw() => wrong("is another user's"),
        0 => Ok(()),
        _ => wrong("can be read or changed by others"),
    }
}

fn file_name(server: &str) -> String {
    format!("{server}.json")
}

/// Checks a server's name; an invalid one could lead out of the folder.
fn named(server: &str) -> io::Result<()> {
    match is_name(server) {
        true => Ok(()),
        false => Err(io::Error::other("no server has such a name")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rmcp::transport::auth::{AuthorizationMetadata, StoredCredentials};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn login(client: &str) -> Login {
        Login {
            server: "https://mcp.test/mcp".to_owned(),
            resource: "https://mcp.test/".to_owned(),
            metadata: AuthorizationMetadata::default(),
            client_secret: None,
            credentials: StoredCredentials::new(client.to_owned(), None, Vec::new(), None),
        }
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_login_is_the_users_alone_and_gone_once_it_is_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let logins = Logins::new(scratch.path().join("codelet/logins"));
        assert!(logins.read("docs").unwrap().is_none() && !logins.remove("docs").unwrap());
        logins.write("docs", &login("one")).unwrap();
        let secret = |text: &str| Login {
            client_secret: Some(text.to_owned()),
            ..login("two")
        };
        logins.write("docs", &secret("secret-of-docs")).unwrap();
        logins.write("other", &secret("secret-of-another")).unwrap();
        let mut secrets = logins.secrets();
        secrets.sort_unstable();
        assert_eq!(secrets, ["secret-of-another", "secret-of-docs"]);
        assert!(logins.remove("other").unwrap());
        assert_eq!(logins.read("docs").unwrap().unwrap().credentials.client_id, "two");
        assert_eq!((mode(&logins.path("docs")), mode(&logins.0)), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(&logins.0).unwrap().count(), 1);
        assert!(logins.remove("docs").unwrap());
        assert!(logins.read("docs").unwrap().is_none());
    }

    #[test]
    fn nothing_is_read_or_written_through_a_link_or_a_name_that_leads_elsewhere() {
        let scratch = tempfile::tempdir().unwrap();
        let logins = Logins::new(scratch.path().join("logins"));
        logins.write("docs", &login("one")).unwrap();
        let theirs = scratch.path().join("theirs");
        std::fs::write(&theirs, "as it was").unwrap();
        symlink(&theirs, logins.path("link")).unwrap();
        assert!(logins.read("link").is_err());
        logins.write("link", &login("two")).unwrap();
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "as it was");
        assert!(logins.path("link").symlink_metadata().unwrap().is_file());
        symlink(&logins.0, scratch.path().join("other")).unwrap();
        let linked = Logins::new(scratch.path().join("other"));
        assert!(linked.read("docs").is_err() && linked.write("docs", &login("x")).is_err());
        for name in ["../docs", "a/b", "", "."] {
            assert!(
                logins.read(name).is_err() && logins.write(name, &login("x")).is_err(),
                "{name}"
            );
            assert!(logins.remove(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_login_that_others_may_read_is_not_used() {
        let scratch = tempfile::tempdir().unwrap();
        let logins = Logins::new(scratch.path().join("logins"));
        logins.write("docs", &login("one")).unwrap();
        std::fs::set_permissions(logins.path("docs"), std::fs::Permissions::from_mode(0o644)).unwrap();
        let why = logins.read("docs").err().unwrap().to_string();
        assert!(why.ends_with("docs.json can be read or changed by others"), "{why}");
        assert!(logins.secrets().is_empty());
    }
}
