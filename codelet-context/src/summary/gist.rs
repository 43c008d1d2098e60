//! The gist of what somebody said: its first words that mean something.

use super::PROMPT;
use super::asks::asks;
use crate::harness;
use crate::message::{Message, Origin, Part, Role};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Lines of a text that are looked at for one that means something.
const LINES: usize = 100;
/// Bytes of something that is no word and yet all that was said.
const SIGN: usize = 24;
/// Blocks in tags before a prompt that are passed over.
const BLOCKS: usize = 8;

/// What the prompts of a turn say first.
pub(super) fn prompt(messages: &[Arc<Message>], range: Range<usize>) -> Option<String> {
    let range = range.start.min(messages.len())..range.end.min(messages.len());
    let prompts = messages[range.clone()]
        .iter()
        .take_while(|message| message.role != Role::Assistant);
    let mut texts: Vec<&str> = prompts
        .filter(|message| message.is_prompt())
        .flat_map(|message| own_texts(message))
        .collect();
    // The words in a block of a harness are not the user's. What a session begins with is all that anybody has asked for.
    let is_first = !messages[..range.start].iter().any(|message| message.is_prompt());
    let is_block = |text: &&str| harness::is_all_blocks(text) && command(text).is_none();
    let is_all_blocks = texts.iter().all(is_block);
    // Unless a block says by its name that it is what somebody asks for, and nobody has said anything beside it.
    let beside = texts.iter().filter(|text| is_all_blocks || !is_block(text));
    let asked = beside.filter_map(|text| asked_in_block(text)).next();
    if !is_first || !is_all_blocks {
        texts.retain(|text| !is_block(text));
    }
    let in_words = texts.iter().filter_map(|text| gist(users_words(text)?));
    let besides = texts
        .iter()
        .filter_map(|text| gist(behind_frame(text)).or_else(|| command(text).filter(|line| is_in_words(line))));
    let commands = texts.iter().filter_map(|text| command(text));
    let others = texts.iter().filter_map(|text| gist(text));
    let mut said = in_words.chain(besides).chain(commands).chain(asked).chain(others);
    let first = said.next();
    match first {
        // Who greets first, or calls a command of the harness, says then what is to be done.
        Some(words) if !asks(&words) => said.find(|words| asks(words)).or(Some(words)),
        Some(words) => Some(words),
        // `2` and `?` are no words, and may be all that was said.
        None => file(&messages[range.start..]).or_else(|| {
            let mut said = texts.iter().map(|text| text.trim());
            let said = said.find(|said| !said.is_empty() && said.len() <= SIGN && !said.starts_with('<'));
            said.map(str::to_owned)
        }),
    }
}

/// Whether a command was given more than a name or a number.
fn is_in_words(line: &str) -> bool {
    line.split_whitespace().nth(3).is_some()
}

/// A command that stands in tags of a harness with what it was given: `/review 325`.
fn command(text: &str) -> Option<String> {
    let (mut rest, mut name, mut given) = (text.trim_start(), "", "");
    for _ in 0..BLOCKS {
        let Some((tag, inside, behind)) = harness::block(rest) else {
            break;
        };
        rest = behind;
        let inside = inside.trim();
        if !tag.contains("command") {
            continue;
        } else if tag.contains("arg") {
            given = inside;
        } else if tag.ends_with("name") && inside.starts_with('/') {
            name = inside;
        }
    }
    let given = given[..given.floor_char_boundary(4 * PROMPT)].trim();
    (!name.is_empty()).then(|| format!("{name} {given}").trim_end().to_owned())
}

/// The file that a prompt without words consists of.
fn file(messages: &[Arc<Message>]) -> Option<String> {
    let first = messages.first().filter(|message| message.is_prompt())?;
    first.parts.iter().find_map(|part| match part {
        Part::Opaque(opaque) if opaque.is_file() => Some(opaque.label()),
        _ => None,
    })
}

/// What the user says in a text that consists of blocks in tags and names the one of them that is the user's, or that has a
/// heading for it (`## My request for the agent:`).
fn users_words(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    let mut found = None;
    for _ in 0..BLOCKS {
        let Some((name, inside, behind)) = harness::block(rest) else {
            break;
        };
        if harness::holds_words(name) {
            found = Some(inside);
        }
        rest = behind;
    }
    found.or_else(|| behind_heading(rest))
}

/// What is asked for in the first block of a text whose name says so: `<bug_report>`.
fn asked_in_block(text: &str) -> Option<String> {
    let mut rest = text.trim_start();
    for _ in 0..BLOCKS {
        let (name, inside, behind) = harness::block(rest)?;
        if harness::holds_a_request(name)
            && let Some(words) = gist(inside)
        {
            return Some(words);
        }
        rest = behind;
    }
    None
}

/// What stands under a heading that says that the user's request follows. Only behind other headings: else it is the user's.
fn behind_heading(text: &str) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n').take(LINES) {
        at += line.len();
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let is_request = ["my request", "user request", "user query"]
            .iter()
            .any(|words| heading.starts_with(words));
        if is_request && line.starts_with('#') && at > line.len() && text.starts_with('#') {
            return Some(&text[at..]);
        }
    }
    None
}

/// What a text says behind what some recorders put before the user's words: blocks in tags, and paragraphs on what the
/// editor shows.
fn behind_frame(text: &str) -> &str {
    const EDITOR: [&str; 3] = ["# User State", "Currently visible files", "Currently open file"];
    let mut rest = text.trim_start();
    for _ in 0..BLOCKS {
        if let Some((_, _, behind)) = harness::block(rest) {
            rest = behind;
        } else if EDITOR.iter().any(|words| rest.starts_with(words))
            && let Some((_, behind)) = rest.split_once("\n\n")
        {
            rest = behind.trim_start();
        } else {
            break;
        }
    }
    rest
}

/// What the model says first.
pub(super) fn said(message: &Message) -> Option<String> {
    own_texts(message).filter_map(gist).next()
}

fn own_texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
        _ => None,
    })
}

/// The first words of a text that mean something: its first line besides tags and signs, and the next ones if that only
/// leads up to them (`Implement this plan:`) or is a word like `Done!`.
fn gist(text: &str) -> Option<String> {
    let mut gist = String::new();
    let mut behind = text;
    for line in text.split_inclusive('\n').take(LINES) {
        behind = &behind[line.len()..];
        let line = line.trim_end();
        // What a harness puts behind short words does not go on with them.
        if line.starts_with('<') && !gist.is_empty() && !gist.ends_with(':') {
            break;
        }
        let Some(line) = meaning(line).filter(|line| !opens_block(line, behind)) else {
            continue;
        };
        let line = plain(line);
        if !gist.is_empty() {
            gist.push(' ');
        }
        // Quoted on one line, and bounded there; this bounds the work.
        gist.push_str(&line[..line.floor_char_boundary(4 * PROMPT)]);
        if gist.len() >= 16 && !gist.ends_with(':') || gist.len() > 2 * PROMPT {
            break;
        }
    }
    (!gist.is_empty()).then_some(gist)
}

/// A line without marks of emphasis, which say nothing where the line is cut: `**Done:**`. In code, `a**b` stays.
fn plain(line: &str) -> Cow<'_, str> {
    let line = match line.trim_end_matches(['*', '_']) {
        rest if rest.ends_with(':') => rest,
        _ => line,
    };
    if !line.contains("**") {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("**") {
        out.push_str(before);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if is_word(out.chars().next_back()) && is_word(behind.chars().next()) {
            out.push_str("**");
        }
        rest = behind;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a line opens a block in tags that is closed below.
fn opens_block(line: &str, behind: &str) -> bool {
    /// Bytes in which the end is looked for.
    const FAR: usize = 16 * 1024;
    let behind = &behind[..behind.floor_char_boundary(FAR)];
    let Some(Tag::Open(name, rest)) = front(line) else {
        return false;
    };
    let end = format!("</{name}>");
    !rest.contains(&end) && behind.contains(&end)
}

/// What a line begins with that is in angle brackets.
enum Tag<'a> {
    /// A tag that opens an element: its name, and what stands behind it.
    Open(&'a str, &'a str),
    /// A tag that stands for itself or closes an element: its name, and what stands behind it.
    Whole(&'a str, &'a str),
    /// A tag without a name of its own, or one that goes on below.
    Other,
}

/// What may stand in the name of a tag.
fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')
}

/// The tag that a line begins with. `<- here`, `<me@x.org>` and `<5 ms` begin with none.
fn front(line: &str) -> Option<Tag<'_>> {
    let rest = line.strip_prefix('<')?;
    if rest.starts_with(['!', '?']) {
        return Some(Tag::Other);
    }
    if let Some(rest) = rest.strip_prefix('/') {
        return Some(
            rest.split_once('>')
                .map_or(Tag::Other, |(name, behind)| Tag::Whole(name, behind)),
        );
    }
    let (name, rest) = rest.split_at(rest.find(|c| !is_in_name(c)).unwrap_or(rest.len()));
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (rest.is_empty() || rest.starts_with("/>") || rest.starts_with(['>', ' ', '\t']));
    if !is_tag {
        return None;
    }
    let Some((attributes, behind)) = rest.split_once('>') else {
        return Some(Tag::Other);
    };
    Some(match attributes.ends_with('/') {
        true => Tag::Whole(name, behind),
        false => Tag::Open(name, behind),
    })
}

/// The tags of a line that close an element, by their names, each with the place behind it, ascending. A line may have very
/// many that open one, and the end of each is looked for.
fn closings(line: &str) -> Vec<(&str, usize)> {
    let closing = |(at, _): (usize, &str)| {
        let name = &line[at + 2..];
        let name = &name[..name.find(|c| !is_in_name(c))?];
        let end = at + 2 + name.len();
        line[end..].starts_with('>').then_some((name, end + 1))
    };
    let mut all: Vec<(&str, usize)> = line.match_indices("</").filter_map(closing).collect();
    all.sort_unstable();
    all
}

/// A line without the elements of a harness before it, if it is more than tags and what stands in them. Words behind a tag
/// that is never closed speak of it: `<select> loses focus`.
fn beside_tags(line: &str) -> Option<&str> {
    let has_words = |text: &str| text.contains(char::is_alphanumeric);
    let (mut own, mut rest) = (line, line);
    let mut tag = front(rest);
    let ends = tag.as_ref().map_or_else(Vec::new, |_| closings(line));
    // What stands behind the element that this tag opens.
    let behind_element = |name: &str, behind: &str| {
        let at = line.len() - behind.len();
        let next = ends.partition_point(|&end| end <= (name, at));
        let end = ends.get(next).filter(|end| end.0 == name);
        end.map(|&(_, end)| &line[end..])
    };
    while let Some(front_of_rest) = tag {
        let (name, behind) = match front_of_rest {
            Tag::Other => return None,
            Tag::Whole(name, behind) => (name, behind),
            Tag::Open(name, behind) => match behind_element(name, behind) {
                Some(behind) => (name, behind),
                None => {
                    rest = behind.trim_start();
                    tag = front(rest);
                    continue;
                }
            },
        };
        let is_first = own.len() == rest.len();
        rest = behind.trim_start();
        if is_first && harness::could_be_a_tag(&name.to_ascii_lowercase(), false) {
            own = rest;
        }
        tag = front(rest);
    }
    has_words(rest).then_some(own)
}

/// A line without the signs before it, if it has words besides them. A line that is nothing but tags and what stands in them,
/// or stands in brackets, is a harness's.
fn meaning(line: &str) -> Option<&str> {
    let mut line = line.trim().trim_start_matches(['#', '>', '-', '*', '=', ' ']);
    // A quotation that ends stays whole.
    while let Some(rest) = line.strip_prefix(['`', '"']).filter(|rest| !rest.contains(&line[..1])) {
        line = rest;
    }
    line = line.trim_start_matches("```").trim_start();
    line = without_end(line);
    line = beside_tags(line)?;
    let is_bracket = line.starts_with('[') && line.ends_with(']');
    (!is_bracket && line.chars().filter(|c| c.is_alphanumeric()).take(2).count() == 2).then_some(line)
}

/// A line without the tag at its end that closes what was opened before it.
fn without_end(line: &str) -> &str {
    let closed = || {
        let (front, name) = line.strip_suffix('>')?.rsplit_once("</")?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'));
        (is_name && !front.contains(&format!("<{name}"))).then(|| front.trim_end())
    };
    closed().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_words_are_found_among_what_a_harness_puts_around_them() {
        let said = |texts: &[&str]| {
            let messages: Vec<_> = texts.iter().map(|text| Arc::new(Message::user(*text))).collect();
            prompt(&messages, 0..messages.len())
        };
        let info = "<user_info>\nOS Version: linux\n</user_info>\n\n<project_layout>\na/\n</project_layout>";
        let table: [&[&str]; 13] = [
            &[info, "<user_query>\nmend the parser\n</user_query>"],
            &[info, "mend the parser"],
            &["mend the parser", info],
            &[
                "<context>\nIt is Monday.\n</context>\n<reminder>\nBe brief.\n</reminder>\n<userRequest>\nmend the parser\n</userRequest>",
            ],
            &["<task>\nmend the parser\n</task>\n<environment_details>\n# Open tabs\na.rs\n</environment_details>"],
            &["mend the parser\n<info-msg>\nIt is 9.\n</info-msg>"],
            &["# User State\n\nCurrently visible files user has open: src/a.py\n\nmend the parser"],
            &["# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nmend the parser"],
            &["<note>only a note</note>", "mend the parser"],
            &["<mine>mend the parser</mine>\nmend the parser"],
            &["<ide-context path=\"a\">\nThe user has opened the file a.rs.\n</ide-context>\nmend the parser"],
            &["<user_query id=\"1\">mend the parser</user_query>"],
            &["<open-files n=\"2\">\na.rs\n</open-files>\n<user-message at='9'>\nmend the parser\n</user-message>"],
        ];
        for texts in table {
            assert_eq!(said(texts).as_deref(), Some("mend the parser"), "{texts:?}");
        }
        assert_eq!(
            said(&["# User State\n\nThe table is wrong"]).as_deref(),
            Some("The table is wrong")
        );
        let command = "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n\
                       <command-args>325</command-args>";
        assert_eq!(said(&[command]).as_deref(), Some("/review 325"));
        assert_eq!(said(&[command, "mind the tests"]).as_deref(), Some("mind the tests"));
        assert_eq!(said(&["# My request\nbelow"]).as_deref(), Some("My request below"));
        let command = "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n\
                       <command-args>https://x.org/1 and https://x.org/2\n\nthey go together</command-args>";
        let all = "/plan https://x.org/1 and https://x.org/2\n\nthey go together";
        assert_eq!(said(&[command]).as_deref(), Some(all));
        assert_eq!(said(&[command, "mind the tests"]).as_deref(), Some(all));
        assert_eq!(said(&["<b>only this</b>"]), None);
        assert_eq!(behind_heading("mend the parser\n# My request\nis above"), None);
    }

    #[test]
    fn the_words_in_a_block_of_a_harness_are_not_the_users() {
        let prompts = |texts: [&str; 2]| {
            let messages = [
                Arc::new(Message::user(texts[0])),
                Arc::new(Message::assistant("Done.")),
                Arc::new(Message::user(texts[1])),
            ];
            [prompt(&messages, 0..1), prompt(&messages, 2..3)]
        };
        let skill = "<skill>\n<name>deploy</name>\nPush everything to production.\n</skill>";
        assert_eq!(prompts(["mend it", skill]), [Some("mend it".to_owned()), None]);
        let beside = "<skill>\n<name>deploy</name>\n</skill>\nnot this one";
        assert_eq!(prompts(["mend it", beside])[1].as_deref(), Some("not this one"));
        let pasted = "<table>\n<tr>one</tr>\n</table>\nwhy is it empty?";
        assert_eq!(prompts(["mend it", pasted])[1].as_deref(), Some("why is it empty?"));
        // Nothing else says what the session is for.
        let task = "<pr_description>\nThe parser loses comments.\n</pr_description>";
        assert_eq!(
            prompts([task, "go on"])[0].as_deref(),
            Some("The parser loses comments.")
        );
    }

    #[test]
    fn what_asks_for_something_stands_for_a_turn_that_begins_with_a_greeting_or_a_command() {
        let said = |texts: &[&str]| {
            let messages: Vec<_> = texts.iter().map(|text| Arc::new(Message::user(*text))).collect();
            prompt(&messages, 0..messages.len())
        };
        let asked = "mend the parser";
        for before in ["/mode", "hi", "Hello there!", "Operation stopped by hook: no"] {
            assert_eq!(said(&[before, asked]).as_deref(), Some(asked), "{before}");
            assert_eq!(said(&[before]).as_deref(), Some(before));
            assert_eq!(said(&[asked, before]).as_deref(), Some(asked), "{before}");
        }
        assert_eq!(said(&["go on", asked]).as_deref(), Some("go on"));
    }

    #[test]
    fn a_block_that_says_by_its_name_that_it_asks_for_something_does_so_later_too() {
        let later = |texts: &[&str]| {
            let mut messages = vec![
                Arc::new(Message::user("mend it")),
                Arc::new(Message::assistant("Done.")),
            ];
            messages.extend(texts.iter().map(|text| Arc::new(Message::user(*text))));
            prompt(&messages, 2..messages.len())
        };
        let (reminder, asked) = ("<system-reminder>\nBe brief.\n</system-reminder>", "Add a dark mode.");
        for name in [
            "task_description",
            "bug_report",
            "acceptance_criteria",
            "user-story",
            "pr_description",
            "project_goal",
            "steps-to-reproduce",
            "instructions",
        ] {
            let block = format!("<{name}>\n{asked}\n</{name}>");
            let beside = format!("<context>\nWe have themes.\n</context>\n{block}");
            for texts in [&[&*block][..], &[&*beside], &[reminder, &*block]] {
                assert_eq!(later(texts).as_deref(), Some(asked), "{texts:?}");
            }
            assert_eq!(later(&[&block, "only this"]).as_deref(), Some("only this"));
        }
        assert_eq!(later(&["<issue>Add a dark mode.</issue>"]).as_deref(), Some(asked));
        for name in [
            "turn_aborted",
            "subagent_notification",
            "task-notification",
            "task_status",
            "teammate-message",
            "memory_update",
            "bash-input",
            "user_instructions",
            "custom_instructions",
            "context",
            "skill",
        ] {
            assert_eq!(later(&[&*format!("<{name}>\n{asked}\n</{name}>")]), None, "{name}");
        }
    }

    #[test]
    fn words_behind_a_tag_that_is_never_closed_speak_of_it() {
        for line in [
            "<select> on the page loses focus. fix it",
            "<title> of the index page is wrong, it should say Shop",
            "<T extends Foo> in router.ts does not compile",
            "<- this arrow should point right",
            "<Error>: it crashed, why?",
            "<br/> is printed as it stands",
            "<input type=\"text\"> cannot be cleared",
            "<me@example.org> gets no mail",
            "<https://example.org> is not found",
            "<5 ms would do",
            "<ul><li> nests too deep",
            "<b>Note</b>: this is urgent",
        ] {
            assert_eq!(gist(line).as_deref(), Some(line));
        }
        for text in [
            "<b>only this</b>",
            "<div class=\"card\">\n  <h1>Title</h1>\n</div>",
            "<note>one\n</note>",
            "<!-- a comment -->",
            "<div class=\"a\"",
            "<status>failed</status> <summary>all of it</summary>",
            "<br/>",
        ] {
            assert_eq!(gist(text), None, "{text}");
        }
        assert_eq!(
            gist("<thinking>is it?</thinking> It is mended.").as_deref(),
            Some("It is mended.")
        );
    }

    /// Whatever looks at the rest of the line for each tag does not end here in minutes.
    #[test]
    fn a_line_of_nothing_but_tags_is_read_in_time_in_proportion_to_its_bytes() {
        for (tags, is_said) in [
            ("<br>", true),
            ("<a-b>", true),
            ("<a-b> ", true),
            ("<a-b>x</a-b>", true),
            ("<path d='M 1 2'/>", true),
            ("<x ", false),
            ("</x>", true),
            ("<user_query>", true),
            ("<a><b></a>", true),
            ("<a></b></c>", true),
            ("<", true),
            ("`\"", true),
            ("**", true),
        ] {
            let text = format!("{} make it", tags.repeat(2_000_000 / tags.len()));
            let texts = [Arc::new(Message::user(text.as_str()))];
            assert_eq!(prompt(&texts, 0..1).is_some(), is_said, "{tags}");
        }
        let many: String = (0..100_000).map(|number| format!("<a{number}>")).collect();
        assert!(gist(&(many + " make it")).is_some());
    }

    #[test]
    fn an_element_ends_at_the_first_tag_behind_it_that_closes_it() {
        for (line, beside) in [
            ("<a-b>x</a-b> go on", Some("go on")),
            ("<a-b>x</a-b><c-d>y</c-d> go on", Some("go on")),
            ("</a-b><a-b>x go on", Some("<a-b>x go on")),
            ("<a-b x=</a-b> go on", Some("<a-b x=</a-b> go on")),
            ("<a-b><c-d>x</a-b> go </c-d> on", Some("go </c-d> on")),
            ("<a-b><c-d>x</c-d> go", Some("<a-b><c-d>x</c-d> go")),
            ("<a-b>x</a-b.c></a-b:c> go", Some("<a-b>x</a-b.c></a-b:c> go")),
            ("<a-b>x</a-b>", None),
        ] {
            assert_eq!(beside_tags(line), beside, "{line}");
        }
    }

    #[test]
    fn a_tag_that_ends_elsewhere_is_not_part_of_a_line() {
        assert_eq!(meaning("both go together</args>"), Some("both go together"));
        assert_eq!(meaning("use Vec<String>"), Some("use Vec<String>"));
        assert_eq!(meaning("make <b>this</b>"), Some("make <b>this</b>"));
    }

    #[test]
    fn a_quotation_that_ends_stays_whole() {
        assert_eq!(meaning("`main` is protected"), Some("`main` is protected"));
        assert_eq!(meaning("\"left open"), Some("left open"));
        assert_eq!(meaning("- ```rust"), Some("rust"));
    }

    #[test]
    fn the_gist_of_a_text_is_its_first_line_with_words() {
        let table = [
            ("\n# Fix the lost comments\nmore", Some("Fix the lost comments")),
            (
                "Implement the following plan:\n\n# Faster start\nx",
                Some("Implement the following plan: Faster start"),
            ),
            (
                "<command-name>/clear</command-name>\nreal words here",
                Some("real words here"),
            ),
            ("[Request interrupted by user]", None),
            ("Done!\nThe flag is documented.", Some("Done! The flag is documented.")),
            ("---\n```\n", None),
            ("yes", Some("yes")),
            (
                "Done. We're at:\n\n**Completed:**\n- the parser\n- the printer",
                Some("Done. We're at: Completed: the parser"),
            ),
            (
                "All **three** tests pass, and 2**8 is 256.",
                Some("All three tests pass, and 2**8 is 256."),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(gist(text).as_deref(), expected, "{text}");
        }
    }
}
