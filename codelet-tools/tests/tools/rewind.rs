//! Restoring files, whatever has happened to them since, without overwriting anyone else's changes.

use crate::trial::{Trial, block_on, names, to_edit, to_read, to_write};
use codelet_agent::journal::{Change, Journal, Mark, Restored, Standing};
use codelet_agent::permission::Permission;
use codelet_tools::secrets::Secrets;
use codelet_tools::{Options, Reach, all_with_reach};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

fn trial() -> (Trial, Reach, Arc<dyn Journal>) {
    let mut trial = Trial::new(Permission::Edit);
    let (tools, reach) = all_with_reach(&Options::new(&trial.workspace));
    trial.tools = tools;
    let journal = reach.journal();
    (trial, reach, journal)
}

impl Trial {
    fn puts(&self, name: &str, content: &str) {
        self.call("Read", to_read(name));
        self.done("Write", to_write(name, content));
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    fn is_there(&self, name: &str) -> bool {
        self.workspace.join(name).symlink_metadata().is_ok()
    }
}

fn restore(journal: &Arc<dyn Journal>, to: Mark, overwrite: bool) -> Vec<Restored> {
    block_on(journal.restore(to, overwrite))
}

/// The reason why a file was not restored.
fn refusal(journal: &Arc<dyn Journal>, to: Mark, overwrite: bool) -> String {
    let restored = restore(journal, to, overwrite);
    assert_eq!(restored.len(), 1, "{restored:?}");
    restored[0].done.clone().unwrap_err()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_are_put_back_with_their_folders_and_that_is_undone_in_the_same_way() {
    let (trial, _, journal) = trial();
    trial.write("a.txt", "one\ntwo\n");
    let start = journal.mark();
    trial.done("Edit", to_edit("a.txt", "two", "2"));
    trial.puts("new/deep/b.txt", "made\n");
    trial.puts("new/c.txt", "made too\n");
    trial.puts("a.txt", "all new\n");
    let shown = block_on(journal.restores(start));
    let told: Vec<(&str, Change)> = shown.iter().map(|it| (&*it.name, it.change)).collect();
    assert_eq!(
        told,
        [
            ("a.txt", Change::Altered),
            ("new/c.txt", Change::Deleted),
            ("new/deep/b.txt", Change::Deleted)
        ]
    );
    assert!(shown.iter().all(|it| it.standing == Standing::AsLeft));
    assert!(shown[0].diff.contains("-all new\n+one\n+two\n"), "{}", shown[0].diff);
    assert_eq!(trial.text("a.txt"), "all new\n", "to look changes nothing");
    let changed = journal.changed(start, journal.mark());
    assert_eq!(changed[0].lines, Some((1, 2)));
    assert_eq!((changed[1].change, changed[1].lines), (Change::Created, Some((1, 0))));
    let before = journal.mark();
    assert!(restore(&journal, start, false).iter().all(|it| it.done.is_ok()));
    assert_eq!(trial.text("a.txt"), "one\ntwo\n");
    assert_eq!(
        names(&trial.workspace),
        ["a.txt"],
        "the folders that were made are gone"
    );
    assert!(journal.changed(start, journal.mark()).is_empty());
    let again = journal.mark();
    restore(&journal, before, false);
    assert_eq!(trial.text("a.txt"), "all new\n");
    assert_eq!(trial.text("new/deep/b.txt"), "made\n");
    restore(&journal, again, false);
    assert_eq!(names(&trial.workspace), ["a.txt"]);
    assert!(restore(&journal, start, false).is_empty(), "nothing is left to be done");
}

#[test]
fn what_somebody_else_has_changed_stays_until_it_is_to_be_overwritten_and_comes_back_even_then() {
    let (trial, _, journal) = trial();
    for (name, theirs) in [("a.txt", Some("theirs\n")), ("b.txt", None)] {
        trial.write(name, "one\n");
        let start = journal.mark();
        trial.puts(name, "two\n");
        match theirs {
            Some(theirs) => drop(trial.write(name, theirs)),
            None => std::fs::remove_file(trial.workspace.join(name)).unwrap(),
        }
        let shown = block_on(journal.restores(start));
        assert_eq!(shown[0].standing, Standing::ChangedSince);
        assert!(refusal(&journal, start, false).contains("changed since"));
        let stands = |trial: &Trial| trial.is_there(name).then(|| trial.text(name));
        assert_eq!(stands(&trial).as_deref(), theirs);
        let before = journal.mark();
        assert!(restore(&journal, start, true)[0].done.is_ok());
        assert_eq!(trial.text(name), "one\n");
        restore(&journal, before, false);
        assert_eq!(stands(&trial).as_deref(), theirs);
        std::fs::remove_file(trial.workspace.join(name)).ok();
    }
}

#[test]
fn no_link_that_was_put_in_the_way_is_followed_or_replaced() {
    let (trial, _, journal) = trial();
    std::fs::write(trial.outside.join("x"), "not ours\n").unwrap();
    trial.write("a.txt", "one\n");
    trial.write("d/b.txt", "one\n");
    let start = journal.mark();
    trial.puts("a.txt", "two\n");
    trial.puts("d/b.txt", "two\n");
    std::fs::remove_file(trial.workspace.join("a.txt")).unwrap();
    symlink(trial.outside.join("x"), trial.workspace.join("a.txt")).unwrap();
    std::fs::rename(trial.workspace.join("d"), trial.workspace.join("moved")).unwrap();
    std::fs::write(trial.outside.join("b.txt"), "two\n").unwrap();
    symlink(&trial.outside, trial.workspace.join("d")).unwrap();
    let restored = restore(&journal, start, true);
    assert!(restored.iter().all(|it| it.done.is_err()), "{restored:?}");
    assert!(restored[0].done.clone().unwrap_err().contains("a link is there now"));
    assert_eq!(std::fs::read_to_string(trial.outside.join("x")).unwrap(), "not ours\n");
    assert_eq!(std::fs::read_to_string(trial.outside.join("b.txt")).unwrap(), "two\n");
    assert_eq!(names(&trial.outside), ["b.txt", "x"]);
}

#[test]
fn a_file_that_was_made_is_not_taken_away_through_a_link_nor_where_a_folder_stands_now() {
    let (trial, _, journal) = trial();
    let start = journal.mark();
    trial.puts("d/new.txt", "made\n");
    std::fs::rename(trial.workspace.join("d"), trial.outside.join("d")).unwrap();
    symlink(trial.outside.join("d"), trial.workspace.join("d")).unwrap();
    assert!(restore(&journal, start, true)[0].done.is_err());
    assert!(trial.outside.join("d/new.txt").exists());
    std::fs::remove_file(trial.workspace.join("d")).unwrap();
    std::fs::create_dir_all(trial.workspace.join("d/new.txt/x")).unwrap();
    assert!(refusal(&journal, start, true).contains("folder"));
    assert!(trial.is_there("d/new.txt/x"));
}

#[test]
fn a_removed_folder_is_made_again_and_a_write_protected_file_stays() {
    let (trial, _, journal) = trial();
    trial.write("d/a.txt", "one\n");
    trial.write("b.txt", "one\n");
    let start = journal.mark();
    trial.puts("d/a.txt", "two\n");
    std::fs::remove_dir_all(trial.workspace.join("d")).unwrap();
    assert!(restore(&journal, start, true)[0].done.is_ok());
    assert_eq!(trial.text("d/a.txt"), "one\n");
    let start = journal.mark();
    trial.puts("b.txt", "two\n");
    trial.puts("made.txt", "made\n");
    for name in ["b.txt", "made.txt"] {
        std::fs::set_permissions(trial.workspace.join(name), std::fs::Permissions::from_mode(0o444)).unwrap();
    }
    let restored = restore(&journal, start, true);
    let told = |at: usize| restored[at].done.clone().unwrap_err();
    assert!(
        told(0).contains("write-protected") && told(1).contains("write-protected"),
        "{restored:?}"
    );
    assert_eq!(
        (trial.text("b.txt").as_str(), trial.text("made.txt").as_str()),
        ("two\n", "made\n")
    );
}

#[test]
fn permissions_that_a_command_has_set_stay_and_a_file_that_comes_back_has_its_own() {
    let (trial, _, journal) = trial();
    let path = trial.write("run.sh", "one\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let start = journal.mark();
    trial.puts("run.sh", "two\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(restore(&journal, start, false)[0].done.is_ok());
    assert_eq!((trial.text("run.sh").as_str(), mode(&path)), ("one\n", 0o755));
    let start = journal.mark();
    trial.puts("made.sh", "made\n");
    let made = trial.workspace.join("made.sh");
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o700)).unwrap();
    let before = journal.mark();
    restore(&journal, start, false);
    assert!(!made.exists());
    restore(&journal, before, false);
    assert_eq!(mode(&made), 0o700);
}

#[test]
fn bytes_that_are_no_text_come_back_and_are_not_shown() {
    let (trial, _, journal) = trial();
    trial.write("latin", b"gr\xfc\xdfe\n");
    let start = journal.mark();
    trial.puts("prog", "\u{7f}ELF\0\0");
    trial.done("Edit", to_edit("latin", "gr", "Gr"));
    let shown = block_on(journal.restores(start));
    assert!(
        shown[1].diff.contains("not text") && !shown[1].diff.contains("@@"),
        "{}",
        shown[1].diff
    );
    assert!(restore(&journal, start, false).iter().all(|it| it.done.is_ok()));
    assert!(!trial.is_there("prog"));
    assert_eq!(trial.bytes("latin"), b"gr\xfc\xdfe\n");
}

#[test]
fn a_name_that_is_no_text_is_named_and_its_file_comes_back() {
    let (trial, _, journal) = trial();
    let path = trial.workspace.join(OsStr::from_bytes(b"caf\xe9.txt"));
    std::fs::write(&path, "one\n").unwrap();
    let start = journal.mark();
    let listed = trial.done("Glob", json!({"pattern": "*.txt"}));
    let name = listed.lines().find(|line| line.contains("caf")).unwrap().to_owned();
    trial.puts(&name, "two\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    let restored = restore(&journal, start, false);
    assert!(restored[0].done.is_ok() && restored[0].name == name, "{restored:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn of_a_file_of_a_hundred_megabytes_no_copy_is_kept_and_that_is_said() {
    let (trial, _, journal) = trial();
    trial.write("big", "a line of a long file\n".repeat(600_000));
    trial.call("Read", json!({"file_path": "big", "limit": 1}));
    let start = journal.mark();
    let written = trial.call("Write", to_write("big", "small\n"));
    assert!(written.success, "{}", written.text);
    assert!(refusal(&journal, start, true).contains("more than 10 MiB"));
    assert_eq!(trial.text("big"), "small\n");
    // A file that has grown beyond the limit is not overwritten either.
    trial.write("a.txt", "one\n");
    let start = journal.mark();
    trial.puts("a.txt", "two\n");
    let path = trial.workspace.join("a.txt");
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(100 * 1024 * 1024)
        .unwrap();
    assert!(refusal(&journal, start, true).contains("more than 10 MiB"));
    assert_eq!(path.metadata().unwrap().len(), 100 * 1024 * 1024);
}

#[test]
fn what_tasks_change_is_kept_with_the_rest() {
    let (trial, reach, journal) = trial();
    trial.write("a.txt", "one\n");
    let start = journal.mark();
    let mut other = Trial::new(Permission::Edit);
    other.tools = reach.tools_anew(false);
    other.puts("a.txt", "two\n");
    assert!(restore(&journal, start, false)[0].done.is_ok());
    assert_eq!(trial.text("a.txt"), "one\n");
}

#[test]
fn secrets_are_not_shown_and_come_back() {
    let mut trial = Trial::new(Permission::Edit);
    let mut options = Options::new(&trial.workspace);
    options.secrets = Secrets::new(&["sk-hidden-0123456789".to_owned()]).into();
    let (tools, reach) = all_with_reach(&options);
    trial.tools = tools;
    let journal = reach.journal();
    trial.write("env", "KEY=sk-hidden-0123456789\nB=1\n");
    let start = journal.mark();
    trial.puts("env", "gone\n");
    let shown = block_on(journal.restores(start));
    assert!(
        shown[0].diff.contains("+B=1") && !shown[0].diff.contains("sk-hidden"),
        "{}",
        shown[0].diff
    );
    journal.note_command("curl -H sk-hidden-0123456789");
    assert!(!journal.commands(start, journal.mark())[0].contains("sk-hidden"));
    restore(&journal, start, false);
    assert_eq!(trial.text("env"), "KEY=sk-hidden-0123456789\nB=1\n");
}

#[test]
fn the_model_reads_again_what_was_put_back_before_it_replaces_it() {
    let (trial, _, journal) = trial();
    trial.write("a.txt", "one\n");
    let start = journal.mark();
    trial.puts("a.txt", "two\n");
    restore(&journal, start, false);
    let blind = to_write("a.txt", "three\n");
    trial.fails("Write", blind.clone(), "changed since it was read");
    trial.done("Read", to_read("a.txt"));
    trial.done("Write", blind);
    // A model that no longer remembers the file has to read it again.
    journal.forget_looks();
    let blind = to_write("a.txt", "four\n");
    trial.fails("Write", blind, "was not read in this session");
}

#[derive(Clone, Debug)]
enum Op {
    Write(usize, String),
    Edit(usize),
    Mark,
    Back(usize),
    Undo,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3usize, "[ab]{0,3}\n").prop_map(|(file, text)| Op::Write(file, text)),
        2 => (0..3usize).prop_map(Op::Edit),
        3 => Just(Op::Mark),
        2 => (0..8usize).prop_map(Op::Back),
        2 => Just(Op::Undo),
    ]
}

const FILES: [&str; 3] = ["a", "new/b", "new/deep/c"];

fn all_of(trial: &Trial) -> BTreeMap<&'static str, Vec<u8>> {
    let there = FILES.into_iter().filter(|name| trial.is_there(name));
    there.map(|name| (name, trial.bytes(name))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_is_done_files_are_as_they_were_at_the_moment_and_to_undo_that_is_to_have_done_nothing(
        ops in prop::collection::vec(op(), 1..25),
    ) {
        let (trial, _, journal) = trial();
        let mut marks = vec![(journal.mark(), all_of(&trial))];
        for op in ops {
            match op {
                Op::Write(file, text) => trial.puts(FILES[file], &text),
                Op::Edit(file) => drop(trial.call(
                    "Edit",
                    json!({"file_path": FILES[file], "old_string": "a", "new_string": "ba", "replace_all": true}),
                )),
                Op::Mark => marks.push((journal.mark(), all_of(&trial))),
                Op::Back(number) => {
                    let (mark, files) = &marks[number % marks.len()];
                    let restored = restore(&journal, *mark, false);
                    prop_assert!(restored.iter().all(|it| it.done.is_ok()), "{restored:?}");
                    prop_assert_eq!(&all_of(&trial), files);
                }
                Op::Undo => {
                    let (before, files) = (journal.mark(), all_of(&trial));
                    restore(&journal, marks[0].0, false);
                    prop_assert_eq!(names(&trial.workspace).len(), 0);
                    restore(&journal, before, false);
                    prop_assert_eq!(&all_of(&trial), &files);
                    prop_assert!(journal.changed(before, journal.mark()).is_empty());
                }
            }
        }
    }
}
