//! The files that a patch names.

/// The maximum number of files read from one patch.
const MOST: usize = 1_000;

/// The files that a patch changes, in the format of `apply_patch` or as a unified diff, without duplicates.
pub fn patched(patch: &str) -> Vec<&str> {
    const HEADS: [&str; 4] = [
        "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ",
    ];
    let mut found: Vec<&str> = Vec::new();
    let mut old = None;
    for line in patch.lines() {
        let named = HEADS.iter().find_map(|head| line.strip_prefix(head)).map(str::trim);
        let diffed = || match (old, diff_path(line, "+++ ")?) {
            (Some(old), "/dev/null") => Some(inside(old, "a/")),
            (_, new) => Some(inside(new, "b/")),
        };
        let path = named.or_else(diffed);
        old = diff_path(line, "--- ");
        if let Some(path) = path
            && !path.is_empty()
            && path != "/dev/null"
            && found.len() < MOST
            && !found.contains(&path)
        {
            found.push(path);
        }
    }
    found
}

/// The path in a header line of a unified diff, without the timestamp that may follow it.
fn diff_path<'a>(line: &'a str, head: &str) -> Option<&'a str> {
    Some(line.strip_prefix(head)?.split('\t').next()?.trim())
}

fn inside<'a>(path: &'a str, side: &str) -> &'a str {
    path.strip_prefix(side).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_both_forms_of_a_patch() {
        let form = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n-x\n+y\n*** Add File: c.rs\n*** Delete File: d.rs\n";
        assert_eq!(patched(form), ["a.rs", "b.rs", "c.rs", "d.rs"]);
        let diff =
            "--- a/x.rs\t2026-01-01\n+++ b/x.rs\n-- a\n--- a/gone.rs\n+++ /dev/null\n--- /dev/null\n+++ b/new.rs\n";
        assert_eq!(patched(diff), ["x.rs", "gone.rs", "new.rs"]);
    }
}
