//! The page of a report, with its style and its script.

use super::html::{self, Html};
use super::policies::MOST_COURSES;
use super::{Report, chart, contents, course, policies, summary};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codelet_text::short::clip;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page, as HTML. The same report gives the same bytes.
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
    // Nothing is fetched, and only this script can run: not even code that an escaping bug would let through.
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
