#![allow(clippy::unwrap_used)]

use super::*;
use crate::environment::Listing;
use crate::interrupt::Interrupt;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};

const SKILLS: Kind = Kind {
    folder: "skills",
    file: Some("SKILL.md"),
    required: &["description"],
};
const COMMANDS: Kind = Kind {
    folder: "commands",
    file: None,
    required: &[],
};

/// A world of these files; a text that begins with `-> ` is a symbolic link.
pub(crate) struct World(pub(crate) BTreeMap<PathBuf, String>, Places);

impl World {
    fn has_folder(&self, path: &Path) -> bool {
        self.0.keys().any(|file| file != path && file.starts_with(path))
    }
}

impl Surroundings for World {
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let mut path = path.to_owned();
        let link = |path: &Path| Some(self.0.get(path)?.strip_prefix("-> ")?.to_owned());
        while let Some((above, to)) = path
            .ancestors()
            .find_map(|above| Some((above.to_owned(), link(above)?)))
        {
            path = match path.strip_prefix(&above).unwrap() {
                rest if rest.as_os_str().is_empty() => PathBuf::from(to),
                rest => PathBuf::from(to).join(rest),
            };
        }
        (self.0.contains_key(&path) || self.has_folder(&path)).then_some(path)
    }
    fn is_folder(&self, path: &Path) -> bool {
        self.has_folder(path)
    }
    fn text(&self, path: &Path, limit: usize) -> Option<(String, u64)> {
        let text = self.0.get(path).filter(|text| *text != "\0")?;
        let end = text.floor_char_boundary(limit);
        Some((text[..end].to_owned(), text.len() as u64))
    }
    fn list(&self, folder: &Path, most: usize) -> Option<Listing> {
        let below = self
            .0
            .keys()
            .filter_map(|file| file.strip_prefix(folder).ok()?.iter().next());
        let names: BTreeSet<String> = below.map(|name| name.to_str().unwrap().to_owned()).collect();
        let is_whole = names.len() <= most;
        (!names.is_empty()).then(|| Listing {
            names: names.into_iter().take(most).collect(),
            is_whole,
        })
    }
    fn places(&self) -> Places {
        self.1.clone()
    }
    fn environment(&self) -> String {
        String::new()
    }
    fn git_status(&self, _: Interrupt) -> BoxFuture<'static, Option<String>> {
        Box::pin(async { None })
    }
}

pub(crate) fn world<P: Into<PathBuf>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> World {
    World(
        files
            .into_iter()
            .map(|(path, text)| (path.into(), text.into()))
            .collect(),
        Places {
            directory: "/repo/app".into(),
            root: "/repo".into(),
            own: vec!["/home/ann/.config/codelet".into(), "/home/ann/.claude".into()],
            home: Some("/home/ann".into()),
        },
    )
}

pub(crate) fn skill(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo {description}.\n")
}

fn paths(found: &Found) -> Vec<&str> {
    found
        .definitions
        .iter()
        .map(|found| found.path.to_str().unwrap())
        .collect()
}

#[test]
fn the_users_own_come_first_and_then_from_the_root_down() {
    let files = [
        "/repo/app/.claude/skills/near/SKILL.md",
        "/repo/.claude/skills/b/SKILL.md",
        "/repo/.claude/skills/a/SKILL.md",
        "/repo/.agents/skills/c/SKILL.md",
        "/home/ann/.agents/skills/mine/SKILL.md",
        "/home/ann/.claude/skills/own/SKILL.md",
        "/home/ann/.config/codelet/skills/first/SKILL.md",
        "/.claude/skills/above/SKILL.md",
        "/repo/other/.claude/skills/beside/SKILL.md",
        "/repo/.claude/skills/README.md",
        "/repo/.claude/skills/empty/notes.md",
    ];
    let found = find(&world(files.map(|file| (file, skill("x")))), &SKILLS);
    assert_eq!(
        paths(&found),
        [
            "/home/ann/.config/codelet/skills/first/SKILL.md",
            "/home/ann/.claude/skills/own/SKILL.md",
            "/home/ann/.agents/skills/mine/SKILL.md",
            "/repo/.agents/skills/c/SKILL.md",
            "/repo/.claude/skills/a/SKILL.md",
            "/repo/.claude/skills/b/SKILL.md",
            "/repo/app/.claude/skills/near/SKILL.md",
        ]
    );
    assert_eq!(found.notices, Vec::<String>::new());
    let users = found
        .definitions
        .iter()
        .filter(|found| found.author == Author::User)
        .count();
    assert_eq!(users, 3);
}

#[test]
fn of_one_name_the_users_own_is_used_and_else_the_nearest() {
    let found = find(
        &world([
            ("/home/ann/.agents/skills/mine/SKILL.md", skill("mine")),
            ("/repo/app/.agents/skills/MINE/SKILL.md", skill("evil")),
            ("/repo/.agents/skills/two/SKILL.md", skill("far")),
            ("/repo/app/.agents/skills/two/SKILL.md", skill("near")),
            ("/repo/app/.claude/skills/two/SKILL.md", skill("second")),
        ]),
        &SKILLS,
    );
    assert_eq!(
        paths(&found),
        [
            "/home/ann/.agents/skills/mine/SKILL.md",
            "/repo/app/.agents/skills/two/SKILL.md"
        ]
    );
    assert_eq!(found.notices.len(), 3, "{:?}", found.notices);
}

#[test]
fn files_may_lie_in_folders_below() {
    let found = find(
        &world([
            ("/repo/.claude/commands/review.md", "Review."),
            (
                "/repo/.claude/commands/web/ui/button.md",
                "---\ndescription: x\n---\nMake one.",
            ),
            ("/repo/.claude/commands/notes.txt", "no"),
            ("/repo/.claude/commands/.hidden.md", "no"),
        ]),
        &COMMANDS,
    );
    let named: Vec<_> = found
        .definitions
        .iter()
        .map(|found| (&*found.group, &*found.name))
        .collect();
    assert_eq!(named, [("", "review"), ("web/ui", "button")]);
}

#[test]
fn what_leads_out_of_a_project_is_skipped() {
    let found = find(
        &world([
            (
                "/repo/.claude/skills/key/SKILL.md".to_owned(),
                "-> /home/ann/.ssh/id".to_owned(),
            ),
            ("/home/ann/.ssh/id".to_owned(), skill("key")),
            ("/repo/.agents/skills".to_owned(), "-> /home/ann/notes".to_owned()),
            ("/home/ann/notes/x/SKILL.md".to_owned(), skill("x")),
            (
                "/repo/.claude/skills/git/SKILL.md".to_owned(),
                "-> /repo/.git/config".to_owned(),
            ),
            ("/repo/.git/config".to_owned(), skill("x")),
            (
                "/repo/.claude/skills/ok/SKILL.md".to_owned(),
                "-> /repo/docs/ok.md".to_owned(),
            ),
            ("/repo/docs/ok.md".to_owned(), skill("ok")),
            ("/repo/.claude/skills/pipe/SKILL.md".to_owned(), "\0".to_owned()),
            // Someone who links a project's file has not written it.
            (
                "/home/ann/.claude/skills/linked".to_owned(),
                "-> /repo/skills/linked".to_owned(),
            ),
            ("/repo/skills/linked/SKILL.md".to_owned(), skill("linked")),
        ]),
        &SKILLS,
    );
    assert_eq!(paths(&found), ["/repo/skills/linked/SKILL.md", "/repo/docs/ok.md"]);
    assert!(found.definitions.iter().all(|found| found.author == Author::Project));
    let told = found.notices.join("\n");
    for why in [
        "/home/ann/.ssh/id: it is outside",
        "/home/ann/notes: it is outside",
        "it belongs to git",
        "pipe/SKILL.md: it is not text",
    ] {
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_link_that_was_put_since_is_not_followed() {
    let mut world = world([
        ("/repo/.claude/skills/a/SKILL.md", skill("a")),
        ("/home/ann/key", "secret".to_owned()),
    ]);
    let found = find(&world, &SKILLS);
    let body = found.definitions[0].body(&world).unwrap();
    assert_eq!(body.text, "Do a.");
    world
        .0
        .insert("/repo/.claude/skills/a/SKILL.md".into(), "-> /home/ann/key".to_owned());
    assert_eq!(found.definitions[0].body(&world).unwrap_err(), "is gone");
    world
        .0
        .insert("/repo/.claude/skills/a/SKILL.md".into(), "x".repeat(LONGEST + 1));
    assert!(found.definitions[0].body(&world).unwrap_err().contains("longer than"));
}

#[test]
fn a_crowd_of_files_and_of_notices_ends() {
    let many = (0..1_000).map(|number| (format!("/repo/.claude/skills/s{number}/SKILL.md"), skill("x")));
    let found = find(&world(many), &SKILLS);
    assert_eq!((found.definitions.len(), found.notices.len()), (MOST, 1));
    assert!(found.notices[0].contains("more than 200"), "{:?}", found.notices);
    let bad = (0..1_000).map(|number| {
        (
            format!("/repo/.claude/skills/s{number}/SKILL.md"),
            "no front matter".to_owned(),
        )
    });
    let found = find(&world(bad), &SKILLS);
    assert_eq!(found.notices.len(), MOST_NOTICES + 1);
    assert!(
        found.notices[MOST_NOTICES].contains("992 more are skipped"),
        "{:?}",
        found.notices
    );
}

#[test]
fn names_that_would_deceive_are_skipped_and_shown_with_escapes() {
    let odd = ["a\nb", "<system-reminder>", "\u{1b}[2J", "-x", "a b", "é"];
    let files = odd.map(|name| (format!("/repo/.claude/skills/{name}/SKILL.md"), skill("x")));
    let found = find(&world(files), &SKILLS);
    assert_eq!(found.definitions, []);
    assert_eq!(found.notices.len(), odd.len());
    assert!(
        found.notices.iter().all(|notice| !notice.contains(['\n', '\u{1b}'])),
        "{:?}",
        found.notices
    );
}
