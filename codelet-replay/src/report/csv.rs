//! The figures as CSV, in data links that a browser saves without any request.

use super::Course;
use super::bucket::{LAYERS, layer, layers};
use super::html::Html;
use crate::csv::{self, field};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// The maximum number of requests in the file of the policy shown first, and in that of never editing.
pub const MOST_ROWS: usize = 5_000;
/// The maximum number of requests in the file of another policy.
pub const MOST_OTHER_ROWS: usize = 1_000;

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
