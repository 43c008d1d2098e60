//! Tests of valid settings files, their effects, and the errors for invalid ones.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::exit::Failure;

fn of(user: &str, project: &str) -> Result<Settings, Failure> {
    let folder = tempfile::tempdir().unwrap();
    within(folder.path(), user, project)
}

/// Reads these files in this folder.
fn within(folder: &Path, user: &str, project: &str) -> Result<Settings, Failure> {
    let places = Places::new(Some(&folder.join("config")), &folder.join("repo"));
    for (path, text) in [(places.user.as_ref().unwrap(), user), (&places.project, project)] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut settings = Settings::read(&places)?;
    settings.heed(&|_| None);
    Ok(settings)
}

fn told(done: Result<Settings, Failure>) -> String {
    match done {
        Err(Failure::Told(words)) => {
            let file = words.find("settings.toml").or_else(|| Some(words.rfind('/')? + 1));
            words[file.unwrap_or(0)..].to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_project_narrows_what_the_user_permits_and_never_widens_it() {
    let settings = of(
        "permission = \"edit\"\nallow = [\"cargo *\"]\nmax_steps = 50",
        "permission = \"all\"\nallow = [\"*\"]\nmax_steps = 900\nbase_url = \"http://evil\"\nmodel = \"a/b\"",
    )
    .unwrap();
    assert_eq!(settings.permission.value, Permission::Edit);
    assert_eq!(settings.allow.value, ["cargo *"]);
    assert_eq!(settings.max_steps.value, Some(50));
    assert_eq!(settings.base_url.value, None);
    assert_eq!(settings.model.value, "a/b");
    assert!(
        settings.notices[0].contains("ignored allow, base_url, permission: "),
        "{:?}",
        settings.notices
    );
    let settings = of("permission = \"all\"", "permission = \"read\"").unwrap();
    assert_eq!(settings.permission.value, Permission::Read);
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_line_and_column() {
    assert!(told(of("modle = 1", "")).ends_with("; did you mean model?"));
    assert_eq!(
        told(of("model = \"a/b\"\nmodle = 1", "")).split(';').next().unwrap(),
        "settings.toml:2:1: unknown setting `modle`"
    );
    assert!(
        told(of("model = ", "")).starts_with("settings.toml:1:"),
        "{}",
        told(of("model = ", ""))
    );
    assert!(told(of("", "max_steps = \"many\"")).starts_with("settings.toml:1:13: "));
    assert!(told(of("\npermission = \"root\"", "")).starts_with("settings.toml:2:14: permission: expected plan, read"));
}

#[test]
fn a_project_s_model_is_one_of_the_vendor_that_the_user_would_ask_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::new(None, folder.path());
    std::fs::create_dir_all(places.project.parent().unwrap()).unwrap();
    let model = |project: &str, keys: &[&str], named: Option<&str>| {
        std::fs::write(&places.project, format!("model = {project:?}")).unwrap();
        let mut settings = Settings::read(&places).unwrap();
        settings.model.take(named.map(str::to_owned), &From::CommandLine);
        settings.heed(&|name| keys.contains(&name).then(|| "key".to_owned()));
        (settings.model.value, settings.notices)
    };
    let both = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
    assert_eq!(
        model("anthropic/own", &both, None),
        ("anthropic/own".to_owned(), Vec::new())
    );
    assert_eq!(
        model("openai/own", &both[1..], None),
        ("openai/own".to_owned(), Vec::new())
    );
    let (usual, _) = model("anthropic/own", &both, Some("anthropic/a"));
    assert_eq!(usual, "anthropic/a");
    for other in ["openai/own", "openrouter/anthropic/own", "deepseek/own"] {
        let (model, notices) = model(other, &both, None);
        assert!(model.starts_with("anthropic/claude-"), "{other}: {model}");
        assert!(
            notices[0].contains("ignored model: ") && notices[0].contains(other),
            "{notices:?}"
        );
    }
    assert_eq!(
        model("openai/own", &both, Some("anthropic/a")),
        ("anthropic/a".to_owned(), Vec::new())
    );
    // Without a key, only a provider that needs none is used.
    assert_eq!(
        model("ollama/small", &[], None),
        ("ollama/small".to_owned(), Vec::new())
    );
}

#[test]
fn a_project_loosens_nothing_at_all() {
    // A project's setting in each case, next to the user's own.
    let own = "model = \"ollama/small\"\nmax_steps = 5\nmax_cost = 0.5\nwindow = 8000\npatience = 9\nkeep_alive = 1\nnotify = \"off\"\nappend_system = \"Never push.\"\nidle_timeout = 7\npermission = \"read\"\ntranscripts = \"/home/ada/saved\"";
    let project = "transcripts = \"/srv/of_project\"\nmodel = \"anthropic/large\"\nmax_steps = 6\nmax_cost = 0.6\nwindow = 9000\npatience = 10\nkeep_alive = 2\nnotify = \"osc9\"\nappend_system = \"Push.\"\nidle_timeout = 70\npermission = \"edit\"\neffort = \"max\"\nsummary = \"model\"\npolicy = \"off\"\nallow = [\"*\"]\nadd_dirs = [\"/srv\"]\nprices = \"cards.json\"\nbase_url = \"http://evil\"\n[keys]\nollama = \"x\"\n[models.\"ollama/small\"]\nwindow = 9000\n[mcp.evil]\ncommand = \"evil\"";
    let folder = tempfile::tempdir().unwrap();
    let alone = within(folder.path(), own, "").unwrap();
    let mut both = within(folder.path(), own, project).unwrap();
    assert_eq!(std::mem::take(&mut both.notices).len(), 1);
    assert_eq!(both, alone);
    // Ignored settings are not validated.
    assert!(of("", "[mcp.evil]\nurl = \"ftp://x\"").unwrap().mcp.is_empty());
    // As on the command line.
    assert_eq!(of("window = \"100k\"", "").unwrap().window.value, Some(100_000));
    assert!(of("window = \"3k\"", "").is_err());
    // A project may set a window that the user has not set, limited to the model's own.
    let settings = of("", "model = \"a/b\"\nwindow = 9000000").unwrap();
    assert_eq!(settings.model.value, "a/b");
    assert!(settings.window_is_bound);
    let settings = of("model = \"a/b\"\nwindow = 8000", "model = \"a/c\"\nwindow = 7000").unwrap();
    assert_eq!(
        (settings.model.value.as_str(), settings.window.value),
        ("a/c", Some(7000))
    );
    assert!(!settings.window_is_bound);
}

#[test]
fn a_project_chooses_a_policy_only_if_it_costs_no_more_than_the_users() {
    for (own, project, holds) in [
        ("", "thrifty", Preset::Thrifty),
        ("", "off", Preset::Faithful),
        ("thrifty", "balanced", Preset::Thrifty),
        ("off", "faithful", Preset::Faithful),
    ] {
        let policy = |name: &str| match name {
            "" => String::new(),
            name => format!("policy = {name:?}"),
        };
        let settings = of(&policy(own), &policy(project)).unwrap();
        assert_eq!(settings.policy.value, holds, "{own} {project}");
        let is_refused = settings.notices.iter().any(|notice| notice.contains("ignored policy:"));
        assert_eq!(is_refused, settings.policy.value.name() != project, "{own} {project}");
    }
}

#[test]
fn a_bound_comes_from_the_file_whose_value_holds() {
    let own = "max_steps = 5\nmax_cost = 1.0\nwindow = 100000";
    for (user, project, is_of_project) in [
        (own, "max_steps = 50\nmax_cost = 100\nwindow = 200000", false),
        (own, own, false),
        (own, "max_steps = 4\nmax_cost = 0.5\nwindow = 90000", true),
        ("", own, true),
    ] {
        let settings = of(user, project).unwrap();
        let from = [&settings.max_steps.from, &settings.max_cost.from, &settings.window.from];
        let of_project = |from: &From| matches!(from, From::File(path) if path.parent().is_some_and(|folder| folder.ends_with(".codelet")));
        assert_eq!(from.map(of_project), [is_of_project; 3], "{user} {project}: {from:?}");
    }
}

#[test]
fn what_is_expected_is_told_in_plain_words() {
    for (line, told_of) in [
        (
            "max_steps = \"many\"",
            ":1:13: max_steps: expected a whole number, 1 or more",
        ),
        ("max_steps = 0", ":1:13: max_steps: expected a whole number, 1 or more"),
        (
            "max_steps = 99999999999",
            ":1:13: max_steps: expected a whole number, 1 or more, and at most 4294967295",
        ),
        ("max_steps = 99999999999999999999999999", ":1:13: "),
        ("window = -5", ":1:10: window: expected a whole number, 4000 or more"),
        (
            "\nwindow = 3999",
            ":2:10: window: expected a whole number, 4000 or more",
        ),
        (
            "max_cost = \"1\"",
            ":1:12: max_cost: expected an amount in US dollars above 0, such as 0.50",
        ),
        ("max_cost = nan", ":1:12: max_cost: expected an amount"),
        ("max_cost = inf", ":1:12: max_cost: expected an amount"),
        ("max_cost = -1.0", ":1:12: max_cost: expected an amount"),
        (
            "patience = 1.5",
            ":1:12: patience: expected seconds, a whole number from 1 to 86400 (a day)",
        ),
        (
            "patience = 0",
            ":1:12: patience: expected seconds, a whole number from 1 to 86400",
        ),
        (
            "patience = 86401",
            ":1:12: patience: expected seconds, a whole number from 1 to 86400",
        ),
        (
            "idle_timeout = 0",
            ":1:16: idle_timeout: expected seconds, a whole number from 1 to 86400",
        ),
        ("keep_alive = true", ":1:14: keep_alive: expected a whole number"),
        (
            "model = 5",
            ":1:9: model: expected a string in quotes, not the number `5`",
        ),
        ("allow = \"*\"", ":1:9: allow: expected a list, not a string"),
        ("keys = 3", ":1:8: keys: expected a table, not the number `3`"),
        ("keys = \"sk-0123456789\"", ":1:8: keys: expected a table, not a string"),
        (
            "[keys]\nanthropik = \"sk-x\"",
            ":2:1: unknown provider, expected one of anthropic, openai",
        ),
        (
            "[keys]\nopenai = \" \"",
            ":2:10: openai: expected text that is not empty",
        ),
        ("model = \"\"", ":1:9: model: expected text that is not empty"),
        ("base_url = \"\"", ":1:12: base_url: expected text that is not empty"),
        ("prices = \"\"", ":1:10: prices: expected text that is not empty"),
        ("allow = [\"ls\", \"\"]", ":1:9: allow: entry 2: the pattern is empty"),
        (
            "deny = [\"rm *\", \"git push:*\"]",
            ":1:8: deny: entry 2: write `git push *` for any further words, or `git push*` for any text in the last word",
        ),
        (
            "policy = \"cheap\"",
            ":1:10: policy: expected faithful, balanced, thrifty or off",
        ),
        (
            "compact_at = 1",
            ":1:14: compact_at: expected a share of the context window from 0.1 to 0.95, or off",
        ),
        (
            "compact_at = true",
            ":1:14: compact_at: expected a share of the context window from 0.1 to 0.95, or off",
        ),
        (
            "co_author = \"me\"",
            ":1:13: co_author: expected \"Name <address>\" or off",
        ),
        ("summary = \"me\"", ":1:11: summary: expected template or model"),
        (
            "[models.\"a/b\"]\ninput = -1",
            ":2:9: input: expected US dollars per million tokens, 0 to 1,000,000",
        ),
        ("[models.\"a/b\"]\ninput = nan", ":2:9: input: expected US dollars"),
        ("[models.\"a/b\"]\noutput = 1e300", ":2:10: output: expected US dollars"),
        (
            "[models.\"a/b\"]\nmax_output = 0",
            ":2:14: max_output: expected a whole number",
        ),
        (
            "[models.\"a/b\"]\nwindow = 0",
            ":2:10: window: expected a whole number, 4000 or more",
        ),
        (
            "[models.\"a/b\"]\nsees_images = 1",
            ":2:15: sees_images: expected true or false, not the number `1`",
        ),
    ] {
        let told = told(of(line, ""));
        assert!(told.starts_with(&format!("settings.toml{told_of}")), "{line}: {told}");
        for foreign in [
            "u32", "u64", "f64", "i128", "i64", "sequence", "a map", "invalid type", "boolean",
        ] {
            assert!(!told.contains(foreign), "{line}: {told}");
        }
    }
}

#[test]
fn no_error_about_a_setting_repeats_a_misplaced_key() {
    const KEY: &str = "sk-ant-api03-0123456789";
    for setting in [
        "effort", "permission", "network", "summary", "policy", "compact_at", "background", "notify", "co_author",
        "hooks_from", "transcripts", "max_steps", "max_cost", "window", "patience", "web", "allow", "keys", "models",
    ] {
        let told = told(of(&format!("{setting} = \"{KEY}\""), ""));
        assert!(told.starts_with("settings.toml:1:") && !told.contains(KEY), "{told}");
    }
    for line in [
        format!("write = [\"/a/b\", \"{KEY}\"]"),
        format!("add_dirs = [\"{KEY}\"]"),
        format!("web_private = [\"ada:{KEY}@host\"]"),
        format!("{KEY} = 1"),
        format!("[keys]\n{KEY} = \"anthropic\""),
        format!("[projects.\"{KEY}\"]"),
        KEY.to_owned(),
    ] {
        let told = told(of(&line, ""));
        assert!(told.starts_with("settings.toml:") && !told.contains(KEY), "{told}");
    }
}

#[test]
fn a_file_that_others_may_read_or_commands_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let places = Places::new(Some(folder.path()), &folder.path().join("repo"));
    let path = places.user.clone().unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "[keys]\nanthropic = \"sk-secret\"").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let Err(Failure::Told(words)) = Settings::read(&places) else {
        panic!()
    };
    assert!(words.contains("chmod 600") && !words.contains("sk-secret"), "{words}");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let settings = Settings::read(&places).unwrap();
    assert_eq!(settings.keys["anthropic"].reveal(), "sk-secret");
    let other = folder.path().join("other");
    std::fs::hard_link(&path, &other).unwrap();
    let Err(Failure::Told(words)) = Settings::read(&places) else {
        panic!()
    };
    assert!(words.contains("hard link"), "{words}");
    std::fs::remove_file(other).unwrap();
    // As in model names, a vendor's alias works.
    std::fs::write(&path, "[keys]\ngoogle = \"sk-secret\"").unwrap();
    let settings = Settings::read(&places).unwrap();
    assert_eq!(settings.keys["gemini"].reveal(), "sk-secret");
    assert!(!format!("{settings:?}").contains("sk-secret"));
}

#[test]
fn a_co_author_is_somebody_with_an_address_and_the_users_choice() {
    let named = "co_author = \"Codelet <codelet@example.com>\"";
    let settings = of(named, "co_author = \"Eve <eve@example.com>\"").unwrap();
    assert_eq!(
        settings.co_author.value.as_deref(),
        Some("Codelet <codelet@example.com>")
    );
    assert!(
        settings.notices[0].contains("ignored co_author"),
        "{:?}",
        settings.notices
    );
    assert_eq!(of("co_author = \"off\"", "").unwrap().co_author.value, None);
    for name in [
        "Ada", "Ada <>", "<a@b>", "Ada <a b>", "Ada <a@b> x", "Ada\\nEve <a@b>", "A <b> <c>",
    ] {
        assert!(of(&format!("co_author = \"{name}\""), "").is_err(), "{name}");
    }
}
