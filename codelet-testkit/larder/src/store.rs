//! Shelves as a text file, one item a line, so that a person can mend it with an editor.

use crate::item::{Item, Quantity};
use crate::shelf::Shelf;
use std::fmt::Write as _;
use std::path::Path;

/// What stands between the fields of a line.
const SEPARATOR: char = ';';

/// Why a file could not be read.
#[derive(Debug)]
pub enum StoreError {
    /// The file system's own words.
    Io(std::io::Error),
    /// A line that is no item, counted from 1.
    Line { number: usize, text: String },
}

/// Reads a shelf from a file.
pub fn load(path: &Path, name: &str) -> Result<Shelf, StoreError> {
    let text = std::fs::read_to_string(path).map_err(StoreError::Io)?;
    parse(&text, name)
}

/// Writes a shelf to a file.
pub fn save(path: &Path, shelf: &Shelf) -> Result<(), StoreError> {
    std::fs::write(path, render(shelf)).map_err(StoreError::Io)
}

/// Reads a shelf from text.
pub fn parse(text: &str, name: &str) -> Result<Shelf, StoreError> {
    let mut shelf = Shelf::new(name);
    for (index, line) in text.lines().enumerate() {
        let error = || StoreError::Line { number: index + 1, text: line.to_owned() };
        let mut fields = line.split(SEPARATOR);
        let (Some(name), Some(amount), Some(unit), Some(date)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(error());
        };
        let amount = amount.parse().map_err(|_| error())?;
        let quantity = match unit {
            "g" => Quantity::Grams(amount),
            "ml" => Quantity::Millilitres(amount),
            "pc" => Quantity::Pieces(amount),
            _ => return Err(error()),
        };
        shelf.put(Item::new(name, quantity, date.parse().map_err(|_| error())?));
    }
    Ok(shelf)
}

/// Writes a shelf as text.
pub fn render(shelf: &Shelf) -> String {
    let mut text = String::new();
    for (_, item) in shelf.iter() {
        let unit = match item.quantity {
            Quantity::Grams(_) => "g",
            Quantity::Millilitres(_) => "ml",
            Quantity::Pieces(_) => "pc",
        };
        let _ = writeln!(
            text,
            "{}{SEPARATOR}{}{SEPARATOR}{unit}{SEPARATOR}{}",
            item.name,
            item.quantity.amount(),
            item.best_before
        );
    }
    text
}
