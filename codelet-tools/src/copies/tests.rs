#![allow(clippy::unwrap_used)]

use super::*;

fn file(bytes: &[u8]) -> Version {
    Version::of(bytes, 0o644)
}

fn entry(path: &str, before: Version, after: Version) -> FileChange {
    FileChange {
        path: PathBuf::from(path),
        before,
        after,
        made: None,
    }
}

#[test]
fn the_oldest_copies_make_room_and_what_two_changes_share_counts_once() {
    let mut records = Records::default();
    let text = |number: u8| vec![number; 1_000];
    records.push(entry("a", Version::Absent, file(&text(0))), 8_000);
    for number in 1..40 {
        records.push(entry("a", file(&text(number - 1)), file(&text(number))), 8_000);
    }
    assert!(records.bytes <= 8_000);
    let kept = |entry: &FileChange| entry.before.bytes().is_some();
    let changes: Vec<bool> = records.changes(0, usize::MAX).map(kept).collect();
    // A missing file needs no copy.
    assert!(changes[0] && !changes[1] && !changes[20]);
    assert!(changes[34..].iter().all(|is_kept| *is_kept), "{changes:?}");
    // The kind of change is known anyway.
    let net = records.net(0, usize::MAX);
    assert_eq!(change(net[Path::new("a")].0, net[Path::new("a")].1), Change::Created);
}

#[test]
fn where_a_large_file_takes_the_room_of_many_versions_of_a_small_one_all_of_them_are_let_go() {
    let mut records = Records::default();
    let text = |number: u8, length: usize| file(&vec![number; length]);
    for number in 0..100 {
        records.push(entry("a", text(number, 100), text(number + 1, 100)), 8_000);
    }
    records.push(entry("b", Version::Absent, text(0, 5_000)), 8_000);
    let versions = records
        .changes(0, usize::MAX)
        .flat_map(|entry| [&entry.before, &entry.after]);
    let held = versions
        .filter_map(Version::kept)
        .map(|bytes| (bytes.as_ptr(), bytes.len()));
    let held: usize = held.collect::<BTreeMap<_, _>>().values().sum();
    assert!(held <= 8_000 && held == records.bytes, "{held}, {}", records.bytes);
}

#[test]
fn of_a_session_to_which_nobody_goes_back_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a");
    let copies = Copies::default();
    copies.put(&path, b"one", None).unwrap();
    copies.note_command("ls");
    assert_eq!(copies.mark(), Mark(0));
    copies.keep();
    copies.put(&path.with_file_name("b"), b"one", None).unwrap();
    copies.note_command("ls\nls");
    assert_eq!(copies.mark(), Mark(2));
    assert_eq!(copies.commands(Mark(0), Mark(2)), ["ls ls"]);
}

#[test]
fn a_copy_shows_no_byte_of_a_file() {
    let shown = format!("{:?}", entry("a", file(b"sk-secret"), Version::Absent));
    assert!(!shown.contains("115") && !shown.contains("sk-"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn where_the_disk_is_full_a_file_stays_as_it_is_and_that_is_said() {
    use crate::Options;
    use crate::files::tests::without;
    use crate::tool_context::ToolContext;
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let context = ToolContext::new(Options::new(&base));
    context.copies.keep();
    let (path, new) = (base.join("a"), base.join("new"));
    std::fs::write(&path, "one").unwrap();
    let old = files::read(&path).unwrap().unwrap();
    let old = Old {
        standing: &old.standing,
        bytes: Some(&old.bytes),
    };
    context.copies.put(&path, b"two", Some(old)).unwrap();
    context.copies.put(&new, b"made", None).unwrap();
    let restore = || context.copies.restore(Mark(0), false, &context.paths, &context.seen);
    let restored = without(libc::SYS_write, None, libc::ENOSPC, restore);
    let done = |name: &str| restored.iter().find(|it| it.name == name).unwrap().done.clone();
    assert!(done("a").unwrap_err().contains("No space left"));
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    // Deleting a file needs no disk space.
    assert_eq!((done("new"), new.exists()), (Ok(()), false));
    let restored = restore();
    assert!(restored.len() == 1 && restored[0].done.is_ok(), "{restored:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
}
