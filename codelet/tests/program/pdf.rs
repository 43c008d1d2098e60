//! PDFs, with the real program: read page by page, and refused without harm.

use crate::common::agent::{Bench, KEY};
use crate::common::ended;
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// A folder with the PDFs of the tools' tests.
fn bench() -> Bench {
    let bench = Bench::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codelet-tools/tests/pdf");
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, bench.work.join(path.file_name().unwrap())).unwrap();
    }
    bench
}

/// What came of these calls in one session.
fn results(bench: &Bench, calls: &[(&str, Value)]) -> Vec<String> {
    let mut replies: Vec<Reply> = calls
        .iter()
        .map(|(tool, input)| Reply::call(*tool, input.clone()))
        .collect();
    replies.push(Reply::text("Done."));
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", "Go."]);
    ended(&output, 0);
    let record = server.record();
    assert_eq!(record.faults(), "");
    let last = &record.exchanges[calls.len()].request;
    last.results().iter().map(|(_, text)| (*text).to_owned()).collect()
}

/// A PDF with these pages, each of lines.
fn made(pages: &[Vec<String>]) -> String {
    let kids: String = (0..pages.len()).map(|at| format!("{} 0 R ", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", pages.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Courier>>".to_owned(),
    ];
    for (at, lines) in pages.iter().enumerate() {
        let shown: String = lines.iter().map(|line| format!("({line}) Tj T* ")).collect();
        let shown = format!("BT /F 5 Tf 6 TL 10 780 Td {shown}ET");
        let contents = 5 + 2 * at;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents {contents} 0 R>>"
        ));
        objects.push(format!("<</Length {}>>stream\n{shown}\nendstream", shown.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (at, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let (at, count) = (file.len(), objects.len() + 1);
    format!("{file}xref\n0 {count}\n{table}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{at}\n%%EOF")
}

fn read(name: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": name}))
}

#[test]
fn a_pdf_is_read_page_by_page_and_never_written() {
    let bench = bench();
    let told = results(
        &bench,
        &[
            read("fpdf2.pdf"),
            ("Read", json!({"file_path": "reportlab.pdf", "offset": 1, "limit": 1})),
            ("Read", json!({"file_path": "reportlab.pdf", "offset": 3})),
            ("Write", json!({"file_path": "fpdf2.pdf", "content": "text"})),
            (
                "Edit",
                json!({"file_path": "fpdf2.pdf", "old_string": "PDF", "new_string": "text"}),
            ),
        ],
    );
    let text = &told[0];
    assert!(
        text.starts_with("[page 1 of 2]\nGröße — “quotes”\n\nПривет\n"),
        "{text}"
    );
    assert!(
        text.contains("\nsideways\n[page 2 of 2]\nName ") && text.ends_with(" 7\n"),
        "{text}"
    );
    assert!(
        told[1].starts_with("[page 1 of 2]\nAnnual report, page 1\n"),
        "{}",
        told[1]
    );
    assert!(
        told[1].ends_with("\n[pages 1-1 of 2; offset 2 goes on]\n"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("there is no page 3: it has 2 pages"), "{}", told[2]);
    assert!(
        told[3].contains("it exists and is not a text; only texts are replaced"),
        "{}",
        told[3]
    );
    assert!(told[4].contains("this is not a text"), "{}", told[4]);
}

#[test]
fn what_has_no_text_or_cannot_be_read_says_so() {
    let bench = bench();
    bench.file("broken.pdf", "%PDF-1.7\nwords");
    let told = results(&bench, &["scan.pdf", "password.pdf", "broken.pdf"].map(read));
    assert!(
        told[0].starts_with("[page 1 of 1: no text]\n[pages without text may be scans: "),
        "{}",
        told[0]
    );
    assert!(
        told[1].contains("bytes, and it is encrypted and needs a password"),
        "{}",
        told[1]
    );
    assert!(
        told[2].contains("this is a PDF of 14 bytes, and it is damaged"),
        "{}",
        told[2]
    );
}

#[test]
fn long_ones_are_cut_and_secrets_are_hidden() {
    let bench = bench();
    let line = |at: usize| format!("{at:05} {}", "word ".repeat(20));
    let pages: Vec<Vec<String>> = (0..20)
        .map(|page| (0..120).map(|at| line(page * 120 + at)).collect())
        .collect();
    bench.file("long.pdf", &made(&pages));
    bench.file("secret.pdf", &made(&[vec![format!("the key is {KEY} here")]]));
    let told = results(&bench, &["long.pdf", "secret.pdf"].map(read));
    let text = &told[0];
    assert!(text.len() < 50_000, "{}", text.len());
    let (shown, note) = text.trim_end().rsplit_once('\n').unwrap();
    let next: usize = note
        .split_once("offset ")
        .unwrap()
        .1
        .split_once(' ')
        .unwrap()
        .0
        .parse()
        .unwrap();
    assert_eq!(note, format!("[pages 1-{} of 20; offset {next} goes on]", next - 1));
    // Whole pages.
    assert!(shown.trim_end().ends_with(line(next * 120 - 121).trim_end()), "{note}");
    assert_eq!(told[1], "[page 1 of 1]\nthe key is [secret] here\n");
}

/// 3.8 kB become 2 GB: the process that unpacks it is ended by its bound, and the session goes on.
#[test]
fn a_bomb_ends_its_own_process_alone() {
    let bench = bench();
    let began = Instant::now();
    let told = results(&bench, &[read("bomb.pdf"), read("form.pdf")]);
    assert!(told[0].contains("reading it "), "{}", told[0]);
    assert_eq!(told[1], "[page 1 of 1]\nA form, filled in:\n\nforty-two\n");
    assert!(began.elapsed() < Duration::from_secs(90), "{:?}", began.elapsed());
}
