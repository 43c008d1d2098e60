//! Asking: each host is judged by the addresses that its name has now, and only those are connected to.

use crate::Options;
use crate::address::{Closed, closed};
use crate::body::{Body, Taken};
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

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(10);
/// The most redirects of one fetch.
const REDIRECTS: usize = 5;
/// What is liked best; servers that know it send Markdown.
const KINDS: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5";

/// Finds the addresses of a name for this port.
pub(crate) type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The system's way to find addresses.
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|name, port| {
        Box::pin(async move {
            tokio::net::lookup_host((name.as_str(), port))
                .await
                .map(Iterator::collect)
        })
    })
}

/// What came of a fetch.
pub(crate) enum Fetched {
    /// An answer.
    Page(Box<Page>),
    /// The host says that it is at another one, which was not asked.
    Elsewhere {
        /// The status of that answer.
        status: StatusCode,
        /// Who says it.
        from: Target,
        /// Where it is.
        to: String,
    },
}

/// An answer.
pub(crate) struct Page {
    /// Where it came from in the end.
    pub(crate) target: Target,
    /// Addresses that led there.
    pub(crate) redirects: Vec<String>,
    /// Its status.
    pub(crate) status: StatusCode,
    /// What the server says it is.
    pub(crate) content_type: String,
    /// What came.
    pub(crate) taken: Taken,
}

/// Whether this target may be asked at, as far as its spelling tells; a host that is an address is judged by that.
///
/// # Errors
/// Says why not.
pub(crate) fn judge(target: &Target, options: &Options) -> Result<(), String> {
    match target.literal() {
        Some(address) => judge_address(target, address, options),
        None => Ok(()),
    }
}

/// The proxy through which a target is asked at.
///
/// # Errors
/// When there should be one, and none can be used.
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

/// Whether the user lets this host lead to private addresses.
fn is_permitted(target: &Target, options: &Options) -> bool {
    let is = |pattern: &String| fits(pattern, &target.host) || fits(pattern, target.name());
    options.private.iter().any(is)
}

/// Fetches a target, and what it redirects to on the same host.
///
/// # Errors
/// Says why there is no answer.
pub(crate) async fn fetch(mut target: Target, options: &Options, lookup: &Lookup) -> Result<Fetched, String> {
    let mut redirects = Vec::new();
    loop {
        let response = ask(&target, options, lookup).await?;
        let status = response.status();
        let Some(to) = redirected(&target, &response)? else {
            return Ok(Fetched::Page(Box::new(page(target, redirects, response).await?)));
        };
        // A better connection to the same host is no other host; a worse one is told.
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

/// Where an answer redirects to; none where it is an answer of its own.
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

/// Asks once. The connection is made for this and used for nothing else.
async fn ask(target: &Target, options: &Options, lookup: &Lookup) -> Result<Response, String> {
    let (builder, proxy) = options.network.client(&target.url).map_err(|error| error.to_string())?;
    let mut builder = builder
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(0)
        .referer(false)
        .default_headers(HeaderMap::new());
    judge(target, options)?;
    if proxy.is_some() {
        // The proxy finds the address, and nobody here can judge it.
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
        .header(ACCEPT_ENCODING, "gzip");
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
    // A name that leads to one such address among others is made to lead there.
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
    let told = |why: String| format!("the answer of {} is not read: {why}", target.host);
    let (content_type, encoding, status) = (header(CONTENT_TYPE), header(CONTENT_ENCODING), response.status());
    let mut body = Body::new(&encoding).map_err(told)?;
    let mut cut = None;
    while cut.is_none() {
        match response.chunk().await {
            Ok(Some(chunk)) => cut = body.push(&chunk).err(),
            Ok(None) => break,
            Err(_) => cut = Some("the rest did not come: the connection broke off"),
        }
    }
    Ok(Page {
        taken: body.finish(cut),
        target,
        redirects,
        status,
        content_type,
    })
}

/// What went wrong: the innermost cause, on one line.
fn cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn Error), |&error| error.source());
    let innermost = causes.last().map_or_else(String::new, ToString::to_string);
    let said = innermost.split(" (os error").next().unwrap_or_default();
    clip(&words(said), 200).into_owned()
}

#[cfg(test)]
mod tests;
