//! A `llama-server` process on loopback, reliably ended on drop.

use crate::process::{Held, LOOK};
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for loading.
const LOADING: Duration = Duration::from_secs(120);
/// Maximum bytes of a response to a status request.
const ANSWER: u64 = 1 << 20;
/// The signal for an unsupported instruction, on Linux.
#[cfg(unix)]
const SIGILL: i32 = 4;

/// The reason why a server did not start.
pub enum Fault {
    /// It was built for another processor and hit an unsupported instruction.
    Instruction,
    /// Any other reason, in words.
    Other(String),
}

impl Fault {
    fn other(error: impl fmt::Display) -> Self {
        Fault::Other(error.to_string())
    }

    fn of(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if std::os::unix::process::ExitStatusExt::signal(&status) == Some(SIGILL) {
            return Fault::Instruction;
        }
        Fault::Other(format!("the server ended while loading ({status})"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Instruction => f.write_str("the server is built for instructions that this processor does not have"),
            Fault::Other(error) => f.write_str(error),
        }
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

/// A running server. It is killed on drop.
pub struct Server {
    held: Held,
    address: SocketAddr,
}

impl Server {
    /// Starts it with a model and further arguments, and returns as soon as it accepts connections, possibly before the
    /// model is loaded.
    ///
    /// # Errors
    /// If it cannot be started, exits, or accepts no connection in time.
    pub fn start(folder: &Path, model: &str, arguments: &[&str]) -> Result<Self, Fault> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Fault::other)?;
        let address = free.local_addr().map_err(Fault::other)?;
        drop(free);
        let bin = folder.join("bin");
        let log = File::create(folder.join("server.log")).map_err(Fault::other)?;
        let child = Command::new(bin.join("llama-server"))
            .arg("-m")
            .arg(folder.join(model))
            .args(["--host", "127.0.0.1", "--port", &address.port().to_string()])
            // One slot, CPU only, greedy sampling, and the prompt cache only in the slot.
            .args([
                "--alias",
                super::MODEL,
                "-np",
                "1",
                "-t",
                "2",
                "-ngl",
                "0",
                "--no-webui",
                "--cache-ram",
                "0",
            ])
            .args(["--temp", "0", "--slots"])
            .args(arguments)
            .env_clear()
            .env("LD_LIBRARY_PATH", &bin)
            .env("OMP_WAIT_POLICY", "passive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| Fault::Other(format!("the server cannot be started: {error}")))?;
        let mut server = Server {
            held: Held(child),
            address,
        };
        let deadline = Instant::now() + LOADING;
        while TcpStream::connect(address).is_err() {
            server.still_lives(deadline)?;
        }
        Ok(server)
    }

    /// Waits until the model is loaded.
    ///
    /// # Errors
    /// If it exits, or takes too long.
    pub fn loaded(mut self) -> Result<Self, Fault> {
        let deadline = Instant::now() + LOADING;
        while self.health() != Some(200) {
            self.still_lives(deadline)?;
        }
        Ok(self)
    }

    /// The status of its health check: 503 while it loads.
    pub fn health(&self) -> Option<u16> {
        Some(self.get("/health")?.0)
    }

    /// Returns whether a request is in progress.
    pub fn is_busy(&self) -> Option<bool> {
        let (_, slots) = self.get("/slots")?;
        slots
            .as_array()?
            .iter()
            .map(|slot| slot["is_processing"].as_bool())
            .try_fold(false, |busy, is| Some(busy || is?))
    }

    /// Its base URL for a client, including a wire's path.
    pub fn base(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn still_lives(&mut self, deadline: Instant) -> Result<(), Fault> {
        let ended = self.held.0.try_wait().map_err(Fault::other)?;
        if let Some(status) = ended {
            return Err(Fault::of(status));
        }
        if Instant::now() >= deadline {
            return Err(Fault::Other("the server did not load in time".to_owned()));
        }
        thread::sleep(LOOK);
        Ok(())
    }

    /// Sends a GET request, and returns the status and the JSON.
    fn get(&self, path: &str) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut bytes = Vec::new();
        stream.take(ANSWER).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let status = text.split(' ').nth(1)?.parse().ok()?;
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Starts a server that is this script.
    fn started(name: &str, script: &str) -> Result<Server, Fault> {
        let folder = std::env::temp_dir().join(format!("codelet-server-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        let program = folder.join("bin/llama-server");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let server = Server::start(&folder, "none", &[]);
        std::fs::remove_dir_all(&folder).unwrap();
        server
    }

    #[test]
    fn only_a_server_that_dies_of_an_unknown_instruction_is_told_as_built_for_another_processor() {
        let killed = started("ill", "#!/bin/sh\nkill -ILL $$\n").err().unwrap();
        assert!(matches!(killed, Fault::Instruction), "{killed}");
        let aborted = started("abort", "#!/bin/sh\nkill -ABRT $$\n").err().unwrap();
        assert!(matches!(aborted, Fault::Other(_)), "{aborted}");
        let ended = started("exit", "#!/bin/sh\nexit 1\n").err().unwrap();
        assert!(matches!(ended, Fault::Other(_)), "{ended}");
    }
}
