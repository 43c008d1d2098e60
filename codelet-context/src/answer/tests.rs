use super::*;
use proptest::prelude::*;

fn done(kind: ActionKind, success: Option<bool>, output: &str) -> bool {
    is_done(kind, &ToolResult::new("1", success, output))
}

#[test]
fn a_change_that_its_answer_says_was_not_made_is_not_done() {
    let answers = [
        "No replacement was performed, old_str `x` did not appear verbatim in /a.py.",
        "ERROR:\nNo replacement was performed, old_str `x` did not appear verbatim in /a.py.",
        "Unable to apply diff to file: /a.py\n\n<error_details>\nNo sufficiently similar match found\n</error_details>",
        "The tool execution failed with the following error:\n<error>\nx\n</error>",
        "<error_details>\nx\n</error_details>",
        "{\"status\":\"error\",\"message\":\"The tool execution failed\",\"error\":\"No match found\"}",
        "{\"ok\": false, \"error\": \"pattern not found in file\"}",
        "{\"success\": false, \"message\": \"no match\"}",
        "{\"error\": \"ENOENT: no such file or directory\"}",
        "{\"error\": {\"code\": -32602}}",
        "{\"result\": {\"isError\": true}}",
        "{\"output\": \"String not found.\"}",
        "ok: false",
        "Success: false",
        "The string to replace was not found in the file.",
        "old_string not found in file. Make sure it matches exactly",
        "Failed to edit, 0 occurrences found for old_string",
        "-32602: 'old_str' must appear exactly once in the file, but it does not appear in the file.",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "File has not been read yet. Read it first before writing to it.",
        "File has been modified since read, either by the user or by a linter. Read it again.",
        "You must read the file before editing it. Use the View tool first",
        "Found 3 matches of the string to replace, but replace_all is false.",
        "Found multiple matches for oldString. Provide more surrounding lines.",
        "No changes to make: old_string and new_string are exactly the same.",
        "The apply model made no changes to the file.",
        "Applied 0 of 2 edits",
        "Replaced 0 occurrences in a.py",
        "oldString not found in content",
        "No match found",
        "❌ Edit failed: search text not found",
        "Your proposed edit has introduced new syntax error(s). The changes have NOT been applied.",
        "Edit was not applied: the file changed since it was read.",
        "Traceback (most recent call last):\n  File \"x\"\nFileNotFoundError: nope",
        "FileNotFoundError: nope",
        "Permission denied: /etc/passwd",
        "EACCES: permission denied, open 'a.rs'",
        "Could not find exact match for old_str in file",
        "Can't edit a.rs: it doesn’t exist",
        "a.rs already exists. Use the edit tool.",
        "patching file a.py\nHunk #1 FAILED at 3.",
        "Error editing file: disk full",
        "The updated content could not be written to a.rs",
        "Input validation error: 'path' is a required property",
        "The path is required. Nothing was changed.",
        "Ambiguous match in a.rs; nothing changed",
        "The file must be read before it is edited",
        "a.rs: 2 errors, none fixed",
        "1 error could not be fixed in a.rs",
        "Error: fixed string is empty",
        "Invalid: edited text is too long",
        "The edit was blocked by a hook",
        "Missing parameter new_string",
        "File was changed by another process",
        "The file was modified by the user",
        "Unexpected end of patch",
        "Nothing to change in a.rs",
        "Timeout",
        "Unchanged",
        "The model made no changes",
        "Edits failed in a.rs, 1 was applied",
        "Path /srv/a.go is outside of the allowed directories",
        "a.go lies outside the working directory",
        "Skipped: /srv/a.go is read-only",
        "The file system is read-only.",
        "Waiting for user approval",
        "Edit is awaiting your confirmation",
        "Changes discarded",
        "All changes were discarded.",
    ];
    for answer in answers {
        assert!(!done(ActionKind::Change, None, answer), "{answer}");
        assert!(
            done(ActionKind::Change, Some(true), answer),
            "the status decides: {answer}"
        );
    }
}

#[test]
fn a_change_is_done_whatever_the_names_and_the_lines_say_that_are_told_with_it() {
    let answers = [
        "",
        "x",
        "ok",
        "Deleted.",
        "File updated: error.rs",
        "File updated: error handling.md",
        "Wrote 12 lines to src/errors/not_found.py",
        "The file src/not_found.py has been edited. Here's the result of running `cat -n` on a snippet:\n1\traise not found",
        "The file src/failed.rs has been updated successfully.",
        "src/errors.rs",
        "src/invalid.rs: 3 insertions, 1 deletion",
        "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-raise Error('not found')\n+could not",
        "```diff\n- failed\n+ error: x\n```",
        "Edited src/a.rs:\n\n```diff\n- not found\n```",
        "    if not found:\n        raise Error(\"failed\")",
        "12\terror: String,\n13\tfailed: bool,",
        "Replaced `not found` by \"could not open\" in a.rs",
        "Updated 'error: x' to 'failed: x'",
        "Success. Updated the following files:\nM src/error.rs",
        "{\"ok\": true, \"error\": null}",
        "{\"success\": true, \"message\": \"no match was needed\"}",
        "{\"error\": \"\", \"path\": \"not found\"}",
        "{\"errors\": [], \"status\": \"completed\"}",
        "{\"output\": \"Edited error.rs\"}",
        "<file_write_result><path>a/error.py</path><operation>modified</operation>",
        "Error handling was added to src/a.rs",
        "No errors found. File saved.",
        "0 errors, 2 warnings. Saved a.rs",
        "Edit applied, but the linter reports an error:\nerror: unused",
        "✅ Edited a.rs: failed to format",
        "Successfully edited the file a/aug.py.\nThe edited section is not what you expected? Read it again.",
        "Last edit to a/undo.py undone successfully.",
        "Fixed the missing import in a.rs",
        "struct Error {\n    not_found: bool\n}",
    ];
    for answer in answers {
        assert!(done(ActionKind::Change, None, answer), "{answer}");
        assert!(
            !done(ActionKind::Change, Some(false), answer),
            "the status decides: {answer}"
        );
    }
}

#[test]
fn a_hook_that_runs_after_a_change_has_not_kept_it_from_being_made() {
    let hooks = [
        "Hook PostToolUse:Edit blocked: lint failed",
        "PostToolUse:Edit hook error: prettier failed",
        "PostToolUse hook (eslint) rejected the edit",
        "[PostToolUse:Write] denied: 2 errors",
    ];
    for hook in hooks {
        for answer in [
            format!("{hook}\nThe file /srv/a.go has been updated."),
            format!("{hook}\r\n\r\nThe file /srv/a.go has been updated."),
            format!("{hook}\n{hook}\nApplied 1 edit to /srv/a.go"),
            format!("The file /srv/a.go has been updated.\n{hook}"),
            hook.to_owned(),
        ] {
            assert!(done(ActionKind::Change, None, &answer), "{answer}");
        }
        assert!(!done(
            ActionKind::Change,
            None,
            &format!("{hook}\nold_string not found in file")
        ));
        assert!(!done(ActionKind::Change, Some(false), hook));
    }
    for answer in [
        "Hook PreToolUse:Edit blocked: lint failed",
        "PreToolUse:Edit hook error: denied",
        "Failed to edit a.md: found no match of PostToolUse",
    ] {
        assert!(!done(ActionKind::Change, None, answer), "{answer}");
    }
}

#[test]
fn words_that_often_tell_of_a_failure_tell_of_none_where_the_change_is_said_to_be_made() {
    let answers = [
        "1 error fixed in a.rs",
        "2 errors in a.rs were fixed",
        "The errors have been resolved",
        "Errors corrected: 3",
        "Required fields updated in a.rs",
        "Missing imports were added to a.rs",
        "Unexpected whitespace was trimmed while saving a.rs",
        "Unsupported options removed from a.rs",
        "Invalid characters replaced in a.rs",
        "Ambiguous names renamed in a.rs",
        "Exception handling added in a.rs",
        "Timeout updated to 30",
        "Blocked hosts saved",
        "Change made; but see below",
        "The edit needs no further work, missing imports were added",
        "Formatting: unchanged. Edit: applied to a.rs",
        "The header must stay. Applied the edit to a.rs.",
        "Applied the change. 3 lines must be kept.",
        "The following changes were made to a.rs:",
        "0 failed, 2 applied",
        "EDITED: a.rs",
        "3 replacements made",
        "<file_write_result>\n<path>a/x.py</path>\n<operation>modified</operation>\n<notice>\n<i>You do not need to re-read the file, as you have seen all changes</i>\n</notice>",
        "The following changes were made by the replace_file_content tool to: /a/x.py. Don't ask for permission.",
        "No linter errors found in x.py",
        "x.yaml: timeout 10 -> 30",
        "timeout: 30s",
        "{\"result\": \"File was not formatted; contents written\"}",
        "The section now reads:\nraise KeyError: missing key",
        "New content of x.md:\n# Errors\nThe server cannot be reached when the lock is held",
        "<file_diagnostics>\nError: x.py:3:1 undefined name\n</file_diagnostics>",
        "[main 3f2a1b] Handle missing keys\n 1 file changed, 3 insertions(+)",
        "Note: the file has not been formatted. 3 replacements made.",
        "Multiple matches replaced: 4",
        "x.py already exists; overwrote it",
        "x.py, mode 0644, permission unchanged",
        "x.csv is too large to show; saved",
        "You should not edit this file by hand.",
        "Moved the helper outside the project folder",
        "Updated a.rs, pending permission checks are unchanged",
        "Saved a.rs (it was read-only)",
        "Skipped: formatting. Wrote a.rs",
        "0 changes discarded, 3 made",
        "User chose: apply. The file was updated.",
    ];
    for answer in answers {
        assert!(done(ActionKind::Change, None, answer), "{answer}");
    }
}

#[test]
fn only_what_stands_first_is_read() {
    let long = format!("Edited a.rs{}error: no", "\n".repeat(40));
    assert!(done(ActionKind::Change, None, &long));
}

#[test]
fn what_a_program_prints_first_interrupts_nothing() {
    for first in [
        "[Request interrupted by user]",
        "[interrupted by the user: enough]",
        "[no result]",
    ] {
        let printed = format!("{first}\ntest foo ... FAILED\ntest result: FAILED. 1 passed; 4 failed\n[exit 2]");
        let result = ToolResult::new("1", Some(false), printed);
        assert!(!was_refused(&result) && !was_stopped(&result), "{first}");
    }
}

#[test]
fn what_was_stopped_says_so_where_harnesses_do() {
    for answer in [
        "[Operation Cancelled] Reason: User did not allow tool call",
        "[Request interrupted by user for tool use]",
        "Compiling a\nCompiling b\n\nCommand aborted",
    ] {
        for success in [None, Some(false)] {
            let result = ToolResult::new("1", success, answer);
            assert!(was_refused(&result) && was_stopped(&result), "{answer}");
        }
        assert!(!was_refused(&ToolResult::new("1", Some(true), answer)), "{answer}");
        assert!(!done(ActionKind::Change, None, answer), "{answer}");
        assert!(!done(ActionKind::Command, None, answer), "{answer}");
    }
}

#[test]
fn what_a_program_says_at_its_end_hides_no_failure_before_it() {
    let failed = "running 2 tests\ntest a ... FAILED\n1 failed";
    for last in ["Operation aborted.", "Command aborted", "command cancelled"] {
        for success in [None, Some(false)] {
            let is_refused = |output: String| was_refused(&ToolResult::new("1", success, output));
            assert!(!is_refused(format!("{failed}\n{last}")), "{last}");
            assert!(
                is_refused(format!("running 2 tests\ntest a ... ok\n\n{last}")),
                "{last}"
            );
            assert!(is_refused(last.to_owned()), "{last}");
        }
    }
}

#[test]
fn the_text_of_a_file_is_no_complaint() {
    let contents = [
        "error_codes = {}\nnot found = 1",
        "errors:\n  - not found",
        "# Errors\n\nThis is not supported.",
        "     1\terror: x",
        "Traceback handling\nis not done here",
        "failed_at = 3",
    ];
    for text in contents {
        assert!(done(ActionKind::Read, None, text), "{text}");
    }
    let guide = format!(
        "Error handling\n\n{}",
        "Errors are values here. They are passed on.\n".repeat(20)
    );
    assert!(done(ActionKind::Read, None, &guide), "a guide of errors");
    for text in [
        "Error: ENOENT: no such file or directory",
        "File not found: a.rs",
        "Could not read a.rs",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "{\"error\": \"no such file\"}",
    ] {
        assert!(!done(ActionKind::Read, None, text), "{text}");
    }
}

proptest! {
    #[test]
    fn no_answer_is_too_odd(
        answer in r#"(\PC|\n|['"`<({:]| not| no| error| 0| user| denied|was |n't|\{"ok":|\{"error": ?)"#.prop_map(String::from),
        more in proptest::collection::vec(r#"\PC|\n|['"`’<({:]| not | no |error: | 0 |user |denied |was |n't |edited "#, 0..80),
        success in any::<Option<bool>>(),
    ) {
        let result = ToolResult::new("1", success, format!("{answer}{}", more.concat()));
        for kind in [ActionKind::Change, ActionKind::Read, ActionKind::Command] {
            let done = is_done(kind, &result);
            prop_assert_eq!(success.unwrap_or(done), done);
            prop_assert!(!(done && success.is_none() && was_refused(&result)));
        }
    }

    #[test]
    fn names_of_files_and_quotations_never_decide(name in "(not|error|failed|denied|no|found|[a-z]{1,5}){1,4}", form in 0usize..6) {
        let answer = match form {
            0 => format!("src/{name}/x.rs"),
            1 => format!("Edited {name}.rs"),
            2 => format!("{name}.rs: \"{name} not found\""),
            3 => format!("`{name} error` → 'could not {name}' in a.rs"),
            4 => format!("The file {name}.md has been updated."),
            _ => format!("M {name}_error.rs\n+{name} failed"),
        };
        prop_assert!(done(ActionKind::Change, None, &answer), "{}", answer);
        let bad = match form {
            0 => format!("Unable to edit src/{name}/x.rs"),
            1 => format!("\"{name}\" was not found in a.rs"),
            2 => format!("Error: {name}.rs"),
            3 => format!("src/{name}.rs does not exist"),
            4 => format!("Edit of `{name}` failed"),
            _ => format!("No match for '{name}'"),
        };
        prop_assert!(!done(ActionKind::Change, None, &bad), "{}", bad);
    }
}

#[test]
fn an_answer_denies_its_call_whatever_the_flag_beside_it_says() {
    let denied = |kind, text: &str| denies(kind, &ToolResult::new("1", Some(true), text));
    for text in [
        "No match found",
        "{\"ok\": false}",
        "User rejected the edit",
        "ERROR:\nNo replacement was performed",
    ] {
        assert!(denied(ActionKind::Change, text), "{text}");
        assert!(
            !denied(ActionKind::Read, text) && !denied(ActionKind::Command, text),
            "{text}"
        );
    }
    assert!(denied(ActionKind::Todo, "Error: todos is required"));
    assert!(!denied(
        ActionKind::Todo,
        "1. [x] error: not found\n2. [ ] handle failed logins"
    ));
    assert!(!denied(ActionKind::Ask, "User dismissed the question"));
    assert!(!denied(
        ActionKind::Change,
        "The file a.rs was updated.\n1\terror: not found"
    ));
}
