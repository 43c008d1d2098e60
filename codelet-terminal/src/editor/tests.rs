#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn typed(editor: &mut Editor, text: &str) {
    for c in text.chars() {
        editor.key(Key::plain(KeyCode::Char(c)));
    }
}

#[test]
fn a_long_paste_is_shown_folded_and_sent_whole() {
    let paste: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
    let mut editor = Editor::default();
    typed(&mut editor, "See ");
    editor.paste(&paste);
    typed(&mut editor, " there");
    assert_eq!(editor.text(), "See [pasted 10,000 lines] there");
    let sent = editor.take();
    // It ends its last line, so what is typed behind it begins another.
    assert!(sent == format!("See {paste} there"), "{}", sent.len());
    editor.key(Key::plain(KeyCode::Up));
    assert_eq!(editor.take(), sent);
}

#[test]
fn what_stands_for_a_paste_is_sent_or_removed_as_a_whole() {
    let alt = |code| Key {
        alt: true,
        ..Key::plain(code)
    };
    let ctrl = |c| Key {
        ctrl: true,
        ..Key::plain(KeyCode::Char(c))
    };
    let paste = vec!["line"; 20].join("\n");
    let plain = Key::plain;
    let cases: [(&[Key], Option<&str>); 11] = [
        (&[ctrl('w')], None),
        (&[alt(KeyCode::Backspace)], None),
        (&[plain(KeyCode::Backspace)], None),
        (&[plain(KeyCode::Home), plain(KeyCode::Delete)], None),
        (&[plain(KeyCode::Home), alt(KeyCode::Char('d'))], None),
        (&[plain(KeyCode::Home), ctrl('k')], None),
        (&[ctrl('u')], None),
        (&[plain(KeyCode::Left), plain(KeyCode::Char('x'))], Some("x{}")),
        (&[alt(KeyCode::Char('b')), plain(KeyCode::Char('x'))], Some("x{}")),
        (
            &[plain(KeyCode::Home), plain(KeyCode::Right), plain(KeyCode::Char('x'))],
            Some("{}x"),
        ),
        (
            &[plain(KeyCode::Home), alt(KeyCode::Char('f')), plain(KeyCode::Char('x'))],
            Some("{}x"),
        ),
    ];
    for (keys, left) in cases {
        let mut editor = Editor::default();
        editor.paste(&paste);
        for &key in keys {
            editor.key(key);
        }
        assert_eq!(editor.take(), left.unwrap_or("").replace("{}", &paste), "{keys:?}");
    }
}

#[test]
fn a_placeholder_stands_for_a_paste_only_in_the_input_that_it_was_pasted_to() {
    let mut editor = Editor::default();
    let paste = "line\n".repeat(12);
    editor.paste(&paste);
    typed(&mut editor, "one");
    editor.take();
    assert!(editor.folded.is_empty());
    typed(&mut editor, "why does it say [pasted 12 lines]?");
    assert_eq!(editor.take(), "why does it say [pasted 12 lines]?");
    // Going back to an input brings its pastes back, and those of the draft return with the draft.
    editor.paste(&"other\n".repeat(12));
    for _ in 0..2 {
        editor.key(Key::plain(KeyCode::Up));
    }
    assert_eq!(editor.unfolded(&editor.text()), format!("{paste}one"));
    for _ in 0..2 {
        editor.key(Key::plain(KeyCode::Down));
    }
    assert_eq!(editor.unfolded(&editor.text()), "other\n".repeat(12));
    // Its own words do not become a placeholder either.
    editor.set("[pasted 12 lines] ");
    editor.paste(&paste);
    assert_eq!(editor.text(), "[pasted 12 lines] [pasted 12 lines, 2]");
    assert_eq!(editor.take(), format!("[pasted 12 lines] {}", paste.trim_end()));
}

#[test]
fn pastes_are_forgotten_with_the_inputs_that_held_them() {
    let mut editor = Editor::default();
    let mut pasted = Vec::new();
    for number in 0..REMEMBERED + 5 {
        editor.paste(&format!("{number}\n").repeat(12));
        pasted.push(Arc::downgrade(&editor.folded[0].1));
        editor.take();
    }
    let (gone, kept) = pasted.split_at(5);
    assert!(gone.iter().all(|paste| paste.strong_count() == 0));
    assert!(kept.iter().all(|paste| paste.strong_count() == 1));
}

#[test]
fn what_looks_like_one_character_is_passed_and_removed_as_one() {
    for thing in ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u{323}\u{301}", "한"] {
        let mut editor = Editor::default();
        editor.set(&format!("a{thing}"));
        editor.key(Key::plain(KeyCode::Left));
        editor.key(Key::plain(KeyCode::Char('b')));
        assert_eq!(editor.text(), format!("ab{thing}"));
        editor.key(Key::plain(KeyCode::Right));
        editor.key(Key::plain(KeyCode::Backspace));
        assert_eq!(editor.text(), "ab");
    }
}

#[test]
fn tabs_are_sent_as_they_were_pasted() {
    let mut editor = Editor::default();
    editor.paste("all:\n\techo hi\na\tb");
    assert_eq!(editor.rows(40).0, ["all:", "    echo hi", "a   b"]);
    assert_eq!(editor.take(), "all:\n\techo hi\na\tb");
}

#[test]
fn up_and_down_go_by_the_rows_that_are_seen() {
    let mut editor = Editor::default();
    editor.set("sent before");
    editor.take();
    editor.set("one two three four five");
    let (rows, cursor) = editor.rows(10);
    assert_eq!((rows.len(), cursor), (3, (2, 4)));
    editor.key(Key::plain(KeyCode::Up));
    editor.key(Key::plain(KeyCode::Up));
    assert_eq!(editor.rows(10).1, (0, 4));
    editor.key(Key::plain(KeyCode::Down));
    assert_eq!(editor.rows(10).1, (1, 4));
    editor.key(Key::plain(KeyCode::Up));
    editor.key(Key::plain(KeyCode::Up));
    assert_eq!(editor.text(), "sent before");
}

#[test]
fn what_comes_back_from_the_users_editor_folds_the_pastes_again_and_nothing_else() {
    let mut editor = Editor::default();
    let paste = vec!["line"; 40].join("\n");
    typed(&mut editor, "short ");
    editor.paste(&paste);
    let whole = editor.unfolded(&editor.text());
    editor.set_unfolded(&format!("{whole}\n"));
    assert_eq!(editor.text(), "short [pasted 40 lines]");
    editor.set_unfolded(&format!("{whole} and more\nthere"));
    assert_eq!(editor.text(), "short [pasted 40 lines] and more\nthere");
    assert_eq!(editor.take(), format!("short {paste} and more\nthere"));
    editor.set_unfolded(&"long\n".repeat(2_000));
    assert_eq!(editor.text(), "[pasted 2,000 lines]");
}

#[test]
fn two_pastes_of_one_size_are_two() {
    let mut editor = Editor::default();
    editor.paste(&"a\n".repeat(20));
    editor.paste(&"b\n".repeat(20));
    assert_eq!(editor.text(), "[pasted 20 lines][pasted 20 lines, 2]");
    editor.key(Key::plain(KeyCode::Backspace));
    assert_eq!(editor.text(), "[pasted 20 lines]");
    assert!(editor.take().starts_with("a\na"));
}

#[test]
fn a_paste_that_holds_a_mark_is_not_unfolded_twice() {
    let mut editor = Editor::default();
    let paste = format!("{}[pasted 21 lines]", "a\n".repeat(20));
    editor.paste(&paste);
    assert_eq!(editor.text(), "[pasted 21 lines]");
    assert_eq!(editor.take(), paste);
}

#[test]
fn what_was_sent_comes_back_and_what_was_being_written_too() {
    let mut editor = Editor::default();
    for text in ["one", "two"] {
        typed(&mut editor, text);
        editor.take();
    }
    typed(&mut editor, "thr");
    let up = Key::plain(KeyCode::Up);
    assert!(editor.key(up) && editor.text() == "two");
    assert!(editor.key(up) && editor.text() == "one");
    assert!(!editor.key(up) && editor.text() == "one");
    let down = Key::plain(KeyCode::Down);
    assert!(editor.key(down) && editor.key(down));
    assert_eq!(editor.text(), "thr");
}

#[test]
fn what_was_cleared_comes_back_with_its_pastes() {
    let mut editor = Editor::default();
    typed(&mut editor, "See ");
    editor.paste(&"a\n".repeat(20));
    assert!(editor.clear() && editor.is_empty() && !editor.clear());
    editor.key(Key::plain(KeyCode::Up));
    assert_eq!(editor.take(), format!("See {}a", "a\n".repeat(19)));
}

#[test]
fn what_was_being_written_before_an_earlier_input_is_never_lost() {
    let (up, x) = (Key::plain(KeyCode::Up), Key::plain(KeyCode::Char('x')));
    let acts: [fn(&mut Editor); 4] = [
        |editor| drop(editor.take()),
        |editor| assert!(editor.clear()),
        |editor| editor.paste("more"),
        |editor| assert!(editor.key(Key::plain(KeyCode::Char('x')))),
    ];
    for act in acts {
        let mut editor = Editor::default();
        typed(&mut editor, "one");
        editor.take();
        typed(&mut editor, "a draft");
        editor.key(up);
        assert_eq!(editor.text(), "one");
        act(&mut editor);
        editor.key(x);
        while editor.text() != "a draft" {
            assert!(editor.key(up), "the draft is lost");
        }
    }
}

#[test]
fn an_earlier_input_is_found_by_its_words() {
    let mut editor = Editor::default();
    for text in ["fix the tests", "write docs", "fix the build"] {
        typed(&mut editor, text);
        editor.take();
    }
    editor.search();
    for c in "FIX".chars() {
        assert!(editor.search_key(Key::plain(KeyCode::Char(c))));
    }
    assert_eq!(editor.text(), "fix the build");
    editor.search();
    assert_eq!(editor.text(), "fix the tests");
    assert!(!editor.search_key(Key::plain(KeyCode::Enter)));
    assert_eq!(editor.take(), "fix the tests");
    editor.search();
    editor.search_key(Key::plain(KeyCode::Char('d')));
    editor.search_key(Key::plain(KeyCode::Esc));
    assert_eq!(editor.text(), "");
}

#[test]
fn a_search_that_finds_nothing_shows_and_sends_nothing() {
    let mut editor = Editor::default();
    typed(&mut editor, "hi there");
    editor.take();
    typed(&mut editor, "a draft");
    editor.search();
    for c in "hi".chars() {
        editor.search_key(Key::plain(KeyCode::Char(c)));
    }
    assert_eq!((editor.text(), editor.finds_nothing()), ("hi there".to_owned(), false));
    for c in " deploy".chars() {
        editor.search_key(Key::plain(KeyCode::Char(c)));
    }
    assert_eq!((editor.text(), editor.finds_nothing()), (String::new(), true));
    assert!(editor.search_key(Key::plain(KeyCode::Enter)));
    assert_eq!(editor.searching(), Some("hi deploy"));
    for _ in " deploy".chars() {
        editor.search_key(Key::plain(KeyCode::Backspace));
    }
    assert_eq!(editor.text(), "hi there");
    editor.search_key(Key::plain(KeyCode::Char('!')));
    assert!(!editor.search_key(Key::plain(KeyCode::Right)));
    assert_eq!((editor.text(), editor.searching()), ("a draft".to_owned(), None));
}

#[test]
fn what_is_typed_after_a_paste_that_ends_its_line_is_a_line_of_its_own() {
    let long = "a line\n".repeat(20);
    for (paste, sent) in [
        ("one\n", "onetwo".to_owned()),
        ("one\nmore\n", "one\nmore\ntwo".to_owned()),
        (&long, format!("{long}two")),
    ] {
        let mut editor = Editor::default();
        editor.paste(paste);
        typed(&mut editor, "two");
        assert_eq!(editor.take(), sent);
        editor.paste(paste);
        assert_eq!(editor.take(), paste.trim_end());
    }
}

#[test]
fn a_backslash_at_the_end_makes_a_new_line() {
    let mut editor = Editor::default();
    typed(&mut editor, "one\\");
    assert!(editor.takes_backslash());
    typed(&mut editor, "two");
    assert!(!editor.takes_backslash());
    assert_eq!(editor.take(), "one\ntwo");
}

proptest! {
    #[test]
    fn rows_fit_and_hold_everything(text in "[a-z漢🦀 \n]{0,80}", width in 4usize..30) {
        let mut editor = Editor::default();
        editor.set(&text);
        let (rows, cursor) = editor.rows(width);
        prop_assert!(rows.iter().all(|row| crate::render::wrap::columns(row) <= width));
        let without_blanks = |text: &str| text.replace([' ', '\n'], "");
        prop_assert_eq!(without_blanks(&rows.concat()), without_blanks(&text));
        prop_assert!(cursor.0 < rows.len() && cursor.1 < width);
    }

    #[test]
    fn any_keys_do_no_harm(keys in proptest::collection::vec((any::<char>(), any::<bool>(), any::<bool>(), 0u8..16), 0..60)) {
        let mut editor = Editor::default();
        for (c, ctrl, alt, which) in keys {
            let code = match which {
                0 => KeyCode::Enter,
                1 => KeyCode::Up,
                2 => KeyCode::Down,
                3 => KeyCode::Backspace,
                4 => KeyCode::Left,
                5 => { editor.paste(&c.to_string().repeat(3_000)); continue }
                6 => { editor.search(); continue }
                7 => KeyCode::Delete,
                8 => KeyCode::Home,
                _ => KeyCode::Char(c),
            };
            let key = Key { code, ctrl, alt, shift: false };
            if !editor.search_key(key) {
                editor.key(key);
            }
            let _ = (editor.rows(10), editor.before_cursor().len());
            let (before, behind) = editor.parts();
            assert_eq!(before + &behind, editor.text());
        }
        editor.take();
    }
}

#[test]
fn what_was_sent_in_earlier_sessions_is_read_once_and_only_when_it_is_looked_for() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let mut editor = Editor::default();
    editor.follow(Past(Arc::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        ["oldest", "old", "again"].map(str::to_owned).to_vec()
    })));
    for sent in ["again", "newest"] {
        editor.remember(sent);
    }
    editor.paste("draft");
    let up = |editor: &mut Editor| {
        editor.key(Key::plain(KeyCode::Up));
        editor.text()
    };
    assert_eq!([up(&mut editor), up(&mut editor)], ["newest", "again"]);
    assert_eq!(reads.load(Ordering::SeqCst), 0);
    assert_eq!([up(&mut editor), up(&mut editor)], ["old", "oldest"]);
    // There is nothing older, and the source is not read again.
    assert_eq!(up(&mut editor), "oldest");
    assert_eq!(reads.load(Ordering::SeqCst), 1);
    for text in ["old", "again", "newest", "draft"] {
        editor.key(Key::plain(KeyCode::Down));
        assert_eq!(editor.text(), text);
    }
}

#[test]
fn edits_are_undone_one_by_one_and_a_deleted_paste_comes_back_whole() {
    let undo = Key::ctrl('7');
    let paste = "line\n".repeat(20);
    let mut editor = Editor::default();
    typed(&mut editor, "See this");
    editor.paste(&paste);
    let shown = editor.text();
    editor.key(Key::plain(KeyCode::Backspace));
    assert_eq!(editor.text(), "See this");
    editor.key(Key::ctrl('u'));
    assert!(editor.is_empty());
    for text in ["See this", &shown, "See this", "See ", "See", ""] {
        editor.key(undo);
        assert_eq!(editor.text(), text);
    }
    // Nothing is left to undo.
    assert!(!editor.key(undo));
    // In the middle of a text, the cursor comes back too.
    typed(&mut editor, "one two");
    editor.key(Key::plain(KeyCode::Home));
    editor.key(Key::plain(KeyCode::Delete));
    editor.key(undo);
    assert_eq!(editor.parts(), (String::new(), "one two".to_owned()));
    editor.paste(&paste);
    assert_eq!(editor.take(), format!("{paste}one two"));
    assert!(!editor.key(undo));
}
