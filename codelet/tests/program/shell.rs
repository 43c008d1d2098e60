//! What the program says of its own command line to shells and to `man`.

use crate::common::{ended, refused, run, stdout};
use std::process::Command;

/// The long options of the help.
fn options() -> Vec<String> {
    let help = run(&["--help"]);
    let words = stdout(&help)
        .split_whitespace()
        .filter(|word| word.starts_with("--") && word.len() > 2);
    let mut options: Vec<String> = words
        .map(|word| word.trim_end_matches(|c: char| !c.is_ascii_lowercase()).to_owned())
        .collect();
    options.sort();
    options.dedup();
    assert!(options.len() > 10, "{options:?}");
    options
}

#[test]
fn every_option_of_the_help_is_completed_by_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        ended(&output, 0);
        let script = stdout(&output);
        for option in options() {
            // One shell writes the name alone.
            let name = option.trim_start_matches('-');
            assert!(
                script.contains(&option) || script.contains(&format!("-l {name}")),
                "{shell}: {option}"
            );
        }
        assert!(script.contains("compact"), "{shell}");
    }
    refused(&run(&["completions", "tcsh"]), &["tcsh", "fish"]);
}

#[test]
fn bash_takes_the_completions_and_finds_a_command() {
    let script = run(&["completions", "bash"]);
    let path = crate::common::folder("completions").join("codelet.bash");
    std::fs::write(&path, &script.stdout).unwrap();
    let line = format!(
        "source {}; COMP_WORDS=(codelet comp); COMP_CWORD=1; _codelet codelet comp codelet; echo \"${{COMPREPLY[@]}}\"",
        path.display()
    );
    let output = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
    assert_eq!(stdout(&output).trim(), "compact completions", "{output:?}");
}

#[test]
fn every_option_of_the_help_stands_in_the_manual() {
    let page = run(&["man"]);
    ended(&page, 0);
    let text = stdout(&page).replace("\\-", "-");
    assert!(text.contains(".TH codelet 1"), "{}", &text[..200]);
    for option in options() {
        assert!(text.contains(&option), "{option}");
    }
    let page = run(&["man", "compact"]);
    ended(&page, 0);
    assert!(stdout(&page).contains("codelet\\-compact") && stdout(&page).contains("budget"));
    let page = run(&["man", "mcp", "test"]);
    ended(&page, 0);
    assert!(stdout(&page).contains("codelet\\-mcp\\-test"), "{}", stdout(&page));
    refused(&run(&["man", "nothing"]), &["unknown command \"nothing\""]);
}
