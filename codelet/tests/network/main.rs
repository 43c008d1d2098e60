//! Which vendor is asked, where, through which proxy, and by whose certificates: the variables that curl and other agents
//! read, against real servers on loopback.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod front;

use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use common::agent::{Bench, KEY};
use common::{ended, piped, refused, stderr, stdout};
use front::{Authority, HOST, http_proxy, socks_proxy};
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Output;

/// What lets somebody in at a proxy, and how it goes over the line.
const LOGIN: &str = "ada:s3cret-of-proxy";
const SENT: &str = "Basic YWRhOnMzY3JldC1vZi1wcm94eQ==";

fn server(wire: Wire) -> Server {
    Server::start(wire, Behaviour::replies((0..9).map(|_| Reply::text("Hello."))))
}

fn address(server: &Server) -> SocketAddr {
    server.url().trim_start_matches("http://").parse().unwrap()
}

/// Runs it with these variables. Nothing that lets somebody in is printed.
fn run(bench: &Bench, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = bench.command(args);
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    for secret in [KEY, "s3cret-of-proxy", "YWRhOnMzY3JldC1vZi1wcm94eQ"] {
        let all = [stdout(&output), stderr(&output)].concat();
        assert!(!all.contains(secret), "{all}");
    }
    output
}

/// Asks a model of Anthropic's at this address.
fn ask(bench: &Bench, url: &str, variables: &[(&str, &str)]) -> Output {
    let args = [
        "--model", "anthropic/claude-sonnet-5-5", "--base-url", url, "-p", "Hello?",
    ];
    run(bench, &args, &[&[("ANTHROPIC_API_KEY", KEY)], variables].concat())
}

/// The row of this name in the list of settings.
fn setting(bench: &Bench, name: &str, variables: &[(&str, &str)]) -> String {
    let output = run(bench, &["settings"], variables);
    ended(&output, 0);
    let mut lines = stdout(&output).lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix("  "));
    let words: Vec<&str> = found
        .unwrap_or_else(|| panic!("{name}: {}", stdout(&output)))
        .split_whitespace()
        .collect();
    words.join(" ")
}

/// What `codelet doctor` says of the certificates.
fn certificates(bench: &Bench, name: &str, value: &str) -> String {
    let output = run(bench, &["doctor", "--offline", "--json"], &[(name, value)]);
    let points: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = points.as_array().unwrap();
    let point = points.iter().find(|point| point["check"] == "certificates").unwrap();
    point["text"].as_str().unwrap().to_owned()
}

fn file(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.home.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_proxy_is_gone_through_whichever_variable_names_it() {
    let (bench, server) = (Bench::new(), server(Wire::Anthropic));
    let (proxy, seen) = http_proxy(address(&server), None);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        for value in [format!("http://{proxy}"), proxy.to_string()] {
            seen.lock().unwrap().clear();
            ended(&ask(&bench, "http://model.test", &[(name, &value)]), 0);
            assert_eq!(seen.lock().unwrap()[..], [(HOST.to_owned(), None)], "{name}");
            let row = setting(&bench, "proxy for http", &[(name, &value)]);
            assert_eq!(row, format!("http://{proxy} ${name}"));
        }
    }
    let (proxy, seen) = socks_proxy(address(&server));
    let value = format!("socks5h://{proxy}");
    ended(&ask(&bench, "http://model.test", &[("ALL_PROXY", &value)]), 0);
    assert_eq!(seen.lock().unwrap()[..], [("model.test:80".to_owned(), None)]);
}

#[test]
fn a_proxy_for_encrypted_requests_sees_the_host_alone() {
    let (bench, server, authority) = (Bench::new(), server(Wire::Anthropic), Authority::new());
    let (proxy, seen) = http_proxy(authority.in_front_of(address(&server)), None);
    let (proxy, trusted) = (format!("http://{proxy}"), file(&bench, "ca.pem", &authority.pem()));
    for name in ["https_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        seen.lock().unwrap().clear();
        let variables = [(name, &*proxy), ("SSL_CERT_FILE", &trusted)];
        ended(&ask(&bench, "https://model.test", &variables), 0);
        assert_eq!(
            seen.lock().unwrap()[..],
            [("model.test:443".to_owned(), None)],
            "{name}"
        );
    }
}

#[test]
fn what_lets_somebody_in_at_a_proxy_is_sent_to_it_and_shown_nowhere() {
    let (bench, server, authority) = (Bench::new(), server(Wire::Anthropic), Authority::new());
    let (plain, seen) = http_proxy(address(&server), Some(SENT));
    let (tunnel, _) = http_proxy(authority.in_front_of(address(&server)), Some(SENT));
    let trusted = file(&bench, "ca.pem", &authority.pem());
    for (url, proxy) in [("http://model.test", plain), ("https://model.test", tunnel)] {
        let with = |login: &str| format!("http://{login}@{proxy}");
        let ask = |proxy: &str| ask(&bench, url, &[("ALL_PROXY", proxy), ("SSL_CERT_FILE", &trusted)]);
        ended(&ask(&with(LOGIN)), 0);
        ended(&ask(&format!("{LOGIN}@{proxy}")), 0);
        for other in ["ada:s3cret-of-proxy-of-old", "ada"] {
            let output = ask(&with(other));
            assert_ne!(output.status.code(), Some(0));
            let told = format!("the proxy http://{proxy} ($ALL_PROXY) requires a valid user name and password");
            assert!(stderr(&output).contains(&told), "{}", stderr(&output));
        }
    }
    assert_eq!(seen.lock().unwrap()[0].1.as_deref(), Some(SENT));
    for value in [
        format!("http://{LOGIN}@proxy.example:3128/x?y"),
        format!("{LOGIN}@proxy.example:3128"),
    ] {
        let row = setting(&bench, "proxy for https", &[("https_proxy", &value)]);
        assert_eq!(row, "http://proxy.example:3128 $https_proxy");
    }
    // Where nobody listens, the proxy is what is missing.
    let output = ask(
        &bench,
        "http://model.test",
        &[("HTTP_PROXY", &format!("http://{LOGIN}@127.0.0.1:9"))],
    );
    let told = "through the proxy http://127.0.0.1:9 ($HTTP_PROXY)";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
}

#[test]
fn a_proxy_that_is_none_is_told_with_its_variable_and_only_where_it_would_be_used() {
    let (bench, server) = (Bench::new(), server(Wire::Anthropic));
    let bad = format!("ftp://{LOGIN}@proxy.example");
    let output = ask(&bench, "http://model.test", &[("HTTP_PROXY", &bad)]);
    refused(&output, &["HTTP_PROXY is not a usable proxy", "socks5h://"]);
    let row = setting(&bench, "proxy for http", &[("HTTP_PROXY", &bad)]);
    assert!(
        row.starts_with("cannot be used: HTTP_PROXY is not a usable proxy"),
        "{row}"
    );
    ended(&ask(&bench, &server.url(), &[("HTTP_PROXY", &bad)]), 0);
}

#[test]
fn this_machine_and_excepted_hosts_are_reached_directly() {
    let (bench, server) = (Bench::new(), server(Wire::Anthropic));
    let (proxy, seen) = http_proxy(address(&server), None);
    let proxy = format!("http://{proxy}");
    bench.settings("patience = 1");
    let port = address(&server).port();
    for url in [
        server.url(),
        format!("http://localhost:{port}"),
        format!("http://0.0.0.0:{port}"),
    ] {
        ended(&ask(&bench, &url, &[("ALL_PROXY", &proxy)]), 0);
    }
    for excepted in [
        "model.test", ".test", "*.test", "*", "other, model.test", "MODEL.TEST:80",
    ] {
        for name in ["no_proxy", "NO_PROXY"] {
            let variables = [("ALL_PROXY", &*proxy), (name, excepted)];
            let output = ask(&bench, "http://model.test", &variables);
            // Nobody knows such a host.
            ended(&output, 3);
            assert_eq!(
                setting(&bench, "no proxy for", &variables),
                format!("{excepted} ${name}")
            );
        }
    }
    assert_eq!(seen.lock().unwrap()[..], []);
}

#[test]
fn an_authority_of_the_users_own_is_trusted_from_a_bundle_or_a_folder() {
    let (bench, server) = (Bench::new(), server(Wire::Anthropic));
    let (authority, other) = (Authority::new(), Authority::new());
    let url = format!("https://localhost:{}", authority.in_front_of(address(&server)).port());
    let bundle = file(
        &bench,
        "bundle.pem",
        &format!("# Two\n{}{}", other.pem(), authority.pem()),
    );
    file(&bench, "certs/0123abcd.0", &authority.pem());
    let folder = bench.home.join("certs");
    let folders = format!("/missing:{}", folder.display());
    for (name, value, count) in [("SSL_CERT_FILE", &bundle, 2), ("SSL_CERT_DIR", &folders, 1)] {
        ended(&ask(&bench, &url, &[(name, value)]), 0);
        assert!(certificates(&bench, name, value).starts_with(&format!("{count} trusted, from your settings")));
    }
    // Whoever names certificates trusts these and no others.
    let others = file(&bench, "other.pem", &other.pem());
    for variables in [&[][..], &[("SSL_CERT_FILE", &*others)]] {
        let output = ask(&bench, &url, variables);
        ended(&output, 3);
        let told = ["the certificate of localhost", "SSL_CERT_FILE"];
        assert!(
            told.iter().all(|told| stderr(&output).contains(told)),
            "{}",
            stderr(&output)
        );
    }
    // A certificate for another name is another matter.
    let output = ask(
        &bench,
        &url.replace("localhost", "127.0.0.1"),
        &[("SSL_CERT_FILE", &bundle)],
    );
    ended(&output, 3);
    assert!(!stderr(&output).contains("authority"), "{}", stderr(&output));
}

#[test]
fn a_bundle_that_cannot_be_used_is_told_with_its_variable_before_anything_is_asked() {
    let (bench, server, authority) = (Bench::new(), server(Wire::Anthropic), Authority::new());
    let url = format!("https://localhost:{}", authority.in_front_of(address(&server)).port());
    let empty = file(&bench, "empty.pem", "");
    let missing = bench.home.join("missing").to_str().unwrap().to_owned();
    for (name, value, why) in [
        ("SSL_CERT_FILE", &*missing, "no such file"),
        ("SSL_CERT_FILE", &empty, "contains no certificate"),
        ("SSL_CERT_FILE", "ca.pem", "expected an absolute path"),
        ("SSL_CERT_DIR", &missing, "no such folder"),
    ] {
        refused(&ask(&bench, &url, &[(name, value)]), &[name, value, why]);
        let told = certificates(&bench, name, value);
        assert!(told.starts_with(name) && told.contains(why), "{told}");
        // Nothing is encrypted here, so nobody needs them.
        ended(&ask(&bench, &server.url(), &[(name, value)]), 0);
    }
    assert_eq!(server.record().exchanges.len(), 4);
}

#[test]
fn with_the_key_of_one_vendor_its_usual_model_is_asked() {
    for (name, wire, base_url, model) in [
        ("OPENAI_API_KEY", Wire::Responses, "OPENAI_BASE_URL", "openai/gpt-"),
        (
            "ANTHROPIC_API_KEY",
            Wire::Anthropic,
            "ANTHROPIC_BASE_URL",
            "anthropic/claude-",
        ),
        (
            "ANTHROPIC_AUTH_TOKEN",
            Wire::Anthropic,
            "ANTHROPIC_BASE_URL",
            "anthropic/claude-",
        ),
    ] {
        let (bench, server) = (Bench::new(), server(wire));
        let variables = [(name, KEY), (base_url, &server.base())];
        let output = run(&bench, &["-p", "Hello?"], &variables);
        ended(&output, 0);
        assert_eq!(server.record().faults(), "", "{name}");
        let (row, asked) = (setting(&bench, "model", &variables), server.record());
        assert!(row.starts_with(model) && row.ends_with(&format!(" ${name}")), "{row}");
        let named = asked.exchanges[0].request.json()["model"].as_str().unwrap().to_owned();
        assert!(
            row.starts_with(&format!("{}{named} ", &model[..=model.find('/').unwrap()])),
            "{row} {named}"
        );
    }
    let bench = Bench::new();
    for (variables, expected) in [
        (&[("GEMINI_API_KEY", KEY)][..], "gemini/gemini-"),
        (&[("GOOGLE_API_KEY", KEY)], "gemini/gemini-"),
        (&[("OPENROUTER_API_KEY", KEY)], "openrouter/"),
        (&[("DEEPSEEK_API_KEY", KEY)], "deepseek/deepseek-"),
        (&[("DEEPSEEK_API_KEY", KEY), ("OPENAI_API_KEY", KEY)], "openai/gpt-"),
        (
            &[("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", KEY)],
            "anthropic/claude-",
        ),
        // An address without a key is a gateway that needs none, unless another vendor has one.
        (&[("OPENAI_BASE_URL", "http://127.0.0.1:9")], "openai/gpt-"),
        (
            &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"), ("OPENAI_API_KEY", KEY)],
            "openai/gpt-",
        ),
        (&[], "anthropic/claude-"),
    ] {
        let row = setting(&bench, "model", variables);
        assert!(row.starts_with(expected), "{variables:?}: {row}");
    }
    // Whoever has named a model is not asked to take another.
    bench.settings("model = \"deepseek/own\"");
    assert!(setting(&bench, "model", &[("OPENAI_API_KEY", KEY)]).starts_with("deepseek/own "));
    let path = bench.home.join(".config/codelet/settings.toml");
    bench.settings(&format!("[keys]\nopenai = \"{KEY}\""));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let row = setting(&bench, "model", &[]);
    assert!(
        row.starts_with("openai/gpt-") && row.ends_with(path.to_str().unwrap()),
        "{row}"
    );
}

#[test]
fn a_rejected_key_is_reported_with_its_source() {
    let bench = Bench::new();
    let server = Server::start(Wire::Anthropic, Behaviour::replies((0..3).map(|_| Reply::status(401))));
    let base = server.base();
    let told = |variables: &[(&str, &str)]| {
        let variables = [variables, &[("ANTHROPIC_BASE_URL", &base)]].concat();
        let output = run(&bench, &["--model", "anthropic/a", "-p", "Hello?"], &variables);
        ended(&output, 3);
        stderr(&output).to_owned()
    };
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] {
        let told = told(&[(name, KEY)]);
        assert!(told.contains("rejected the API key: "), "{told}");
        assert!(told.contains(&format!("; check ${name}")), "{told}");
    }
    let path = bench.home.join(".config/codelet/settings.toml");
    bench.settings(&format!("[keys]\nanthropic = \"{KEY}\""));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let told = told(&[]);
    assert!(
        told.contains(&format!("; check [keys] in {}", path.display())),
        "{told}"
    );
}

#[test]
fn an_address_of_a_variable_is_for_its_vendor_alone_and_gives_way_to_files_and_options() {
    let bench = Bench::new();
    let (anthropic, openai) = (server(Wire::Anthropic), server(Wire::Chat));
    let (first, second) = (anthropic.base(), openai.base());
    let variables = [
        ("ANTHROPIC_BASE_URL", &*first),
        ("OPENAI_BASE_URL", &second),
        ("ANTHROPIC_API_KEY", KEY),
        ("OPENAI_API_KEY", KEY),
    ];
    for (model, asked) in [("anthropic/a", &anthropic), ("openai-chat/b", &openai)] {
        let before = asked.record().exchanges.len();
        ended(&run(&bench, &["--model", model, "-p", "Hello?"], &variables), 0);
        assert_eq!(asked.record().exchanges.len(), before + 1, "{model}");
    }
    // None of them is for a third vendor.
    bench.settings("model = \"deepseek/deepseek-v4-pro\"");
    assert_eq!(setting(&bench, "base_url", &variables), "the vendor's default");
    // A file goes before a variable, and the command line before both.
    bench.settings(&format!("model = \"anthropic/a\"\nbase_url = \"{second}\""));
    assert!(setting(&bench, "base_url", &variables).starts_with(&format!("{second} /")));
    let before = anthropic.record().exchanges.len();
    ended(&run(&bench, &["--base-url", &first, "-p", "Hello?"], &variables), 0);
    assert_eq!(anthropic.record().exchanges.len(), before + 1);
    // What is none is told with the variable.
    bench.settings("model = \"openai/b\"");
    let output = run(
        &bench,
        &["-p", "Hello?"],
        &[("OPENAI_BASE_URL", "localhost:1"), ("OPENAI_API_KEY", KEY)],
    );
    refused(&output, &["invalid API base URL", "($OPENAI_BASE_URL)"]);
}

#[test]
fn an_encrypted_address_of_a_variable_is_reached_with_the_users_authority_and_proxy() {
    let bench = Bench::new();
    // What cannot be reached is not tried for long.
    bench.settings("patience = 1\n");
    let authority = Authority::new();
    let bundle = file(&bench, "ca.pem", &authority.pem());
    file(&bench, "certs/0123abcd.0", &authority.pem());
    let folder = bench.home.join("certs").display().to_string();
    for (wire, model, variable) in [
        (Wire::Anthropic, "anthropic/a", "ANTHROPIC_BASE_URL"),
        (Wire::Chat, "openai-chat/b", "OPENAI_BASE_URL"),
        (Wire::Responses, "openai/b", "OPENAI_BASE_URL"),
    ] {
        let server = server(wire);
        let front = authority.in_front_of(address(&server));
        let (proxy, seen) = http_proxy(front, None);
        let proxy = format!("http://{proxy}");
        let at = |host: &str| server.base().replace(&server.url(), &format!("https://{host}"));
        let (near, far) = (at(&format!("localhost:{}", front.port())), at(HOST));
        let ask = |url: &str, more: &[(&str, &str)]| {
            let keys = [(variable, url), ("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
            run(&bench, &["--model", model, "-p", "Hello?"], &[&keys, more].concat())
        };
        for trusted in [("SSL_CERT_FILE", &*bundle), ("SSL_CERT_DIR", &*folder)] {
            ended(&ask(&near, &[trusted]), 0);
            ended(&ask(&far, &[trusted, ("HTTPS_PROXY", &proxy)]), 0);
        }
        let asked = [("model.test:443".to_owned(), None), ("model.test:443".to_owned(), None)];
        assert_eq!(seen.lock().unwrap()[..], asked, "{variable}");
        assert_eq!(server.record().exchanges.len(), 4, "{variable}");
        // Nobody vouches for it, or it is to be reached without the proxy, and cannot be.
        ended(&ask(&near, &[]), 3);
        let direct = [("SSL_CERT_FILE", &*bundle), ("HTTPS_PROXY", &proxy), ("NO_PROXY", HOST)];
        ended(&ask(&far, &direct), 3);
        assert_eq!((seen.lock().unwrap().len(), server.record().exchanges.len()), (2, 4));
    }
}

#[test]
fn another_vendor_in_a_session_is_asked_at_the_address_of_its_own_variable() {
    let bench = Bench::new();
    let (anthropic, openai) = (server(Wire::Anthropic), server(Wire::Chat));
    let mut command = bench.command(&["--plain"]);
    command
        .env("ANTHROPIC_BASE_URL", anthropic.base())
        .env("ANTHROPIC_API_KEY", KEY);
    command.env("OPENAI_BASE_URL", openai.base()).env("OPENAI_API_KEY", KEY);
    let mut child = piped(&mut command);
    let model = "/model openai-chat/gpt-5";
    let lines = ["Hello?", model, model, "And you?"].join("\n");
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    ended(&output, 0);
    // Nobody leaves an address that was given without having been told where the conversation goes.
    let told = format!(
        "is served at {}, not at {} ($ANTHROPIC_BASE_URL)",
        openai.base(),
        anthropic.base()
    );
    let all = [stdout(&output), stderr(&output)].concat().replace('\n', " ");
    assert!(all.contains(&told), "{all}");
    assert_eq!(anthropic.record().exchanges.len(), 1);
    assert_eq!(openai.record().exchanges.len(), 1);
}

#[test]
fn a_gateways_token_goes_as_bearer_and_no_key_beside_it() {
    let (bench, server) = (
        Bench::new(),
        Server::start(Wire::Anthropic, Behaviour::replies([Reply::text("Hello.")]).unchecked()),
    );
    let token = "tok-of-gateway-0123456789";
    let variables = [
        ("ANTHROPIC_BASE_URL", &*server.base()),
        ("ANTHROPIC_AUTH_TOKEN", token),
        ("ANTHROPIC_API_KEY", KEY),
    ];
    let output = run(&bench, &["-p", "Hello?"], &variables);
    ended(&output, 0);
    assert!(!stderr(&output).contains(token) && !stdout(&output).contains(token));
    let record = server.record();
    let request = &record.exchanges[0].request;
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {token}")));
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(
        setting(&bench, "keys.anthropic", &variables),
        "set $ANTHROPIC_AUTH_TOKEN"
    );
}

#[test]
fn a_key_that_goes_unencrypted_to_an_address_of_a_variable_is_warned_about() {
    let (bench, server) = (Bench::new(), server(Wire::Responses));
    let (proxy, _) = http_proxy(address(&server), None);
    let proxy = format!("http://{proxy}");
    let variables = [
        ("OPENAI_BASE_URL", "http://model.test/v1"),
        ("OPENAI_API_KEY", KEY),
        ("HTTP_PROXY", &proxy),
    ];
    let output = run(&bench, &["-p", "Hello?"], &variables);
    ended(&output, 0);
    let told = "the API key and the conversation are sent unencrypted to http://model.test/v1";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
}

#[test]
fn the_vendors_own_address_in_a_variable_still_needs_a_key() {
    let bench = Bench::new();
    let own = [("ANTHROPIC_BASE_URL", "https://api.anthropic.com")];
    refused(&run(&bench, &["-p", "Hello?"], &own), &["no API key for anthropic"]);
}

#[test]
fn a_projects_file_sets_neither_address_nor_proxy_nor_certificates() {
    let (bench, server) = (Bench::new(), server(Wire::Anthropic));
    bench.file(".codelet/settings.toml", "base_url = \"http://evil.test\"");
    std::fs::create_dir(bench.work.join(".git")).unwrap();
    let variables = [("ANTHROPIC_BASE_URL", &*server.base()), ("ANTHROPIC_API_KEY", KEY)];
    let output = run(&bench, &["-p", "Hello?"], &variables);
    ended(&output, 0);
    assert!(stderr(&output).contains("ignored base_url: "), "{}", stderr(&output));
    assert_eq!(server.record().exchanges.len(), 1);
    for name in ["proxy", "http_proxy", "no_proxy", "certificates", "ca"] {
        bench.file(".codelet/settings.toml", &format!("{name} = \"http://evil.test\""));
        refused(&run(&bench, &["-p", "Hello?"], &variables), &["unknown setting"]);
    }
}
