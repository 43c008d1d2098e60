//! The page in a real browser: both themes, the width of a phone, with scripts and without, and no requests.
//!
//! It needs Debian's `chromium`. If that is missing, each test says on stderr that it was skipped.

use crate::common::*;
use codelet_context::economics::Preset;
use codelet_replay::policy::Policy;
use codelet_replay::report::page;
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The address at which the browser looks for its own updates and accounts. No such host can exist, so a request to it
/// is the browser's and never the page's, and every other one counts, to any host.
const ITS_OWN: &str = "http://browser.invalid";

/// Hosts that it asks nevertheless, depending on the version. Requests of the page itself, also to these, are recorded
/// by the frame that holds it.
const ITS_MAKERS: &[&str] = &[".google.com", ".googleapis.com", ".gstatic.com", ".gvt1.com"];

/// Features that send requests when the browser starts: the time, and search settings.
const ITS_QUESTIONS: &[&str] = &[
    "NetworkTimeServiceQuerying", "PreconnectToSearch", "AimEnabled", "AimServerEligibilityEnabled",
];

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The result of showing a page.
struct Shown {
    dom: String,
    /// Lines that the page wrote to the console.
    console: Vec<String>,
    /// Requested addresses, other than the browser's own.
    asked: Vec<String>,
}

/// Returns the first line of a request to the proxy, which answers that it is unavailable. `None` for a connection that
/// is opened ahead of need and closed again: nothing was sent, and a page that preconnects is detected by its links.
fn refused(mut stream: TcpStream, is_over: &AtomicBool) -> Option<String> {
    let mut head = Vec::new();
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
    let mut reader = BufReader::new(&stream);
    loop {
        match reader.read_until(b'\n', &mut head) {
            // The client is slow; what has arrived so far is kept.
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                    && !is_over.load(Ordering::Relaxed) => {}
            _ => break,
        }
    }
    let _ = stream.write_all(b"HTTP/1.1 503 Nobody\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let _ = stream.shutdown(Shutdown::Both);
    String::from_utf8_lossy(&head).lines().next().map(str::to_owned)
}

/// Shows a file in the browser, with all requests going to a proxy that refuses them. `None` if there is no browser.
fn show(folder: &Path, file: &str, arguments: &[&str]) -> Option<Shown> {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let port = proxy.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let is_over = Arc::new(AtomicBool::new(false));
    let listen = {
        let (asked, is_over) = (asked.clone(), is_over.clone());
        move || {
            std::thread::scope(|scope| {
                while !is_over.load(Ordering::Relaxed) {
                    match proxy.accept() {
                        Ok((stream, _)) => {
                            let (asked, is_over) = (&asked, &is_over);
                            scope.spawn(move || {
                                let line = refused(stream, is_over);
                                asked.lock().unwrap().extend(line);
                            });
                        }
                        // There is no connection at present.
                        Err(_) => std::thread::park_timeout(Duration::from_millis(5)),
                    }
                }
            });
        }
    };
    let listener = std::thread::spawn(listen);
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let via = format!("--proxy-server=http://127.0.0.1:{port}");
    let address = format!("file://{}", folder.join(file).display());
    let output = Command::new("chromium")
        .args([
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
            "--enable-logging=stderr",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--allow-file-access-from-files",
            "--proxy-bypass-list=<-loopback>",
            "--virtual-time-budget=10000",
        ])
        .args([
            format!("--disable-features={}", ITS_QUESTIONS.join(",")),
            format!("--component-updater=url-source={ITS_OWN}/update"),
            format!("--gaia-url={ITS_OWN}"),
            format!("--gcm-checkin-url={ITS_OWN}/checkin"),
            format!("--gcm-registration-url={ITS_OWN}/register"),
        ])
        .args([&profile, &via])
        .args(arguments)
        .arg(&address)
        .stdin(Stdio::null())
        .output();
    is_over.store(true, Ordering::Relaxed);
    listener.join().unwrap();
    let _ = std::fs::remove_dir_all(folder.join("profile"));
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Not by a macro, whose output is captured in a passing test.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: chromium is not installed, so no page was opened in a browser"
            );
            return None;
        }
        Err(error) => panic!("chromium cannot be started: {error}"),
    };
    assert!(output.status.success(), "chromium ended with {}", output.status);
    let is_own = |line: &str| {
        let mut words = line.split(' ');
        let (way, address) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let host = address.strip_suffix(":443").filter(|_| way == "CONNECT");
        address.starts_with(&format!("{ITS_OWN}/"))
            || host.is_some_and(|host| ITS_MAKERS.iter().any(|domain| host.ends_with(domain)))
    };
    let asked = asked.lock().unwrap().drain(..).filter(|line| !is_own(line)).collect();
    let told = String::from_utf8_lossy(&output.stderr);
    Some(Shown {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: told
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
        asked,
    })
}

/// Shows the page in a frame of 360 pixels, inside the harness. Scheme 0 is dark, 1 is light.
fn framed(folder: &Path, scheme: u8, sandbox: &str) -> Option<Shown> {
    let harness = include_str!("browser/harness.html")
        .replace("PAGE", "page.html")
        .replace("SANDBOX", sandbox);
    std::fs::write(folder.join("harness.html"), harness).unwrap();
    let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
    show(folder, "harness.html", &["--dump-dom", &scheme])
}

/// Returns the page as the harness sees it, after checking that it makes no requests and logs no errors.
fn seen(folder: &Path, scheme: u8, sandbox: &str) -> Option<Value> {
    let shown = framed(folder, scheme, sandbox)?;
    // A frame in which scripts are blocked logs that; it is not an error of the page.
    let faults: Vec<_> = shown
        .console
        .iter()
        .filter(|line| sandbox.is_empty() || !line.contains("sandboxed"))
        .collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(shown.asked.is_empty(), "{:?}", shown.asked);
    let (_, rest) = shown.dom.split_once("<pre id=\"seen\">").unwrap();
    let json = rest.split_once("</pre>").unwrap().0;
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(seen["asked"], serde_json::json!([]), "by the page");
    Some(seen)
}

fn write_page(folder: &Path, name: &str) {
    let policies = [
        Policy::Never,
        Policy::MaskTen,
        Policy::Clear,
        Policy::Preset(Preset::Thrifty),
    ];
    let session = session(name, 90, |step| {
        format!("src/{}{step}.rs", if step % 7 == 0 { name } else { "part_" })
    });
    let report = report_of(&session, 60_000, &policies);
    assert!(report.courses.iter().any(|course| !course.edits.is_empty()));
    std::fs::write(folder.join("page.html"), page(&report)).unwrap();
}

/// Writes the page of a running session.
fn write_live_page(folder: &Path) {
    let (live, conversation) = live(90);
    let report = live_report(&live, &conversation, Policy::USUAL);
    assert!(!report.courses[0].edits.is_empty());
    std::fs::write(folder.join("page.html"), page(&report)).unwrap();
}

#[test]
fn a_phone_shows_all_figures_in_both_themes_without_scrolling_sideways() {
    let folder = folder("phone");
    write_page(&folder, HOSTILE);
    let (Some(dark), Some(light)) = (seen(&folder, 0, ""), seen(&folder, 1, "")) else {
        return;
    };
    fits_a_phone(&dark, &light);
}

#[test]
fn the_page_of_a_session_under_way_fits_a_phone_and_answers_too() {
    let folder = folder("live");
    write_live_page(&folder);
    let (Some(dark), Some(light)) = (seen(&folder, 0, ""), seen(&folder, 1, "")) else {
        return;
    };
    fits_a_phone(&dark, &light);
    assert_eq!(dark["outside"], 0);
    assert_eq!(
        dark["courses"],
        serde_json::json!(["0"]),
        "what was billed is shown first"
    );
    assert_eq!(dark["heading"], "Read everything, please.");
    let policies: Vec<&str> = dark["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let played = Policy::USUAL.iter().map(|policy| policy.name());
    assert_eq!(policies, std::iter::once("as billed").chain(played).collect::<Vec<_>>());
    holds_figures_as_files(&dark);
}

/// Checks what holds for every page in a frame of 360 pixels, in dark and light mode.
fn fits_a_phone(dark: &Value, light: &Value) {
    for seen in [dark, light] {
        assert_eq!((seen["wide"].as_u64(), seen["room"].as_u64()), (Some(360), Some(360)));
        assert_eq!(seen["sideways"].as_array().unwrap().len(), 0, "{}", seen["sideways"]);
        let plots = seen["plots"].as_array().unwrap();
        assert_eq!(plots.len(), 2);
        for plot in plots {
            assert!(
                plot["width"].as_f64() > Some(200.0) && plot["height"].as_f64() > Some(80.0),
                "{plot}"
            );
            assert!(plot["shapes"].as_u64() >= Some(2) && plot["named"] == true, "{plot}");
        }
        for contrast in ["contrast", "other_contrast"] {
            assert!(seen[contrast].as_f64() >= Some(4.5), "{contrast} {}", seen[contrast]);
        }
        assert_eq!(seen["captions"], true);
        assert_eq!(seen["landmarks"], serde_json::json!([1, 1, 1]));
        assert_eq!(seen["twice"].as_array().unwrap().len(), 0, "{}", seen["twice"]);
        let levels: Vec<u64> = seen["levels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|level| level.as_u64().unwrap())
            .collect();
        assert!(
            levels[0] == 1 && levels.windows(2).all(|two| two[1] <= two[0] + 1 && two[1] > 1),
            "{levels:?}"
        );
    }
    assert_eq!(dark["theme"], light["other"]);
    assert_eq!(dark["other"], light["theme"]);
    assert_ne!(dark["theme"], light["theme"]);
}

/// Checks that the figures of each policy's requests, and of the policies, are also there as files.
fn holds_figures_as_files(seen: &Value) {
    let mut requests = 0;
    let mut others = Vec::new();
    for file in seen["files"].as_array().unwrap() {
        let (name, columns) = (file[0].as_str().unwrap(), file[1].as_str().unwrap());
        match name.strip_prefix("requests-") {
            Some(_) => {
                requests += 1;
                assert!(columns.starts_with("request,began_ms,"), "{name}: {columns}");
            }
            None => others.push(name),
        }
    }
    assert_eq!(requests, seen["policies"].as_array().unwrap().len());
    assert_eq!(others, ["policies.csv"]);
}

#[test]
fn with_scripts_the_page_answers_and_nothing_of_the_recording_runs() {
    let folder = folder("scripts");
    write_page(&folder, HOSTILE);
    let Some(seen) = seen(&folder, 1, "") else { return };
    assert_eq!(seen["pwned"], false);
    assert_eq!(seen["outside"], 0);
    assert!(
        seen["readout"].as_str().unwrap().starts_with("Request 1: "),
        "{}",
        seen["readout"]
    );
    assert_eq!(seen["cross"], "visible");
    let values = |name: &str| -> Vec<u64> {
        seen[name]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_u64().unwrap())
            .collect()
    };
    assert!(values("down").is_sorted_by(|a, b| a >= b) && values("up").is_sorted() && values("up").len() == 30);
    assert_eq!(seen["courses"], serde_json::json!(["3"]));
    assert_eq!(seen["chosen"], serde_json::json!(["0"]));
    holds_figures_as_files(&seen);
}

#[test]
fn without_scripts_all_figures_are_there_and_policies_can_be_chosen() {
    let folder = folder("plain");
    write_page(&folder, HOSTILE);
    let Some(seen) = seen(&folder, 1, "sandbox=\"allow-same-origin\"") else {
        return;
    };
    assert_eq!(seen.get("other"), None, "there is no button without a script");
    assert_eq!(seen["plots"].as_array().unwrap().len(), 2);
    assert!(seen["plots"][0]["shapes"].as_u64() >= Some(2));
    assert_eq!(seen["courses"], serde_json::json!(["3"]));
    assert_eq!(seen["chosen"], serde_json::json!(["0"]));
    holds_figures_as_files(&seen);
    assert_eq!(seen["wide"].as_u64(), Some(360));
}

#[test]
fn the_watch_for_requests_and_faults_sees_them() {
    let folder = folder("watch");
    // One host that nothing else asks, and some that the browser may ask itself.
    let (nobodys, makers) = (
        "outside.example",
        ["www.google.com", "fonts.gstatic.com", "update.googleapis.com"],
    );
    let pictures = |host| format!("<img src=\"http://{host}/x.png\"><img src=\"https://{host}/y.png\">");
    let bad = format!(
        "<!DOCTYPE html><h1>Bad</h1>{}{}<script>console.error('a fault')</script>",
        pictures(nobodys),
        makers.map(pictures).concat()
    );
    std::fs::write(folder.join("page.html"), bad).unwrap();
    let Some(shown) = framed(&folder, 1, "") else {
        return;
    };
    let asked = |line: &str| shown.asked.iter().any(|asked| asked.starts_with(line));
    assert!(asked(&format!("CONNECT {nobodys}")), "{:?}", shown.asked);
    for host in makers.iter().chain([&nobodys]) {
        assert!(asked(&format!("GET http://{host}/x.png")), "{host}: {:?}", shown.asked);
        for address in [format!("\"http://{host}/x.png\""), format!("\"https://{host}/y.png\"")] {
            assert!(shown.dom.contains(&address), "{address}: {}", shown.dom);
        }
    }
    assert!(
        shown.console.iter().any(|line| line.contains("a fault")),
        "{:?}",
        shown.console
    );
}

#[test]
fn pictures_are_kept_for_whoever_reviews() {
    let folder = folder("pictures");
    // A browser's own window is never as narrow as a phone.
    let phone = "<!DOCTYPE html><style>body{margin:0}</style><iframe src=page.html width=360 height=3000 style=border:0></iframe>";
    std::fs::write(folder.join("phone.html"), phone).unwrap();
    for (of, write) in [("", played as fn(&Path)), ("live-", write_live_page)] {
        write(&folder);
        for (name, file, scheme, size) in [
            ("light", "page.html", 1, "1280,1800"),
            ("dark", "page.html", 0, "1280,1800"),
            ("phone-light", "phone.html", 1, "500,3000"),
            ("phone-dark", "phone.html", 0, "500,3000"),
        ] {
            let picture = folder.join(format!("{of}{name}.png"));
            let arguments = [
                format!("--screenshot={}", picture.display()),
                format!("--blink-settings=preferredColorScheme={scheme}"),
                format!("--window-size={size}"),
            ];
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let Some(shown) = show(&folder, file, &arguments) else {
                return;
            };
            assert!(
                shown.console.is_empty() && shown.asked.is_empty(),
                "{:?} {:?}",
                shown.console,
                shown.asked
            );
            let bytes = std::fs::read(picture).unwrap();
            assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000);
        }
    }
    println!("pictures of the page are in {}", folder.display());
}

fn played(folder: &Path) {
    write_page(folder, "a session of ninety reads");
}
