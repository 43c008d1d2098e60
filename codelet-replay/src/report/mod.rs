//! A session as one page: what filled its window, what was edited, what the cache did, and what it cost.
//!
//! The page is a single HTML file that asks nobody for anything. All figures stand in it as drawings and tables made here;
//! its script only adds comfort. What comes from a recording is put in as text, in bounded amounts.

mod bars;
mod bucket;
mod chart;
mod contents;
mod course;
mod csv;
pub(crate) mod html;
mod live;
mod played;
mod policies;
mod summary;
mod table;
mod words;

pub use live::{Earlier, Live, Told};
pub use played::played;

use crate::check::Check;
use crate::policy::{Policy, Settings};
use crate::run::Run;
use crate::totals::Total;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codelet_context::inspect::Inspection;
use codelet_context::tokens::Tokens;
use codelet_text::short::clip;
use html::Html;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// More policies than this are not shown: the page would grow without end.
const MOST_COURSES: usize = 12;

/// Everything that a page shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the session is called.
    pub title: String,
    /// The agent that recorded it.
    pub agent: String,
    /// The model, where it is known.
    pub model: Option<String>,
    /// The session is under way: the first course is what happened, the others what a simulation says.
    is_live: bool,
    /// Window, prices, and what is read again.
    pub settings: Settings,
    /// The price of the model is known; where not, dollars are left out of the words.
    is_priced: bool,
    /// How long it took from the first request to the last, in milliseconds.
    lasted: Option<u64>,
    /// What became of the session, and what would have become of it under each policy.
    pub courses: Vec<Course>,
    /// The course that is shown first.
    pub first: usize,
    /// What was said, whole.
    contents: Inspection,
    /// What an estimate of `contents` is multiplied with to be tokens of the window.
    ratio: f64,
    /// Requests after each message of `contents`.
    ages: Vec<u64>,
    /// Under which handles parts can be read back, by message and part.
    pub handles: HashMap<(usize, usize), String>,
    /// The cache model against what was billed.
    check: Option<Check>,
    /// Models that the recording names and whose price nobody knows.
    unknown: Vec<String>,
    /// The recording says what requests were billed.
    has_bills: bool,
    /// Several sessions together, with their number.
    pub together: Option<(usize, Vec<Total>)>,
    /// Requests that left nothing in the conversation: for summaries, and idle ones.
    pub beside: u64,
    /// What was billed before the conversation began anew, of which nothing else is shown.
    pub earlier: Earlier,
    /// What a reader should know about where the figures come from.
    pub notes: Vec<String>,
}

/// A session under one policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    /// Its name.
    pub name: String,
    /// What it does, in a few words.
    about: String,
    /// It is what a provider billed, and not what a simulation says.
    is_billed: bool,
    /// The requests.
    pub run: Run,
    /// Its edits.
    pub edits: Vec<Edit>,
}

impl Course {
    /// Whether it is the one that the others are compared with.
    fn is_never(&self) -> bool {
        !self.is_billed && self.run.policy == Policy::Never
    }
}

/// An edit, with what it was worth.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// Before which request, counted from 0.
    pub step: usize,
    /// Why.
    pub reason: &'static str,
    /// Tokens of the request without it.
    before: Tokens,
    /// Tokens with it.
    after: Tokens,
    /// What writing to the cache again what stands behind it cost, in dollars; predicted, of a live session.
    pub cost: f64,
    /// What that did cost by the provider's report, where there is one, in dollars.
    pub actual: Option<f64>,
    /// What the removed tokens would have cost in the requests since, in dollars.
    pub saved: f64,
}

impl Edit {
    /// Tokens that it removed.
    pub fn removed(&self) -> Tokens {
        self.before.saturating_sub(self.after)
    }

    /// Tokens that it put back.
    pub fn restored(&self) -> Tokens {
        self.after.saturating_sub(self.before)
    }
}

/// The page, as HTML. The same report gives the same bytes.
pub fn page(report: &Report) -> String {
    let mut html = Html::default();
    html.raw("<!DOCTYPE html>\n");
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| head(html, report));
        html.element("body", &[], |html| body(html, report));
    });
    html.raw("\n");
    html.finish()
}

fn head(html: &mut Html, report: &Report) {
    html.open("meta", &[("charset", "utf-8")]);
    let digest = |own: &str| STANDARD.encode(Sha256::digest(own.as_bytes()));
    // Nothing is fetched, and nothing runs but this script: not even what a flaw of ours would let through.
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(SCRIPT),
        digest(STYLE)
    );
    html.open(
        "meta",
        &[("http-equiv", "Content-Security-Policy"), ("content", &policy)],
    );
    html.open(
        "meta",
        &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")],
    );
    html.open("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    html.open("meta", &[("name", "referrer"), ("content", "no-referrer")]);
    let title = clip(&report.title, html::LONGEST);
    html.line("title", &[], &format!("{title} – Codelet report"));
    html.element("style", &[], |html| html.raw(STYLE));
}

fn body(html: &mut Html, report: &Report) {
    let courses = &report.courses[..report.courses.len().min(MOST_COURSES)];
    let first = report.first.min(courses.len().saturating_sub(1));
    html.line("a", &[("class", "skip"), ("href", "#main")], "Skip to the figures");
    chart::patterns(html);
    html.element("header", &[], |html| summary::banner(html, report));
    html.element("main", &[("id", "main")], |html| {
        summary::section(html, report, courses, first);
        if courses.iter().any(|course| !course.run.steps.is_empty()) {
            course::section(html, report, courses, first);
            policies::section(html, report, courses);
        }
        contents::section(html, report, courses.get(first));
    });
    html.element("footer", &[], |html| summary::footer(html, report, courses));
    html.element("script", &[], |html| html.raw(SCRIPT));
}
