//! A session that a test lives in: in a real pseudo-terminal with an emulator behind it, in one that knows nothing, or
//! through pipes.

use super::agent::Bench;
use codelet_testkit::server::{Server, Wire};
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nothing takes longer, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(20);
/// Rows that went out at the top and are still known.
const SCROLLBACK: usize = 5_000;

/// What was shown so far, and a bell that rings when more is.
struct Shown<T> {
    state: Mutex<T>,
    more: Condvar,
}

impl<T> Shown<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        // A test that fails while it looks tells of that failure, not of this one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it holds; says no when the time is over.
    fn wait(&self, mut holds: impl FnMut(&mut T) -> bool) -> bool {
        let began = Instant::now();
        let mut state = self.lock();
        while !holds(&mut state) {
            let left = LIMIT.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            let waited = self.more.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}

/// The ways to live in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// In a terminal that is drawn upon.
    Terminal,
    /// In lines that somebody types into a terminal.
    Typed,
    /// In lines through pipes.
    Piped,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Terminal, Kind::Typed, Kind::Piped];

    /// Starts a session of this kind that asks this server.
    pub fn start(self, bench: &Bench, server: &Server, args: &[&str]) -> Box<dyn Session> {
        match self {
            Kind::Terminal => Box::new(Terminal::start(bench, server, args, (80, 24))),
            Kind::Typed => Box::new(Typed::start(bench, server, args)),
            Kind::Piped => Box::new(Piped::start(bench, server, args)),
        }
    }
}

/// A session that can be talked to.
pub trait Session {
    /// How it is lived in.
    fn kind(&self) -> Kind;
    /// Says something and sends it.
    fn say(&mut self, text: &str);
    /// Begins with these words, pastes a text behind them, and sends both.
    fn paste(&mut self, words: &str, text: &str);
    /// Interrupts what runs.
    fn interrupt(&mut self);
    /// Waits until these words were shown.
    fn wait(&mut self, words: &str);
    /// Waits until these words were shown so often.
    fn wait_for(&mut self, words: &str, times: usize);
    /// Waits until these words can be read: on the screen as it is, or in so many places of what goes by in lines.
    fn read(&mut self, words: &str, times: usize);
    /// Waits until nothing runs any more, where that is shown.
    fn rest(&mut self);
    /// Answers the question that is shown: with `y`, `a`, `n`, or `n` and a reason.
    fn answer(&mut self, word: &str);
    /// What was shown since the beginning, as text.
    fn text(&self) -> String;
    /// Waits for the end; returns the status.
    fn end(&mut self) -> i32;
}

/// Says nothing to an emulator.
const END: &[u8] = b"\x1b]7777;end\x1b\\";

/// In a terminal.
pub struct Terminal {
    pub child: Box<dyn ChildWrapper>,
    /// The emulator's side, and what carries there what is typed.
    master: Option<File>,
    keys: Option<Line>,
    /// Keeps the other side open, and knows its modes.
    slave: File,
    /// The modes before anything ran.
    found: String,
    reader: Option<Reader>,
    shown: Arc<Shown<Emulated>>,
    work: PathBuf,
}

struct Emulated {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// Bytes that are not shown yet: of a frame that is not whole, or what may begin one.
    held: Vec<u8>,
    is_together: bool,
}

/// What stands between these is shown at once, as terminals do that know synchronized output: a read may end in it.
const TOGETHER: (&[u8], &[u8]) = (b"\x1b[?2026h", b"\x1b[?2026l");

impl Emulated {
    fn new((columns, rows): (u16, u16)) -> Self {
        Emulated {
            parser: vt100::Parser::new(rows, columns, SCROLLBACK),
            bytes: Vec::new(),
            held: Vec::new(),
            is_together: false,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.held.extend_from_slice(bytes);
        loop {
            let mark = if self.is_together { TOGETHER.1 } else { TOGETHER.0 };
            let Some(at) = self.held.windows(mark.len()).position(|bytes| bytes == mark) else {
                break;
            };
            self.show(at + mark.len());
            self.is_together = !self.is_together;
        }
        // Whoever ended within a frame draws no more of it.
        if !self.is_together || self.held.ends_with(END) {
            let open = (0..TOGETHER.0.len())
                .rev()
                .find(|&open| self.held.ends_with(&TOGETHER.0[..open]));
            self.show(self.held.len() - open.unwrap_or(0));
        }
    }

    fn show(&mut self, bytes: usize) {
        let rest = self.held.split_off(bytes);
        self.parser.process(&std::mem::replace(&mut self.held, rest));
    }

    /// Everything from the first row of the scrollback to the last of the screen.
    fn text(&mut self) -> String {
        let screen = self.parser.screen_mut();
        let (_, width) = screen.size();
        screen.set_scrollback(usize::MAX);
        let most = screen.scrollback();
        let mut rows = Vec::new();
        for back in (1..=most).rev() {
            screen.set_scrollback(back);
            rows.extend(screen.rows(0, width).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, width));
        trimmed(rows)
    }

    fn screen(&self) -> String {
        let screen = self.parser.screen();
        trimmed(screen.rows(0, screen.size().1).collect())
    }
}

fn trimmed(rows: Vec<String>) -> String {
    let text: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    // A space at which no line is broken looks like any other.
    format!("{}\n", text.join("\n").trim_end()).replace('\u{a0}', " ")
}

impl Terminal {
    /// Starts a session that asks this server.
    pub fn start(bench: &Bench, server: &Server, args: &[&str], size: (u16, u16)) -> Self {
        let terminal = Terminal::run(bench, bench.asking(server, Wire::Anthropic, args), size);
        // What is typed before belongs to the shell, which makes other characters of some keys.
        terminal.see("ready");
        terminal
    }

    /// Starts a command.
    pub fn run(bench: &Bench, command: Command, size: (u16, u16)) -> Self {
        Terminal::run_at(bench, command, size, Pace::default())
    }

    /// Starts a command behind a line that is so slow.
    pub fn run_at(bench: &Bench, command: Command, (columns, rows): (u16, u16), pace: Pace) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        resize(&master, (columns, rows));
        // The first terminal that a leader of a session opens is its own; so a shell opens it, and becomes the program.
        let mut shell = Command::new("sh");
        shell.arg("-c").arg("exec \"$@\" <> \"$0\" >&0 2>&1").arg(&name);
        shell.arg(command.get_program()).args(command.get_args());
        shell.env_clear().env("TERM", "xterm-256color");
        for (key, value) in command.get_envs() {
            if let Some(value) = value {
                shell.env(key, value);
            }
        }
        shell.current_dir(command.get_current_dir().unwrap_or(&bench.work));
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let slave = File::options()
            .read(true)
            .write(true)
            .custom_flags_noctty()
            .open(&name)
            .unwrap();
        let found = modes(&slave);
        let mut wrapped = CommandWrap::from(shell);
        wrapped.wrap(ProcessSession);
        let child = wrapped.spawn().unwrap();
        let shown = Arc::new(Shown {
            state: Mutex::new(Emulated::new((columns, rows))),
            more: Condvar::new(),
        });
        let master = File::from(master);
        let reader = Reader::start(master.try_clone().unwrap(), Arc::clone(&shown), pace);
        let mut to = master.try_clone().unwrap();
        let is_slow = !pace.delay.is_zero();
        let keys = delayed(pace.delay, move |bytes| {
            let written = to.write_all(bytes);
            // What arrives late may find nobody.
            assert!(is_slow || written.is_ok(), "{written:?}");
        });
        Terminal {
            child,
            master: Some(master),
            keys: Some(keys),
            slave,
            found,
            reader: Some(reader),
            shown,
            work: bench.work.clone(),
        }
    }

    /// Types bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.keys.as_mut().unwrap()(bytes);
    }

    /// Waits until the screen looks so.
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut(&str) -> bool) {
        if !self.shown.wait(|state| holds(&state.screen())) {
            panic!("{what} is not shown:\n{}", self.shown.lock().screen());
        }
    }

    /// Waits until these words are on the screen.
    pub fn see(&self, words: &str) {
        self.wait_until(words, |screen| screen.contains(words));
    }

    /// Makes it another size.
    pub fn resize(&mut self, size: (u16, u16)) {
        let mut state = self.shown.lock();
        resize(self.master.as_ref().unwrap(), size);
        state.parser.screen_mut().set_size(size.1, size.0);
    }

    /// Closes the window: nobody holds the emulator's side any more.
    pub fn hang_up(&mut self) {
        self.reader = None;
        self.keys = None;
        self.master = None;
    }

    /// The screen as it is now.
    pub fn screen(&self) -> String {
        self.shown.lock().screen()
    }

    /// The screen as it is now, with its colours.
    pub fn still(&self) -> vt100::Screen {
        self.shown.lock().parser.screen().clone()
    }

    /// Waits until the bytes that came end so.
    pub fn ends_in(&self, end: &str) {
        let found = self.shown.wait(|state| state.bytes.ends_with(end.as_bytes()));
        assert!(found, "{:?}", String::from_utf8_lossy(&self.bytes()));
    }

    /// Waits until more bytes than these have come.
    pub fn see_more_than(&self, bytes: usize) {
        assert!(self.shown.wait(|state| state.bytes.len() > bytes), "nothing more comes");
    }

    /// Every byte that came.
    pub fn bytes(&self) -> Vec<u8> {
        self.shown.lock().bytes.clone()
    }

    /// Whether all modes of the line are what they were before anything ran, and the emulator is in none of those that a
    /// session asks for.
    pub fn is_as_found(&self) -> bool {
        let state = self.shown.lock();
        let screen = state.parser.screen();
        let is_plain = !screen.hide_cursor() && !screen.bracketed_paste() && !screen.alternate_screen();
        is_plain && modes(&self.slave) == self.found
    }

    /// The screen compared with the one that is kept under this name, as soon as all of it is drawn.
    pub fn looks_like(&self, name: &str) {
        self.compare(name, |state| state.screen());
    }

    /// The same but for figures, which are estimates of this machine's own texts.
    pub fn resembles(&self, name: &str) {
        self.compare(name, |state| without_figures(&state.screen()));
    }

    /// All that was shown, compared with what is kept under this name.
    pub fn reads_like(&self, name: &str) {
        self.compare(name, Emulated::text);
    }

    fn compare(&self, name: &str, of: impl Fn(&mut Emulated) -> String) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/screens")
            .join(format!("{name}.txt"));
        if std::env::var_os("CODELET_BLESS").is_some() {
            // Whoever blesses looks at it: what is still on its way may come.
            std::thread::sleep(Duration::from_millis(500));
            let screen = self.settled(&of(&mut self.shown.lock()));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, screen).unwrap();
            return;
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        if !self.shown.wait(|state| self.settled(&of(state)) == kept) {
            let screen = self.settled(&of(&mut self.shown.lock()));
            let path = path.display();
            panic!("{name} looks otherwise than {path} (CODELET_BLESS=1 keeps it as it is now):\n{screen}");
        }
    }

    /// Without what is different each time: places, times and the estimate of the window.
    fn settled(&self, text: &str) -> String {
        let text = text.replace(self.work.to_str().unwrap(), "WORK");
        text.lines().map(settled_line).collect::<Vec<_>>().join("\n") + "\n"
    }
}

/// All modes of a terminal's line.
fn modes(terminal: &File) -> String {
    let found = tcgetattr(terminal).unwrap();
    let (keys, text) = (found.input_modes, found.output_modes);
    format!(
        "{keys:?} {text:?} {:?} {:?} {:?}",
        found.control_modes, found.local_modes, found.special_codes
    )
}

/// How fast a line brings what a program prints: so many bytes, then nothing for so long; and how long everything is on
/// its way, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub bytes: usize,
    pub pause: Duration,
    pub delay: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            bytes: 16 * 1024,
            pause: Duration::ZERO,
            delay: Duration::ZERO,
        }
    }
}

/// One direction of a line.
type Line = Box<dyn FnMut(&[u8]) + Send>;

/// A line on which everything is so long on its way, in the order and at the distances in which it was sent.
fn delayed(delay: Duration, mut arrive: impl FnMut(&[u8]) + Send + 'static) -> Line {
    if delay.is_zero() {
        return Box::new(arrive);
    }
    let (send, sent) = channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        for (at, bytes) in sent {
            std::thread::sleep((at + delay).saturating_duration_since(Instant::now()));
            arrive(&bytes);
        }
    });
    Box::new(move |bytes| {
        // Once the other end is gone, nothing arrives there.
        let _ = send.send((Instant::now(), bytes.to_vec()));
    })
}

/// Reads what a program prints until it is dropped, and lets go of the terminal then.
struct Reader {
    stop: Option<std::io::PipeWriter>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reader {
    fn start(mut from: File, to: Arc<Shown<Emulated>>, pace: Pace) -> Self {
        let (stopped, stop) = std::io::pipe().unwrap();
        let mut show = delayed(pace.delay, move |bytes| {
            let mut state = to.lock();
            state.take(bytes);
            to.more.notify_all();
        });
        let read = move || {
            let mut piece = vec![0; pace.bytes];
            loop {
                std::thread::sleep(pace.pause);
                let mut watched = [PollFd::new(&from, PollFlags::IN), PollFd::new(&stopped, PollFlags::IN)];
                if poll(&mut watched, None).is_err() {
                    continue;
                }
                if !watched[1].revents().is_empty() {
                    return;
                }
                let Ok(count @ 1..) = from.read(&mut piece) else { return };
                show(&piece[..count]);
            }
        };
        Reader {
            stop: Some(stop),
            thread: Some(std::thread::spawn(read)),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

fn settled_line(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = &word.trim_start_matches('<');
        let is_number = word.chars().next().is_some_and(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
        let unit = words.get(at + 1).map(|unit| unit.trim_end_matches([')', ',']));
        if is_number && matches!(unit, Some("ms" | "s" | "min")) {
            out.push("_".to_owned());
        } else if word.contains("/")
            && word.chars().next().is_some_and(|c| c.is_ascii_digit())
            && word.ends_with(['k', 'M'])
        {
            out.push("_/_".to_owned());
        } else if word
            .chars()
            .any(|c| matches!(c, '░' | '▌' | '█' | '▏' | '▎' | '▍' | '▋' | '▊' | '▉'))
        {
            out.push("▌".to_owned());
        } else if matches!(*word, "⠋" | "⠙" | "⠹" | "⠸" | "⠼" | "⠴" | "⠦" | "⠧" | "⠇" | "⠏") {
            out.push("⠋".to_owned());
        } else {
            out.push((*word).to_owned());
        }
    }
    out.join(" ").replace("under _ ms", "_ ms")
}

/// A text with a mark in place of each of its figures. A notice whose figures decide where it is broken is one line.
pub fn without_figures(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        let words: Vec<String> = line.split(' ').map(without_figure).collect();
        let line = words.join(" ");
        match out.last_mut() {
            Some(last) if line.starts_with("  ") && last.starts_with(['◆', 'i']) => {
                last.push(' ');
                last.push_str(line.trim_start());
            }
            _ => out.push(line),
        }
    }
    let text = out.join("\n").replace("under _ ms", "_ s");
    text.replace("_ ms", "_ s").replace("_ min", "_ s") + "\n"
}

fn without_figure(word: &str) -> String {
    let word = word.trim_start_matches('<');
    let is_figure = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '~');
    let core = word
        .trim_end_matches(['k', 'M', '%', ')', '.'])
        .trim_start_matches(['(', '−', '+']);
    match core.chars().all(is_figure) && core.chars().any(|c| c.is_ascii_digit()) {
        true => word.replace(core, "_"),
        false => word.to_owned(),
    }
}

fn resize(terminal: impl std::os::fd::AsFd, (columns, rows): (u16, u16)) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap();
}

/// Opening a terminal must not make it the test's own.
trait NoTerminalOfOurs {
    fn custom_flags_noctty(&mut self) -> &mut Self;
}

impl NoTerminalOfOurs for std::fs::OpenOptions {
    fn custom_flags_noctty(&mut self) -> &mut Self {
        use std::os::unix::fs::OpenOptionsExt as _;
        self.custom_flags(i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap())
    }
}

impl Session for Terminal {
    fn kind(&self) -> Kind {
        Kind::Terminal
    }

    fn say(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.send(line.trim_end_matches('\n').as_bytes());
            if line.ends_with('\n') {
                self.send(b"\x1b\r");
            }
        }
        self.send(b"\r");
    }

    fn paste(&mut self, words: &str, text: &str) {
        self.send(words.as_bytes());
        self.send(b"\x1b[200~");
        self.send(text.replace('\n', "\r").as_bytes());
        self.send(b"\x1b[201~");
        // What was pasted is shown folded.
        self.see("[pasted ");
        self.send(b"\r");
    }

    fn interrupt(&mut self) {
        self.send(b"\x1b");
    }

    fn wait(&mut self, words: &str) {
        self.wait_for(words, 1);
    }

    fn wait_for(&mut self, words: &str, times: usize) {
        let found = self.shown.wait(|state| state.text().matches(words).count() >= times);
        assert!(found, "{words:?} is not shown {times} times in:\n{}", self.text());
    }

    fn read(&mut self, words: &str, _: usize) {
        self.see(words);
    }

    fn rest(&mut self) {
        self.see("ready");
    }

    fn answer(&mut self, word: &str) {
        self.see("[y] yes, once");
        match word.split_once(' ') {
            Some((_, reason)) => {
                self.send(b"r");
                self.see("No, because");
                self.send(reason.as_bytes());
                self.send(b"\r");
            }
            None => self.send(word.as_bytes()),
        }
        if word == "a" {
            self.see("Enter: yes");
            self.send(b"\r");
        }
    }

    fn text(&self) -> String {
        self.shown.lock().text()
    }

    fn end(&mut self) -> i32 {
        let status = wait_for(&mut *self.child);
        if self.reader.is_some() {
            // What it printed last may still be on its way: this comes behind it.
            self.slave.write_all(END).unwrap();
            assert!(
                self.shown.wait(|state| state.bytes.ends_with(END)),
                "the rest does not come"
            );
            let bytes = &mut self.shown.lock().bytes;
            bytes.truncate(bytes.len() - END.len());
        }
        status
    }
}

/// In a terminal that knows nothing: its user types lines, and nothing is drawn.
pub struct Typed {
    pub terminal: Terminal,
    passed: usize,
}

impl Typed {
    /// Starts a session that asks this server.
    pub fn start(bench: &Bench, server: &Server, args: &[&str]) -> Self {
        let mut command = bench.asking(server, Wire::Anthropic, args);
        command.env("TERM", "dumb");
        let mut typed = Typed {
            terminal: Terminal::run(bench, command, (80, 24)),
            passed: 0,
        };
        typed.rest();
        typed
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.terminal.send(b"\x04");
    }

    fn shows(&self, what: &str, mut holds: impl FnMut(&str) -> bool) {
        let passed = self.passed;
        let found = self
            .terminal
            .shown
            .wait(|state| holds(&lines(state.bytes.get(passed..).unwrap_or_default())));
        assert!(found, "{what} is not shown in:\n{}", self.text());
    }
}

/// What came over the line of a terminal, without what ends its lines.
fn lines(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\r', "")
}

impl Session for Typed {
    fn kind(&self) -> Kind {
        Kind::Typed
    }

    fn say(&mut self, text: &str) {
        let text = text.replace('\n', "\\\n");
        self.terminal.send(format!("{text}\n").as_bytes());
    }

    fn paste(&mut self, words: &str, text: &str) {
        self.say(&format!("{words}{text}"));
    }

    fn interrupt(&mut self) {
        self.terminal.send(b"\x03");
    }

    fn wait(&mut self, words: &str) {
        self.wait_for(words, 1);
    }

    fn wait_for(&mut self, words: &str, times: usize) {
        self.shows(&format!("{words:?} {times} times"), |text| {
            text.matches(words).count() >= times
        });
    }

    fn read(&mut self, words: &str, times: usize) {
        self.wait_for(words, times);
    }

    fn rest(&mut self) {
        self.shows("the sign that it is one's turn", |text| text.ends_with("> "));
    }

    fn answer(&mut self, word: &str) {
        self.wait("Allow it?");
        self.passed = self.terminal.bytes().len();
        self.say(word);
    }

    fn text(&self) -> String {
        lines(&self.terminal.bytes())
    }

    fn end(&mut self) -> i32 {
        self.terminal.end()
    }
}

/// Through pipes.
pub struct Piped {
    pub child: Box<dyn ChildWrapper>,
    stdin: Option<std::process::ChildStdin>,
    shown: Arc<Shown<Vec<u8>>>,
    /// Tells that nobody can print any more.
    all: Receiver<()>,
    passed: usize,
}

impl Piped {
    /// Starts a session that asks this server.
    pub fn start(bench: &Bench, server: &Server, args: &[&str]) -> Self {
        let mut command = bench.asking(server, Wire::Anthropic, args);
        let (mut reader, writer) = std::io::pipe().unwrap();
        command
            .stdin(Stdio::piped())
            .stdout(writer.try_clone().unwrap())
            .stderr(writer);
        let mut wrapped = CommandWrap::from(command);
        wrapped.wrap(ProcessSession);
        let mut child = wrapped.spawn().unwrap();
        drop(wrapped);
        let stdin = child.stdin().take();
        let shown = Arc::new(Shown {
            state: Mutex::new(Vec::new()),
            more: Condvar::new(),
        });
        let to = Arc::clone(&shown);
        let (rest, all) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                to.lock().extend_from_slice(&piece[..count]);
                to.more.notify_all();
            }
            // Whoever does not wait for the end is gone.
            let _ = rest.send(());
        });
        Piped {
            child,
            stdin,
            shown,
            all,
            passed: 0,
        }
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.stdin = None;
    }
}

impl Session for Piped {
    fn kind(&self) -> Kind {
        Kind::Piped
    }

    fn say(&mut self, text: &str) {
        let text = text.replace('\n', "\\\n");
        writeln!(self.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    fn paste(&mut self, words: &str, text: &str) {
        self.say(&format!("{words}{text}"));
    }

    fn interrupt(&mut self) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(process, Signal::INT).unwrap();
    }

    fn wait(&mut self, words: &str) {
        self.wait_for(words, 1);
    }

    fn wait_for(&mut self, words: &str, times: usize) {
        let passed = self.passed;
        let found = self
            .shown
            .wait(|bytes| String::from_utf8_lossy(&bytes[passed..]).matches(words).count() >= times);
        assert!(found, "{words:?} is not shown {times} times in:\n{}", self.text());
    }

    fn read(&mut self, words: &str, times: usize) {
        self.wait_for(words, times);
    }

    fn rest(&mut self) {}

    fn answer(&mut self, word: &str) {
        self.wait("Allow it?");
        self.passed = self.shown.lock().len();
        self.say(word);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock()).into_owned()
    }

    fn end(&mut self) -> i32 {
        let status = wait_for(&mut *self.child);
        self.all.recv_timeout(LIMIT).unwrap();
        status
    }
}

/// Sends a signal.
pub fn signal(process: u32, signal: &str) {
    let done = Command::new("kill")
        .args([signal, &process.to_string()])
        .status()
        .unwrap();
    assert!(done.success());
}

/// Waits until a process is gone, but for a status that nobody has asked for: what was killed may still be on its way out
/// where the machine is busy.
pub fn wait_for_end_of(process: u32) {
    let began = Instant::now();
    let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    while !(state().is_empty() || state().contains(") Z ")) {
        assert!(began.elapsed() < LIMIT, "{process} is left: {}", state());
        codelet_testkit::wait_a_moment();
    }
}

fn wait_for(child: &mut dyn ChildWrapper) -> i32 {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            use std::os::unix::process::ExitStatusExt as _;
            return status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        }
        assert!(began.elapsed() < LIMIT, "it does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}
