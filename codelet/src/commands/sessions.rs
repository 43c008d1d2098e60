//! `codelet sessions`: lists the sessions that agents on this machine have recorded.

use crate::args::Sessions;
use crate::commands::warn;
use crate::exit::Failure;
use crate::output::Output;
use crate::paint::{Ink, Look, clean, clip, clip_path, lined_up, number};
use crate::recorded::{self, Peek, Recorded, peek};
use crate::saved;
use crate::stores::Session;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The number of sessions shown by default.
const SHOWN: usize = 30;
/// The maximum width of a project's name, in columns.
const PROJECT: usize = 20;

/// Finds, reads and prints.
///
/// # Errors
/// If standard output cannot be written.
pub fn run(args: &Sessions) -> Result<(), Failure> {
    let recorded::RecordedSessions { sessions: all, notes } = recorded::all();
    let is_asked = |found: &(usize, Recorded)| args.agent.as_deref().is_none_or(|agent| agent == found.1.agent);
    // Each keeps its number, whatever is filtered out.
    let asked: Vec<(usize, Recorded)> = (1..).zip(all).filter(is_asked).collect();
    let shown = if args.all { asked.len() } else { asked.len().min(SHOWN) };
    let seen = asked[..shown].iter().map(|(at, found)| (*at, found, peek(found)));
    let look = Look::stdout();
    let text = match args.json {
        true => format!(
            "{:#}\n",
            Value::Array(seen.map(|(at, found, peek)| as_json(at, found, peek)).collect())
        ),
        false if shown == 0 => none(args.agent.as_deref()).to_owned(),
        false => table(&look, &seen.collect::<Vec<_>>(), asked.len() - shown),
    };
    Output::Stdout.write(|out| out.write_all(text.as_bytes()))?;
    if args.agent.is_none() && !args.json {
        let notes: Vec<String> = notes.iter().map(|note| clean(note)).collect();
        warn(&Look::stderr(), &notes);
    }
    Ok(())
}

fn as_json(at: usize, found: &Recorded, peek: Peek) -> Value {
    let since = found
        .modified
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    json!({
        "number": at,
        "agent": found.agent,
        "id": found.id,
        "project": peek.project,
        "title": peek.title,
        "modified_ms": u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        "tokens": peek.tokens,
        "cost_usd": peek.cost,
        "bytes": found.bytes,
        "file": found.file.to_string_lossy(),
    })
}

/// Returns the message for an empty list.
fn none(agent: Option<&str>) -> &'static str {
    match agent {
        Some(saved::AGENT) => {
            "No saved sessions found. To save sessions, set `transcripts` in your settings to a directory.\n"
        }
        _ => "No recorded sessions found (`codelet formats` lists the supported agents).\n",
    }
}

fn table(look: &Look, seen: &[(usize, &Recorded, Peek)], left: usize) -> String {
    let now = SystemTime::now();
    let rows: Vec<[String; 7]> = seen
        .iter()
        .map(|(at, found, peek)| {
            let age = age(now.duration_since(found.modified).unwrap_or_default());
            cells(format!("@{at}"), found.agent.to_owned(), age, peek)
        })
        .collect();
    let mut text = laid_out(look, HEADS, rows);
    if left > 0 {
        let _ = writeln!(
            text,
            "\n{} older ones are left out (--all shows them).",
            number(left as u64)
        );
    }
    text.push_str(
        "\nUse a number in place of a file: codelet inspect @1, codelet report @1 -o report.html, codelet --from @1\n",
    );
    text
}

const HEADS: [&str; 7] = ["", "agent", "when", "tokens", "dollars", "project", "title"];

/// Lists the sessions of a database.
///
/// # Errors
/// If standard output cannot be written.
pub fn list_store(sessions: &[Session], json: bool) -> Result<(), Failure> {
    let text = if json {
        let one = |(index, session): (usize, &Session)| {
            json!({
                "index": index,
                "id": session.id,
                "project": session.project,
                "title": session.title,
                "modified_ms": session.modified,
                "tokens": session.tokens,
                "cost_usd": session.cost,
            })
        };
        format!("{:#}\n", Value::Array(sessions.iter().enumerate().map(one).collect()))
    } else {
        let now = SystemTime::now();
        let row = |(index, session): (usize, &Session)| {
            let since = session.modified.map(Duration::from_millis);
            let modified = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
            let age = modified.map(|modified| age(now.duration_since(modified).unwrap_or_default()));
            let age = age.unwrap_or_else(|| "–".to_owned());
            cells(index.to_string(), clean(&session.id), age, &noted(session))
        };
        let rows: Vec<[String; 7]> = sessions.iter().enumerate().map(row).collect();
        let heads = ["", "id", "when", "tokens", "dollars", "project", "title"];
        let mut text = laid_out(&Look::stdout(), heads, rows);
        text.push_str("\nTo choose one, use --index N, or FILE#ID in place of FILE.\n");
        text
    };
    Output::Stdout.write(|out| out.write_all(text.as_bytes()))
}

fn noted(session: &Session) -> Peek {
    Peek {
        title: session.title.clone(),
        project: session.project.clone(),
        tokens: session.tokens,
        cost: session.cost,
    }
}

/// Returns the cells of a row: the session's name, its agent or id, its age, and its details.
fn cells(name: String, whose: String, age: String, peek: &Peek) -> [String; 7] {
    let none = || "–".to_owned();
    let folder = |path: &String| Some(Path::new(path).file_name()?.to_string_lossy().into_owned());
    [
        name,
        whose,
        age,
        peek.tokens.map_or_else(none, number),
        peek.cost.map_or_else(none, |cost| format!("{cost:.2}")),
        clip_path(
            &clean(&peek.project.as_ref().and_then(folder).unwrap_or_else(none)),
            PROJECT,
        ),
        peek.title
            .as_deref()
            .map_or_else(none, |title| clean(&first_line(title))),
    ]
}

/// Formats rows under their headings, cut to the terminal's width.
fn laid_out(look: &Look, heads: [&str; 7], rows: Vec<[String; 7]>) -> String {
    let rows: Vec<[String; 7]> = std::iter::once(heads.map(str::to_owned)).chain(rows).collect();
    let mut text = String::new();
    for (at, line) in lined_up(&rows, &[0, 3, 4], usize::MAX).iter().enumerate() {
        let line = clip(line, look.width).trim_end().to_owned();
        let line = if at == 0 { look.ink(Ink::Dim, &line) } else { line };
        let _ = writeln!(text, "{line}");
    }
    text
}

fn first_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// Formats an age in the largest unit that fits.
fn age(since: Duration) -> String {
    let minutes = since.as_secs() / 60;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}
