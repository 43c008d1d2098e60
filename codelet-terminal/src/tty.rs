//! The terminal device: the only module that changes its modes, reads its input and detects a hang-up.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{self, OptionalActions, Termios};
use std::io::{self, PipeWriter, Write as _};
use std::os::fd::AsFd as _;
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes read at once.
const PIECE: usize = 64 * 1024;
/// Bracketed paste on and off; terminals that do not know it ignore it.
const PASTES: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");
/// Keys with their modifiers, on and off, where the terminal supports it (kitty's protocol).
const MODIFIERS: (&str, &str) = ("\x1b[>1u", "\x1b[<1u");
/// Focus reports on and off; terminals that do not know them ignore them.
const FOCUS: (&str, &str) = ("\x1b[?1004h", "\x1b[?1004l");
/// Shows the cursor and resets all styles.
const PLAIN: &str = "\x1b[?25h\x1b[0m";
/// Prefixes of `TERM` for terminals that cannot report modifiers, and print the end of the request or obey half of it:
/// the console of an older Linux prints `1u`.
const OLD: [&str; 6] = ["linux", "vt", "screen", "ansi", "cons", "sun"];

/// Input from the terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// Bytes.
    Bytes(Vec<u8>),
    /// The terminal is gone: the window was closed or the connection lost.
    HungUp,
}

/// A terminal in raw mode. Dropping it restores the terminal.
pub struct Tty {
    found: Termios,
    tells_modifiers: bool,
    tells_focus: bool,
    reader: Option<Reader>,
    to_us: UnboundedSender<Input>,
    from_there: UnboundedReceiver<Input>,
}

impl Tty {
    /// Takes over the terminal at standard input and output, named `name` in `TERM`; enables focus reports if
    /// `tells_focus`.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(name: &str, tells_focus: bool) -> io::Result<Self> {
        let found = termios::tcgetattr(io::stdin().as_fd())?;
        let (to_us, from_there) = unbounded_channel();
        let mut tty = Tty {
            found,
            tells_modifiers: !OLD.iter().any(|old| name.starts_with(old)),
            tells_focus,
            reader: None,
            to_us,
            from_there,
        };
        tty.enter()?;
        Ok(tty)
    }

    /// Returns the next input.
    pub async fn input(&mut self) -> Input {
        // `self` holds a sender, so the channel does not close.
        self.from_there.recv().await.unwrap_or(Input::HungUp)
    }

    /// Returns the terminal's columns and rows.
    pub fn size() -> (u16, u16) {
        let found = termios::tcgetwinsize(io::stdout().as_fd());
        found
            .ok()
            .filter(|size| size.ws_col > 0 && size.ws_row > 0)
            .map_or((80, 24), |size| (size.ws_col, size.ws_row))
    }

    /// Releases the terminal for a while, for example to an editor. Keys that were typed already are not lost.
    pub fn lend(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.stop();
        }
        self.restore();
    }

    /// Takes the terminal back.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn take_back(&mut self) -> io::Result<()> {
        self.enter()
    }

    /// Releases the terminal and stops the process group, as Ctrl-Z does. The stop may take effect a moment later,
    /// since the signal goes to the whole group; on continuing, the caller takes the terminal back.
    pub fn stop(&mut self) {
        self.lend();
        let _ = kill_current_process_group(Signal::TSTP);
    }

    fn enter(&mut self) -> io::Result<()> {
        let mut raw = self.found.clone();
        raw.make_raw();
        // Output still returns to the left margin at a line end.
        raw.output_modes |= termios::OutputModes::OPOST | termios::OutputModes::ONLCR;
        termios::tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &raw)?;
        let mut out = io::stdout();
        out.write_all(PASTES.0.as_bytes())?;
        if self.tells_modifiers {
            out.write_all(MODIFIERS.0.as_bytes())?;
        }
        if self.tells_focus {
            out.write_all(FOCUS.0.as_bytes())?;
        }
        out.flush()?;
        if self.reader.is_none() {
            self.reader = Some(Reader::start(self.to_us.clone())?);
        }
        Ok(())
    }

    fn restore(&self) {
        // Errors are ignored, since the terminal may be gone.
        let mut out = io::stdout();
        let modifiers = if self.tells_modifiers { MODIFIERS.1 } else { "" };
        let focus = if self.tells_focus { FOCUS.1 } else { "" };
        let end = format!("{focus}{modifiers}{}{PLAIN}", PASTES.1);
        let _ = out.write_all(end.as_bytes()).and_then(|()| out.flush());
        let _ = termios::tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.found);
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.lend();
    }
}

/// A reader thread: polling a terminal without blocking would change its mode for every process that shares it.
struct Reader {
    thread: JoinHandle<()>,
    stop: PipeWriter,
}

impl Reader {
    fn start(to: UnboundedSender<Input>) -> io::Result<Self> {
        let (stopped, stop) = io::pipe()?;
        let read = move || {
            let mut piece = vec![0; PIECE];
            loop {
                let stdin = io::stdin();
                let mut watched = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&stopped, PollFlags::IN)];
                match poll(&mut watched, None) {
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => break,
                    Ok(_) => {}
                }
                if !watched[1].revents().is_empty() {
                    return;
                }
                match rustix::io::read(&stdin, &mut piece) {
                    // End of file: the terminal was closed at the other end.
                    Ok(0) => break,
                    Ok(count) => {
                        if to.send(Input::Bytes(piece[..count].to_vec())).is_err() {
                            return;
                        }
                    }
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Err(_) => break,
                }
            }
            let _ = to.send(Input::HungUp);
        };
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn(read)?;
        Ok(Reader { thread, stop })
    }

    fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}
