//! What a change would look like, for a person who is asked to permit it.

use similar::TextDiff;
use std::time::Duration;

/// Longest text that is compared, in bytes.
const COMPARED: usize = 1024 * 1024;
/// Longest diff, in bytes.
const SHOWN: usize = 64 * 1024;
/// How long a comparison may look for the shortest diff.
const TIME: Duration = Duration::from_millis(100);

/// A unified diff; empty where the texts are too long to compare, or alike.
pub(crate) fn unified(name: &str, old: &str, new: &str) -> String {
    if old.len() > COMPARED || new.len() > COMPARED {
        return String::new();
    }
    let mut diff = TextDiff::configure()
        .timeout(TIME)
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(name, name)
        .to_string();
    if diff.len() > SHOWN {
        diff.truncate(diff.floor_char_boundary(SHOWN));
        diff.push_str("\n… the rest is not shown\n");
    }
    diff
}
