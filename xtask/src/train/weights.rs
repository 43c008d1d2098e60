//! The file format of the weights.

use super::engine::{FEATURES, Weights};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# How much each feature of a sentence or line says for quoting it in a summary; those that are not named say nothing.
# Made by `cargo xtask train` from recorded conversations, never edited by hand; see docs/training.md.
";

/// The weights of all features.
pub type Values = [f64; FEATURES.len()];

/// Rounds to three digits, which exceeds their precision.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The weights as the engine reads them from the file.
pub fn of(values: &Values) -> Weights {
    Weights::from_values(values.map(|value| rounded(value) as f32))
}

/// The file's content: a line for each weight, by name.
pub fn text(values: &Values) -> String {
    let mut lines: Vec<(&str, f64)> = FEATURES.into_iter().zip(values.map(rounded)).collect();
    lines.retain(|(_, value)| *value != 0.0);
    lines.sort_by_key(|(name, _)| *name);
    let mut text = HEAD.to_owned();
    for (name, value) in lines {
        let _ = writeln!(text, "{name} {value}");
    }
    text
}

/// Writes the file.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Vec<String>> {
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| vec![format!("{}: {error}", path.display())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_line_for_each_weight_that_is_not_zero() {
        let mut values = [0.0; FEATURES.len()];
        (values[0], values[1], values[2]) = (-1.75149, -0.0004, 0.5);
        let text = text(&values);
        let mut lines: Vec<String> = [(FEATURES[0], "-1.751"), (FEATURES[2], "0.5")]
            .map(|(name, value)| format!("{name} {value}"))
            .to_vec();
        lines.sort();
        assert_eq!(
            text.strip_prefix(HEAD).map(|rest| rest.lines().collect::<Vec<_>>()),
            Some(lines.iter().map(String::as_str).collect())
        );
    }
}
