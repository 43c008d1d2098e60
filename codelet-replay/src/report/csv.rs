//! The figures as CSV, in data links that a browser saves without any request.

use super::bucket::{LAYERS, buckets, layer, layers};
use super::html::Html;
use super::{Course, Report};
use crate::csv::{self, field};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codelet_context::inspect::Kind;
use std::fmt::Write;

/// The maximum number of requests in the file of the policy shown first, and in that of never editing.
pub const MOST_ROWS: usize = 5_000;
/// The maximum number of requests in the file of another policy. All of them are in `columns.csv`, as in the charts.
pub const MOST_OTHER_ROWS: usize = 1_000;
/// The maximum number of edits in the file of all policies' edits.
pub const MOST_EDITS: usize = 10_000;
/// The maximum number of tools in the file of contents.
pub const MOST_TOOLS: usize = 1_000;

/// Writes a link that saves a text as a file.
pub fn link(html: &mut Html, name: &str, words: &str, text: &str) {
    let address = format!("data:text/csv;charset=utf-8;base64,{}", STANDARD.encode(text));
    html.line("a", &[("class", "file"), ("download", name), ("href", &address)], words);
}

/// Returns a line for each request under a policy.
pub fn steps(course: &Course, most: usize) -> String {
    let mut text = String::from("request,began_ms");
    for at in 0..LAYERS {
        let _ = write!(text, ",{}", layer(at).replace(' ', "_"));
    }
    text.push_str(
        ",total,fresh,cache_read,cache_write,output,usd_fresh,usd_read,usd_write,usd_output,usd_refetch,\
         break,lost,edit,removed\n",
    );
    for (number, step) in course.run.steps.iter().enumerate().take(most) {
        let began = step.began.map_or(String::new(), |began| began.to_string());
        let _ = write!(text, "{},{began}", number + 1);
        for tokens in layers(step) {
            let _ = write!(text, ",{tokens}");
        }
        let (usage, dollars) = (step.usage, step.dollars);
        let _ = write!(
            text,
            ",{},{},{},{},{},{:.6},{:.6},{:.6},{:.6},{:.6}",
            step.occupancy.total(),
            usage.fresh,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            dollars.fresh,
            dollars.cache_read,
            dollars.write(),
            dollars.output,
            step.refetch,
        );
        let (cause, lost) = step
            .broken
            .map_or(("", String::new()), |it| (it.cause.name(), it.lost.to_string()));
        let (reason, removed) = step.edit.map_or(("", String::new()), |edit| {
            (edit.reason, edit.before.saturating_sub(edit.after).to_string())
        });
        let _ = writeln!(text, ",{cause},{lost},{},{removed}", field(reason));
    }
    text
}

/// Returns a line for each column of each policy's charts: its fullest request by layer, and the sums of all.
pub fn columns(courses: &[Course]) -> String {
    let mut text = String::from("policy,first_request,last_request,fullest_request");
    for at in 0..LAYERS {
        let _ = write!(text, ",{}", layer(at).replace(' ', "_"));
    }
    text.push_str(",total,all_fresh,all_cache_read,all_cache_write,all_output,all_usd\n");
    for course in courses {
        for bucket in buckets(&course.run) {
            let (first, last) = (bucket.steps.start + 1, bucket.steps.end);
            let _ = write!(text, "{},{first},{last},{}", field(&course.name), bucket.fullest + 1);
            for tokens in bucket.layers {
                let _ = write!(text, ",{tokens}");
            }
            let usage = bucket.usage;
            let _ = writeln!(
                text,
                ",{},{},{},{},{},{:.6}",
                bucket.tokens(),
                usage.fresh,
                usage.cache_read,
                usage.cache_write,
                usage.output,
                bucket.dollars.total(),
            );
        }
    }
    text
}

/// Returns a line for each policy.
pub fn policies(courses: &[Course]) -> String {
    let mut text = format!("policy,{},refused_at\n", csv::SUMS);
    for course in courses {
        let refused = course.run.refused;
        let refused = refused.map_or(String::new(), |refused| (refused.step + 1).to_string());
        let (name, sums) = (field(&course.name), csv::sums(&course.run.sums()));
        let _ = writeln!(text, "{name},{sums},{refused}");
    }
    text
}

/// Returns a line for each edit of each policy.
pub fn edits(courses: &[Course]) -> String {
    let mut text = String::from("policy,request,reason,before,after,removed,usd_cost,usd_actual,usd_saved\n");
    for (course, room) in courses.iter().zip(edits_shown(courses)) {
        for edit in course.edits.iter().take(room) {
            let actual = edit.actual.map_or(String::new(), |actual| format!("{actual:.6}"));
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{:.6},{actual},{:.6}",
                field(&course.name),
                edit.step + 1,
                field(edit.reason),
                edit.before,
                edit.after,
                edit.removed(),
                edit.cost,
                edit.saved
            );
        }
    }
    text
}

/// Returns the number of edits of each policy in the file: all of them, or an equal share of the limit.
pub fn edits_shown(courses: &[Course]) -> Vec<usize> {
    let mut counts: Vec<usize> = courses.iter().map(|course| course.edits.len()).collect();
    counts.sort_unstable();
    let (mut room, mut left) = (MOST_EDITS, counts.len());
    let mut most = 0;
    for count in counts {
        // Room that a policy with few edits does not need is shared by the others.
        most = room / left;
        if count > most {
            break;
        }
        (room, left, most) = (room - count, left - 1, count);
    }
    courses.iter().map(|course| course.edits.len().min(most)).collect()
}

/// Returns a line for each kind, each tool and each of the largest items.
pub fn contents(report: &Report) -> String {
    let mut text = String::from("list,name,tool,parts,tokens,message\n");
    let scaled = |tokens: u64| (tokens as f64 * report.ratio).round() as u64;
    let found = &report.contents;
    for kind in Kind::ALL {
        if let Some(share) = found.kinds.get(&kind) {
            let _ = writeln!(text, "kind,{},,{},{},", kind.name(), share.parts, scaled(share.tokens));
        }
    }
    for tool in found.tools.iter().take(MOST_TOOLS) {
        let parts = tool.calls.parts + tool.results.parts;
        let _ = writeln!(text, "tool,,{},{parts},{},", field(&tool.tool), scaled(tool.tokens()));
    }
    for item in &found.largest {
        let tool = item.tool.as_deref().unwrap_or_default();
        let (label, tool) = (field(&item.label), field(tool));
        let _ = writeln!(
            text,
            "item,{label},{tool},1,{},{}",
            scaled(item.tokens),
            item.message + 1
        );
    }
    text
}
