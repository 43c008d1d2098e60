//! Bars of cost by category.

use super::html::Html;
use codelet_context::price::Cost;

/// Returns the parts of a bar: label, class and amount.
pub fn parts(dollars: Cost, refetch: f64) -> [(&'static str, &'static str, f64); 5] {
    [
        ("read from the cache", "read", dollars.cache_read),
        ("written to the cache", "write", dollars.write()),
        ("not cached", "fresh", dollars.fresh),
        ("replies", "output", dollars.output),
        ("reading again", "again", refetch),
    ]
}

/// Draws a bar of these parts; `most` is the full width of the cell.
pub fn bar(html: &mut Html, dollars: Cost, refetch: f64, most: f64) {
    stretched(html, |html| {
        let mut x = 0.0;
        for (_, class, value) in parts(dollars, refetch) {
            let width = length(value, most);
            rectangle(html, x, width, class);
            x += width;
        }
    });
}

/// Draws a bar of one part.
pub fn plain(html: &mut Html, value: f64, most: f64, class: &str) {
    stretched(html, |html| rectangle(html, 0.0, length(value, most), class));
}

/// Draws a bar with an interval.
pub fn with_interval(html: &mut Html, value: f64, interval: Option<(f64, f64)>, most: f64) {
    stretched(html, |html| {
        rectangle(html, 0.0, length(value, most), "read");
        if let Some((low, high)) = interval {
            let (low, high) = (length(low, most), length(high, most));
            let path = format!("M{low:.2} 2V8M{high:.2} 2V8M{low:.2} 5H{high:.2}");
            html.own(format_args!(r#"<path d="{path}" class="interval"></path>"#));
        }
        let one = length(1.0, most);
        html.own(format_args!(r#"<path d="M{one:.2} 0V10" class="even"></path>"#));
    });
}

fn stretched(html: &mut Html, inside: impl FnOnce(&mut Html)) {
    html.raw(r#"<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">"#);
    inside(html);
    html.raw("</svg>");
}

fn rectangle(html: &mut Html, x: f64, width: f64, class: &str) {
    if width > 0.0 {
        html.own(format_args!(
            r#"<rect x="{x:.2}" y="0" width="{width:.2}" height="10" class="{class}"></rect>"#
        ));
    }
}

fn length(value: f64, most: f64) -> f64 {
    if most > 0.0 && value.is_finite() {
        (value / most * 100.0).clamp(0.0, 100.0)
    } else {
        0.0
    }
}
