//! Properties of streamed Markdown: the lines do not depend on how the text is split, nothing is lost, and no text
//! takes too long.
#![allow(clippy::unwrap_used)]

use codelet_terminal::render::wrap::{columns, line_columns, line_text, rows};
use codelet_terminal::render::{Background, Look, Markdown, Styles};
use codelet_testkit::Stopwatch;
use proptest::prelude::*;
use ratatui::text::Line;
use std::time::Duration;

fn whole(text: &str, look: Look) -> Vec<Line<'static>> {
    let mut markdown = Markdown::new(look);
    let mut lines = markdown.push(text);
    lines.extend(markdown.finish());
    lines
}

fn said(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| line_text(line) + "\n").collect()
}

/// Returns whether a line fits as far as it may be broken. A line of code and a word longer than a row are left to the
/// terminal.
fn fits(line: &Line<'_>, width: usize, text: &str) -> bool {
    let shown = line_text(line);
    let is_exact = ["```", "~~~", "    ", "\t", "<"].iter().any(|mark| text.contains(mark));
    let before = shown.trim_end().rfind(' ').map_or("", |space| &shown[..space]);
    line_columns(line) <= width || is_exact || columns(before) <= width
}

/// Checks that every letter occurs as often as it was written, and in the same order unless a table had to become
/// narrower than its cells: then the lines of adjacent cells are interleaved, and a record shows the column's name
/// before its cell.
fn nothing_of_it_is_lost(text: &str, look: Look) {
    let words = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    // Entities are decoded, task marks become checkboxes, and invisible characters are spelt out. A known reference
    // shows its address instead of its label, and code its colours instead of its language.
    let written = text.replace("&amp;", "").replace("- [x] ", "").replace("[ref]", "");
    let written = written.replace("```rust", "```");
    let written = words(&written.replace(['\u{202e}', '\u{1b}'], ""));
    let in_order = |look: Look| {
        let shown = words(&said(&whole(text, look)));
        let mut left = shown.chars();
        for c in written.chars() {
            assert!(
                left.any(|other| other == c),
                "{c:?} of {text:?} is missing in {shown:?}"
            );
        }
    };
    if !text.contains('|') {
        return in_order(look);
    }
    // Room for every table at its natural width.
    in_order(look.at_width(100_000));
    let shown = words(&said(&whole(text, look)));
    for c in written.chars() {
        let times = |text: &str| text.chars().filter(|other| *other == c).count();
        assert!(
            times(&shown) >= times(&written),
            "{c:?} of {text:?} is missing in {shown:?}"
        );
    }
}

#[test]
fn no_word_of_a_table_is_lost_where_it_becomes_records() {
    let text = "**bold**https://example.org/a_b_c[x](y)\\| a | b |\n|---|:-:|\nword |---|:-:|\n";
    let look = Look::new(8, Styles::Plain, Background::Dark);
    nothing_of_it_is_lost(text, look);
    let rows: Vec<String> = whole(text, look).iter().map(line_text).collect();
    assert_eq!(
        rows.concat(),
        "boldhttps://example.org/a_b_cx(y)| a:wordb: --- |:-:--------",
        "{rows:?}"
    );
}

/// Fragments of Markdown, well formed and not.
fn markdown() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "# ",
        "## Title\n",
        "\n",
        "\n\n",
        "- ",
        "* a\n",
        "  - b\n",
        "    ",
        "1. ",
        "12) c\n",
        "> ",
        ">> d\n",
        "```rust\n",
        "```",
        "~~~\n",
        "fn f() {}\n",
        "| a | b |\n",
        "|---|:-:|\n",
        "| c | d\\|e |\n",
        "*",
        "**bold**",
        "_",
        "`code`",
        "``",
        "[x](y)",
        "[",
        "](",
        "<b>",
        "<div>\n",
        "&amp;",
        "\\",
        "---\n",
        "===\n",
        "- [ ] t\n",
        "- [x] ",
        "word ",
        "日本語",
        "👩‍👩‍👧",
        "\t",
        "  \n",
        "\r\n",
        "https://example.org/a_b_c",
        "\u{202e}",
        "\u{1b}[31m",
        "~~s~~",
        "[^1]",
        "\n[^1]: a note\n",
        "[x][ref]",
        "\n[ref]: https://example.org 'a title'\n",
        "[ref]",
        "!",
        "a long run of words that fills a row and a bit more ",
    ]);
    prop::collection::vec(bits, 0..60).prop_map(|bits| bits.concat())
}

fn looks() -> impl Strategy<Value = Look> {
    let styles = prop::sample::select(vec![Styles::Plain, Styles::Monochrome, Styles::Colour]);
    (8usize..100, styles).prop_map(|(width, styles)| Look::new(width, styles, Background::Dark))
}

proptest! {
    #[test]
    fn pieces_give_the_lines_of_the_whole(text in markdown(), look in looks(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        cuts.sort_unstable();
        let mut markdown = Markdown::new(look);
        let mut lines = Vec::new();
        let mut from = 0;
        for cut in cuts {
            lines.extend(markdown.push(&text[from..cut]));
            let _ = markdown.pending();
            from = cut;
        }
        lines.extend(markdown.push(&text[from..]));
        lines.extend(markdown.finish());
        prop_assert_eq!(lines, whole(&text, look));
        prop_assert!(markdown.pending().is_empty());
    }

    #[test]
    fn what_is_pending_is_what_the_end_would_show(text in markdown(), look in looks()) {
        let mut markdown = Markdown::new(look);
        let _ = markdown.push(&text);
        let pending = markdown.pending();
        // A possible table is previewed as one.
        if !text.contains('|') {
            prop_assert_eq!(pending, markdown.finish());
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_but_what_must_not_be_torn(text in markdown(), look in looks()) {
        for line in whole(&text, look) {
            prop_assert!(fits(&line, look.width, &text), "{:?}", line_text(&line));
            for row in rows(line, look.width) {
                prop_assert!(line_columns(&row) <= look.width, "{:?}", line_text(&row));
            }
        }
    }

    #[test]
    fn any_text_is_shown_without_a_panic_and_without_harm(text in any::<String>(), more in ".{0,200}", look in looks()) {
        let shown = said(&whole(&(text + &more), look));
        let harmful = shown.chars().any(|c| c != '\n' && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')));
        prop_assert!(!harmful);
    }

    #[test]
    fn no_word_is_lost(text in markdown(), look in looks()) {
        nothing_of_it_is_lost(&text, look);
    }

    #[test]
    fn words_alone_come_out_as_they_went_in(text in "[a-zé日]{1,12}( [a-zé日]{1,12}){0,80}", look in looks()) {
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(squeeze(&said(&whole(&text, look))), squeeze(&text));
    }
}

proptest! {
    /// A window may be resized at any time: later output fits, and no word is lost.
    #[test]
    fn what_is_open_fits_a_window_of_another_size(text in markdown(), from in looks(), width in 8usize..100, cut in any::<prop::sample::Index>()) {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        let to = from.at_width(width);
        let mut markdown = Markdown::new(from);
        let mut lines = markdown.push(&text[..cut]);
        let before = lines.len();
        lines.extend(markdown.set_look(to));
        lines.extend(markdown.push(&text[cut..]));
        lines.extend(markdown.finish());
        for line in &lines[before..] {
            prop_assert!(fits(line, width, &text), "{:?}", line_text(line));
        }
        let words = |lines: &[Line<'_>]| -> String { said(lines).chars().filter(|c| c.is_alphabetic()).collect() };
        // A table that becomes records repeats its header with each.
        if !text.contains('|') {
            prop_assert_eq!(words(&lines), words(&whole(&text, from)));
        }
    }
}

#[test]
fn a_table_that_streams_is_a_table_from_its_first_cell_on() {
    let look = Look::new(60, Styles::Monochrome, Background::Dark);
    for text in [
        "Costs:\n\n| Name | Size |\n|:-----|-----:|\n| a.rs | 12 |\n| b.rs | 7 |\n",
        "> | Name | Size |\n> |---|---|\n> | a.rs | 12 |\n",
        "- | Name | Size |\n  | --- | --- |\n  | a.rs | 12 |\n",
    ] {
        let mut markdown = Markdown::new(look);
        let mut is_table = false;
        for c in text.chars() {
            markdown.push(c.encode_utf8(&mut [0; 4]));
            let shown = said(&markdown.pending());
            assert!(!shown.contains('|') && !shown.contains("--"), "{shown}");
            // Once shown as a table, it stays one.
            assert!(!is_table || shown.contains('─'), "{shown}");
            is_table |= shown.contains('─');
        }
        assert!(is_table);
    }
}

#[test]
fn a_line_with_a_bar_in_it_is_no_table_and_neither_is_one_that_goes_on_as_words() {
    let look = Look::new(60, Styles::Monochrome, Background::Dark);
    for (text, shown) in [
        ("Pipe it: a | b", "Pipe it: a | b"),
        ("| not a table\nbut words", "| not a table but words"),
    ] {
        let mut markdown = Markdown::new(look);
        markdown.push(text);
        assert_eq!(said(&markdown.pending()).trim_end(), shown);
    }
    // Without a leading bar, only the delimiter row identifies a table.
    let mut markdown = Markdown::new(look);
    markdown.push("Name | Size\n--");
    assert!(said(&markdown.pending()).contains("Name │ Size"));
}

#[test]
fn a_paragraph_that_is_open_is_laid_out_anew_when_the_window_changes() {
    let rows = |lines: &[Line<'_>]| lines.iter().map(line_text).collect::<Vec<_>>();
    let mut markdown = Markdown::new(Look::new(24, Styles::Plain, Background::Dark));
    let words = "one two three four five six seven eight nine ten eleven twelve ";
    // This much is buffered before a row is shown.
    let begun = markdown.push(&words.repeat(30));
    assert_eq!(rows(&begun)[0], "one two three four five");
    let narrowed = markdown.set_look(Look::new(12, Styles::Plain, Background::Dark));
    assert!(rows(&narrowed).iter().all(|row| row.len() <= 12), "{narrowed:?}");
    let rest = markdown.finish();
    assert!(rows(&rest).iter().all(|row| row.len() <= 12), "{rest:?}");
    let all: Vec<String> = [begun, narrowed, rest].concat().iter().map(line_text).collect();
    assert_eq!(all.join(" "), words.repeat(30).trim_end());
}

#[test]
fn a_command_is_one_line_however_narrow_the_window_is() {
    let command =
        "curl -fsSL https://example.org/a/very/long/path/install.sh | sh -s -- --prefix ~/.local --yes --quiet";
    let url = "https://example.org/a/very/long/path/to/some/page?with=many&parameters=of&all=kinds#and-a-fragment";
    for (text, line) in [
        (format!("Run:\n\n```sh\n{command}\n```\n"), format!("  {command}")),
        (format!("Run:\n\n    {command}\n"), format!("  {command}")),
        (format!("- Run:\n  ```\n  {command}\n  ```\n"), format!("    {command}")),
        (format!("It stands at {url} for all.\n"), url.to_owned()),
        (format!("It stands at [a page]({url}) for all.\n"), format!("({url})")),
        (format!("- {url}\n"), format!("• {url}")),
    ] {
        for width in [20, 40, 80] {
            let look = Look::new(width, Styles::Colour, Background::Dark);
            let shown: Vec<String> = whole(&text, look).iter().map(line_text).collect();
            assert!(shown.contains(&line), "{width}: {shown:?}");
        }
    }
}

/// Open rows are redrawn again and again; narrowing the window leaves a copy of them.
#[test]
fn of_a_long_paragraph_that_streams_only_a_few_rows_are_open() {
    let words = "words of **some** weight and `code` that go on for a [while](https://example.org) and a bit, ";
    for (width, styles) in [(40, Styles::Colour), (80, Styles::Colour), (120, Styles::Monochrome)] {
        for begins in ["", "- ", "> ", "# "] {
            let look = Look::new(width, styles, Background::Dark);
            let mut markdown = Markdown::new(look);
            let (mut worst, text) = (0, begins.to_owned() + &words.repeat(30));
            for piece in text.as_bytes().chunks(7) {
                markdown.push(std::str::from_utf8(piece).unwrap());
                worst = worst.max(markdown.pending().len());
            }
            assert!(
                worst <= 1 + 3 * 96_usize.div_ceil(width.min(96)),
                "{worst} rows at {width} of {begins:?}"
            );
        }
    }
}

#[test]
fn a_long_line_that_is_known_by_its_end_is_waited_for() {
    let look = Look::new(80, Styles::Colour, Background::Dark);
    let url = "https://example.org/".to_owned() + &"a/".repeat(150);
    let rows = whole(&format!("[ref]: {url}\n\nsee [it][ref]\n\n{}\n", "-".repeat(300)), look);
    let shown: Vec<String> = rows.iter().map(line_text).collect();
    assert!(shown.iter().any(|row| row.contains(&format!("({url})"))), "{shown:?}");
    assert!(shown.last().unwrap().chars().all(|c| c == '─'), "{shown:?}");
}

#[test]
fn emoji_that_are_joined_stay_joined_however_long_the_line_is() {
    for width in [40, 79, 100] {
        let look = Look::new(width, Styles::Colour, Background::Dark);
        let family = "👩\u{200d}👩\u{200d}👧";
        let shown = said(&whole(&family.repeat(400), look));
        assert_eq!(shown.matches(family).count(), 400, "{width}: {shown}");
    }
}

/// The buffer is bounded, so endless text is emitted while it arrives.
#[test]
fn a_text_without_an_end_comes_out_while_it_goes_in() {
    let look = Look::new(80, Styles::Colour, Background::Dark);
    for (what, head, unit) in [
        ("a paragraph on one line", "", "words and more words, and "),
        ("a paragraph on many lines", "", "words and more words, and\n"),
        ("one word", "", "abcdefgh"),
        ("one wide word", "", "日本語"),
        ("marks without an end", "", "*a _b [c `d "),
        ("a block of code", "```rust\n", "let a = \"b\"; // c\n"),
        ("code on one line", "```rust\n", "let a = \"b\"; /* c */ "),
        ("a table", "| a | b |\n|---|---|\n", "| some cell | another cell |\n"),
        ("a row of a table", "| a | b |\n|---|---|\n", "| cell "),
        ("a line of bars", "", "| cell "),
        ("a list", "", "- an item\n"),
        ("quotes within quotes", "", "> "),
        ("lists within lists", "", "- "),
        ("html", "<div>\n", "<p>text</p>\n"),
        ("blank lines", "", "\n"),
        ("a heading", "# ", "title "),
        ("combining marks", "a", "\u{301}"),
        ("brackets", "", "["),
        ("quoted lines", "", "> quoted\n"),
    ] {
        let mut markdown = Markdown::new(look);
        let (mut pushed, mut shown, mut worst) = (0, 0, 0);
        markdown.push(head);
        let part = unit.repeat(4_096 / unit.len());
        let watch = Stopwatch::begin();
        while pushed < 400_000 {
            let lines = markdown.push(&part);
            pushed += part.len();
            shown += said(&lines).len();
            if pushed % (10 * part.len()) == 0 {
                worst = worst.max(said(&markdown.pending()).len());
            }
        }
        let silent = ["blank lines", "quotes within quotes", "lists within lists"].contains(&what);
        assert!(
            silent || shown > pushed / 3,
            "{what}: {shown} of {pushed} bytes are out"
        );
        assert!(worst < 64 * 1024, "{what}: {worst} bytes are pending");
        // Far above the actual time, and far below that of quadratic behaviour.
        let took = watch.elapsed();
        assert!(took < Duration::from_secs(10), "{what}: {took:?}");
    }
}
