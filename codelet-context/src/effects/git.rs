//! What Git does to files.

use super::{Among, Effect, MOST, is_file};
use crate::command::git::Git;
use crate::outcome::FileState;
use crate::word_list::is_in;

/// What a command does to files, verb by verb.
pub(super) fn effects(git: &Git) -> Vec<Effect> {
    match git.verb {
        "rm" | "mv" if git.has_flag("n", "--dry-run") => Vec::new(),
        // What somebody chooses.
        "restore" | "checkout" | "stash" if git.has_flag("p", "--patch") => Vec::new(),
        "rm" => removed(git),
        "mv" => moved(git),
        "commit" if git.has("--dry-run --short --porcelain --long") => Vec::new(),
        "commit" => git
            .at
            .known()
            .map(|at| Effect::Commit(at.to_owned()))
            .into_iter()
            .collect(),
        "reset" if git.has("--hard") => whole(git).map(Effect::PutBack).into_iter().collect(),
        "restore" => restored(git),
        "checkout" => checked_out(git),
        "switch" if git.has_flag("f", "--force") || git.has("--discard-changes") => {
            whole(git).map(Effect::PutBack).into_iter().collect()
        }
        "stash" => stashed(git),
        "clean" => cleaned(git),
        _ => Vec::new(),
    }
}

/// What a command names.
struct Named<'a> {
    /// Before `--`, or at all where there is none: branches, commits and paths.
    before: Vec<&'a str>,
    /// Behind `--`, where there is one: paths for sure.
    behind: Option<Vec<&'a str>>,
    /// A shell has to work out none of them, and none is a pattern of Git's own.
    is_plain: bool,
}

fn named<'a>(git: &Git<'a>, valued: &str) -> Named<'a> {
    let (before, behind) = git.operands(valued);
    let words = before.iter().chain(behind.iter().flatten());
    let is_plain = |(word, is_open): &(&str, bool)| !is_open && !word.starts_with(':');
    let is_all_plain = words.clone().all(is_plain);
    let plain = |words: Vec<(&'a str, bool)>| words.into_iter().filter(is_plain).map(|(word, _)| word).collect();
    Named {
        // `:!a` says of the others what they do not mean.
        is_plain: is_all_plain,
        behind: behind.map(plain),
        before: plain(before),
    }
}

impl<'a> Named<'a> {
    /// All of them, where they can be nothing but paths.
    fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.before.iter().chain(self.behind.iter().flatten()).copied()
    }

    /// Whether one of them says which are not meant.
    fn excludes(git: &Git) -> bool {
        git.arguments()
            .any(|(word, _)| word.starts_with(":!") || word.starts_with(":^") || word.starts_with(":("))
    }
}

/// All of the repository.
fn whole(git: &Git) -> Option<Among> {
    git.at.known().map(|at| Among::Repository(at.to_owned()))
}

fn among(git: &Git, path: &str) -> Option<Among> {
    let path = git.at.place(path)?;
    Some(match path == "." {
        true => Among::Repository(String::new()),
        false => Among::Path(path),
    })
}

fn put_back<'a>(git: &Git, paths: impl IntoIterator<Item = &'a str>) -> Vec<Effect> {
    let chosen = paths.into_iter().filter_map(|path| among(git, path));
    chosen.map(Effect::PutBack).take(MOST).collect()
}

/// As they were elsewhere: the session has changed them.
fn fetched<'a>(git: &Git, paths: impl IntoIterator<Item = &'a str>) -> Vec<Effect> {
    let paths = paths
        .into_iter()
        .filter(|path| is_file(path) && !path.ends_with('/') && *path != ".");
    paths
        .take(MOST)
        .map(|path| Effect::Write(git.at.name(path).into_owned(), FileState::Edited))
        .collect()
}

fn removed(git: &Git) -> Vec<Effect> {
    if git.has("--cached") || Named::excludes(git) {
        return Vec::new();
    }
    let named = named(git, "");
    let places = named.paths().filter_map(|path| git.at.place(path));
    places.map(Effect::Remove).take(MOST).collect()
}

fn moved(git: &Git) -> Vec<Effect> {
    let named = named(git, "");
    let paths: Vec<&str> = named.paths().collect();
    let Some((to, from)) = paths.split_last().filter(|_| named.is_plain) else {
        return Vec::new();
    };
    let end = if from.len() > 1 || to.ends_with('/') { "/" } else { "" };
    let moved = |from: &&str| {
        Some(Effect::Move {
            from: git.at.place(from)?,
            to: git.at.place(to)? + end,
            is_tracked: true,
        })
    };
    from.iter().filter_map(moved).take(MOST).collect()
}

fn restored(git: &Git) -> Vec<Effect> {
    let is_in_work = git.has_flag("W", "--worktree") || !git.has_flag("S", "--staged");
    if !is_in_work || Named::excludes(git) {
        return Vec::new();
    }
    let named = named(git, "-s --source");
    let is_as_committed = || {
        let mut words = git.arguments();
        let source = words.find_map(|(word, _)| match word {
            "-s" | "--source" => Some(""),
            word => word.strip_prefix("--source=").or_else(|| word.strip_prefix("-s")),
        });
        let source = if source == Some("") {
            words.next().map(|(word, _)| word)
        } else {
            source
        };
        source.is_none_or(|source| matches!(source, "HEAD" | "@")) && !git.has("--ours --theirs")
    };
    match is_as_committed() {
        true => put_back(git, named.paths()),
        false => fetched(git, named.paths()),
    }
}

fn checked_out(git: &Git) -> Vec<Effect> {
    if git.has("-b -B --orphan") || Named::excludes(git) {
        return Vec::new();
    }
    let named = named(git, "");
    let is_merging = git.has("--ours --theirs --merge -m --conflict");
    let refs = &named.before[..];
    match (refs, &named.behind) {
        (_, Some(paths)) if is_merging => fetched(git, paths.iter().copied()),
        (_, None) if is_merging => Vec::new(),
        ([] | ["HEAD" | "@"], Some(paths)) => put_back(git, paths.iter().copied()),
        (_, Some(paths)) => fetched(git, paths.iter().copied()),
        (["HEAD" | "@", paths @ ..], None) if !paths.is_empty() => put_back(git, paths.iter().copied()),
        // Without `--` it may be a branch, which is no file that is known.
        ([path], None) if *path == "." || path.contains(['.', '/']) => {
            let mut effects = put_back(git, [*path]);
            for effect in &mut effects {
                if let Effect::PutBack(Among::Path(path)) = effect {
                    *effect = Effect::PutBack(Among::Perhaps(std::mem::take(path)));
                }
            }
            effects
        }
        ([] | [_], None) if git.has("-f --force") => whole(git).map(Effect::PutBack).into_iter().collect(),
        ([name, paths @ ..], None) if is_commit(name) => fetched(git, paths.iter().copied()),
        _ => Vec::new(),
    }
}

/// Whether the first of several words is a branch or a commit for sure, and no file.
fn is_commit(name: &str) -> bool {
    let is_hash =
        name.len() >= 7 && name.bytes().all(|b| b.is_ascii_hexdigit()) && name.contains(|c: char| c.is_ascii_digit());
    name.contains(['~', '^', '@'])
        || name.starts_with("origin/")
        || name.starts_with("upstream/")
        || is_in(name, "main master develop dev trunk FETCH_HEAD ORIG_HEAD MERGE_HEAD")
        || is_hash
}

fn stashed(git: &Git) -> Vec<Effect> {
    let named = named(git, "-m --message");
    if !named.is_plain || git.has("-k --keep-index -S --staged") {
        return Vec::new();
    }
    let with_new = git.has_flag("ua", "--include-untracked") || git.has("--all");
    let (verb, words) = match &named.before[..] {
        [] => ("push", &[][..]),
        [verb, words @ ..] => (*verb, words),
    };
    // What is saved is given a message, and what is pushed is chosen.
    let chosen: Vec<&str> = match verb {
        "push" => words.iter().chain(named.behind.iter().flatten()).copied().collect(),
        "save" => Vec::new(),
        _ if is_in(verb, "pop apply branch") => return vec![Effect::Unstash],
        _ => return Vec::new(),
    };
    let among: Vec<Among> = match chosen.is_empty() {
        true => whole(git).into_iter().collect(),
        false => chosen
            .into_iter()
            .filter_map(|path| among(git, path))
            .take(MOST)
            .collect(),
    };
    among
        .into_iter()
        .map(|among| Effect::Stash { among, with_new })
        .collect()
}

/// Only what is ignored is taken with `-X`, and nothing for sure of what somebody chooses or leaves out.
fn cleaned(git: &Git) -> Vec<Effect> {
    let is_sure = git.has_flag("f", "--force")
        && !git.has_flag("niXe", "--dry-run")
        && !git.has("--interactive --exclude")
        && !Named::excludes(git);
    if !is_sure {
        return Vec::new();
    }
    let named = named(git, "");
    if named.paths().next().is_none() {
        let at = git.at.known().filter(|_| named.is_plain);
        return at.map(|at| Effect::Clean(at.to_owned())).into_iter().collect();
    }
    let places = named.paths().filter_map(|path| git.at.place(path));
    places.map(Effect::Clean).take(MOST).collect()
}
