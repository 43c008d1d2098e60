//! Tables: with a caption and headings for screen readers, in a scrollable box.

use super::html::Html;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// True if it holds figures.
    pub is_figure: bool,
}

/// Returns a column of text.
pub const fn words(name: &'static str) -> Column {
    Column { name, is_figure: false }
}

/// Returns a column of figures.
pub const fn figures(name: &'static str) -> Column {
    Column { name, is_figure: true }
}

/// The content of a cell.
pub enum Cell {
    /// A trusted text.
    Own(String),
    /// A text from a recording.
    Foreign(String),
    /// A formatted figure, and the value by which rows are sorted.
    Figure(String, f64),
    /// A drawing.
    Drawn(Box<dyn FnOnce(&mut Html)>),
}

impl Cell {
    /// A figure that does not exist, sorted as this value.
    pub fn none(value: f64) -> Cell {
        Cell::Figure("–".to_owned(), value)
    }
}

/// Writes a table. The first cell of each row is the row's heading.
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
