//! `codelet sessions`: what the agents on this machine have recorded.

use crate::args::Sessions;
use crate::commands::warn;
use crate::exit::Failure;
use crate::output::Output;
use crate::paint::{Ink, Look, clean, clip, clip_path, fit, number, width};
use crate::recorded::{self, Peek, Recorded, peek, unreadable};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// So many are shown unless all are asked for.
const SHOWN: usize = 30;

/// Finds, looks, prints.
///
/// # Errors
/// When standard output takes no more.
pub fn run(args: &Sessions) -> Result<(), Failure> {
    let all = recorded::all();
    let is_asked = |found: &(usize, Recorded)| args.agent.as_deref().is_none_or(|agent| agent == found.1.agent);
    // Each keeps the number that names it, whatever is left out.
    let asked: Vec<(usize, Recorded)> = (1..).zip(all).filter(is_asked).collect();
    let shown = if args.all { asked.len() } else { asked.len().min(SHOWN) };
    let seen = asked[..shown].iter().map(|(at, found)| (*at, found, peek(found)));
    let look = Look::stdout();
    let text = match args.json {
        true => format!(
            "{:#}\n",
            Value::Array(seen.map(|(at, found, peek)| as_json(at, found, peek)).collect())
        ),
        false => table(&look, &seen.collect::<Vec<_>>(), asked.len() - shown),
    };
    Output::Stdout.write(|out| out.write_all(text.as_bytes()))?;
    if args.agent.is_none() && !args.json {
        let notes: Vec<String> = unreadable().iter().map(|note| clean(note)).collect();
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

fn table(look: &Look, seen: &[(usize, &Recorded, Peek)], left: usize) -> String {
    if seen.is_empty() {
        return "No recorded sessions were found where agents keep them (`codelet formats` lists the forms).\n"
            .to_owned();
    }
    let now = SystemTime::now();
    let rows: Vec<[String; 7]> = seen
        .iter()
        .map(|(at, found, peek)| {
            let name = |path: &String| {
                Path::new(path)
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned())
            };
            [
                format!("@{at}"),
                found.agent.to_owned(),
                age(now.duration_since(found.modified).unwrap_or_default()),
                peek.tokens.map_or("–".to_owned(), number),
                peek.cost.map_or("–".to_owned(), |cost| format!("{cost:.2}")),
                clean(&peek.project.as_ref().and_then(name).unwrap_or_else(|| "–".to_owned())),
                peek.title
                    .as_deref()
                    .map_or("–".to_owned(), |title| clean(&first_line(title))),
            ]
        })
        .collect();
    const HEADS: [&str; 7] = ["", "agent", "when", "tokens", "dollars", "project", "title"];
    /// Columns of a project's name at most.
    const PROJECT: usize = 20;
    let columns: Vec<usize> = (0..6)
        .map(|at| {
            let widest = rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
            let widest = if at == 5 { widest.min(PROJECT) } else { widest };
            widest.max(width(HEADS[at]))
        })
        .collect();
    let rest = look.width.saturating_sub(columns.iter().sum::<usize>() + 12).max(8);
    let line = |cells: [&str; 7]| {
        let mut line = String::new();
        for (at, cell) in cells[..6].iter().enumerate() {
            let cell = if at == 5 {
                clip_path(cell, columns[at])
            } else {
                (*cell).to_owned()
            };
            let space = " ".repeat(columns[at].saturating_sub(width(&cell)));
            match at {
                // Figures end where those of other rows end.
                0 | 3 | 4 => line.push_str(&format!("{space}{cell}  ")),
                _ => line.push_str(&format!("{}  ", fit(&cell, columns[at]))),
            }
        }
        line.push_str(&clip(cells[6], rest));
        line.trim_end().to_owned()
    };
    let mut text = String::new();
    let _ = writeln!(text, "{}", look.ink(Ink::Dim, &line(HEADS)));
    for row in &rows {
        let _ = writeln!(text, "{}", line(row.each_ref().map(String::as_str)));
    }
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

fn first_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// How long ago something was, in the largest unit of which there is one.
fn age(since: Duration) -> String {
    let minutes = since.as_secs() / 60;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}
