#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn spec(arguments: &[(&str, bool)]) -> PromptSpec {
    PromptSpec {
        command: "s:review".to_owned(),
        description: String::new(),
        arguments: arguments
            .iter()
            .map(|&(name, is_required)| PromptArgument {
                name: name.to_owned(),
                description: format!("The {name}."),
                is_required,
            })
            .collect(),
        ..PromptSpec::default()
    }
}

fn read(arguments: &[(&str, bool)], words: &str) -> Result<Vec<(String, String)>, String> {
    values(&spec(arguments), words).map(|values| values.into_iter().collect())
}

const TWO: &[(&str, bool)] = &[("file", true), ("style", false)];

#[test]
fn arguments_are_given_by_position_or_by_name_and_quotes_hold_them_together() {
    for (words, expected) in [
        ("a.rs", &[("file", "a.rs")][..]),
        ("a.rs strict", &[("file", "a.rs"), ("style", "strict")]),
        ("style=strict a.rs", &[("file", "a.rs"), ("style", "strict")]),
        (
            "'my file.rs' \"very \\\"strict\\\"\"",
            &[("file", "my file.rs"), ("style", "very \"strict\"")],
        ),
        ("file='my file.rs'", &[("file", "my file.rs")]),
        // Surplus words go to the last argument.
        (
            "a.rs what's new here?",
            &[("file", "a.rs"), ("style", "what's new here?")],
        ),
        // A quoted word is a value, whatever it contains, and so is a name that the prompt does not have.
        ("'style=x'", &[("file", "style=x")]),
        ("lang=rust", &[("file", "lang=rust")]),
        ("style=", &[("style", "")]),
    ] {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        match read(TWO, words) {
            Ok(values) => assert_eq!(values, expected, "{words}"),
            Err(why) => assert!(words == "style=" && why.contains("needs file"), "{words}: {why}"),
        }
    }
    assert_eq!(
        read(&[("question", true)], "why is  it slow").unwrap(),
        [("question".to_owned(), "why is it slow".to_owned())]
    );
}

#[test]
fn what_is_missing_or_too_much_is_told_with_how_the_command_is_written() {
    for (arguments, words, why) in [
        (
            TWO,
            "",
            "/s:review needs file (The file). Usage: /s:review FILE [STYLE]. Nothing was sent.",
        ),
        (
            TWO,
            "style=x",
            "/s:review needs file (The file). Usage: /s:review FILE [STYLE]. Nothing was sent.",
        ),
        (
            &[],
            "x",
            "/s:review takes no arguments. Usage: /s:review. Nothing was sent.",
        ),
        (
            TWO,
            "style=a style=b x",
            "/s:review is given style twice. Usage: /s:review FILE [STYLE]. Nothing was sent.",
        ),
        (
            TWO,
            "style=a file=b x",
            "/s:review is given too many arguments. Usage: /s:review FILE [STYLE]. Nothing was sent.",
        ),
    ] {
        assert_eq!(read(arguments, words), Err(why.to_owned()), "{words}");
    }
}

#[test]
fn only_a_server_and_a_prompt_are_a_command() {
    assert_eq!(command(" /s:review a b "), Some(("s:review", "a b")));
    assert_eq!(
        command("/my-server_2:code.review"),
        Some(("my-server_2:code.review", ""))
    );
    for text in [
        "/s:", "/:x", "/todo: x", "/s:a/b", "/s:a:b", "/usr:/bin", "s:x", "/a b:c", "/2:x", "/ä:x", "/compact",
    ] {
        assert_eq!(command(text), None, "{text}");
    }
}

#[test]
fn an_unknown_prompt_is_told_with_the_one_that_may_be_meant() {
    let specs = [
        spec(TWO),
        PromptSpec {
            command: "s:code_review".to_owned(),
            ..spec(&[])
        },
    ];
    assert_eq!(find(&specs, "S:Review").unwrap().command, "s:review");
    assert_eq!(find(&specs, "s:code.review").unwrap().command, "s:code_review");
    for (command, hint) in [
        ("s:reveiw", "did you mean /s:review?"),
        ("s:summarise", "/help lists the prompts of s"),
        ("other:thing", "no MCP server named other offers prompts here"),
    ] {
        let why = find(&specs, command).unwrap_err();
        assert_eq!(why, format!("Unknown command /{command}; {hint}"));
    }
}

proptest! {
    #[test]
    fn any_words_are_read_and_nothing_that_is_required_stays_out(words in ".{0,60}", count in 0usize..4) {
        let names = ["a", "b", "c", "d"];
        let arguments: Vec<(&str, bool)> = names[..count].iter().map(|&name| (name, name != "d")).collect();
        if let Ok(values) = values(&spec(&arguments), &words) {
            prop_assert!(arguments.iter().all(|(name, is_required)| !is_required || values.contains_key(*name)));
        }
        let _ = command(&words);
    }

    #[test]
    fn a_quoted_value_comes_back_as_it_is(value in "[^\u{0}]{0,30}") {
        let quoted = format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
        let read = values(&spec(&[("a", true)]), &quoted).unwrap();
        prop_assert_eq!(&read["a"], &value);
    }
}
