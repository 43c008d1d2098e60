//! Where requests go on to: the providers' addresses, and which of them a request is for.

use crate::Api;
use codelet_network::{Network, NetworkError};
use http::HeaderMap;
use http::uri::PathAndQuery;
use reqwest::{Client, Url};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

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
    pub fn of(path: &PathAndQuery, headers: &HeaderMap) -> Result<Provider, Contradiction> {
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

/// How keys begin, and who gives them out.
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
    "the request has a key of {} and is one for {}; the Codelet gateway sends a key to nobody but its own vendor. Check which key \
     and which base URL the agent uses, or name where such requests go: --upstream {}=ADDRESS", .key, .meant.name(), .meant.name()
)]
pub struct Contradiction {
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

/// A provider's address, and the client that reaches it.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client,
    address: Url,
}

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It is none.
    #[error("{0:?} is not an address such as https://api.example.com")]
    Address(String),
    /// It cannot be reached so.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It has something that the addresses of requests cannot begin with.
    #[error(
        "the address has a part beginning with {0:?}, which cannot stand before the path of a request; the agent's base URL may have one"
    )]
    Behind(char),
    /// The client cannot be set up.
    #[error("{0}")]
    Client(String),
}

impl Upstream {
    /// A provider at this address, whose path, if it has one, stands before those of the requests.
    ///
    /// # Errors
    /// When the address is none, or no server can be reached by what `network` says.
    pub fn new(address: &str, network: &Network) -> Result<Self, UpstreamError> {
        let url = Url::parse(address).ok();
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        // A password stands before its @, and a key behind the question mark: of such an address only the scheme is repeated.
        let shown = || match (address.contains(['@', '?']), address.split_once("://")) {
            (false, _) => address.to_owned(),
            (true, Some((scheme, _))) => format!("{scheme}://…"),
            (true, None) => "…".to_owned(),
        };
        let url = url.filter(is_http).ok_or_else(|| UpstreamError::Address(shown()))?;
        if let Some(behind) = url.query().map(|_| '?').or(url.fragment().map(|_| '#')) {
            return Err(UpstreamError::Behind(behind));
        }
        let (builder, _) = network.client(&url)?;
        let client = builder.connect_timeout(CONNECT).build();
        Ok(Upstream {
            client: client.map_err(|error| UpstreamError::Client(error.without_url().to_string()))?,
            address: url,
        })
    }

    /// The client.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Where a request to this path goes. The version of an interface stands there once, whether the address brings it or the request: vendors
    /// tell their base URLs with it.
    pub(crate) fn url(&self, path: &PathAndQuery) -> Url {
        let mut url = self.address.clone();
        let before = url.path().trim_end_matches('/').to_owned();
        let version = ["/v1beta", "/v1"].into_iter().find(|version| before.ends_with(version));
        let rest = version.and_then(|version| path.path().strip_prefix(version));
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
        url.set_path(&format!("{before}{}", rest.unwrap_or(path.path())));
        url.set_query(path.query());
        url
    }

    /// Whether a server may read this path as one that leads upwards, and out of the address's own. Blanks and signs may be written by their
    /// numbers, a backslash stand for a slash, and something behind a semicolon: who reads it last decides.
    pub(crate) fn leads_upwards(path: &str) -> bool {
        let mut path = path.to_ascii_lowercase();
        // A number may be that of the sign that begins one.
        while path.contains("%25") {
            path = path.replace("%25", "%");
        }
        let path = path
            .replace("%2e", ".")
            .replace("%2f", "/")
            .replace("%5c", "/")
            .replace("%3b", ";");
        let mut names = path.split(['/', '\\']);
        names.any(|name| name.split(';').next() == Some(".."))
    }

    /// Whether it is the vendor's own, and not one that the user has named.
    pub(crate) fn is_usual(&self, provider: Provider) -> bool {
        let usual = Url::parse(provider.usual_address()).ok();
        usual.is_some_and(|usual| usual.host_str() == self.address.host_str())
    }

    /// The host, and the port if it is not the usual one, for words.
    pub(crate) fn place(&self) -> String {
        let host = self.address.host_str().unwrap_or_default();
        let port = self.address.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{host}{port}")
    }

    /// Whether this is the gateway that listens here, which would ask itself for ever.
    pub fn is_at(&self, listens: SocketAddr) -> bool {
        let is_port = self.address.port_or_known_default() == Some(listens.port());
        listens.port() != 0 && is_port && codelet_network::is_own_machine(&self.address)
    }
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
                "/v1/chat/completions",
                "authorization: Bearer AIzax",
                "gemini to openai",
            ),
            ("/v1/messages", "authorization: Bearer sk-proj-x", "openai to anthropic"),
            // Those of vendors that are none of the three go where the user says.
            ("/v1/messages", "x-api-key: sk-or-v1-x", "OpenRouter to anthropic"),
            ("/v1/models", "authorization: Bearer gsk_x", "Groq to openai"),
            (
                "/v1/models?key=AIzax",
                "x-api-key: sk-ant-api03-x",
                "gemini to anthropic",
            ),
        ] {
            assert_eq!(of(path, header), provider, "{path} {header}");
        }
    }

    #[test]
    fn a_path_that_leads_upwards_is_known_however_it_is_written() {
        for path in [
            "/..",
            "/v1/../../admin",
            "/v1/%2e%2E/admin",
            "/v1/.%2e/admin",
            "/v1/..\\admin",
            "/v1/..%5cadmin",
            "/v1/x%2f..%2Fadmin",
            "/v1/%252e%252e/admin",
            "/v1/%25252e./admin",
            "/v1/..;x/admin",
        ] {
            assert!(Upstream::leads_upwards(path), "{path}");
        }
        for path in [
            "/v1/models/..a",
            "/v1/a..b/...",
            "/v1/./models",
            "/v1beta/models/g-2.5:generateContent",
            "/v1/files/a%2Fb%25",
        ] {
            assert!(!Upstream::leads_upwards(path), "{path}");
        }
    }

    #[test]
    fn the_path_of_an_address_stands_before_those_of_requests_and_a_password_is_not_repeated() {
        let upstream = Upstream::new("http://127.0.0.1:9/api/", &Network::default()).expect("it is an address");
        let url = upstream.url(&PathAndQuery::from_static("/v1/messages?beta=true"));
        assert_eq!(url.as_str(), "http://127.0.0.1:9/api/v1/messages?beta=true");
        for (address, path, url) in [
            (
                "https://a.example/api/v1",
                "/v1/chat/completions",
                "https://a.example/api/v1/chat/completions",
            ),
            ("https://a.example/v1/", "/v1", "https://a.example/v1"),
            (
                "https://a.example/v1beta",
                "/v1beta/models",
                "https://a.example/v1beta/models",
            ),
            (
                "https://a.example/v1",
                "/v1beta/models",
                "https://a.example/v1/v1beta/models",
            ),
            (
                "https://a.example/v1beta",
                "/v1/models",
                "https://a.example/v1beta/v1/models",
            ),
        ] {
            let upstream = Upstream::new(address, &Network::default()).expect("it is an address");
            assert_eq!(upstream.url(&PathAndQuery::from_static(path)).as_str(), url);
        }
        for address in ["https://a.example/?key=hidden", "https://a.example/#hidden"] {
            let said = Upstream::new(address, &Network::default()).unwrap_err().to_string();
            assert!(
                said.contains("cannot stand before") && !said.contains("hidden"),
                "{said}"
            );
        }
        let said = Upstream::new("ftp://user:hidden@example.com", &Network::default())
            .unwrap_err()
            .to_string();
        assert!(said.contains("ftp://") && !said.contains("hidden"), "{said}");
    }
}
