//! Tables: with a caption and headings that machines can read aloud, in a box of their own that scrolls.

use super::html::Html;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// It holds figures.
    pub is_figure: bool,
}

/// A column of words.
pub const fn words(name: &'static str) -> Column {
    Column { name, is_figure: false }
}

/// A column of figures.
pub const fn figures(name: &'static str) -> Column {
    Column { name, is_figure: true }
}

/// What stands in a cell.
pub enum Cell {
    /// A text of ours.
    Own(String),
    /// A text out of a recording.
    Foreign(String),
    /// A figure in words, and the figure by which rows are sorted.
    Figure(String, f64),
    /// A drawing.
    Drawn(Box<dyn FnOnce(&mut Html)>),
}

/// A table. The first cell of each row is the row's heading.
pub fn table(html: &mut Html, id: &str, caption: &str, columns: &[Column], rows: Vec<Vec<Cell>>) {
    let name = format!("{id}-caption");
    let region = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "region"),
        ("aria-labelledby", name.as_str()),
    ];
    html.element("div", &region, |html| {
        html.element("table", &[("id", id)], |html| {
            html.line("caption", &[("id", &name)], caption);
            html.element("thead", &[], |html| {
                html.element("tr", &[], |html| {
                    for column in columns {
                        let class = if column.is_figure { "figure" } else { "words" };
                        html.line("th", &[("scope", "col"), ("class", class)], column.name);
                    }
                });
            });
            html.element("tbody", &[], |html| {
                for row in rows {
                    html.element("tr", &[], |html| {
                        for (at, cell) in row.into_iter().enumerate() {
                            put(html, at == 0, cell);
                        }
                    });
                }
            });
        });
    });
}

fn put(html: &mut Html, is_head: bool, cell: Cell) {
    let tag = if is_head { "th" } else { "td" };
    let scope: &[(&str, &str)] = if is_head { &[("scope", "row")] } else { &[] };
    match cell {
        Cell::Own(text) => html.line(tag, scope, &text),
        Cell::Foreign(text) => html.element(tag, &[scope, &[("class", "foreign")]].concat(), |html| {
            html.foreign(&text)
        }),
        Cell::Figure(text, value) => {
            let value = format!("{value}");
            html.line(
                tag,
                &[scope, &[("class", "figure"), ("data-value", &value)]].concat(),
                &text,
            );
        }
        Cell::Drawn(draw) => html.element(tag, &[scope, &[("class", "drawn")]].concat(), draw),
    }
}
