//! Settings files of git that are plain enough to be read without starting git, as most are.

/// Parses a settings file into the names and values that `git config --list` prints, in order, leaving out those that are
/// not wanted. `None` unless each line is empty, a comment, a section or one setting, the values that are wanted without
/// escapes or comments (but perhaps in quotes), and none goes on in the next line.
pub(crate) fn plain(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<Vec<(String, String)>> {
    let mut section = None::<String>;
    let mut found = Vec::new();
    for line in text.split('\n') {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = Some(named(header.strip_suffix(']')?)?);
            continue;
        }
        let (key, value) = line.split_once('=')?;
        let (key, value) = (key.trim_end_matches([' ', '\t']), value.trim_start_matches([' ', '\t']));
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) || !is_word(key) || value.contains(['\r', '\0']) {
            return None;
        }
        let name = format!("{}.{}", section.as_ref()?, key.to_ascii_lowercase());
        if is_wanted(&name) {
            found.push((name, unquoted(value)?.to_owned()));
        } else if value.ends_with('\\') {
            return None;
        }
    }
    Some(found)
}

/// A section as it stands in names: `core`, or `branch.main` for `branch "main"`.
fn named(header: &str) -> Option<String> {
    let Some((section, quoted)) = header.split_once(' ') else {
        return (is_word(header) && !header.is_empty()).then(|| header.to_ascii_lowercase());
    };
    let below = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let is_named = is_word(section) && !section.is_empty() && unquoted(quoted) == Some(below);
    is_named.then(|| format!("{}.{below}", section.to_ascii_lowercase()))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A value that is plain, or in quotes as a whole, as git writes one that has spaces at its ends or signs of comments.
fn unquoted(value: &str) -> Option<&str> {
    let has_none = |text: &str, signs: &[char]| !text.contains(|c: char| c.is_control() || signs.contains(&c));
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(quoted) => has_none(quoted, &['"', '\\']).then_some(quoted),
        None => has_none(value, &['"', '\\', '#', ';']).then_some(value),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// What git says of this file; `None` if it refuses it.
    fn of_git(text: &str) -> Option<Vec<(String, String)>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        let mut git = Command::new("git");
        git.args(["config", "--no-includes", "-z", "--list", "--file"])
            .arg(&file);
        let done = git.current_dir(folder.path()).output().unwrap();
        let told = String::from_utf8(done.stdout).unwrap();
        // A setting without a value is on, which is none of the wanted values.
        let entries = told.split_terminator('\0').filter_map(|entry| entry.split_once('\n'));
        let entries = entries.map(|(name, value)| (name.to_owned(), value.to_owned()));
        done.status.success().then(|| entries.collect())
    }

    #[test]
    fn files_as_git_writes_them_are_plain() {
        let written = "[core]\n\trepositoryformatversion = 0\n\tfileMode = true\n\
            [remote \"origin\"]\n\turl = git@host:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"Feature/1\"]\n\tmerge = refs/heads/Feature/1\n[core]\n\tworktree = \" odd ; #name \"\n# by hand\n[user]\n\tname = Ada L. Käfer\n";
        let found = plain(written, |_| true);
        assert!(found.is_some());
        assert_eq!(found, of_git(written));
        let own = "[alias]\n\tst = \"!f() { git status; }; f\" # short\n[core]\n\teol = lf\n";
        let eol = plain(own, |name| name == "core.eol");
        assert_eq!(eol, Some(vec![("core.eol".to_owned(), "lf".to_owned())]));
        for beyond in [
            "[core]\n\tbare\n", "[core]\n\ta = \"b\" c\n", "[core]\n\ta = \"\\tb\"\n", "[core] a = b\n",
            "[core]\n\ta = b # c\n", "[core]\n\ta = b\\\nc\n", "[a.b]\n\tc = d\n", "a = b\n",
            "[a \"b\\\"c\"]\nd = e\n", "[core]\r\n\ta = b\r\n", "\u{feff}[core]\na = b\n",
        ] {
            assert_eq!(plain(beyond, |_| true), None, "{beyond:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn what_is_plain_is_as_git_reads_it(
            lines in prop::collection::vec("(\\[|[aB])(core|x y|[a-cB.=\"\\\\#;\\[\\] \t-]|ä){0,6}\\]?(= ?[ \tab\"#\\\\]{0,4})?", 0..6)
        ) {
            let text = lines.join("\n");
            if let Some(found) = plain(&text, |_| true) {
                prop_assert_eq!(Some(found), of_git(&text));
            }
            let is_wanted = |name: &str| name.contains(".a");
            // What git refuses for a line that is not wanted stays unnoticed.
            if let (Some(found), Some(mut of_git)) = (plain(&text, is_wanted), of_git(&text)) {
                of_git.retain(|(name, _)| is_wanted(name));
                prop_assert_eq!(found, of_git);
            }
        }
    }
}
