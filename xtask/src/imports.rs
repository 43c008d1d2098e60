//! What the files of a crate import from each other, as far as their `use` lines and paths say.
//!
//! A file that names something of the files above it (`super::…`) is no import: a folder's own file and those in it
//! belong together. Nor is a `pub use`, which only hands names on.

use crate::floors::{files, shipped};
use std::collections::BTreeMap;
use std::path::Path;

/// The files of a crate by module, as in `chat/commands`, each with the modules that it imports.
pub fn of(source: &Path) -> BTreeMap<String, Vec<String>> {
    let texts = files(source).into_iter().filter_map(|file| {
        let path = file.strip_prefix(source).ok()?;
        let text = std::fs::read_to_string(&file).ok()?;
        let module = path.with_extension("").to_string_lossy().into_owned();
        let module = module.strip_suffix("/mod").unwrap_or(&module);
        let is_root = matches!(module, "lib" | "main");
        Some((
            if is_root { String::new() } else { module.to_owned() },
            shipped(path, &text).to_owned(),
        ))
    });
    among(&texts.collect())
}

/// The imports of these modules, by their code.
fn among(texts: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let imports = texts.iter().map(|(module, code)| {
        let is_above = |used: &String| used == module || used.is_empty() || module.starts_with(&format!("{used}/"));
        let used = paths(code).into_iter().filter_map(|path| led(texts, module, &path));
        let mut used: Vec<String> = used.filter(|used| !is_above(used)).collect();
        used.sort();
        used.dedup();
        (module.clone(), used)
    });
    imports.collect()
}

/// The module to which a path leads; `None` if it leads out of the crate.
fn led(texts: &BTreeMap<String, String>, module: &str, path: &str) -> Option<String> {
    let names: Vec<&str> = path.split("::").map(str::trim).collect();
    let mut at: Vec<&str> = module.split('/').filter(|name| !name.is_empty()).collect();
    let is_child = |at: &[&str]| texts.contains_key(&at.join("/"));
    match names[0] {
        "crate" => at.clear(),
        "self" | "super" => {}
        name if is_child(&[at.as_slice(), &[name]].concat()) => {}
        _ => return None,
    }
    for name in names {
        match name {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            name => {
                at.push(name);
                if !is_child(&at) {
                    at.pop();
                    break;
                }
            }
        }
    }
    Some(at.join("/"))
}

/// The paths in code, those of a `use` with all names in its braces.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = code.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    while let Some(line) = lines.next() {
        let is_handed_on = line.starts_with("pub") && line.contains(" use ");
        if is_handed_on || line.starts_with("use ") {
            let mut whole = line.to_owned();
            while !whole.ends_with(';')
                && let Some(next) = lines.next()
            {
                whole.push_str(next);
            }
            if let Some(tree) = whole.trim_end_matches(';').strip_prefix("use ") {
                expand("", tree, &mut found);
            }
            continue;
        }
        let words = line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')));
        found.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    }
    found
}

fn expand(before: &str, tree: &str, found: &mut Vec<String>) {
    let Some((head, inner)) = tree.split_once('{') else {
        return found.push(format!("{before}{tree}"));
    };
    let before = format!("{before}{}", head.trim());
    let mut depth = 0;
    let parts = inner.split(|c: char| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        c == ',' && depth == 0 || depth < 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .for_each(|part| expand(&before, part, found));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_nested_lists_and_paths_and_not_among_those_above() {
        let code = "//! crate::no\npub use crate::no::Handed;\nuse crate::{a, b::{deep::X, Y as Z}};\nuse super::{\n    super::e,\n    c::f,\n};\nuse kid::K;\n\
            fn g() { crate::d::h(Self::new(std::fs::read)) } // crate::no\n";
        let others = ["", "a", "b", "b/deep", "d", "e", "no", "of", "of/c", "of/own/kid"];
        let mut texts: BTreeMap<String, String> = others.map(|name| (name.to_owned(), String::new())).into();
        texts.insert("of/own".to_owned(), code.to_owned());
        assert_eq!(
            among(&texts)["of/own"],
            ["a", "b", "b/deep", "d", "e", "of/c", "of/own/kid"]
        );
    }
}
