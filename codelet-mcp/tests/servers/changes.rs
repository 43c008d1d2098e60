//! Servers whose lists of tools change during a session.

use crate::kit::{Bench, HARD, call, connected, find, names, options, parameters, run, web};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::{Need, Refreshed, ToolSource as _};
use codelet_mcp::{Connected, check};
use codelet_testkit::mcp::{Http, Manner};
use serde_json::json;

async fn refresh(connected: &Connected) -> (Option<Vec<String>>, Vec<String>) {
    let Refreshed { tools, notices } = connected.offers.refresh().await;
    let names = |tools: Vec<_>| -> Vec<String> {
        let tools: Vec<std::sync::Arc<dyn codelet_agent::tool::Tool>> = tools;
        tools.iter().map(|tool| tool.spec().name.to_string()).collect()
    };
    (tools.map(names), notices)
}

fn lists(bench: &Bench, name: &str) -> usize {
    bench.log(name).iter().filter(|line| *line == "tools/list").count()
}

#[test]
fn tools_that_a_server_changes_are_known_once_they_are_asked_for() {
    run(async {
        let bench = Bench::new();
        let http = Http::start(Manner::Changing, true);
        let both = vec![bench.server("a", Manner::Changing), web("b", &http)];
        let connected = connected(both).await;
        let before = ["a__change", "a__echo", "a__sulk", "b__change", "b__echo", "b__sulk"];
        assert_eq!(names(&connected), before);
        for name in ["a__change", "b__change"] {
            assert!(call(&connected, name, "").await.success);
        }
        // The list does not change until it is refreshed.
        assert_eq!(names(&connected), before);
        let after = [
            "a__change", "a__echo", "a__late", "a__sulk", "b__change", "b__echo", "b__late", "b__sulk",
        ];
        let mut heard = refresh(&connected).await;
        while heard.0.as_ref().is_none_or(|tools| tools.len() < after.len()) {
            // A notification over HTTP arrives a moment after the result.
            tokio::task::yield_now().await;
            let (tools, notices) = refresh(&connected).await;
            heard.0 = tools.or(heard.0);
            heard.1.extend(notices);
        }
        assert_eq!(heard.0.unwrap(), after);
        assert_eq!(names(&connected), after);
        let told = |name: &str| format!("MCP server {name}: its tools have changed (4 now)");
        assert_eq!(heard.1, ["a", "b"].map(told));
        assert_eq!(call(&connected, "a__late", "there").await.text.as_str(), "there");
        assert_eq!(call(&connected, "b__late", "there").await.text.as_str(), "there");
        // The hundred notifications were one change; the list is read once.
        assert_eq!(lists(&bench, "a"), 2);
    });
}

/// The definition to which a permission is bound: by name alone, a server could substitute another tool.
fn definition(connected: &Connected, name: &str) -> String {
    let needs = find(connected, name).needs(&parameters(json!({}))).unwrap();
    match needs.into_iter().next() {
        Some(Need::Call { definition, .. }) => definition,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_that_is_described_otherwise_has_another_definition_and_the_others_keep_theirs() {
    run(async {
        let bench = Bench::new();
        let of_all = |connected: &Connected| ["a__echo", "a__sulk"].map(|name| definition(connected, name));
        let first = connected(vec![bench.server("a", Manner::Changing)]).await;
        let [echo, sulk] = of_all(&first);
        assert!(call(&first, "a__change", "").await.success);
        assert!(refresh(&first).await.0.is_some());
        let [changed, same] = of_all(&first);
        assert_ne!(changed, echo);
        assert_eq!(same, sulk);
        // The same in the next session, so that a permission can be stored.
        let second = connected(vec![bench.server("a", Manner::Changing)]).await;
        assert_eq!(of_all(&second), [echo, sulk]);
    });
}

#[test]
fn a_list_that_is_the_same_is_no_change_and_one_that_nobody_changed_is_not_read() {
    run(async {
        let bench = Bench::new();
        let both = vec![bench.server("a", Manner::Changing), bench.server("b", Manner::Good)];
        let connected = connected(both).await;
        assert_eq!(refresh(&connected).await, (None, Vec::new()));
        assert_eq!((lists(&bench, "a"), lists(&bench, "b")), (1, 1));
        call(&connected, "a__change", "").await;
        call(&connected, "a__change", "").await;
        // After two changes, one tool has a different description.
        let (tools, notices) = refresh(&connected).await;
        assert!(tools.is_some());
        assert_eq!(notices, ["MCP server a: its tools have changed (3 now)"]);
        assert_eq!(refresh(&connected).await, (None, Vec::new()));
        assert_eq!((lists(&bench, "a"), lists(&bench, "b")), (2, 1));
    });
}

#[test]
fn a_tool_that_is_gone_from_the_list_can_be_called_until_the_list_is_read() {
    run(async {
        let bench = Bench::new();
        let connected = connected(vec![bench.server("s", Manner::Changing)]).await;
        call(&connected, "s__change", "").await;
        refresh(&connected).await;
        call(&connected, "s__change", "").await;
        // The server decides on the result of such a call.
        assert_eq!(call(&connected, "s__late", "still").await.text.as_str(), "still");
        let (tools, notices) = refresh(&connected).await;
        assert_eq!(tools.unwrap(), ["s__change", "s__echo", "s__sulk"]);
        assert_eq!(notices, ["MCP server s: its tools have changed (3 now)"]);
    });
}

#[test]
fn a_list_that_changes_all_the_time_is_left_as_it_is_in_the_end() {
    run(async {
        let bench = Bench::new();
        // The server sends no notifications, so its list is read each time.
        let connected = connected(vec![bench.server("s", Manner::Restless)]).await;
        let mut changes = 0;
        let mut last = Vec::new();
        for _ in 0..60 {
            let (tools, notices) = refresh(&connected).await;
            changes += usize::from(tools.is_some());
            last.extend(notices);
        }
        assert_eq!(changes, 50);
        let told = "MCP server s: its tools have changed 50 times; further changes are ignored";
        assert_eq!(last.last().unwrap(), told);
        assert_eq!(lists(&bench, "s"), 51);
    });
}

#[test]
fn a_list_that_cannot_be_read_again_is_told_once_and_the_tools_stay() {
    run(async {
        let bench = Bench::new();
        let connected = connected(vec![bench.server("s", Manner::Changing)]).await;
        call(&connected, "s__sulk", "").await;
        let told = "MCP server s: its tools have changed, but the new list cannot be read: it refuses: nobody may know; the old list stays";
        assert_eq!(refresh(&connected).await, (None, vec![told.to_owned()]));
        assert_eq!(refresh(&connected).await, (None, Vec::new()));
        assert_eq!(names(&connected), ["s__change", "s__echo", "s__sulk"]);
        assert!(call(&connected, "s__echo", "").await.success);
    });
}

#[test]
fn a_trial_says_what_each_server_offers_and_what_is_wrong() {
    run(async {
        let bench = Bench::new();
        let all = vec![
            bench.server("good", Manner::Good),
            bench.server("dead", Manner::Dead),
            bench.server("twice", Manner::Twice),
        ];
        let checked = check(all, options(), &Interrupt::new(), HARD).await;
        let [good, dead, twice] = &checked[..] else { panic!() };
        let found = good.found.as_ref().ok().unwrap();
        assert_eq!(
            (found.title.as_str(), found.protocol.as_str()),
            ("test 1", "2025-06-18")
        );
        assert_eq!((found.tools.len(), found.notices.len()), (10, 0));
        assert!(good.took > std::time::Duration::ZERO);
        let why = dead.found.as_ref().err().unwrap();
        assert!(
            why.starts_with("it ended with status 3 (") && why.contains("out of luck"),
            "{why}"
        );
        let odd = &twice.found.as_ref().ok().unwrap().notices;
        assert!(odd[0].starts_with("2 of its tools cannot be read"), "{odd:?}");
        // All processes are gone afterwards.
        for name in ["good", "twice"] {
            let pid = bench.numbers(name, "pid")[0];
            bench.wait(|| crate::kit::is_gone(pid), "its end").await;
        }
    });
}
