//! Actions that commands cannot take unless everything is permitted.
#![cfg(target_os = "linux")]

use crate::trial::{Trial, to_edit, to_read, to_write};
use codelet_agent::permission::Permission;
use codelet_agent::tool::Lack;
use codelet_tools::sandbox::{Sandbox, Sandboxing};
use serde_json::json;
use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};

/// Returns whether this machine has a sandbox; if not, says so, and the test is skipped.
#[allow(clippy::print_stderr)]
pub fn is_there() -> bool {
    match Sandbox::probe() {
        Sandboxing::Full => true,
        other => {
            eprintln!("skipped: {other:?}");
            false
        }
    }
}

#[test]
fn a_command_that_only_looks_writes_nothing_reads_the_workspace_alone_and_starts_nothing_of_it() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    std::fs::write(trial.outside.join("kept"), "secret\n").unwrap();
    std::fs::write(trial.workspace.join("a.md"), "one\n").unwrap();
    std::fs::create_dir(trial.workspace.join("sub")).unwrap();
    std::os::unix::fs::symlink(&trial.outside, trial.workspace.join("sub/out")).unwrap();
    let look = |command: &str| trial.call("Bash", json!({"command": command})).text.as_str().to_owned();
    assert_eq!(look("cat *.md | sort && ls sub"), "one\nout\n");
    let outside = trial.outside.display();
    for command in [
        "awk 'BEGIN { print \"x\" > \"new\" }'".to_owned(),
        "sed -n 'w new' a.md".to_owned(),
        "awk 'BEGIN { system(\"./run\") }'; awk 'BEGIN { \"./run\" | getline; print }'".to_owned(),
        format!("awk 'BEGIN {{ while ((getline line < \"{outside}/kept\") > 0) print line }}'"),
        "diff -r sub sub/../sub; cat sub/out/*".to_owned(),
        "grep -R secret .".to_owned(),
    ] {
        std::fs::write(trial.workspace.join("run"), "#!/bin/sh\ntouch ran; echo ran\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(trial.workspace.join("run"), mode).unwrap();
        let text = look(&command);
        assert!(!text.contains("secret") && !text.contains("ran"), "{command}: {text}");
        assert_eq!(
            crate::trial::names(&trial.workspace),
            ["a.md", "run", "sub"],
            "{command}"
        );
    }
}

#[test]
fn a_command_that_only_looks_is_bounded_and_has_a_short_environment() {
    if !is_there() {
        return;
    }
    let trial = Trial::with(Permission::Read, |options| {
        let home = options.workspace.with_file_name("outside");
        for (name, value) in [
            ("HOME", home.as_os_str()),
            ("LESSOPEN", "x".as_ref()),
            ("MY_PROJECT", "y".as_ref()),
        ] {
            options.env.push((name.into(), value.into()));
        }
        for name in ["USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "TZ"] {
            options.env.push((name.into(), "C.UTF-8".into()));
        }
    });
    let limits = "awk 'BEGIN { \"ulimit -Ht; ulimit -Hd\" | getline a; \"ulimit -Hd\" | getline b; print a, b }'";
    assert_eq!(trial.done("Bash", json!({"command": limits})), "3600 4194304\n");
    let names = trial.done(
        "Bash",
        json!({"command": "awk 'BEGIN { for (name in ENVIRON) print name }' | sort"}),
    );
    let page = include_str!("../../../docs/decisions/0008-what-may-run.md");
    let (_, list) = page.split_once("- *Environment.* ").unwrap();
    let (list, _) = list.split_once(". So git").unwrap();
    let listed = list.split('`').skip(1).step_by(2);
    // Variables that the page mentions as missing.
    let mut listed: Vec<&str> = listed
        .filter(|name| !["LD_PRELOAD", "LESSOPEN"].contains(name))
        .collect();
    listed.sort_unstable();
    // awk adds variables of its own.
    let found: Vec<&str> = names.lines().filter(|name| !name.starts_with("AWK")).collect();
    assert_eq!(found, listed);
}

#[test]
fn a_command_that_only_looks_changes_no_mode_or_time_of_a_file() {
    if !is_there() {
        return;
    }
    use std::os::unix::fs::MetadataExt;
    let trial = Trial::new(Permission::Read);
    let (inside, outside) = (trial.write("a.md", "one\n"), trial.outside.join("kept"));
    std::fs::write(&outside, "secret\n").unwrap();
    for file in [&inside, &outside] {
        let known = || file.metadata().map(|file| (file.mode(), file.mtime())).unwrap();
        let before = known();
        let name = file.display();
        for program in ["chmod 4777", "touch -d 1999-01-01", "chmod 000"] {
            let command = format!("sed -n '1e {program} \"{name}\" && echo done' a.md");
            let told = trial.call("Bash", json!({"command": command})).text.as_str().to_owned();
            assert!(!told.contains("done"), "{command}: {told}");
            assert_eq!(known(), before, "{command}");
        }
    }
}

#[test]
fn git_that_only_looks_obeys_the_repository_and_no_setting_of_the_users() {
    if !is_there() {
        return;
    }
    let trial = Trial::with(Permission::Read, |options| {
        let home = options.workspace.with_file_name("outside");
        std::fs::create_dir_all(home.join(".config/git")).unwrap();
        std::fs::write(home.join(".config/git/ignore"), "*.md\n").unwrap();
        std::fs::write(home.join(".config/git/credentials"), "secret\n").unwrap();
        std::fs::write(home.join(".gitconfig"), "[include]\n\tpath = more\n# secret\n").unwrap();
        std::fs::write(home.join("more"), "[user]\n").unwrap();
        let name = |name: &str| home.join(name).into_os_string();
        options.env.push(("HOME".into(), home.clone().into()));
        options.env.push(("GIT_CONFIG_SYSTEM".into(), name("more")));
        options.env.push(("GIT_DIR".into(), name("none")));
        options.env.push(("LD_PRELOAD".into(), name("none")));
        options.home = Some(home);
    });
    let mut git = std::process::Command::new("git");
    git.args(["init", "-q"]).current_dir(&trial.workspace);
    assert!(git.env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success());
    trial.write("a.md", "one\n");
    // The script that git would start for a read-only command.
    trial.write(
        "x.sh",
        "cat ~/.gitconfig ~/.config/git/credentials ../outside/.gitconfig >&2\n",
    );
    let settings = trial.workspace.join(".git/config");
    let with = std::fs::read_to_string(&settings).unwrap() + "[core]\n\tfsmonitor = sh ./x.sh\n";
    std::fs::write(settings, with).unwrap();
    let told = trial.done("Bash", json!({"command": "git status --short"}));
    assert!(told.contains("?? a.md") && !told.contains("secret"), "{told}");
    let told = trial.done(
        "Bash",
        json!({"command": "awk 'BEGIN { print ENVIRON[\"LD_PRELOAD\"] ENVIRON[\"GIT_DIR\"] \".\" }'"}),
    );
    assert_eq!(told, ".\n");
}

#[test]
fn in_a_home_nothing_that_begins_with_a_dot_is_read_unasked() {
    let trial = Trial::with(Permission::Edit, |options| {
        let home = &options.workspace;
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join("notes/.hidden")).unwrap();
        for name in [".netrc", ".ssh/id", "keyring"] {
            std::fs::write(home.join(name), "secret\n").unwrap();
        }
        std::fs::write(home.join("notes/.hidden/a"), "mine\n").unwrap();
        std::os::unix::fs::symlink("../keyring", home.join(".ssh/keys")).unwrap();
        std::os::unix::fs::symlink(".ssh", home.join("keys")).unwrap();
        options.home = Some(home.clone());
    });
    for (tool, parameters) in [
        ("Read", to_read(".netrc")),
        ("Read", to_read("~/.ssh/id")),
        ("Read", to_read("keys/id")),
        ("Read", to_read("keyring")),
        ("Grep", json!({"pattern": "secret", "path": ".ssh"})),
        ("LS", json!({"path": ".ssh"})),
    ] {
        let told = trial.failed(tool, parameters);
        assert!(told.starts_with("refused: "), "{told}");
    }
    let told = trial.done("Grep", json!({"pattern": "secret|mine"}));
    assert!(told.contains("mine") && !told.contains("secret"), "{told}");
    assert_eq!(trial.done("Read", to_read("notes/.hidden/a")), "1\tmine\n");
    if !is_there() {
        return;
    }
    let told = trial
        .call("Bash", json!({"command": "grep -r . . ; ls"}))
        .text
        .as_str()
        .to_owned();
    assert!(
        told.contains("mine") && told.contains("notes") && !told.contains("secret"),
        "{told}"
    );
}

#[test]
fn a_command_writes_in_the_workspace_and_nowhere_else() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    let outside = trial.outside.display();
    std::fs::write(trial.outside.join("kept"), "kept").unwrap();
    let text = trial.done("Bash", json!({"command": "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && ln -s d e && rm e && cat d > /dev/null && echo t > \"$(mktemp -p '../it'\"'\"'s tmp')\" && echo ok"}));
    assert_eq!(text, "ok\n");
    for command in [
        format!("echo x > {outside}/new"),
        format!("echo x >> {outside}/kept"),
        format!("truncate -s 0 {outside}/kept"),
        format!("rm {outside}/kept"),
        format!("mv {outside}/kept ."),
        format!("mkdir {outside}/folder"),
        format!("ln {outside}/kept hard"),
        format!("ln -s {outside} way && echo x > way/new"),
        format!("setsid bash -c 'echo x > {outside}/new'"),
        "echo x > ~/new || echo x > /root/new".to_owned(),
    ] {
        let text = trial.failed("Bash", json!({"command": command}));
        assert!(
            text.contains("ermission denied") || text.contains("cross-device"),
            "{command}: {text}"
        );
        assert_eq!(
            std::fs::read_to_string(trial.outside.join("kept")).unwrap(),
            "kept",
            "{command}"
        );
        assert_eq!(crate::trial::names(&trial.outside), ["kept"], "{command}");
    }
    // Reading is permitted.
    assert_eq!(
        trial.done("Bash", json!({"command": format!("cat {outside}/kept")})),
        "kept"
    );
    let text = trial.failed("Bash", json!({"command": format!("touch {outside}/new")}));
    assert!(text.contains("commands run in a sandbox"), "{text}");
}

#[test]
fn a_failure_says_where_this_command_can_write() {
    if !is_there() {
        return;
    }
    let shared = tempfile::tempdir().unwrap();
    let temporary = shared.path().canonicalize().unwrap();
    std::fs::create_dir_all(temporary.join("home/.config/codelet")).unwrap();
    std::fs::create_dir(temporary.join("job")).unwrap();
    let trial = Trial::with(Permission::Edit, |options| {
        options.temporary = temporary.clone();
        options.settings = vec![temporary.join("home/.config/codelet")];
    });
    let shown = temporary.display();
    trial.done(
        "Bash",
        json!({"command": format!("echo x > here; echo x > {shown}/job/new")}),
    );
    let workspace = trial.workspace.display();
    let told = format!("they write only in {workspace} and existing files in {shown} that are not protected, use");
    for place in ["new", "home/.config/codelet/settings.toml"] {
        let text = trial.failed("Bash", json!({"command": format!("touch {shown}/{place}")}));
        assert!(text.contains(&told), "{text}");
    }
    let trial = Trial::with(Permission::Read, |options| {
        options.temporary = temporary.join("job");
    });
    let text = trial.permitted_call("Bash", json!({"command": "touch here"})).text;
    let told = format!("they write only in {shown}/job, use");
    assert!(text.as_str().contains(&told), "{text}");
}

#[test]
fn under_read_no_command_changes_a_workspace_in_the_folder_for_temporary_files() {
    if !is_there() {
        return;
    }
    let shared = tempfile::tempdir().unwrap();
    let temporary = shared.path().canonicalize().unwrap();
    let within = |permission| {
        Trial::with(permission, |options| {
            options.temporary = temporary.clone();
            options.workspace = temporary.join("project");
            options.directory = options.workspace.clone();
            std::fs::create_dir_all(temporary.join("project/src")).unwrap();
            std::fs::create_dir_all(temporary.join("job")).unwrap();
        })
    };
    let shown = temporary.display();
    let write = |place: &str| json!({"command": format!("echo x > {shown}/{place}")});
    within(Permission::Edit).done("Bash", write("project/src/new"));
    for permission in [Permission::Read, Permission::Plan] {
        let trial = within(permission);
        assert!(trial.permitted_call("Bash", write("job/new")).success);
        for place in ["project/src/new", "project/new"] {
            let output = trial.permitted_call("Bash", write(place));
            let told = format!("they write only in existing files in {shown} that are not protected, use");
            assert!(
                !output.success && output.text.as_str().contains(&told),
                "{}",
                output.text
            );
        }
    }
}

#[test]
fn in_a_home_neither_calls_nor_commands_change_what_programs_obey() {
    let trial = Trial::with(Permission::Edit, |options| {
        let home = &options.workspace;
        for folder in ["notes", ".ssh", ".config/codelet"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        std::fs::write(home.join(".bashrc"), "old\n").unwrap();
        std::fs::write(home.join(".config/codelet/settings.toml"), "old\n").unwrap();
        options.settings = vec![home.join(".config/codelet")];
        options.home = Some(home.clone());
    });
    for name in [
        ".bashrc",
        "~/.ssh/authorized_keys",
        "notes/../.profile",
        ".config/codelet/settings.toml",
    ] {
        let told = trial.failed("Write", to_write(name, "evil\n"));
        assert!(
            (told.contains("Codelet setting") || told.contains("home directory"))
                && told.contains("needs the permission `all`"),
            "{told}"
        );
    }
    let edit = to_edit(".bashrc", "old", "evil");
    trial.fails("Edit", edit, "refused");
    trial.done("Write", to_write("notes/.env", "mine\n"));
    trial.done("Write", to_write("list.md", "mine\n"));
    if !is_there() {
        return;
    }
    let home = trial.workspace.display();
    trial.done("Bash", json!({"command": "echo x >> notes/.env && echo x >> list.md"}));
    for name in [
        ".bashrc",
        ".ssh/authorized_keys",
        ".profile",
        ".config/codelet/settings.toml",
        ".config/new",
    ] {
        let told = trial.failed("Bash", json!({"command": format!("echo evil >> {home}/{name}")}));
        assert!(told.contains("ermission denied"), "{told}");
        assert!(told.contains("that are neither dot files nor settings"), "{told}");
    }
    assert_eq!(trial.bytes(".bashrc"), b"old\n");
    assert_eq!(trial.bytes(".config/codelet/settings.toml"), b"old\n");
}

#[test]
fn a_command_reaches_no_network() {
    if !is_there() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let free = Trial::new(Permission::All);
    assert_eq!(free.done("Bash", json!({"command": command})), "connected\n");
    let trial = Trial::new(Permission::Edit);
    let text = trial.failed("Bash", json!({"command": command}));
    assert!(
        text.contains("ermission denied") && !text.contains("connected"),
        "{text}"
    );
    // Nor with datagrams.
    let text = trial.failed(
        "Bash",
        json!({"command": format!("exec 3<>/dev/udp/127.0.0.1/{port} && echo connected")}),
    );
    assert!(!text.contains("connected"), "{text}");
}

/// Runs a program in Perl, which includes sockets; `None` if there is no Perl.
#[allow(clippy::print_stderr)]
fn perl(program: &str) -> Option<serde_json::Value> {
    let is_there = std::process::Command::new("perl").arg("-v").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no perl");
    }
    is_there.then(|| json!({"command": format!("perl -MSocket -e '{program}'")}))
}

#[test]
fn a_command_reaches_no_socket_of_another_program() {
    if !is_there() {
        return;
    }
    let (free, trial) = (Trial::new(Permission::All), Trial::new(Permission::Edit));
    // Even where a command may write: other programs listen there as well.
    for folder in [&trial.outside, &trial.workspace] {
        let stream = folder.join("stream");
        let _listener = UnixListener::bind(&stream).unwrap();
        let datagrams = UnixDatagram::bind(folder.join("datagrams")).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let connects = |kind: &str, name: &str| {
            format!(
                "socket(S, AF_UNIX, {kind}, 0) or die $!; connect(S, pack_sockaddr_un(q({}))) or die $!; send(S, q(x), 0) or die $!; print q(sent)",
                folder.join(name).display()
            )
        };
        let sends = |make: &str| {
            format!(
                "{make} or die $!; send(S, q(x), 0, pack_sockaddr_un(q({}))) or die $!; print q(sent)",
                folder.join("datagrams").display()
            )
        };
        for program in [
            connects("SOCK_STREAM", "stream"),
            connects("SOCK_DGRAM", "datagrams"),
            sends("socket(S, AF_UNIX, SOCK_DGRAM, 0)"),
            sends("socket(S, AF_UNIX, SOCK_RAW, 0)"),
            sends("socketpair(S, T, AF_UNIX, SOCK_DGRAM, 0)"),
            sends("socketpair(S, T, AF_UNIX, SOCK_DGRAM | 02000000, 0)"),
        ] {
            let Some(command) = perl(&program) else { return };
            // A note on another test's process may follow.
            let done = free.done("Bash", command.clone());
            assert_eq!(done.lines().next(), Some("sent"), "{program}: {done}");
            let text = trial.failed("Bash", command);
            assert!(text.contains("ermission denied"), "{program}: {text}");
            assert!(text.contains("no other program's socket"), "{program}: {text}");
            let mut buffer = [0; 8];
            while datagrams.recv(&mut buffer).is_ok() {}
        }
    }
}

#[test]
fn a_command_may_join_its_own_processes_with_sockets() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    for kind in ["SOCK_STREAM", "SOCK_SEQPACKET"] {
        let program = format!(
            "socketpair(A, B, AF_UNIX, {kind}, 0) or die $!; if (!fork) {{ send(A, q(joined), 0); exit }} recv(B, $_, 99, 0); print"
        );
        let Some(command) = perl(&program) else { return };
        // A note on the process that sent it may follow.
        let done = trial.done("Bash", command);
        assert_eq!(done.lines().next(), Some("joined"), "{kind}: {done}");
    }
    // A command may listen.
    let listens = "socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un(q(own))) && listen(S, 5) or die $!; print q(listening)";
    let Some(command) = perl(listens) else { return };
    assert_eq!(trial.done("Bash", command).lines().next(), Some("listening"));
}

#[test]
fn a_command_signals_nobody_outside() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    let text = trial.failed("Bash", json!({"command": format!("kill -0 {}", std::process::id())}));
    assert!(text.contains("not permitted"), "{text}");
    assert!(
        trial
            .done("Bash", json!({"command": "sleep 100 & kill $!; echo ended"}))
            .starts_with("ended")
    );
}

#[test]
fn a_command_signals_no_thread_of_this_process_while_it_runs() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    // A thread ID also identifies the process, and a thread inside the sandbox could be signalled by it.
    let all = "for thread in $(ls /proc/$PPID/task); do kill -0 $thread && echo reached $thread; done; echo done";
    let text = trial.done("Bash", json!({"command": format!("sleep 0.1; {all}")}));
    assert!(text.contains("not permitted") && !text.contains("reached"), "{text}");
    assert!(text.contains("\ndone\n"), "{text}");
}

#[test]
fn how_a_job_of_an_earlier_command_is_ended_is_said_when_it_is_left_and_when_a_signal_is_tried() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    // Until the job's shell has become the program.
    let line = "sleep 1000 > /dev/null 2>&1 & echo $!; until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done";
    let told = trial.done("Bash", json!({"command": line}));
    let pid = told.lines().next().unwrap();
    assert!(told.ends_with("ends it with the argument `stop`]\n"), "{told}");
    let told = trial.done("Bash", json!({"command": "echo other"}));
    assert_eq!(told, "other\n");
    let told = trial.done("Bash", json!({"command": format!("kill {pid}; echo tried")}));
    let note = format!("[1 job of earlier commands still runs: {pid} sleep; each command has its own sandbox");
    assert!(told.contains("tried\n") && told.contains(&note), "{told}");
    let job: u64 = pid.parse().unwrap();
    let line = format!("[ -d /proc/{pid} ] || echo gone");
    let told = trial.done("Bash", json!({"command": line, "stop": job}));
    assert_eq!(told, format!("gone\n[ended before this command: {pid} sleep]\n"));
    let told = trial.done("Bash", json!({"command": "echo again", "stop": job}));
    let note = format!("[{pid} is not a running job of an earlier command; nothing was ended]\n");
    assert_eq!(told, format!("again\n{note}"));
    // Only jobs: not this process, which the command cannot signal either.
    let own = std::process::id();
    let told = trial.done("Bash", json!({"command": "echo here", "stop": own}));
    assert!(
        told.starts_with("here\n") && told.contains("nothing was ended"),
        "{told}"
    );
    // A command may end its own jobs, so there is no note.
    let own = "sleep 1000 > /dev/null 2>&1 & { kill $!; wait; } 2> /dev/null; echo ended";
    let own = trial.done("Bash", json!({"command": own}));
    assert_eq!(own, "ended\n");
    // Without a sandbox, jobs of other commands can be ended.
    let free = Trial::new(Permission::All);
    let told = free.done("Bash", json!({"command": "sleep 1000 > /dev/null 2>&1 & echo $!"}));
    let pid = told.lines().next().unwrap();
    assert!(!told.contains("sandbox"), "{told}");
    assert_eq!(
        free.done("Bash", json!({"command": format!("kill {pid} && echo ended")})),
        "ended\n"
    );
}

#[test]
fn a_command_sets_no_limits_of_a_process_outside() {
    if !is_there() {
        return;
    }
    let (free, trial) = (Trial::new(Permission::All), Trial::new(Permission::Edit));
    // Its own limits are the shell's, which children inherit.
    let own = json!({"command": "ulimit -S -n 64 && bash -c 'ulimit -S -n'"});
    assert_eq!(trial.done("Bash", own), "64\n");
    // It changes nothing; reading another process's limits is refused like setting them.
    let call = format!("{}, {}, 0, 0, 0", libc::SYS_prlimit64, std::process::id());
    let Some(command) = perl(&format!("syscall({call}) and die $!; print q(done)")) else {
        return;
    };
    assert_eq!(free.done("Bash", command.clone()).lines().next(), Some("done"));
    trial.fails("Bash", command, "ermission denied");
}

#[test]
fn a_command_has_no_keys_of_the_kernel() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    for call in [
        format!("{}, 0, -3, 0, 0, 0", libc::SYS_keyctl),
        format!("{}, $kind, $name, $name, 1, -2", libc::SYS_add_key),
        format!("{}, $kind, $name, 0, 0", libc::SYS_request_key),
    ] {
        let program = format!("($kind, $name) = (q(user), q(codelet)); syscall({call}) >= 0 or die $!; print q(done)");
        let Some(command) = perl(&program) else { return };
        let text = trial.failed("Bash", command);
        assert!(text.contains("ermission denied"), "{call}: {text}");
    }
}

#[test]
fn this_process_stays_free() {
    let trial = Trial::new(Permission::Edit);
    trial.done("Bash", json!({"command": "true"}));
    Sandbox::probe();
    std::fs::write(trial.outside.join("new"), "x").unwrap();
    TcpListener::bind("127.0.0.1:0").unwrap();
}

#[test]
fn who_only_looks_writes_nothing() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Read);
    // The rules refuse commands; even if one were permitted, it could write nothing.
    let parameters =
        codelet_context::message::Parameters::new(json!({"command": "echo x > new"}).as_object().unwrap().clone());
    let needs = trial.tool("Bash").needs(&parameters).unwrap();
    let output = crate::trial::block_on(trial.tool("Bash").call(codelet_agent::tool::Call {
        parameters: &parameters,
        permitted: &needs,
        conversation: &trial.conversation,
        live: trial.live.clone(),
        interrupt: trial.interrupt.clone(),
        lent: None,
    }));
    assert!(
        !output.success && output.text.as_str().contains("ermission denied"),
        "{}",
        output.text
    );
}

#[test]
fn a_command_reads_no_environment_outside() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    // Even as root; `cat` can read these files of its own process.
    for of in ["environ", "maps", "mem", "auxv"] {
        let command = format!("cat /proc/{}/{of} > /dev/null", std::process::id());
        let told = trial.failed("Bash", json!({"command": command}));
        assert!(
            told.contains("ermission denied") || told.contains("not permitted"),
            "{of}: {told}"
        );
    }
    trial.fails("Bash", json!({"command": "cat /proc/1/environ"}), "ermission denied");
    trial.done("Bash", json!({"command": "cat /proc/$$/environ > /dev/null"}));
}

#[test]
fn a_superusers_command_makes_no_device_and_mounts_nothing() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    for command in [
        "mknod disk b 7 0", "mount -t tmpfs none .", "unshare -m true", "chroot . /bin/true",
    ] {
        let told = trial.failed("Bash", json!({"command": command}));
        assert!(!told.contains("not found"), "{command}: {told}");
    }
    assert_eq!(crate::trial::names(&trial.workspace), [] as [&str; 0]);
    // Ordinary changes of mode and owner still work.
    trial.done("Bash", json!({"command": "touch a && chmod 600 a && chown $(id -u) a"}));
}

/// A session in a repository, without the settings of the user who runs the tests.
fn repository() -> Trial {
    let alone = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
    let trial = Trial::with(Permission::Edit, |options| {
        options
            .env
            .extend(alone.map(|(name, value)| (name.into(), value.into())));
    });
    let made = std::process::Command::new("sh")
        .args(["-c", "git init -q && git config user.name a && git config user.email b"])
        .envs(alone)
        .current_dir(&trial.workspace)
        .status();
    assert!(made.unwrap().success());
    trial
}

#[test]
fn a_job_that_changes_what_git_obeys_after_its_command_is_told_of_at_the_next_one() {
    if !is_there() {
        return;
    }
    let trial = repository();
    let hook = ".git/hooks/pre-commit";
    // A line that plainly changes the hook is refused; this one hides its target.
    let job =
        format!("hook={hook}; mkfifo go done; (read x < go; echo evil > $hook; echo x > done) > /dev/null 2>&1 &");
    let output = trial.call("Bash", json!({"command": job}));
    assert!(output.success && output.notices.is_empty(), "{}", output.text);
    // Both sides wait for each other.
    std::fs::write(trial.workspace.join("go"), "x\n").unwrap();
    std::fs::read(trial.workspace.join("done")).unwrap();
    let output = trial.call("Bash", json!({"command": "true"}));
    assert!(output.text.as_str().contains(hook), "{}", output.text);
    let [notice] = output.notices.as_slice() else {
        panic!("{:?}", output.notices);
    };
    assert!(
        notice.starts_with(&format!("{hook} changed between two commands")),
        "{notice}"
    );
    assert_eq!(trial.call("Bash", json!({"command": "true"})).notices, [] as [&str; 0]);
}

#[test]
fn orders_that_a_command_changes_by_another_spelling_are_told() {
    if !is_there() {
        return;
    }
    let trial = repository();
    std::fs::write(trial.workspace.join("AGENTS.md"), "Be kind.\n").unwrap();
    trial.call("Bash", json!({"command": "true"}));
    // Without a background job, the change was the user's.
    std::fs::write(trial.workspace.join("AGENTS.md"), "Be brief.\n").unwrap();
    assert_eq!(trial.call("Bash", json!({"command": "true"})).notices, [] as [&str; 0]);
    let output = trial.call(
        "Bash",
        json!({"command": "for file in *.md; do echo evil > $file; done"}),
    );
    let [notice] = output.notices.as_slice() else {
        panic!("{:?}", output.notices);
    };
    assert!(
        notice.starts_with("AGENTS.md, which gives instructions to agents, changed while a sandboxed command ran"),
        "{notice}"
    );
    assert!(
        output
            .text
            .as_str()
            .contains("AGENTS.md, which gives instructions to agents, changed while this ran")
    );
}

/// A user's terminal: the controlling side, and the path of the side for programs.
fn terminal() -> (std::fs::File, std::path::PathBuf) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let shows = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&shows).unwrap();
    unlockpt(&shows).unwrap();
    let name = ptsname(&shows, Vec::new()).unwrap().into_string().unwrap();
    (shows.into(), name.into())
}

#[test]
fn a_command_draws_on_no_terminal_of_the_users_and_hears_nothing_there() {
    if !is_there() {
        return;
    }
    let (mut shows, name) = terminal();
    // A user is at the terminal and has typed a line.
    let _sits = std::fs::File::options().read(true).write(true).open(&name).unwrap();
    std::io::Write::write_all(&mut shows, b"typed\n").unwrap();
    let name = name.display();
    let draw = json!({"command": format!("printf '\\033]52;c;cHduZWQ=\\007drawn' > {name} && echo done")});
    let hear = json!({"command": format!("timeout 5 head -n 1 {name}")});
    let steer = json!({"command": format!("stty -F {name} -echo && echo done")});
    let trial = Trial::new(Permission::Edit);
    for command in [&draw, &hear, &steer] {
        let told = trial.failed("Bash", command.clone());
        assert!(told.contains("ermission denied"), "{command}: {told}");
        assert!(!told.contains("typed"), "{command}: {told}");
    }
    let open = json!({"command": "exec 3<>/dev/ptmx && echo open"});
    let told = trial.failed("Bash", open.clone());
    assert!(told.contains("use no terminal"), "{told}");
    // The devices that programs need are available.
    let text = trial.done("Bash", json!({"command": "head -c 4 /dev/zero > /dev/null && head -c 4 /dev/urandom | wc -c && cat <(echo piped) && echo told > /dev/stderr && cat < /dev/null"}));
    assert_eq!(text, "4\npiped\ntold\n");
    // Without the sandbox, programs may use the terminal.
    let free = Trial::new(Permission::All);
    assert_eq!(free.done("Bash", draw), "done\n");
    assert_eq!(free.done("Bash", hear), "typed\n");
    assert_eq!(free.done("Bash", open), "open\n");
}

#[test]
fn who_changes_what_git_obeys_is_told_of() {
    if !is_there() {
        return;
    }
    let trial = repository();
    let quiet = |command: &str| {
        let output = trial.call("Bash", json!({"command": command}));
        assert!(output.success, "{}", output.text);
        assert_eq!(output.notices, [] as [&str; 0], "{command}");
    };
    quiet("echo x > a && git add a && git commit -qm first && git status --short");
    for (command, what) in [
        (
            "hook=.git/hooks/pre-commit; echo 'touch x' > $hook",
            ".git/hooks/pre-commit",
        ),
        ("git config core.fsmonitor evil", ".git/config"),
    ] {
        let output = trial.call("Bash", json!({"command": command}));
        assert!(output.success && output.text.as_str().contains(what), "{}", output.text);
        assert!(output.notices[0].contains(what), "{:?}", output.notices);
    }
    quiet("true");
    let refused = trial.failed("Bash", json!({"command": "echo x > .git/hooks/pre-commit"}));
    assert!(refused.contains("belongs to git"), "{refused}");
}

#[test]
fn build_tools_keep_their_things_apart_and_find_them_again_in_the_next_session() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    let (home, workspace) = (trial.outside.clone(), trial.workspace.clone());
    std::fs::create_dir_all(home.join(".cache/go-build")).unwrap();
    let session = |permission| {
        Trial::with(permission, |options| {
            options.workspace.clone_from(&workspace);
            options.directory.clone_from(&workspace);
            options.home = Some(home.clone());
            options.caches = Some(home.join(".cache/codelet-commands"));
            options.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        })
    };
    let first = session(Permission::Edit);
    assert!(
        !home.join(".cache/codelet-commands").exists(),
        "made before anything needs it"
    );
    let keeps = "mkdir -p \"$GOCACHE\" \"$UV_CACHE_DIR\" && echo made > \"$GOCACHE/a\" && cat \"$GOCACHE/a\"";
    assert_eq!(first.done("Bash", json!({"command": keeps})), "made\n");
    // Another project cannot use it, nor can an unsandboxed command.
    let second = session(Permission::Edit);
    assert_eq!(second.done("Bash", json!({"command": "cat \"$GOCACHE/a\""})), "made\n");
    let all = session(Permission::All);
    assert_eq!(all.done("Bash", json!({"command": "echo \"[$GOCACHE]\""})), "[]\n");
    // Nothing beside it is writable, and it cannot be replaced.
    for command in [
        "echo x > \"$GOCACHE/../../x\"",
        "mv \"$GOCACHE/..\" \"$GOCACHE/../../away\"",
        &format!("echo x > {}/.cache/go-build/x", home.display()),
        &format!("mkdir {}/.cache/codelet-commands/other", home.display()),
    ] {
        second.failed("Bash", json!({"command": command}));
    }
    assert_eq!(crate::trial::names(&home.join(".cache/go-build")), [""; 0]);
}

#[test]
fn where_the_folder_for_temporary_files_holds_a_home_commands_have_one_of_their_own() {
    if !is_there() {
        return;
    }
    let held = tempfile::tempdir().unwrap();
    let shared = held.path().canonicalize().unwrap();
    let other = tempfile::tempdir().unwrap();
    // The home itself is the folder for temporary files, or lies in it.
    for home in [shared.clone(), shared.join("home")] {
        std::fs::create_dir_all(home.join(".config/codelet")).unwrap();
        let caches = home.join(".cache/codelet-commands");
        let session = |permission, private: &std::path::Path| {
            Trial::with(permission, |options| {
                options.temporary.clone_from(&shared);
                options.home = Some(home.clone());
                options.settings = vec![home.join(".config/codelet")];
                options.caches = Some(caches.clone());
                options.private = vec![private.to_owned(), home.join(".cache/codelet")];
                options.env = vec![
                    ("PATH".into(), std::env::var_os("PATH").unwrap()),
                    ("TMPDIR".into(), shared.clone().into()),
                ];
            })
        };
        // Also where Codelet's own files have another place.
        for private in [home.join(".cache/codelet"), other.path().join("codelet")] {
            let trial = session(Permission::Edit, &private);
            let temporary = trial.done(
                "Bash",
                json!({"command": "file=$(mktemp) && echo a > \"$file\" && echo \"$TMPDIR\""}),
            );
            let temporary = std::path::PathBuf::from(temporary.trim_end());
            assert_eq!(crate::trial::names(&temporary).len(), 1, "{}", temporary.display());
            assert!(temporary.starts_with(&caches));
            for command in [
                format!("touch {}/x", shared.display()),
                format!("touch {}/../x", temporary.display()),
                format!("rm {}/../held", temporary.display()),
            ] {
                let told = trial.failed("Bash", json!({"command": command}));
                let writable = format!(
                    "they write only in {} and {}, use",
                    trial.workspace.display(),
                    temporary.display()
                );
                assert!(told.contains(&writable), "{told}");
            }
            let reading = session(Permission::Read, &private);
            assert!(reading.permitted_call("Bash", json!({"command": "mktemp"})).success);
            // What a job prints is read on until its session ends, which must not keep the folder.
            assert!(trial.call("Bash", json!({"command": "sleep 100 &"})).success);
            drop((trial, reading));
            assert!(
                !crate::trial::names(&caches)
                    .iter()
                    .any(|name| name.starts_with("codelet-"))
            );
            let free = session(Permission::All, &private);
            let told = free.done("Bash", json!({"command": "echo \"$TMPDIR\""}));
            assert_eq!(told.trim_end(), shared.to_string_lossy());
        }
    }
}

#[test]
fn there_are_no_caches_where_a_command_could_lead_them_elsewhere() {
    if !is_there() {
        return;
    }
    let trial = Trial::with(Permission::Edit, |options| {
        options.caches = Some(options.workspace.join("caches"));
    });
    assert_eq!(trial.done("Bash", json!({"command": "echo \"[$GOCACHE]\""})), "[]\n");
    assert!(!trial.workspace.join("caches").exists());
}

#[test]
fn what_a_command_lacked_is_the_network_or_a_socket_or_place_that_the_user_may_use() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    let base = trial.workspace.parent().unwrap();
    let runtime = base.join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let _listening = UnixListener::bind(runtime.join("socket")).unwrap();
    let lack = |command: &str| trial.call("Bash", json!({"command": command})).lack;
    let beside = trial.outside.file_name().unwrap().display();
    let (outside, runtime) = (trial.outside.display(), runtime.display());
    for (command, expected) in [
        (
            "echo 'Could not resolve host: x'; exit 6".to_owned(),
            Some(Lack::Network),
        ),
        // Errors of Node, Go and Python if they may not listen.
        (
            "echo 'Error: listen EACCES: permission denied 127.0.0.1:3000'; exit 1".to_owned(),
            Some(Lack::Network),
        ),
        (
            "echo 'listen tcp :80: bind: permission denied'; exit 1".to_owned(),
            Some(Lack::Network),
        ),
        (
            "printf 'import socket\\nsocket.socket().bind((\"127.0.0.1\", 0))\\n' > serve.py && python3 serve.py"
                .to_owned(),
            Some(Lack::Network),
        ),
        // As `pip` and others look a host up, with the words of this machine's C library.
        (
            "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 443)'".to_owned(),
            Some(Lack::Network),
        ),
        (
            "echo \"Failed to establish a new connection: [Errno -2] Name or service not known')\"; exit 1".to_owned(),
            Some(Lack::Network),
        ),
        (
            "(echo 'Could not resolve host: x'; exit 6) | head -5".to_owned(),
            Some(Lack::Network),
        ),
        // It succeeded anyway.
        ("echo 'Could not resolve host: x'; true".to_owned(), None),
        (
            format!("echo '{runtime}/socket: Permission denied'; exit 1"),
            Some(Lack::Freedom),
        ),
        // It names no path, or one that does not exist.
        ("echo 'Permission denied'; exit 1".to_owned(), None),
        (format!("echo '{runtime}/no/other: Permission denied'; exit 1"), None),
        (format!("touch {outside}/new"), Some(Lack::Freedom)),
        (format!("echo hi > {outside}/new && echo ok"), Some(Lack::Freedom)),
        (format!("echo hi > ../{beside}/new"), Some(Lack::Freedom)),
        (format!("touch {outside}/new || true"), None),
        // The sandbox lets commands write there.
        ("echo \"$PWD/x: Permission denied\"; exit 1".to_owned(), None),
    ] {
        assert_eq!(lack(&command), expected, "{command}");
    }
    let free = Trial::new(Permission::All);
    let output = free.call("Bash", json!({"command": "echo 'Could not resolve host: x'; exit 6"}));
    assert_eq!(output.lack, None);
}

#[test]
fn a_socket_where_commands_can_write_is_no_reason_to_leave_the_sandbox() {
    if !is_there() {
        return;
    }
    let trial = Trial::new(Permission::Edit);
    let _listening = UnixListener::bind(trial.workspace.join("s")).unwrap();
    let other = tempfile::tempdir_in("/dev/shm").unwrap();
    let _other = UnixListener::bind(other.path().join("s")).unwrap();
    let linked = trial.outside.join("link");
    std::os::unix::fs::symlink(trial.workspace.join("s"), &linked).unwrap();
    for socket in [trial.workspace.join("s"), other.path().join("s"), linked] {
        let command = format!("echo 'connect {}: Permission denied'; exit 1", socket.display());
        let lack = trial.call("Bash", json!({"command": command})).lack;
        assert_eq!(lack, None, "{command}");
    }
}
