//! The charts of a run: what filled the window, and what was read from the cache.
//!
//! The shapes are in a separate drawing that is stretched to the width of the page; texts and marks around it are
//! positioned in percent of the width, so that they are never distorted.

use super::bucket::{Bucket, LAYERS, layer, place};
use super::html::Html;
use super::words::{changed, count, number, percent, share, short};
use super::{Course, Edit};
use crate::run::Cause;
use codelet_context::tokens::Tokens;
use std::fmt::{self, Write};

/// The maximum number of marks in a chart; the smallest are left out, and the page says so.
pub const MOST_MARKS: usize = 60;
/// The height of the stretched drawing in its own units.
const HEIGHT: f64 = 300.0;
/// Its width.
const WIDTH: f64 = 1_000.0;

/// Defines the patterns that distinguish the layers without color.
pub fn patterns(html: &mut Html) {
    html.raw(r#"<svg class="defs" aria-hidden="true" width="0" height="0"><defs>"#);
    for at in 0..LAYERS {
        html.own(format_args!(
            r#"<pattern id="p{at}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="fill l{at}"></rect>"#
        ));
        // The results fill most windows, so they have no pattern.
        let strokes = match at {
            0 | 11 => "M0 4H8",
            1 | 3 => "M4 0V8",
            2 | 7 => "M0 0L8 8",
            4 | 8 => "M0 8L8 0",
            5 => "M1 2H3M5 6H7",
            6 | 10 => "M0 4H8M4 0V8",
            _ => "",
        };
        if !strokes.is_empty() {
            path(html, strokes, "hatch");
        }
        html.raw("</pattern>");
    }
    html.raw("</defs></svg>");
}

fn path(html: &mut Html, strokes: &str, class: &str) {
    html.own(format_args!(r#"<path d="{strokes}" class="{class}"></path>"#));
}

/// The range and ticks of the token axis.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Tokens at the top.
    pub top: Tokens,
    /// The values of the grid lines.
    pub ticks: Vec<Tokens>,
}

impl Scale {
    /// Returns a scale for the fullest request, or for the whole window if that is not much larger.
    pub fn of(peak: Tokens, window: Tokens) -> Self {
        let top = if peak.saturating_mul(3) >= window {
            peak.max(window)
        } else {
            peak
        };
        let top = (top.max(100) as f64 * 1.06) as Tokens;
        // Ticks at 1, 2 or 5 times a power of ten: four to eight of them.
        let rough = top as f64 / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough);
        let step = ((factor.unwrap_or(10.0) * power) as Tokens).max(1);
        let ticks = (1..)
            .map(|times| times * step)
            .take_while(|tick| *tick <= top)
            .take(12)
            .collect();
        Scale { top, ticks }
    }

    /// Returns the distance from the top of the chart, 0 to 1.
    fn depth(&self, tokens: Tokens) -> f64 {
        1.0 - tokens.min(self.top) as f64 / self.top as f64
    }
}

/// Draws what filled the window. `at` is the number of the run, for ids within the page.
pub fn occupancy(html: &mut Html, at: usize, course: &Course, buckets: &[Bucket], scale: &Scale, window: Tokens) {
    let steps = course.run.steps.len();
    let title = format!("Tokens of each request by kind, {}", course.name);
    let sums = course.run.sums();
    let description = format!(
        "{}; the largest has {} tokens of a window of {}; {}.",
        count(steps as u64, "request", "requests"),
        number(sums.peak),
        number(window),
        count(sums.edits, "edit", "edits"),
    );
    frame(html, "tall", |html| {
        axis(html, scale.ticks.iter().map(|tick| (scale.depth(*tick), short(*tick))));
        let id = format!("o{at}");
        plot(html, &id, at, &title, &description, |html| {
            lines(html, scale.ticks.iter().map(|tick| scale.depth(*tick)));
            stretched(html, |html| stack(html, buckets, scale));
            if window <= scale.top {
                let y = share_of(scale.depth(window));
                line(html, &y, "window");
                html.own(format_args!(
                    r#"<text x="100%" y="{y}" dx="-6" dy="14" text-anchor="end" class="halo">window {}</text>"#,
                    short(window)
                ));
            }
            for edit in marked(&course.edits) {
                edit_mark(html, edit, place(edit.step, steps));
            }
        });
        feet(html, steps);
    });
}

/// Draws what was read from the cache, what was written to it, and what was not cached.
pub fn cache(html: &mut Html, at: usize, course: &Course, buckets: &[Bucket]) {
    let sums = course.run.sums();
    let title = format!("Share of each request that was read from the cache, {}", course.name);
    let description = format!(
        "{} of all prompt tokens were read from the cache; {}, {}, {}.",
        percent(sums.hit_share()),
        count(sums.planned, "cache miss after an edit", "cache misses after edits"),
        count(sums.cold, "after expiry", "after expiry"),
        count(sums.unplanned, "other cache miss", "other cache misses"),
    );
    let steps = course.run.steps.len();
    frame(html, "low", |html| {
        axis(html, [(0.0, "100 %".to_owned()), (0.5, "50 %".to_owned())].into_iter());
        let id = format!("c{at}");
        plot(html, &id, at, &title, &description, |html| {
            stretched(html, |html| {
                let part = |of: fn(&Bucket) -> u64| {
                    let tops = buckets
                        .iter()
                        .map(|bucket| 1.0 - share(of(bucket), bucket.usage.prompt()));
                    staircase(tops)
                };
                for (class, of) in [
                    ("fresh", (|bucket: &Bucket| bucket.usage.prompt()) as fn(&Bucket) -> u64),
                    ("write", |bucket| bucket.usage.cache_read + bucket.usage.cache_write),
                    ("read", |bucket| bucket.usage.cache_read),
                ] {
                    path(html, &part(of), class);
                }
            });
            lines(html, [0.5].into_iter());
        });
        breaks(html, course, steps);
        feet(html, steps);
    });
}

fn frame(html: &mut Html, class: &str, inside: impl FnOnce(&mut Html)) {
    html.element("div", &[("class", &format!("chart {class}"))], inside);
}

fn axis(html: &mut Html, ticks: impl Iterator<Item = (f64, String)>) {
    html.element("svg", &[("class", "axis"), ("aria-hidden", "true")], |html| {
        for (from_top, words) in ticks {
            // A tick at the very top is labeled below its line, as there is no room above.
            let dy = if from_top < 0.03 { "11" } else { "4" };
            let y = share_of(from_top);
            html.own(format_args!(
                r#"<text x="100%" y="{y}" dx="-6" dy="{dy}" text-anchor="end">{words}</text>"#
            ));
        }
    });
}

fn plot(html: &mut Html, id: &str, at: usize, title: &str, description: &str, inside: impl FnOnce(&mut Html)) {
    html.own(format_args!(
        r#"<svg class="plot" role="img" aria-labelledby="{id}-title {id}-about" data-course="{at}">"#
    ));
    html.line("title", &[("id", &format!("{id}-title"))], title);
    html.line("desc", &[("id", &format!("{id}-about"))], description);
    inside(html);
    html.raw("</svg>");
}

fn line(html: &mut Html, y: &str, class: &str) {
    html.own(format_args!(
        r#"<line x1="0" x2="100%" y1="{y}" y2="{y}" class="{class}"></line>"#
    ));
}

fn lines(html: &mut Html, from_top: impl Iterator<Item = f64>) {
    from_top.for_each(|y| line(html, &share_of(y), "grid"));
}

fn stretched(html: &mut Html, inside: impl FnOnce(&mut Html)) {
    html.own(format_args!(
        r#"<svg width="100%" height="100%" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" class="stretched">"#
    ));
    inside(html);
    html.raw("</svg>");
}

/// Draws the layers, each from the bottom up to its top, the highest first, so that each covers all but the visible
/// part of the one before.
fn stack(html: &mut Html, buckets: &[Bucket], scale: &Scale) {
    for at in (0..LAYERS).rev() {
        if buckets.iter().all(|bucket| bucket.layers[at] == 0) {
            continue;
        }
        let tops = buckets
            .iter()
            .map(|bucket| scale.depth(bucket.layers[..=at].iter().sum()));
        html.own(format_args!(
            r#"<path d="{}" fill="url(#p{at})" class="layer"></path>"#,
            staircase(tops)
        ));
    }
}

/// Returns a shape with a step for each value, filled down to the bottom.
fn staircase(tops: impl ExactSizeIterator<Item = f64>) -> String {
    let columns = tops.len().max(1) as f64;
    let mut path = format!("M0 {HEIGHT}");
    let mut last = f64::NAN;
    for (column, top) in tops.enumerate() {
        let (x, y) = (column as f64 * WIDTH / columns, top * HEIGHT);
        // Equal neighbors need no step.
        if (y - last).abs() > 0.05 || last.is_nan() {
            let _ = write!(path, "H{x:.1}V{y:.1}");
            last = y;
        }
    }
    let _ = write!(path, "H{WIDTH}V{HEIGHT}Z");
    path
}

fn marked(edits: &[Edit]) -> Vec<&Edit> {
    let mut marked: Vec<&Edit> = edits.iter().collect();
    marked.sort_by_key(|edit| std::cmp::Reverse(edit.removed()));
    marked.truncate(MOST_MARKS);
    marked.sort_by_key(|edit| edit.step);
    marked
}

fn edit_mark(html: &mut Html, edit: &Edit, place: f64) {
    let is_full = edit.reason == "full";
    let class = if is_full { "edit full" } else { "edit" };
    let x = share_of(place);
    html.element("g", &[("class", class)], |html| {
        let words = format!(
            "Edit before request {} ({}): {}",
            number(edit.step as u64 + 1),
            edit.reason,
            changed(edit.before, edit.after)
        );
        html.line("title", &[], &words);
        let sign = if is_full { "■" } else { "▼" };
        html.own(format_args!(
            r#"<line x1="{x}" x2="{x}" y1="0" y2="100%"></line><text x="{x}" y="11" text-anchor="middle">{sign}</text>"#
        ));
    });
}

/// Draws a row of symbols under the chart, one for each cache break.
fn breaks(html: &mut Html, course: &Course, steps: usize) {
    let broken = course.run.steps.iter().enumerate();
    let mut broken: Vec<_> = broken.filter_map(|(at, step)| Some((at, step.broken?))).collect();
    broken.sort_by_key(|(_, broken)| std::cmp::Reverse(broken.lost));
    broken.truncate(MOST_MARKS);
    broken.sort_by_key(|(at, _)| *at);
    html.element("svg", &[("class", "breaks"), ("aria-hidden", "true")], |html| {
        for (at, broken) in broken {
            let words = format!(
                "Request {}: {} tokens not read ({})",
                number(at as u64 + 1),
                number(broken.lost),
                broken.cause.name()
            );
            let x = share_of(place(at, steps));
            html.own(format_args!(
                r#"<text x="{x}" y="13" text-anchor="middle" class="{}"><title>{words}</title>{}</text>"#,
                broken.cause.name(),
                sign(broken.cause)
            ));
        }
    });
}

/// Returns the symbol of a break.
pub fn sign(cause: Cause) -> &'static str {
    match cause {
        Cause::Planned => "◆",
        Cause::Cold => "○",
        Cause::Unplanned => "✕",
    }
}

fn feet(html: &mut Html, steps: usize) {
    html.element("svg", &[("class", "feet"), ("aria-hidden", "true")], |html| {
        let middle = steps / 2;
        for (x, step, anchor) in [("0", 1, "start"), ("50%", middle, "middle"), ("100%", steps, "end")] {
            if step == 0 || (step == middle && steps < 8) {
                continue;
            }
            let words = if step == 1 {
                "request 1".to_owned()
            } else {
                number(step as u64)
            };
            html.own(format_args!(
                r#"<text x="{x}" y="13" text-anchor="{anchor}">{words}</text>"#
            ));
        }
    });
}

/// Draws the legend of the layers; those that do not occur are left out.
pub fn legend(html: &mut Html, buckets: &[Bucket]) {
    html.element("ul", &[("class", "legend")], |html| {
        for at in 0..LAYERS {
            if buckets.iter().any(|bucket| bucket.layers[at] > 0) {
                html.element("li", &[], |html| {
                    swatch(html, at);
                    html.text(layer(at));
                });
            }
        }
    });
}

/// Draws a small area in the style of a layer.
pub fn swatch(html: &mut Html, layer: usize) {
    swatch_in(html, format_args!(r#"fill="url(#p{layer})""#));
}

/// Draws a small area with this attribute.
pub fn swatch_in(html: &mut Html, style: fmt::Arguments<'_>) {
    html.own(format_args!(
        r#"<svg class="swatch" aria-hidden="true" viewBox="0 0 16 16"><rect width="16" height="16" {style}></rect></svg>"#
    ));
}

fn share_of(value: f64) -> String {
    format!("{:.2}%", value * 100.0)
}
