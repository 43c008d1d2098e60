//! Servers that require a login: the login itself, its use in a session, and misbehaving servers.

use crate::kit::{HARD, call, connected_with, find, names, options, run};
use codelet_agent::interrupt::Interrupt;
use codelet_mcp::{Connected, Invitation, Logins, Options, Reach, Server, log_in};
use codelet_testkit::mcp::oauth::{Guarded, Oddity, TOKEN, browse};
use codelet_testkit::mcp::{Answer, Http, Manner, Seen};
use serde_json::Value;
use std::path::Path;

fn server(http: &Http) -> Server {
    Server {
        name: "docs".to_owned(),
        reach: Reach::Http {
            url: http.url(),
            headers: Vec::new(),
            authorities: String::new(),
            client_id: None,
        },
        tools: None,
        start: HARD,
        timeout: HARD,
    }
}

fn keeping(folder: &Path) -> Options {
    Options {
        logins: Some(Logins::new(folder.join("logins"))),
        ..options()
    }
}

/// Logs in with a browser that follows every instruction.
async fn logged_in(server: &Server, options: &Options) -> Result<(), String> {
    let mut invite = |invitation: &Invitation| {
        let url = invitation.url.clone();
        std::thread::spawn(move || browse(&url));
    };
    log_in(server, options, &mut invite, &Interrupt::new()).await
}

async fn session(server: &Server, options: &Options) -> Connected {
    connected_with(vec![server.clone()], options.clone()).await
}

/// A server with a login, and the folder where it is stored.
async fn with_login(oddity: Oddity) -> (Guarded, Server, Options, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let guarded = Guarded::start(Manner::Good, oddity);
    let (server, options) = (server(&guarded.server), keeping(folder.path()));
    assert_eq!(logged_in(&server, &options).await, Ok(()));
    (guarded, server, options, folder)
}

fn kept(options: &Options) -> String {
    std::fs::read_to_string(options.logins.as_ref().unwrap().path("docs")).unwrap()
}

const WANTS: &str =
    "MCP server docs: it requires a login, or rejects the one that was sent (status 401): run `codelet mcp login docs`";

#[test]
fn a_login_lets_sessions_in_until_it_is_removed() {
    run(async {
        let (guarded, server, options, _folder) = with_login(Oddity::None).await;
        let connected = session(&server, &options).await;
        assert_eq!(connected.notices, [""; 0]);
        assert_eq!(call(&connected, "docs__echo", "hello").await.text.as_str(), "hello");
        // A token that the server echoes is hidden.
        let token = format!("{TOKEN}1");
        assert_eq!(call(&connected, "docs__echo", &token).await.text.as_str(), "[secret]");
        let registered = guarded.authority.wait_for(|seen| seen.path == "/register");
        assert_eq!(registered.message["token_endpoint_auth_method"], "none");
        let asked = guarded.authority.wait_for(|seen| seen.path.starts_with("/authorize"));
        assert!(asked.path.contains("code_challenge_method=S256"), "{}", asked.path);
        let resource = "resource=http%3A%2F%2F127.0.0.1%3A";
        assert!(asked.path.contains(resource), "{}", asked.path);
        let fetched = guarded.authority.wait_for(|seen| seen.path == "/token");
        assert!(fetched.body.contains(resource), "{}", fetched.body);

        assert!(options.logins.as_ref().unwrap().remove("docs").unwrap());
        let out = session(&server, &options).await;
        assert_eq!(out.notices, [WANTS]);
    });
}

#[test]
fn a_session_begins_no_login_and_says_how_to() {
    run(async {
        let guarded = Guarded::start(Manner::Good, Oddity::None);
        let folder = tempfile::tempdir().unwrap();
        let connected = session(&server(&guarded.server), &keeping(folder.path())).await;
        assert_eq!(names(&connected), [""; 0]);
        assert_eq!(connected.notices, [WANTS]);
        assert!(guarded.authority.seen().is_empty());
        assert!(!folder.path().join("logins").exists());
    });
}

#[test]
fn a_token_that_ends_is_renewed_once_for_all_sessions() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let guarded = Guarded::start(Manner::Good, Oddity::None);
        let (server, options) = (server(&guarded.server), keeping(folder.path()));
        guarded.lasting(1);
        assert_eq!(logged_in(&server, &options).await, Ok(()));
        guarded.lasting(3600);
        let connected = session(&server, &options).await;
        assert_eq!((names(&connected).is_empty(), guarded.issued()), (false, 2));
        // The event stream opens concurrently. If it were refused below, it would also renew the token.
        let is_stream = |seen: &Seen| seen.verb == "GET" && seen.header("authorization").is_some();
        while !guarded.server.seen().iter().any(is_stream) {
            tokio::task::yield_now().await;
        }
        // A revoked token is renewed during the session.
        guarded.revoke();
        assert_eq!(call(&connected, "docs__echo", "on").await.text.as_str(), "on");
        assert_eq!(guarded.issued(), 3);
        assert!(kept(&options).contains(&format!("{TOKEN}renews-3")));
        assert_eq!(
            call(&connected, "docs__echo", &format!("{TOKEN}3")).await.text.as_str(),
            "[secret]"
        );
        let next = session(&server, &options).await;
        assert_eq!((next.notices, guarded.issued()), (Vec::new(), 3));
    });
}

#[test]
fn a_login_that_cannot_be_renewed_is_told_with_what_to_do() {
    run(async {
        let (guarded, server, options, _folder) = with_login(Oddity::None).await;
        let connected = session(&server, &options).await;
        guarded.refuse_renewal();
        guarded.revoke();
        let failed = call(&connected, "docs__echo", "on").await.text;
        assert!(
            failed.as_str().contains("run `codelet mcp login docs`"),
            "{}",
            failed.as_str()
        );
        let out = session(&server, &options).await;
        assert_eq!(out.notices, [WANTS]);
        // Logging in again also helps the running session.
        assert_eq!(logged_in(&server, &options).await, Ok(()));
        assert_eq!(call(&connected, "docs__echo", "again").await.text.as_str(), "again");
    });
}

#[test]
fn who_has_logged_out_meanwhile_is_not_logged_in_again_by_a_renewal() {
    run(async {
        let (guarded, server, options, _folder) = with_login(Oddity::None).await;
        let connected = session(&server, &options).await;
        assert!(options.logins.as_ref().unwrap().remove("docs").unwrap());
        guarded.revoke();
        call(&connected, "docs__echo", "on").await;
        assert!(!options.logins.as_ref().unwrap().path("docs").exists());
    });
}

#[test]
fn a_token_goes_to_the_address_it_was_made_for_and_to_no_other() {
    run(async {
        let (guarded, mut server, options, _folder) = with_login(Oddity::None).await;
        let other = Http::start(Manner::Good, false);
        let addresses = [
            other.url(),
            guarded.server.at("other"),
            guarded.server.at(&format!("redirect/307/{}", other.url())),
        ];
        for address in addresses {
            if let Reach::Http { url, .. } = &mut server.reach {
                url.clone_from(&address);
            }
            session(&server, &options).await;
        }
        let sent = other.seen().into_iter().chain(guarded.server.seen());
        let sent = sent.filter(|seen| seen.header("authorization").is_some());
        assert_eq!(sent.count(), 0);
    });
}

#[test]
fn a_token_follows_no_redirect_to_another_server() {
    run(async {
        let (guarded, mut server, options, _folder) = with_login(Oddity::None).await;
        let other = Http::start(Manner::Good, false);
        let to = other.url();
        let moving = Http::guarded(Manner::Good, false, move |seen| {
            seen.header("authorization").map(|_| Answer {
                status: "307 Temporary Redirect",
                header: format!("location: {to}"),
                body: Value::Null,
            })
        });
        if let Reach::Http { url, .. } = &mut server.reach {
            *url = moving.url();
        }
        // As if the user had logged in at that URL.
        let login = kept(&options).replace(&guarded.server.url(), &moving.url());
        std::fs::write(options.logins.as_ref().unwrap().path("docs"), login).unwrap();
        let connected = session(&server, &options).await;
        let told = "it redirects to another server";
        assert!(connected.notices[0].contains(told), "{:?}", connected.notices);
        assert!(moving.seen().iter().any(|seen| seen.header("authorization").is_some()));
        assert!(other.seen().iter().all(|seen| seen.header("authorization").is_none()));
    });
}

#[test]
fn a_browser_with_another_state_is_sent_away_and_the_right_one_waited_for() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let guarded = Guarded::start(Manner::Good, Oddity::None);
        let (server, options) = (server(&guarded.server), keeping(folder.path()));
        let (tell, told) = std::sync::mpsc::channel();
        let mut invite = |invitation: &Invitation| {
            let (url, tell) = (invitation.url.clone(), tell.clone());
            std::thread::spawn(move || {
                let state = url.split("&state=").nth(1).unwrap().split('&').next().unwrap();
                tell.send(browse(&url.replace(state, "another"))).unwrap();
                tell.send(browse(&url)).unwrap();
            });
        };
        let came = log_in(&server, &options, &mut invite, &Interrupt::new()).await;
        assert_eq!(came, Ok(()));
        let (first, second) = (told.recv().unwrap(), told.recv().unwrap());
        assert!(
            first.starts_with("HTTP/1.1 400 ") && second.starts_with("HTTP/1.1 200 "),
            "{first} {second}"
        );
        assert_eq!(guarded.issued(), 1);
    });
}

#[test]
fn what_is_odd_about_a_login_ends_it_and_nothing_is_kept() {
    for (oddity, told) in [
        (Oddity::OtherResource, "resource mismatch"),
        (Oddity::OtherIssuer, "issuer mismatch"),
        (
            Oddity::OtherTokenEndpoint,
            "its authorization server cannot be used: http://other.test is not encrypted",
        ),
        (Oddity::Redirects, "OAuth token exchange failed"),
        (Oddity::NoRegistration, "does not register clients automatically"),
        (Oddity::PlainProof, "PKCE"),
        (Oddity::Refusal, "the login was refused (access_denied)"),
        (Oddity::Nothing, "it names no authorization server"),
    ] {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let guarded = Guarded::start(Manner::Good, oddity);
            let why = logged_in(&server(&guarded.server), &keeping(folder.path())).await;
            let why = why.unwrap_err();
            assert!(why.contains(told), "{oddity:?}: {why}");
            assert!(!why.contains("hush"), "{oddity:?}: {why}");
            assert_eq!(guarded.issued(), 0);
            assert!(!folder.path().join("logins").exists());
        });
    }
}

#[test]
fn where_no_client_is_registered_the_one_of_the_settings_logs_in() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let guarded = Guarded::start(Manner::Good, Oddity::NoRegistration);
        let (mut server, options) = (server(&guarded.server), keeping(folder.path()));
        if let Reach::Http { client_id, .. } = &mut server.reach {
            *client_id = Some("codelet-of-ours".to_owned());
        }
        assert_eq!(logged_in(&server, &options).await, Ok(()));
        let asked = guarded.authority.wait_for(|seen| seen.path.starts_with("/authorize"));
        assert!(asked.path.contains("client_id=codelet-of-ours"), "{}", asked.path);
        let connected = session(&server, &options).await;
        assert_eq!(find(&connected, "docs__echo").spec().name.to_string(), "docs__echo");
    });
}
