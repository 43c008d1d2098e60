//! The tools act outside the sandbox, in folders where sandboxed commands write; such commands cannot make them do
//! anything.
#![cfg(target_os = "linux")]

use crate::sandbox::is_there;
use crate::trial::{Trial, block_on, names, to_edit, to_read, to_write};
use codelet_agent::environment::Surroundings as _;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::Permission;
use codelet_agent::tool::Output;
use codelet_tools::environment::{Ahead, World};
use codelet_tools::secrets::SecretSource;
use codelet_tools::{Options, Reach, all_with_reach};
use rustix::fs::inotify;
use serde_json::json;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A command longer than the limit for an argument.
fn long(command: &str) -> String {
    format!("{command}\n: '{}'", "x".repeat(150_000))
}

/// A session whose permission can change, with its environment; its private folder is beside the workspace.
fn session(change: impl FnOnce(&mut Options)) -> (Trial, Reach, World) {
    let mut kept = None;
    let mut trial = Trial::with(Permission::Edit, |options| {
        options.env = vec![("PATH".into(), PATH.into())];
        options.private = vec![options.workspace.with_file_name("private")];
        change(options);
        kept = Some(options.clone());
    });
    let options = kept.unwrap();
    let (tools, reach) = all_with_reach(&options);
    trial.tools = tools;
    let world = World {
        directory: options.workspace.clone(),
        root: options.workspace.clone(),
        added: options.added.clone(),
        home: None,
        own: Vec::new(),
        shell: "bash".to_owned(),
        env: options.env.clone(),
        reach: reach.clone(),
        git_time: std::time::Duration::from_secs(60),
        secrets: SecretSource::default(),
        today: Arc::new(|| "2026-11-22".to_owned()),
        ahead: Ahead::default(),
    };
    (trial, reach, world)
}

#[test]
fn a_folder_that_was_added_is_used_as_the_workspace_is_with_the_same_exceptions() {
    let (trial, _, world) = session(|options| options.added = vec![options.workspace.with_file_name("outside")]);
    let at = |name: &str| trial.outside.join(name).to_str().unwrap().to_owned();
    std::fs::write(at("a.txt"), "one\n").unwrap();
    trial.tells("Read", to_read(at("a.txt")), "one");
    trial.done("Edit", to_edit(at("a.txt"), "one", "two"));
    if is_there() {
        run(&trial, &format!("echo three >> {}", at("a.txt")));
        assert_eq!(std::fs::read_to_string(at("a.txt")).unwrap(), "two\nthree\n");
    }
    for name in [".git/config", ".envrc"] {
        let refused = trial.failed("Write", to_write(at(name), "x"));
        assert!(refused.starts_with("refused: "), "{refused}");
    }
    assert!(world.environment().contains(&at("")[..at("").len() - 1]));
    let beside = trial.workspace.with_file_name("beside.txt");
    std::fs::write(&beside, "x").unwrap();
    trial.fails("Read", to_read(beside), "outside the workspace");
    // Under `read`, it can only be read.
    let looks = Trial::with(Permission::Read, |options| {
        options.added = vec![options.workspace.with_file_name("outside")];
    });
    let name = looks.outside.join("a.txt");
    std::fs::write(&name, "one\n").unwrap();
    looks.done("Read", to_read(&name));
    looks.failed("Edit", to_edit(name, "one", "two"));
}

fn temporary(trial: &Trial) -> PathBuf {
    trial.workspace.with_file_name("it's tmp")
}

fn run(trial: &Trial, command: &str) -> String {
    trial.done("Bash", json!({"command": command}))
}

fn status(world: &World) -> String {
    let mut told = (0..3).map(|_| block_on(world.git_status(Interrupt::new())).unwrap());
    // Git is not waited for long: where the machine stands still meanwhile, it is asked again.
    let answered = told.find(|told| !told.contains("git gave no answer"));
    answered.unwrap_or_else(|| block_on(world.git_status(Interrupt::new())).unwrap())
}

fn repository(folder: &Path) {
    let done = Command::new("git")
        .args(["init", "-q", "-b", "main"])
        .current_dir(folder)
        .status();
    assert!(done.unwrap().success());
}

/// All events on files in a folder, by name.
struct Watch(OwnedFd);

impl Watch {
    fn begin(folder: &Path) -> Watch {
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, folder, inotify::WatchFlags::ALL_EVENTS).unwrap();
        Watch(watch)
    }

    fn seen(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut seen = Vec::new();
        while let Ok(event) = events.next() {
            seen.push(format!("{:?} {:?}", event.events(), event.file_name()));
        }
        seen
    }
}

#[test]
fn nothing_of_a_session_is_made_opened_or_looked_for_in_the_folder_for_temporary_files() {
    let (trial, reach, world) = session(|_| {});
    repository(&trial.workspace);
    std::fs::create_dir(trial.workspace.join("sub")).unwrap();
    let watch = Watch::begin(&temporary(&trial));
    for permission in [Permission::Edit, Permission::All, Permission::Edit] {
        reach.permit(permission);
        if permission != Permission::All && !is_there() {
            continue;
        }
        run(&trial, "cd sub; cd ..");
        assert!(run(&trial, &long("echo ran")).starts_with("ran\n"));
        assert!(status(&world).starts_with("branch: No commits yet on main\n"));
        trial.done("Write", to_write(format!("{permission}.txt"), "x\n"));
        drop(reach.scratch().unwrap());
    }
    assert_eq!(watch.seen(), [] as [String; 0]);
    // A command's write is seen, so nothing was missed.
    std::fs::write(temporary(&trial).join("seen"), "").unwrap();
    assert!(watch.seen().iter().any(|event| event.contains("seen")));
    // And no scratch folder is left.
    assert_eq!(names(&trial.workspace.with_file_name("private")), [] as [String; 0]);
}

#[test]
fn where_every_folder_is_one_that_commands_write_nothing_is_made_and_the_branch_is_told() {
    let (trial, reach, world) = session(|options| {
        options.private = vec![
            "private".into(),
            options.temporary.join("run"),
            options.workspace.join("cache"),
        ];
    });
    repository(&trial.workspace);
    let told = status(&world);
    assert_eq!(told, "branch: main\nchanged files: not known, git gave no answer\n");
    let why = reach.scratch().unwrap_err();
    assert!(why.contains("XDG_RUNTIME_DIR"), "{why}");
    assert_eq!(names(&temporary(&trial)), [] as [String; 0]);
    assert_eq!(names(&trial.workspace), [".git"]);
}

#[test]
fn what_a_command_in_the_sandbox_says_of_its_folder_holds_in_the_sandbox_only() {
    if !is_there() {
        return;
    }
    let (trial, reach, _) = session(|_| {});
    let evil = temporary(&trial).join("evil");
    // However it is claimed: by a change of directory, or in the pipe for the note.
    for command in [
        format!(
            "mkdir -p '{0}' && cd '{0}'",
            evil.display().to_string().replace('\'', "'\\''")
        ),
        "echo / >&198; trap - EXIT".to_owned(),
    ] {
        trial.call("Bash", json!({"command": command}));
        let stands = run(&trial, "pwd -P");
        assert_ne!(stands, format!("{}\n", trial.workspace.display()), "{command}");
        reach.permit(Permission::All);
        // The command was meant for the folder that the model knows.
        let told = trial.failed("Bash", json!({"command": "touch ran"}));
        assert!(
            told.contains("nothing was run") && told.contains("The shell is in . now"),
            "{told}"
        );
        assert!(!evil.join("ran").exists() && !trial.workspace.join("ran").exists());
        assert_eq!(run(&trial, "pwd -P"), format!("{}\n", trial.workspace.display()));
        // Back in the sandbox, the shell is in the folder last reported.
        reach.permit(Permission::Edit);
        assert_eq!(run(&trial, "pwd -P"), format!("{}\n", trial.workspace.display()));
    }
    std::fs::create_dir(trial.workspace.join("sub")).unwrap();
    reach.permit(Permission::All);
    run(&trial, "cd sub");
    reach.permit(Permission::Edit);
    assert_eq!(run(&trial, "pwd -P"), format!("{}/sub\n", trial.workspace.display()));
}

#[test]
fn a_command_that_floods_its_note_is_neither_held_up_nor_believed() {
    if !is_there() {
        return;
    }
    let (trial, ..) = session(|_| {});
    let told = run(
        &trial,
        "head -c 1000000 /dev/zero >&198 2>/dev/null; sleep 1000 & cd /; echo x",
    );
    assert!(told.starts_with("x\n"), "{told}");
    assert_eq!(run(&trial, "pwd -P"), format!("{}\n", trial.workspace.display()));
}

#[test]
fn a_script_cannot_be_changed_by_what_it_runs() {
    let (trial, reach, _) = session(|_| {});
    reach.permit(Permission::All);
    let told = run(
        &trial,
        &long("for fd in /dev/fd/*; do (echo 'echo EVIL' > $fd) 2>/dev/null; done; echo first\necho second"),
    );
    assert!(told.contains("first\nsecond\n"), "{told}");
}

#[test]
fn a_link_in_the_place_of_a_folder_that_commands_may_write_permits_nothing() {
    if !is_there() {
        return;
    }
    let (trial, ..) = session(|options| {
        let inner = options.workspace.join("tmp");
        std::fs::create_dir(&inner).unwrap();
        options.temporary = inner;
    });
    let outside = trial.outside.display();
    assert_eq!(run(&trial, "echo x > tmp/a; cat tmp/a"), "x\n");
    run(&trial, &format!("rm -r tmp; ln -s {outside} tmp"));
    trial.fails("Bash", json!({"command": "echo evil > tmp/a"}), "ermission denied");
    assert_eq!(names(&trial.outside), [] as [String; 0]);
    // The same for the workspace itself.
    let (trial, ..) = session(|options| {
        let whole = options.workspace.join("all");
        std::fs::create_dir_all(whole.join("work")).unwrap();
        options.workspace = whole.join("work");
        options.directory = whole.join("work");
        options.temporary = whole;
    });
    let (work, outside) = (trial.workspace.join("all/work"), trial.outside.display());
    let swap = format!("cd ..; mv work other; ln -s {outside} {}", work.display());
    run(&trial, &swap);
    trial.failed("Bash", json!({"command": format!("echo evil > {}/a", work.display())}));
    assert_eq!(names(&trial.outside), [] as [String; 0]);
}

#[test]
fn the_shell_is_none_that_a_command_could_have_put_there() {
    let (trial, reach, _) = session(|options| {
        let bin = options.workspace.join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("bash"), "#!/bin/sh\necho EVIL\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join("bash"), mode).unwrap();
        // A path to it that commands cannot write to.
        symlink(&bin, options.workspace.with_file_name("way")).unwrap();
        let way = options.workspace.with_file_name("way");
        options.env = vec![(
            "PATH".into(),
            format!("{}:{}:{PATH}", bin.display(), way.display()).into(),
        )];
    });
    reach.permit(Permission::All);
    assert_eq!(run(&trial, "echo x"), "x\n");
}

#[test]
fn the_shell_stays_the_one_that_was_found_whatever_a_link_on_the_way_leads_to_later() {
    let (trial, reach, _) = session(|options| {
        let (store, bin) = (
            options.workspace.with_file_name("store"),
            options.workspace.with_file_name("bin"),
        );
        std::fs::create_dir(&store).unwrap();
        std::fs::create_dir(&bin).unwrap();
        std::fs::copy("/bin/bash", store.join("bash")).unwrap();
        symlink(&store, options.workspace.join("result")).unwrap();
        symlink(options.workspace.join("result/bash"), bin.join("bash")).unwrap();
        options.env = vec![("PATH".into(), format!("{}:{PATH}", bin.display()).into())];
    });
    std::fs::remove_file(trial.workspace.join("result")).unwrap();
    std::fs::create_dir(trial.workspace.join("result")).unwrap();
    trial.write("result/bash", "#!/bin/sh\necho EVIL\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(trial.workspace.join("result/bash"), mode).unwrap();
    reach.permit(Permission::All);
    assert_eq!(run(&trial, "echo x"), "x\n");
    let path = reach.search_path();
    let mut folders = std::env::split_paths(&path);
    assert!(folders.all(|folder| !folder.starts_with(&trial.workspace)), "{path:?}");
}

/// While the shell is in a folder, a job exchanges it with a link; the path by which the shell came there then leads
/// elsewhere.
#[test]
fn a_folder_that_was_exchanged_with_a_link_is_not_taken_for_the_one_that_the_link_leads_to() {
    let (trial, reach, _) = session(|_| {});
    let precious = trial.workspace.with_file_name("precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::create_dir(trial.workspace.join("sub")).unwrap();
    reach.permit(Permission::All);
    let exchange = format!(
        "cd sub; mv ../sub ../moved; ln -s '{}' ../sub",
        precious.display().to_string().replace('\'', "'\\''")
    );
    run(&trial, &exchange);
    assert_eq!(
        run(&trial, "pwd -P"),
        format!("{}\n", trial.workspace.join("moved").display())
    );
}

/// Makes a call on a thread for which the kernel does not implement this system call.
fn without(call: i64, act: impl FnOnce() -> Output + Send) -> Output {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new([(call, Vec::new())].into(), SeccompAction::Allow, refused, arch);
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    let acting = move || {
        seccompiler::apply_filter(&filter).unwrap();
        act()
    };
    std::thread::scope(|scope| scope.spawn(acting).join().unwrap())
}

/// Runs this test in a process of its own, where neither a command nor a look at the sandbox has left a thread that is in
/// the sandbox already. Returns false there.
fn runs_apart(test: &str) -> bool {
    const APART: &str = "CODELET_TEST_APART";
    if std::env::var_os(APART).is_some() {
        return false;
    }
    if !is_there() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    let ended = again
        .args([test, "--exact", "--nocapture"])
        .env(APART, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && told.contains("1 passed"), "{told}");
    true
}

#[test]
fn where_the_sandbox_cannot_be_entered_nothing_runs() {
    if runs_apart("reach::where_the_sandbox_cannot_be_entered_nothing_runs") {
        return;
    }
    let (trial, reach, world) = session(|_| {});
    repository(&trial.workspace);
    let mut calls = vec![libc::SYS_landlock_create_ruleset, libc::SYS_seccomp];
    if rustix::process::geteuid().is_root() {
        // Only root has privileges to drop.
        calls.push(libc::SYS_capset);
    }
    for permission in [Permission::Edit, Permission::Read] {
        reach.permit(permission);
        for &call in &calls {
            let parameters = json!({"command": "touch ran"});
            let output = without(call, || trial.call("Bash", parameters));
            let told = output.text.as_str();
            assert!(!output.success && told.contains("nothing was run"), "{call}: {told}");
            assert!(told.contains("`/permission all`"), "{call}: {told}");
            assert!(!trial.workspace.join("ran").exists());
            let told = without(call, || Output::success(status(&world)));
            assert!(told.text.as_str().contains("not known"), "{call}: {}", told.text);
        }
    }
    reach.permit(Permission::All);
    for call in calls {
        let parameters = json!({"command": "echo ran"});
        let output = without(call, || trial.call("Bash", parameters));
        assert!(output.success, "{call}: {}", output.text);
    }
}

#[test]
fn a_command_changes_the_priority_of_no_other_process_and_that_of_its_own_programs() {
    if !is_there() {
        return;
    }
    let (trial, ..) = session(|_| {});
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = other.id();
    for (own, others) in [
        ("nice -n 3 true", format!("renice -n 19 -p {pid}")),
        ("nice -n 3 true", "renice -n 19 -u $(id -u)".to_owned()),
        ("taskset -c 0 true", format!("taskset -p 1 {pid}")),
        ("chrt --idle 0 true", format!("chrt --idle -p 0 {pid}")),
        ("ionice -c 3 true", format!("ionice -c 3 -p {pid}")),
        ("ionice -c 3 true", "ionice -c 3 -u $(id -u)".to_owned()),
    ] {
        if run(
            &trial,
            &format!("command -v {} || true", own.split(' ').next().unwrap()),
        )
        .starts_with('/')
        {
            run(&trial, own);
            let told = trial.failed("Bash", json!({"command": others}));
            assert!(told.contains("ermission denied"), "{others}: {told}");
        }
    }
    other.kill().unwrap();
    other.wait().unwrap();
}
