//! Network settings from the environment variables that curl reads: proxies and trusted certificates. A project's file
//! cannot set them.

use codelet_network::{Named, Network, Proxies, Trust};
use std::path::PathBuf;

const CERTIFICATES: &str = "SSL_CERT_FILE";
const FOLDERS: &str = "SSL_CERT_DIR";

/// Returns the network settings from these variables.
pub fn network(variable: &dyn Fn(&str) -> Option<String>) -> Network {
    Network {
        proxies: proxies(variable),
        trust: trust(variable),
    }
}

/// Returns the proxies from these variables, in lower or upper case.
pub fn proxies(variable: &dyn Fn(&str) -> Option<String>) -> Proxies {
    let named = |name: &str| {
        let name = name.to_owned();
        Some(Named {
            value: variable(&name)?,
            name,
        })
    };
    let either = |small: &str| named(small).or_else(|| named(&small.to_uppercase()));
    // In a CGI program, any client can set this variable through a request header.
    let is_cgi = variable("REQUEST_METHOD").is_some();
    let http = named("http_proxy").or_else(|| named("HTTP_PROXY").filter(|_| !is_cgi));
    let all = || either("all_proxy");
    Proxies {
        http: http.or_else(all),
        https: either("https_proxy").or_else(all),
        direct: either("no_proxy"),
    }
}

/// Returns the certificates from these variables, which replace the system's.
fn trust(variable: &dyn Fn(&str) -> Option<String>) -> Trust {
    let file = variable(CERTIFICATES).map(|file| (CERTIFICATES.to_owned(), PathBuf::from(file)));
    let folders = variable(FOLDERS).map(|list| {
        let folders = std::env::split_paths(&list).filter(|folder| !folder.as_os_str().is_empty());
        (FOLDERS.to_owned(), folders.collect())
    });
    match (&file, &folders) {
        (None, None) => Trust::system(),
        _ => Trust::named(file, folders),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> [Option<String>; 3] {
        let proxies = proxies(&|name| {
            let found = variables.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let told = |named: Option<Named>| named.map(|named| format!("{}={}", named.name, named.value));
        [told(proxies.http), told(proxies.https), told(proxies.direct)]
    }

    #[test]
    fn proxies_are_found_in_small_letters_and_in_capitals_and_small_letters_stand_first() {
        for (variables, http, https) in [
            (&[("HTTP_PROXY", "a")][..], Some("HTTP_PROXY=a"), None),
            (&[("HTTP_PROXY", "a"), ("http_proxy", "b")], Some("http_proxy=b"), None),
            (
                &[("https_proxy", "a"), ("HTTPS_PROXY", "b")],
                None,
                Some("https_proxy=a"),
            ),
            (&[("ALL_PROXY", "a")], Some("ALL_PROXY=a"), Some("ALL_PROXY=a")),
            (
                &[("all_proxy", "a"), ("HTTPS_PROXY", "b")],
                Some("all_proxy=a"),
                Some("HTTPS_PROXY=b"),
            ),
            (&[("HTTP_PROXY", "a"), ("REQUEST_METHOD", "GET")], None, None),
            (
                &[("http_proxy", "a"), ("REQUEST_METHOD", "GET")],
                Some("http_proxy=a"),
                None,
            ),
        ] {
            let told = of(variables);
            assert_eq!([told[0].as_deref(), told[1].as_deref()], [http, https], "{variables:?}");
        }
        assert_eq!(
            of(&[("NO_PROXY", "a"), ("no_proxy", "b")])[2].as_deref(),
            Some("no_proxy=b")
        );
    }
}
