//! Chooses the proxy for a server.

use crate::NetworkError;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use std::fmt;
use std::net::IpAddr;

/// Supported proxy schemes.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// A value that may contain a password, and the name of its variable.
#[derive(Clone, PartialEq, Eq)]
pub struct Named {
    /// The value.
    pub value: String,
    /// The variable.
    pub name: String,
}

impl Named {
    /// Parses the proxy, given as a URL or as host and port.
    ///
    /// # Errors
    /// If it is not a supported proxy.
    pub fn proxy(&self) -> Result<Proxy, NetworkError> {
        let wrong = |why: String| NetworkError::Proxy {
            name: self.name.clone(),
            why,
        };
        let value = self.value.trim();
        let url = match value.contains("://") {
            true => Url::parse(value),
            false => Url::parse(&format!("http://{value}")),
        };
        let mut url = url.map_err(|error| wrong(error.to_string()))?;
        if !SCHEMES.contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
            let known = SCHEMES.join("://, ");
            return Err(wrong(format!("expected a host behind one of {known}://")));
        }
        if url.scheme().starts_with("socks") && url.port().is_none() {
            let _ = url.set_port(Some(1080));
        }
        Ok(Proxy {
            url,
            name: self.name.clone(),
        })
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Named({}, …)", self.name)
    }
}

/// The proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for `http://` URLs.
    pub http: Option<Named>,
    /// The proxy for `https://` URLs.
    pub https: Option<Named>,
    /// Hosts that are reached directly: names including their subdomains, addresses, networks (`10.0.0.0/8`), or `*`.
    pub direct: Option<Named>,
}

/// The proxy for a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proxy {
    url: Url,
    name: String,
}

impl Proxy {
    /// Its URL, with credentials.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Its URL, without credentials.
    pub fn shown(&self) -> String {
        let (scheme, host) = (self.url.scheme(), self.url.host_str().unwrap_or("?"));
        match self.url.port_or_known_default() {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        }
    }
}

impl fmt::Display for Proxy {
    /// Its URL, without credentials, and the variable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (${})", self.shown(), self.name)
    }
}

impl Proxies {
    /// The proxy for the server at this URL; `None` if it is reached directly, as every server on this machine is.
    ///
    /// # Errors
    /// If a proxy is configured and its value is not usable.
    pub fn of(&self, server: &Url) -> Result<Option<Proxy>, NetworkError> {
        let named = match server.scheme() {
            "https" => &self.https,
            _ => &self.http,
        };
        let Some(named) = named else { return Ok(None) };
        if is_own_machine(server) || self.is_direct(server) {
            return Ok(None);
        }
        named.proxy().map(Some)
    }

    fn is_direct(&self, server: &Url) -> bool {
        let list = self.direct.as_ref().map_or("", |named| &named.value);
        let entries = || list.split([',', ' ', '\t', '\n']).filter(|entry| !entry.is_empty());
        if entries().any(|entry| entry == "*") {
            return true;
        }
        let port = server.port_or_known_default();
        let entries: Vec<&str> = entries().filter_map(|entry| entry_for(entry, port)).collect();
        // The library combines proxies and exceptions in one matcher: a host without a proxy is an exception.
        let matcher = Matcher::builder().all("http://proxy").no(entries.join(",")).build();
        let host = server.host_str().unwrap_or_default().trim_end_matches('.');
        let uri: Result<Uri, _> = format!("http://{host}/").parse();
        uri.is_ok_and(|uri| matcher.intercept(&uri).is_none())
    }
}

/// Converts an entry to the form that the library supports: no `*.`, brackets, trailing dots or ports. `None` if it is
/// for another port.
fn entry_for(entry: &str, port: Option<u16>) -> Option<&str> {
    let is_address = entry.parse::<IpAddr>().is_ok() || entry.contains('/');
    let (host, only) = match entry.rsplit_once(':') {
        Some((host, number)) if !is_address => (host, number.parse().ok()),
        _ => (entry, None),
    };
    let (host, only) = match (only, entry.strip_suffix(']')) {
        (_, Some(_)) => (entry, None),
        (Some(only), None) => (host, Some(only)),
        (None, None) => (entry, None),
    };
    if only.is_some_and(|only: u16| Some(only) != port) {
        return None;
    }
    let host = host.trim_matches(['[', ']']);
    let host = host
        .strip_prefix('*')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(host);
    Some(host.trim_end_matches('.'))
}

/// Returns whether a server is on the user's own machine.
pub fn is_own_machine(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
    // Settings use `0.0.0.0` for a server that listens there, and it leads to this machine.
    address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
        || host == "localhost"
        || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(proxy: &str, direct: &str) -> Proxies {
        let named = |value: &str, name: &str| {
            Some(Named {
                value: value.to_owned(),
                name: name.to_owned(),
            })
        };
        Proxies {
            http: named(proxy, "HTTP_PROXY"),
            https: named(proxy, "HTTPS_PROXY"),
            direct: named(direct, "NO_PROXY"),
        }
    }

    fn is_direct(direct: &str, server: &str) -> bool {
        let proxies = proxies("http://proxy.example:3128", direct);
        proxies.of(&server.parse().unwrap()).unwrap().is_none()
    }

    #[test]
    fn a_list_of_exceptions_is_read_as_curl_reads_it() {
        for (list, server) in [
            ("*", "https://api.example.com"),
            ("*", "http://192.0.2.1"),
            ("a.test, *", "http://[2001:db8::1]:8080"),
            ("example.com", "https://example.com/v1"),
            ("example.com", "https://api.example.com"),
            ("EXAMPLE.com", "https://api.example.COM"),
            (".example.com", "https://api.example.com"),
            (".example.com", "https://example.com"),
            ("*.example.com", "https://api.example.com"),
            ("example.com.", "https://api.example.com"),
            ("example.com", "https://api.example.com."),
            ("other, example.com", "https://api.example.com"),
            ("other,example.com,more", "https://api.example.com"),
            ("other example.com", "https://api.example.com"),
            ("example.com:443", "https://api.example.com"),
            ("example.com:8080", "http://example.com:8080"),
            ("192.0.2.7", "http://192.0.2.7:8000"),
            ("192.0.2.7:8000", "http://192.0.2.7:8000"),
            ("192.0.2.0/24", "http://192.0.2.7"),
            ("2001:db8::1", "http://[2001:db8::1]:8000"),
            ("[2001:db8::1]", "http://[2001:db8::1]:8000"),
            ("[2001:db8::1]:8000", "http://[2001:db8::1]:8000"),
            ("2001:db8::/32", "http://[2001:db8::1]"),
        ] {
            assert!(is_direct(list, server), "{list}: {server}");
        }
        for (list, server) in [
            ("", "https://api.example.com"),
            (",, ", "https://api.example.com"),
            ("ample.com", "https://api.example.com"),
            ("api.example.com", "https://example.com"),
            ("example.com:8080", "https://example.com"),
            ("192.0.2.7:8000", "http://192.0.2.7"),
            ("192.0.2.0/24", "http://192.0.3.7"),
            ("[2001:db8::1]:8000", "http://[2001:db8::1]"),
            ("192.0.2.7", "http://192.0.2.70"),
        ] {
            assert!(!is_direct(list, server), "{list}: {server}");
        }
    }

    #[test]
    fn a_server_on_this_machine_is_never_reached_through_a_proxy() {
        for server in [
            "http://127.0.0.1:8080", "https://127.8.9.10", "http://localhost:11434/v1", "http://LOCALHOST.:1",
            "http://model.localhost", "http://[::1]:8080", "http://[::ffff:127.0.0.1]", "http://0.0.0.0:8080",
        ] {
            assert!(is_direct("", server), "{server}");
            // The variable is not even parsed.
            assert_eq!(
                proxies("nonsense://x", "").of(&server.parse().unwrap()),
                Ok(None),
                "{server}"
            );
        }
        for server in [
            "http://localhost.example.com", "http://127.0.0.1.example.com", "http://128.0.0.1",
        ] {
            assert!(!is_direct("", server), "{server}");
        }
    }

    #[test]
    fn a_proxy_is_named_by_its_address_with_or_without_a_scheme() {
        let server = "https://api.example.com".parse().unwrap();
        for (given, url, shown) in [
            ("proxy:3128", "http://proxy:3128/", "http://proxy:3128 ($HTTPS_PROXY)"),
            (" http://proxy/x ", "http://proxy/x", "http://proxy:80 ($HTTPS_PROXY)"),
            ("https://proxy", "https://proxy/", "https://proxy:443 ($HTTPS_PROXY)"),
            (
                "ada:sec%40ret@proxy:1",
                "http://ada:sec%40ret@proxy:1/",
                "http://proxy:1 ($HTTPS_PROXY)",
            ),
            (
                "socks5h://ada@[::1]",
                "socks5h://ada@[::1]:1080",
                "socks5h://[::1]:1080 ($HTTPS_PROXY)",
            ),
        ] {
            let proxy = proxies(given, "").of(&server).unwrap().unwrap();
            assert_eq!(
                (proxy.url().as_str(), proxy.to_string().as_str()),
                (url, shown),
                "{given}"
            );
        }
    }

    #[test]
    fn what_names_no_proxy_is_an_error_that_names_the_variable_and_shows_no_password() {
        let server = "https://api.example.com".parse().unwrap();
        for given in [
            "ftp://ada:secret@proxy", "http://", "ada:secret@", "http://ada:secret@pro xy:1", "ada:secret@proxy:port",
        ] {
            let proxies = proxies(given, "");
            let error = proxies.of(&server).unwrap_err().to_string();
            assert!(
                error.starts_with("HTTPS_PROXY is not a usable proxy"),
                "{given}: {error}"
            );
            assert!(
                !error.contains("secret") && !format!("{proxies:?}").contains("secret"),
                "{error}"
            );
        }
    }
}
