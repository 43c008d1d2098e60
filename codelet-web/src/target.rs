//! The target of a fetch: a URL, parsed as in a browser, and its host.

use codelet_text::short::grouped;
use codelet_text::unseen::hides;
use reqwest::Url;
use std::net::IpAddr;

/// Longest URL, in bytes.
const LONGEST: usize = 8_000;
/// Path and query longer than this, in bytes, can exfiltrate data, so they are not covered by an earlier permission.
const LONG: usize = 256;
/// Suffixes of names that no public server has.
const LOCAL_ENDS: [&str; 14] = [
    ".localhost", ".local", ".internal", ".localdomain", ".localdomain6", ".private", ".svc", ".consul", ".fritz.box",
    ".lan", ".intranet", ".corp", ".home", ".home.arpa",
];

/// A URL that can be requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// The URL as it is sent: the host in ASCII, an IP address in its usual form, no fragment.
    pub(crate) url: Url,
    /// The host, with its port if that is not the default.
    pub(crate) host: String,
}

impl Target {
    /// Parses a URL as written.
    ///
    /// # Errors
    /// If it cannot be fetched; the text is the output for the model.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > LONGEST {
            let most = grouped(LONGEST);
            return Err(format!("this address is too long; the limit is {most} bytes"));
        }
        if text.chars().any(|c| c.is_control() || hides(c)) {
            return Err("this address contains invisible characters; write it without them".to_owned());
        }
        let url =
            Url::parse(text).map_err(|error| format!("this is not a URL ({error}); write it from https:// on"))?;
        Target::of(url)
    }

    /// Checks a URL.
    ///
    /// # Errors
    /// If it cannot be fetched.
    pub(crate) fn of(mut url: Url) -> Result<Self, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("only http:// and https:// are fetched, not {}:", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "addresses with a user name or a password are not fetched; leave out what is before the @".to_owned(),
            );
        }
        if url.as_str().len() > LONGEST {
            return Err("this address is too long".to_owned());
        }
        url.set_fragment(None);
        let bare = url.host_str().unwrap_or_default().trim_end_matches('.').to_owned();
        if bare.is_empty() || url.set_host(Some(&bare)).is_err() || url.port() == Some(0) {
            return Err("this address names no server".to_owned());
        }
        let name = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        };
        Ok(Target { url, host })
    }

    /// The host without its port.
    pub(crate) fn name(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// The host's IP address, if it is not a name.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        self.name().trim_matches(['[', ']']).parse().ok()
    }

    /// Returns whether only a private network or this machine can resolve the name.
    pub(crate) fn is_local_name(&self) -> bool {
        let name = self.name();
        let is_local = |end: &&str| name.ends_with(*end) || *name == end[1..];
        self.literal().is_none() && (!name.contains('.') || LOCAL_ENDS.iter().any(is_local))
    }

    /// Bytes of path and query, which the server receives.
    fn said(&self) -> usize {
        self.url.path().len() + self.url.query().map_or(0, |query| query.len() + 1)
    }

    /// Returns whether it is long enough to exfiltrate data.
    pub(crate) fn is_long(&self) -> bool {
        self.said() > LONG
    }

    /// Remarks for the permission prompt, a sentence each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.is_long() {
            let bytes = grouped(self.said());
            remarks.push(format!(
                "This address is long ({bytes} bytes): it may carry data of yours to that server. Read all of it."
            ));
        }
        if self.name().split('.').any(|label| label.starts_with("xn--")) {
            remarks.push(
                "This host name (xn--) contains letters of other alphabets, so it may imitate another name.".to_owned(),
            );
        }
        if self.url.scheme() == "http" {
            remarks.push("This connection is not encrypted: others can read and change what is sent.".to_owned());
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::address::closed;

    #[test]
    fn a_host_is_read_as_it_is_connected_to_however_it_is_spelled() {
        for (text, host, is_closed) in [
            ("https://docs.rs/htmd#top", "docs.rs", false),
            ("https://DOCS.RS./", "docs.rs", false),
            ("https://docs.rs:443/", "docs.rs", false),
            ("https://docs.rs:8443/", "docs.rs:8443", false),
            ("http://2130706433/", "127.0.0.1", true),
            ("http://0x7f000001/", "127.0.0.1", true),
            ("http://0177.0.0.1/", "127.0.0.1", true),
            ("http://127.1/", "127.0.0.1", true),
            ("http://0x7f.1/", "127.0.0.1", true),
            ("http://127.0.0.1./", "127.0.0.1", true),
            ("http://%31%32%37.0.0.1/", "127.0.0.1", true),
            ("http://\u{ff11}27.0.0.1/", "127.0.0.1", true),
            ("http://127。0。0。1/", "127.0.0.1", true),
            ("http:\\\\169.254.169.254\\latest", "169.254.169.254", true),
            ("http:169.254.169.254", "169.254.169.254", true),
            ("http://[::ffff:169.254.169.254]/", "[::ffff:a9fe:a9fe]", true),
            ("http://[0:0:0:0:0:0:0:1]:80/", "[::1]", true),
            ("https://b\u{fc}cher.example/", "xn--bcher-kva.example", false),
            ("https://\u{430}pple.example/", "xn--pple-43d.example", false),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.host, host, "{text}");
            let is = target.literal().is_some_and(|address| closed(address).is_some());
            assert_eq!(is, is_closed, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_fetched_is_said() {
        for (text, why) in [
            ("docs.rs", "not a URL"),
            ("", "not a URL"),
            ("file:///etc/passwd", "only http"),
            ("ftp://a.example/", "only http"),
            ("data:text/plain,x", "only http"),
            ("javascript:alert(1)", "only http"),
            ("https://ada@docs.rs/", "user name"),
            ("https://docs.rs:x@evil.example/", "user name"),
            ("https://:x@docs.rs/", "user name"),
            ("https://../", "no server"),
            ("https://docs.rs:0/", "no server"),
            ("https://docs.rs:99999/", "not a URL"),
            ("https://1.2.3.4.5/", "not a URL"),
            ("https://do\ncs.rs/", "invisible characters"),
            ("https://docs.rs/\u{202e}x", "invisible characters"),
            ("https://docs\u{ad}.rs/", "invisible characters"),
        ] {
            let error = Target::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(Target::parse(&format!("https://a.example/{}", "a".repeat(LONGEST))).is_err());
    }

    #[test]
    fn a_long_address_another_alphabet_and_an_open_connection_are_told() {
        let remarks = |text: &str| Target::parse(text).unwrap().remarks().len();
        assert_eq!(remarks("https://docs.rs/htmd?x=1"), 0);
        assert_eq!(remarks("http://docs.rs/"), 1);
        assert_eq!(remarks("https://\u{430}pple.example/"), 1);
        assert_eq!(remarks(&format!("https://docs.rs/?q={}", "a".repeat(300))), 1);
        assert!(
            Target::parse(&format!("https://docs.rs/{}", "a".repeat(300)))
                .unwrap()
                .is_long()
        );
    }

    #[test]
    fn names_of_private_networks_are_known() {
        for (text, is) in [
            ("http://localhost/", true),
            ("http://a.localhost./", true),
            ("http://router/", true),
            ("http://metadata.google.internal/", true),
            ("http://fritz.box/", true),
            ("http://x.localdomain/", true),
            ("http://svc.example/", false),
            ("http://printer.local/", true),
            ("http://docs.rs/", false),
            ("http://127.0.0.1/", false),
            ("http://[::1]/", false),
            ("http://local.example/", false),
        ] {
            assert_eq!(Target::parse(text).unwrap().is_local_name(), is, "{text}");
        }
    }
}
