//! Servers that redirect to somewhere else.

use crate::kit::{call, connected, names, run, web};
use codelet_mcp::{Reach, Server};
use codelet_testkit::mcp::{Http, Manner};

/// The server, reached at this path.
fn at(http: &Http, path: &str) -> Server {
    let mut server = web("s", http);
    if let Reach::Http { url, .. } = &mut server.reach {
        *url = http.at(path);
    }
    server
}

#[test]
fn redirects_on_the_same_origin_are_followed_with_the_request_as_it_was() {
    for status in [301, 302, 307, 308] {
        for streams in [false, true] {
            run(async {
                let http = Http::start(Manner::Good, streams);
                let connected = connected(vec![at(&http, &format!("redirect/{status}/redirect/307/mcp"))]).await;
                assert_eq!(connected.notices, [""; 0], "{status}");
                assert_eq!(call(&connected, "s__echo", "hello").await.text.as_str(), "hello");
                let seen = http.wait_for(|seen| seen.message["method"] == "tools/call" && seen.path == "/mcp");
                let sent = |name: &str, value: &str| seen.headers.contains(&(name.to_owned(), value.to_owned()));
                assert!(sent("authorization", "Bearer hush-123456") && sent("mcp-session-id", "s-1"));
            });
        }
    }
}

#[test]
fn another_origin_gets_nothing_and_is_named() {
    for status in [301, 302, 303, 307, 308] {
        run(async {
            let (http, other) = (Http::start(Manner::Good, false), Http::start(Manner::Good, false));
            let connected = connected(vec![at(&http, &format!("redirect/{status}/{}", other.url()))]).await;
            assert_eq!(names(&connected), [""; 0]);
            let origin = other.at("");
            let told = format!(
                "MCP server s: it redirects to another server, {}, which gets no requests; if that is the right one, set its address as `url`",
                origin.trim_end_matches('/')
            );
            match status {
                303 => assert!(connected.notices[0].contains("HTTP 303"), "{:?}", connected.notices),
                _ => assert_eq!(connected.notices, [told]),
            }
            assert!(other.seen().is_empty());
        });
    }
}

#[test]
fn redirects_without_end_are_given_up() {
    run(async {
        let http = Http::start(Manner::Good, false);
        let rounds = "redirect/307/".repeat(9);
        let connected = connected(vec![at(&http, &format!("{rounds}mcp"))]).await;
        let told = "MCP server s: it redirects requests to another of its own addresses, which redirects again";
        assert_eq!(connected.notices, [told]);
        assert_eq!(http.seen().len(), 6);
    });
}
