//! Where there is no key, what to do is told in four lines, with the servers that really run here.

use crate::common::agent::Bench;
use codelet_testkit::MachineClock;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

/// Something that listens on loopback and answers every request so, or takes it and says nothing.
fn listens(answer: Option<(&'static str, &'static str)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 1024];
            let Ok(count) = stream.read(&mut asked) else { continue };
            let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
            match answer {
                None => open.push(stream),
                Some((path, body)) => {
                    let status = if asked.contains(path) {
                        "200 OK"
                    } else {
                        "404 Not Found"
                    };
                    let _ = write!(
                        stream,
                        "HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n{body}"
                    );
                }
            }
        }
    });
    port
}

/// The four lines, where these ports are looked at.
fn told(ports: &[u16], environment: &[(&str, &str)]) -> String {
    let bench = Bench::new();
    bench.settings(&format!(
        "model = \"anthropic/claude-sonnet-5-5\"\nlocal_ports = {ports:?}\n"
    ));
    let mut command = bench.command(&[]);
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.lines().count(), 4, "{told}");
    told
}

#[test]
fn only_servers_that_answer_with_a_model_are_named_all_of_them_and_soon() {
    let page = listens(Some(("GET / ", "<html>a folder</html>")));
    let html = listens(Some(("GET ", "<html>whatever you ask</html>")));
    let silent = listens(None);
    let hostile = listens(Some(("GET /v1/models", r#"{"data": [{"id": "x; rm -rf ~"}]}"#)));
    let models = listens(Some(("GET /v1/models", r#"{"data": [{"id": "qwen3-coder-30b"}]}"#)));
    let tags = listens(Some(("GET /api/tags", r#"{"models": [{"name": "llama3.2:3b"}]}"#)));
    let clock = MachineClock::start();
    let told = told(&[page, html, silent, hostile, models, tags], &[]);
    assert!(clock.elapsed().as_secs() < 5, "{:?}", clock.elapsed());
    for (port, model) in [(models, "qwen3-coder-30b"), (tags, "llama3.2:3b")] {
        let command = format!("codelet --model llamacpp/{model} --base-url http://127.0.0.1:{port}/v1");
        assert!(told.contains(&command), "{told}");
    }
    for port in [page, html, silent, hostile] {
        assert!(!told.contains(&port.to_string()), "{told}");
    }
    assert!(!told.contains("rm -rf"), "{told}");
}

#[test]
fn where_no_server_answers_that_is_said_and_a_key_that_is_set_is_named_as_such() {
    let silent = listens(None);
    let without = told(&[silent], &[]);
    assert!(without.contains(&format!("no server found on: {silent}")), "{without}");
    assert!(without.contains("such as $DEEPSEEK_API_KEY"), "{without}");
    let with = told(&[silent], &[("OPENAI_API_KEY", "sk-test-0123456789")]);
    assert!(
        with.contains("$OPENAI_API_KEY has a key: codelet --model openai/"),
        "{with}"
    );
    assert!(!with.contains("such as") && !with.contains("sk-test"), "{with}");
}
