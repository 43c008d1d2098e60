//! Tests of a panic: the terminal is restored, and the report contains no secrets.
#![allow(clippy::unwrap_used)]

use super::*;
use codelet_agent::environment::Nowhere;
use codelet_agent::model::Profile;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Parts;
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;

/// Marks the test process that panics.
const BREAKS_DOWN: &str = "CODELET_TEST_BREAKS_DOWN";
const SECRET: &str = "sk-secret-0123456789";

/// Not a test itself: the session that the other test starts, in which everything but the model is real.
#[test]
fn a_session_that_breaks_down() {
    if std::env::var_os(BREAKS_DOWN).is_none() {
        return;
    }
    let lived = guarded(Secrets::new(&[SECRET.to_owned()]), || {
        let model = Scripted::by(Profile::unknown("test/model"), |_| {
            panic!("no answer for {SECRET}\x1b[2J\nin this script")
        });
        let (gate, questions) = Asking::new(Rules::default());
        let parts = Parts {
            model: Arc::new(model),
            tools: Vec::new(),
            gate: Arc::new(gate.clone()),
            world: Arc::new(Nowhere),
        };
        let shell = codelet_tools::all(&codelet_tools::Options::new("/"))
            .into_iter()
            .find(|tool| &*tool.spec().name == "Bash");
        let reach = Reach {
            connect: Box::new(|_, _| Box::pin(async { Err("there is no other model".to_owned()) })),
            export: Arc::new(|_, _| Err("nothing is written".to_owned())),
            read_file: Box::new(|_, _| Err("nothing is read".to_owned())),
            attach: Box::new(|text, _| Attached {
                prompt: text.as_str().into(),
                told: None,
                warnings: Vec::new(),
            }),
            shell: shell.unwrap(),
            permit: Box::new(|_| ()),
            gate,
            questions,
            world: Arc::new(Nowhere),
            prompts: Arc::new(codelet_agent::prompts::Several(Vec::new())),
            models: Vec::new(),
            co_author: None,
            effort: None,
        };
        let outfit = Outfit {
            look: Look::new(80, Styles::Colour, Background::Dark),
            terminal: "xterm".to_owned(),
            files: Arc::new(Vec::new),
            past: None,
            edit: Arc::new(|_| Err("there is no editor".to_owned())),
            notify: codelet_terminal::Notify::Bell,
            slow_hook: Arc::new(|| None),
        };
        let session = Session::new(parts, codelet_agent::session::Settings::default());
        let runtime = startup::runtime().unwrap_or_else(|_| panic!("no runtime"));
        let begun = codelet_terminal::Begun {
            session,
            reach,
            notices: Vec::new(),
            earlier: None,
            opening: None,
        };
        let begin = std::future::ready(begun);
        runtime.block_on(codelet_terminal::on_terminal(outfit, "hello", &Interrupt::new(), begin))
    });
    assert!(lived.is_none());
}

/// Returns all modes of a terminal.
fn modes(terminal: &File) -> String {
    let Termios {
        input_modes,
        output_modes,
        control_modes,
        local_modes,
        special_codes,
        ..
    } = tcgetattr(terminal).unwrap();
    format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?} {special_codes:?}")
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was_and_a_report_without_secrets() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let noctty = i32::try_from(OFlags::NOCTTY.bits()).unwrap();
    let slave = File::options().read(true).write(true).custom_flags(noctty).open(name);
    let slave = slave.unwrap();
    let found = modes(&slave);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "commands::chat::tests::a_session_that_breaks_down",
            "--nocapture",
        ])
        .env(BREAKS_DOWN, "1")
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut master = File::from(master);
    let mut emulator = vt100::Parser::new(24, 80, 100);
    let mut seen = Vec::new();
    let mut read_until = |master: &mut File, what: &str| {
        let mut piece = [0; 4096];
        while !emulator.screen().contents().contains(what) {
            let count = master.read(&mut piece).unwrap();
            emulator.process(&piece[..count]);
            seen.extend_from_slice(&piece[..count]);
        }
    };
    read_until(&mut master, "ready");
    assert_ne!(modes(&slave), found);
    master.write_all(b"Hello?\r").unwrap();
    // Printed by the test harness at the end.
    read_until(&mut master, "test result: ok");
    let output = child.wait().unwrap();
    assert!(output.success());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();

    assert_eq!(modes(&slave), found);
    let screen = emulator.screen();
    assert!(!screen.hide_cursor() && !screen.bracketed_paste() && !screen.alternate_screen());
    let seen = String::from_utf8_lossy(&seen);
    // The keyboard protocol is disabled again, and colours are reset.
    let count = |code: &str| seen.matches(code).count();
    assert_eq!(count("\x1b[>1u"), count("\x1b[<1u"));
    assert!(seen.contains("\x1b[?25h\x1b[0m"));

    assert!(told.starts_with("internal error, this is a bug in codelet"), "{told}");
    assert!(
        told.contains("no answer for [secret]") && told.contains("chat/tests.rs"),
        "{told}"
    );
    assert!(!told.contains(SECRET) && !told.contains('\x1b'), "{told}");
}
