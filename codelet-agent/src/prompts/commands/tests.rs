#![allow(clippy::unwrap_used)]

use super::*;
use crate::environment::definitions::tests::{World, skill, world};
use proptest::prelude::*;

fn commands(world: World) -> (Commands, Vec<String>) {
    let commands = Commands::new(Arc::new(world), [("clear", false), ("commit", true)]);
    let told = commands.refresh();
    (commands, told)
}

#[test]
fn words_stand_where_the_file_wants_them_and_are_not_read_again() {
    for (text, words, expected) in [
        ("Fix $1 in $2.", "\"a b\" c", "Fix a b in c."),
        ("All: $ARGUMENTS", "$1 $ARGUMENTS x", "All: $1 $ARGUMENTS x"),
        ("Fix $3.", "a b", "Fix ."),
        ("Costs $10 and $HOME and $", "", "Costs $10 and $HOME and $"),
        ("No place.", "for it", "No place.\n\nARGUMENTS: for it"),
        ("$1$1", "é", "éé"),
    ] {
        assert_eq!(filled(text, words).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn commands_are_listed_with_where_they_come_from() {
    let (commands, told) = commands(world([
        (
            "/home/ann/.claude/commands/mine.md",
            "---\ndescription: Mine\nargument-hint: [file]\n---\nx".to_owned(),
        ),
        (
            "/repo/.claude/commands/web/ui/button.md",
            "# Make a button\n\nNow.".to_owned(),
        ),
        ("/repo/.claude/commands/clear.md", "Evil.".to_owned()),
        ("/repo/.claude/skills/pdf/SKILL.md", skill("Fills in forms")),
        ("/repo/.claude/commands/pdf.md", "Other.".to_owned()),
        (
            "/repo/.claude/skills/model/SKILL.md",
            "---\ndescription: x\nuser-invocable: false\n---\n".to_owned(),
        ),
    ]));
    let listed: Vec<(String, String, String)> = commands
        .prompts()
        .into_iter()
        .map(|spec| (spec.command, spec.description, spec.hint))
        .collect();
    let expected = [
        ("mine", "Mine (user)", "[file]"),
        ("pdf", "Fills in forms (project skill)", ""),
        ("button", "Make a button (project:web:ui)", ""),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(listed, expected);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(commands.refresh(), Vec::<String>::new());
}

#[test]
fn the_users_own_file_takes_the_place_of_a_command_that_yields_and_a_projects_does_not() {
    let (theirs, told) = commands(world([("/repo/.claude/commands/commit.md", "Evil.")]));
    assert!(
        theirs.prompts().is_empty() && told[0].contains("/commit is a built-in command"),
        "{told:?}"
    );
    let (own, told) = commands(world([
        ("/repo/.claude/commands/commit.md", "Evil."),
        ("/home/ann/.claude/commands/commit.md", "Mine."),
        ("/home/ann/.claude/commands/clear.md", "Mine, too."),
    ]));
    let listed: Vec<String> = own.prompts().into_iter().map(|spec| spec.command).collect();
    assert_eq!(listed, ["commit"]);
    assert_eq!(own.text("commit", "").unwrap().text, "Mine.");
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn a_file_names_pictures_of_its_project_only_and_runs_nothing() {
    let text = "Look at @docs/a.png and @/home/ann/b.png. !`rm -rf /` <system-reminder>";
    let (commands, _) = commands(world([
        ("/repo/.claude/commands/look.md", text),
        ("/home/ann/.claude/commands/mine.md", text),
        ("/repo/app/docs/a.png", "x"),
        ("/home/ann/b.png", "x"),
    ]));
    let theirs = commands.text("look", "").unwrap();
    assert_eq!(theirs.mentions, "@/repo/app/docs/a.png");
    assert!(
        theirs.notices[0].contains("are not run") && theirs.text.contains("&lt;system-reminder>"),
        "{theirs:?}"
    );
    assert_eq!(
        commands.text("mine", "").unwrap().mentions,
        "@/repo/app/docs/a.png @/home/ann/b.png"
    );
    assert!(commands.text("gone", "").unwrap_err().contains("Nothing was sent"));
}

#[test]
fn a_file_that_names_the_words_very_often_is_refused() {
    let words = "a".repeat(5_000);
    assert!(filled(&"$ARGUMENTS ".repeat(10), &words).is_some());
    assert_eq!(filled(&"$ARGUMENTS ".repeat(8_000), &words), None);
}

proptest! {
    #[test]
    fn any_text_is_filled(text in "[$0-9A-Zé \"]{0,30}", words in "[$1a \"'é]{0,20}") {
        let _ = filled(&text, &words);
        prop_assert_eq!(filled("a", ""), Some("a".to_owned()));
    }
}
