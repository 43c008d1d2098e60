//! The address of a remote server, and the network on the way there.

use crate::Trouble;
use crate::text::one_line;
use codelet_network::{Network, NetworkError};
use reqwest::Url;

/// Parses the URL of a server.
pub(crate) fn address(url: &str) -> Result<Url, Trouble> {
    let unusable = |what: String| Trouble::Unreachable(what);
    let address = Url::parse(url).map_err(|error| unusable(format!("its address is not a URL: {error}")))?;
    match matches!(address.scheme(), "http" | "https") && address.has_host() {
        true => Ok(address),
        false => Err(unusable("its address must start with https:// or http://".to_owned())),
    }
}

/// The network, with these certificates trusted in addition to the usual ones.
pub(crate) fn trusting(network: &Network, authorities: &str) -> Result<Network, Trouble> {
    let mut network = network.clone();
    if !authorities.is_empty() {
        let trust = network.trust.and("its `ca` cannot be used", authorities);
        network.trust = trust.map_err(|error| told(&error))?;
    }
    Ok(network)
}

/// Describes an error of the network settings.
pub(crate) fn told(error: &NetworkError) -> Trouble {
    Trouble::Unreachable(one_line(&error.to_string(), 300))
}
