//! The context window of a model, as its server reports it.

use crate::address::below;
use crate::line::Line;
use crate::vendor::Vendor;
use codelet_agent::model::ModelError;
use codelet_context::tokens::Tokens;
use rig_reqwest::reqwest::Url;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Ollama's default context window, in tokens. It silently truncates longer prompts.
pub(crate) const OLLAMA: Tokens = 4_096;

/// The timeout for a server's report.
const PATIENCE: Duration = Duration::from_secs(3);
/// The interval between requests to a server that is loading its model …
const PAUSE: Duration = Duration::from_millis(250);
/// … and their maximum duration: no request could be answered earlier. If loading takes longer, the context window is
/// unknown, and learned later.
const LOADING: Duration = Duration::from_secs(20);
/// The interval between reports of the wait.
const BETWEEN_WORDS: Duration = Duration::from_secs(1);

/// The fields for the context window, those of the running server before those of the model.
const NAMES: [&str; 7] = [
    "n_ctx", "loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length",
    "inputTokenLimit",
];

/// The plausible range of a context window, in tokens.
const SANE: std::ops::RangeInclusive<Tokens> = 256..=100_000_000;

/// A server that is not ready yet, for example because it is still loading its model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loading {
    /// Its address, without a path.
    pub server: String,
    /// Its message.
    pub said: String,
    /// The number of attempts.
    pub asked: u32,
    /// The maximum remaining wait.
    pub left: Duration,
}

/// Asks the server for the context window of a model; `None` if it reports none or does not respond. A server that is
/// loading is waited for, and `told` is called once a second. With `is_any_name`, the server's only model is meant by any
/// name.
pub(crate) async fn ask(
    line: &Line,
    base: &Url,
    vendor: &Vendor,
    model: &str,
    is_any_name: bool,
    told: &mut (dyn FnMut(Loading) + Send),
) -> Option<Tokens> {
    let url = match vendor.name {
        "ollama" => base.join("/api/ps").ok()?,
        _ => below(base, &["models"]),
    };
    let mut list = line.clone();
    list.connection.url = url;
    let deadline = Instant::now() + LOADING;
    let mut next_word = Instant::now();
    for asked in 1.. {
        match list.get(PATIENCE).await {
            Ok(list) => return read(&list, model, is_any_name),
            Err(ModelError::Busy { said, .. }) if Instant::now() < deadline => {
                let now = Instant::now();
                if now >= next_word {
                    next_word = now + BETWEEN_WORDS;
                    told(Loading {
                        server: base.origin().ascii_serialization(),
                        said,
                        asked,
                        left: deadline - now,
                    });
                }
                tokio::time::sleep(PAUSE).await;
            }
            Err(_) => return None,
        }
    }
    None
}

/// Returns the context window of a model in a server's list; with `is_any_name`, that of the only model, whatever its
/// name.
fn read(list: &Value, model: &str, is_any_name: bool) -> Option<Tokens> {
    let models = ["data", "models"]
        .iter()
        .find_map(|name| list.get(name)?.as_array())
        .or(list.as_array())?;
    let is_named = |entry: &&Value| {
        ["id", "name", "model"]
            .iter()
            .filter_map(|name| entry.get(name)?.as_str())
            .any(|name| {
                name == model
                    || name.strip_suffix(":latest") == Some(model)
                    || name.strip_prefix("models/") == Some(model)
            })
    };
    let entry = models.iter().find(is_named).or(match models.as_slice() {
        [only] if is_any_name => Some(only),
        _ => None,
    })?;
    let places = [entry.get("meta"), Some(entry)];
    let window = |name: &&str| places.iter().find_map(|place| (*place)?.get(*name)?.as_u64());
    NAMES.iter().find_map(window).filter(|window| SANE.contains(window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_window_is_found_where_servers_put_it() {
        for (list, expected) in [
            (
                json!({"data": [{"id": "any.gguf", "meta": {"n_ctx": 16384, "n_ctx_train": 32768}}]}),
                Some(16_384),
            ),
            (
                json!({"data": [{"id": "x"}, {"id": "m", "max_model_len": 8192}]}),
                Some(8_192),
            ),
            (json!({"data": [{"id": "m", "context_length": 200000}]}), Some(200_000)),
            (
                json!({"models": [{"name": "m:latest", "context_length": 4096}]}),
                Some(4_096),
            ),
            (json!({"data": [{"id": "x", "meta": {"n_ctx": 1}}, {"id": "y"}]}), None),
            (json!({"data": [{"id": "m", "meta": {"n_ctx": 0}}]}), None),
            (json!({"data": [{"id": "m", "meta": null}]}), None),
            (json!("no list"), None),
        ] {
            assert_eq!(read(&list, "m", true), expected, "{list}");
        }
    }

    #[test]
    fn the_window_of_the_only_model_is_not_that_of_another_name_unless_any_name_means_it() {
        let list = json!({"data": [{"id": "m-large", "context_length": 16_384}]});
        assert_eq!(read(&list, "m-lagre", false), None);
        assert_eq!(read(&list, "m-large", false), Some(16_384));
        assert_eq!(read(&list, "m-lagre", true), Some(16_384));
    }
}
