//! `codelet run`: an agent behind a gateway of its own. The agent here is `codelet` itself, with a provider on loopback.

use crate::common::pty::signal;
use crate::common::{codelet, ended, folder, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

#[test]
fn an_agent_reaches_its_gateway_without_the_proxy_that_is_set() {
    let work = folder("gateway_proxy");
    let script = "echo \"$NO_PROXY;$no_proxy\"";
    for (set, both) in [
        (&[][..], "127.0.0.1,localhost;127.0.0.1,localhost"),
        (
            &[("NO_PROXY", "corp.test")],
            "corp.test,127.0.0.1,localhost;corp.test,127.0.0.1,localhost",
        ),
        (
            &[("NO_PROXY", "corp.test"), ("no_proxy", "*")],
            "corp.test,127.0.0.1,localhost;*",
        ),
    ] {
        let output = codelet(&["run", "--", "sh", "-c", script])
            .current_dir(&work)
            .env("HOME", &work)
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .env("HTTP_PROXY", "http://proxy.test:3128")
            .envs(set.iter().copied())
            .output()
            .unwrap();
        ended(&output, 0);
        assert_eq!(stdout(&output).trim_end(), both);
    }
}

#[test]
fn an_agent_runs_behind_the_gateway_and_what_it_came_to_is_told() {
    let server = Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Done.")]));
    let work = folder("gateway_run");
    let mut command = codelet(&[
        "run",
        "--",
        env!("CARGO_BIN_EXE_codelet"),
        "-p",
        "Say that you are done.",
    ]);
    let output = command
        .current_dir(&work)
        .env("HOME", &work)
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "key-of-the-user")
        .output()
        .unwrap();
    ended(&output, 0);
    assert!(stdout(&output).contains("Done."), "{}", stdout(&output));
    let told = stderr(&output);
    assert!(
        told.contains("codelet gateway: ") && told.contains(" in 1 request,"),
        "{told}"
    );
    assert!(!told.contains("key-of-the-user"), "{told}");
}

#[test]
fn the_status_and_the_arguments_are_the_agent_s_own() {
    let work = folder("gateway_status");
    let script = "echo \"$ANTHROPIC_BASE_URL $OPENAI_BASE_URL $1\"; test -n \"$CODELET_GATEWAY\" && exit 7";
    let output = codelet(&["run", "--policy", "off", "--", "sh", "-c", script, "sh", "--window"])
        .current_dir(&work)
        .output()
        .unwrap();
    ended(&output, 7);
    let said = stdout(&output);
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(
        words[0].starts_with("http://127.0.0.1:") && words[1] == format!("{}/v1", words[0]),
        "{said}"
    );
    assert_eq!(words[2], "--window");
}

#[test]
#[cfg(target_os = "linux")]
fn a_hangup_that_nohup_keeps_from_it_ends_neither_the_agent_nor_the_gateway() {
    let work = folder("gateway_nohup");
    let shielded = |args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_codelet")]);
        command.args(args).current_dir(&work).stdin(Stdio::null());
        command
    };
    let script = "kill -HUP $PPID; kill -HUP $$; exit 7";
    let output = shielded(&["run", "--", "sh", "-c", script]).output().unwrap();
    ended(&output, 7);
    let mut command = shielded(&["gateway", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.split("http://").nth(1).unwrap().split(". ").next().unwrap();
    signal(child.id(), "-HUP");
    for _ in 0..3 {
        let mut client = TcpStream::connect(address).unwrap();
        write!(
            client,
            "GET /codelet HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        BufReader::new(client).read_line(&mut answer).unwrap();
        assert!(answer.contains(" 200 "), "{answer}");
    }
    signal(child.id(), "-TERM");
    ended(&child.wait_with_output().unwrap(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn the_agents_status_is_told_also_where_children_are_ignored() {
    // A shell does not pass it on that it ignores them.
    let script =
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
    let mut command = Command::new("python3");
    command.args([
        "-c",
        script,
        env!("CARGO_BIN_EXE_codelet"),
        "run",
        "--",
        "sh",
        "-c",
        "exit 7",
    ]);
    // Without Python nothing here can start it so.
    if let Ok(output) = command.stdin(Stdio::null()).output() {
        ended(&output, 7);
    }
}

#[test]
fn words_of_a_prompt_start_no_program() {
    let work = folder("gateway_prompt");
    let output = codelet(&["run", "touch", "pwned", "and", "the", "tests"])
        .current_dir(&work)
        .output()
        .unwrap();
    ended(&output, 2);
    assert!(!work.join("pwned").exists());
    let told = stderr(&output);
    let both = "To run a program: codelet run -- touch pwned and the tests; to send it as a prompt: codelet -p 'run touch pwned and the tests'\n";
    assert!(told.ends_with(both), "{told}");
}

#[test]
fn what_cannot_be_is_told_before_anything_starts() {
    for (args, words) in [
        (&["run", "--", "/no/such/agent"][..], "/no/such/agent: "),
        (&["gateway", "--listen", "0.0.0.0:0"], "set CODELET_GATEWAY_TOKEN"),
        (
            &["gateway", "--upstream", "openai=http://127.0.0.1:4114/v1"],
            "that is the gateway itself",
        ),
        (&["gateway", "--listen", "4114"], "such as 127.0.0.1:4114"),
        (&["gateway", "--upstream", "anthropic=nowhere"], "is not an address"),
        (
            &["gateway", "--upstream", "acme=https://example.com"],
            "expected anthropic=URL",
        ),
        (&["gateway", "--ledger", "/dev/full"], "is not a regular file"),
        (&["recall", "k3f9a2"], "CODELET_GATEWAY is not set"),
    ] {
        let output = codelet(args).env_remove("CODELET_GATEWAY").output().unwrap();
        ended(&output, 2);
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_variable_that_holds_no_address_is_refused_before_anything_starts() {
    for (name, value) in [
        ("ANTHROPIC_BASE_URL", "127.0.0.1:18801"),
        ("ANTHROPIC_API_BASE", "garbage"),
        ("OPENAI_HOST", "localhost:18801"),
        ("GOOGLE_GEMINI_BASE_URL", "htp://127.0.0.1"),
    ] {
        for args in [&["gateway", "--listen", "127.0.0.1:0"][..], &["run", "--", "true"]] {
            let output = codelet(args).env(name, value).output().unwrap();
            ended(&output, 2);
            let expected = format!("{name}: {value:?} is not an address such as https://api.example.com");
            assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
        }
    }
}

/// Posts to an address, and returns the path that came to `upstream`.
fn path_of(url: &str, upstream: &TcpListener) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut client = TcpStream::connect(host).unwrap();
    let head = format!("POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    client
        .write_all(format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes())
        .unwrap();
    let (asked, _) = upstream.accept().unwrap();
    let mut line = String::new();
    BufReader::new(asked).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn the_path_of_a_base_url_is_that_of_the_requests_also_behind_the_gateway() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = upstream.local_addr().unwrap();
    // The variable with its path, the path of the interface below it, and the one that the provider is asked at.
    for (name, path, below, asked) in [
        ("ANTHROPIC_BASE_URL", "/prefix/", "/v1/messages", "/prefix/v1/messages"),
        (
            "OPENAI_BASE_URL", "/api/v1", "/chat/completions", "/api/v1/chat/completions",
        ),
        ("OPENAI_BASE_URL", "/v1beta/openai/", "/models", "/v1beta/openai/models"),
        ("OPENAI_HOST", "/x", "/v1/responses", "/x/v1/responses"),
        ("GOOGLE_GEMINI_BASE_URL", "/g", "/v1beta/models", "/g/v1beta/models"),
    ] {
        let agent = ["run", "--", "sh", "-c", "printenv \"$0\"; cat", name];
        for args in [&["gateway", "--listen", "127.0.0.1:0"][..], &agent] {
            let mut gateway = codelet(args)
                .env(name, format!("http://{host}{path}"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut line = String::new();
            let mut told = BufReader::new(gateway.stdout.take().unwrap());
            told.read_line(&mut line).unwrap();
            let url = line
                .split_whitespace()
                .find(|word| word.starts_with("http://"))
                .unwrap();
            let mut base = url.trim_end_matches('.').to_owned();
            if args != agent && name == "OPENAI_BASE_URL" {
                base += "/v1";
            }
            assert_eq!(path_of(&format!("{base}{below}"), &upstream), asked, "{args:?}");
            drop(gateway.stdin.take());
            gateway.kill().unwrap();
            gateway.wait().unwrap();
        }
    }
}

#[test]
fn a_torn_line_of_the_ledger_gets_an_end() {
    let work = folder("gateway_ledger");
    for (before, after) in [("", ""), ("{}\n", "{}\n"), ("{}\n{\"time", "{}\n{\"time\n")] {
        std::fs::write(work.join("ledger"), before).unwrap();
        let output = codelet(&["run", "--ledger", "ledger", "--", "true"])
            .current_dir(&work)
            .output()
            .unwrap();
        ended(&output, 0);
        assert_eq!(std::fs::read_to_string(work.join("ledger")).unwrap(), after);
    }
}

/// What a gateway tells before it serves, ended then.
fn welcome(args: &[&str], token: &str) -> String {
    let mut gateway = codelet(args)
        .env("CODELET_GATEWAY_TOKEN", token)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut lines = std::io::BufReader::new(gateway.stdout.take().unwrap());
    while !told.contains("Ctrl-C") && lines.read_line(&mut told).unwrap() > 0 {}
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    told
}

#[test]
fn what_to_set_for_an_agent_has_the_token_where_one_is_asked_for() {
    let told = welcome(&["gateway", "--listen", "localhost:0"], "");
    assert!(
        told.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:") && !told.contains("/t/"),
        "{told}"
    );
    let told = welcome(&["gateway", "--listen", "0.0.0.0:0"], "open+sesame=");
    for words in [
        "ANTHROPIC_BASE_URL=http://HOST:",
        "/t/$CODELET_GATEWAY_TOKEN/v1\n",
        "CODELET_GATEWAY=http://HOST:",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("sesame"), "{told}");
    let output = codelet(&["gateway", "--listen", "0.0.0.0:0"])
        .env("CODELET_GATEWAY_TOKEN", "open/sesame")
        .output()
        .unwrap();
    ended(&output, 2);
    assert!(
        stderr(&output).contains("must consist of letters, digits"),
        "{}",
        stderr(&output)
    );
}
