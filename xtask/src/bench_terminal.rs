//! Checks the benchmarks of `codelet-terminal` against their limits: display throughput, and the time that one frame
//! blocks the keys.

use std::path::Path;
use std::process::{Command, Stdio};

/// Minimum throughput in bytes per second.
const RATE: f64 = 20e6;
/// Maximum time of a frame in seconds, as keys wait for it.
const FRAME: f64 = 0.016;

/// The names of the benchmarks: a whole answer, from events to terminal output; and one frame of it.
const SHOWN: &str = "shown";
const ONE_FRAME: &str = "one_frame";

/// Runs them in a release build and returns a table; an error if a limit is exceeded.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let ran = Command::new("cargo")
        .args(["bench", "--quiet", "-p", "codelet-terminal", "--bench", "render", "--"])
        .args([SHOWN, ONE_FRAME])
        .env("DIVAN_BYTES_FORMAT", "decimal")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| vec![error.to_string()])?;
    if !ran.status.success() {
        return Err(vec!["the benchmarks failed".to_owned()]);
    }
    judged(&read(&String::from_utf8_lossy(&ran.stdout)))
}

/// The measurements of one kind of answer.
#[derive(Clone, PartialEq, Debug, Default)]
struct Row {
    kind: String,
    /// The best throughput in bytes per second, since other load on the machine only slows it down.
    rate: Option<f64>,
    /// The median and the slowest frame, in seconds.
    median: Option<f64>,
    slowest: Option<f64>,
}

/// Parses the benchmarks' output: a tree of names with their times, and below them their rates.
fn read(table: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut bench, mut kind) = (String::new(), String::new());
    for line in table.lines() {
        let line = line.trim_start_matches(['│', ' ']);
        let is_name = line.starts_with(['├', '╰']);
        let line = line.trim_start_matches(['├', '╰', '─', ' ']);
        let Some(first) = line.split_whitespace().next() else {
            continue;
        };
        if is_name && (first == SHOWN || first == ONE_FRAME) {
            bench = first.to_owned();
            continue;
        }
        let figures = if is_name {
            kind = first.to_owned();
            line[first.len()..].trim_start()
        } else {
            line
        };
        let cells: Vec<&str> = figures.split('│').map(str::trim).collect();
        let at = rows.iter().position(|row| row.kind == kind).unwrap_or_else(|| {
            rows.push(Row {
                kind: kind.clone(),
                ..Row::default()
            });
            rows.len() - 1
        });
        let (row, cell) = (&mut rows[at], |at: usize| cells.get(at).copied().unwrap_or_default());
        match bench.as_str() {
            SHOWN if row.rate.is_none() => row.rate = quantity(cell(0), &RATES),
            ONE_FRAME if row.median.is_none() => {
                (row.slowest, row.median) = (quantity(cell(1), &TIMES), quantity(cell(2), &TIMES));
            }
            _ => {}
        }
    }
    rows.retain(|row| row.rate.is_some() || row.median.is_some());
    rows
}

const RATES: [(&str, f64); 4] = [("B/s", 1.0), ("KB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)];
const TIMES: [(&str, f64); 4] = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];

/// Parses a number followed by one of these units.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    Some(number.parse::<f64>().ok()? * factor)
}

/// The figures as a table; an error if a limit is exceeded or a figure is missing.
fn judged(rows: &[Row]) -> Result<String, Vec<String>> {
    let mut table = format!(
        "| 10 MB of | shown, at least {:.0} MB/s | one frame, at most {:.0} ms | slowest |\n|---|---|---|---|\n",
        RATE / 1e6,
        FRAME * 1e3
    );
    let mut troubles = Vec::new();
    for row in rows {
        let (Some(rate), Some(median), Some(slowest)) = (row.rate, row.median, row.slowest) else {
            troubles.push(format!("{}: not all of it was measured", row.kind));
            continue;
        };
        table.push_str(&format!(
            "| {} | {:.0} MB/s | {:.2} ms | {:.2} ms |\n",
            row.kind,
            rate / 1e6,
            median * 1e3,
            slowest * 1e3
        ));
        if rate < RATE {
            troubles.push(format!("slower than wanted: {}, {:.1} MB/s", row.kind, rate / 1e6));
        }
        if slowest > FRAME {
            troubles.push(format!(
                "longer than wanted: a frame of {}, {:.1} ms",
                row.kind,
                slowest * 1e3
            ));
        }
    }
    if rows.is_empty() {
        troubles.push("nothing was measured".to_owned());
    }
    if troubles.is_empty() {
        return Ok(table);
    }
    Err(std::iter::once(table).chain(troubles).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Timer precision: 20 ns
render           fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ one_frame                   │               │               │               │         │
│  ├─ torture    702.1 µs      │ 1.2 ms        │ 721.3 µs      │ 735 µs        │ 100     │ 100
│  ╰─ plain      98.12 µs      │ 17.5 ms       │ 99.1 µs       │ 101.2 µs      │ 100     │ 100
╰─ shown                       │               │               │               │         │
   ├─ torture    380.1 ms      │ 402.9 ms      │ 390 ms        │ 391.2 ms      │ 5       │ 5
   │             26.3 MB/s     │ 24.8 MB/s     │ 25.6 MB/s     │ 25.5 MB/s     │         │
   ╰─ plain      668.1 ms      │ 702.9 ms      │ 690 ms        │ 691.2 ms      │ 5       │ 5
                 14.9 MB/s     │ 14.2 MB/s     │ 14.4 MB/s     │ 14.4 MB/s     │         │
";

    #[test]
    fn the_table_of_the_benchmarks_is_read() {
        let row = |kind: &str, rate, median, slowest| Row {
            kind: kind.to_owned(),
            rate: Some(rate),
            median: Some(median),
            slowest: Some(slowest),
        };
        let near = |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| (a - b).abs() < b * 1e-9);
        let wanted = [
            row("torture", 26.3e6, 721.3e-6, 1.2e-3),
            row("plain", 14.9e6, 99.1e-6, 17.5e-3),
        ];
        let read = read(TABLE);
        assert_eq!(read.len(), wanted.len(), "{read:?}");
        for (read, wanted) in read.iter().zip(&wanted) {
            assert_eq!(read.kind, wanted.kind);
            assert!(near(read.rate, wanted.rate), "{read:?}");
            assert!(
                near(read.median, wanted.median) && near(read.slowest, wanted.slowest),
                "{read:?}"
            );
        }
    }

    #[test]
    fn what_is_slower_than_it_may_be_fails() {
        let rows = read(TABLE);
        let told = judged(&rows).err().unwrap_or_default().join("\n");
        assert!(told.contains("slower than wanted: plain, 14.9 MB/s"), "{told}");
        assert!(told.contains("longer than wanted: a frame of plain, 17.5 ms"), "{told}");
        assert!(!told.contains("wanted: torture"), "{told}");
        let good = judged(&rows[..1]).unwrap_or_default();
        assert!(good.contains("| torture | 26 MB/s | 0.72 ms | 1.20 ms |"), "{good}");
        assert!(judged(&[]).is_err());
    }
}
