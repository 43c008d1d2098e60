//! The provider that a request is for.

use crate::Api;
use http::HeaderMap;
use http::uri::PathAndQuery;

/// A provider, by the interface that it is asked through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    /// Anthropic's interface.
    Anthropic,
    /// OpenAI's two interfaces, and whatever nothing else tells apart.
    Openai,
    /// Gemini's interface.
    Gemini,
}

impl Provider {
    /// All of them.
    pub const ALL: [Provider; 3] = [Provider::Anthropic, Provider::Openai, Provider::Gemini];

    /// The name in settings and on the page.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::Openai => "openai",
            Provider::Gemini => "gemini",
        }
    }

    /// The provider of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Provider::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// The vendor's own address. Requests bring the whole path.
    pub fn usual_address(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::Openai => "https://api.openai.com",
            Provider::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// Which one a request is for: what a vendor alone has tells, be it the form of a key or a path, and where nothing does, the header that
    /// bears the key.
    ///
    /// # Errors
    /// When a key is one vendor's and the rest another's: whoever gets the key must not be guessed.
    pub(crate) fn of(path: &PathAndQuery, headers: &HeaderMap) -> Result<Provider, Contradiction> {
        let is_anthropics = |name: &http::HeaderName| name == "x-api-key" || name.as_str().starts_with("anthropic-");
        let has = |name: &str| headers.contains_key(name);
        let by_path = match path.path() {
            // OpenAI's threads have messages, too, and its key must not go to Anthropic.
            path if path.contains("/threads/") && !has("anthropic-version") => Some(Provider::Openai),
            // Gemini answers in OpenAI's interface below a path of its own.
            path if path.contains("/v1beta/") => Some(Provider::Gemini),
            path => match Api::of(path) {
                Some(Api::Anthropic) => Some(Provider::Anthropic),
                Some(Api::Openai | Api::Responses) => Some(Provider::Openai),
                Some(Api::Gemini) => Some(Provider::Gemini),
                None => path.contains("/messages/").then_some(Provider::Anthropic),
            },
        };
        let by_header = || match () {
            () if headers.keys().any(is_anthropics) => Provider::Anthropic,
            () if has("x-goog-api-key") || keys_in(path).next().is_some() => Provider::Gemini,
            () => Provider::Openai,
        };
        let mut by_key = None;
        for key in keys(path, headers).filter_map(vendor_of) {
            let provider = Provider::from_name(key);
            let meant = by_path.or(by_key).or(provider).unwrap_or_else(by_header);
            if provider != Some(meant) {
                return Err(Contradiction { key, meant });
            }
            by_key = provider;
        }
        Ok(by_path.or(by_key).unwrap_or_else(by_header))
    }
}

/// The prefixes of keys, and the vendors that issue them.
const KEYS: [(&str, &str); 12] = [
    ("sk-ant-", "anthropic"),
    ("sk-proj-", "openai"),
    ("sk-svcacct-", "openai"),
    ("sk-admin-", "openai"),
    ("AIza", "gemini"),
    ("ya29.", "gemini"),
    ("sk-or-", "OpenRouter"),
    ("gsk_", "Groq"),
    ("xai-", "xAI"),
    ("hf_", "Hugging Face"),
    ("nvapi-", "NVIDIA"),
    ("pplx-", "Perplexity"),
];

/// The vendor that gives out keys of this form; none where it is nobody's in particular.
fn vendor_of(key: &str) -> Option<&'static str> {
    let signed = KEYS.iter().find(|(sign, _)| key.starts_with(sign));
    signed.map(|(_, vendor)| *vendor)
}

/// A request whose key is one vendor's, and whose path, or other key, is another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the request has an API key of {}, but goes to {}; the Codelet gateway sends a key only to its own vendor. Check the agent's key and base URL, or name the address for such requests: --upstream {}=ADDRESS", .key, .meant.name(), .meant.name()
)]
pub(crate) struct Contradiction {
    /// Whose the key is, by name.
    pub key: &'static str,
    /// Whom the rest of it is for.
    pub meant: Provider,
}

/// The keys of a request, wherever one may stand.
fn keys<'a>(path: &'a PathAndQuery, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
    let values = ["x-api-key", "x-goog-api-key", "api-key", "authorization"]
        .into_iter()
        .flat_map(|name| headers.get_all(name));
    // A scheme may stand before it.
    let words = values
        .filter_map(|value| value.to_str().ok())
        .filter_map(|value| value.split_ascii_whitespace().next_back());
    let queried = path.query().unwrap_or_default().split('&');
    words.chain(queried.filter_map(|pair| Some(pair.split_once('=')?.1)))
}

/// Those in the query of an address, as Google takes them.
fn keys_in(path: &PathAndQuery) -> impl Iterator<Item = &str> {
    let pairs = path.query().unwrap_or_default().split('&');
    pairs.filter_map(|pair| pair.strip_prefix("key="))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a request goes that has these headers, one a line; `key to meant` where that is contradictory.
    fn of(path: &'static str, lines: &'static str) -> String {
        let mut headers = HeaderMap::new();
        for line in lines.lines() {
            let (name, value) = line.split_once(": ").unwrap_or((line, "x"));
            headers.insert(name, http::HeaderValue::from_static(value));
        }
        match Provider::of(&PathAndQuery::from_static(path), &headers) {
            Ok(provider) => provider.name().to_owned(),
            Err(Contradiction { key, meant }) => format!("{key} to {}", meant.name()),
        }
    }

    #[test]
    fn a_request_is_for_the_provider_that_its_path_or_else_its_key_tells() {
        for (path, header, provider) in [
            ("/v1/messages?beta=true", "", "anthropic"),
            ("/v1/messages/count_tokens", "", "anthropic"),
            ("/v1/responses", "anthropic-version", "openai"),
            ("/openai/v1/chat/completions", "", "openai"),
            ("/v1/models", "", "openai"),
            ("/v1/models", "anthropic-version", "anthropic"),
            ("/v1/models", "anthropic-beta", "anthropic"),
            ("/v1beta/models/g:streamGenerateContent?alt=sse", "", "gemini"),
            ("/v1/models?key=secret", "", "gemini"),
            ("/v1/threads/thread_1/messages", "", "openai"),
            ("/v1/threads/thread_1/messages/msg_1", "", "openai"),
        ] {
            assert_eq!(of(path, header), provider, "{path} {header}");
        }
    }

    #[test]
    fn a_key_goes_to_its_own_vendor_or_nowhere() {
        for (path, header, provider) in [
            ("/v1/models", "x-api-key: sk-ant-api03-x", "anthropic"),
            ("/v1/organizations/users", "x-api-key: x", "anthropic"),
            ("/v1/complete", "x-api-key: sk-ant-api03-x", "anthropic"),
            ("/api/oauth/usage", "authorization: Bearer sk-ant-oat01-x", "anthropic"),
            ("/v1/models", "authorization: bearer  sk-ant-oat01-x", "anthropic"),
            (
                "/v1beta/openai/chat/completions",
                "authorization: Bearer AIzax",
                "gemini",
            ),
            ("/v1beta/openai/models", "authorization: Bearer x", "gemini"),
            ("/upload/v1beta/files?key=AIzax", "", "gemini"),
            ("/v1/models/g:generateContent?key=AIzax", "", "gemini"),
            ("/v1/files", "authorization: Bearer AIzax", "gemini"),
            ("/v1/files", "authorization: Bearer sk-proj-x", "openai"),
            ("/v1/messages", "x-api-key: local", "anthropic"),
            // What contradicts is not guessed.
            (
                "/v1/chat/completions",
                "authorization: Bearer sk-ant-api03-x",
                "anthropic to openai",
            ),
            ("/v1/responses", "x-api-key: sk-ant-api03-x", "anthropic to openai"),
            ("/v1/responses?api_key=sk-ant-api03-x", "", "anthropic to openai"),
            (
                "/v1/chat/completions", "authorization: Bearer AIzax", "gemini to openai",
            ),
            ("/v1/messages", "authorization: Bearer sk-proj-x", "openai to anthropic"),
            // Those of vendors that are none of the three go where the user says.
            ("/v1/messages", "x-api-key: sk-or-v1-x", "OpenRouter to anthropic"),
            ("/v1/models", "authorization: Bearer gsk_x", "Groq to openai"),
            (
                "/v1/models?key=AIzax", "x-api-key: sk-ant-api03-x", "gemini to anthropic",
            ),
        ] {
            assert_eq!(of(path, header), provider, "{path} {header}");
        }
    }
}
