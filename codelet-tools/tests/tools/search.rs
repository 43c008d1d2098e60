//! `Grep`, `Glob`, `LS`, `Todo` and `Recall`.

use crate::trial::{Trial, to_read};
use codelet_agent::permission::Permission;
use codelet_context::body::Body;
use codelet_testkit::MachineClock;
use serde_json::json;
use std::fs::File;
use std::time::{Duration, SystemTime};

fn trial() -> Trial {
    let trial = Trial::new(Permission::Edit);
    trial.write("src/a.rs", "fn one() {}\nfn two() {}\n");
    trial.write("src/deep/b.rs", "// nothing\nfn ONE() {}\n");
    trial.write("notes.txt", "one\r\n");
    trial.write("target/c.rs", "fn one() {}\n");
    trial.write(".gitignore", "target\n");
    trial.write(".github/ci.yml", "run: one\n");
    trial.write(".git/config", "one\n");
    trial.write("bin", b"one\0\n");
    trial
}

#[test]
fn lines_are_found_in_order_past_what_is_ignored() {
    let trial = trial();
    assert_eq!(
        trial.done("Grep", json!({"pattern": r"\bone\b"})),
        ".github/ci.yml:1:run: one\nnotes.txt:1:one\nsrc/a.rs:1:fn one() {}\n"
    );
    assert_eq!(
        trial.done(
            "Grep",
            json!({"pattern": "^fn one", "glob": "*.rs", "ignore_case": true, "output_mode": "files_with_matches"})
        ),
        "src/a.rs\nsrc/deep/b.rs\n"
    );
    assert_eq!(
        trial.done("Grep", json!({"pattern": "fn", "path": "src", "output_mode": "count"})),
        "src/a.rs:2\nsrc/deep/b.rs:1\n"
    );
    // A file that is named explicitly is searched, even if ignored.
    assert_eq!(
        trial.done("Grep", json!({"pattern": "one", "path": "target/c.rs"})),
        "target/c.rs:1:fn one() {}\n"
    );
    assert_eq!(
        trial.done("Grep", json!({"pattern": "one$", "path": "notes.txt"})),
        "notes.txt:1:one\n"
    );
    assert_eq!(
        trial.done("Grep", json!({"pattern": "ONE", "path": "src", "context": 1})),
        "src/deep/b.rs-1-// nothing\nsrc/deep/b.rs:2:fn ONE() {}\n"
    );
    assert_eq!(
        trial.done("Grep", json!({"pattern": r"\{\}\nfn", "path": "src"})),
        "src/a.rs:1:fn one() {}\nsrc/a.rs:2:fn two() {}\n"
    );
    assert_eq!(
        trial.done("Grep", json!({"pattern": "none", "glob": "src/*.rs"})),
        "[no match in 1 file]\n"
    );
    for (pattern, why) in [
        ("foo(bar", "unclosed group, at character 4, \"(bar\""),
        (
            "é[z-a]",
            "invalid character class range, the start must be <= the end, at character 3, \"z-a]\"",
        ),
        (
            r"a\p{Nothing}",
            "Unicode property not found, at character 2, \"\\\\p{Nothing}\"",
        ),
        (
            "x(?=y)",
            "look-around, including look-ahead and look-behind, is not supported, at character 2, \"(?=y)\"",
        ),
        (
            "one\\",
            "incomplete escape sequence, reached end of pattern prematurely, at character 4, \"\\\\\"",
        ),
    ] {
        trial.fails(
            "Grep",
            json!({"pattern": pattern}),
            &format!("not a valid regular expression: {why}"),
        );
    }
    trial.fails("Grep", json!({"pattern": "x", "path": "gone"}), "no such file");
    trial.fails("Grep", json!({"pattern": "x", "path": "/"}), "refused");
}

#[test]
fn too_much_is_cut_and_said() {
    let trial = Trial::new(Permission::Edit);
    trial.write("a", "match\n".repeat(1000));
    let text = trial.done("Grep", json!({"pattern": "match"}));
    assert!(text.ends_with(
        "a:200:match\n[stopped after 200 lines; there may be more: narrow the search, or raise the limit]\n"
    ));
    assert_eq!(
        trial
            .done("Grep", json!({"pattern": "match", "limit": 1000}))
            .lines()
            .count(),
        1000
    );
    trial.write("a", format!("{}needle{}\n", "x".repeat(50_000), "y".repeat(50_000)));
    let text = trial.done("Grep", json!({"pattern": "needle"}));
    assert!(
        text.len() < 500 && text.contains("xneedley") && text.contains("this line has 100,006 bytes"),
        "{text}"
    );
    // A line longer than memory, in a sparse file.
    File::create(trial.workspace.join("a"))
        .unwrap()
        .set_len(20 << 30)
        .unwrap();
    let start = std::time::Instant::now();
    trial.done("Grep", json!({"pattern": "needle"}));
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_interrupted_search_stops() {
    let trial = Trial::new(Permission::All);
    let interrupt = trial.interrupt.clone();
    let clock = crate::trial::block_on(async {
        let throw = async {
            tokio::task::yield_now().await;
            let clock = MachineClock::start();
            interrupt.throw();
            clock
        };
        let (output, clock) = tokio::join!(
            trial.make("Grep", json!({"pattern": "no such line", "path": "/usr"})),
            throw
        );
        assert_eq!(output.text.as_str(), "interrupted by the user");
        clock
    });
    assert!(clock.elapsed() < Duration::from_millis(500), "{:?}", clock.elapsed());
}

#[test]
fn of_all_ignore_files_the_nearest_decides_and_those_for_searches_before_gits() {
    let trial = Trial::new(Permission::Edit);
    for (name, text) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/info/exclude", "a/excluded\na/shown\n"),
        (".gitignore", "\u{feff}*.log\n/top\na/deep/\n[\nb/*\n!b/kept\n"),
        ("a/.gitignore", "!keep.log\n!shown\nlocal\n"),
        ("a/.ignore", "noise\n!c.log\n"),
        (".ignore", "a/b.txt\nsub/z\n"),
        // A nested repository, with its own patterns.
        ("sub/.git/info/exclude", "x\n"),
        ("sub/.gitignore", "y\n"),
    ] {
        trial.write(name, text);
    }
    for name in [
        "x.log", "top", "a/top", "a/keep.log", "a/c.log", "a/d.log", "a/deep/e", "a/excluded", "a/shown", "a/local",
        "local", "a/noise", "a/in/noise", "noise", "a/b.txt", "b/gone", "b/kept", "sub/x", "sub/y", "sub/z", "sub/w",
    ] {
        trial.write(name, "needle\n");
    }
    let found = "a/c.log\na/keep.log\na/shown\na/top\nb/kept\nlocal\nnoise\nsub/w\n";
    let search = |place: &str| json!({"pattern": "needle", "output_mode": "files_with_matches", "path": place});
    assert_eq!(trial.done("Grep", search(".")), found);
    // Same as ripgrep.
    let walk = ignore::WalkBuilder::new(&trial.workspace)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| !entry.file_name().to_string_lossy().starts_with(".git"))
        .build();
    let files = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let names = files.map(|entry| {
        entry
            .path()
            .strip_prefix(&trial.workspace)
            .unwrap()
            .display()
            .to_string()
    });
    let names: String = names
        .filter(|name| !name.ends_with(".ignore"))
        .map(|name| name + "\n")
        .collect();
    assert_eq!(names, found);
    // The same from a subfolder: patterns of parent folders apply.
    assert_eq!(trial.done("Grep", search("a")), "a/c.log\na/keep.log\na/shown\na/top\n");
    assert_eq!(trial.done("Grep", search("a/in")), "[no match in 0 files]\n");
    assert_eq!(trial.done("Grep", search("sub")), "sub/w\n");
    let listed = trial.done("LS", json!({"path": "a"}));
    assert!(
        listed.ends_with("top (7 bytes)\n[6 ignored: deep/, b.txt (7 bytes), d.log (7 bytes), excluded (7 bytes), local (7 bytes), noise (7 bytes)]\n"),
        "{listed}"
    );
}

/// Ignore files that a clone may contain, or that a command created.
#[test]
fn an_ignore_file_that_is_no_plain_one_of_bounded_length_is_passed_over_and_told() {
    let long = "x".repeat(1024 * 1024 + 1);
    let crowded = "x*\n".repeat(5_001);
    let wide = "*a".repeat(513);
    for name in [".gitignore", ".ignore", "deep/.gitignore", ".git/info/exclude"] {
        for (what, why) in [
            ("/dev/zero", "it is a link"),
            ("a.md", "it is a link"),
            ("nowhere", "it is a link"),
            ("pipe", "this is a pipe, not a file"),
            ("socket", "this is a socket, not a file"),
            ("folder", "this is a folder"),
            ("long", "it is too long"),
            ("crowded", "it is too long"),
            ("wide", "a pattern in it is too long"),
        ] {
            let trial = Trial::new(Permission::Edit);
            trial.write("a.md", "needle\n");
            trial.write("deep/b.md", "needle\n");
            trial.write(".git/HEAD", "ref: refs/heads/main\n");
            trial.write(".git/info/x", "");
            let path = trial.workspace.join(name);
            match what {
                "pipe" => rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &path,
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::from_raw_mode(0o600),
                    0,
                )
                .unwrap(),
                "socket" => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
                "folder" => std::fs::create_dir(&path).unwrap(),
                "long" => drop(trial.write(name, &long)),
                "crowded" => drop(trial.write(name, &crowded)),
                "wide" => drop(trial.write(name, &wide)),
                target => std::os::unix::fs::symlink(target, &path).unwrap(),
            }
            let note = format!("[1 ignore file not obeyed: {name} ({why})]\n");
            let found = trial.done("Grep", json!({"pattern": "needle", "glob": "*.md"}));
            assert_eq!(found, format!("a.md:1:needle\ndeep/b.md:1:needle\n{note}"), "{what}");
            let found = trial.done("Glob", json!({"pattern": "*.md"}));
            assert!(found.ends_with(&note), "{found}");
            if !name.starts_with("deep") {
                let listed = trial.done("LS", json!({}));
                assert!(listed.contains("a.md (7 bytes)") && listed.ends_with(&note), "{listed}");
                // And from a subfolder.
                trial.tells("LS", json!({"path": "deep"}), why);
            }
        }
    }
}

#[test]
fn all_ignore_files_of_a_search_together_are_bounded() {
    let trial = Trial::new(Permission::Edit);
    trial.write(".git/HEAD", "ref: refs/heads/main\n");
    let text = format!("#{}\n", "x".repeat(1024 * 1024 - 2));
    for number in 10..30 {
        trial.write(&format!("{number}/.gitignore"), &text);
        trial.write(&format!("{number}/a.md"), "");
    }
    let found = trial.done("Glob", json!({"pattern": "*.md"}));
    assert_eq!(found.lines().count(), 21, "{found}");
    assert!(
        found.contains("[4 ignore files not obeyed: 26/.gitignore (it is too long), "),
        "{found}"
    );
}

#[test]
fn files_are_found_by_name_the_newest_first() {
    let trial = trial();
    let old = SystemTime::now() - Duration::from_secs(1000);
    for name in ["src/a.rs", "src/deep/b.rs"] {
        File::open(trial.workspace.join(name))
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    trial.write("src/deep/z.rs", "");
    for (pattern, expected) in [
        ("*.rs", "src/deep/z.rs\nsrc/a.rs\nsrc/deep/b.rs\n"),
        ("**/*.rs", "src/deep/z.rs\nsrc/a.rs\nsrc/deep/b.rs\n"),
        ("src/*.rs", "src/a.rs\n"),
        ("src/**/[bz].rs", "src/deep/z.rs\nsrc/deep/b.rs\n"),
        ("src/deep/../*.{rs,txt}", "src/a.rs\n"),
        ("*.py", "[no file matches]\n"),
        ("target/*", "target/c.rs\n"),
    ] {
        assert_eq!(trial.done("Glob", json!({"pattern": pattern})), expected, "{pattern}");
    }
    assert_eq!(
        trial.done("Glob", json!({"pattern": "b.*", "path": "src"})),
        "src/deep/b.rs\n"
    );
    let absolute = format!("{}/src/*.rs", trial.workspace.display());
    assert_eq!(trial.done("Glob", json!({"pattern": absolute})), "src/a.rs\n");
    for pattern in ["/etc/*", "../*", "src/../../*"] {
        trial.fails("Glob", json!({"pattern": pattern}), "refused");
    }
    trial.fails("Glob", json!({"pattern": "*/../../*"}), "`..` after a wildcard");
    trial.fails("Glob", json!({"pattern": "[a"}), "`pattern`");
}

#[test]
fn what_exists_under_a_name_with_the_signs_of_a_pattern_is_that_name() {
    let trial = Trial::new(Permission::Edit);
    for name in [
        "app/[id]/page.tsx",
        "app/i/page.tsx",
        "app/(auth)/in/[[...slug]]/page.tsx",
        "app/[user-id]/page.tsx",
        "{{cookie.name}}/{{cookie.name}}/main.py",
        "pages/deep/[id].tsx",
        "pages/[...all].tsx",
        "src/[!]/a.rs",
        "lib/a/b.rs",
        "lib/{a}/c.rs",
    ] {
        trial.write(name, "word\n");
    }
    for (pattern, found) in [
        ("app/[id]/*.tsx", &["app/[id]/page.tsx"][..]),
        ("app/[id]/page.tsx", &["app/[id]/page.tsx"]),
        ("app/(auth)/in/[[...slug]]/*", &["app/(auth)/in/[[...slug]]/page.tsx"]),
        ("**/[[...slug]]/page.tsx", &["app/(auth)/in/[[...slug]]/page.tsx"]),
        ("**/[user-id]/*.tsx", &["app/[user-id]/page.tsx"]),
        ("app/[user-id]/*", &["app/[user-id]/page.tsx"]),
        (
            "{{cookie.name}}/{{cookie.name}}/*.py",
            &["{{cookie.name}}/{{cookie.name}}/main.py"],
        ),
        ("[id].tsx", &["pages/deep/[id].tsx"]),
        ("pages/[...all].tsx", &["pages/[...all].tsx"]),
        (
            "{pages,app}/{deep,[user-id]}/*.tsx",
            &["app/[user-id]/page.tsx", "pages/deep/[id].tsx"],
        ),
        ("src/[!]/*.rs", &["src/[!]/a.rs"]),
        // If there is no such name, or the component contains a wildcard, they are special characters.
        ("app/[hij]/*.tsx", &["app/i/page.tsx"]),
        ("lib/[ab]/[!a].rs", &["lib/a/b.rs"]),
        ("lib/{a,b}/*", &["lib/a/b.rs"]),
        ("lib/\\{a\\}/*", &["lib/{a}/c.rs"]),
        ("app/[h-j]*/*.tsx", &["app/i/page.tsx"]),
    ] {
        let text = trial.done("Glob", json!({"pattern": pattern}));
        let mut names: Vec<&str> = text.lines().collect();
        names.sort_unstable();
        assert_eq!(names, found, "{pattern}");
        let parameters = json!({"pattern": "word", "glob": pattern, "output_mode": "files_with_matches"});
        let text = trial.done("Grep", parameters);
        let mut names: Vec<&str> = text.lines().collect();
        names.sort_unstable();
        assert_eq!(names, found, "{pattern}");
    }
    let below = json!({"pattern": "word", "path": "app", "glob": "![id]/**", "output_mode": "files_with_matches"});
    let text = trial.done("Grep", below);
    assert!(text.contains("app/i/page.tsx") && !text.contains("[id]"), "{text}");
    let below = json!({"pattern": "[id]/*", "path": trial.workspace.join("app")});
    assert_eq!(trial.done("Glob", below), "app/[id]/page.tsx\n");
}

#[test]
fn a_folder_is_listed_with_sizes_and_what_is_ignored() {
    let trial = trial();
    std::os::unix::fs::symlink("src", trial.workspace.join("link")).unwrap();
    trial.write("tab\tname", "");
    assert_eq!(
        trial.done("LS", json!({})),
        ".github/\nsrc/\n.gitignore (7 bytes)\nbin (5 bytes)\nlink -> src\nnotes.txt (5 bytes)\n\"tab\\tname\" (0 bytes)\n[2 ignored: .git/, target/]\n"
    );
    assert_eq!(trial.done("LS", json!({"path": "link"})), "deep/\na.rs (24 bytes)\n");
    trial.fails("LS", json!({"path": "bin"}), "Read shows it");
    trial.fails("LS", json!({"path": ".."}), "refused");
    for number in 0..400 {
        trial.write(&format!("many/{number}"), "");
    }
    let text = trial.done("LS", json!({"path": "many"}));
    assert!(text.ends_with("[and 100 more; Glob finds files by name]\n"), "{text}");
}

#[test]
fn the_list_is_shown_as_it_was_understood() {
    let trial = trial();
    let todos = json!({"todos": [
        {"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}, {"content": "test", "status": "pending"},
    ]});
    assert_eq!(trial.done("Todo", todos.clone()), "[x] read\n[>] write\n[ ] test\n");
    let parameters = codelet_context::message::Parameters::new(todos.as_object().unwrap().clone());
    assert_eq!(trial.tool("Todo").describe(&parameters), "2 open, now: write");
    assert_eq!(trial.done("Todo", json!({"todos": []})), "[the list is empty]\n");
    trial.fails("Todo", json!({}), "`todos` is missing");
}

#[test]
fn what_was_removed_is_given_back() {
    let mut trial = trial();
    let handle = trial
        .conversation
        .keep(&Body::new("the whole\ntext"), "Bash", "bound")
        .as_str()
        .to_owned();
    assert_eq!(trial.done("Recall", json!({"handle": handle})), "the whole\ntext");
    let text = trial.done("Recall", json!({"handle": handle, "range": "lines 2-2"}));
    assert_eq!(text, "text\n[bytes 10-14 of 14 (lines 2-2 of 2)]\n");
    trial.fails("Recall", json!({"handle": "zzz"}), "there is nothing under zzz");
    trial.fails("Recall", json!({"handle": handle, "range": "x"}), "`range` has to be");
}

#[test]
fn all_that_the_model_is_told_of_the_tools_is_short() {
    let trial = trial();
    let bytes: usize = trial
        .tools
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            spec.name.len() + spec.description.len() + spec.parameters.to_string().len()
        })
        .sum();
    assert!(bytes.div_ceil(4) <= 1_300, "{} tokens", bytes.div_ceil(4));
}

#[cfg(unix)]
#[test]
fn a_name_that_would_break_the_list_is_one_line_and_can_be_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let trial = Trial::new(Permission::Edit);
    for name in [&b"odd/caf\xe9.txt"[..], b"odd/two\nlines.txt", b"odd/\x1b[31mred.txt"] {
        let path = trial.write("odd/x", "");
        let name = std::path::Path::new(std::ffi::OsStr::from_bytes(name))
            .file_name()
            .unwrap();
        std::fs::write(path.with_file_name(name), "needle\n").unwrap();
        std::fs::remove_file(path).unwrap();
    }
    let listed = trial.done("Glob", json!({"pattern": "odd/*"}));
    let mut names: Vec<&str> = listed.lines().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "\"odd/\\u{1b}[31mred.txt\"", "\"odd/caf\\xe9.txt\"", "\"odd/two\\nlines.txt\""
        ]
    );
    for name in names {
        let shown = trial.done("Read", to_read(name));
        assert!(shown.contains("needle"), "{name}: {shown}");
    }
    let found = trial.done("Grep", json!({"pattern": "needle", "path": "odd"}));
    assert_eq!(found.lines().count(), 3, "{found}");
}

#[test]
fn a_glob_that_is_negated_leaves_files_and_folders_out() {
    let trial = trial();
    for (glob, expected) in [
        ("!*.rs", ".github/ci.yml\nnotes.txt\n"),
        ("!src", ".github/ci.yml\nnotes.txt\n"),
        ("!src/", ".github/ci.yml\nnotes.txt\n"),
        ("!./src/**", ".github/ci.yml\nnotes.txt\n"),
        ("!deep", ".github/ci.yml\nnotes.txt\nsrc/a.rs\n"),
        ("!/deep", ".github/ci.yml\nnotes.txt\nsrc/a.rs\nsrc/deep/b.rs\n"),
        ("!src/deep", ".github/ci.yml\nnotes.txt\nsrc/a.rs\n"),
        ("!**/*.{rs,yml}", "notes.txt\n"),
        ("!nothing", ".github/ci.yml\nnotes.txt\nsrc/a.rs\nsrc/deep/b.rs\n"),
    ] {
        let asked = json!({"pattern": "one", "glob": glob, "output_mode": "files", "ignore_case": true});
        assert_eq!(trial.done("Grep", asked), expected, "{glob}");
    }
    assert_eq!(
        trial.done("Grep", json!({"pattern": "one", "path": "notes.txt", "glob": "!*.txt"})),
        "[nothing was searched: `glob` leaves no file]\n"
    );
    assert_eq!(
        trial.done("Grep", json!({"pattern": "one", "glob": "*.zig"})),
        "[nothing was searched: `glob` leaves no file]\n"
    );
    trial.fails("Grep", json!({"pattern": "one", "glob": "!"}), "names nothing");
    trial.fails("Glob", json!({"pattern": "!*.rs"}), "what is looked for");
    trial.write("!odd.rs", "one\n");
    assert_eq!(trial.done("Glob", json!({"pattern": "\\!*.rs"})), "!odd.rs\n");
    assert_eq!(
        trial.done(
            "Grep",
            json!({"pattern": "one", "glob": "\\!*.rs", "output_mode": "files"})
        ),
        "!odd.rs\n"
    );
}

/// Runs on a thread that is subject to file permissions, even as root.
#[cfg(target_os = "linux")]
fn held_to_permissions(work: impl FnOnce() + Send + 'static) {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    let held = move || {
        let had = capabilities(None).unwrap();
        let kept = !(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        let sets = CapabilitySets {
            effective: had.effective & kept,
            ..had
        };
        set_capabilities(None, sets).unwrap();
        work();
    };
    std::thread::spawn(held).join().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn what_may_not_be_read_is_told_and_never_as_what_is_not_there() {
    use std::os::unix::fs::PermissionsExt;
    let trial = trial();
    trial.write("src/secret/s.txt", "top\n");
    trial.write("src/closed.txt", "top\n");
    trial.write("src/open.txt", "top\n");
    let closed = ["src/secret", "src/closed.txt"].map(|name| trial.workspace.join(name));
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for path in &closed {
        mode(path, 0o000);
    }
    held_to_permissions(move || {
        for (tool, parameters, told) in [
            (
                "Grep",
                json!({"pattern": "top"}),
                "src/open.txt:1:top\n[1 folder and 1 file could not be read: src/closed.txt, src/secret]\n",
            ),
            (
                "Grep",
                json!({"pattern": "nowhere", "glob": "open.*"}),
                "[no match in 1 file]\n[1 folder could not be read: src/secret]\n",
            ),
            (
                "Glob",
                json!({"pattern": "**/s.txt"}),
                "[no file matches]\n[1 folder could not be read: src/secret]\n",
            ),
            (
                "Glob",
                json!({"pattern": "*.rs", "path": "src/deep"}),
                "src/deep/b.rs\n",
            ),
        ] {
            assert_eq!(trial.done(tool, parameters), told);
        }
        for (tool, parameters) in [
            ("Grep", json!({"pattern": "top", "path": "src/secret"})),
            ("Grep", json!({"pattern": "top", "path": "src/secret/s.txt"})),
            ("Grep", json!({"pattern": "top", "path": "src/closed.txt"})),
            ("Glob", json!({"pattern": "*.txt", "path": "src/secret"})),
            ("Glob", json!({"pattern": "src/secret/*.txt"})),
            ("Glob", json!({"pattern": "src/secret/deep/*.txt"})),
            ("LS", json!({"path": "src/secret"})),
        ] {
            let told = trial.failed(tool, parameters.clone());
            assert!(told.ends_with("Permission denied"), "{tool} {parameters}: {told}");
        }
        mode(&closed[0], 0o700);
    });
}

#[test]
fn what_stands_behind_a_nul_is_found_or_said_not_to_have_been_looked_at() {
    let trial = Trial::new(Permission::Read);
    let lines = "all fine\n".repeat(20_000);
    trial.write(
        "logs/app.log",
        b"all fine\n\0\0PANIC: disk gone\x1b[0m\0\nPANIC again\n",
    );
    trial.write("logs/big.log", format!("{lines}\0\nPANIC: disk gone\n"));
    trial.write("logs/clean.log", "all fine\n");
    trial.write("logs/program", b"\x7fELF\n\0PANIC\n");
    trial.write("logs/shot.ico", b"\0\0\x01\0PANIC\n");
    // A file that is named explicitly is searched to the end.
    for (path, expected) in [
        (
            "logs/app.log",
            "logs/app.log:2:��PANIC: disk gone�[0m�\nlogs/app.log:3:PANIC again\n[bytes that are not text are shown as �]\n",
        ),
        ("logs/big.log", "logs/big.log:20002:PANIC: disk gone\n"),
        (
            "logs/program",
            "logs/program:2:�PANIC\n[bytes that are not text are shown as �]\n",
        ),
    ] {
        assert_eq!(trial.done("Grep", json!({"pattern": "PANIC", "path": path})), expected);
    }
    let count = json!({"pattern": "PANIC", "path": "logs/app.log", "output_mode": "count"});
    assert_eq!(trial.done("Grep", count), "logs/app.log:2\n");
    let across = json!({"pattern": "gone.*\\nPANIC", "path": "logs/app.log", "output_mode": "files_with_matches"});
    assert_eq!(trial.done("Grep", across), "logs/app.log\n");
    // In a folder, no binary file counts as searched, and that is told if nothing is found.
    assert_eq!(
        trial.done("Grep", json!({"pattern": "PANIC", "path": "logs"})),
        "[no match in 1 file; 4 binary files were not searched to the end, as a file that `path` names is]\n"
    );
    let fine = json!({"pattern": "fine", "output_mode": "files_with_matches"});
    assert_eq!(trial.done("Grep", fine), "logs/big.log\nlogs/clean.log\n");
    let told = trial.done("Grep", json!({"pattern": "PANIC", "glob": "*.ico"}));
    assert_eq!(
        told,
        "[no match in 0 files; 1 binary file was not searched to the end, as a file that `path` names is]\n"
    );
}
