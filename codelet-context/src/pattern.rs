//! Patterns of paths, as shells and their like expand them: `src/*.py`, `src/**/*.rs`, `src/{a,b}.ts`.

/// Alternatives in braces that are written out.
const MOST: usize = 32;

/// Whether a path with these names is one of those that a pattern with these names means. `**` stands for any number of
/// folders. In time proportional to the product of both lengths.
pub(crate) fn means(pattern: &[&str], names: &[&str]) -> bool {
    // Whether the pattern so far means the path up to each place.
    let mut so_far = vec![false; names.len() + 1];
    so_far[0] = true;
    for part in pattern {
        let mut next = vec![false; names.len() + 1];
        for at in 0..=names.len() {
            next[at] = match *part {
                "**" => so_far[at] || at > 0 && next[at - 1],
                part => at > 0 && so_far[at - 1] && means_name(part, names[at - 1]),
            };
        }
        so_far = next;
    }
    so_far[names.len()]
}

/// The same of one name.
fn means_name(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Behind the last `*`, and what it may still stand for.
    let mut star = None;
    loop {
        let left = name.clone();
        match (pattern.next(), name.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                name = left;
                star = Some((pattern.clone(), name.clone()));
            }
            (Some('?'), Some(_)) => {}
            (Some(one), Some(other)) if one == other => {}
            _ => {
                let Some((behind, mut longer)) = star.take() else {
                    return false;
                };
                if longer.next().is_none() {
                    return false;
                }
                (pattern, name) = (behind.clone(), longer.clone());
                star = Some((behind, longer));
            }
        }
    }
}

/// Whether something in a word stands for other letters.
pub(crate) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?'])
}

/// The words that one with alternatives in braces stands for; the word itself where it has none.
pub(crate) fn alternatives(word: &str) -> Vec<String> {
    let mut open = vec![word.to_owned()];
    let mut found = Vec::new();
    while let Some(word) = open.pop() {
        match braces(&word).filter(|_| open.len() + found.len() < MOST) {
            Some((front, inner, rest)) => {
                let written = inner.split(',').map(|one| format!("{front}{one}{rest}"));
                open.extend(written.rev().take(MOST));
            }
            None => found.push(word),
        }
    }
    found
}

/// What stands before, in and behind the first braces in a word that have no others in them and hold alternatives.
pub(crate) fn braces(word: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(end) = word[from..].find('}').map(|at| from + at) {
        if let Some(start) = word[..end].rfind('{')
            && !word[..start].ends_with('$')
            && word[start..end].contains(',')
        {
            return Some((&word[..start], &word[start + 1..end], &word[end + 1..]));
        }
        from = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pattern_means_what_a_shell_makes_of_it() {
        let means = |pattern: &str, path: &str| {
            let (pattern, path): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
            super::means(&pattern, &path)
        };
        for (pattern, path) in [
            ("src/*.py", "src/a.py"),
            ("src/**/*.py", "src/a.py"),
            ("src/**/*.py", "src/b/c/a.py"),
            ("**", "a/b/c"),
            ("src/**", "src/a/b"),
            ("a?.rs", "ab.rs"),
            ("*a*b*c", "xaxxbbxc"),
            ("src/a.py", "src/a.py"),
            ("*", "é"),
        ] {
            assert!(means(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/*.py", "src/b/a.py"),
            ("src/*.py", "src/a.rs"),
            ("*.py", "src/a.py"),
            ("src/**", "lib/a"),
            ("a?.rs", "a.rs"),
            ("src/a.py", "src/b.py"),
        ] {
            assert!(!means(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn alternatives_in_braces_are_written_out() {
        assert_eq!(
            alternatives("src/{a,b}.{ts,js}"),
            ["src/a.ts", "src/a.js", "src/b.ts", "src/b.js"]
        );
        for word in ["a", "{a}", "${a,b}", "a}{b", ""] {
            assert_eq!(alternatives(word), [word]);
        }
        assert!(alternatives(&"{a,b}".repeat(100)).len() <= 2 * MOST);
    }

    proptest! {
        #[test]
        fn a_name_means_itself_and_no_pattern_is_too_odd(name in "[a-cé.]{0,12}", pattern in r"[ab*?{},é$]{0,20}") {
            prop_assert!(means_name(&name, &name) && means_name("*", &name));
            means_name(&pattern, &name);
            prop_assert!(!alternatives(&pattern).is_empty());
        }
    }
}
