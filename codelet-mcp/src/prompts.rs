//! A server's prompts, reduced to what can be shown to a person, and the texts that the server returns for them.

use crate::answer;
use crate::connection::{CallOutcome, List};
use crate::remote::Remote;
use crate::text::{Secrets, one_line};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::prompts::{PromptArgument, PromptSpec, PromptText, Values, plain};
use codelet_text::short::grouped;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Prompts of one server at most.
const MOST_PROMPTS: usize = 100;
/// Arguments of a prompt at most.
const ARGUMENTS: usize = 20;
/// Longest name of a prompt or an argument, in bytes.
const NAME: usize = 64;
/// Longest description, in characters.
const DESCRIPTION: usize = 200;
/// Longest text that is sent as a prompt, in bytes. A longer one is not cut: half of an instruction may say the
/// opposite.
const LONGEST: usize = 256 * 1024;

/// A prompt as its server lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RemotePrompt {
    /// The server's own name for it.
    pub own: String,
    /// The server's own names of its arguments, in the order of the command's.
    arguments: Vec<String>,
    /// The description for the user.
    pub spec: PromptSpec,
}

/// The prompts in a list, by name, with notices for the user.
pub(crate) fn all(server: &str, list: List, secrets: &Secrets) -> (Vec<RemotePrompt>, Vec<String>) {
    let mut found: Vec<RemotePrompt> = Vec::new();
    let mut unreadable = 0;
    for entry in list.entries {
        match read(&entry, secrets) {
            Some(prompt) if found.iter().any(|known| known.own == prompt.own) => {}
            Some(prompt) => found.push(prompt),
            None => unreadable += 1,
        }
    }
    found.sort_by(|a, b| a.own.cmp(&b.own));
    let over = found.len().saturating_sub(MOST_PROMPTS);
    found.truncate(MOST_PROMPTS);
    name(server, &mut found);
    let mut notices = Vec::new();
    let mut tell = |count: usize, why: &str| {
        if count > 0 {
            notices.push(format!("{count} of its prompts left out: {why}"));
        }
    };
    tell(unreadable, "they are invalid");
    tell(over, &format!("the limit is {MOST_PROMPTS}"));
    if list.is_endless {
        notices.push("its list of prompts does not end; only the first part is used".to_owned());
    }
    (found, notices)
}

/// Assigns the commands. A plain name stays as it is and takes precedence over an altered one that is the same.
fn name(server: &str, prompts: &mut [RemotePrompt]) {
    let is_plain = |prompt: &RemotePrompt| plain(&prompt.own) == prompt.own && !prompt.own.contains(':');
    let mut taken: HashSet<String> = prompts
        .iter()
        .filter(|prompt| is_plain(prompt))
        .map(|p| p.own.clone())
        .collect();
    for prompt in prompts {
        let mut command = prompt.own.clone();
        if !is_plain(prompt) {
            let base = plain(&prompt.own).replace(':', "_");
            command.clone_from(&base);
            let mut number = 2;
            while !taken.insert(command.clone()) {
                command = format!("{base}_{number}");
                number += 1;
            }
        }
        prompt.spec.command = format!("{server}:{command}");
    }
}

fn read(entry: &Value, secrets: &Secrets) -> Option<RemotePrompt> {
    let own = entry.get("name")?.as_str()?.to_owned();
    let mut arguments = Vec::new();
    let mut shown: Vec<PromptArgument> = Vec::new();
    let listed = entry.get("arguments").filter(|listed| !listed.is_null());
    for argument in listed.map_or(Some(&[][..]), |listed| Some(listed.as_array()?.as_slice()))? {
        let own = argument.get("name")?.as_str()?;
        let name = one_line(own, NAME);
        if own.is_empty() || own.len() > NAME || shown.iter().any(|known| known.name == name) {
            return None;
        }
        arguments.push(own.to_owned());
        shown.push(PromptArgument {
            name,
            description: described(argument, secrets),
            is_required: argument.get("required").and_then(Value::as_bool).unwrap_or(false),
        });
    }
    let is_good = !own.is_empty() && own.len() <= NAME && arguments.len() <= ARGUMENTS;
    is_good.then(|| RemotePrompt {
        spec: PromptSpec {
            command: String::new(),
            description: described(entry, secrets),
            arguments: shown,
            ..PromptSpec::default()
        },
        own,
        arguments,
    })
}

/// The server's description of an entry, or else its title.
fn described(entry: &Value, secrets: &Secrets) -> String {
    let words = ["description", "title"]
        .iter()
        .find_map(|name| entry.get(*name)?.as_str());
    let words = secrets.hide(words.unwrap_or_default().to_owned());
    one_line(&words, DESCRIPTION)
}

/// Requests a prompt from a server.
///
/// # Errors
/// The reason why it is not available, in a sentence without secrets.
pub(crate) async fn get(
    remote: &Remote,
    prompt: &RemotePrompt,
    values: &Values,
    interrupt: &Interrupt,
) -> Result<PromptText, String> {
    let server = &remote.server.name;
    let shown = prompt.spec.arguments.iter();
    let given = shown.zip(&prompt.arguments).filter_map(|(shown, own)| {
        let value = values.get(&shown.name)?;
        Some((own.clone(), Value::String(value.clone())))
    });
    let given: Map<String, Value> = given.collect();
    let why = match remote.prompt(&prompt.own, given, interrupt).await {
        CallOutcome::Result(result) => {
            let told = format!("The prompt of the MCP server {server} cannot be used: ");
            let read = answer::of_prompt(result, remote.options.sees_images);
            let asked = read.ok_or(format!("{told}it is invalid. Nothing was sent."))?;
            if asked.text.len() > LONGEST {
                let (size, most) = (grouped(asked.text.len()), grouped(LONGEST));
                return Err(format!(
                    "{told}it has {size} bytes, the limit is {most}. Nothing was sent."
                ));
            }
            let text = remote.secrets.hide(asked.text);
            return Ok(PromptText { text, ..asked });
        }
        CallOutcome::Refused(why) => format!("The MCP server {server} refuses this prompt: {why}. Nothing was sent."),
        CallOutcome::Slow => {
            let seconds = remote.server.timeout.as_secs_f32();
            format!("The MCP server {server} did not answer within {seconds} s. Nothing was sent.")
        }
        CallOutcome::Interrupted => "Interrupted; nothing was sent.".to_owned(),
        CallOutcome::Lost(why) => format!("The MCP server {server} gave no answer: {why}. Nothing was sent."),
    };
    Err(remote.secrets.hide(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn listed(entries: Value) -> (Vec<RemotePrompt>, Vec<String>) {
        let Value::Array(entries) = entries else {
            return Default::default();
        };
        all("s", List::of(entries), &Secrets::new(["key-123456789"]))
    }

    #[test]
    fn a_plain_name_stays_and_one_that_is_altered_gives_way() {
        let entries =
            json!([{"name": "code.review"}, {"name": "code_review"}, {"name": "code review"}, {"name": "a:b"}]);
        let (prompts, notices) = listed(entries);
        let commands: Vec<&str> = prompts.iter().map(|prompt| prompt.spec.command.as_str()).collect();
        assert_eq!(
            commands,
            ["s:a_b", "s:code_review_2", "s:code_review_3", "s:code_review"]
        );
        assert!(notices.is_empty());
    }

    #[test]
    fn what_is_no_prompt_is_left_out_and_told() {
        let (prompts, notices) = listed(json!([
            {"name": "good", "description": "One\nline \u{1b}[31m with key-123456789.", "arguments": null},
            {"name": "good", "description": "The second."},
            {"name": ""}, {"name": 7}, 8, {"name": "x", "arguments": 7}, {"name": "y", "arguments": [{"name": 1}]},
            {"name": "z", "arguments": [{"name": "twice"}, {"name": "twice"}]},
        ]));
        let shown: Vec<&PromptSpec> = prompts.iter().map(|prompt| &prompt.spec).collect();
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].description, "One line [31m with [secret].");
        assert_eq!(notices, ["6 of its prompts left out: they are invalid"]);
        let many: Vec<Value> = (0..300).map(|number| json!({"name": format!("p{number}")})).collect();
        let (prompts, notices) = listed(json!(many));
        assert_eq!(prompts.len(), MOST_PROMPTS);
        assert_eq!(notices, ["200 of its prompts left out: the limit is 100"]);
    }

    proptest! {
        #[test]
        fn every_command_is_typed_as_one_and_stands_for_one_prompt(names in proptest::collection::vec(".{0,20}", 0..12)) {
            let entries: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            let (prompts, _) = listed(json!(entries));
            let mut seen = HashSet::new();
            for prompt in &prompts {
                let typed = format!("/{}", prompt.spec.command);
                prop_assert_eq!(codelet_agent::prompts::command(&typed), Some((&typed[1..], "")));
                prop_assert!(seen.insert(prompt.spec.command.clone()), "{}", typed);
            }
        }
    }
}
