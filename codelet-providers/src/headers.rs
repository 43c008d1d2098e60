//! The headers of requests.

use crate::host::Host;
use crate::secret::Secret;
use crate::wire::Wire;
use rig_core::http_client::{HeaderMap, HeaderValue};

/// The version of the Messages API in use.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The beta header that makes Anthropic accept a setting for thinking blocks whose prefix has changed ("Fix a thinking
/// block bound to a different conversation", platform.claude.com, November 2026: also on Amazon Bedrock and Google
/// Cloud).
pub(crate) const DROPS_THINKING: &str = "thinking-binding-controls-2026-08-01";

/// Returns the headers of every request; `None` if the key contains characters that a header cannot carry. A token is
/// sent as `Bearer` on every wire.
pub(crate) fn headers(
    host: Option<Host>,
    wire: Wire,
    key: Option<&Secret>,
    is_token: bool,
    drops_thinking: bool,
) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let accepted = match host.is_some_and(|host| host.frames_events(wire)) {
        true => "application/vnd.amazon.eventstream",
        false => "text/event-stream",
    };
    headers.insert("accept", HeaderValue::from_static(accepted));
    if wire == Wire::Anthropic && host.is_none() {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    // Bedrock expects it in the body instead.
    if drops_thinking && host != Some(Host::Bedrock) {
        headers.insert("anthropic-beta", HeaderValue::from_static(DROPS_THINKING));
    }
    if let Some(key) = key {
        let (name, value) = match wire {
            _ if host == Some(Host::Azure) && !is_token => ("api-key", key.reveal().to_owned()),
            _ if host.is_some() => ("authorization", format!("Bearer {}", key.reveal())),
            Wire::Anthropic if !is_token => ("x-api-key", key.reveal().to_owned()),
            Wire::Gemini if !is_token => ("x-goog-api-key", key.reveal().to_owned()),
            _ => ("authorization", format!("Bearer {}", key.reveal())),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}
