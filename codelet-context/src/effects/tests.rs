use super::*;
use proptest::prelude::*;

fn shown(line: &str) -> String {
    let shown = effects(line).into_iter().map(|effect| match effect {
        Effect::Write(path, state) => format!("{state:?} {path}"),
        Effect::Remove(path) => format!("remove {path}"),
        Effect::Move { from, to } => format!("move {from} {to}"),
        Effect::Copy { from, to } => format!("copy {from} {to}"),
        Effect::PutBack(path) => format!("back {}", path.unwrap_or("*".into())),
        Effect::Stash { path, with_new } => format!("stash {} {with_new}", path.unwrap_or("*".into())),
        Effect::Unstash => "unstash".to_owned(),
        Effect::Clean => "clean".to_owned(),
        Effect::Commit => "commit".to_owned(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn files_that_are_written_are_seen_through_what_a_command_is_wrapped_in() {
    for line in [
        "sed -i s/a/b/ x.rs",
        "sed -Ei s/a/b/ x.rs",
        "sed -ni.bak -e s/a/b/p x.rs",
        "timeout 60 sed -i s/a/b/ x.rs",
        "sudo -u www sed -i s/a/b/ x.rs",
        "nice -n 5 env A=1 sed -i s/a/b/ x.rs",
        "bash -lc 'cd a && sed -i s/a/b/ x.rs'",
        "if true; then sed --in-place s/a/b/ x.rs; fi",
        "perl -i -pe 's/a/b/' x.rs",
        "echo hi > x.rs",
        "echo hi | sudo tee x.rs",
        "sh -c \"cat > x.rs <<'EOF'\nx\nEOF\"",
        "Set-Content -Path x.rs -Value 'a b'",
        "Get-Content a | Out-File -Encoding utf8 x.rs",
        "@'\nit's\n'@ | Set-Content x.rs",
        "pwsh -NoProfile -Command \"Set-Content x.rs 'a'\"",
        "Add-Content x.rs 'a'",
    ] {
        assert_eq!(written(line), ["x.rs"], "{line}");
    }
    for line in [
        "sed -es/i/x/ a.rs",
        "cargo test > log",
        "cargo test | tee log",
        "npm test | Out-File log",
        "sed -n 1p a",
        "echo x > $OUT",
        "echo x > NUL",
        "rm a",
        "New-Item -ItemType Directory a",
    ] {
        assert_eq!(written(line), [""; 0], "{line}");
    }
    assert_eq!(written("echo a > src\\b.rs"), ["src\\b.rs"]);
}

#[test]
fn what_becomes_of_files_is_read_from_simple_words() {
    for (line, expected) in [
        ("rm a.py", "remove a.py"),
        ("rm -rf ./app/ b.py && ls", "remove app, remove b.py"),
        ("cd /s && rm app/a.py", "remove /s/app/a.py"),
        ("cd app && cd .. && sudo rm -f a.py", "remove a.py"),
        ("git rm -f a.py", "remove a.py"),
        ("git rm --cached a.py; rm a.py", "remove a.py"),
        ("Remove-Item -Recurse -Force app\\a.py", "remove app/a.py"),
        ("del /q app\\a.py", "remove app/a.py"),
        ("rm *.py $x `ls`", ""),
        ("test -f a || rm a", ""),
        ("mv a.py b.py", "move a.py b.py"),
        ("mv a.py b.py lib", "move a.py lib/, move b.py lib/"),
        ("git -C app mv a.py lib/", "move app/a.py app/lib/"),
        ("Move-Item -Path a.py -Destination b.py", "move a.py b.py"),
        ("ren app\\a.py b.py", "move app/a.py app/b.py"),
        ("cp a.py b.py", "copy a.py b.py"),
        ("copy /y a.py b.py", "copy a.py b.py"),
        ("git checkout -- a.py b.py", "back a.py, back b.py"),
        ("git checkout HEAD -- a.py", "back a.py"),
        ("git checkout main -- a.py", "Edited a.py"),
        ("git checkout a.py", "back a.py"),
        ("git checkout .", "back *"),
        ("cd app && git checkout -- .", "back app"),
        ("git checkout main", ""),
        ("git checkout -b fix/a.b", ""),
        ("git restore a.py", "back a.py"),
        ("git restore --staged a.py", ""),
        ("git restore --staged --worktree .", "back *"),
        ("git reset --hard", "back *"),
        ("git reset --hard HEAD~1", "back *"),
        ("git reset a.py", ""),
        ("git stash", "stash * false"),
        ("git stash push -u -m 'a b'", "stash * true"),
        ("git stash push -- a.py", "stash a.py false"),
        ("git stash && cargo test; git stash pop", "stash * false, unstash"),
        ("git stash list", ""),
        ("git clean -fd", "clean"),
        ("git clean -nfd", ""),
        ("git add -A && git commit -qm 'rm a'", "commit"),
        ("echo rm a.py", ""),
        (
            "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n*** Delete File: b\nE",
            "Created a, Deleted b",
        ),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

proptest! {
    #[test]
    fn no_command_line_is_too_odd(line in r#"(rm|mv|git|stash|checkout|--|-C|sed|-i|Set-Content|cd|\.\.|a/b|[ ;|&'"$<>=\n\\-]){0,30}"#) {
        for path in written(&line) {
            prop_assert!(is_file(&path));
        }
    }
}
