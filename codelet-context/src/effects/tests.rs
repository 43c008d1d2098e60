use super::*;
use proptest::prelude::*;

fn chosen(among: Among) -> String {
    match among {
        Among::Path(path) | Among::Perhaps(path) => path,
        Among::Repository(at) => at + "*",
    }
}

fn effects(line: &str) -> Vec<Effect> {
    super::effects(&Script::read(line))
}

fn written(line: &str) -> Vec<String> {
    let effects = effects(line);
    super::written(&effects).into_iter().map(str::to_owned).collect()
}

fn shown(line: &str) -> String {
    let shown = effects(line).into_iter().map(|effect| match effect {
        Effect::Write(path, state) => format!("{state:?} {path}"),
        Effect::Remove(path) => format!("remove {path}"),
        Effect::Move { from, to, .. } => format!("move {from} {to}"),
        Effect::Copy { from, to } => format!("copy {from} {to}"),
        Effect::Fetch(path) => format!("fetch {path}"),
        Effect::PutBack(among) => format!("back {}", chosen(among)),
        Effect::Stash { among, with_new } => format!("stash {} {with_new}", chosen(among)),
        Effect::Unstash => "unstash".to_owned(),
        Effect::Clean(at) => format!("clean {at}").trim_end().to_owned(),
        Effect::Commit(at) => format!("commit {at}").trim_end().to_owned(),
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
        "if true; then sed --in-place s/a/b/ x.rs; fi",
        "perl -i -pe 's/a/b/' x.rs",
        "perl -pi -e 's/a/b/' x.rs",
        "perl -0777 -i.bak -pe 's/a/b/' x.rs",
        "perl -i -Mstrict -Ilib -lne 's/a/b/; print' x.rs",
        "echo hi > x.rs",
        "echo hi | sudo tee x.rs",
        "sh -c \"cat > x.rs <<'EOF'\nx\nEOF\"",
        "Set-Content -Path x.rs -Value 'a b'",
        "Get-Content a | Out-File -Encoding utf8 x.rs",
        "@'\nit's\n'@ | Set-Content x.rs",
        "pwsh -NoProfile -Command \"Set-Content x.rs 'a'\"",
        "Add-Content x.rs 'a'",
        "ruby -i.bak -pe 'gsub(/a/, \"b\")' x.rs",
        "gawk -i inplace -v a=1 '{ print a }' x.rs",
        "gawk -iinplace -f a.awk x.rs",
        "yq -i '.a = 1' x.rs",
        "sed -i --expression=s/a/b/ x.rs",
        "Set-Content -Value a x.rs",
        "sc x.rs a",
    ] {
        assert_eq!(written(line), ["x.rs"], "{line}");
    }
    for line in [
        "sed -es/i/x/ a.rs",
        "cargo test > log",
        "cargo test | tee log",
        "npm test | Out-File log",
        "sed -n 1p a",
        "perl -MList::Util=sum -ne '$s += $_; END { print $s }' a",
        "perl -Mstrict -we 'print 1' a",
        "perl -Ilib -e 'print 1' a",
        "perl -I lib -Minteger -ne print a",
        "perl -F, -ane 'print $F[1]' -- -i a",
        "echo x > $OUT",
        "echo x > NUL",
        "rm a",
        "New-Item -ItemType Directory a",
        "ruby -rset -ne 'puts 1' a",
        "awk -v i=inplace '{ print }' a",
        "yq .a x.yaml",
        "sc query a",
        "sc.exe stop a",
        "git apply --check <<'E'\n+++ b/x.py\nE",
        "git apply --stat - <<'E'\n+++ b/x.py\nE",
        "git apply --cached <<'E'\n+++ b/x.py\nE",
        "patch -p1 --dry-run <<'E'\n+++ b/x.py\nE",
        "Set-Content -Path x* -Filter *.rs -Value a",
    ] {
        assert_eq!(written(line), [""; 0], "{line}");
    }
    assert_eq!(written("echo a > src\\b.rs"), ["src\\b.rs"]);
}

#[test]
fn files_are_written_where_the_line_has_gone() {
    for (line, expected) in [
        ("cd sub && sed -i s/a/b/ x.py", "sub/x.py"),
        ("set -e; cd sub && sed -i s/a/b/ x.py", "sub/x.py"),
        ("(cd sub && sed -i s/a/b/ x.py)", "sub/x.py"),
        ("(cd sub && make); sed -i s/a/b/ x.py", "x.py"),
        ("pushd sub && sed -i s/a/b/ x.py", "sub/x.py"),
        ("pushd sub > /dev/null; ls; popd; echo a > x.py", "x.py"),
        (
            "cd sub && sed -i s/a/b/ x.py && cd .. && sed -i s/a/b/ y.py",
            "sub/x.py y.py",
        ),
        ("cd sub; cd - && echo a > x.py", "x.py"),
        ("cd /w && bash -c 'cd app && echo a > x.py'", "/w/app/x.py"),
        ("bash -lc 'cd a && sed -i s/a/b/ x.rs' && echo a > b", "a/x.rs b"),
        ("cd ./a/../b/ && echo a > ../c/x.py", "c/x.py"),
        ("cd sub && echo a > /w/x.py", "/w/x.py"),
        ("cd /d D:\\w && echo a > b\\x.py", "D:/w/b/x.py"),
        (
            "cd sub && cat > x.py <<'E'\ncd other\nE\necho a > y.py",
            "sub/x.py sub/y.py",
        ),
        ("cd sub && git apply <<'E'\n+++ b/x.py\nE", "sub/x.py"),
        ("git -C sub checkout main -- x.py", "sub/x.py"),
        // No other path is like these.
        ("cd $D && echo a > x.py", "$D/x.py"),
        ("cd ~/app && echo a > x.py", "~/app/x.py"),
        ("cd app | cat; echo a > x.py", "x.py"),
        (
            "for d in a b; do (cd $d && sed -i s/a/b/ x.py); done; echo a > y.py",
            "$d/x.py y.py",
        ),
    ] {
        assert_eq!(written(line).join(" "), expected, "{line}");
    }
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
        ("git mv a.py b.py lib", "move a.py lib/, move b.py lib/"),
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
        ("git clean -fd out a.tmp", "clean out, clean a.tmp"),
        ("git clean -fd -e out", ""),
        ("git --namespace x rm src/a.rs", "remove src/a.rs"),
        ("git --no-pager --config-env a.b=C rm src/a.rs", "remove src/a.rs"),
        ("git rm -r app ':!app/a.py'", ""),
        ("git checkout -- . ':(exclude)a.py'", ""),
        ("git mv -- a.py b.py", "move a.py b.py"),
        ("git checkout main src/a.py", "Edited src/a.py"),
        ("git checkout HEAD~2 a.py b.py", "Edited a.py, Edited b.py"),
        ("git checkout origin/main a.py", "Edited a.py"),
        ("git checkout HEAD a.py", "back a.py"),
        ("git checkout LICENSE a.py", ""),
        ("git checkout --theirs a.py", ""),
        ("git checkout --theirs -- a.py", "Edited a.py"),
        ("git checkout -f main", "back *"),
        ("git switch --discard-changes main", "back *"),
        ("git switch main", ""),
        ("git restore --source=main a.py", "Edited a.py"),
        ("git restore -s HEAD~1 -- a.py", "Edited a.py"),
        ("git restore --source HEAD a.py", "back a.py"),
        ("git restore -SW a.py", "back a.py"),
        ("git restore -- a.py", "back a.py"),
        ("git stash push a.py", "stash a.py false"),
        ("git stash push -m wip a.py b.py", "stash a.py false, stash b.py false"),
        ("git stash save work in progress", "stash * false"),
        ("git stash -ua", "stash * true"),
        ("git stash branch x", "unstash"),
        ("git commit --porcelain", ""),
        ("Move-Item -Destination b.py -Path a.py", "move a.py b.py"),
        ("Rename-Item -NewName b.py app\\a.py", "move app/a.py app/b.py"),
        ("Remove-Item a.py,b.py", "remove a.py, remove b.py"),
        ("Remove-Item -Recurse app -Exclude a.py", ""),
        ("New-Item -Path app -Name a.py -ItemType File", "Created app/a.py"),
        ("rmdir /s /q app", "remove app"),
        ("trash a.py", "remove a.py"),
        ("mv -u a.py b.py; cp --update=none a.py b.py", ""),
        ("cp --parents app/a.py lib", ""),
        ("copy /b a.py + b.py c.py", ""),
        (
            "git apply <<'E'\n--- a/x.py\n+++ /dev/null\n--- /dev/null\n+++ b/y.py\nE",
            "Deleted x.py, Created y.py",
        ),
        ("git -C sub apply <<'E'\n+++ b/x.py\nE", "Edited sub/x.py"),
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

#[test]
fn what_may_not_have_run_has_done_nothing() {
    for (line, expected) in [
        ("grep -q zzz f && rm f; ls", ""),
        ("grep -q zzz f && rm f\nls", ""),
        ("grep -q zzz f && rm f && ls", "remove f"),
        ("make && git stash | cat", "stash * false"),
        ("(make && git stash) | cat", ""),
        ("make && rm f &", ""),
        ("if [ -f x ]; then rm f; fi", ""),
        ("if [ -f x ]; then rm f; fi; rm g", "remove g"),
        ("if rm f; then ls; fi", ""),
        ("while read x; do git checkout -- f; done < y; rm g", "remove g"),
        ("for x in 1 2; do if a; then mv f g; fi; git stash; done", ""),
        ("case $1 in a) rm f;; b) git clean -fd;; esac", ""),
        ("undo() { git checkout -- f; rm g; }; rm h", "remove h"),
        ("function undo {\n git reset --hard\n rm g\n}", ""),
        ("if (Test-Path f) {\n Remove-Item f\n}", ""),
        ("{ rm f; ls; }", "remove f"),
        ("test -f none && rm f || echo kept", ""),
        ("test -f none || ls | git checkout -- f", ""),
        ("false && git checkout -- f; true", ""),
        ("! rm f", ""),
        ("test -f x || exit 0; rm f", ""),
        ("cd app || exit 1; rm f", "remove app/f"),
        ("bash -c 'test -f x && rm f'; ls", ""),
        ("bash -c 'test -f x && rm f; ls'", ""),
        ("bash -c 'test -f x && rm f' && ls", "remove f"),
        ("false && bash -c 'rm f'; ls", ""),
        // What may have been kept is not told as undone.
        ("git diff --quiet || git commit -am x", "commit"),
        ("git stash; make && git stash pop; ls", "stash * false, unstash"),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn a_relative_path_needs_a_folder_that_is_known() {
    for (line, expected) in [
        ("cd \"$T\" && git init; rm -rf app", ""),
        ("cd $D && rm db.py", ""),
        ("cd $D && rm /w/db.py", "remove /w/db.py"),
        ("cd $D; cd app; rm db.py; cd /w; rm x.py", "remove /w/x.py"),
        ("cd - && rm db.py", ""),
        ("cd && rm db.py", ""),
        ("cd ~/other && git reset --hard", ""),
        ("cd `mktemp -d` && git clean -fd && git commit -am x", ""),
        ("cd %TEMP% && mv a.py b.py", ""),
        ("cd /d C:\\w && del db.py", "remove C:/w/db.py"),
        ("test -d app && cd app; rm db.py", ""),
        ("cd /w; (cd app && ls); rm db.py", "remove /w/db.py"),
        (
            "cd /w; (cd app && rm a.py) && rm db.py",
            "remove /w/app/a.py, remove /w/db.py",
        ),
        (
            "cd /w; ( cd a; (cd b; rm 1); rm 2 ); rm 3",
            "remove /w/a/b/1, remove /w/a/2, remove /w/3",
        ),
        ("cd /w; { cd app; ls; }; rm db.py", "remove /w/app/db.py"),
        ("cd /w; (cd $X && ls \")\" $(cat a)); rm db.py", "remove /w/db.py"),
        ("cd /w; echo '(' && rm db.py", "remove /w/db.py"),
        (
            "cat > f <<'E'\n(cd x\nE\ncd /w; (cd a; ls); rm b",
            "Edited f, remove /w/b",
        ),
        (
            "cd /w; pushd app; rm a.py; popd; rm b.py",
            "remove /w/app/a.py, remove /w/b.py",
        ),
        ("popd; rm a.py", ""),
        ("cd app && serve & rm db.py", "remove db.py"),
        ("bash -c 'cd app && ls'; rm db.py", "remove db.py"),
        ("env -C /tmp rm db.py", ""),
        ("env -C /tmp rm /w/db.py", "remove /w/db.py"),
        ("env --chdir=/tmp sh -c 'rm db.py'", ""),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn nothing_is_done_elsewhere_or_for_show() {
    for line in [
        "docker exec app rm f",
        "docker container exec app rm f",
        "podman run --rm -v .:/w img rm f",
        "podman compose exec app rm f",
        "nerdctl exec app rm f",
        "sudo docker exec -u me app rm f",
        "docker run --platform linux/amd64 img rm f",
        "ssh -p 22 host rm src/a.rs",
        "oc exec pod -- rm f",
        "adb shell rm f",
        "sudo chroot /mnt rm f",
        "toolbox run rm f",
        "distrobox enter x -- rm f",
        "lxc exec x -- rm f",
        "multipass exec x -- rm f",
        "limactl shell x rm f",
        "uv run --directory docker rm f",
        "docker compose run --rm app sh -c 'rm f && git stash'",
        "podman exec -it c bash -c 'git checkout -- f'",
        "kubectl exec pod -- rm f",
        "ssh host rm f",
        "ssh host 'cd /w && rm f'",
        "vagrant ssh -c 'rm f'",
        "wsl rm f",
        "Remove-Item f -WhatIf",
        "Move-Item f g -whatif:$true",
        "git rm -rn f",
        "git rm --dry-run f",
        "git mv -n f g",
        "git clean -nd",
        "git clean -fdn",
        "git clean -fdX",
        "git clean -fd --dry-run",
        "rm -i f",
        "rm -rI f",
        "rm --interactive f",
        "mv -n f g",
        "git checkout -p",
        "git checkout -p -- f",
        "git restore -p f",
        "git stash -p",
    ] {
        assert_eq!(shown(line), "", "{line}");
    }
    assert_eq!(shown("rm -Recurse -Force f"), "remove f");
    // The name of a user, a folder or an environment is no program.
    for line in [
        "sudo -u vagrant rm f",
        "sudo -u docker rm f",
        "conda run -n wsl rm f",
        "uv run --project docker rm f",
        "env CONTAINER=ssh rm f",
        "timeout 5 rm f",
    ] {
        assert_eq!(shown(line), "remove f", "{line}");
    }
    assert_eq!(shown("git commit -nm x"), "commit");
}

#[test]
fn git_says_in_which_folder_it_ran() {
    for (line, expected) in [
        ("cd /tmp/other && git clean -fd", "clean /tmp/other"),
        ("cd /tmp/other && git stash", "stash /tmp/other* false"),
        ("cd /tmp/other && git commit -am x", "commit /tmp/other"),
        ("git -C /tmp/other reset --hard", "back /tmp/other*"),
        ("git -C \"$X\" reset --hard", ""),
        ("git --git-dir=/x/.git --work-tree /x reset --hard", ""),
        ("GIT_DIR=/x/.git git reset --hard", ""),
        ("cd /w && git checkout .", "back /w"),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

proptest! {
    #[test]
    fn no_command_line_is_too_odd(line in r#"(rm|mv|git|stash|checkout|--|-C|sed|-i|Set-Content|cd|pushd|popd|if|fi|[(){}]|\.\.|a/b|[ ;|&'"$<>=\n\\-]){0,30}"#) {
        for path in written(&line) {
            prop_assert!(is_file(&path));
        }
    }
}

#[test]
fn a_long_line_of_commands_takes_linear_time() {
    for piece in [
        "a && ",
        "cd a; ",
        "pushd a; ",
        "(cd a) ",
        "sh -c b && ",
        "{ a; ",
        "cd a/b/../../c; ",
        "rm a b c d e f g ",
        "$(cd a) (",
    ] {
        effects(&piece.repeat(100_000));
    }
}

#[test]
fn what_is_fetched_is_written_to_the_file_that_the_line_names() {
    for (line, expected) in [
        ("curl -o a/x.json https://h/y", "fetch a/x.json"),
        ("cd a && curl -fsSLo x.json 'https://h/y?z=1'", "fetch a/x.json"),
        ("curl --output=x.json https://h/y", "fetch x.json"),
        ("curl -LO 'https://h/d/y.json?z=1'", "fetch y.json"),
        ("wget -qO x.json https://h/y", "fetch x.json"),
        ("wget --output-document x.json https://h/y", "fetch x.json"),
        ("wget https://h/d/y.json", "fetch y.json"),
        ("curl https://h/y", ""),
        ("curl -so /dev/null https://h/y", ""),
        ("curl -o \"$OUT\" https://h/y", ""),
        ("wget -qO- https://h/y", ""),
        ("wget -O - https://h/y", ""),
        ("curl -H 'Accept: o' -Xpost -d o https://h/y", ""),
        ("curl -Lox.json -H o https://h/y", "fetch x.json"),
        ("wget -P /opt https://h/y.json", ""),
        ("ssh host curl -o x https://h/y", ""),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}
