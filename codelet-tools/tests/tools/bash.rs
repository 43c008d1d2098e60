//! `Bash`: the output of a command, its end, and that nothing is left running.

use crate::trial::{Trial, block_on, free, interrupted, is_alive, to_edit, to_read};
use codelet_agent::permission::Permission;
use codelet_agent::tool::{Live, MOST};
use codelet_testkit::MachineClock;
use codelet_tools::secrets::Secrets;
use serde_json::json;
use std::time::{Duration, Instant};

fn run(trial: &Trial, command: &str) -> String {
    trial.done("Bash", json!({"command": command}))
}

#[test]
fn how_each_command_of_a_pipe_ended_is_recorded_and_a_hidden_failure_is_told() {
    let trial = free();
    for (command, pipe, told) in [
        (
            "(echo a; exit 3) | cat",
            vec![3, 0],
            "a\n[exit statuses in the pipe: 3, 0]\n",
        ),
        ("echo a | cat", vec![0, 0], "a\n"),
        ("yes | head -n1", vec![141, 0], "y\n"),
        ("false | cat; echo a", vec![], "a\n"),
    ] {
        let output = trial.call("Bash", json!({"command": command}));
        assert_eq!((&output.pipe[..], output.text.as_str()), (&*pipe, told), "{command}");
    }
}

#[test]
fn the_shell_complains_as_if_the_command_had_been_typed() {
    let trial = Trial::new(Permission::All);
    let told = trial.failed("Bash", json!({"command": "true\nno-such-program-here"}));
    assert!(told.starts_with("bash: line 2: no-such-program-here: "), "{told}");
    // The trap that follows the command is not shown.
    assert_eq!(run(&trial, "set -x; true"), "+ true\n");
}

#[test]
fn output_comes_in_the_order_in_which_it_was_printed() {
    let trial = free();
    assert_eq!(run(&trial, "echo a; echo b >&2; echo c"), "a\nb\nc\n");
    assert_eq!(run(&trial, "true"), "[exit 0, no output]\n");
    assert_eq!(
        trial.failed("Bash", json!({"command": "echo x; exit 3"})),
        "x\n[exit 3]\n"
    );
    assert_eq!(
        trial.failed("Bash", json!({"command": "printf x; kill -9 $$"})),
        "x\n[ended by signal 9]\n[where it ended is not known; the next command begins in .]\n"
    );
    trial.fails("Bash", json!({"command": "no-such-program"}), "[exit 127]");
    trial.fails("Bash", json!({"command": "if then"}), "syntax error");
    // Stdin is empty, and there is no terminal for a prompt.
    assert_eq!(
        run(&trial, "cat; (echo x > /dev/tty) 2>/dev/null || echo none"),
        "none\n"
    );
    assert_eq!(
        run(&trial, "printf '\\033[31mred\\033[0m 10%%\\r100%%\\n'"),
        "100%10%\n"
    );
    // Neither invalid UTF-8 nor an unterminated title hides the text after it.
    assert_eq!(
        run(
            &trial,
            "printf 'Stra\\303\\203\\302\\237e\\n\\033]0;title cut\\n'; echo error: E1"
        ),
        "StraÃe\n0;title cut\nerror: E1\n"
    );
}

#[test]
fn the_shell_stays_where_it_went() {
    let trial = free();
    std::fs::create_dir_all(trial.workspace.join("sub/it's")).unwrap();
    let work = trial.workspace.display();
    let still = format!("paths of the other tools still begin at {work}");
    assert_eq!(
        run(&trial, "cd sub"),
        format!("[exit 0, no output]\n[now in sub; {still}]\n")
    );
    assert_eq!(
        run(&trial, "pwd; cd \"it's\"; exit"),
        format!("{work}/sub\n[now in sub/it's; {still}]\n")
    );
    trial.fails("Bash", json!({"command": "cd ..; false"}), "[now in sub; paths");
    // Paths are still relative to the session's directory, and the error says so.
    trial.write("sub/a", "x");
    trial.fails("Read", to_read("a"), "say sub/a");
    assert_eq!(
        run(&trial, "cd ..; rm -r sub; mkdir x; cd x; rmdir ../x"),
        "[exit 0, no output]\n[now in .]\n"
    );
}

#[test]
fn where_nobody_knows_where_a_command_ended_it_says_where_the_next_one_begins() {
    let trial = free();
    std::fs::create_dir_all(trial.workspace.join("sub")).unwrap();
    let unknown = |place: &str| format!("[where it ended is not known; the next command begins in {place}]\n");
    let pwd = || run(&trial, "pwd -P");
    let (work, sub) = (
        format!("{}\n", trial.workspace.display()),
        format!("{}/sub\n", trial.workspace.display()),
    );
    for command in [
        "cd sub && trap 'echo bye' EXIT && echo x",
        "cd sub; exec echo x; echo bye",
    ] {
        let told = run(&trial, command);
        assert!(
            told.starts_with("x\n") && told.ends_with(&unknown(".")),
            "{command}: {told}"
        );
        assert_eq!(pwd(), work, "{command}");
    }
    run(&trial, "cd sub");
    let timed_out = json!({"command": "cd ..; exec sleep 1000", "timeout": 300});
    let killed = json!({"command": "cd ..; kill -9 $$"});
    for command in [timed_out, killed] {
        let told = trial.failed("Bash", command);
        assert!(told.ends_with(&unknown("sub")), "{told}");
        assert_eq!(pwd(), sub);
    }
    let told = run(&trial, "cd ..");
    assert!(told.ends_with("[now in .]\n"), "{told}");
}

#[test]
fn where_a_path_means_one_file_here_and_another_beside_the_shell_it_is_said() {
    let trial = free();
    trial.write("main.py", "x=1\n");
    trial.write("lib/main.py", "x=1\n");
    trial.write("other.py", "y=1\n");
    run(&trial, "cd lib");
    let note = format!(
        "[this is {}; beside the shell there is lib/main.py, too]\n",
        trial.workspace.join("main.py").display()
    );
    let read = trial.done("Read", to_read("main.py"));
    assert!(read.ends_with(&note), "{read}");
    let edit = to_edit("main.py", "x=1", "x=2");
    assert!(trial.done("Edit", edit.clone()).ends_with(&note));
    assert!(trial.failed("Edit", edit).ends_with(&note));
    let absolute = trial.workspace.join("main.py");
    for (tool, parameters) in [
        ("Read", to_read("lib/main.py")),
        ("Read", to_read(absolute)),
        ("Read", to_read("other.py")),
        ("LS", json!({})),
    ] {
        let told = trial.done(tool, parameters);
        assert!(!told.contains("beside the shell"), "{told}");
    }
    run(&trial, "cd ..");
    let read = trial.done("Read", to_read("main.py"));
    assert_eq!(read, "1\tx=2\n");
}

#[test]
fn a_parameter_that_a_tool_does_not_have_is_no_silence() {
    let trial = free();
    std::fs::create_dir(trial.workspace.join("sub")).unwrap();
    trial.write("a", "x\ny\n");
    for (parameters, part) in [
        (
            json!({"command": "touch ran", "cwd": "sub"}),
            "begin the command with `cd sub && `",
        ),
        (
            json!({"command": "touch ran", "workdir": "sub"}),
            "`workdir` is not a parameter",
        ),
        (
            json!({"command": "touch ran", "run_in_background": true}),
            "> FILE 2>&1 &",
        ),
    ] {
        let told = trial.failed("Bash", parameters);
        assert!(told.contains(part) && told.contains("nothing was run"), "{told}");
    }
    assert!(!trial.workspace.join("ran").exists());
    let told = trial.done(
        "Bash",
        json!({"command": "echo x", "description": "Prints", "run_in_background": false, "cwd": "", "env": {"A": "1"}}),
    );
    assert_eq!(
        told,
        "x\n[`env` is not a parameter of Bash and was ignored; it has `command`, `timeout`, `stop`]\n"
    );
    let told = trial.done("Read", json!({"path": "a", "start_line": 2}));
    assert!(
        told.starts_with("1\tx\n2\ty\n[`start_line` is not a parameter of Read"),
        "{told}"
    );
    let told = trial.done("Grep", json!({"pattern": "x", "-A": 1, "type": "rs"}));
    assert!(told.contains("`-A`, `type` are not parameters of Grep"), "{told}");
    let told = trial.failed("Read", json!({"filename": "a"}));
    assert!(told.contains("`file_path` is missing\n[`filename` is not"), "{told}");
}

#[test]
fn a_command_longer_than_an_argument_runs() {
    let trial = free();
    let text = run(
        &trial,
        &format!("cat <<'END' | wc -c\n{}\nEND\ncd /", "x".repeat(300_000)),
    );
    assert!(
        text.starts_with("300001\n") && text.contains("[now in /; paths"),
        "{text}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn no_command_line_of_a_process_holds_the_text_of_a_command() {
    // The shell, its forks, and their parent.
    let look = "for line in /proc/[0-9]*/cmdline; do
        case $( (tr '\\0' ' ' < $line) 2>/dev/null ) in *a-needle-'in'-hay*) echo seen $line;; esac
    done; : a-needle-in-hay; echo looked";
    let padded = format!("{look} # {}", "x".repeat(200_000));
    for permission in [Permission::All, Permission::Edit] {
        let trial = Trial::with(permission, |options| {
            options.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        });
        if permission == Permission::Edit && !crate::sandbox::is_there() {
            continue;
        }
        for command in [look, &padded] {
            // With many processes it takes so long that the time is told behind it.
            let found = run(&trial, command);
            assert!(found.starts_with("looked\n"), "{permission}: {found}");
        }
        // Nor can a program of the command get the script in another way.
        assert!(!run(&trial, "readlink /proc/self/fd/*; true").contains("memfd"));
    }
}

#[test]
fn no_key_reaches_a_command_or_its_output() {
    let key = "sk-0123456789abcdef";
    let trial = Trial::with(Permission::All, |options| {
        options.secrets = Secrets::new(&[key.to_owned()]).into();
        options.env = [
            ("PATH", "/usr/bin:/bin"),
            ("OPENAI_API_KEY", "other"),
            ("X", key),
            ("MY_TOKEN", "t"),
            ("PLAIN", "p"),
            ("BASH_ENV", "/dev/null"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    });
    let names = run(&trial, "env | cut -d= -f1 | sort | xargs");
    assert_eq!(
        names,
        "CODELET_CALL GIT_EDITOR GIT_PAGER GIT_TERMINAL_PROMPT NO_COLOR PAGER PATH PLAIN PWD SHLVL TERM _\n"
    );
    assert_eq!(
        run(&trial, "echo sk-01234; printf sk-01234; sleep 0.1; echo 56789abcdef"),
        "sk-01234\n[secret]\n"
    );
}

#[test]
fn a_shell_reads_a_line_in_the_encoding_in_which_it_was_judged() {
    for (name, value, read_in) in [
        ("LANG", "zh_CN.GB18030", "C.UTF-8"),
        ("LC_ALL", "zh_TW.BIG5", "C.UTF-8"),
        ("LANG", "de_DE.UTF-8", "none"),
        ("LC_CTYPE", "en_US.utf8", "none"),
        ("LC_ALL", "C", "C"),
    ] {
        let trial = Trial::with(Permission::All, |options| {
            options.env = vec![("PATH".into(), "/usr/bin:/bin".into()), (name.into(), value.into())];
        });
        assert_eq!(
            run(&trial, "echo ${LC_ALL-none}"),
            format!("{read_in}\n"),
            "{name}={value}"
        );
    }
}

#[test]
fn a_flood_is_cut_in_the_middle_and_counted() {
    let trial = free();
    let output = trial.call(
        "Bash",
        json!({"command": "echo first; head -c 256M /dev/zero | tr '\\0' x; echo; echo last"}),
    );
    let text = output.text.as_str();
    assert!(output.success && text.len() <= MOST, "{}", text.len());
    assert!(text.starts_with("first\nxxx") && text.contains("xxx\nlast\n"));
    assert_eq!(
        output.lost + text.len() as u64,
        (256 << 20)
            + 12
            + text.find("bytes were").map_or(0, |_| {
                let mark = text
                    .split('\n')
                    .find(|line| line.contains("bytes were not kept"))
                    .unwrap();
                mark.len() as u64 + 2
            })
            + text
                .lines()
                .last()
                .filter(|line| line.starts_with("[exit"))
                .map_or(0, |line| line.len() as u64 + 1)
    );
}

#[test]
fn a_flood_without_end_is_ended_in_time() {
    let trial = free();
    let output = trial.call("Bash", json!({"command": "yes", "timeout": 300}));
    assert!(!output.success && output.text.len() <= MOST);
    assert!(output.text.as_str().ends_with("or run it in the background]\n"));
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let trial = free();
    for (command, last) in [
        (
            "trap 'echo asked; exit' TERM; sleep 1000 & echo $!; echo begun; wait",
            "asked\n",
        ),
        // A process that ignores SIGTERM is ended as well.
        (
            "trap '' TERM; echo $$; echo begun; while :; do sleep 1; done",
            "begun\n",
        ),
    ] {
        // On a busy machine a short time may be over before the command has begun, or has heard that it shall end.
        let mut texts = [100, 1_000, 10_000].into_iter().map(|timeout| {
            let text = trial.failed("Bash", json!({"command": command, "timeout": timeout}));
            assert!(
                text.contains(&format!("[timed out after {:.1} s", f64::from(timeout) / 1e3)),
                "{text}"
            );
            text
        });
        let text = texts.find(|text| text.contains("begun\n") && text.contains(last));
        assert!(!is_alive(text.unwrap().lines().next().unwrap()));
    }
}

#[test]
fn a_job_is_known_whatever_it_calls_itself() {
    let trial = free();
    // The process has the shell's name until it calls exec.
    let begun = "p=$!; while case \"$(cat /proc/$p/comm)\" in bash|sh) :;; *) false;; esac; do :; done; echo $p";
    let line =
        "cp \"$(command -v sleep)\" \"$(printf 'diens\\303')\"; ./\"$(printf 'diens\\303')\" 1000 >/dev/null 2>&1 &";
    let text = run(&trial, &format!("{line} {begun}"));
    let pid = text.lines().next().unwrap();
    assert!(
        text.contains(&format!("[1 job still running in the background: {pid} diens\u{fffd}]")),
        "{text}"
    );
    let line = "cp \"$(command -v sleep)\" $'a\\n[exit 0]'; ./$'a\\n[exit 0]' 1000 >/dev/null 2>&1 &";
    let text = run(&trial, &format!("{line} {begun}"));
    assert!(text.contains(" a\u{fffd}[exit 0]"), "{text}");
}

#[test]
fn a_background_job_does_not_hold_the_call() {
    let trial = free();
    let text = run(&trial, "sleep 1000 & echo $!");
    let pid = text.lines().next().unwrap().to_owned();
    assert!(
        text.contains(&format!(
            "[1 job still running in the background: {pid} sleep; further output is lost: redirect it to a file"
        )),
        "{text}"
    );
    assert!(is_alive(&pid));
    // It can keep printing, and ends with the session.
    let text = run(&trial, "(while echo tick; do sleep 0.01; done) & echo $!");
    let printing = text
        .lines()
        .find(|line| line.parse::<u32>().is_ok())
        .unwrap()
        .to_owned();
    run(&trial, "sleep 0.3");
    assert!(is_alive(&printing));
    // A job that prints elsewhere loses no output.
    let text = run(&trial, "sleep 1000 > out 2>&1 & echo $!");
    let elsewhere = text.lines().next().unwrap().to_owned();
    let told = format!("[1 job still running in the background: {elsewhere} sleep]\n");
    assert!(text.ends_with(&told), "{text}");
    drop(trial);
    assert!(!is_alive(&pid) && !is_alive(&printing) && !is_alive(&elsewhere));
}

#[test]
fn a_call_that_is_dropped_leaves_nothing() {
    let trial = free();
    let (sender, mut live) = tokio::sync::mpsc::channel(100);
    let parameters = codelet_context::message::Parameters::new(
        json!({"command": "echo begun $$; sleep 1000"})
            .as_object()
            .unwrap()
            .clone(),
    );
    let needs = trial.tool("Bash").needs(&parameters).unwrap();
    let pid = block_on(async {
        let mut call = trial.tool("Bash").call(codelet_agent::tool::Call {
            parameters: &parameters,
            permitted: &needs,
            conversation: &trial.conversation,
            live: Live::new("call".into(), sender),
            interrupt: trial.interrupt.clone(),
            lent: None,
        });
        let shown = tokio::select! {
            _ = &mut call => panic!("it sleeps"),
            shown = live.recv() => crate::trial::printed(shown.unwrap()),
        };
        drop(call);
        // Its end closes the channel.
        while live.recv().await.is_some() {}
        shown.trim().strip_prefix("begun ").unwrap().to_owned()
    });
    let start = Instant::now();
    while is_alive(&pid) {
        assert!(start.elapsed() < Duration::from_secs(10));
        codelet_testkit::wait_a_moment();
    }
}

#[test]
fn output_is_shown_while_the_command_runs() {
    let trial = free();
    let (text, _) = interrupted(&trial, "echo one; echo begun; sleep 1000");
    assert!(text.starts_with("one\nbegun\n"), "{text}");
}

#[test]
fn a_short_command_takes_little_time() {
    let trial = free();
    run(&trial, "true");
    let clock = MachineClock::start();
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let before = clock.elapsed();
            run(&trial, "true");
            clock.elapsed() - before
        })
        .collect();
    times.sort();
    // A few milliseconds on an idle machine.
    assert!(times[7] < Duration::from_millis(250), "{times:?}");
}

#[test]
fn a_command_gets_no_variable_that_holds_a_secret_whatever_its_ending() {
    let trial = Trial::with(Permission::All, |options| {
        options.env = [
            ("PATH", "/usr/bin:/bin"),
            ("PGPASSWORD", "hunter2hunter2"),
            ("DJANGO_SECRET_KEY", "abcabcabcabc"),
            ("DATABASE_URL", "postgres://ada:lovelace1815@db.example/app"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("KEYBOARD", "de"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("REPOSITORY_URL", "https://git@example.org/x.git"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    });
    assert_eq!(
        run(
            &trial,
            "for name in PGPASSWORD DJANGO_SECRET_KEY DATABASE_URL TOKENIZERS_PARALLELISM KEYBOARD SSH_AUTH_SOCK REPOSITORY_URL; do echo \"$name=${!name-none}\"; done"
        ),
        "PGPASSWORD=none\nDJANGO_SECRET_KEY=none\nDATABASE_URL=none\nTOKENIZERS_PARALLELISM=false\nKEYBOARD=de\nSSH_AUTH_SOCK=/run/agent\nREPOSITORY_URL=https://git@example.org/x.git\n"
    );
}

#[test]
fn commands_run_where_there_is_no_folder_for_temporary_files() {
    let trial = Trial::with(Permission::All, |options| options.temporary = "/nonexistent/tmp".into());
    assert_eq!(run(&trial, "echo x"), "x\n");
}

#[test]
fn a_command_has_no_descriptor_of_ours_but_the_one_for_its_note() {
    let trial = free();
    // Regardless of how many descriptors this process has open and would pass on by mistake.
    let held: Vec<_> = (0..40)
        .map(|number| {
            let held = std::fs::File::create(trial.workspace.join(format!("held-{number}"))).unwrap();
            rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
            held
        })
        .collect();
    // Descriptors that other tests have open for a moment do not matter.
    let open = run(
        &trial,
        "for fd in /proc/$$/fd/*; do echo \"${fd##*/} $(readlink $fd)\"; done",
    );
    assert!(!open.contains("held-"), "{open}");
    assert!(open.lines().any(|line| line.starts_with("198 pipe:")), "{open}");
    drop(held);
}

#[test]
fn scripts_have_the_descriptors_from_three_to_nine_and_may_close_them_all() {
    let trial = free();
    let text = run(
        &trial,
        "exec 3>a 9>lock; flock 9 true; echo three >&3; cat a; mkdir sub; cd sub; for fd in $(seq 3 250); do eval \"exec $fd>&-\"; done; echo x",
    );
    assert!(text.starts_with("three\nx\n"), "{text}");
    assert!(text.contains("where it ended is not known"), "{text}");
}

#[test]
fn a_folder_that_has_become_a_link_is_no_place_for_a_command_that_was_meant_for_it() {
    let trial = free();
    std::fs::create_dir(trial.workspace.join("sub")).unwrap();
    std::fs::write(trial.outside.join("kept"), "kept").unwrap();
    run(&trial, "cd sub");
    std::fs::rename(trial.workspace.join("sub"), trial.workspace.join("other")).unwrap();
    std::os::unix::fs::symlink(&trial.outside, trial.workspace.join("sub")).unwrap();
    let told = trial.failed("Bash", json!({"command": "rm kept"}));
    assert!(
        told.contains("nothing was run") && told.contains("replaced by a link"),
        "{told}"
    );
    assert!(trial.outside.join("kept").exists());
    assert_eq!(run(&trial, "pwd -P"), format!("{}\n", trial.workspace.display()));
}
