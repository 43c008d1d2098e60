//! Statistics of the workspace: shipped lines by crate and by layer, and types that share a name.

use crate::floors::{files, shipped};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Crates that are not shipped.
const AROUND: [&str; 2] = ["codelet-testkit", "xtask"];

/// Returns the figures, one per line.
pub fn tell(root: &Path) -> Result<String, Vec<String>> {
    let mut told = String::new();
    let mut all = 0;
    for krate in crates(root) {
        let source = root.join(&krate).join("src");
        let mut lines = 0;
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for file in files(&source) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let path = file.strip_prefix(&source).unwrap_or(&file);
            let code = shipped(path, &text);
            lines += code.lines().count();
            for name in code.lines().filter_map(type_name) {
                *names.entry(name.to_owned()).or_default() += 1;
            }
        }
        let types: usize = names.values().sum();
        let mut shared: Vec<(usize, &str)> = names.iter().map(|(name, count)| (*count, name.as_str())).collect();
        shared.retain(|(count, _)| *count > 1);
        shared.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
        let most: Vec<String> = shared
            .iter()
            .take(5)
            .map(|(count, name)| format!("{name} ×{count}"))
            .collect();
        let _ = writeln!(
            told,
            "{krate:<20} {lines:>6} lines {types:>4} types on {:>4} names  {}",
            names.len(),
            most.join(", ")
        );
        if !AROUND.contains(&krate.as_str()) {
            all += lines;
        }
    }
    let _ = writeln!(told, "{:<20} {all:>6} lines", "shipped");
    told.push_str(&crate::floors::check(root)?);
    Ok(told)
}

fn crates(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter(|entry| entry.path().join("Cargo.toml").is_file() && entry.path().join("src").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

/// The name of the type that a line declares.
fn type_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line
        .strip_prefix("pub(crate) ")
        .or_else(|| line.strip_prefix("pub(super) "))
        .unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let rest = ["struct ", "enum ", "trait ", "type "]
        .iter()
        .find_map(|word| line.strip_prefix(word))?;
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    (end > 0).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_by_its_declaration() {
        assert_eq!(type_name("pub(crate) struct Block {"), Some("Block"));
        assert_eq!(type_name("    enum Lead<'a> {"), Some("Lead"));
        assert_eq!(type_name("let structure = 1;"), None);
    }
}
