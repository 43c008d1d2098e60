//! The figures as lines of values, in links that a browser saves without asking anybody.

use super::bucket::{LAYERS, layer, layers};
use super::digest::base64;
use super::html::Html;
use super::{Course, Report};
use crate::csv::{self, field};
use codelet_context::inspect::Kind;
use std::fmt::Write;

/// The most requests in a file; `codelet replay --json` has no such bound.
pub const MOST_ROWS: usize = 5_000;

/// A link that saves a text as a file.
pub fn link(html: &mut Html, name: &str, words: &str, text: &str) {
    let address = format!("data:text/csv;charset=utf-8;base64,{}", base64(text.as_bytes()));
    html.line("a", &[("class", "file"), ("download", name), ("href", &address)], words);
}

/// A line for each request under a policy.
pub fn steps(course: &Course) -> String {
    let mut text = String::from("request,began_ms");
    for at in 0..LAYERS {
        let _ = write!(text, ",{}", layer(at).replace(' ', "_"));
    }
    text.push_str(
        ",total,fresh,cache_read,cache_write,output,usd_fresh,usd_read,usd_write,usd_output,usd_refetch,\
         break,lost,edit,removed,overflow\n",
    );
    for (number, step) in course.run.steps.iter().enumerate().take(MOST_ROWS) {
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
            dollars.read,
            dollars.write,
            dollars.output,
            step.refetch,
        );
        let (cause, lost) = step
            .broken
            .map_or(("", String::new()), |it| (it.cause.name(), it.lost.to_string()));
        let (reason, removed) = step.edit.map_or(("", String::new()), |edit| {
            (edit.reason, edit.before.saturating_sub(edit.after).to_string())
        });
        let _ = writeln!(
            text,
            ",{cause},{lost},{},{removed},{}",
            field(reason),
            u8::from(step.is_overflow)
        );
    }
    text
}

/// A line for each policy.
pub fn policies(courses: &[Course]) -> String {
    let mut text = format!("policy,{}\n", csv::SUMS);
    for course in courses {
        let _ = writeln!(text, "{},{}", field(&course.name), csv::sums(&course.run.sums()));
    }
    text
}

/// A line for each edit of each policy.
pub fn edits(courses: &[Course]) -> String {
    let mut text = String::from("policy,request,reason,before,after,removed,usd_cost,usd_actual,usd_saved\n");
    for course in courses {
        for edit in course.edits.iter().take(MOST_ROWS / courses.len().max(1)) {
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

/// A line for each kind, each tool and each of the largest items.
pub fn contents(report: &Report) -> String {
    let mut text = String::from("list,name,tool,parts,tokens,message\n");
    let scaled = |tokens: u64| (tokens as f64 * report.ratio).round() as u64;
    let found = &report.contents;
    for kind in Kind::ALL {
        if let Some(share) = found.kinds.get(&kind) {
            let _ = writeln!(text, "kind,{},,{},{},", kind.name(), share.parts, scaled(share.tokens));
        }
    }
    for tool in found.tools.iter().take(super::contents::MOST_TOOLS) {
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
