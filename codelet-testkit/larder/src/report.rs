//! The lists that are printed: what to eat first, what to buy.

use crate::date::Day;
use crate::item::Item;
use crate::shelf::Shelf;
use std::fmt::Write as _;

/// Columns of a name before it is cut.
const NAME_WIDTH: usize = 18;

/// The list for today: what is past its date, then what will be within `days`.
pub fn today(shelves: &[Shelf], today: Day, days: i64) -> String {
    let mut text = String::new();
    for shelf in shelves {
        let _ = writeln!(text, "{}", shelf.name());
        for (_, item) in shelf.expired(today) {
            line(&mut text, item, "past its date");
        }
        for (_, item) in shelf.soon(today, days) {
            let left = today.until(item.best_before);
            let note = match left {
                0 => "today".to_owned(),
                1 => "tomorrow".to_owned(),
                _ => format!("in {left} days"),
            };
            line(&mut text, item, &note);
        }
    }
    text
}

fn line(text: &mut String, item: &Item, note: &str) {
    let name = &item.name[..item.name.len().min(NAME_WIDTH)];
    let _ = writeln!(text, "  {name:NAME_WIDTH$} {:>10}  {note}", item.quantity.to_string());
}
