//! Tools of servers, with the real program: named in the settings, permitted, called, and ended with it.

use crate::common::agent::{Bench, KEY, WIRES, name};
use crate::common::pty::{Kind, Piped, Session as _, Terminal, signal, wait_for_end_of};
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::MachineClock;
use codelet_testkit::mcp::oauth::{Guarded, Oddity, TOKEN, browse};
use codelet_testkit::mcp::{Http, Manner};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A table of the settings for a server that is a program; what it hears is in the file of its name.
fn table(bench: &Bench, name: &str, manner: Manner) -> String {
    crate::common::mcp_table(name, manner, &bench.home.join(name))
}

fn heard(bench: &Bench, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(bench.home.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn pids(bench: &Bench, name: &str) -> Vec<u32> {
    let heard = heard(bench, name);
    let numbers = heard
        .iter()
        .filter_map(|line| line.strip_prefix("pid ").or(line.strip_prefix("child ")));
    numbers.map(|number| number.parse().unwrap()).collect()
}

fn wait_until(wanted: impl Fn() -> bool, what: &str) {
    let began = Instant::now();
    while !wanted() {
        assert!(began.elapsed() < Duration::from_secs(20), "waiting for {what}");
        codelet_testkit::wait_a_moment();
    }
}

fn all_gone(bench: &Bench, name: &str) {
    for pid in pids(bench, name) {
        wait_for_end_of(pid);
    }
}

fn result(server: &Server, exchange: usize) -> String {
    server.record().exchanges[exchange].request.results()[0].1.to_owned()
}

#[test]
fn a_servers_tool_is_called_on_every_wire() {
    for (wire, ..) in WIRES {
        let bench = Bench::new();
        bench.settings(&table(&bench, "files", Manner::Noisy));
        let replies = [
            Reply::call("files__echo", json!({"text": "well done"})),
            Reply::text("Done."),
        ];
        let server = Server::start(wire, Behaviour::replies(replies));
        let output = bench.ask(&server, wire, &["-p", "Go.", "--allow", "mcp:files__*"]);
        ended(&output, 0);
        assert_eq!(stdout(&output), "Done.\n");
        assert_eq!(result(&server, 1), "well done", "{}", name(wire));
        assert_eq!(server.record().faults(), "");
        all_gone(&bench, "files");
    }
}

#[test]
fn a_servers_tools_are_chosen_by_name_and_a_server_without_a_chosen_one_is_not_started() {
    let bench = Bench::new();
    bench.settings(&(table(&bench, "files", Manner::Good) + &table(&bench, "other", Manner::Good)));
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let args = ["-p", "Go.", "--tools", "Read,files__ec*,files__ehco"];
    let output = bench.ask(&server, Wire::Anthropic, &args);
    ended(&output, 0);
    let told = "no server offers a tool files__ehco now (--tools); did you mean files__echo?";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    let record = server.record();
    let sent = record.exchanges[0].request.json()["tools"].as_array().unwrap();
    let names = sent.iter().map(|tool| tool["name"].as_str().unwrap());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["Read", "Recall", "files__echo"]);
    assert!(heard(&bench, "other").is_empty());
    all_gone(&bench, "files");
}

#[test]
fn a_server_on_the_web_is_called_with_its_headers() {
    let bench = Bench::new();
    let http = Http::start(Manner::Good, true);
    let url = http.url();
    bench.settings(&format!(
        "[mcp.web]\nurl = {url:?}\nheaders = {{ Authorization = \"Bearer ${{WEB}}\" }}\n"
    ));
    let replies = [
        Reply::call("web__echo", json!({"text": "hush-123456789"})),
        Reply::text("Done."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut command = bench.asking(&server, Wire::Anthropic, &["-p", "Go.", "--permission", "all"]);
    let output = command.env("WEB", "hush-123456789").output().unwrap();
    ended(&output, 0);
    let seen = http.wait_for(|seen| seen.message["method"] == "tools/call");
    assert!(
        seen.headers
            .contains(&("authorization".to_owned(), "Bearer hush-123456789".to_owned()))
    );
    // And it comes back to nobody.
    assert_eq!(result(&server, 1), "[secret]");
}

#[test]
fn calls_need_permission() {
    let cases: [(&[&str], bool); 6] = [
        (&[], false),
        (&["--permission", "read"], false),
        (&["--allow", "*"], false),
        (&["--allow", "mcp:files__echo"], true),
        (&["--permission", "read", "--allow", "mcp:files__*"], true),
        (&["--permission", "all"], true),
    ];
    for (args, may) in cases {
        let bench = Bench::new();
        bench.settings(&table(&bench, "files", Manner::Good));
        let replies = [
            Reply::call("files__echo", json!({"text": "heard"})),
            Reply::text("Done."),
        ];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let output = bench.ask(&server, Wire::Anthropic, &[&["-p", "Go."], args].concat());
        ended(&output, if may { 0 } else { 1 });
        assert_eq!(result(&server, 1) == "heard", may, "{args:?}: {}", result(&server, 1));
        assert_eq!(heard(&bench, "files").contains(&"tools/call echo".to_owned()), may);
    }
}

#[test]
fn broken_servers_are_notices_and_the_work_is_done() {
    let bench = Bench::new();
    let dead = table(&bench, "dead", Manner::Dead);
    let silent = table(&bench, "silent", Manner::Silent) + "start = 1\n";
    let missing =
        "[mcp.missing]\ncommand = \"no-such-program\"\n[mcp.nokey]\ncommand = \"x\"\nenv = { A = \"${NONE}\" }\n";
    bench.settings(&format!(
        "{dead}{silent}{missing}{}",
        table(&bench, "good", Manner::Good)
    ));
    let replies = [Reply::call("good__echo", json!({"text": "fine"})), Reply::text("Done.")];
    let server = Server::start(Wire::Chat, Behaviour::replies(replies));
    let output = bench.ask(&server, Wire::Chat, &["-p", "Go.", "--permission", "all"]);
    ended(&output, 0);
    assert_eq!(result(&server, 1), "fine");
    for told in [
        "MCP server dead: it ended with status 3 (",
        "fatal: out of luck)",
        "MCP server silent: no answer to its handshake within 1 s",
        "MCP server missing: could not start no-such-program: no such program",
        "MCP server nokey: the variable NONE is not set, so it is not used",
    ] {
        assert!(stderr(&output).contains(told), "{told}: {}", stderr(&output));
    }
    for name in ["dead", "silent", "good"] {
        all_gone(&bench, name);
    }
}

#[test]
fn the_list_of_tools_stays_as_it_is_when_a_server_dies() {
    let bench = Bench::new();
    bench.settings(&table(&bench, "s", Manner::Good));
    let replies = [
        Reply::call("s__die", json!({})),
        Reply::call("s__echo", json!({"text": "back"})),
        Reply::call("s__die", json!({})),
        Reply::call("s__echo", json!({"text": "again"})),
        Reply::text("Done."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go.", "--permission", "all"]);
    ended(&output, 0);
    let record = server.record();
    let answers: Vec<&str> = record.exchanges[4]
        .request
        .results()
        .iter()
        .map(|(_, text)| *text)
        .collect();
    assert!(answers[0].contains("it ended with status 3"), "{answers:?}");
    assert_eq!(answers[1], "back");
    assert!(answers[3].contains("it was already restarted once"), "{answers:?}");
    // Each request extends the one before it, tools and all.
    assert_eq!(record.faults(), "");
    assert!(
        record.exchanges[1..]
            .iter()
            .all(|exchange| { !matches!(exchange.growth, codelet_testkit::server::Growth::Breaks(_)) })
    );
}

#[test]
fn a_tool_that_comes_while_a_session_lives_is_told_and_called_with_the_next_prompt() {
    for kind in Kind::ALL {
        let bench = Bench::new();
        bench.settings(&table(&bench, "s", Manner::Changing));
        let replies = [
            Reply::call("s__change", json!({})),
            Reply::text("One."),
            Reply::call("s__late", json!({"text": "here I am"})),
            Reply::text("Two."),
        ];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let mut session = kind.start(&bench, &server, &["--permission", "all"]);
        session.say("First.");
        session.wait("One.");
        session.say("Second.");
        session.wait("Two.");
        session.say("exit");
        assert_eq!(session.end(), 0);
        let shown = session.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("its tools have changed (4 now)"), "{shown}");
        let record = server.record();
        let has_late = record.exchanges.iter().map(|exchange| {
            let tools = exchange.request.json()["tools"].as_array().unwrap();
            tools.iter().any(|tool| tool["name"] == "s__late")
        });
        // Within a prompt, each request extends the one before it.
        assert_eq!(has_late.collect::<Vec<_>>(), [false, false, true, true]);
        let results = record.exchanges[3].request.results();
        assert_eq!(results.last().unwrap().1, "here I am");
        all_gone(&bench, "s");
    }
}

#[test]
fn a_servers_prompt_is_a_command_that_is_completed_shown_and_sent() {
    for kind in Kind::ALL {
        let bench = Bench::new();
        bench.settings(&table(&bench, "s", Manner::Author));
        let server = Server::start(Wire::Anthropic, Behaviour::replies(["One.", "Two."].map(Reply::text)));
        let mut session = kind.start(&bench, &server, &[]);
        session.say("/s:review");
        session.wait("/s:review needs file (The file to review). Usage: /s:review FILE [STYLE].");
        session.say("/s:reviwe a.rs");
        session.wait("did you mean /s:review?");
        session.say("/s:refuse");
        session.wait("refuses this prompt: the moon is in the way");
        assert!(server.record().exchanges.is_empty());
        session.say("/s:review 'my file.rs' style=strict");
        session.wait("One.");
        // What is sent was shown.
        let shown = session.text();
        assert!(shown.contains("Review my file.rs in the style strict."), "{shown}");
        assert!(shown.contains("Be kind."), "{shown}");
        session.say("/help");
        session.wait("/s:review FILE [STYLE]");
        session.say("/retry");
        session.wait("Two.");
        session.say("exit");
        assert_eq!(session.end(), 0);
        let record = server.record();
        let expected = "[The user ran /s:review 'my file.rs' style=strict. The MCP server s wrote what follows.]\n\n\
                        Review my file.rs in the style strict.]0;x See @notes.txt.\n\n[note:///rules]\nBe kind.";
        for exchange in &record.exchanges {
            assert_eq!(exchange.request.last_user_text(), Some(expected));
        }
        assert_eq!(record.faults(), "");
        all_gone(&bench, "s");
    }
}

#[test]
fn all_of_a_servers_prompt_is_shown_before_it_is_sent_and_its_picture_is_named() {
    let bench = Bench::new();
    let sees = "[models.\"anthropic/test-model\"]\nsees_images = true\n";
    bench.settings(&format!("{}{sees}", table(&bench, "s", Manner::Author)));
    let server = Server::start(Wire::Anthropic, Behaviour::answering(|_| Reply::text("Done.")));
    for kind in Kind::ALL {
        let mut session = kind.start(&bench, &server, &[]);
        session.say("/s:long");
        session.wait("LAST");
        session.wait("[picture: image/png, 70 bytes]");
        session.say("exit");
        assert_eq!(session.end(), 0);
        let shown = session.text();
        for line in ["- rule 0", "- rule 150", "- rule 299", "END"] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
    }
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "/s:long"]);
    ended(&output, 0);
    let told = stderr(&output);
    for line in [
        "- rule 0\n",
        "- rule 299\n",
        "wide END\n",
        "LAST\n",
        "[picture: image/png, 70 bytes]\n",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    all_gone(&bench, "s");
}

#[test]
fn prompts_of_servers_are_completed_and_one_that_wants_a_file_is_not_sent_without() {
    let bench = Bench::new();
    bench.settings(&table(&bench, "s", Manner::Author));
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &[]), (100, 24));
    terminal.wait("/help");
    terminal.send(b"/s:");
    terminal.see("/s:code_style");
    terminal.send(b"rev");
    terminal.see("Reviews a file.");
    // Down chooses the only one; Enter completes it, as something has to stand behind it.
    terminal.send(b"\x1b[B");
    terminal.send(b"\r");
    terminal.send(b"a.rs\r");
    terminal.wait("Done.");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    let record = server.record();
    let sent = record.exchanges[0].request.last_user_text().unwrap();
    assert!(sent.contains("Review a.rs in the style none."), "{sent}");
    all_gone(&bench, "s");
}

#[test]
fn a_servers_prompt_can_be_asked_once_and_what_is_piped_in_stands_behind_it() {
    let bench = Bench::new();
    let poet = table(&bench, "poet", Manner::Poet);
    bench.settings(&format!("{}{poet}", table(&bench, "s", Manner::Author)));
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::replies(["One.", "Two.", "Three."].map(Reply::text)),
    );
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "/s:review a.rs"]);
    ended(&output, 0);
    let told = stderr(&output);
    assert!(
        told.contains("note: sending [The user ran /s:review a.rs. The MCP server s wrote what follows.]\n"),
        "{told}"
    );
    assert!(told.contains("      Review a.rs in the style none."), "{told}");
    assert_eq!(stdout(&output), "One.\n");
    ended(
        &bench.ask(&server, Wire::Anthropic, &["-p", "/poet:hello", "--output", "json"]),
        0,
    );
    // To somebody without such a server, it is a text.
    ended(&bench.ask(&server, Wire::Anthropic, &["-p", "/other:hello"]), 0);
    refused(
        &bench.ask(&server, Wire::Anthropic, &["-p", "/s:review"]),
        &["/s:review needs file", "Usage: /s:review FILE [STYLE]"],
    );
    refused(
        &bench.ask(&server, Wire::Anthropic, &["-p", "/s:rewiev x"]),
        &["did you mean /s:review?"],
    );
    let record = server.record();
    let sent: Vec<&str> = record
        .exchanges
        .iter()
        .map(|exchange| exchange.request.last_user_text().unwrap())
        .collect();
    assert!(sent[0].contains("Review a.rs in the style none."), "{sent:?}");
    assert!(sent[1].ends_with("\n\nSay hello."), "{sent:?}");
    assert_eq!(sent[2], "/other:hello");
    assert_eq!(sent.len(), 3);
}

#[test]
fn servers_are_listed_and_tried_without_a_model() {
    let bench = Bench::new();
    let run = |args: &[&str]| bench.command(args).output().unwrap();
    bench.settings("");
    let none = run(&["mcp", "list"]);
    ended(&none, 0);
    assert!(
        stdout(&none).starts_with("No MCP servers configured: add one to "),
        "{}",
        stdout(&none)
    );

    let good = table(&bench, "good", Manner::Good);
    let off = table(&bench, "off", Manner::Good) + "enabled = false\n";
    bench.settings(&format!("{good}{off}"));
    let listed = run(&["mcp", "list"]);
    ended(&listed, 0);
    assert!(
        stdout(&listed).contains("good: works, 10 tools, ready in "),
        "{}",
        stdout(&listed)
    );
    assert!(stdout(&listed).contains("off: disabled\n"));
    assert!(heard(&bench, "off").is_empty());
    let tried = run(&["mcp", "test", "off"]);
    ended(&tried, 0);
    for shown in [
        "off: works, 10 tools",
        "  server: test 1\n",
        "  off__echo(text?)\n    Says it again.[31m\n",
    ] {
        assert!(stdout(&tried).contains(shown), "{shown}: {}", stdout(&tried));
    }

    let dead = table(&bench, "dead", Manner::Dead);
    let nokey = "[mcp.nokey]\ncommand = \"x\"\nenv = { A = \"${NONE}\" }\n";
    bench.settings(&format!("{good}{dead}{nokey}"));
    let listed = run(&["mcp", "list"]);
    ended(&listed, 1);
    for shown in [
        "good: works, 10 tools",
        "dead: does not work (",
        "  error: it ended with status 3 (",
        "  error: the variable NONE is not set\n",
    ] {
        assert!(stdout(&listed).contains(shown), "{shown}: {}", stdout(&listed));
    }
    ended(&run(&["mcp", "test", "good"]), 0);
    bench.settings(&format!(
        "{good}{dead}{nokey}{}",
        table(&bench, "author", Manner::Author)
    ));
    let author = run(&["mcp", "test", "author"]);
    for shown in [
        "author: works, 11 tools, 9 prompts, ready in ",
        "  /author:review FILE [STYLE]\n    Reviews a file.[31m\n",
    ] {
        assert!(stdout(&author).contains(shown), "{shown}: {}", stdout(&author));
    }
    bench.settings(&format!("{good}{dead}{nokey}"));
    ended(&run(&["mcp", "test", "dead"]), 1);
    ended(&run(&["mcp", "test", "nokey"]), 1);
    let unknown = run(&["mcp", "test", "other"]);
    refused(&unknown, &["no MCP server other in ", "configured: dead, good, nokey"]);
    for name in ["good", "off", "dead", "author"] {
        all_gone(&bench, name);
    }
}

#[test]
fn a_login_is_asked_for_by_name_kept_for_its_server_and_deleted_by_name() {
    let bench = Bench::new();
    let guarded = Guarded::start(Manner::Good, Oddity::None);
    bench.settings(&format!("[mcp.docs]\nurl = {:?}\n", guarded.server.url()));
    let run = |args: &[&str]| bench.command(args).output().unwrap();
    let refused_without = run(&["mcp", "test", "docs"]);
    ended(&refused_without, 1);
    assert!(stdout(&refused_without).contains("run `codelet mcp login docs`"));

    let mut login = bench.command(&["mcp", "login", "docs"]);
    let mut login = login.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(login.stdout.take().unwrap()).lines();
    let authority = guarded.authority.at("").trim_end_matches('/').to_owned();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("docs") && first.contains(&authority), "{first}");
    let url = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http://")));
    assert!(browse(&url.unwrap()).starts_with("HTTP/1.1 200 "));
    let told: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(login.wait().unwrap().success());
    assert!(told.last().unwrap().starts_with("Logged in to docs."), "{told:?}");
    assert!(!told.concat().contains("hush"));

    let kept = bench.home.join(".config/codelet/logins/docs.json");
    let mode = std::fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The session uses it, and neither the server nor a tool shows it.
    let cat = format!("cat {}", kept.display());
    let replies = [
        Reply::call("docs__echo", json!({"text": format!("{TOKEN}1")})),
        Reply::call("Bash", json!({"command": format!("{cat}; env")})),
        Reply::text("Done."),
    ];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go.", "--permission", "all"]);
    ended(&output, 0);
    assert_eq!(result(&server, 1), "[secret]");
    let record = server.record();
    let shown = record.exchanges[2].request.results().last().unwrap().1;
    assert!(shown.contains("access_token") && !shown.contains("hush"), "{shown}");

    ended(&run(&["mcp", "logout", "docs"]), 0);
    assert!(!kept.exists());
    assert_eq!(
        stdout(&run(&["mcp", "logout", "docs"])),
        "No login is saved for docs.\n"
    );
    refused(&run(&["mcp", "logout", "../settings"]), &["no server has such a name"]);
    refused(&run(&["mcp", "login", "other"]), &["no MCP server other in "]);
}

#[test]
fn a_projects_settings_begin_no_login() {
    let bench = Bench::new();
    let guarded = Guarded::start(Manner::Good, Oddity::None);
    bench.settings("");
    let table = format!("[mcp.docs]\nurl = {:?}\n", guarded.server.url());
    bench.file(".codelet/settings.toml", &table);
    let output = bench.command(&["mcp", "login", "docs"]).output().unwrap();
    refused(&output, &["no MCP server docs in "]);
    assert!(guarded.server.seen().is_empty() && guarded.authority.seen().is_empty());
}

#[test]
fn a_trial_of_servers_ends_at_once_when_the_user_interrupts() {
    let bench = Bench::new();
    bench.settings(&(table(&bench, "s", Manner::Silent) + "start = 60\n"));
    let mut child = bench.command(&["mcp", "test", "s"]).spawn().unwrap();
    wait_until(|| heard(&bench, "s").contains(&"initialize".to_owned()), "the server");
    signal(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    all_gone(&bench, "s");
}

#[test]
fn a_server_sees_no_key_and_what_it_is_given() {
    let bench = Bench::new();
    let table = table(&bench, "s", Manner::Good).replace("env = { ", "env = { A_TOKEN = \"${MY_TOKEN}\", ");
    bench.settings(&table);
    let replies = [Reply::call("s__environment", json!({})), Reply::text("Done.")];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut command = bench.asking(&server, Wire::Anthropic, &["-p", "Go.", "--permission", "all"]);
    let output = command
        .env("MY_TOKEN", "t-123456789")
        .env("OTHER", "o")
        .output()
        .unwrap();
    ended(&output, 0);
    let said = result(&server, 1);
    assert!(said.contains("A_TOKEN=[secret]") && said.contains("OTHER=o"), "{said}");
    for hidden in [KEY, "ANTHROPIC_API_KEY", "MY_TOKEN=", "t-123456789"] {
        assert!(!said.contains(hidden), "{hidden}: {said}");
    }
}

#[test]
fn an_interruption_ends_the_call_and_all_that_the_server_has_started() {
    for (kind, status) in [("-INT", 130), ("-TERM", 143)] {
        let bench = Bench::new();
        bench.settings(&table(&bench, "s", Manner::Good));
        let replies = [Reply::call("s__start", json!({})), Reply::call("s__wait", json!({}))];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let mut child = bench.start(&server, Wire::Anthropic, &["-p", "Go.", "--permission", "all"]);
        wait_until(
            || heard(&bench, "s").contains(&"tools/call wait".to_owned()),
            "the call",
        );
        assert_eq!(pids(&bench, "s").len(), 2);
        let clock = MachineClock::start();
        signal(child.id(), kind);
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert!(clock.elapsed() < Duration::from_millis(400), "{:?}", clock.elapsed());
        drop(clock);
        all_gone(&bench, "s");
    }
}

#[test]
fn a_second_signal_while_servers_start_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.settings(&table(&bench, "s", Manner::Silent));
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("x")]));
    let mut child = bench.start(&server, Wire::Anthropic, &["-p", "Go."]);
    wait_until(|| heard(&bench, "s").contains(&"initialize".to_owned()), "the server");
    signal(child.id(), "-TERM");
    signal(child.id(), "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    all_gone(&bench, "s");
    assert!(server.record().exchanges.is_empty());
}

#[test]
fn a_project_cannot_name_servers() {
    let bench = Bench::new();
    bench.settings("");
    let evil = table(&bench, "evil", Manner::Good);
    bench.file(".codelet/settings.toml", &evil);
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let init = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&bench.work)
        .status()
        .unwrap();
    assert!(init.success());
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go.", "--permission", "all"]);
    ended(&output, 0);
    assert!(stderr(&output).contains("ignored mcp: "), "{}", stderr(&output));
    assert!(heard(&bench, "evil").is_empty());
}

#[test]
fn a_session_begins_and_goes_on_with_servers_that_are_broken() {
    for kind in Kind::ALL {
        let bench = Bench::new();
        let dead = table(&bench, "dead", Manner::Dead);
        let silent = table(&bench, "silent", Manner::Silent) + "start = 1\n";
        let good = table(&bench, "good", Manner::Good);
        bench.settings(&format!("{dead}{silent}{good}"));
        let replies = [
            Reply::call("good__echo", json!({"text": "fine"})),
            Reply::call("good__die", json!({})),
            Reply::call("good__echo", json!({"text": "still"})),
            Reply::text("Done."),
        ];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let mut session = kind.start(&bench, &server, &["--permission", "all"]);
        session.wait("MCP server dead: it ended with status 3");
        session.wait("MCP server silent: no answer to its handshake within 1 s");
        session.say("Go.");
        session.wait("Done.");
        // It was told of once, and not again with each request.
        assert_eq!(
            session.text().matches("MCP server dead").count(),
            1,
            "{}",
            session.text()
        );
        session.say("exit");
        assert_eq!(session.end(), 0);
        let record = server.record();
        let results: Vec<&str> = record.exchanges[3]
            .request
            .results()
            .iter()
            .map(|(_, text)| *text)
            .collect();
        assert_eq!(results[0], "fine");
        assert!(results[1].contains("it ended with status 3"), "{results:?}");
        assert_eq!(results[2], "still");
        assert_eq!(record.faults(), "");
        for name in ["dead", "silent", "good"] {
            all_gone(&bench, name);
        }
    }
}

#[test]
fn what_is_said_while_servers_are_waited_for_is_sent_behind_them_and_esc_skips_them() {
    let bench = Bench::new();
    let silent = table(&bench, "silent", Manner::Silent) + "start = 60\n";
    bench.settings(&silent);
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &[]), (80, 24));
    terminal.see("connecting to MCP servers");
    terminal.say("/clear x");
    terminal.see("/clear takes no arguments");
    terminal.say("Go.");
    terminal.see("1 queued");
    assert!(server.record().exchanges.is_empty());
    terminal.send(b"\x1b");
    terminal.wait("Done.");
    terminal.wait("MCP server silent: skipped before it was ready");
    terminal.say("exit");
    assert_eq!(terminal.end(), 0);
    assert_eq!(server.record().exchanges[0].request.last_user_text(), Some("Go."));
    all_gone(&bench, "silent");
}

#[test]
fn in_lines_ctrl_c_skips_the_servers_too_and_what_was_typed_is_sent() {
    let bench = Bench::new();
    bench.settings(&(table(&bench, "silent", Manner::Silent) + "start = 60\n"));
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let lines = bench.asking(&server, Wire::Anthropic, &["--plain"]);
    let mut terminal = Terminal::run(&bench, lines, (80, 24));
    terminal.see("connecting to MCP servers (Ctrl-C skips)");
    terminal.send(b"/cost\rGo.\r");
    terminal.see("queued: /cost (runs when the session has started)");
    terminal.see("queued: Go.");
    assert!(server.record().exchanges.is_empty());
    terminal.send(b"\x03");
    terminal.wait("Done.");
    terminal.wait("MCP server silent: skipped before it was ready");
    terminal.send(b"exit\r");
    assert_eq!(terminal.end(), 0);
    assert_eq!(server.record().exchanges[0].request.last_user_text(), Some("Go."));
    all_gone(&bench, "silent");
}

#[test]
fn what_is_piped_in_waits_for_the_servers_and_is_done_in_its_order() {
    let bench = Bench::new();
    bench.settings(&(table(&bench, "silent", Manner::Silent) + "start = 1\n"));
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let mut piped = Piped::start(&bench, &server, &[]);
    for said in ["Go.", "/help", "exit", "Never."] {
        piped.say(said);
    }
    assert_eq!(piped.end(), 0);
    let text = piped.text();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(
        at("MCP server silent") < at("Done.") && at("Done.") < at("/compact"),
        "{text}"
    );
    assert_eq!(server.record().exchanges.len(), 1);
    all_gone(&bench, "silent");
}

#[test]
fn a_script_that_is_interrupted_while_servers_are_waited_for_ends_so() {
    let bench = Bench::new();
    bench.settings(&(table(&bench, "silent", Manner::Silent) + "start = 60\n"));
    let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Go.");
    wait_until(|| !heard(&bench, "silent").is_empty(), "the server that is asked");
    signal(piped.child.id(), "-INT");
    assert_eq!(piped.end(), 130);
    assert!(server.record().exchanges.is_empty());
    all_gone(&bench, "silent");
}

#[test]
fn a_session_can_be_left_while_servers_are_waited_for() {
    for leave in ["exit\r", "\x03\x03", "\x04"] {
        let bench = Bench::new();
        bench.settings(&(table(&bench, "silent", Manner::Silent) + "start = 60\n"));
        let server = Server::start(Wire::Anthropic, Behaviour::replies([]));
        let mut terminal = Terminal::run(&bench, bench.asking(&server, Wire::Anthropic, &[]), (80, 24));
        terminal.see("connecting to MCP servers");
        terminal.send(leave.as_bytes());
        // The first Ctrl-C skips the servers, and the second one may come when nothing goes on any more.
        if leave == "\x03\x03" {
            terminal.send(b"\x04");
        }
        assert_eq!(terminal.end(), 0, "{leave:?}");
        assert!(terminal.is_as_found());
        all_gone(&bench, "silent");
    }
}

#[test]
fn a_session_asks_before_a_servers_tool_is_called() {
    for kind in Kind::ALL {
        let bench = Bench::new();
        bench.settings(&table(&bench, "files", Manner::Good));
        let say = |text: &str| Reply::call("files__echo", json!({ "text": text }));
        let replies = [
            say("refused"),
            say("once"),
            say("always"),
            say("not asked about"),
            Reply::call("files__environment", json!({})),
            Reply::text("Done."),
        ];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let mut session = kind.start(&bench, &server, &[]);
        let calls = || {
            heard(&bench, "files")
                .iter()
                .filter(|line| line.starts_with("tools/call"))
                .count()
        };
        session.say("Go.");
        for (word, told, called) in [
            ("n we use make", "we use make", 0),
            ("y", "4 B", 0),
            ("a", "allowed in this session", 1),
            // Another tool of the same server is another question.
            ("n", "files__environment", 3),
        ] {
            if kind == Kind::Terminal {
                session.read("[y] yes, once", 1);
            }
            // Nothing is called before the answer.
            wait_until(|| calls() == called, "the calls that were permitted");
            session.answer(word);
            session.wait(told);
        }
        session.wait("Done.");
        session.say("exit");
        assert_eq!(session.end(), 0);
        let record = server.record();
        let results: Vec<&str> = record.exchanges[5]
            .request
            .results()
            .iter()
            .map(|(_, text)| *text)
            .collect();
        assert!(results[0].contains("the user said no, and: we use make"), "{results:?}");
        assert_eq!(results[1..4], ["once", "always", "not asked about"]);
        assert!(results[4].contains("the user said no"), "{results:?}");
        assert_eq!(calls(), 3);
        all_gone(&bench, "files");
    }
}

fn settings(bench: &Bench, text: &str) -> Output {
    bench.settings(text);
    bench.command(&["settings"]).output().unwrap()
}

#[test]
fn the_settings_are_shown_without_secrets_and_refused_where_they_make_no_sense() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let shown = settings(
        &bench,
        "[mcp.a]\ncommand = \"npx\"\nargs = [\"-y\", \"pkg\"]\nenv = { A_TOKEN = \"${T}\" }\n",
    );
    ended(&shown, 0);
    assert!(stdout(&shown).contains("mcp.a"), "{}", stdout(&shown));
    assert!(
        stdout(&shown).contains("npx -y pkg (sets A_TOKEN)"),
        "{}",
        stdout(&shown)
    );
    for (text, told) in [
        (
            "max_steps = 9\n\n[mcp.a]\nargs = []",
            "settings.toml:3:1: mcp.a: expected a `command` or a `url`",
        ),
        (
            "mcp.a = { url = \"https://x\" }\nmcp.b = { url = \"ftp://x\" }",
            "settings.toml:2:9: mcp.b: url: expected https://",
        ),
        ("[mcp.a]\ncommand = \"x\"\nwhere = 1", "unknown setting `where`"),
        ("[mcp.\"a b\"]\ncommand = \"x\"", "expected a name of at most 30"),
    ] {
        crate::common::refused(&settings(&bench, text), &[told]);
    }
    let secret = "[mcp.a]\nurl = \"https://x/y\"\nheaders = { Authorization = \"Bearer hush-1234\" }\n";
    bench.settings(secret);
    let path = bench.home.join(".config/codelet/settings.toml");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    crate::common::refused(&bench.command(&["settings"]).output().unwrap(), &["chmod 600"]);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let shown = bench.command(&["settings"]).output().unwrap();
    ended(&shown, 0);
    assert!(!stdout(&shown).contains("hush-1234"));
}
