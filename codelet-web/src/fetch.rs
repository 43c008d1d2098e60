//! Requests: each host is judged by the addresses to which its name resolves now, and only those are connected to.

use crate::Options;
use crate::address::{Closed, closed};
use crate::target::Target;
use codelet_agent::permission::fits;
use codelet_network::Proxy;
use codelet_text::short::{clip, words};
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::{Client, Response, StatusCode};
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Redirects of one fetch at most.
const REDIRECTS: usize = 5;
/// Bytes of a body that are read at most.
pub(crate) const MOST: usize = 5 * 1024 * 1024;
/// The preferred media types; some servers send Markdown.
const KINDS: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5";

/// Resolves a name for this port.
pub(crate) type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The system's resolver.
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|name, port| {
        Box::pin(async move {
            tokio::net::lookup_host((name.as_str(), port))
                .await
                .map(Iterator::collect)
        })
    })
}

/// The result of a fetch.
pub(crate) enum Fetched {
    /// A response.
    Page(Box<Page>),
    /// The host redirects to another one, to which no request was sent.
    Elsewhere {
        /// The status of that response.
        status: StatusCode,
        /// The host that redirects.
        from: Target,
        /// The redirect's URL.
        to: String,
    },
}

/// A response.
pub(crate) struct Page {
    /// The final URL.
    pub(crate) target: Target,
    /// URLs that redirected there.
    pub(crate) redirects: Vec<String>,
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its `Content-Type`.
    pub(crate) content_type: String,
    /// Its body, up to the limit.
    pub(crate) bytes: Vec<u8>,
    /// The reason why the rest of the body is missing.
    pub(crate) cut: Option<&'static str>,
}

/// Checks whether this target may be requested, as far as its spelling tells: a host that is an address is judged as
/// one.
///
/// # Errors
/// Says why not.
pub(crate) fn judge(target: &Target, options: &Options) -> Result<(), String> {
    match target.literal() {
        Some(address) => judge_address(target, address, options),
        None => Ok(()),
    }
}

/// The proxy for a target.
///
/// # Errors
/// If one is configured and cannot be used.
pub(crate) fn proxy(target: &Target, options: &Options) -> Result<Option<Proxy>, String> {
    options
        .network
        .proxies
        .of(&target.url)
        .map_err(|error| error.to_string())
}

fn judge_address(target: &Target, address: IpAddr, options: &Options) -> Result<(), String> {
    let host = target.name();
    match closed(address) {
        None => Ok(()),
        Some(Closed::Local(_)) if is_permitted(target, options) => Ok(()),
        Some(Closed::Local(what)) => Err(format!(
            "{host} is at {address}, an address of {what}. It is not fetched unless the user's settings name it: \
             web_private = [\"{host}\"]"
        )),
        Some(Closed::Never(what)) => Err(format!(
            "{host} is at {address}, an address of {what}. It is never fetched"
        )),
    }
}

/// Returns whether the user permits this host to resolve to private addresses.
fn is_permitted(target: &Target, options: &Options) -> bool {
    let is = |pattern: &String| fits(pattern, &target.host) || fits(pattern, target.name());
    options.private.iter().any(is)
}

/// Fetches a target, and follows redirects on the same host.
///
/// # Errors
/// Says why there is no response.
pub(crate) async fn fetch(mut target: Target, options: &Options, lookup: &Lookup) -> Result<Fetched, String> {
    let mut redirects = Vec::new();
    loop {
        let response = ask(&target, options, lookup).await?;
        let status = response.status();
        let Some(to) = redirected(&target, &response)? else {
            return Ok(Fetched::Page(Box::new(page(target, redirects, response).await?)));
        };
        // An upgrade to https on the same host is followed; a downgrade is reported.
        let is_secured = (target.url.scheme(), to.url.scheme()) == ("http", "https") && target.name() == to.name();
        if !(is_secured && to.url.port().is_none() || to.url.origin() == target.url.origin()) {
            let to = to.url.to_string();
            return Ok(Fetched::Elsewhere {
                status,
                from: target,
                to,
            });
        }
        if redirects.len() == REDIRECTS {
            return Err(format!("{} redirects more than {REDIRECTS} times", target.host));
        }
        redirects.push(target.url.to_string());
        target = to;
    }
}

/// The target of a redirect; `None` for any other response.
fn redirected(target: &Target, response: &Response) -> Result<Option<Target>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(to) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let told = |why: String| format!("{} redirects to an address that is not fetched: {why}", target.host);
    let to = to.to_str().map_err(|_| told("it is no text".to_owned()))?;
    let to = target.url.join(to).map_err(|error| told(error.to_string()))?;
    Target::of(to).map(Some).map_err(told)
}

/// Sends one request, on a connection that is used for nothing else.
async fn ask(target: &Target, options: &Options, lookup: &Lookup) -> Result<Response, String> {
    let (builder, proxy) = options.network.client(&target.url).map_err(|error| error.to_string())?;
    let mut builder = builder
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(0)
        .referer(false)
        .default_headers(HeaderMap::new());
    judge(target, options)?;
    if proxy.is_some() {
        // The proxy resolves the name, so the address cannot be judged here.
        if target.is_local_name() && !is_permitted(target, options) {
            let host = target.name();
            return Err(format!(
                "{host} is a name of a private network. It is not fetched unless the user's settings name it: \
                 web_private = [\"{host}\"]"
            ));
        }
    } else if target.literal().is_none() {
        let addresses = addresses(target, options, lookup).await?;
        builder = builder.resolve_to_addrs(target.name(), &addresses);
    }
    let client: Client = builder.build().map_err(|error| cause(&error))?;
    let request = client
        .get(target.url.clone())
        .header(ACCEPT, KINDS)
        .header(ACCEPT_ENCODING, "identity");
    let sent = request.send().await;
    sent.map_err(|error| format!("{} could not be reached: {}", target.host, cause(&error)))
}

/// The addresses of a name, all of which may be connected to.
async fn addresses(target: &Target, options: &Options, lookup: &Lookup) -> Result<Vec<SocketAddr>, String> {
    let name = target.name();
    let found = lookup(name.to_owned(), target.port()).await;
    let found = found.map_err(|_| format!("could not find the host {name}"))?;
    if found.is_empty() {
        return Err(format!("could not find the host {name}"));
    }
    // A single private address among others is deliberate, so it is enough to refuse the name.
    for address in &found {
        judge_address(target, address.ip(), options)?;
    }
    Ok(found)
}

async fn page(target: Target, redirects: Vec<String>, mut response: Response) -> Result<Page, String> {
    let header = |name: HeaderName| {
        let value = response.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let (content_type, encoding, status) = (header(CONTENT_TYPE), header(CONTENT_ENCODING), response.status());
    if !matches!(encoding.trim().to_ascii_lowercase().as_str(), "" | "identity") {
        return Err(format!(
            "the answer of {} is not read: it is packed in a way that was not asked for (Content-Encoding)",
            target.host
        ));
    }
    let (mut bytes, mut cut) = (Vec::new(), None);
    while cut.is_none() {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = (MOST - bytes.len()).min(chunk.len());
                bytes.extend_from_slice(&chunk[..room]);
                cut = (room < chunk.len()).then_some("the rest was not read: the limit is 5 MB");
            }
            Ok(None) => break,
            Err(_) => cut = Some("the rest did not come: the connection broke off"),
        }
    }
    Ok(Page {
        target,
        redirects,
        status,
        content_type,
        bytes,
        cut,
    })
}

/// Describes the innermost cause of an error, on one line.
fn cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn Error), |&error| error.source());
    let innermost = causes.last().map_or_else(String::new, ToString::to_string);
    let said = innermost.split(" (os error").next().unwrap_or_default();
    clip(&words(said), 200).into_owned()
}

#[cfg(test)]
mod tests;
