//! Import directions: down, never sideways, and among the files of a crate never in a circle. An arrow is an entry with
//! a reason; an entry without its arrow is stale.

use crate::imports;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// `from` may import `to`.
struct Arrow {
    from: &'static str,
    to: &'static str,
    why: &'static str,
}

/// The arrows between the crates of this workspace, as shipped.
const ARROWS: &[Arrow] = &[
    Arrow {
        from: "codelet-context",
        to: "codelet-text",
        why: "codes and characters that nobody sees are taken out of what is quoted",
    },
    Arrow {
        from: "codelet-transcript",
        to: "codelet-text",
        why: "the shape notation spells out what nobody sees",
    },
    Arrow {
        from: "codelet-mcp",
        to: "codelet-text",
        why: "what a server says is made harmless",
    },
    Arrow {
        from: "codelet-tools",
        to: "codelet-text",
        why: "what a program prints is cleaned as it comes",
    },
    Arrow {
        from: "codelet-process",
        to: "codelet-text",
        why: "a program's name shows nothing that hides",
    },
    Arrow {
        from: "codelet-tools",
        to: "codelet-process",
        why: "commands end with all that they have started",
    },
    Arrow {
        from: "codelet-mcp",
        to: "codelet-process",
        why: "servers end like commands, with all that they have started",
    },
    Arrow {
        from: "codelet",
        to: "codelet-process",
        why: "what still runs when the binary ends is ended",
    },
    Arrow {
        from: "codelet-agent",
        to: "codelet-text",
        why: "names of files are spelled with all that is in them",
    },
    Arrow {
        from: "codelet-terminal",
        to: "codelet-text",
        why: "what a text hides is shown",
    },
    Arrow {
        from: "codelet-replay",
        to: "codelet-text",
        why: "a page shows no character that hides",
    },
    Arrow {
        from: "codelet-providers",
        to: "codelet-text",
        why: "a vendor's words are told in part",
    },
    Arrow {
        from: "codelet",
        to: "codelet-text",
        why: "what is shown outside of a session is shortened",
    },
    Arrow {
        from: "codelet-transcript",
        to: "codelet-context",
        why: "formats turn text into the engine's messages and back",
    },
    Arrow {
        from: "codelet-agent",
        to: "codelet-context",
        why: "the loop holds a conversation",
    },
    Arrow {
        from: "codelet-providers",
        to: "codelet-agent",
        why: "a provider is the loop's model",
    },
    Arrow {
        from: "codelet-providers",
        to: "codelet-context",
        why: "requests and replies are messages with usage",
    },
    Arrow {
        from: "codelet-providers",
        to: "codelet-transcript",
        why: "a vendor's JSON is written and read by the formats",
    },
    Arrow {
        from: "codelet-providers",
        to: "codelet-network",
        why: "providers are reached through the user's proxy, and by certificates that the user trusts",
    },
    Arrow {
        from: "codelet-mcp",
        to: "codelet-network",
        why: "servers of tools are reached by the same rules as providers",
    },
    Arrow {
        from: "codelet-web",
        to: "codelet-network",
        why: "pages are reached by the same rules as providers",
    },
    Arrow {
        from: "codelet-web",
        to: "codelet-agent",
        why: "what fetches pages is one of the loop's tools",
    },
    Arrow {
        from: "codelet-web",
        to: "codelet-context",
        why: "calls and their answers are made of the engine's words",
    },
    Arrow {
        from: "codelet-web",
        to: "codelet-text",
        why: "what a page says is made harmless",
    },
    Arrow {
        from: "codelet",
        to: "codelet-web",
        why: "the binary introduces the tool that fetches pages to the loop",
    },
    Arrow {
        from: "codelet",
        to: "codelet-network",
        why: "the binary says which proxy and certificates the environment names",
    },
    Arrow {
        from: "codelet-tools",
        to: "codelet-agent",
        why: "the tools implement what the loop asks of them",
    },
    Arrow {
        from: "codelet-tools",
        to: "codelet-context",
        why: "calls and their answers are made of the engine's words",
    },
    Arrow {
        from: "codelet-mcp",
        to: "codelet-agent",
        why: "a server's tool is one of the loop's",
    },
    Arrow {
        from: "codelet-mcp",
        to: "codelet-context",
        why: "calls and their answers are made of the engine's words",
    },
    Arrow {
        from: "codelet",
        to: "codelet-context",
        why: "the binary compacts",
    },
    Arrow {
        from: "codelet",
        to: "codelet-transcript",
        why: "the binary reads and writes conversations",
    },
    Arrow {
        from: "codelet-testkit",
        to: "codelet-context",
        why: "made-up conversations are messages",
    },
    Arrow {
        from: "codelet-testkit",
        to: "codelet-transcript",
        why: "checks compare shapes",
    },
    Arrow {
        from: "codelet",
        to: "codelet-agent",
        why: "the binary runs sessions",
    },
    Arrow {
        from: "codelet",
        to: "codelet-providers",
        why: "the binary introduces the model to the loop",
    },
    Arrow {
        from: "codelet",
        to: "codelet-tools",
        why: "the binary introduces the tools to the loop",
    },
    Arrow {
        from: "codelet",
        to: "codelet-stdio",
        why: "the binary says when its output is lost",
    },
    Arrow {
        from: "codelet",
        to: "codelet-mcp",
        why: "the binary introduces the tools of servers to the loop",
    },
    Arrow {
        from: "codelet-terminal",
        to: "codelet-agent",
        why: "it shows a session's events and carries its prompts",
    },
    Arrow {
        from: "codelet-terminal",
        to: "codelet-context",
        why: "figures and notices are the engine's",
    },
    Arrow {
        from: "codelet-replay",
        to: "codelet-context",
        why: "policies edit the engine's conversations",
    },
    Arrow {
        from: "codelet-replay",
        to: "codelet-transcript",
        why: "recorded conversations are read by the formats",
    },
    Arrow {
        from: "codelet",
        to: "codelet-terminal",
        why: "the binary introduces the session to the terminal",
    },
    Arrow {
        from: "codelet",
        to: "codelet-stores",
        why: "the binary reads what other agents keep in databases",
    },
    Arrow {
        from: "codelet",
        to: "codelet-replay",
        why: "the binary replays and reports",
    },
    Arrow {
        from: "xtask",
        to: "codelet-gateway",
        why: "what recorded sessions cost through it is measured",
    },
    Arrow {
        from: "xtask",
        to: "codelet-replay",
        why: "they are the sessions that replay plays, each once, at the weights that their bills tell",
    },
    Arrow {
        from: "codelet-acp",
        to: "codelet-agent",
        why: "an editor holds sessions of the loop",
    },
    Arrow {
        from: "codelet-acp",
        to: "codelet-context",
        why: "what was said, done and compacted is told in the engine's words",
    },
    Arrow {
        from: "codelet-acp",
        to: "codelet-text",
        why: "what a text hides is shown in titles and questions",
    },
    Arrow {
        from: "codelet",
        to: "codelet-acp",
        why: "the binary makes the sessions that an editor asks for",
    },
    Arrow {
        from: "codelet-gateway",
        to: "codelet-network",
        why: "providers are reached through the user's proxy, and by certificates that the user trusts",
    },
    Arrow {
        from: "codelet-gateway",
        to: "codelet-providers",
        why: "what vendors say of costs and of requests that are too long is read there; the gateway stands above that edge",
    },
    Arrow {
        from: "codelet",
        to: "codelet-gateway",
        why: "the binary serves the gateway, and runs agents behind it",
    },
    Arrow {
        from: "codelet-gateway",
        to: "codelet-text",
        why: "the values of a request are counted before it is built",
    },
    Arrow {
        from: "codelet-gateway",
        to: "codelet-context",
        why: "the conversation of a request is edited by the engine",
    },
    Arrow {
        from: "codelet-gateway",
        to: "codelet-transcript",
        why: "requests are read and written by the formats",
    },
    Arrow {
        from: "xtask",
        to: "codelet-testkit",
        why: "the bundled fixtures are generated, and the benchmark has a provider on loopback",
    },
    Arrow {
        from: "xtask",
        to: "codelet-transcript",
        why: "the benchmark names what of the time is encoding",
    },
    Arrow {
        from: "xtask",
        to: "codelet-context",
        why: "the weights of the engine's scorer are learned, and what it keeps is measured",
    },
    Arrow {
        from: "codelet-offline",
        to: "codelet-context",
        why: "a recorded conversation is compacted and looked into by the engine",
    },
    Arrow {
        from: "codelet-offline",
        to: "codelet-transcript",
        why: "it comes and goes in somebody's form",
    },
    Arrow {
        from: "codelet-offline",
        to: "codelet-text",
        why: "figures and quotes in warnings are for people",
    },
    Arrow {
        from: "codelet",
        to: "codelet-offline",
        why: "the offline commands read files and print what it says",
    },
    Arrow {
        from: "codelet-python",
        to: "codelet-offline",
        why: "Python's functions are those of the offline commands",
    },
    Arrow {
        from: "codelet-python",
        to: "codelet-replay",
        why: "Python's callers ask what a session would have cost",
    },
    Arrow {
        from: "codelet-python",
        to: "codelet-transcript",
        why: "what Python hands over is read",
    },
    Arrow {
        from: "codelet-node",
        to: "codelet-offline",
        why: "JavaScript's functions are those of the offline commands",
    },
    Arrow {
        from: "codelet-node",
        to: "codelet-replay",
        why: "JavaScript's callers ask what a session would have cost",
    },
    Arrow {
        from: "codelet-node",
        to: "codelet-transcript",
        why: "what JavaScript hands over is read",
    },
    Arrow {
        from: "codelet-rig",
        to: "codelet-context",
        why: "the conversation of a rig agent is edited by the engine",
    },
    Arrow {
        from: "codelet-rig",
        to: "codelet-offline",
        why: "a conversation that comes whole before each request is told, edited and shown there",
    },
    Arrow {
        from: "codelet-gateway",
        to: "codelet-offline",
        why: "a conversation that comes whole before each request is told, edited and shown there",
    },
    Arrow {
        from: "codelet-rig",
        to: "codelet-transcript",
        why: "what known tools do, what files weigh, and which thinking a vendor refuses is said there",
    },
];

/// Crates for tests; any crate may use them in its tests, and none may ship them.
const FOR_TESTS: &[&str] = &["codelet-testkit"];

/// External dependencies allowed for the pure crates. None of them opens a file or a connection, reads the clock or
/// starts a thread.
const OUTSIDE: &[Arrow] = &[
    Arrow {
        from: "codelet-text",
        to: "memchr",
        why: "most texts hold no code, and that is seen quickly",
    },
    Arrow {
        from: "codelet-text",
        to: "strsim",
        why: "the name that may be meant is the nearest one",
    },
    Arrow {
        from: "codelet-context",
        to: "serde_json",
        why: "parameters of calls and unread fields are JSON",
    },
    Arrow {
        from: "codelet-context",
        to: "hashbrown",
        why: "words are numbered by their hashes, and a table of numbers alone takes half the memory of a map",
    },
    Arrow {
        from: "codelet-context",
        to: "thiserror",
        why: "errors of a library are one enum",
    },
    Arrow {
        from: "codelet-context",
        to: "libm",
        why: "powers and logarithms are the same on every machine",
    },
    Arrow {
        from: "codelet-context",
        to: "memchr",
        why: "line ends and tags are found in every output that is appended",
    },
    Arrow {
        from: "codelet-context",
        to: "unicode-normalization",
        why: "a quoted line that only looks like one of the engine's own is told by Unicode's table",
    },
    Arrow {
        from: "codelet-offline",
        to: "serde_json",
        why: "what was removed, and reports, are JSON",
    },
    Arrow {
        from: "codelet-offline",
        to: "thiserror",
        why: "errors of a library are one enum",
    },
    Arrow {
        from: "codelet-transcript",
        to: "memchr",
        why: "the ends of strings are found in every file whose format is guessed",
    },
    Arrow {
        from: "codelet-transcript",
        to: "bytes",
        why: "a request is handed on in slices that the next one shares",
    },
    Arrow {
        from: "codelet-transcript",
        to: "serde_json",
        why: "every recorded format is JSON",
    },
    Arrow {
        from: "codelet-transcript",
        to: "serde",
        why: "the values of a document are counted before a tree is made of them",
    },
    Arrow {
        from: "codelet-replay",
        to: "serde_json",
        why: "recorded usage and results are JSON",
    },
    Arrow {
        from: "codelet-replay",
        to: "fastrand",
        why: "an interval is found by resampling, from a fixed seed",
    },
    Arrow {
        from: "codelet-replay",
        to: "sha2",
        why: "a page names the digests of its own script and style, and a browser runs nothing else in it",
    },
    Arrow {
        from: "codelet-replay",
        to: "base64",
        why: "digests and files stand in a page as text",
    },
    Arrow {
        from: "codelet-transcript",
        to: "base64",
        why: "files in a request are read as text where another vendor takes only that",
    },
    Arrow {
        from: "codelet-transcript",
        to: "unicode-width",
        why: "a line of the shape notation ends at a column",
    },
    Arrow {
        from: "codelet-transcript",
        to: "time",
        why: "recorders note when a request was made, in every zone",
    },
    Arrow {
        from: "codelet-transcript",
        to: "thiserror",
        why: "errors of a library are one enum",
    },
];

/// Crates whose external dependencies are restricted.
const PURE: &[&str] = &[
    "codelet-text", "codelet-context", "codelet-transcript", "codelet-replay",
];

/// Checks the workspace at `root`; each error is one line.
pub fn check_workspace(root: &Path) -> Result<String, Vec<String>> {
    let packages = metadata(root).map_err(|error| vec![error])?;
    let mut troubles = check(&packages, ARROWS, OUTSIDE);
    for package in packages.keys() {
        let files = circles(&imports::of(&root.join(package).join("src")));
        troubles.extend(files.into_iter().map(|circle| format!("{package}/src: {circle}")));
    }
    match troubles.is_empty() {
        true => Ok(format!(
            "{} crates, {} arrows, all pointing down",
            packages.len(),
            ARROWS.len()
        )),
        false => Err(troubles),
    }
}

/// The dependencies of a crate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Uses {
    /// As shipped: of itself or its build script.
    shipped: Vec<String>,
    /// Of tests, examples and benchmarks.
    tests: Vec<String>,
}

type Packages = BTreeMap<String, Uses>;

fn check(packages: &Packages, arrows: &[Arrow], outside: &[Arrow]) -> Vec<String> {
    let mut troubles = Vec::new();
    let listed = |list: &[Arrow], from: &str, to: &str| list.iter().any(|a| a.from == from && a.to == to);
    for (from, uses) in packages {
        for to in &uses.shipped {
            let inside = packages.contains_key(to);
            if inside && !listed(arrows, from, to) {
                troubles.push(format!(
                    "{from} imports {to}, which is no arrow of this workspace (xtask/src/arrows.rs)"
                ));
            }
            if !inside && PURE.contains(&from.as_str()) && !listed(outside, from, to) {
                troubles.push(format!("{from} is pure and may not use {to} (xtask/src/arrows.rs)"));
            }
        }
        for to in uses.tests.iter().filter(|to| packages.contains_key(*to)) {
            if !FOR_TESTS.contains(&to.as_str()) && !listed(arrows, from, to) {
                troubles.push(format!(
                    "the tests of {from} import {to}, which is no arrow of this workspace"
                ));
            }
        }
    }
    for Arrow { from, to, why } in arrows.iter().chain(outside) {
        if !packages
            .get(*from)
            .is_some_and(|uses| uses.shipped.iter().any(|used| used == to))
        {
            troubles.push(format!("stale: {from} no longer uses {to} (\"{why}\"); drop the entry"));
        }
    }
    let shipped = packages.iter().map(|(name, uses)| (name.clone(), uses.shipped.clone()));
    troubles.extend(circles(&shipped.collect()));
    troubles
}

/// Crates or files that reach themselves through what they import.
fn circles(imports: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut found = Vec::new();
    for start in imports.keys() {
        let mut seen: Vec<&String> = Vec::new();
        let mut open = vec![start];
        while let Some(from) = open.pop() {
            for to in imports.get(from).into_iter().flatten() {
                if to == start {
                    found.push(format!("{start} reaches itself through {from}"));
                } else if imports.contains_key(to) && !seen.contains(&to) {
                    seen.push(to);
                    open.push(to);
                }
            }
        }
    }
    found
}

fn metadata(root: &Path) -> Result<Packages, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    packages(&value).ok_or_else(|| "cargo metadata has no packages".to_owned())
}

fn packages(metadata: &Value) -> Option<Packages> {
    let mut packages = Packages::new();
    for package in metadata.get("packages")?.as_array()? {
        let mut uses = Uses::default();
        for dependency in package.get("dependencies")?.as_array()? {
            let name = dependency.get("name")?.as_str()?.to_owned();
            match dependency.get("kind").and_then(Value::as_str) {
                Some("dev") => uses.tests.push(name),
                _ => uses.shipped.push(name),
            }
        }
        packages.insert(package.get("name")?.as_str()?.to_owned(), uses);
    }
    Some(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[Arrow] = &[Arrow {
        from: "codelet-transcript",
        to: "codelet-context",
        why: "formats",
    }];

    fn workspace(uses: &[(&str, &[&str], &[&str])]) -> Packages {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        uses.iter()
            .map(|(name, shipped, tests)| {
                let (shipped, tests) = (own(shipped), own(tests));
                ((*name).to_owned(), Uses { shipped, tests })
            })
            .collect()
    }

    #[test]
    fn listed_arrows_and_test_helpers_are_fine() {
        let packages = workspace(&[
            ("codelet-context", &[], &["codelet-testkit", "proptest"]),
            ("codelet-testkit", &[], &[]),
            ("codelet-transcript", &["codelet-context"], &[]),
        ]);
        assert_eq!(check(&packages, LIST, &[]), [""; 0]);
    }

    #[test]
    fn an_arrow_upwards_is_named_and_so_is_the_circle() {
        let packages = workspace(&[
            ("codelet-context", &["codelet-transcript"], &[]),
            ("codelet-transcript", &["codelet-context"], &[]),
        ]);
        let troubles = check(&packages, LIST, &[]);
        assert!(
            troubles[0].starts_with("codelet-context imports codelet-transcript"),
            "{troubles:?}"
        );
        assert!(troubles.iter().any(|t| t.contains("reaches itself")), "{troubles:?}");
    }

    #[test]
    fn the_engine_may_not_grow_a_dependency_unseen() {
        let packages = workspace(&[
            ("codelet-context", &["tokio"], &[]),
            ("codelet-transcript", &["codelet-context"], &[]),
        ]);
        assert_eq!(
            check(&packages, LIST, &[]),
            ["codelet-context is pure and may not use tokio (xtask/src/arrows.rs)"]
        );
    }

    #[test]
    fn a_stale_entry_fails() {
        let packages = workspace(&[("codelet-context", &[], &[]), ("codelet-transcript", &[], &[])]);
        assert!(check(&packages, LIST, &[])[0].starts_with("stale: codelet-transcript"));
    }

    #[test]
    fn test_helpers_may_not_ship() {
        let packages = workspace(&[
            ("codelet-context", &["codelet-testkit"], &[]),
            ("codelet-testkit", &[], &[]),
            ("codelet-transcript", &["codelet-context"], &[]),
        ]);
        assert!(check(&packages, LIST, &[])[0].contains("imports codelet-testkit"));
    }

    #[test]
    fn this_workspace_keeps_its_arrows() {
        assert_eq!(check_workspace(codelet_testkit::workspace()).err(), None);
    }
}
