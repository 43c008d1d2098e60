//! Unique tool names that every provider accepts.

use codelet_context::body::Body;
use std::collections::HashSet;

/// The longest name that every provider accepts, in bytes.
const LONGEST: usize = 64;
/// The longest name of a server, in bytes, which leaves half of a tool's name to the tool.
const LONGEST_SERVER: usize = 30;
/// Hash digits that keep altered names distinct.
const DIGITS: usize = 6;

/// Returns whether a server may have this name: a letter, then letters, digits, `-` and `_`, at most 30 bytes, and no
/// `__`, which separates the server's name from the tool's.
pub fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= LONGEST_SERVER
        && name.chars().all(is_taken)
        && !name.contains("__")
        && !name.ends_with('_')
}

fn is_taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// The name by which the model calls a server's tool: `server__tool` if every provider accepts it and it is not taken.
/// Otherwise other characters become `_`, a long name is cut, and a hash of the real name keeps it distinct.
pub(crate) fn of(server: &str, tool: &str, taken: &HashSet<String>) -> String {
    let whole = format!("{server}__{tool}");
    if whole.len() <= LONGEST && whole.chars().all(is_taken) && !tool.is_empty() && !taken.contains(&whole) {
        return whole;
    }
    let plain = whole.chars().map(|c| if is_taken(c) { c } else { '_' });
    let plain: String = plain.take(LONGEST - DIGITS - 1).collect();
    let mut salt = 0_u32;
    loop {
        let hash = Body::new(format!("{whole}\0{salt}")).hash();
        let name = format!("{plain}_{:06x}", hash & 0xff_ffff);
        if !taken.contains(&name) {
            return name;
        }
        salt += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plain_name_stays_as_it_is() {
        assert_eq!(of("files", "read_text", &HashSet::new()), "files__read_text");
    }

    #[test]
    fn names_that_would_be_alike_are_kept_apart() {
        let none = HashSet::new();
        let [dot, slash] = ["a.b", "a/b"].map(|tool| of("s", tool, &none));
        assert!(dot.starts_with("s__a_b_") && slash.starts_with("s__a_b_"));
        assert_ne!(dot, slash);
        // And it is the same in each session.
        assert_eq!(dot, of("s", "a.b", &none));
    }

    #[test]
    fn a_server_needs_a_name_that_can_stand_before_a_tool() {
        for name in ["a", "files", "my-server_2", "X"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "2a", "_a", "a__b", "a_", "a b", "ä", "a.b", &"a".repeat(31)] {
            assert!(!is_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_valid_unique_and_deterministic(tools in prop::collection::vec(".{0,80}", 0..20)) {
            let names = |tools: &[String]| {
                let mut taken = HashSet::new();
                for tool in tools {
                    let name = of("server", tool, &taken);
                    taken.insert(name);
                }
                taken
            };
            let taken = names(&tools);
            prop_assert_eq!(taken.len(), tools.len());
            prop_assert_eq!(&taken, &names(&tools));
            for name in taken {
                prop_assert!(name.len() <= LONGEST && name.chars().all(is_taken) && name.starts_with("server__"), "{name}");
            }
        }
    }
}
