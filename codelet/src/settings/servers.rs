//! MCP servers from the user's settings, and their setup at the start of a session.

use super::{Key, LONGEST_WAIT, LookUp};
use crate::exit::words;
use crate::input;
use crate::paint::clean;
use codelet_mcp::{Reach, Server};
use codelet_providers::address;
use codelet_text::secret::{is_made_by_machine, is_secret_name};
use codelet_tools::outside::Outside;
use codelet_tools::secrets::{is_secret, secret_parts};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default startup timeout, in seconds.
const START: u64 = 10;
/// The default call timeout, in seconds.
const TIMEOUT: u64 = 120;

/// The maximum number of bytes read from a certificate file; a whole system's certificates take a quarter of it.
const MOST_CERTIFICATES: u64 = 1024 * 1024;

/// A server's entry in a settings file.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerFile {
    /// The program to start.
    command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Environment variables for it; `${NAME}` is replaced by a variable of Codelet's environment.
    #[serde(default)]
    env: BTreeMap<String, Key>,
    /// The working directory, relative to the session's; by default a separate folder without any files of the project.
    directory: Option<PathBuf>,
    /// The URL of a running server.
    url: Option<Key>,
    /// Headers for each request; `${NAME}` is replaced by a variable of Codelet's environment.
    #[serde(default)]
    headers: BTreeMap<String, Key>,
    /// A file of certificates trusted in addition to the usual ones.
    ca: Option<PathBuf>,
    /// Codelet's client id for servers that require a login.
    client_id: Option<String>,
    /// Patterns of the tools to use.
    tools: Option<Vec<String>>,
    /// The startup timeout, in seconds.
    start: Option<u64>,
    /// The call timeout, in seconds.
    timeout: Option<u64>,
    /// False if the server is not used.
    enabled: Option<bool>,
}

/// Other agents' file for the servers of a project, and the maximum number of bytes read from it.
const OF_OTHERS: &str = ".mcp.json";
const MOST_OF_OTHERS: u64 = 1024 * 1024;

/// Returns a notice if another agent's file in this project names servers that are not among the configured ones: it is
/// not read otherwise, since a server can run anything.
pub fn unread(root: &Path, configured: &BTreeMap<String, ServerFile>, user_file: &str) -> Option<String> {
    let bytes = input::regular(&root.join(OF_OTHERS), MOST_OF_OTHERS).ok()?;
    let file: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let servers = file.get("mcpServers")?.as_object()?;
    let missing = |name: &&String| codelet_mcp::is_name(name) && !configured.contains_key(*name);
    let missing: Vec<&str> = servers.keys().filter(missing).map(String::as_str).collect();
    let name = missing.first()?;
    Some(format!(
        "{OF_OTHERS} is not used, since a project's server could run anything: to use {}, add [mcp.{name}] to {user_file}",
        missing.join(", ")
    ))
}

impl ServerFile {
    /// Creates an entry for a program, with literal environment variables.
    pub fn program(command: String, args: Vec<String>, env: Vec<(String, String)>) -> Self {
        ServerFile {
            command: Some(command),
            args,
            env: literal(env),
            ..ServerFile::default()
        }
    }

    /// Creates an entry for a running server, with literal headers.
    pub fn http(url: String, headers: Vec<(String, String)>) -> Self {
        ServerFile {
            url: Some(Key::new(url)),
            headers: literal(headers),
            ..ServerFile::default()
        }
    }

    /// Returns an error if the entry is inconsistent.
    pub fn check(&self, name: &str) -> Result<(), String> {
        if !codelet_mcp::is_name(name) {
            return Err(
                "expected a name of at most 30 letters, digits, - and _, with a letter first and no __".to_owned(),
            );
        }
        match (&self.command, &self.url) {
            (None, None) => return Err("expected a `command` or a `url`".to_owned()),
            (Some(_), Some(_)) => return Err("expected a `command` or a `url`, not both".to_owned()),
            (Some(command), None) if command.trim().is_empty() => return Err("command: expected a program".to_owned()),
            (Some(_), None) if !self.headers.is_empty() => return Err("headers go with a `url`".to_owned()),
            (Some(_), None) if self.ca.is_some() => return Err("ca goes with a `url`".to_owned()),
            (Some(_), None) if self.client_id.is_some() => return Err("client_id goes with a `url`".to_owned()),
            (None, Some(_)) if self.client_id.as_ref().is_some_and(|id| id.trim().is_empty()) => {
                return Err("client_id: expected the name of a client".to_owned());
            }
            (None, Some(url)) => {
                let url = url.reveal();
                if !url.starts_with("https://") && !url.starts_with("http://") {
                    return Err("url: expected https://… or http://…".to_owned());
                }
                if !self.args.is_empty() || !self.env.is_empty() || self.directory.is_some() {
                    return Err("args, env and directory go with a `command`".to_owned());
                }
            }
            _ => {}
        }
        if let Some(name) = self.env.keys().find(|name| !is_variable(name)) {
            // The name may contain a key.
            let name = name.split(['=', ':', ' ']).next().unwrap_or_default();
            return Err(format!(
                "env: the name starting with {name:?} is not a valid variable name"
            ));
        }
        for (what, seconds) in [("start", self.start), ("timeout", self.timeout)] {
            if seconds.is_some_and(|seconds| seconds == 0 || seconds > LONGEST_WAIT) {
                return Err(format!("{what}: expected 1 to {LONGEST_WAIT} seconds"));
            }
        }
        Ok(())
    }

    /// Returns whether sessions use it.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    /// Disables the server for sessions.
    pub fn disable(&mut self) {
        self.enabled = Some(false);
    }

    /// Returns the entry without its `enabled` field.
    pub fn enabled(&self) -> Self {
        ServerFile {
            enabled: None,
            ..self.clone()
        }
    }

    /// Returns whether it contains a key itself, rather than only the name of a variable.
    pub fn holds_keys(&self) -> bool {
        let is_there = |value: &str| !value.is_empty() && !value.contains("${");
        let mut values = self.headers.iter().chain(&self.env);
        values.any(|(name, value)| is_there(value.reveal()) && is_secret(name, value.reveal()))
    }

    /// Returns the keys in it, including those that variables contain, for redaction, whether the server is enabled or
    /// not. `look_up` reads the variables.
    pub fn secrets(&self, look_up: &LookUp<'_>) -> Vec<String> {
        let parts = |name: &str, value: &str| {
            let parts = secret_parts(name, value).into_iter().map(str::to_owned);
            parts.collect::<Vec<_>>()
        };
        let named = self.headers.iter().chain(&self.env);
        // Many files name variables that are not set.
        let named = named.filter_map(|(name, value)| Some((name, expand(value.reveal(), look_up).ok()?)));
        let mut found: Vec<String> = named.flat_map(|(name, value)| parts(name, &value)).collect();
        let mut before = "";
        for argument in &self.args {
            let (name, value) = argument.split_once(['=', ':']).unwrap_or((before, argument));
            found.extend(parts(name, value.trim()));
            before = if argument.starts_with('-') { argument } else { "" };
        }
        found.extend(self.url.iter().flat_map(|url| address::secrets(url.reveal())));
        found
    }

    /// Formats the entry on one line, without anything that may be a secret.
    pub fn show(&self) -> String {
        let mut shown = match (&self.command, &self.url) {
            (Some(command), _) => {
                let mut words = Vec::new();
                let mut hides = false;
                // Some users write the arguments after the program.
                let arguments = command.split(' ').chain(self.args.iter().map(String::as_str));
                for argument in arguments {
                    // `--api-key=…`, or a header such as `Authorization: …`.
                    let at = argument.find(['=', ':']).map_or(argument.len(), |at| at + 1);
                    let (name, value) = argument.split_at(at);
                    let holds_one = is_secret_name(name);
                    words.push(match (hides, holds_one, value) {
                        (true, ..) => "…".to_owned(),
                        (false, true, "") => name.to_owned(),
                        (false, true, _) => format!("{name}…"),
                        (false, false, _) => shown(argument),
                    });
                    hides = holds_one && value.is_empty() && name.starts_with('-');
                }
                words.join(" ")
            }
            (None, Some(url)) => without_keys(&address::shown(url.reveal())),
            (None, None) => String::new(),
        };
        // A value may have been written into a name.
        let names = self.env.keys().chain(self.headers.keys());
        let names: Vec<&str> = names
            .map(|name| name.split([':', '=', ' ']).next().unwrap_or_default())
            .collect();
        if !names.is_empty() {
            shown.push_str(&format!(" (sets {})", names.join(", ")));
        }
        if !self.is_enabled() {
            shown.push_str(", not used");
        }
        shown
    }

    fn server(&self, name: &str, directory: &Path, outside: &Outside, look_up: &LookUp) -> Result<Server, String> {
        // A user who prepends a folder to `PATH` means the `PATH` that is searched.
        let path = outside.environment().iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, path)| path.to_string_lossy());
        let look_up = &|name: &str| match &path {
            Some(path) if name == "PATH" => Some(path.to_string()),
            _ => look_up(name),
        };
        let expanded = |values: &BTreeMap<String, Key>| -> Result<Vec<(String, String)>, String> {
            let each = values.iter();
            each.map(|(name, value)| Ok((name.clone(), expand(value.reveal(), look_up)?)))
                .collect()
        };
        let reach = match (&self.command, &self.url) {
            (Some(command), _) => {
                let own = expanded(&self.env)?;
                let inherited = outside
                    .environment()
                    .iter()
                    .filter(|(name, _)| !own.iter().any(|(own, _)| *name == **own));
                let mut environment: Vec<(OsString, OsString)> = inherited.cloned().collect();
                environment.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
                let program = outside.program(command)?;
                Reach::Program {
                    command: program.to_str().unwrap_or(command).to_owned(),
                    arguments: self.args.clone(),
                    environment,
                    directory: match &self.directory {
                        Some(own) => directory.join(own),
                        None => {
                            let folder = outside.folder("servers");
                            folder.map_err(|why| format!("it has no `directory`, and {why}"))?
                        }
                    },
                }
            }
            (None, url) => Reach::Http {
                url: url.as_ref().map_or(String::new(), |url| url.reveal().to_owned()),
                headers: expanded(&self.headers)?,
                authorities: match &self.ca {
                    Some(ca) => certificates(Path::new(ca))?,
                    None => String::new(),
                },
                client_id: self.client_id.clone(),
            },
        };
        Ok(Server {
            name: name.to_owned(),
            reach,
            tools: self.tools.clone(),
            start: Duration::from_secs(self.start.unwrap_or(START)),
            timeout: Duration::from_secs(self.timeout.unwrap_or(TIMEOUT)),
        })
    }
}

/// Returns values in which `${` is escaped, so no variable is expanded.
fn literal(values: Vec<(String, String)>) -> BTreeMap<String, Key> {
    let values = values.into_iter();
    values
        .map(|(name, value)| (name, Key::new(value.replace("${", "$${"))))
        .collect()
}

/// Reads a file of certificates.
fn certificates(path: &Path) -> Result<String, String> {
    let wrong = |why: String| format!("ca: {}: {why}", clean(&path.display().to_string()));
    // A relative path would name a file of whichever repository the session is in.
    if !path.is_absolute() {
        return Err(wrong("expected an absolute path".to_owned()));
    }
    let bytes = input::regular(path, MOST_CERTIFICATES).map_err(|error| wrong(words(&error)))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| wrong("it is not a text file, expected PEM certificates".to_owned()))?;
    match text.trim().is_empty() {
        true => Err(wrong("it is empty".to_owned())),
        false => Ok(text),
    }
}

/// Replaces path segments of a URL that look like keys, which some servers use.
fn without_keys(address: &str) -> String {
    let piece = |piece| {
        if is_made_by_machine(piece) { "…" } else { piece }
    };
    let (host, path) = address.split_at(address.match_indices('/').nth(2).map_or(address.len(), |(at, _)| at));
    let pieces: Vec<&str> = path.split('/').map(piece).collect();
    format!("{host}{}", pieces.join("/"))
}

/// Formats an argument for display; removes credentials from a URL.
fn shown(argument: &str) -> String {
    match argument.contains("://") {
        true => address::shown(argument),
        false => argument.to_owned(),
    }
}

/// The servers of the settings.
pub struct Named {
    /// The usable servers.
    pub servers: Vec<Server>,
    /// The names of unusable ones, each with the reason.
    pub unusable: Vec<(String, String)>,
    /// Their keys, for redaction.
    pub secrets: Vec<String>,
    /// Other notices for the user.
    pub notices: Vec<String>,
}

impl Named {
    /// Returns all notices for the user of a session.
    pub fn told(&self) -> Vec<String> {
        let unusable = self.unusable.iter();
        let unusable = unusable.map(|(name, why)| format!("MCP server {name}: {why}, so it is not used"));
        unusable.chain(self.notices.iter().cloned()).collect()
    }
}

/// Resolves the servers of the settings for a session in this directory, with the environment for programs outside the
/// sandbox. `look_up` reads the variables that the settings name.
pub fn named(files: &BTreeMap<String, ServerFile>, directory: &Path, outside: &Outside, look_up: &LookUp<'_>) -> Named {
    let mut named = Named {
        servers: Vec::new(),
        unusable: Vec::new(),
        secrets: Vec::new(),
        notices: Vec::new(),
    };
    for (name, file) in files.iter().filter(|(_, file)| file.is_enabled()) {
        match file.server(name, directory, outside, look_up) {
            Ok(server) => {
                named.notices.extend(in_the_clear(name, &server));
                named.servers.push(server);
            }
            Err(why) => named.unusable.push((name.clone(), why)),
        }
        named.secrets.extend(file.secrets(look_up));
    }
    named
}

/// Returns the warning about a server whose headers contain keys and are sent unencrypted.
fn in_the_clear(name: &str, server: &Server) -> Option<String> {
    let Reach::Http { url, headers, .. } = &server.reach else {
        return None;
    };
    (!headers.is_empty() && address::is_in_the_clear(url)).then(|| {
        format!(
            "MCP server {name}: its headers are sent unencrypted to {}; use https://",
            address::shown(url)
        )
    })
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Replaces `${NAME}` by the variable's value; `$${` stands for `${`.
///
/// # Errors
/// If a variable is not set.
fn expand(text: &str, look_up: &LookUp<'_>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, behind) = (&rest[..at], &rest[at + 2..]);
        if let Some(literal) = before.strip_suffix('$') {
            expanded.push_str(literal);
            expanded.push_str("${");
            rest = behind;
            continue;
        }
        expanded.push_str(before);
        match behind.split_once('}') {
            Some((name, more)) if is_variable(name) => {
                expanded.push_str(&look_up(name).ok_or_else(|| format!("the variable {name} is not set"))?);
                rest = more;
            }
            _ => {
                expanded.push_str("${");
                rest = behind;
            }
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn file(text: &str) -> ServerFile {
        toml::from_str(text).unwrap()
    }

    fn variables(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "t-123456789".to_owned())
    }

    #[test]
    fn servers_of_another_agents_file_are_named_until_they_are_in_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let told = |configured: &[&str]| {
            let configured = configured
                .iter()
                .map(|name| ((*name).to_owned(), file("command = \"x\"")));
            unread(folder.path(), &configured.collect(), "~/settings.toml")
        };
        assert_eq!(told(&[]), None);
        let write = |text: &str| std::fs::write(folder.path().join(".mcp.json"), text).unwrap();
        write(r#"{"mcpServers": {"docs": {"url": "https://x"}, "files": {"command": "x"}, "not a\nname": {}}}"#);
        let all = told(&[]).unwrap();
        assert!(
            all.contains("to use docs, files, add [mcp.docs] to ~/settings.toml"),
            "{all}"
        );
        assert!(told(&["docs"]).unwrap().contains("to use files, add [mcp.files]"));
        assert_eq!(told(&["docs", "files"]), None);
        for none in ["", "[]", r#"{"mcpServers": {}}"#] {
            write(none);
            assert_eq!(told(&[]), None, "{none}");
        }
    }

    #[test]
    fn variables_stand_for_what_they_hold() {
        let expand = |text| expand(text, &variables);
        assert_eq!(expand("Bearer ${TOKEN}!").unwrap(), "Bearer t-123456789!");
        assert_eq!(
            expand("$TOKEN ${ ${} $${TOKEN} ${1}").unwrap(),
            "$TOKEN ${ ${} ${TOKEN} ${1}"
        );
        assert_eq!(expand("${OTHER}").unwrap_err(), "the variable OTHER is not set");
    }

    #[test]
    fn a_program_gets_the_clean_environment_and_what_it_is_given() {
        let files = [
            (
                "a".to_owned(),
                file("command = \"x\"\nenv = { API = \"${TOKEN}\", HOME = \"/h:${PATH}\" }"),
            ),
            ("b".to_owned(), file("command = \"x\"\ndirectory = \"sub\"")),
        ];
        let held = tempfile::tempdir().unwrap();
        let mut options = codelet_tools::Options::new(held.path().join("work"));
        options.temporary = held.path().join("work");
        options.private = vec![held.path().join("codelet")];
        options.env = [("HOME", "/old"), ("PATH", "/bin")]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
        let bin = Path::new("/bin").canonicalize().unwrap().display().to_string();
        let named = named(&files.into(), Path::new("/work"), &Outside::new(&options), &variables);
        let [
            Reach::Program {
                environment, directory, ..
            },
            Reach::Program { directory: within, .. },
        ] = [&named.servers[0].reach, &named.servers[1].reach]
        else {
            panic!()
        };
        let home = format!("/h:{bin}");
        let expected = [("PATH", &*bin), ("API", "t-123456789"), ("HOME", &home)];
        assert_eq!(
            environment[..],
            expected.map(|(name, value)| (name.into(), value.into()))
        );
        assert_eq!(
            (directory.as_path(), within.as_path()),
            (&*held.path().join("codelet/servers"), Path::new("/work/sub"))
        );
    }

    #[test]
    fn a_server_whose_variable_is_missing_is_left_out_with_a_notice() {
        let files = [
            (
                "a".to_owned(),
                file("url = \"https://x\"\nheaders = { Authorization = \"Bearer ${NONE}\" }"),
            ),
            ("b".to_owned(), file("command = \"x\"\nenabled = false")),
            ("c".to_owned(), file("url = \"https://x\"\nca = \"/no/such.pem\"")),
        ];
        let outside = Outside::new(&codelet_tools::Options::new("/"));
        let named = named(&files.into(), Path::new("/"), &outside, &variables);
        assert!(named.servers.is_empty());
        assert_eq!(
            named.told(),
            [
                "MCP server a: the variable NONE is not set, so it is not used",
                "MCP server c: ca: /no/such.pem: no such file, so it is not used"
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (text, told) in [
            ("", "expected a `command` or a `url`"),
            ("command = \"x\"\nurl = \"https://x\"", "not both"),
            ("url = \"ftp://x\"", "expected https://"),
            ("url = \"https://x\"\nargs = [\"a\"]", "go with a `command`"),
            ("command = \"x\"\nheaders = { a = \"b\" }", "go with a `url`"),
            ("command = \"x\"\nca = \"b\"", "ca goes with a `url`"),
            ("command = \"x\"\ntimeout = 0", "timeout: expected 1 to"),
            (
                "command = \"x\"\nenv = { \"a=b\" = \"c\" }",
                "not a valid variable name",
            ),
        ] {
            let problem = file(text).check("a").unwrap_err();
            assert!(problem.contains(told), "{problem}");
        }
        assert!(file("command = \"x\"").check("a__b").unwrap_err().contains("no __"));
    }

    #[test]
    fn a_key_that_was_written_in_a_wrong_place_is_not_shown() {
        for file in [
            "command = \"server --token sk-ant-123456\"",
            "url = \"http://127.0.0.1:9/\"\nheaders = { \"Authorization: Bearer sk-ant-123456\" = \"\" }",
            "command = \"true\"\nenv = { \"TOKEN=sk-ant-123456\" = \"\" }",
        ] {
            let file = toml::from_str::<ServerFile>(file).unwrap();
            let told = format!("{} {:?}", file.show(), file.check("x"));
            assert!(!told.contains("sk-ant"), "{told}");
        }
    }

    #[test]
    fn the_keys_of_a_server_are_known_wherever_they_stand() {
        let look_up = |name: &str| (name == "DOCS").then(|| "key-7".to_owned());
        let of = |file: &str| toml::from_str::<ServerFile>(file).unwrap().secrets(&look_up);
        let program = "command = \"x\"\nargs = [\"--token\", \"key-1\", \"--api-key=key-2\", \"Authorization: Bearer key-3\", \"--verbose\", \"on\"]\n\
            enabled = false\n[env]\nFOO_TOKEN = \"key-4\"\nLANG = \"C\"";
        assert_eq!(of(program), ["key-4", "key-1", "key-2", "Bearer key-3"]);
        let address = "url = \"https://ada:key-5-of-twenty-letters@x.example/mcp\"\n[headers]\nAuthorization = \"Bearer key-6\"\nAccept = \"*/*\"";
        let found = of(address);
        assert!(found.contains(&"Bearer key-6".to_owned()), "{found:?}");
        assert!(found.iter().any(|key| key.contains("key-5")), "{found:?}");
        let named =
            "url = \"https://x.example/mcp\"\n[headers]\nAuthorization = \"Bearer ${DOCS}\"\nX-Api-Key = \"${OTHER}\"";
        assert_eq!(of(named), ["Bearer key-7"]);
    }

    #[test]
    fn nothing_that_may_be_a_secret_is_shown() {
        let shown = file(
            "command = \"npx\"\nargs = [\"-y\", \"pkg\", \"--token\", \"abc\", \"--api-key=def\", \"/dir\"]\nenv = { A_TOKEN = \"ghi\" }",
        );
        assert_eq!(shown.show(), "npx -y pkg --token … --api-key=… /dir (sets A_TOKEN)");
        let shown = file(
            "command = \"npx\"\nargs = [\"--header\", \"Authorization: Bearer abc\", \"--pass\", \"abc\", \"postgres://u:abc@host/db?password=abc\", \"--monkey\", \"x:y\"]",
        );
        assert_eq!(
            shown.show(),
            "npx --header Authorization:… --pass … postgres://host/db --monkey x:y"
        );
        let shown = file("url = \"https://u:pw@host/mcp?key=abc\"\nheaders = { Authorization = \"Bearer abc\" }");
        assert_eq!(shown.show(), "https://host/mcp (sets Authorization)");
        assert!(shown.holds_keys() && !format!("{shown:?}").contains("abc"));
        assert!(
            !file("command = \"x\"\nenv = { A_TOKEN = \"${TOKEN}\", DEBUG = \"1\", KEYBOARD = \"de\" }").holds_keys()
        );
        for held in ["PGPASSWORD = \"x\"", "DATABASE_URL = \"postgres://u:abc@host/db\""] {
            assert!(
                file(&format!("command = \"x\"\nenv = {{ {held} }}")).holds_keys(),
                "{held}"
            );
        }
    }
}
