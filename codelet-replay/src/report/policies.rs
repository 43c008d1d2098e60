//! The cost under each policy, of this session and of several together.

use super::bars;
use super::chart::swatch_in;
use super::course::{money, ratio, tokens};
use super::html::Html;
use super::table::{Cell, figures, table, words};
use super::words::{dollars, number};
use super::{Course, Report};
use crate::totals::Total;

/// The maximum number of policies shown: the page would grow without bound.
pub(super) const MOST_COURSES: usize = 12;

/// Writes the section.
pub fn section(html: &mut Html, report: &Report, courses: &[Course]) {
    html.element("section", &[("aria-labelledby", "dollars")], |html| {
        let is_simulated = courses.iter().any(|course| !course.is_billed);
        let title = if is_simulated {
            "Dollars under each policy"
        } else {
            "What it cost"
        };
        html.line("h2", &[("id", "dollars")], title);
        let simulated = "the same conversation, request by request, under each policy; replies cost the same under all. \
                         Reading again: the cost of reading removed content again when it was needed later.";
        let words = match (report.is_live, report.is_priced, is_simulated) {
            (false, ..) => format!("Simulated: {simulated}"),
            (true, true, true) => {
                format!("The first row is the provider's bill. The others are simulated: {simulated}")
            }
            (true, true, false) => "What the provider billed, at its prices.".to_owned(),
            (true, false, _) => {
                "The price of the model is unknown, so policies cannot be compared by cost.".to_owned()
            }
        };
        html.line("p", &[], &words);
        legend(html, courses);
        costs(html, courses);
        rest(html, courses);
        if let Some((sessions, totals)) = &report.together {
            together(html, *sessions, totals);
        }
    });
}

fn legend(html: &mut Html, courses: &[Course]) {
    html.element("ul", &[("class", "legend")], |html| {
        let empty = bars::parts(Default::default(), 0.0);
        for (at, (name, class, _)) in empty.into_iter().enumerate() {
            let is_there = |course: &Course| {
                let sums = course.run.sums();
                bars::parts(sums.dollars, sums.refetch)[at].2 > 0.0
            };
            if courses.iter().any(is_there) {
                html.element("li", &[], |html| {
                    swatch_in(html, format_args!("class=\"{class}\""));
                    html.text(name);
                });
            }
        }
    });
}

fn costs(html: &mut Html, courses: &[Course]) {
    let most = courses
        .iter()
        .map(|course| course.run.sums().cost())
        .fold(0.0, f64::max);
    let share_of = |course: &Course, never: f64| match course.run.refused {
        Some(_) => Cell::none(-1.0),
        None => {
            let share = course.run.sums().cost() / never;
            Cell::Figure(format!("{share:.3}"), share)
        }
    };
    let is_simulated = courses.iter().any(|course| !course.is_billed);
    let never = courses
        .iter()
        .find(|course| course.is_never() && course.run.refused.is_none());
    let never = never.map(|never| never.run.sums().cost()).filter(|&never| never > 0.0);
    let mut columns = vec![words("Policy"), words("Dollars"), figures("All")];
    if never.is_some() {
        columns.push(figures("Of never"));
    }
    columns.extend([
        figures("Read"),
        figures("Written"),
        figures("Not cached"),
        figures("Output"),
    ]);
    if is_simulated {
        columns.push(figures("Reading again"));
    }
    let rows = courses.iter().map(|course| {
        let sums = course.run.sums();
        let (spent, refetch) = (sums.dollars, sums.refetch);
        let mut row = vec![
            Cell::Own(course.name.clone()),
            Cell::Drawn(Box::new(move |html| bars::bar(html, spent, refetch, most))),
            money(sums.cost()),
        ];
        if let Some(never) = never {
            row.push(simulated(course, share_of(course, never)));
        }
        row.extend([
            money(spent.cache_read),
            money(spent.write()),
            money(spent.fresh),
            money(spent.output),
        ]);
        if is_simulated {
            row.push(simulated(course, money(refetch)));
        }
        row
    });
    let caption = format!("US dollars; the longest bar is {}", dollars(most));
    table(html, "costs", &caption, &columns, rows.collect());
    for course in courses {
        if let Some(refused) = course.run.refused {
            let words = format!(
                "{} ended at request {}, which did not fit: the dollars are those up to then, and there is no share.",
                course.name,
                number(refused.step as u64 + 1),
            );
            html.line("p", &[("class", "small")], &words);
        }
    }
}

/// Returns a figure that only a simulation has.
fn simulated(course: &Course, figure: Cell) -> Cell {
    if course.is_billed { Cell::none(-1.0) } else { figure }
}

/// Writes the figures other than costs.
fn rest(html: &mut Html, courses: &[Course]) {
    let columns = [
        words("Policy"),
        figures("Cached"),
        figures("Missed: edit"),
        figures("Missed: expired"),
        figures("Missed: unknown"),
        figures("Edits"),
        figures("Largest"),
        figures("Mean"),
        figures("Refused"),
        figures("Still in context"),
    ];
    let plain = |value: u64| Cell::Figure(number(value), value as f64);
    let rows = courses.iter().map(|course| {
        let sums = course.run.sums();
        vec![
            Cell::Own(course.name.clone()),
            ratio(sums.hit_share()),
            plain(sums.planned),
            plain(sums.cold),
            plain(sums.unplanned),
            plain(sums.edits),
            tokens(sums.peak),
            tokens(sums.mean().round() as u64),
            plain(sums.overflows),
            simulated(course, ratio(sums.recall())),
        ]
    });
    table(
        html,
        "policies",
        "Cache reads and misses, requests, and content that was still in context when needed",
        &columns,
        rows.collect(),
    );
}

fn together(html: &mut Html, sessions: usize, totals: &[Total]) {
    html.line("h3", &[], &format!("{} sessions in total", number(sessions as u64)));
    let ends = totals
        .iter()
        .flat_map(|total| [total.ratio, total.interval.map(|it| it.1)]);
    let most = ends.flatten().fold(1.0, f64::max);
    let columns = [
        words("Policy"),
        words("Cost vs. never"),
        figures("Share"),
        figures("from"),
        figures("to"),
        figures("Dollars"),
        figures("p95 of sessions"),
        figures("Sessions"),
    ];
    let share = |value: Option<f64>| value.map_or(Cell::none(-1.0), |value| Cell::Figure(format!("{value:.3}"), value));
    let rows = totals.iter().take(MOST_COURSES).map(|total| {
        let (value, interval) = (total.ratio.unwrap_or(0.0), total.interval);
        vec![
            Cell::Own(total.policy.name().to_owned()),
            Cell::Drawn(Box::new(move |html| bars::with_interval(html, value, interval, most))),
            share(total.ratio),
            share(interval.map(|it| it.0)),
            share(interval.map(|it| it.1)),
            money(total.sums.cost()),
            share(total.worst),
            Cell::Figure(number(total.compared as u64), total.compared as f64),
        ]
    });
    let caption = "All sessions as a share of their cost under never, with a 95 % interval from resampled sessions";
    table(html, "together", caption, &columns, rows.collect());
    for total in totals.iter().filter(|total| total.refused > 0) {
        let words = format!(
            "{}: {} of {} sessions ended early, at a request that did not fit, and are left out.",
            total.policy.name(),
            number(total.refused as u64),
            number((total.refused + total.sessions) as u64),
        );
        html.line("p", &[("class", "small")], &words);
    }
}
