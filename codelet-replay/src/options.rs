//! Options as callers in other languages pass them: policies and prices by name.

use crate::json;
use crate::policy::Policy;
use crate::session::Session;
use crate::settings::Settings;
use crate::totals::Played;
use codelet_context::price;
use codelet_context::tokens::Tokens;
use codelet_text::near;
use codelet_transcript::Recording;

/// The options of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    policies: Vec<Policy>,
    settings: Settings,
}

impl Replay {
    /// Replays in a window of this many tokens, with the prices of a model, or usual ones, and under the policies of
    /// these names, or the usual ones.
    ///
    /// # Errors
    /// A sentence if there is no such policy, or the prices are not known.
    pub fn new(window: Tokens, prices: Option<&str>, policies: &[String]) -> Result<Self, String> {
        let card = match prices {
            None => price::usual(),
            Some(name) => price::find(name).cloned().ok_or_else(|| unknown(name))?,
        };
        Ok(Replay {
            policies: Policy::played(&Policy::from_names(policies)?),
            settings: Settings::new(window, card),
        })
    }

    /// Replays a conversation: returns what it would have cost, as JSON.
    ///
    /// # Errors
    /// A sentence if it contains no model reply.
    pub fn play(&self, recording: Recording) -> Result<String, String> {
        let format = recording.document.format;
        let session = Session::new("", recording);
        if session.requests.is_empty() {
            return Err("contains no model reply, so there is nothing to replay".to_owned());
        }
        let played = Played::new(&session, format.name().to_owned(), &self.policies, &self.settings);
        Ok(json::played(&played).to_string())
    }
}

fn unknown(name: &str) -> String {
    let names = price::built_in().iter().map(|card| &*card.name);
    let meant = near::hint(
        name,
        names
            .flat_map(|name| [Some(name), name.split_once('/').map(|(_, model)| model)])
            .flatten(),
    );
    format!("unknown prices {name:?}; known are 5m, 1h, no-write-fee and the models that `codelet models` lists{meant}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::Value;

    fn recording(messages: &str) -> Recording {
        codelet_transcript::record(format!("{{\"messages\":[{messages}]}}").as_bytes(), None).unwrap()
    }

    #[test]
    fn a_conversation_is_played_under_the_policies_of_these_names() {
        let replay = Replay::new(200_000, None, &["mask-10".to_owned()]).unwrap();
        let said = r#"{"role":"user","content":"hello"},{"role":"assistant","content":"good day"}"#;
        let played: Value = serde_json::from_str(&replay.play(recording(said)).unwrap()).unwrap();
        let policies: Vec<_> = played["policies"].as_object().unwrap().keys().collect();
        assert_eq!(policies, ["never", "mask-10"]);
    }

    #[test]
    fn what_cannot_be_played_is_told() {
        for (name, told) in [
            (
                "gadget",
                "unknown prices \"gadget\"; known are 5m, 1h, no-write-fee and the models",
            ),
            ("claude-sonet-4-5", "did you mean claude-sonnet-4-5?"),
        ] {
            let why = Replay::new(200_000, Some(name), &[]).err().unwrap();
            assert!(why.contains(told), "{why}");
        }
        assert!(Replay::new(200_000, None, &["sometimes".to_owned()]).is_err());
        let replay = Replay::new(200_000, None, &[]).unwrap();
        assert!(replay.play(recording(r#"{"role":"user","content":"hello"}"#)).is_err());
    }
}
