//! The choice of a model, its endpoint and its options.

use crate::address::{below, shown};
use crate::auth::Auth;
use crate::body::drops_thinking;
use crate::cache_control::Lifetime;
use crate::catalogue::{self, Known};
use crate::efforts::thinks;
use crate::headers::headers;
use crate::host::google::AccessTokens;
use crate::host::{Host, Site, names};
use crate::line::{Line, READING};
use crate::network::{self, Connection, TimeLimits};
use crate::provider::Provider;
use crate::secret::{Secret, Secrets};
use crate::settings::{ModelId, Settings, Thinking};
use crate::vendor::{self, Vendor};
use crate::window::{self, Loading};
use crate::wire::Wire;
use codelet_agent::model::{Model, ModelError, Profile, SAFE_OUTPUT, SAFE_WINDOW};
use codelet_context::price::{self, PriceCard, Rates};
use codelet_context::tokens::Tokens;
use codelet_network::{Network, Proxy, is_own_machine};
use codelet_text::near;
use rig_core::http_client::HeaderMap;
use rig_reqwest::reqwest::Url;
use std::sync::Arc;
use std::time::Duration;

/// The default output limit, in tokens: what is reserved for the output is not available to the conversation.
const USUAL_OUTPUT: Tokens = 32_000;

/// A model and its connection options. Everything but the model has a default.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// `vendor/model`; the model alone if a base URL is given.
    pub model: String,
    /// The API base URL, if it is not the vendor's, with or without a path.
    pub base_url: Option<String>,
    /// The wire, if it is not the vendor's.
    pub wire: Option<Wire>,
    /// The key.
    pub key: Option<Secret>,
    /// True for a token, which is sent in the `Authorization` header on every wire.
    pub is_token: bool,
    /// The source of the key or of a cloud's credentials, named in the error if the provider rejects them.
    pub key_source: Option<String>,
    /// The context window in tokens, overriding the catalogue.
    pub window: Option<Tokens>,
    /// The upper limit of the context window, in tokens.
    pub most_window: Option<Tokens>,
    /// The output limit in tokens, overriding the default.
    pub max_output: Option<Tokens>,
    /// Overrides whether the model accepts images.
    pub sees_images: Option<bool>,
    /// The price card, overriding the known one.
    pub price: Option<PriceCard>,
    /// The amount of thinking.
    pub thinking: Thinking,
    /// True if thinking is to be shown, for vendors that can summarize it.
    pub shows_thinking: bool,
    /// The cache lifetime, if there is a choice.
    pub lifetime: Lifetime,
    /// The timeouts, overriding the defaults for a cloud or the local machine.
    pub limits: Option<TimeLimits>,
    /// Proxies and certificates.
    pub network: Network,
    /// The location and identity in a cloud; unused for other vendors.
    pub site: Site,
}

/// The reason why a model cannot be used at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// No vendor has this name, and no base URL is given.
    #[error("unknown provider in the model's name; {advice}")]
    UnknownVendor {
        /// The model that is probably meant, or else the possible providers. The given name is not repeated: it may be
        /// a misplaced key.
        advice: String,
    },
    /// The vendor's key is missing.
    #[error("no API key for {vendor}: set {variable}")]
    NoKey {
        /// The vendor.
        vendor: &'static str,
        /// The most common environment variable for its key.
        variable: &'static str,
    },
    /// The key contains characters that a header cannot carry.
    #[error("the API key for {vendor} contains invalid characters")]
    BadKey {
        /// The vendor.
        vendor: &'static str,
    },
    /// A cloud's configuration is incomplete.
    #[error("{vendor} cannot be asked: {why}")]
    Site {
        /// The vendor.
        vendor: &'static str,
        /// The missing part and the remedy, without credentials.
        why: String,
    },
    /// The base URL is invalid.
    #[error("invalid API base URL{url}: {why}")]
    BaseUrl {
        /// The given URL after a space, without a password; empty for a text without `://`, which may be a misplaced key.
        url: String,
        /// The reason.
        why: String,
    },
    /// The proxy or the certificates cannot be used.
    #[error("the network settings cannot be used: {why}")]
    Network {
        /// The reason.
        why: String,
    },
}

/// Prepares a model for use. Nothing is requested from the provider, unless the context window is unknown here and the
/// server may report it. A server that is not ready is waited for, up to 20 seconds.
///
/// # Errors
/// If vendor, key, base URL or network settings are unusable. An unreachable server is not an error here: the first
/// request reports it.
pub async fn connect(choice: &Choice) -> Result<Box<dyn Model>, ConnectError> {
    connect_telling(choice, &mut |_| {}).await
}

/// Does the same as [`connect`], and calls `told` once a second while waiting for a server.
///
/// # Errors
/// As for [`connect`].
pub async fn connect_telling(
    choice: &Choice,
    told: &mut (dyn FnMut(Loading) + Send),
) -> Result<Box<dyn Model>, ConnectError> {
    let Endpoint {
        vendor,
        name,
        wire,
        base,
        is_given,
        is_local,
        mut line,
    } = endpoint(choice)?;
    let known = lookup(vendor, name, &choice.site);
    if known.is_none() {
        line.meant = slip(vendor, name);
    }
    // A server of the user's own runs its model whatever name is asked for; a name much like a listed one is a slip.
    let is_any_name = (is_local || vendor.name == COMPATIBLE.name) && line.meant.is_none();
    let told = match (choice.window, &known) {
        _ if vendor.host.is_some() => None,
        (None, None) if is_given || vendor.is_local => window::ask(&line, &base, vendor, name, is_any_name, told).await,
        _ => None,
    };
    let profile = profile(choice, vendor, name, known.as_ref(), told);
    let (maker, model) = family(vendor, name);
    let settings = Settings {
        wire,
        host: vendor.host,
        asked: ModelId {
            vendor: match vendor.host {
                Some(_) => vendor.name,
                None => maker,
            },
            model: name.to_owned(),
        },
        model,
        vendor: maker,
        max_output: profile.max_output,
        sees_images: profile.sees_images,
        is_listed: known.is_some(),
        thinks: thinks(known.as_ref().map(|known| known.thinks), maker, wire, &choice.thinking),
        thinking: choice.thinking.clone(),
        shows_thinking: choice.shows_thinking,
        ways: Arc::default(),
        lifetime: profile.price.as_ref().map_or(choice.lifetime, |card| card.lifetime),
    };
    Ok(Box::new(Provider {
        profile,
        settings: Arc::new(settings),
        line,
        kept: Arc::default(),
        sent: Arc::default(),
    }))
}

/// Asks the provider for its list of models, which is free, to test the connection and the key. A local server without
/// a loaded model is an error here.
///
/// # Errors
/// As for [`connect`]; the inner result is an error of the provider or of the connection.
///
/// Clouds that list their models elsewhere get an empty request to the model instead, which they reject free of charge.
pub async fn reach(choice: &Choice) -> Result<Result<(), ModelError>, ConnectError> {
    let Endpoint {
        vendor, base, mut line, ..
    } = endpoint(choice)?;
    if matches!(vendor.host, Some(Host::Bedrock | Host::Vertex)) {
        return Ok(line.knock().await);
    }
    line.connection.url = below(&base, &["models"]);
    let limit = line.connection.limits.connect;
    Ok(line.get(limit).await.map(|_| ()))
}

/// The endpoint of a model.
struct Endpoint<'a> {
    vendor: &'static Vendor,
    /// The vendor's own name of the model.
    name: &'a str,
    wire: Wire,
    base: Url,
    /// True if the base URL is not the vendor's.
    is_given: bool,
    /// True for a server on the own machine.
    is_local: bool,
    line: Line,
}

fn endpoint(choice: &Choice) -> Result<Endpoint<'_>, ConnectError> {
    let (vendor, name) = split(choice)?;
    let usual = vendor.host.map_or(vendor.wire, |host| host.wire(vendor.wire, name));
    let wire = choice.wire.unwrap_or(usual);
    let is_given = choice.base_url.as_ref().is_some_and(|url| !vendor.is_at(url));
    let key = choice.key.clone().filter(|key| !key.is_empty());
    let signs = choice.site.aws.is_some() || choice.site.google.is_some();
    if let (None, [variable, ..], false, false) = (&key, vendor.keys, is_given, signs) {
        let vendor = vendor.name;
        return Err(match choice.site.missing.clone() {
            Some(why) => ConnectError::Site { vendor, why },
            None => ConnectError::NoKey { vendor, variable },
        });
    }
    let unset = |why| ConnectError::Site {
        vendor: vendor.name,
        why,
    };
    let (base, url) = match vendor.host {
        None => {
            let given = choice.base_url.as_deref().unwrap_or(vendor.base_url);
            let base = wire.base(given).map_err(|why| wrong(given, why))?;
            let url = wire.endpoint(&base, name);
            (base, url)
        }
        Some(host) => {
            let own = || host.address(&choice.site).map_err(unset);
            let given = choice.base_url.clone().map_or_else(own, Ok)?;
            let base = host.base(&given).map_err(|why| wrong(&given, why))?;
            let url = host.endpoint(&base, wire, name, &choice.site).map_err(unset)?;
            (base, url)
        }
    };
    let is_local = vendor.is_local || is_own_machine(&base);
    let usual = if is_local { TimeLimits::LOCAL } else { TimeLimits::CLOUD };
    let limits = choice.limits.unwrap_or(usual);
    let (client, proxy) = network::client(&choice.network, &base, limits).map_err(unusable)?;
    let (maker, model) = family(vendor, name);
    let drops_thinking = drops_thinking(maker, wire, &model);
    let headers = headers(vendor.host, wire, key.as_ref(), choice.is_token, drops_thinking);
    let line = Line {
        auth: match key {
            None => auth(vendor, choice, limits)?,
            Some(_) => Auth::Headers,
        },
        connection: Connection {
            client,
            url,
            secrets: Secrets::of(
                key.as_ref(),
                std::iter::once(&base).chain(proxy.as_ref().map(Proxy::url)),
            ),
            proxy,
            headers: headers.ok_or(ConnectError::BadKey { vendor: vendor.name })?,
            key,
            limits,
        },
        frames_events: vendor.host.is_some_and(|host| host.frames_events(wire)),
        key_source: choice.key_source.clone(),
        meant: None,
        per_token: match choice.limits {
            None if is_local => READING,
            _ => Duration::ZERO,
        },
    };
    Ok(Endpoint {
        vendor,
        name,
        wire,
        base,
        is_given,
        is_local,
        line,
    })
}

/// Creates the error for an invalid address.
fn wrong(text: &str, why: String) -> ConnectError {
    // What is no address may be a key in the wrong place.
    let url = match text.contains("://") {
        true => format!(" {}", shown(text)),
        false => String::new(),
    };
    ConnectError::BaseUrl { url, why }
}

fn unusable(why: String) -> ConnectError {
    ConnectError::Network { why }
}

/// Returns the authentication for requests without a key.
fn auth(vendor: &Vendor, choice: &Choice, limits: TimeLimits) -> Result<Auth, ConnectError> {
    let site = &choice.site;
    match (vendor.host, &site.aws, &site.google) {
        (Some(Host::Bedrock), Some(source), _) => {
            let region = site.region.clone().ok_or_else(|| ConnectError::Site {
                vendor: vendor.name,
                why: Host::Bedrock.address(&Site::default()).err().unwrap_or_default(),
            })?;
            Ok(Auth::Aws {
                source: source.clone(),
                region,
            })
        }
        (Some(Host::Vertex), _, Some(credentials)) => {
            let url = credentials.server().clone();
            let (client, proxy) = network::client(&choice.network, &url, limits).map_err(unusable)?;
            let hidden: Vec<Secret> = credentials.secrets().iter().map(|text| Secret::new(text)).collect();
            let proxies = proxy.as_ref().map(Proxy::url);
            let connection = Connection {
                client,
                secrets: Secrets::of(None, std::iter::once(&url).chain(proxies)).with(hidden.iter().map(Some)),
                url,
                proxy,
                headers: HeaderMap::new(),
                key: None,
                limits,
            };
            Ok(Auth::Google(Arc::new(AccessTokens::new(
                credentials.clone(),
                connection,
            ))))
        }
        _ => Ok(Auth::Headers),
    }
}

/// A server with a known wire about which nothing else is known.
const COMPATIBLE: &Vendor = &Vendor {
    name: "compatible",
    base_url: "",
    wire: Wire::Chat,
    keys: &[],
    tokens: &[],
    base_url_variable: None,
    usual_model: "",
    is_local: false,
    host: None,
};

/// Splits the model into the vendor and the vendor's own name of the model.
fn split(choice: &Choice) -> Result<(&'static Vendor, &str), ConnectError> {
    let named = choice
        .model
        .split_once('/')
        .and_then(|(vendor, model)| Some((vendor::find(vendor)?, model)));
    match named {
        Some((vendor, model)) if !model.is_empty() => Ok((vendor, model)),
        None if choice.base_url.is_some() && !choice.model.is_empty() => Ok((COMPATIBLE, &choice.model)),
        _ => Err(ConnectError::UnknownVendor {
            advice: meant(&choice.model).map_or_else(providers, |meant| format!("did you mean {meant}?")),
        }),
    }
}

/// Suggests a listed model, or a correctly spelled vendor, for a name without a known vendor.
fn meant(model: &str) -> Option<String> {
    let vendors = vendor::vendors().map(|vendor| vendor.name);
    match model.split_once('/') {
        Some((vendor, rest)) if !rest.is_empty() => {
            near::nearest(vendor, vendors).map(|vendor| format!("{vendor}/{rest}"))
        }
        _ => {
            let own = || catalogue::listed().filter(|(vendor, _)| *vendor != "openrouter");
            let nearest = near::nearest(model, own().map(|(_, name)| name));
            // `opus`: of the models that contain it, the last by name is the newest.
            let has_it = |name: &str| name.split('-').any(|part| part.eq_ignore_ascii_case(model));
            let meant = own()
                .find(|(_, name)| Some(*name) == nearest)
                .or_else(|| own().filter(|(_, name)| has_it(name)).last());
            meant.map(|(vendor, name)| format!("{vendor}/{name}"))
        }
    }
}

/// Returns the vendor's listed model that an unlisted name is nearest to, if any is near.
fn slip(vendor: &Vendor, name: &str) -> Option<String> {
    if vendor.host.is_some() {
        return None;
    }
    let (maker, model) = family(vendor, name);
    let listed = catalogue::listed().filter(|(vendor, _)| *vendor == maker);
    let meant = near::nearest(&model, listed.map(|(_, name)| name))?;
    Some(format!("{}/{meant}", vendor.name))
}

fn providers() -> String {
    let names: Vec<&str> = vendor::vendors().map(|vendor| vendor.name).collect();
    let names = names.join(", ");
    format!("write PROVIDER/NAME with one of {names}")
}

/// Returns vendor and model as the catalogue names them, for any wire and host.
fn family(vendor: &Vendor, name: &str) -> (&'static str, String) {
    match (vendor.host, vendor.name) {
        (Some(_), vendor) => names::known_as(vendor, name),
        (None, "openai-chat") => ("openai", name.to_owned()),
        (None, vendor) => (vendor, name.to_owned()),
    }
}

/// Looks up a model in the catalogue, with the price at this site.
fn lookup(vendor: &Vendor, name: &str, site: &Site) -> Option<Known> {
    let (maker, model) = family(vendor, name);
    // A gateway's variants (`…:free`, `…:nitro`) are the same model.
    let plain = || catalogue::find(maker, model.split_once(':')?.0);
    let mut known = catalogue::find(maker, &model).or_else(plain)?;
    if names::has_surcharge(vendor.name, name, site.region.as_deref()) {
        known.price = known.price.map(|card| card.clone().costing(dearer(&card.rates)));
    }
    Some(known)
}

/// The factor by which a model costs more at a site with a surcharge.
const SURCHARGE: f64 = 1.1;

fn dearer(rates: &Rates) -> Rates {
    Rates {
        input: rates.input * SURCHARGE,
        output: rates.output * SURCHARGE,
        cache_read: rates.cache_read * SURCHARGE,
        cache_write: rates.cache_write * SURCHARGE,
        cache_write_1h: rates.cache_write_1h * SURCHARGE,
    }
}

fn profile(choice: &Choice, vendor: &Vendor, name: &str, known: Option<&Known>, told: Option<Tokens>) -> Profile {
    let (maker, model) = family(vendor, name);
    let like = catalogue::like(&model).filter(|_| known.is_none() && !vendor.is_local);
    let window = choice
        .window
        .or(told)
        .or(known.map(|known| known.window))
        .or(like.map(|like| like.window))
        .unwrap_or(match vendor.name {
            "ollama" => window::OLLAMA,
            _ => SAFE_WINDOW,
        })
        .min(choice.most_window.unwrap_or(Tokens::MAX));
    let like_output = || like.map_or(SAFE_OUTPUT, |like| like.max_output);
    let longest = known.map_or_else(like_output, |known| known.max_output);
    let usual = longest.min(USUAL_OUTPUT).min(window / 4).max(1);
    Profile {
        name: format!("{}/{name}", vendor.name),
        window,
        max_output: choice.max_output.unwrap_or(usual),
        sees_images: choice
            .sees_images
            .or(known.map(|known| known.sees_images))
            .unwrap_or(like.is_some_and(|like| like.sees_images)),
        price: choice
            .price
            .clone()
            .or_else(|| match known {
                Some(known) => known.price.clone(),
                None if vendor.is_local => Some(free(vendor.name)),
                None => catalogue::price(maker, &model),
            })
            .map(|card| match choice.lifetime {
                // The card itself may specify an hour.
                Lifetime::FiveMinutes => card,
                Lifetime::Hour => card.living(Lifetime::Hour),
            }),
        is_unknown: known.is_none() && choice.window.or(told).is_none(),
    }
}

/// Returns the price card of a local server.
fn free(vendor: &str) -> PriceCard {
    let card = price::find(vendor).cloned();
    card.unwrap_or_else(|| PriceCard::flat(vendor, Rates::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_told_without_its_password() {
        for given in ["h:8080", "ftp://h", "http://", "", "/v1", "user:secret@h"] {
            let choice = Choice {
                model: "m".to_owned(),
                base_url: Some(given.to_owned()),
                ..Choice::default()
            };
            let error = endpoint(&choice).err().unwrap().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
