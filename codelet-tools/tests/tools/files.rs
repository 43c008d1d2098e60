//! `Read`, `Write` and `Edit`.

use crate::trial::{Trial, names, to_edit, to_read, to_write};
use codelet_agent::permission::Permission;
use codelet_agent::tool::Need;
use codelet_context::message::Parameters;
use codelet_tools::secrets::Secrets;
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn trial() -> Trial {
    Trial::new(Permission::Edit)
}

#[test]
fn a_file_is_read_with_line_numbers_and_says_how_to_go_on() {
    let trial = trial();
    trial.write("a.rs", "fn main() {\n}\n");
    assert_eq!(trial.done("Read", to_read("a.rs")), "1\tfn main() {\n2\t}\n");
    let many: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    trial.write("many", &many);
    let text = trial.done("Read", to_read("many"));
    assert!(
        text.ends_with("2000\tline 2000\n[lines 1-2000 of 5,000; offset 2001 goes on]\n"),
        "{text}"
    );
    let text = trial.done("Read", json!({"file_path": "many", "offset": 4999, "limit": "1"}));
    assert_eq!(
        text,
        "4999\tline 4999\n[lines 4999-4999 of 5,000; offset 5000 goes on]\n"
    );
    assert_eq!(
        trial.done("Read", json!({"file_path": "many", "offset": 5000})),
        "5000\tline 5000\n"
    );
    trial.fails(
        "Read",
        json!({"file_path": "many", "offset": 5001}),
        "it has 5,000 lines",
    );
}

#[test]
fn long_lines_and_long_files_are_cut_with_a_word() {
    let trial = trial();
    trial.write("long", format!("{}\nshort\n", "ä".repeat(100_000)));
    let text = trial.done("Read", to_read("long"));
    assert!(
        text.len() < 3_000 && text.contains("this line has about 200,000 bytes"),
        "{text}"
    );
    assert!(text.ends_with("2\tshort\n"));
    trial.write("wide", format!("{}\n", "x".repeat(999)).repeat(1000));
    let text = trial.done("Read", to_read("wide"));
    assert!(
        text.len() < 60_000 && text.contains("of 1,000; offset 51 goes on"),
        "{}",
        &text[text.len() - 80..]
    );
}

#[test]
fn what_is_special_about_a_file_is_said() {
    let trial = trial();
    trial.write("crlf", "a\r\nb\r\n");
    assert_eq!(trial.done("Read", to_read("crlf")), "1\ta\n2\tb\n[lines end in CRLF]\n");
    for (text, expected) in [
        (
            "l1\rl2\rl3\r",
            "1\tl1\rl2\rl3\r\n[3 carriage returns (\\r) without a line feed end no line here]\n",
        ),
        (
            "a\r\nb\r",
            "1\ta\n2\tb\r\n[1 line end in CRLF; 1 carriage return (\\r) without a line feed ends no line here]\n",
        ),
    ] {
        trial.write("returns", text);
        assert_eq!(trial.done("Read", to_read("returns")), expected);
    }
    trial.write("mixed", "a\r\nb\n");
    trial.tells("Read", to_read("mixed"), "[1 line end in CRLF]");
    trial.write("bom", b"\xef\xbb\xbfa");
    assert_eq!(
        trial.done("Read", to_read("bom")),
        "1\ta\n[UTF-8 with a byte-order mark]\n"
    );
    trial.write("utf16", b"\xff\xfea\0\n\0b\0");
    assert_eq!(trial.done("Read", to_read("utf16")), "1\ta\n2\tb\n[UTF-16]\n");
    trial.write("latin", b"caf\xe9\n");
    assert_eq!(
        trial.done("Read", to_read("latin")),
        "1\tcaf\u{fffd}\n[invalid bytes are shown as \u{fffd}]\n"
    );
    trial.write("empty", "");
    assert_eq!(trial.done("Read", to_read("empty")), "[the file is empty]");
}

#[test]
fn what_is_no_text_gets_a_clear_answer() {
    let trial = trial();
    trial.write("a.pdf", "%PDF-1.7");
    trial.write("bin", b"a\0b");
    for (name, part) in [
        (
            "a.pdf",
            "a PDF of 8 bytes, and nothing here reads it. In Bash, `pdftotext",
        ),
        ("bin", "a binary file"),
        (".", "LS lists it"),
        ("gone", "no such file"),
        ("bin/under", "no such file"),
    ] {
        trial.fails("Read", to_read(name), part);
    }
    rustix::fs::mkfifoat(rustix::fs::CWD, trial.workspace.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
    trial.fails("Read", to_read("fifo"), "a pipe");
    let free = Trial::new(Permission::All);
    free.fails("Read", to_read("/dev/zero"), "a device");
}

#[test]
fn a_notebook_is_read_cell_by_cell_with_what_was_printed() {
    let trial = trial();
    let long = "x".repeat(5_999) + "\n" + &"y".repeat(20_000) + "\nend";
    let notebook = json!({
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
            {"cell_type": "code", "execution_count": 3, "source": "print(1)\nplot()", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]},
                {"output_type": "display_data", "data": {
                    "image/png": "A".repeat(4_000), "text/plain": ["<Figure>"], "text/html": "<b>no</b>",
                }},
                {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\u{1b}[31mE\u{1b}[0m: bad"]},
            ]},
            {"cell_type": "code", "execution_count": null, "source": [], "outputs": [
                {"output_type": "execute_result", "data": {"application/json": {"a": [1]}}},
                {"output_type": "stream", "text": long},
            ]},
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
    });
    trial.write("a.ipynb", notebook.to_string());
    let read = |parameters: serde_json::Value| trial.done("Read", parameters);
    let shown = read(to_read("a.ipynb"));
    let begin = "1\t[cell 1: markdown]\n2\t# Title\n3\ttext\n4\t[cell 2: code, run 3]\n5\tprint(1)\n6\tplot()\n7\t[output]\n8\t1\n9\t2\n\
        10\t[output]\n11\t<Figure>\n12\t[a picture: image/png, about 3,000 bytes]\n13\t[output]\n14\tE: bad\n15\t[cell 3: code]\n\
        16\t[output]\n17\t{\"a\":[1]}\n18\t[output]\n19\txxx";
    assert!(shown.starts_with(begin), "{shown}");
    assert!(
        shown.contains("[17,812 bytes of this output are left out]") && shown.len() < 6_000,
        "{shown}"
    );
    assert!(
        shown.contains("\tend\n[a notebook in python with 3 cells; lines are counted as they are shown here"),
        "{shown}"
    );
    let part = read(json!({"file_path": "a.ipynb", "offset": 14, "limit": 1}));
    assert!(
        part.starts_with("14\tE: bad\n[lines 14-14 of 23; offset 15 goes on; "),
        "{part}"
    );
    // Edits apply to the JSON.
    trial.done("Edit", to_edit("a.ipynb", "print(1)\\nplot()", "print(2)"));
    assert!(read(to_read("a.ipynb")).contains("5\tprint(2)\n6\t[output]"));
    // The older format.
    let old = json!({"worksheets": [{"cells": [
        {"cell_type": "code", "input": "1+1", "prompt_number": 7, "outputs": [{"output_type": "pyout", "text": ["2"]}]},
    ]}]});
    trial.write("old.ipynb", old.to_string());
    let shown = read(to_read("old.ipynb"));
    assert!(
        shown.starts_with("1\t[cell 1: code, run 7]\n2\t1+1\n3\t[output]\n4\t2\n[a notebook with 1 cell;"),
        "{shown}"
    );
    trial.write("none.ipynb", json!({"cells": []}).to_string());
    assert!(read(to_read("none.ipynb")).starts_with("[a notebook with 0 cells;"));
    // An invalid notebook is shown as plain text.
    for text in ["{\"cells\": 1}", "{", "[1]"] {
        trial.write("broken.ipynb", text);
        assert_eq!(read(to_read("broken.ipynb")), format!("1\t{text}\n"));
    }
}

#[test]
fn a_file_of_ten_gigabytes_is_read_at_once() {
    let trial = trial();
    let path = trial.write("huge", format!("first\nsecond\n{}", "more\n".repeat(2000)));
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    // Sparse: it takes up no disk space.
    file.set_len(10 << 30).unwrap();
    let text = trial.done("Read", json!({"file_path": "huge", "limit": 2}));
    assert!(
        text.starts_with("1\tfirst\n2\tsecond\n[lines 1-2 of a file of 10,737,418,240 bytes"),
        "{text}"
    );
    trial.fails("Read", json!({"file_path": "huge", "offset": 9999}), "was not reached");
}

#[test]
fn pictures_go_to_models_that_see() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xffV\xc7/\r\0\0\0\0IEND\xaeB`\x82";
    let blind = trial();
    blind.write("a.png", png);
    blind.fails("Read", to_read("a.png"), "does not take pictures");
    let seeing = Trial::with(Permission::Edit, |options| options.sees_images = true);
    seeing.write("a.txt", png);
    let output = seeing.call("Read", to_read("a.txt"));
    assert!(output.success);
    assert_eq!(&*output.images[0].media_type, "image/png");
    assert!(
        output.images[0]
            .data
            .as_str()
            .starts_with("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB")
    );
    seeing.write("large", [&png[..], &vec![1; 5_000_000]].concat());
    seeing.fails("Read", to_read("large"), "make it smaller");
    // An image that providers would refuse, with every later request that contains it, is described instead.
    let mut tall = png.to_vec();
    tall[20..24].copy_from_slice(&9000u32.to_be_bytes());
    seeing.write("tall.png", &tall);
    seeing.fails("Read", to_read("tall.png"), "1 x 9,000 pixels");
    seeing.write("cut.png", &png[..8]);
    seeing.fails("Read", to_read("cut.png"), "cut off or damaged");
    seeing.write("notes.md", "GIF89a is how a GIF begins\n");
    assert_eq!(
        seeing.done("Read", to_read("notes.md")),
        "1\tGIF89a is how a GIF begins\n"
    );
}

#[test]
fn a_file_is_created_with_its_folders() {
    let trial = trial();
    let text = trial.done("Write", to_write("src/deep/a.rs", "a\nb"));
    assert_eq!(text, "Created src/deep/a.rs (2 lines)");
    assert_eq!(trial.bytes("src/deep/a.rs"), b"a\nb");
    // The session has seen what it wrote itself.
    let text = trial.done("Write", to_write("src/deep/a.rs", "c\n"));
    assert_eq!(text, "Overwrote src/deep/a.rs (1 line; before: 2 lines)");
}

#[test]
fn nothing_is_overwritten_that_was_not_looked_at() {
    let trial = trial();
    trial.write("a", "old\n");
    let write = to_write("a", "new\n");
    trial.fails("Write", write.clone(), "Read it before");
    trial.done("Read", to_read("a"));
    trial.write("a", "odd\n");
    trial.fails("Write", write.clone(), "changed since it was read");
    trial.fails("Edit", to_edit("a", "odd", "x"), "changed since");
    trial.done("Read", to_read("a"));
    trial.done("Write", write);
    assert_eq!(trial.bytes("a"), b"new\n");
    trial.write("empty", "");
    trial.done("Write", to_write("empty", "new"));
}

#[test]
fn a_file_is_written_through_its_links_and_keeps_its_permissions() {
    let trial = trial();
    let path = trial.write("real/run.sh", "echo old\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real/run.sh", trial.workspace.join("link")).unwrap();
    trial.done("Edit", to_edit("link", "old\n", "new\nexit\n"));
    assert_eq!(trial.bytes("real/run.sh"), b"echo new\r\nexit\r\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert!(trial.workspace.join("link").is_symlink());
    assert_eq!(names(&trial.workspace.join("real")), ["run.sh"]);
    trial.done("Read", to_read("link"));
    let text = trial.done("Write", to_write("link", "x\n"));
    assert!(
        text.contains("real/run.sh") && text.contains("still end in CRLF"),
        "{text}"
    );
    assert!(trial.workspace.join("link").is_symlink());
}

#[test]
fn an_edit_shows_what_it_changed() {
    let trial = trial();
    let file: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    trial.write("a", file);
    let text = trial.done("Edit", to_edit("a", "line 10\n", "new a\nnew b\n"));
    assert_eq!(
        text,
        "Edited a, 1 place:\n7\tline 7\n8\tline 8\n9\tline 9\n10\tnew a\n11\tnew b\n12\tline 11\n13\tline 12\n14\tline 13\n"
    );
    let text = trial.done(
        "Edit",
        json!({"file_path": "a", "old_string": "new", "new_string": "N", "replace_all": true}),
    );
    assert!(
        text.contains("2 places") && text.contains("10\tN a\n11\tN b\n"),
        "{text}"
    );
    trial.fails("Edit", to_edit("a", "line 1", "x"), "occurs 10 times, at lines 1,");
    let text = trial.failed("Edit", to_edit("a", "line  12", "x"));
    assert!(text.contains("line 13") && text.contains("white space"), "{text}");
}

#[test]
fn an_edit_keeps_bytes_that_are_no_text_and_utf16() {
    let trial = trial();
    trial.write("latin", b"caf\xe9 old \xff\r\n");
    trial.done("Edit", to_edit("latin", "old", "new"));
    assert_eq!(trial.bytes("latin"), b"caf\xe9 new \xff\r\n");
    // The encoding is unknown, so nothing in another one is inserted.
    let mixed = to_edit("latin", "new", "new, neu: Straße");
    let told = trial.failed("Edit", mixed);
    assert!(
        told.contains("from line 1 on it has bytes that are not UTF-8, and 'ß' in new_string")
            && told.contains("iconv"),
        "{told}"
    );
    assert_eq!(trial.bytes("latin"), b"caf\xe9 new \xff\r\n");
    trial.write("both", b"caf\xe9 stra\xc3\x9fe\n");
    trial.done("Edit", to_edit("both", "straße", "Straße"));
    assert_eq!(trial.bytes("both"), b"caf\xe9 Stra\xc3\x9fe\n");
    trial.write("unix", "a\nb\n");
    trial.done("Edit", to_edit("unix", "a", "x\r\ny"));
    assert_eq!(trial.bytes("unix"), b"x\ny\nb\n");
    trial.write("wide", b"\xfe\xff\0a\0\r\0\n\0b");
    let text = trial.done("Edit", to_edit("wide", "a\nb", "a\nc"));
    assert_eq!(trial.bytes("wide"), b"\xfe\xff\0a\0\r\0\n\0c");
    assert!(text.contains("2\tc"), "{text}");
}

#[test]
fn an_edit_looks_for_no_byte_order_mark_and_keeps_the_one_that_is_there() {
    let trial = trial();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for (file, old, new, expected) in [
        (
            "\u{feff}using A;\r\nend\r\n", "using A;\nend", "using B;\nend", "\u{feff}using B;\r\nend\r\n",
        ),
        (
            "\u{feff}using A;\r\nend\r\n", "\u{feff}using A;\nend", "using B;\nend", "\u{feff}using B;\r\nend\r\n",
        ),
        ("\u{feff}one\n", "\u{feff}one", "\u{feff}two", "\u{feff}two\n"),
        ("\u{feff}one\n", "one", "\u{feff}two", "\u{feff}two\n"),
        ("\u{feff}one\n", "one\n", "", "\u{feff}"),
        ("one\n", "\u{feff}one", "\u{feff}two", "two\n"),
        ("\u{feff}a\u{feff}b\n", "\u{feff}b", "b", "\u{feff}ab\n"),
        ("a\u{feff}b\n", "\u{feff}b", "b", "ab\n"),
    ] {
        trial.write("utf8", file);
        trial.write("utf16", wide(file));
        let edit = |name: &str| to_edit(name, old, new);
        let told = trial.done("Edit", edit("utf8"));
        assert!(!told.contains('\u{feff}'), "{told:?}");
        assert_eq!(String::from_utf8(trial.bytes("utf8")).unwrap(), expected, "{file:?}");
        if file.starts_with('\u{feff}') {
            trial.done("Edit", edit("utf16"));
            assert_eq!(trial.bytes("utf16"), wide(expected), "{file:?}");
        }
    }
}

#[test]
fn a_file_that_is_written_anew_keeps_its_line_ends_where_all_were_alike() {
    let trial = trial();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    for (old, content, new, told) in [
        (
            "@echo off\r\n",
            "a\nb\n",
            "a\r\nb\r\n",
            "; its lines still end in CRLF)",
        ),
        (
            "a\r\nlast",
            "b\n\nlast",
            "b\r\n\r\nlast",
            "; its lines still end in CRLF)",
        ),
        ("a\r\n", "a\nb\r\n\r", "a\r\nb\r\n\r", "before: 1 line)"),
        (
            "\u{feff}a\r\n",
            "b\n",
            "\u{feff}b\r\n",
            "; its lines still end in CRLF)",
        ),
        (
            "a\r\nb\n",
            "c\nd\n",
            "c\nd\n",
            "; some of its lines ended in CRLF, and all end in LF now)",
        ),
        ("a\n", "b\r\n", "b\r\n", "before: 1 line)"),
        ("a", "b\n", "b\n", "before: 1 line)"),
        ("a\r\n", "b", "b", "before: 1 line)"),
    ] {
        let marked = format!("\u{feff}{}", old.trim_start_matches('\u{feff}'));
        trial.write("utf8", old);
        trial.write("utf16", wide(&marked));
        for name in ["utf8", "utf16"] {
            trial.done("Read", to_read(name));
            let write = to_write(name, content);
            let shown = shown(&trial, "Write", write.clone()).unwrap();
            let mut added = shown.split('\n').filter(|line| line.starts_with('+'));
            assert_eq!(added.any(|line| line.ends_with('\r')), new.contains('\r'), "{shown:?}");
            let answer = trial.done("Write", write.clone());
            assert!(answer.trim_end().ends_with(told), "{answer}");
            trial.tells("Write", write, "already is exactly this");
        }
        assert_eq!(String::from_utf8(trial.bytes("utf8")).unwrap(), new, "{old:?}");
        let new = format!("\u{feff}{}", new.trim_start_matches('\u{feff}'));
        assert_eq!(trial.bytes("utf16"), wide(&new), "{old:?}");
    }
}

#[test]
fn a_name_that_reads_like_the_one_file_there_is_taken_for_it_and_that_is_said() {
    let trial = trial();
    trial.write("a re\u{301}sume\u{301}.md", "one\n");
    let name = "a r\u{e9}sum\u{e9}.md";
    let told = trial.done("Read", to_read(name));
    assert!(
        told.starts_with("1\tone\n[taken for \"a re\\u{301}sume\\u{301}.md\", whose name differs"),
        "{told}"
    );
    trial.done("Write", to_write(name, "two\n"));
    trial.done("Edit", to_edit(name, "two", "three"));
    assert_eq!(names(&trial.workspace), ["a re\u{301}sume\u{301}.md"]);
    assert_eq!(trial.bytes("a re\u{301}sume\u{301}.md"), b"three\n");
    // Judged by its target, like any other link.
    symlink(trial.outside.join("secret"), trial.workspace.join("to\u{a0}it")).unwrap();
    trial.fails("Write", to_write("to it", "x"), "outside the workspace");
    assert_eq!(names(&trial.outside), [] as [String; 0]);
}

#[test]
fn what_lies_outside_is_left_alone() {
    let trial = trial();
    std::fs::write(trial.outside.join("secret"), "undisclosed\n").unwrap();
    symlink(&trial.outside, trial.workspace.join("way")).unwrap();
    for (tool, parameters) in [
        ("Read", to_read("way/secret")),
        ("Read", to_read("../outside/secret")),
        ("Write", to_write("way/new", "x")),
        ("Edit", to_edit("way/secret", "undisclosed", "new")),
        ("Edit", to_edit("way/secret", "none of it", "new")),
    ] {
        let text = trial.failed(tool, parameters);
        assert!(
            text.starts_with("refused:") && text.contains("outside the workspace"),
            "{text}"
        );
        assert!(!text.contains("undisclosed"), "{text}");
    }
    assert_eq!(names(&trial.outside), ["secret"]);
    // A call that was not judged at all reads nothing.
    symlink("/etc", trial.workspace.join("etc")).unwrap();
    for name in ["etc/passwd", "way"] {
        let output = trial.call_with("Read", to_read(name), &[]);
        assert!(
            !output.success && output.text.as_str().contains("not judged"),
            "{}",
            output.text
        );
    }
}

#[test]
fn a_link_turned_between_the_judgement_and_the_call_is_not_followed() {
    let trial = trial();
    trial.write("mine", "ours\n");
    std::fs::write(trial.outside.join("secret"), "undisclosed\n").unwrap();
    let link = trial.workspace.join("link");
    let turn = |target: &Path| {
        let _ = std::fs::remove_file(&link);
        symlink(target, &link).unwrap();
    };
    let needs = |tool: &str, parameters: &Value| {
        let parameters = Parameters::new(parameters.as_object().unwrap().clone());
        trial.tool(tool).needs(&parameters).unwrap()
    };
    let calls = [
        ("Read", to_read("link")),
        ("Grep", json!({"pattern": ".", "path": "link"})),
        ("Edit", to_edit("link", "ours", "ours too")),
        ("Write", to_write("link", "all ours\n")),
    ];
    for (tool, parameters) in calls {
        turn(&trial.workspace.join("mine"));
        let judged = needs(tool, &parameters);
        turn(&trial.outside.join("secret"));
        let output = trial.call_with(tool, parameters, &judged);
        assert!(
            output.success && !output.text.as_str().contains("undisclosed"),
            "{}",
            output.text
        );
    }
    assert_eq!(trial.bytes("mine"), b"all ours\n");
    assert_eq!(std::fs::read(trial.outside.join("secret")).unwrap(), b"undisclosed\n");
}

#[test]
fn a_refused_call_leaves_no_trace_for_the_next_one_of_the_same_name() {
    let trial = trial();
    trial.write("mine", "ours\n");
    let link = trial.workspace.join("link");
    symlink("/etc/hostname", &link).unwrap();
    assert!(trial.failed("Read", to_read("link")).starts_with("refused:"));
    std::fs::remove_file(&link).unwrap();
    symlink("mine", &link).unwrap();
    assert!(trial.done("Read", to_read("link")).contains("ours"));
}

#[test]
fn a_change_is_shown_to_whoever_permits_it() {
    let trial = trial();
    trial.write("a", "one\ntwo\n");
    let parameters = to_edit("a", "two", "three");
    let needs = trial
        .tool("Edit")
        .needs(&Parameters::new(parameters.as_object().unwrap().clone()))
        .unwrap();
    let [
        Need::Change {
            path, is_inside, diff, ..
        },
    ] = needs.as_slice()
    else {
        panic!("{needs:?}")
    };
    assert_eq!(*path, trial.workspace.join("a"));
    assert!(is_inside);
    assert_eq!(diff, "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
}

/// The diff in the permission prompt.
fn shown(trial: &Trial, tool: &str, parameters: serde_json::Value) -> Result<String, String> {
    let parameters = Parameters::new(parameters.as_object().unwrap().clone());
    let needs = trial.tool(tool).needs(&parameters)?;
    let [Need::Change { diff, .. }] = needs.as_slice() else {
        panic!("{needs:?}")
    };
    Ok(diff.clone())
}

#[test]
fn a_new_file_without_content_is_a_change_and_an_empty_one_that_stays_is_none() {
    let trial = trial();
    let empty = |file: &str| shown(&trial, "Write", to_write(file, "")).unwrap();
    for file in ["__init__.py", "new/package/__init__.py", "name with … it"] {
        assert_eq!(empty(file), "… A new, empty file\n", "{file}");
    }
    trial.write("there.py", "");
    assert_eq!(empty("there.py"), "");
    trial.write("full.py", "import os\n");
    assert!(empty("full.py").contains("\n-import os\n"));
}

#[test]
fn a_change_of_a_long_file_is_shown_too() {
    let trial = trial();
    let long: String = (1..=120_000)
        .map(|n| format!("line {n} of a file that is long enough to be so\n"))
        .collect();
    assert!(long.len() > 5_000_000);
    for file in ["inside", &*trial.outside.join("outside").to_string_lossy()] {
        std::fs::write(trial.workspace.join(file), &long).unwrap();
        let edit = to_edit(file, "line 77 of", "LINE");
        let diff = shown(&trial, "Edit", edit).unwrap();
        assert!(
            diff.contains("\n-line 77 of a file") && diff.contains("\n+LINE a file") && diff.len() < 1_000,
            "{diff}"
        );
        let diff = shown(&trial, "Write", to_write(file, "all gone\n")).unwrap();
        assert!(
            diff.starts_with("1 file changed, 1 insertion(+), 120000 deletions(-)\n")
                && diff.ends_with("\n+all gone\n"),
            "{diff}"
        );
    }
    // Larger than what is read.
    trial.write("huge", "0123456789abcdef\n".repeat(700_000));
    let diff = shown(&trial, "Write", to_write("huge", "all gone\n")).unwrap();
    assert!(
        diff.starts_with("… It replaces a file of 11.9 MB") && diff.ends_with("\n+all gone\n"),
        "{diff}"
    );
}

#[test]
fn an_edit_that_cannot_be_made_is_answered_before_anybody_is_asked() {
    let trial = trial();
    trial.write("a", "one\ntwo\none\n");
    for (file, old, part) in [
        ("a", "one", "occurs 2 times, at lines 1, 3"),
        ("a", "three", "not found"),
        ("b", "one", "there is no such file"),
    ] {
        let why = shown(&trial, "Edit", to_edit(file, old, "x")).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
    // Errors about a file elsewhere that the model was not permitted to read are shown only to the person.
    let outside = trial.outside.join("a");
    std::fs::write(&outside, "one\none\n").unwrap();
    let edit = to_edit(outside, "one", "x");
    let diff = shown(&trial, "Edit", edit.clone()).unwrap();
    assert!(
        diff.starts_with("… This edit cannot be made: old_string occurs 2 times"),
        "{diff}"
    );
    let refused = trial.failed("Edit", edit);
    assert!(
        refused.starts_with("refused:") && !refused.contains("occurs"),
        "{refused}"
    );
    // Once it was permitted to read the file, the error tells it nothing new.
    let trial = Trial::with(Permission::All, |_| {});
    let outside = trial.outside.join("a");
    std::fs::write(&outside, "one\none\n").unwrap();
    trial.done("Read", to_read(&outside));
    let why = shown(&trial, "Edit", to_edit(outside, "three", "x")).unwrap_err();
    assert!(why.contains("not found"), "{why}");
}

#[test]
fn parameters_that_make_no_sense_are_answered() {
    let trial = trial();
    for (tool, parameters, part) in [
        ("Read", json!({}), "`file_path` is missing"),
        ("Read", json!({"file_path": 3}), "has to be a string"),
        ("Read", json!({"file_path": "a", "offset": -1}), "whole number"),
        ("Write", to_read("a"), "`content` is missing"),
        ("Edit", to_edit("a", "x", "x"), "the same"),
        ("Edit", to_edit("a", "", "x"), "empty"),
        ("Bash", json!({"command": " "}), "command line"),
    ] {
        trial.fails(tool, parameters, part);
    }
}

#[test]
fn a_secret_in_a_file_is_not_shown() {
    let trial = Trial::with(Permission::Edit, |options| {
        options.secrets = Secrets::new(&["sk-0123456789".to_owned()]).into()
    });
    trial.write(".env", "KEY=sk-0123456789\n");
    assert_eq!(trial.done("Read", to_read(".env")), "1\tKEY=[secret]\n");
    // Nor its beginning, where a line is cut.
    for before in 1_980..2_010 {
        trial.write("long", format!("{}sk-0123456789{}", "x".repeat(before), "y".repeat(50)));
        let shown = trial.done("Read", to_read("long"));
        assert!(!shown.contains("sk-0"), "{before}: {}", &shown[1_900..]);
    }
    let parameters = to_write(".env", "KEY=none\n");
    let needs = trial
        .tool("Write")
        .needs(&Parameters::new(parameters.as_object().unwrap().clone()))
        .unwrap();
    assert!(!format!("{needs:?}").contains("0123456789"));
}

#[test]
fn what_gives_orders_is_changed_under_edit_only_when_somebody_permits_it() {
    let trial = Trial::new(Permission::Edit);
    for (name, why) in [
        ("AGENTS.md", "gives instructions to agents"),
        ("sub/claude.md", "gives instructions to agents"),
        (".github/workflows/new.yml", "runs in CI"),
        (".vscode/tasks.json", "is applied by editors"),
        (".envrc", "is run by shells"),
        (".codelet/settings.toml", "is a Codelet setting"),
        ("link.md", "gives instructions to agents"),
    ] {
        if name == "link.md" {
            std::os::unix::fs::symlink("AGENTS.md", trial.workspace.join(name)).unwrap();
        } else {
            trial.write(name, "old\n");
        }
        trial.done("Read", to_read(name));
        let written = trial.failed("Write", to_write(name, "new\n"));
        let edited = trial.failed("Edit", to_edit(name, "old", "new"));
        assert!(
            written.contains(why) && edited.contains(why),
            "{name}: {written} {edited}"
        );
        if name != "link.md" {
            let ran = trial.failed("Bash", json!({"command": format!("echo new > {name}")}));
            assert!(ran.contains(why), "{name}: {ran}");
        }
        assert_eq!(trial.bytes(name), b"old\n", "{name}");
    }
    trial.done("Write", to_write("Makefile", "all:\n"));
    let trial = Trial::new(Permission::All);
    trial.done("Write", to_write("AGENTS.md", "new\n"));
}

#[test]
fn what_git_obeys_is_not_changed_unless_everything_is_permitted() {
    let trial = Trial::new(Permission::Edit);
    trial.write(".git/config", "[core]\n");
    trial.write("bare/HEAD", "ref: refs/heads/main\n");
    for folder in ["bare/objects", "bare/refs"] {
        std::fs::create_dir(trial.workspace.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(".git", trial.workspace.join("innocent")).unwrap();
    let evil = "[core]\n\tfsmonitor = evil\n";
    trial.done("Read", to_read(".git/config"));
    for name in [
        ".git/config", ".git/hooks/pre-commit", "innocent/config", "sub/.git/config", "sub/.Git/hooks/post-checkout",
        "bare/config",
    ] {
        let told = trial.failed("Write", to_write(name, evil));
        assert!(told.contains("belongs to git"), "{name}: {told}");
        assert!(!trial.workspace.join(name).is_file() || name.contains("config"));
    }
    let edit = to_edit(".git/config", "[core]", evil);
    trial.fails("Edit", edit.clone(), "belongs to git");
    assert_eq!(trial.bytes(".git/config"), b"[core]\n");
    trial.done("Write", to_write(".gitattributes", "* text\n"));
    let trial = Trial::new(Permission::All);
    trial.write(".git/config", "[core]\n");
    trial.done("Edit", edit);
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let trial = Trial::new(Permission::All);
    let path = trial.write("kept.txt", "old\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    trial.done("Read", to_read("kept.txt"));
    for (tool, parameters) in [
        ("Edit", to_edit("kept.txt", "old", "new")),
        ("Write", to_write("kept.txt", "new\n")),
    ] {
        trial.fails(tool, parameters, "kept.txt: it is write-protected (mode 0444)");
    }
    assert_eq!(trial.bytes("kept.txt"), b"old\n");
}

#[test]
fn a_hidden_value_stays_whatever_is_edited_around_it() {
    const FILE: &[u8] = b"KEY=sk-0123456789\nPORT=2\nID=0123\n";
    let trial = Trial::with(Permission::Edit, |options| {
        options.secrets = Secrets::new(&["sk-0123456789".to_owned()]).into()
    });
    trial.write(".env", "KEY=sk-0123456789\nPORT=1\nID=0123\n");
    trial.done("Read", to_read(".env"));
    let edit = to_edit(".env", "PORT=1", "PORT=2");
    trial.tells("Edit", edit, "1\tKEY=[secret]\n2\tPORT=2\n");
    assert_eq!(trial.bytes(".env"), FILE);
    // The mask is not the value, wherever it stands.
    for (old, new) in [
        ("KEY=[secret]\nPORT=2", "KEY=[secret]\nPORT=3"),
        ("PORT=2", "PORT=2\nB=[secret]"),
        ("KEY=[secret]", "KEY="),
    ] {
        let told = "[secret] in old_string or new_string stands for a hidden value";
        trial.fails("Edit", to_edit(".env", old, new), told);
    }
    let write = to_write(".env", "KEY=[secret]\nPORT=3\n");
    trial.fails("Write", write, "[secret] in content stands for a hidden value");
    // No text within a value is replaced, beside it, or among others.
    for (old, new) in [("KEY=sk", "KEY=x"), ("sk-01234", "sk-0x1234"), ("6789\n", "")] {
        trial.fails("Edit", to_edit(".env", old, new), "would change a hidden value");
    }
    let all = json!({"file_path": ".env", "old_string": "0123", "new_string": "1", "replace_all": true});
    trial.fails("Edit", all, "would change a hidden value");
    // An error shows the nearest text without the value.
    let told = trial.failed("Edit", to_edit(".env", "KEY=sk-0123456780\nPORT=2\nID=1", "x"));
    assert!(told.contains("KEY=[secret]") && !told.contains("6789"), "{told}");
    assert_eq!(trial.bytes(".env"), FILE);
    // If the model knows it anyway, it stays, too.
    let edit = to_edit(".env", "KEY=sk-0123456789\nPORT=2", "KEY=sk-0123456789\nPORT=3");
    trial.tells("Edit", edit, "1\tKEY=[secret]\n2\tPORT=3\n");
    assert_eq!(trial.bytes(".env"), b"KEY=sk-0123456789\nPORT=3\nID=0123\n");
    // In UTF-16, too; and in a file without hidden values, the mask is literal text.
    let utf16: Vec<u8> = "\u{feff}KEY=sk-0123456789\r\nx\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    trial.write("wide", &utf16);
    trial.fails("Edit", to_edit("wide", "[secret]\nx", "[secret]\ny"), "hidden value");
    trial.tells("Edit", to_edit("wide", "x", "y"), "1\tKEY=[secret]\n2\ty");
    let expected: Vec<u8> = utf16
        .iter()
        .map(|&byte| if byte == b'x' { b'y' } else { byte })
        .collect();
    assert_eq!(trial.bytes("wide"), expected);
    trial.done("Write", to_write("a.rs", "let mask = \"[secret]\";\n"));
    trial.done("Edit", to_edit("a.rs", "[secret]", "[secret] [secret]"));
    assert_eq!(trial.bytes("a.rs"), b"let mask = \"[secret] [secret]\";\n");
}

#[test]
fn a_file_that_is_written_anew_keeps_its_encoding() {
    let trial = trial();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    for (name, old, content, new) in [
        (
            "bom",
            b"\xef\xbb\xbfa\n".to_vec(),
            "ä\n",
            "\u{feff}ä\n".as_bytes().to_vec(),
        ),
        (
            "bom2",
            b"\xef\xbb\xbfa\n".to_vec(),
            "\u{feff}b\n",
            "\u{feff}b\n".as_bytes().to_vec(),
        ),
        ("wide", wide("\u{feff}hé\n"), "hö\n", wide("\u{feff}hö\n")),
        (
            "plain",
            b"a\n".to_vec(),
            "\u{feff}a\n",
            "\u{feff}a\n".as_bytes().to_vec(),
        ),
    ] {
        trial.write(name, &old);
        trial.done("Read", to_read(name));
        let told = trial.done("Write", to_write(name, content));
        assert_eq!(told, format!("Overwrote {name} (1 line; before: 1 line)"));
        assert_eq!(trial.bytes(name), new, "{name}");
        // The file counts as seen, and writing the same again changes nothing.
        trial.tells("Write", to_write(name, content), "already is exactly this");
    }
}

#[test]
fn invalid_bytes_are_not_written_over_by_the_sign_that_they_are_shown_as() {
    let trial = trial();
    let latin = b"# one\ncaf\xe9 x\nok\n";
    trial.write("latin", latin);
    trial.done("Read", to_read("latin"));
    let as_read = to_write("latin", "# one\ncaf\u{fffd} x\nOK\n");
    trial.fails("Write", as_read, "from line 2 on it has bytes that are not UTF-8");
    assert_eq!(trial.bytes("latin"), latin);
    trial.done("Edit", to_edit("latin", "ok", "OK"));
    // Other contents may replace them, and the loss is reported.
    trial.tells("Write", to_write("latin", "café\n"), "has none now");
    assert_eq!(trial.bytes("latin"), "café\n".as_bytes());
    // A `�` that is really in the file may stay.
    trial.write("both", b"\xef\xbf\xbd \xe9\n");
    trial.done("Read", to_read("both"));
    trial.failed("Write", to_write("both", "\u{fffd} \u{fffd}\n"));
    trial.done("Write", to_write("both", "\u{fffd} e\n"));
}
