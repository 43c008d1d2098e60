#![allow(clippy::unwrap_used)]

use super::*;
use crate::environment::definitions::find;
use crate::environment::definitions::tests::{skill, world};
use codelet_context::tokens::estimate_bytes;
use proptest::prelude::*;

fn skills(count: usize, length: usize) -> Vec<Definition> {
    let description = "word ".repeat(length / 5);
    let files = (0..count).map(|n| (format!("/repo/.claude/skills/s{n:03}/SKILL.md"), skill(&description)));
    find(&world(files), &KIND).definitions
}

#[test]
fn descriptions_are_shortened_before_a_skill_is_left_out() {
    let whole = list(&skills(3, 500), 200_000);
    assert!(whole.notice.is_none() && whole.text.len() > 1_500, "{whole:?}");
    let shortened = list(&skills(30, 1_000), 200_000);
    assert!(
        shortened.notice.is_none() && shortened.text.matches('…').count() == 30,
        "{shortened:?}"
    );
    let part = list(&skills(150, 1_000), 100_000);
    let told = part.notice.unwrap();
    assert!(told.contains("of 150") && told.contains("2 %"), "{told}");
    assert!(
        part.text.contains("more skills have no room in this list."),
        "{}",
        part.text
    );
}

#[test]
fn what_is_hidden_from_the_model_is_not_listed() {
    let hidden = "---\ndescription: x\ndisable-model-invocation: true\n---\n";
    let world = world([("/repo/.claude/skills/a/SKILL.md", hidden)]);
    let skills = for_the_model(find(&world, &KIND).definitions);
    assert_eq!(list(&skills, 200_000), List::default());
}

proptest! {
    #[test]
    fn the_list_keeps_to_its_share_of_the_window(count in 0usize..40, length in 0usize..1_200, window in 4_000u64..300_000) {
        let list = list(&skills(count, length), window);
        // A window too small for any skill gets only the text around the list.
        prop_assert!(estimate_bytes(list.text.len()) <= (window / LIST_SHARE).max(60), "{}", list.text.len());
    }
}
