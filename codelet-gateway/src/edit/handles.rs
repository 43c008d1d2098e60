//! How markers name what was removed. An agent has no tool that reads it back, but nearly every one has a shell: `codelet recall HANDLE`
//! asks the gateway for the text that has this handle.

use codelet_context::recall::Archive;

/// The sentence about it in the notice of a summary.
pub(super) const COMMAND: &str = "In a shell, `codelet recall HANDLE` prints what it leaves out.";
/// The words before the handle in a marker.
const BEFORE: &str = " · recall ";

/// Rewrites the markers in the engine's JSON for the agent: they name the command, or nothing if it is not offered.
pub(super) fn told(json: &str, archive: &Archive, is_offered: bool) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(BEFORE) {
        let behind = &rest[at + BEFORE.len()..];
        let end = behind
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(behind.len());
        let handle = &behind[..end];
        out.push_str(&rest[..at]);
        match archive.get(handle).is_some() {
            true if is_offered => out.push_str(&format!(" · `codelet recall {handle}`")),
            true => {}
            false => out.extend([BEFORE, handle]),
        }
        rest = &behind[end..];
    }
    out.push_str(rest);
    out.shrink_to_fit();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::body::Body;

    #[test]
    fn only_handles_under_which_something_is_kept_are_left_out() {
        let mut archive = Archive::default();
        let handle = archive.keep(&Body::new("a text"), "Read", "set aside");
        let json = format!("[a · recall {handle}] [b · recall nothing]");
        assert_eq!(told(&json, &archive, false), "[a] [b · recall nothing]");
        assert_eq!(
            told(&json, &archive, true),
            format!("[a · `codelet recall {handle}`] [b · recall nothing]")
        );
    }
}
