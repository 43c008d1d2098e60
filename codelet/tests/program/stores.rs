//! Sessions in databases of other agents: listed, named, and read by every command that reads a recording.

use crate::common::{codelet, ended, folder, stderr, stdout};
use crate::made;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn run(args: &[&str]) -> Output {
    codelet(args).output().unwrap()
}

#[test]
fn every_store_is_listed_and_its_sessions_are_read() {
    let home = folder("stores_read");
    for made in made::ALL {
        let file = home.join(made.file);
        (made.make)(&file);
        let store = file.to_str().unwrap();
        let output = run(&["inspect", store, "--json"]);
        ended(&output, 0);
        let listed: Value = serde_json::from_str(stdout(&output)).unwrap();
        let ids: Vec<&str> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, made.ids, "{}", made.agent);
        let output = run(&["inspect", store]);
        ended(&output, 0);
        assert!(stdout(&output).contains("--index N"), "{}", stdout(&output));
        for one in [
            vec!["inspect", store, "--index", "0"],
            vec!["inspect", &format!("{store}#{}", made.ids[0])],
        ] {
            let output = run(&one);
            ended(&output, 0);
            let told = stdout(&output);
            assert!(told.contains(&format!("\n{} · ", made.agent)), "{told}");
            assert!(told.contains("Build the tea shop and run its tests."), "{told}");
        }
        let output = run(&["compact", store, "--index", "0", "--to", "openai"]);
        ended(&output, 0);
        let told = stdout(&output);
        assert!(
            told.contains("make test") && told.contains("2 failed") && told.contains("Two fail."),
            "{told}"
        );
        // All of them, one a line.
        let output = run(&["compact", store, "--to", "anthropic"]);
        ended(&output, 0);
        assert_eq!(stdout(&output).lines().count(), made.ids.len(), "{}", made.agent);
        for args in [["report", store], ["check", store]] {
            let output = run(&args);
            ended(&output, 2);
            assert!(
                stderr(&output).contains("choose one with --index N"),
                "{}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn what_is_not_in_a_store_is_told_and_nothing_overwrites_one() {
    let home = folder("stores_odd");
    let file = home.join("opencode.db");
    (made::ALL[0].make)(&file);
    let before = std::fs::read(&file).unwrap();
    let store = file.to_str().unwrap();
    for (args, words) in [
        (
            vec!["inspect", store, "--index", "9"],
            "contains 2 conversations, numbered from 0; there is no number 9",
        ),
        (
            vec!["inspect", &format!("{store}#ses_none")],
            "contains no session with the id \"ses_none\"",
        ),
        (
            vec!["compact", store, "--index", "0", "-o", store],
            "would overwrite the input",
        ),
        (
            vec!["compact", &format!("{store}#ses_tea"), "-o", store],
            "would overwrite the input",
        ),
        (
            vec!["report", &format!("{store}#ses_tea"), "-o", store],
            "is an input file",
        ),
    ] {
        let output = run(&args);
        ended(&output, 2);
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let other = home.join("other.db");
    made::run(&other, "CREATE TABLE tea (id TEXT PRIMARY KEY)");
    let output = run(&["inspect", other.to_str().unwrap()]);
    ended(&output, 2);
    assert!(
        stderr(&output).contains("an SQLite database of an unknown agent"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn sessions_of_stores_stand_among_the_others_and_their_numbers_name_them() {
    let home = folder("stores_home");
    for made in made::ALL {
        let file = home.join(made.home);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        (made.make)(&file);
    }
    let noted =
        serde_json::json!({"projects": [{"path": home.join("work/tea"), "data_dir": home.join("work/tea/.crush")}]});
    std::fs::create_dir_all(home.join(".local/share/crush")).unwrap();
    std::fs::write(home.join(".local/share/crush/projects.json"), noted.to_string()).unwrap();
    let broken = home.join(".local/share/opencode/opencode-local.db");
    std::fs::write(&broken, [b"SQLite format 3\0".as_slice(), &[7; 4_096]].concat()).unwrap();
    let run = |args: &[&str]| {
        let mut command = codelet(args);
        command.env_clear().env("HOME", &home).current_dir(&home);
        command.output().unwrap()
    };
    let output = run(&["sessions", "--all", "--json"]);
    ended(&output, 0);
    let listed: Value = serde_json::from_str(stdout(&output)).unwrap();
    let listed = listed.as_array().unwrap();
    let all: usize = made::ALL.iter().map(|made| made.ids.len()).sum();
    assert_eq!(listed.len(), all, "{listed:#?}");
    for made in made::ALL {
        let is_it = |one: &&Value| one["agent"] == made.agent && one["id"] == made.ids[0];
        let one = listed.iter().find(is_it).unwrap_or_else(|| panic!("{}", made.agent));
        assert!(
            one["project"]
                .as_str()
                .is_some_and(|project| project.ends_with("/tea") || project.ends_with("/kettle")),
            "{one}"
        );
        let number = format!("@{}", one["number"]);
        let output = run(&["inspect", &number]);
        ended(&output, 0);
        assert!(stdout(&output).contains("Build the tea shop"), "{}", stdout(&output));
        let output = run(&["report", &number]);
        ended(&output, 0);
    }
    let output = run(&["sessions"]);
    assert!(
        stderr(&output).contains("opencode-local.db: is a damaged SQLite database"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        std::fs::read_dir(broken.parent().unwrap()).unwrap().count(),
        2,
        "nothing is left beside a store"
    );
}

#[test]
fn a_report_takes_one_conversation_of_a_data_set() {
    let home = folder("report_index");
    let reply = |words: &str| {
        format!(
            "{{\"messages\":[{{\"role\":\"user\",\"content\":\"{words}\"}},{{\"role\":\"assistant\",\"content\":\"Yes.\"}}]}}\n"
        )
    };
    let file = home.join("set.jsonl");
    std::fs::write(&file, reply("First?") + &reply("Second?")).unwrap();
    let file = file.to_str().unwrap();
    for (args, has) in [
        (vec!["report", file, "--index", "1"], "Second?"),
        (vec!["report", &format!("{file}#0")], "First?"),
    ] {
        let output = run(&args);
        ended(&output, 0);
        assert!(stdout(&output).contains(has), "{args:?}");
    }
    let output = run(&["report", file]);
    ended(&output, 2);
    assert!(
        stderr(&output).contains("contains 2 conversations; choose one"),
        "{}",
        stderr(&output)
    );
    assert!(Path::new(file).exists());
}
