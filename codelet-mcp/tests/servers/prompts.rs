//! Servers that offer prompts.

use crate::kit::{Bench, HARD, call, connected, names, options, run, web};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::prompts::{Fetched, PromptSource as _, fetch};
use codelet_mcp::{Connected, check};
use codelet_testkit::mcp::{Http, Manner};

fn commands(connected: &Connected) -> Vec<String> {
    let prompts = connected.offers.prompts();
    prompts.into_iter().map(|prompt| prompt.command).collect()
}

async fn ask(connected: &Connected, command: &str, words: &str) -> Result<Fetched, String> {
    fetch(&*connected.offers, command, words, &Interrupt::new()).await
}

const OWN: [&str; 9] = [
    "code_style", "die", "hello", "huge", "long", "odd", "refuse", "review", "wait",
];

#[test]
fn prompts_are_listed_page_by_page_and_asked_for_under_the_servers_own_names() {
    run(async {
        let bench = Bench::new();
        let http = Http::start(Manner::Author, true);
        let connected = connected(vec![bench.server("a", Manner::Author), web("b", &http)]).await;
        assert_eq!(connected.notices, Vec::<String>::new());
        let expected: Vec<String> = ["a", "b"]
            .iter()
            .flat_map(|server| OWN.map(|own| format!("{server}:{own}")))
            .collect();
        assert_eq!(commands(&connected), expected);
        let review = connected.offers.prompts().remove(7);
        assert_eq!(review.description, "Reviews a file.[31m");
        assert_eq!(review.arguments.len(), 2);
        for server in ["a", "b"] {
            let fetched = ask(&connected, &format!("{server}:review"), "style='very strict' src/a.rs")
                .await
                .unwrap();
            let expected = format!(
                "[The user ran /{server}:review style='very strict' src/a.rs. The MCP server {server} wrote what follows.]\n\n\
                 Review src/a.rs in the style very strict.]0;x See @notes.txt.\n\n[note:///rules]\nBe kind."
            );
            assert_eq!(fetched.prompt.text, expected);
            let fetched = ask(&connected, &format!("{server}:code.style"), "").await.unwrap();
            assert!(
                fetched
                    .prompt
                    .text
                    .ends_with("User:\nHow do we write code?\n\nAssistant:\nIn short lines.\n\nUser:\nGo on.")
            );
        }
        assert!(bench.log("a").contains(&"prompts/get code.style".to_owned()));
    });
}

#[test]
fn a_prompt_that_cannot_be_had_is_told_in_a_sentence() {
    run(async {
        let bench = Bench::new();
        let mut slow = bench.server("slow", Manner::Author);
        slow.timeout = std::time::Duration::from_millis(300);
        let connected = connected(vec![bench.server("a", Manner::Author), slow]).await;
        for (command, words, why) in [
            (
                "a:review",
                "",
                "/a:review needs file (The file to review). Usage: /a:review FILE [STYLE]. Nothing was sent.",
            ),
            (
                "a:hello",
                "x",
                "/a:hello takes no arguments. Usage: /a:hello. Nothing was sent.",
            ),
            (
                "a:refuse",
                "",
                "The MCP server a refuses this prompt: the moon is in the way (-32602). Nothing was sent.",
            ),
            (
                "a:huge",
                "",
                "The prompt of the MCP server a cannot be used: it has 307,200 bytes, the limit is 262,144. Nothing was sent.",
            ),
            (
                "a:odd",
                "",
                "The prompt of the MCP server a cannot be used: it is invalid. Nothing was sent.",
            ),
            (
                "slow:wait",
                "",
                "The MCP server slow did not answer within 0.3 s. Nothing was sent.",
            ),
            ("a:helo", "", "Unknown command /a:helo; did you mean /a:hello?"),
        ] {
            assert_eq!(ask(&connected, command, words).await.unwrap_err(), why);
        }
        // A request kills the server, which is restarted for the next one.
        let died = ask(&connected, "a:die", "").await.unwrap_err();
        assert!(died.contains("it ended with status 3"), "{died}");
        assert!(ask(&connected, "a:hello", "").await.is_ok());
        let interrupt = Interrupt::new();
        let waiting = fetch(&*connected.offers, "a:wait", "", &interrupt);
        let (came, ()) = tokio::join!(waiting, async {
            bench.heard("a", "prompts/get wait").await;
            interrupt.throw();
        });
        assert_eq!(came.unwrap_err(), "Interrupted; nothing was sent.");
    });
}

#[test]
fn prompts_that_a_server_changes_are_read_once_for_all_that_it_says_of_it() {
    run(async {
        let bench = Bench::new();
        let connected = connected(vec![bench.server("a", Manner::Author)]).await;
        let lists = || bench.log("a").iter().filter(|line| *line == "prompts/list").count();
        assert!(connected.offers.refresh_prompts().await.is_empty());
        assert_eq!(lists(), 2);
        assert!(call(&connected, "a__change", "").await.success);
        let fetched = ask(&connected, "a:late", "").await.unwrap();
        assert_eq!(fetched.notices, ["MCP server a: its prompts have changed (10 now)"]);
        assert_eq!(lists(), 4);
        assert!(connected.offers.refresh_prompts().await.is_empty());
        assert_eq!(lists(), 4);
        assert!(call(&connected, "a__change", "").await.success);
        let gone = ask(&connected, "a:late", "").await.unwrap_err();
        assert!(gone.starts_with("Unknown command /a:late"), "{gone}");
    });
}

#[test]
fn a_server_with_prompts_alone_is_of_use_and_one_without_is_not_asked_for_them() {
    run(async {
        let bench = Bench::new();
        let both = || vec![bench.server("poet", Manner::Poet), bench.server("good", Manner::Good)];
        let connected = connected(both()).await;
        assert_eq!(connected.notices, Vec::<String>::new());
        assert!(names(&connected).iter().all(|name| name.starts_with("good__")));
        assert_eq!(commands(&connected).len(), OWN.len());
        assert!(ask(&connected, "poet:hello", "").await.is_ok());
        assert!(!bench.log("good").contains(&"prompts/list".to_owned()));
        let checked = check(both(), options(), &Interrupt::new(), HARD).await;
        let found: Vec<usize> = checked
            .iter()
            .map(|checked| checked.found.as_ref().map_or(0, |found| found.prompts.len()))
            .collect();
        assert_eq!(found, [OWN.len(), 0]);
    });
}
