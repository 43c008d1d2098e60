//! What a single value says of itself: the path of a file, prose, two versions of one text, what a file holds.

use codelet_context::message::values_within;
use codelet_context::word_list::is_in;
use serde_json::Value;

/// Endings of names of files.
const ENDINGS: &str = "rs py pyi js mjs cjs jsx ts mts cts tsx go java kt kts c h cc cpp cxx hpp hh cs fs rb erb php swift m mm scala \
    clj cljs ex exs erl hs ml mli lua pl pm r jl dart zig nim v sol sh bash zsh fish ps1 bat cmd sql html htm css scss sass less vue \
    svelte astro json jsonc json5 jsonl yaml yml toml ini cfg conf env lock xml md mdx rst txt adoc tex csv tsv log proto graphql gql tf \
    hcl gradle cmake mk ipynb svg diff patch snap in tmpl j2 hbs ejs properties plist csproj sln gemspec lean s asm el vim nix bzl";
/// Endings of names of files that hold prose.
const PROSE: &str = "md mdx rst txt adoc tex html htm csv log";
/// Names of files that have no ending.
const NAMES: &str = "Makefile Dockerfile Gemfile Rakefile Procfile Justfile CMakeLists.txt LICENSE README CHANGELOG BUILD .gitignore \
    .dockerignore .env .editorconfig";

/// Whether a text can be nothing but the path of a file.
pub(super) fn is_path(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "*?<>|\"'`{}()$,;#=@&%".contains(c);
    !text.is_empty()
        && text.len() <= 300
        && !text.contains("://")
        && !text.starts_with('-')
        && !text.contains(is_odd)
        && has_file_name(text)
}

/// Whether a word ends with the name of a file.
pub(super) fn has_file_name(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = || {
        let (stem, ending) = name.rsplit_once('.')?;
        (!stem.is_empty() || word.len() > name.len()).then(|| ending.to_ascii_lowercase())
    };
    is_in(name, NAMES) || ending().is_some_and(|ending| is_in(&ending, ENDINGS))
}

/// Whether a file of this path may well hold sentences.
pub(super) fn holds_prose(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    is_in(&ending, PROSE) || !path.contains('.')
}

/// Whether a text is made of sentences, and not of code or data.
pub(super) fn is_prose(text: &str) -> bool {
    let signs = text.chars().filter(|c| "{}()[]=<>;_/\\\t\"$&|".contains(*c)).count();
    let indented = text
        .lines()
        .filter(|line| line.starts_with("  ") || line.starts_with('\t'))
        .count();
    let blanks = text.matches(' ').count();
    blanks >= 3 && indented == 0 && signs * 40 <= text.len()
}

/// Whether two texts are versions of one: they begin and end alike, or share most of their words.
pub(super) fn are_versions(one: &str, other: &str) -> bool {
    if one == other || one.trim().is_empty() || other.trim().is_empty() {
        return false;
    }
    let (a, b) = (one.as_bytes(), other.as_bytes());
    let shorter = a.len().min(b.len());
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let alike = (before + behind).min(shorter);
    if shorter >= 8 && alike * 5 >= shorter * 2 {
        return true;
    }
    let words = |text: &'_ str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words
            .filter(|word| word.len() > 1)
            .take(80)
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (words(one), words(other));
    let few = a.len().min(b.len());
    let shared = a.iter().filter(|word| b.contains(word)).count();
    few >= 3 && shared * 5 >= few * 3
}

/// The line of a text that is least likely to stand anywhere by chance.
pub(super) fn longest_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .max_by_key(|line| line.len())
        .unwrap_or_default()
}

/// Whether a text holds a line, as it stands or as JSON has it.
pub(super) fn holds(text: &str, line: &str) -> bool {
    if line.len() < 4 {
        return false;
    }
    let quoted = || {
        let quoted = Value::from(line).to_string();
        text.contains(&quoted[1..quoted.len() - 1])
    };
    text.contains(line) || line.contains(['"', '\\', '\t']) && quoted()
}

/// How an answer reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// In a few words: done, or not.
    Word,
    /// Lines, each with the place where it stands.
    Places,
    /// A list of files.
    Files,
    /// Lines of anything.
    Lines,
}

/// How an answer reads, that may be an object with the lines in it.
pub(super) fn shown(text: &str) -> Shown {
    /// Lines that are looked at.
    const MOST: usize = 60;
    let object: Option<Value> = (text.trim_start().starts_with('{') && text.len() < 200_000)
        .then(|| serde_json::from_str(text).ok())
        .flatten();
    let mut lines: Vec<&str> = Vec::new();
    match object.as_ref().and_then(Value::as_object) {
        Some(object) => {
            for value in values_within(object) {
                match value {
                    Value::String(text) if text.contains('\n') => lines.extend(text.lines()),
                    Value::Array(items) => lines.extend(items.iter().filter_map(Value::as_str)),
                    _ => {}
                }
            }
        }
        None => lines.extend(text.lines().take(MOST * 2)),
    }
    lines.retain(|line| !line.trim().is_empty());
    lines.truncate(MOST);
    let most = |is: &dyn Fn(&str) -> bool| lines.iter().filter(|line| is(line)).count() * 5 >= lines.len() * 3;
    let is_few = || lines.len() < 4 && lines.iter().map(|line| line.len()).sum::<usize>() < 160;
    match lines.len() {
        0 | 1 => Shown::Word,
        _ if most(&is_place) => Shown::Places,
        _ if most(&|line: &str| is_path(line.trim().trim_end_matches('/'))) => Shown::Files,
        _ if is_few() && !most(&is_numbered) => Shown::Word,
        _ => Shown::Lines,
    }
}

/// `src/a.rs:12: text`
fn is_place(line: &str) -> bool {
    let mut pieces = line.splitn(3, ':');
    let (path, number) = (pieces.next().unwrap_or_default(), pieces.next().unwrap_or_default());
    is_path(path.trim()) && !number.is_empty() && number.trim().bytes().all(|b| b.is_ascii_digit())
}

/// `12| text`
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.starts_with([':', '|', '\t', ' ', '→'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_words() {
        for text in [
            "src/a.rs",
            "/srv/x/Makefile",
            "a.py",
            "C:\\x\\a.cs",
            "./.env",
            "docs/README.md",
            "a/b/test.spec.ts",
        ] {
            assert!(is_path(text), "{text}");
        }
        for text in [
            "",
            "svc",
            "1.2.3",
            "Foo.bar",
            "example.com",
            "https://x.org/a.html",
            "a b.rs",
            "*.rs",
            "text/html",
            "me@x.rs",
            "owner/repo",
            "utf-8",
            "-a.rs",
            "src/",
            "os.path",
            "a.rs\nb.rs",
        ] {
            assert!(!is_path(text), "{text}");
        }
    }

    #[test]
    fn versions_of_a_text_are_told_from_two_texts() {
        assert!(are_versions("def quantize(x):", "def quantize(x, mode=None):"));
        assert!(are_versions(
            "    return total.quantize(CENT)",
            "    return total.quantize(ONE)"
        ));
        assert!(!are_versions("hello there", "good evening"));
        assert!(!are_versions("same text", "same text"));
        assert!(!are_versions("en", "de"));
    }

    #[test]
    fn prose_is_told_from_code() {
        assert!(is_prose("Explain what this function does and why it is slow."));
        assert!(!is_prose("def f(x):\n    return x\n"));
        assert!(!is_prose("a = [1, 2, 3]"));
    }

    #[test]
    fn answers_read_as_what_they_are() {
        assert_eq!(shown("ok"), Shown::Word);
        assert_eq!(shown("{\"ok\":true,\"written\":12}"), Shown::Word);
        assert_eq!(
            shown("a.rs:1: x\nb.rs:2: y\nsrc/c.rs:33: z w\nsrc/d.rs:4: q"),
            Shown::Places
        );
        assert_eq!(shown("a.rs\nb.rs\nsrc/c.rs\nsrc/d.rs"), Shown::Files);
        assert_eq!(shown("fn main() {\n    run();\n}\n\nfn run() {}"), Shown::Lines);
        assert_eq!(
            shown("{\"target\":\"a.py\",\"lines\":[\"import os\",\"\",\"x = 1\",\"y = 2\",\"z = 3\"]}"),
            Shown::Lines
        );
    }
}
