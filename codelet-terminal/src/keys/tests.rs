#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn keys(bytes: &[u8]) -> Vec<Typed> {
    let mut keys = Keys::default();
    let mut typed = keys.take(bytes);
    typed.extend(keys.settle());
    typed
}

fn key(bytes: &[u8]) -> Key {
    match keys(bytes).as_slice() {
        [Typed::Key(key)] => *key,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_are_told_apart() {
    let alt = |code| Key {
        alt: true,
        ..Key::plain(code)
    };
    let shift = |code| Key {
        shift: true,
        ..Key::plain(code)
    };
    for (bytes, expected) in [
        (&b"a"[..], Key::plain(KeyCode::Char('a'))),
        ("ß".as_bytes(), Key::plain(KeyCode::Char('ß'))),
        ("🦀".as_bytes(), Key::plain(KeyCode::Char('🦀'))),
        (b"\r", Key::plain(KeyCode::Enter)),
        (b"\x1b\r", alt(KeyCode::Enter)),
        (b"\x1b[13;2u", shift(KeyCode::Enter)),
        (b"\x1b[27;2;13~", shift(KeyCode::Enter)),
        (b"\n", Key::ctrl('j')),
        (b"\x03", Key::ctrl('c')),
        (b"\x1b[99;5u", Key::ctrl('c')),
        (b"\x1b", Key::plain(KeyCode::Esc)),
        (b"\x1b[27u", Key::plain(KeyCode::Esc)),
        (b"\x1b[A", Key::plain(KeyCode::Up)),
        (b"\x1bOA", Key::plain(KeyCode::Up)),
        (b"\x1b[Z", shift(KeyCode::Tab)),
        (b"\x1b[3~", Key::plain(KeyCode::Delete)),
        (b"\x1bb", alt(KeyCode::Char('b'))),
        (b"\x7f", Key::plain(KeyCode::Backspace)),
        (b"\x1b\x7f", alt(KeyCode::Backspace)),
    ] {
        assert_eq!(key(bytes), expected, "{bytes:?}");
    }
    assert!(key(b"\x1b[1;5D").ctrl);
    assert_eq!(keys(b"\x1b[?62;4c\x1b[[A\x1b[57441;2u"), []);
}

#[test]
fn what_a_terminal_answers_somebody_is_never_typed() {
    for answer in [
        // Cursor position, device attributes, capabilities.
        "\x1b[24;80R",
        "\x1b[?62;1;4c",
        "\x1b[>41;354;0c",
        "\x1b[?1u",
        "\x1b[?2026;2$y",
        "\x1b[8;24;80t",
        // Its colours, with either terminator, and its name.
        "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\",
        "\x1b]10;rgb:ffff/ffff/ffff\x07",
        "\x1bP>|XTerm(354)\x1b\\",
        "\x1bP1+r544e=787465726d\x1b\\",
        "\x1b_Gi=31;OK\x1b\\",
        // Reports of a mouse mode that some program left on.
        "\x1b[<0;10;10M\x1b[<0;10;10m",
        "\x1b[M !!",
        "\x1b[32;10;10M",
    ] {
        assert_eq!(keys(answer.as_bytes()), [], "{answer:?}");
        // Nor in any chunks, nor if a key follows directly.
        for cut in 2..answer.len() {
            let mut pieces = Keys::default();
            let mut typed = pieces.take(&answer.as_bytes()[..cut]);
            typed.extend(pieces.take(&answer.as_bytes()[cut..]));
            typed.extend(pieces.take(b"x"));
            assert_eq!(
                typed,
                [Typed::Key(Key::plain(KeyCode::Char('x')))],
                "{answer:?} at {cut}"
            );
        }
    }
}

#[test]
fn the_focus_is_told_in_whatever_pieces_it_comes_and_is_never_typed() {
    let told = b"\x1b[Ia\x1b[O";
    let expected = [
        Typed::Focus(true),
        Typed::Key(Key::plain(KeyCode::Char('a'))),
        Typed::Focus(false),
    ];
    assert_eq!(keys(told), expected);
    for cut in 1..told.len() {
        let mut pieces = Keys::default();
        let mut typed = pieces.take(&told[..cut]);
        typed.extend(pieces.take(&told[cut..]));
        assert_eq!(typed, expected, "cut at {cut}");
    }
    // Separated from its Esc by a slow connection; what the user types after an Esc is kept.
    let behind_esc = |bytes: &[u8]| {
        let mut keys = Keys::default();
        keys.take(b"\x1b");
        keys.settle();
        keys.take(bytes)
    };
    assert_eq!(behind_esc(b"[O"), [Typed::Focus(false)]);
    assert_eq!(behind_esc(b"[Item").len(), 5);
}

#[test]
fn what_a_slow_line_cuts_off_behind_an_esc_is_not_typed() {
    for (rest, then) in [
        ("[A", Some(KeyCode::Up)),
        ("OB", Some(KeyCode::Down)),
        ("[?62;4c", None),
    ] {
        let mut keys = Keys::default();
        keys.take(b"\x1b");
        assert_eq!(keys.open(), Some(PendingKey::Key));
        assert_eq!(keys.settle(), [Typed::Key(Key::plain(KeyCode::Esc))]);
        let expected: Vec<Typed> = then.into_iter().map(|code| Typed::Key(Key::plain(code))).collect();
        assert_eq!(keys.take(rest.as_bytes()), expected);
    }
    let mut keys = Keys::default();
    keys.take(b"\x1b");
    keys.settle();
    assert_eq!(keys.take(b"[200~a\rb\x1b[201~"), [Typed::Paste("a\nb".to_owned())]);
    // What the user types is kept, including a bracket.
    for typed in [
        "[", "[x", "[]", "O", "Ok", "[1] fix it", "[ ] to do", "[Done]", "OF course",
    ] {
        let expected: Vec<Typed> = typed
            .chars()
            .map(|c| Typed::Key(Key::plain(KeyCode::Char(c))))
            .collect();
        keys.take(b"\x1b");
        keys.settle();
        // Key by key, as people type.
        let came: Vec<Typed> = typed.bytes().flat_map(|byte| keys.take(&[byte])).collect();
        assert_eq!((came, keys.open()), (expected, None), "{typed}");
    }
    for typed in ["[x", "[]", "Ok"] {
        let expected: Vec<Typed> = typed
            .chars()
            .map(|c| Typed::Key(Key::plain(KeyCode::Char(c))))
            .collect();
        keys.take(b"\x1b");
        keys.settle();
        assert_eq!(keys.take(typed.as_bytes()), expected, "{typed}");
    }
    keys.take(b"\x1b");
    keys.settle();
    keys.close();
    assert_eq!(keys.take(b"[A").len(), 2);
}

#[test]
fn a_sequence_that_breaks_off_takes_nothing_with_it() {
    assert_eq!(keys(b"\x1b[1\x1b[A"), [Typed::Key(Key::plain(KeyCode::Up))]);
    assert_eq!(keys(b"\x1b[12\r"), [Typed::Key(Key::plain(KeyCode::Enter))]);
    assert_eq!(keys(b"\x1b]11;rgb\x1b[B"), [Typed::Key(Key::plain(KeyCode::Down))]);
    // With Alt alone the same letters are keys.
    for letter in ["]", "P", "_"] {
        let typed = keys(format!("\x1b{letter}").as_bytes());
        assert!(matches!(typed.as_slice(), [Typed::Key(key)] if key.alt), "{letter}");
    }
}

#[test]
fn a_paste_is_one_thing_whatever_is_in_it() {
    let typed = keys(b"x\x1b[200~two\r\nlines\x1b[A\x03\r\x1b[201~y");
    let paste = Typed::Paste("two\nlines\x1b[A\u{3}\n".to_owned());
    assert_eq!(typed[1], paste);
    assert_eq!(typed.len(), 3);
}

#[test]
fn a_paste_is_bounded_and_its_end_is_still_found() {
    let mut keys = Keys::default();
    keys.take(PASTE_BEGINS);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..20 {
        assert_eq!(keys.take(&piece), []);
    }
    let typed = keys.take(b"\x1b[201~q");
    assert!(matches!(&typed[0], Typed::Paste(text) if text.len() == LONGEST_PASTE));
    assert_eq!(typed[1], Typed::Key(Key::plain(KeyCode::Char('q'))));
}

#[test]
fn many_lines_at_once_are_a_paste_also_without_brackets() {
    let line = "a line of some words\r".repeat(6);
    let typed = Keys::default().take(format!("{line}tail\x1b[A").as_bytes());
    assert!(is_burst(&typed));
    let pasted = Typed::Paste(format!("{}tail", "a line of some words\n".repeat(6)));
    assert_eq!(with_pastes(typed), [pasted, Typed::Key(Key::plain(KeyCode::Up))]);
    // Input typed ahead is a few short lines.
    let typed = Keys::default().take(b"yes\rgo on\r");
    assert!(!is_burst(&typed));
    assert_eq!(with_pastes(typed.clone()), typed);
}

#[test]
fn a_paste_without_brackets_is_one_whatever_ends_its_lines() {
    for (end, pasted) in [("\r", "\n"), ("\n", "\n"), ("\r\n", "\n")] {
        let typed = Keys::default().take(format!("a line of some words{end}").repeat(6).as_bytes());
        assert!(is_burst(&typed), "{end:?}");
        let text = format!("a line of some words{pasted}").repeat(6);
        assert_eq!(with_pastes(typed), [Typed::Paste(text)], "{end:?}");
    }
    // Blank lines are kept.
    let typed = Keys::default().take(format!("{}\r\n\r\n{}", "x".repeat(60), "y".repeat(60)).as_bytes());
    let text = format!("{}\n\n{}", "x".repeat(60), "y".repeat(60));
    assert_eq!(with_pastes(typed), [Typed::Paste(text)]);
}

#[test]
fn one_long_line_at_once_is_a_paste_and_the_enter_behind_it_sends_it() {
    let line = "word ".repeat(40);
    for (end, last) in [("", None), ("\r", Some(Key::plain(KeyCode::Enter)))] {
        let typed = Keys::default().take(format!("{line}{end}").as_bytes());
        assert!(is_burst(&typed));
        let paste = std::iter::once(Typed::Paste(line.clone()));
        let expected: Vec<Typed> = paste.chain(last.map(Typed::Key)).collect();
        assert_eq!(with_pastes(typed), expected);
    }
}

proptest! {
    #[test]
    fn bytes_in_any_pieces_are_the_same_keys(bytes in proptest::collection::vec(any::<u8>(), 0..80), cut in 0usize..80) {
        let cut = cut.min(bytes.len());
        let mut pieces = Keys::default();
        let mut typed = pieces.take(&bytes[..cut]);
        typed.extend(pieces.take(&bytes[cut..]));
        let mut whole = Keys::default();
        prop_assert_eq!(whole.take(&bytes), typed);
        prop_assert!(whole.pending.len() <= LONGEST_STRING);
    }

    #[test]
    fn pasted_text_arrives_as_it_is(text in "[a-zà-ÿ \n\t\u{1b}\\[0-9~]{0,60}", cut in 0usize..80) {
        prop_assume!(!text.contains("\u{1b}[201~"));
        let bytes = [PASTE_BEGINS, text.as_bytes(), PASTE_ENDS].concat();
        let cut = cut.min(bytes.len());
        let mut keys = Keys::default();
        let mut typed = keys.take(&bytes[..cut]);
        typed.extend(keys.take(&bytes[cut..]));
        prop_assert_eq!(typed, vec![Typed::Paste(text)]);
    }
}
