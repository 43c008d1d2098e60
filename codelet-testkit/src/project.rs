//! An invented project that can be read, searched, edited and tested in memory.

use crate::prng::Prng;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Files by path. None of them comes from a real project.
#[derive(Clone, Debug, Default)]
pub struct Project {
    files: BTreeMap<String, String>,
}

const NOUNS: [&str; 32] = [
    "aisle", "barcode", "basket", "brand", "calorie", "carton", "coupon", "crate", "discount", "freezer", "grocer",
    "jar", "label", "larder", "ledger", "menu", "offer", "packet", "pantry", "portion", "price", "ration", "receipt",
    "season", "serving", "spice", "stock", "supplier", "tariff", "tin", "voucher", "weight",
];
const VERBS: [&str; 16] = [
    "collect", "compare", "convert", "count", "drain", "expand", "filter", "group", "load", "merge", "order", "pack",
    "render", "resolve", "split", "update",
];
const TYPES: [&str; 8] = [
    "u32", "u64", "usize", "i64", "String", "bool", "Option<u32>", "Vec<String>",
];
const WHY: [&str; 8] = [
    "the shop prints it in its own order",
    "an empty one would divide by zero",
    "two suppliers may use the same number",
    "the scale rounds to five grams",
    "a receipt may list it twice",
    "the caller has already sorted them",
    "older files lack this field",
    "a person may have edited the line",
];

impl Project {
    /// A project of this many generated modules of about `bytes` each.
    pub fn generate(modules: usize, bytes: usize, prng: &mut Prng) -> Self {
        let mut project = Project::default();
        for number in 0..modules.max(1) {
            let (noun, verb) = (NOUNS[number % NOUNS.len()], prng.pick(&VERBS));
            let name = match number / NOUNS.len() {
                0 => noun.to_owned(),
                more => format!("{noun}_{verb}_{more}"),
            };
            // Real files vary in size: from a third to more than twice the average.
            let size = bytes / 3 + prng.below(bytes * 2 + 1);
            project.put(&format!("src/{name}.rs"), source(&name, size, prng));
        }
        project
    }

    /// Adds or replaces a file.
    pub fn put(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    /// The paths, sorted.
    pub fn paths(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// The text of a file; empty if it does not exist.
    pub fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    /// Lines `from` to `to` (counted from 1, inclusive) in the format of a read tool.
    pub fn numbered(&self, path: &str, from: usize, to: usize) -> String {
        let mut shown = String::new();
        let lines = self.text(path).lines().enumerate();
        for (index, line) in lines.skip(from.saturating_sub(1)).take((to + 1).saturating_sub(from)) {
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{:>6}\t{line}", index + 1);
        }
        shown
    }

    /// The number of lines of a file.
    pub fn line_count(&self, path: &str) -> usize {
        self.text(path).lines().count()
    }

    /// The lines that contain a word, as `path:line:text`.
    pub fn grep(&self, word: &str) -> String {
        let mut found = String::new();
        for (path, text) in &self.files {
            for (index, line) in text.lines().enumerate().filter(|(_, line)| line.contains(word)) {
                let _ = writeln!(found, "{path}:{}:{line}", index + 1);
            }
        }
        found
    }

    /// Replaces the first occurrence of a text; returns whether there was one.
    pub fn edit(&mut self, path: &str, old: &str, new: &str) -> bool {
        match self.files.get_mut(path) {
            Some(text) if text.contains(old) => {
                *text = text.replacen(old, new, 1);
                true
            }
            _ => false,
        }
    }

    /// The names of all tests, as a test run prints them.
    pub fn tests(&self) -> Vec<String> {
        let mut tests = Vec::new();
        for (path, text) in &self.files {
            let module = path
                .trim_start_matches("src/")
                .trim_start_matches("tests/")
                .trim_end_matches(".rs");
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                if let Some(name) = line.strip_prefix("fn ").filter(|_| is_test) {
                    let name = name.split('(').next().unwrap_or(name);
                    let inner = if path.starts_with("src/") { "tests::" } else { "" };
                    tests.push(format!("{module}::{inner}{name}"));
                }
                is_test = line == "#[test]";
            }
        }
        tests
    }
}

/// A generated module of about this many bytes: a struct, functions on it, tests.
fn source(name: &str, bytes: usize, prng: &mut Prng) -> String {
    let kind = camel(name);
    let mut text = format!("//! The {name}: what is known of it, and how it is kept in order.\n\n");
    text.push_str("use std::collections::BTreeMap;\n\n");
    let fields: Vec<(&str, &str)> = (0..3 + prng.below(4))
        .map(|_| (prng.pick(&NOUNS), prng.pick(&TYPES)))
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "/// One {name}.\n#[derive(Clone, Debug, Default)]\npub struct {kind} {{"
    );
    for (number, (field, of)) in fields.iter().enumerate() {
        let _ = writeln!(
            text,
            "    /// Set because {}.\n    pub {field}_{number}: {of},",
            prng.pick(&WHY)
        );
    }
    let _ = writeln!(text, "    rows: BTreeMap<String, u32>,\n}}\n\nimpl {kind} {{");
    let mut functions = Vec::new();
    while text.len() < bytes * 4 / 5 {
        let function = format!("{}_{}_{}", prng.pick(&VERBS), prng.pick(&NOUNS), functions.len());
        text.push_str(&body(&function, prng));
        functions.push(function);
    }
    text.push_str("}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n");
    for function in functions.iter().take(6) {
        let _ = writeln!(
            text,
            "\n    #[test]\n    fn {function}_of_nothing_is_nothing() {{\n        let {name} = {kind}::default();\n        assert_eq!({name}.{function}({}), 0);\n    }}",
            prng.below(50)
        );
    }
    text.push_str("}\n");
    text
}

fn body(function: &str, prng: &mut Prng) -> String {
    let (noun, verb, number) = (prng.pick(&NOUNS), prng.pick(&VERBS), 2 + prng.below(90));
    let mut text = format!(
        "    /// How much {noun} there is to {verb}, because {}.\n",
        prng.pick(&WHY)
    );
    // Writing to a string cannot fail.
    let _ = match prng.below(4) {
        0 => writeln!(
            text,
            "    pub fn {function}(&self, limit: u32) -> u32 {{\n        let mut {noun} = 0;\n        for (key, row) in &self.rows {{\n            if key.starts_with(\"{noun}\") && *row > limit {{\n                {noun} += row % {number};\n            }}\n        }}\n        {noun}\n    }}\n"
        ),
        1 => writeln!(
            text,
            "    pub fn {function}(&self, limit: u32) -> u32 {{\n        self.rows\n            .values()\n            .filter(|row| **row >= limit.min({number}))\n            .map(|row| row.saturating_sub(limit))\n            .sum()\n    }}\n"
        ),
        2 => writeln!(
            text,
            "    pub fn {function}(&self, day: u32) -> u32 {{\n        // {}.\n        let Some({noun}) = self.rows.get(\"{verb}:{number}\") else {{\n            return 0;\n        }};\n        {noun}.wrapping_mul(day).min({number}{number})\n    }}\n",
            sentence(prng.pick(&WHY))
        ),
        _ => writeln!(
            text,
            "    pub fn {function}(&self, width: u32) -> u32 {{\n        match self.rows.len() {{\n            0 => 0,\n            n if n < {number} => width,\n            _ => width / {number} + 1,\n        }}\n    }}\n"
        ),
    };
    text
}

fn camel(name: &str) -> String {
    name.split('_').map(sentence).collect()
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
