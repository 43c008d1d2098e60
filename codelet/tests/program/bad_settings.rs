//! What is wrong before anything begins is told in one clear message, with status 2 or 3.

use crate::common::agent::Bench;
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::json;

#[test]
fn what_is_wrong_on_the_command_line_is_told_with_what_would_be_right() {
    let bench = Bench::new();
    bench.file("a.txt", "");
    for (args, told) in [
        (
            &["-p", "x", "--model", "nobody/x"][..],
            &["anthropic", "--base-url"][..],
        ),
        (&["-p", "x", "--model", "claude"], &["anthropic"]),
        (&["-p", "x", "--model", ""], &["anthropic"]),
        (
            &["-p", "x", "--model", "anthropic/claude-sonnet-5-5"],
            &["ANTHROPIC_API_KEY"],
        ),
        (&["-p", "x", "-C", "nowhere"], &["nowhere: no such folder"]),
        (&["-p", "x", "-C", "a.txt"], &["a.txt: expected a folder"]),
        (&["-p", "x", "--deny", "git push:*"], &["write `git push *`"]),
        (&["-p", "x", "--allow", "Read(./x)"], &["patterns are for commands"]),
        (&["-p"], &["no prompt: pass one"]),
        (&["-p", " "], &["no prompt: pass one"]),
        (&["fix the test"], &["codelet -p 'fix the test'"]),
        (&["fix", "it"], &["codelet -p 'fix it'"]),
    ] {
        let output = bench.command(args).output().unwrap();
        refused(&output, told);
        // The known vendors are listed once.
        assert!(
            stderr(&output).matches("openrouter").count() <= 1,
            "{}",
            stderr(&output)
        );
    }
    let hooks = |event: &str| format!("[[hooks.{event}]]\nhooks = [{{ type = \"command\", command = \"true\" }}]\n");
    bench.settings(&hooks("PreTolUse"));
    refused(
        &bench.command(&["-p", "x"]).output().unwrap(),
        &["settings.toml", "did you mean PreToolUse?"],
    );
    bench.settings("permission = \"edit\"\nmodel = oops\n");
    refused(&bench.command(&["-p", "x"]).output().unwrap(), &["settings.toml:2:9: "]);
}

#[test]
fn a_project_in_the_settings_may_be_named_through_a_link() {
    let bench = Bench::new();
    std::os::unix::fs::symlink(&bench.work, bench.home.join("work")).unwrap();
    bench.settings("[projects.\"~/work\"]\nallow = [\"make *\"]\n");
    let output = bench.command(&["settings"]).output().unwrap();
    ended(&output, 0);
    assert!(stdout(&output).contains("make *"), "{}", stdout(&output));
}

#[test]
fn a_host_that_cannot_be_reached_is_told_soon() {
    let bench = Bench::new();
    // A port on which nobody listens: it was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let mut command = bench.command(&["-p", "x", "--model", "anthropic/m", "--base-url", &url]);
    let output = command.env("ANTHROPIC_API_KEY", "k").output().unwrap();
    ended(&output, 3);
    assert!(stderr(&output).contains(&port.to_string()), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn a_transcript_that_cannot_be_written_is_told_before_the_run() {
    let bench = Bench::new();
    let args = ["-p", "x", "--model", "ollama/m", "--transcript", "no/such/folder.json"];
    refused(&bench.command(&args).output().unwrap(), &["no such folder"]);
    let mut impossible = vec![format!("{}.json", "a".repeat(300))];
    if cfg!(target_os = "linux") {
        impossible.push("/proc/codelet.json".to_owned());
    }
    for path in &impossible {
        let args = ["-p", "x", "--model", "ollama/m", "--transcript", path];
        refused(&bench.command(&args).output().unwrap(), &[path]);
    }
}

#[test]
fn an_effort_is_refused_where_it_was_asked_of_this_model_and_told_where_it_is_a_setting() {
    let bench = Bench::new();
    let ask = |model: &str, more: &[&str]| {
        let args = [&["-p", "x", "--model", model], more].concat();
        bench.command(&args).env("OPENAI_API_KEY", "k").output().unwrap()
    };
    refused(
        &ask("openai/gpt-4.1", &["--effort", "low"]),
        &["--effort: openai/gpt-4.1 does not support a thinking effort"],
    );
    refused(
        &ask("openai/gpt-5.1", &["--effort", "max"]),
        &["openai/gpt-5.1 does not take max, it takes none, low, medium, high"],
    );
    let server = Server::start(Wire::Responses, Behaviour::replies([Reply::text("Done.")]));
    bench.settings("effort = \"max\"");
    let output = ask("openai/gpt-5.1", &["--base-url", &server.base()]);
    ended(&output, 0);
    assert!(stderr(&output).contains("does not take max"), "{}", stderr(&output));
    let record = server.record();
    assert_eq!(record.exchanges[0].request.json().pointer("/reasoning/effort"), None);
    bench.settings("effort = \"hgih\"");
    refused(
        &ask("openai/gpt-5.1", &[]),
        &["settings.toml:1:10: effort: expected one of none, minimal"],
    );
}

#[test]
fn a_folder_is_added_for_the_tools_and_told_to_the_model_and_its_instructions_are_not() {
    let bench = Bench::new();
    let other = bench.work.with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "the answer is 42\n").unwrap();
    std::fs::write(other.join("CLAUDE.md"), "Speak of whales.\n").unwrap();
    let name = other.join("notes.txt").to_str().unwrap().to_owned();
    let replies = [Reply::call("Read", json!({"file_path": name})), Reply::text("Done.")];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    bench.settings("add_dirs = [\"/nonexistent/folder\"]");
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "x", "--add-dir", "../other"]);
    ended(&output, 0);
    let told = "/nonexistent/folder is not added: no such folder (add_dirs, ";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    let record = server.record();
    assert!(
        record.exchanges[0]
            .request
            .holds("additional directories, used like this one: ")
    );
    let last = &record.exchanges[1].request;
    assert!(last.holds("the answer is 42") && !last.holds("whales"));
    for (folder, problem) in [
        ("missing", "no such folder"),
        ("..", "it contains your home"),
        ("/", "it contains your home"),
    ] {
        let output = bench.command(&["-p", "x", "--add-dir", folder]).output().unwrap();
        refused(&output, &[folder, problem, "--add-dir"]);
    }
}

#[test]
fn only_the_tools_that_were_chosen_are_there_and_unknown_names_are_refused() {
    let bench = Bench::new();
    let tools = |args: &[&str]| {
        let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
        let output = bench.ask(&server, Wire::Anthropic, &[&["-p", "x"], args].concat());
        ended(&output, 0);
        let record = server.record();
        let sent = record.exchanges[0].request.json();
        let names = sent["tools"].as_array().into_iter().flatten();
        names
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = tools(&[]);
    assert!(all.len() > 5 && all.contains(&"Bash".to_owned()), "{all:?}");
    let mut few = tools(&["--tools", "Read,Grep"]);
    few.sort();
    assert_eq!(few, ["Grep", "Read", "Recall"]);
    assert_eq!(tools(&["--no-tools"]), [] as [&str; 0]);
    bench.settings("[mcp.files]\ncommand = \"false\"");
    for (names, told) in [
        ("Raed", "unknown tool Raed; the tools are "),
        ("Raed", "; did you mean Read?"),
        ("fiels__*", "; did you mean files__*?"),
        ("Read,Nonsense", "unknown tool Nonsense"),
    ] {
        let args = ["-p", "x", "--model", "ollama/m", "--tools", names];
        refused(&bench.command(&args).output().unwrap(), &[told]);
    }
}

/// A bench whose folder `name` nobody may enter, or none for a superuser, who may enter all.
fn with_locked(name: &str) -> Option<Bench> {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.file(&format!("{name}/a.txt"), "words\n");
    let locked = bench.work.join(name);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(locked.join("a.txt")).is_ok() {
        eprintln!("skipped: a superuser may enter every folder");
        return None;
    }
    Some(bench)
}

/// Lets the folder be removed with the bench.
fn unlock(bench: &Bench, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(bench.work.join(name), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_folder_that_may_not_be_entered_is_named_itself() {
    let Some(bench) = with_locked("locked") else { return };
    let output = bench.command(&["-p", "x", "-C", "locked"]).output().unwrap();
    unlock(&bench, "locked");
    refused(&output, &["locked: permission denied"]);
    assert!(!stderr(&output).contains(".codelet"), "{}", stderr(&output));
}

#[test]
fn a_settings_file_that_may_not_be_read_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let path = bench.home.join(".config/codelet/settings.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_ok() {
        eprintln!("skipped: a superuser may read every file");
        return;
    }
    let output = bench.command(&["-p", "x"]).output().unwrap();
    refused(&output, &["settings.toml: permission denied"]);
}

#[test]
fn a_cost_limit_needs_a_price() {
    let bench = Bench::new();
    let mut command = bench.command(&["-p", "x", "--model", "deepseek/unheard-of", "--max-cost", "1"]);
    let output = command.env("DEEPSEEK_API_KEY", "k").output().unwrap();
    refused(&output, &["--max-cost", "deepseek/unheard-of"]);
}

#[test]
fn a_session_with_a_cost_limit_takes_no_model_of_unknown_price() {
    let bench = Bench::new();
    let session = |model: &str, said: &str| {
        let mut command = bench.command(&["--plain", "--model", model, "--max-cost", "1"]);
        let stdin = std::process::Stdio::piped();
        let mut child = command
            .env("ANTHROPIC_API_KEY", "k")
            .stdin(stdin)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // It may end before it reads.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), said.as_bytes());
        child.wait_with_output().unwrap()
    };
    refused(
        &session("anthropic/unheard-of", "exit\n"),
        &["--max-cost", "anthropic/unheard-of"],
    );
    let changed = session(
        "anthropic/claude-sonnet-5-5",
        "/model anthropic/unheard-of\n/model\n/model anthropic/claude-haiku-4-5\n/model\nexit\n",
    );
    let text = format!("{}{}", stdout(&changed), stderr(&changed));
    assert!(text.contains("the price of anthropic/unheard-of is unknown"), "{text}");
    assert!(text.contains("anthropic/claude-sonnet-5-5: context window"), "{text}");
    assert!(text.contains("anthropic/claude-haiku-4-5: context window"), "{text}");
}

#[test]
fn settings_are_shown_with_where_they_come_from_and_without_keys() {
    let bench = Bench::new();
    bench.settings("permission = \"read\"\n");
    let mut command = bench.command(&["settings"]);
    let output = command.env("ANTHROPIC_API_KEY", "sk-secret").output().unwrap();
    ended(&output, 0);
    let line = |name: &str| {
        stdout(&output)
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(line("permission").contains("read") && line("permission").contains("settings.toml"));
    assert!(line("summary").contains("template") && line("summary").contains("default"));
    assert!(line("keys.anthropic").contains("$ANTHROPIC_API_KEY"));
    assert!(!stdout(&output).contains("sk-secret"));
}

#[test]
fn a_relative_home_is_no_home() {
    let bench = Bench::new();
    // What the repository brings along in the place of the user's own settings.
    bench.file("home/.config/codelet/settings.toml", "permission = \"all\"\n");
    for home in ["home", "./home"] {
        let output = bench.command(&["settings"]).env("HOME", home).output().unwrap();
        ended(&output, 0);
        let permission = stdout(&output)
            .lines()
            .find(|line| line.starts_with("permission"))
            .unwrap();
        assert!(
            permission.contains("edit") && permission.contains("default"),
            "{permission}"
        );
    }
}

#[test]
fn what_lets_somebody_in_at_an_address_is_not_shown() {
    let bench = Bench::new();
    bench.settings("base_url = \"https://ada:Passw0rd-of-ada@gate.example/v1?api_key=Query0fSecret\"\n");
    let shown = bench.command(&["settings"]).output().unwrap();
    ended(&shown, 0);
    assert!(stdout(&shown).contains("https://gate.example/v1"), "{}", stdout(&shown));
    let url = "ftp://ada:Passw0rd-of-ada@gate.example?api_key=Query0fSecret";
    let mut wrong = bench.command(&["-p", "x", "--model", "anthropic/m", "--base-url", url]);
    let wrong = wrong.env("ANTHROPIC_API_KEY", "sk-0123456789").output().unwrap();
    refused(&wrong, &["ftp://gate.example"]);
    for output in [shown, wrong] {
        let all = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!all.contains("Passw0rd") && !all.contains("Query0f"), "{all}");
    }
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let bench = Bench::new();
    for settings in [
        "keys = \"sk-0123456789abcdef\"\n",
        "[keys]\nsk-0123456789abcdef = \"x\"\n",
        "allow = \"sk-0123456789abcdef\"\n",
        "[mcp.x]\ncommand = \"x\"\nenv = \"sk-0123456789abcdef\"\n",
    ] {
        bench.settings(settings);
        let output = bench.command(&["settings"]).output().unwrap();
        refused(&output, &["settings.toml:"]);
        assert!(!stderr(&output).contains("0123456789"), "{}", stderr(&output));
    }
    for (setting, told) in [("model", "unknown provider"), ("base_url", "invalid API base URL: ")] {
        bench.settings(&format!("{setting} = \"sk-0123456789abcdef\"\n"));
        let output = bench
            .command(&["-p", "x"])
            .env("ANTHROPIC_API_KEY", "k")
            .output()
            .unwrap();
        refused(&output, &[told, "settings.toml"]);
        assert!(!stderr(&output).contains("0123456789"), "{}", stderr(&output));
    }
}

#[test]
fn a_key_that_would_go_unencrypted_to_another_machine_is_warned_of() {
    let bench = Bench::new();
    let told = |url: &str| {
        let mut command = bench.command(&["-p", "x", "--model", "anthropic/m", "--base-url", url]);
        let output = command.env("ANTHROPIC_API_KEY", "sk-0123456789").output().unwrap();
        stderr(&output).contains("the API key and the conversation are sent unencrypted to http://")
    };
    // Names below `.invalid` lead nowhere.
    assert!(told("http://gate.invalid"));
    assert!(!told("https://gate.invalid"));
    assert!(!told("http://127.0.0.1:9"));
}

#[test]
fn a_system_that_gives_too_little_is_told_or_does_no_harm() {
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_codelet");
    let limited = |limit: &str| {
        let line = format!("{limit} && '{program}' -p x --model anthropic/m --base-url http://127.0.0.1:9");
        let mut shell = std::process::Command::new("sh");
        let shell = shell
            .args(["-c", &line])
            .env("HOME", &bench.home)
            .current_dir(&bench.work);
        shell.env("ANTHROPIC_API_KEY", "sk-0123456789").output().unwrap()
    };
    let few_files = limited("ulimit -n 6");
    refused(&few_files, &["limit of open files is 6", "ulimit -n"]);
    // The provider cannot be reached, which is found out with a small stack as well.
    let small_stack = limited("ulimit -s 64");
    ended(&small_stack, 3);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_of_the_write_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("long.json", &crate::common::request_text(200));
    let program = env!("CARGO_BIN_EXE_codelet");
    // In blocks of 512 bytes or of 1024, by the shell.
    let line = format!("ulimit -f 8 && '{program}' compact long.json --budget 20k -o out.json");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &line]).current_dir(&bench.work).output().unwrap();
    refused(&output, &["out.json", "file too large"]);
    let left: Vec<_> = bench
        .work
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["long.json"]);
}
