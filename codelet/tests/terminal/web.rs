//! Who is asked about a host sees the whole address, and is not asked about the host again.

use crate::common::agent::Bench;
use crate::common::pages::Pages;
use crate::common::pty::{Piped, Session as _, Terminal};
use crate::{SIZE, leave, server};
use codelet_testkit::server::Reply;
use serde_json::json;

#[test]
fn a_host_is_asked_about_once_and_a_long_address_each_time_and_whole() {
    let pages = Pages::start();
    let long = pages.at(&format!("/guide?q={}end", "data+".repeat(200)));
    let (first, second) = (pages.at("/guide"), pages.at("/other"));
    let call = |url: &str| Reply::call("WebFetch", json!({"url": url}));
    let bench = Bench::new();
    bench.settings("web_private = [\"127.0.0.1\"]\n");
    let served = server([call(&first), call(&second), call(&long), Reply::text("Done.")]);
    let mut terminal = Terminal::start(&bench, &served, &[], SIZE);
    terminal.say("Read it.");
    terminal.see("[y] yes, once");
    let screen = terminal.screen();
    let host = format!("127.0.0.1:{}", pages.port);
    for words in [
        format!("Allow WebFetch to fetch this from {host}?"),
        "This connection is not encrypted".to_owned(),
        format!("│ {first}"),
        format!("always in this session for `{host}`"),
    ] {
        assert!(screen.contains(&words), "{words}: {screen}");
    }
    assert!(pages.asked().is_empty());
    terminal.answer("a");
    // The second page is not asked about; the long address is, and "always" is not offered.
    terminal.wait("This address is long (1,");
    terminal.see("[y] yes, once");
    assert_eq!(pages.asked(), ["/guide", "/other"]);
    let screen = terminal.screen();
    assert!(!screen.contains("[a]"), "{screen}");
    terminal.send(b"\x0f");
    terminal.wait("+end");
    terminal.see("[y] yes, once");
    terminal.answer("n");
    terminal.wait("Done.");
    assert_eq!(pages.asked(), ["/guide", "/other"]);
    leave(&mut terminal, &served);
}

#[test]
fn a_host_is_kept_for_the_project_as_a_pattern() {
    let pages = Pages::start();
    let call = |path: &str| Reply::call("WebFetch", json!({"url": pages.at(path)}));
    let bench = Bench::new();
    let own = "web_private = [\"127.0.0.1\"]\n";
    bench.settings(own);
    let served = server([call("/guide"), Reply::text("Done.")]);
    let mut piped = Piped::start(&bench, &served, &["--permission", "read"]);
    piped.say("Read it.");
    piped.wait(&format!("project (web:127.0.0.1:{})", pages.port));
    piped.say("p web:*");
    piped.wait("Not saved: web:* would permit every host");
    piped.say("p web:127.0.0.*");
    piped.wait("Done.");
    leave(&mut piped, &served);
    let text = std::fs::read_to_string(bench.home.join(".config/codelet/settings.toml")).unwrap();
    assert!(text.ends_with("allow = [\"web:127.0.0.*\"]\n"), "{text}");
    let served = server([call("/again"), Reply::text("Over.")]);
    let mut piped = Piped::start(&bench, &served, &[]);
    piped.say("Again.");
    piped.wait("Over.");
    leave(&mut piped, &served);
    assert_eq!(pages.asked(), ["/guide", "/again"]);
}
