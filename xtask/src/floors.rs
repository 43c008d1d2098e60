//! Layers within a crate ("floors"): each directory imports only those below it.

use std::collections::BTreeSet;
use std::path::Path;

/// A crate whose directories are layers, the lowest first.
struct Floors {
    krate: &'static str,
    names: &'static [&'static str],
}

const FLOORS: &[Floors] = &[
    Floors {
        krate: "codelet-context",
        names: &[
            "text", "message", "evidence", "strategy", "ranking", "history", "budget", "summary", "compact", "session",
        ],
    },
    Floors {
        krate: "codelet-agent",
        names: &[
            "interrupt", "model", "permission", "run", "environment", "tool", "session", "turn", "task", "prompts",
        ],
    },
];

/// Checks all crates with layers; each error is one line.
pub fn check(root: &Path) -> Result<String, Vec<String>> {
    let mut troubles = Vec::new();
    let mut told = Vec::new();
    for floors in FLOORS {
        let source = root.join(floors.krate).join("src");
        let mut lines = vec![0; floors.names.len()];
        for file in files(&source) {
            let path = file.strip_prefix(&source).unwrap_or(&file);
            let first = path
                .components()
                .next()
                .map(|name| name.as_os_str().to_string_lossy().into_owned());
            let name = first.unwrap_or_default();
            let name = name.strip_suffix(".rs").unwrap_or(&name).to_owned();
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let shipped = shipped(path, &text);
            if name == "lib" {
                continue;
            }
            let Some(floor) = floors.names.iter().position(|known| *known == name) else {
                troubles.push(format!("{}: {} is on no floor", floors.krate, path.display()));
                continue;
            };
            lines[floor] += shipped.lines().count();
            for used in used(shipped) {
                match floors.names.iter().position(|known| *known == used) {
                    Some(other) if other > floor => {
                        troubles.push(format!(
                            "{}: {} imports {used}, which is above {name}",
                            floors.krate,
                            path.display()
                        ));
                    }
                    Some(_) => {}
                    None if shipped.contains(&format!("crate::{used}::")) => {
                        troubles.push(format!(
                            "{}: {} imports {used} by another way than its floor",
                            floors.krate,
                            path.display()
                        ));
                    }
                    None => {}
                }
            }
        }
        let floors_told = floors.names.iter().zip(&lines).rev();
        told.extend(floors_told.map(|(name, lines)| format!("{:>12} {lines:>6} lines", name)));
        told.push(format!(
            "{:>12} {:>6} lines of {}",
            "all",
            lines.iter().sum::<usize>(),
            floors.krate
        ));
    }
    match troubles.is_empty() {
        true => Ok(told.join("\n")),
        false => Err(troubles),
    }
}

/// The beginning of a file's tests.
const TESTS: [&str; 2] = ["\n#[cfg(test)]\n", "\n#[cfg(all(test, "];

/// The shipped part of a file: everything before its tests, and nothing of a test file.
pub fn shipped<'a>(path: &Path, text: &'a str) -> &'a str {
    let is_tests = path
        .components()
        .any(|name| matches!(name.as_os_str().to_str(), Some("tests.rs" | "tests")));
    match is_tests {
        true => "",
        false => {
            // Other attributes may come between the two.
            let is_tests = |at: &usize| {
                let mut rest = text[at + 1..].lines().skip_while(|line| line.starts_with("#["));
                // Tests whose helpers other tests use are `pub(crate)`.
                rest.next().is_some_and(|line| line.ends_with("mod tests {"))
            };
            let all = TESTS.iter().flat_map(|tests| text.match_indices(tests));
            let at = all.map(|(at, _)| at).filter(is_tests).min();
            &text[..at.unwrap_or(text.len())]
        }
    }
}

/// The first names after `crate::` in code; links in comments are no imports.
fn used(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or(line);
        for rest in line.split("crate::").skip(1) {
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                .collect();
            if !name.is_empty() {
                found.insert(name);
            }
        }
    }
    found
}

/// The Rust files of a directory and its subdirectories, sorted by path.
pub fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_the_names_behind_crate_in_code() {
        let code = "use crate::message::{Message};\n// crate::session\nlet a = crate::text::hash::bytes(b\"\");";
        let names: Vec<String> = used(code).into_iter().collect();
        assert_eq!(names, ["message", "text"]);
    }

    #[test]
    fn tests_are_not_shipped() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use crate::session;\n}\n";
        assert_eq!(shipped(Path::new("a.rs"), text), "fn a() {}\n");
        let allowed = "fn a() {}\n\n#[cfg(test)]\n#[allow(clippy::unwrap_used)]\nmod tests {\n}\n";
        assert_eq!(shipped(Path::new("a.rs"), allowed), "fn a() {}\n");
        let shared = "fn a() {}\n\n#[cfg(test)]\npub(crate) mod tests {\n}\n";
        assert_eq!(shipped(Path::new("a.rs"), shared), "fn a() {}\n");
        let only = "#[cfg(test)]\nmod tests;\nfn a() {}\n";
        assert_eq!(shipped(Path::new("a.rs"), only), only);
        assert_eq!(shipped(Path::new("a/tests.rs"), "x"), "");
    }
}
