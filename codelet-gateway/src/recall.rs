//! Asks a gateway for what an edit has removed.

use crate::headers::TOKEN;
use codelet_network::Network;
use reqwest::Url;
use std::time::Duration;

/// The time limit for a gateway's answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The text that a gateway remembers under a handle; `gateway` is where it [reads back](crate::Gateway::recalls_at) what it has removed.
///
/// # Errors
/// When no gateway answers there, or it remembers nothing under this handle: a sentence for whoever has asked.
pub async fn recall(gateway: &str, handle: &str, token: Option<&str>) -> Result<String, String> {
    let handle = handle.trim_matches(['[', ']', '`', ' ']);
    if handle.is_empty() || !handle.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(format!(
            "{handle:?} is not a handle; a handle has letters and digits, as in `recall k3f9a2`"
        ));
    }
    let url = format!("{}/{handle}", gateway.trim_end_matches('/'));
    let place = gateway.split("/codelet/").next().unwrap_or_default().to_owned();
    let unreachable = |why: &str| format!("no Codelet gateway answers at {place} ({why})");
    let url = Url::parse(&url).map_err(|error| unreachable(&error.to_string()))?;
    // It is on this machine, or named by the user: no proxy stands before it.
    let (client, _) = Network::default()
        .client(&url)
        .map_err(|error| unreachable(&error.to_string()))?;
    let client = client
        .timeout(PATIENCE)
        .build()
        .map_err(|error| unreachable(&error.to_string()))?;
    let request = token
        .into_iter()
        .fold(client.get(url), |request, token| request.header(TOKEN, token));
    let answer = request.send().await;
    let answer = answer.map_err(|error| {
        unreachable(if error.is_timeout() {
            "it took too long"
        } else {
            "it could not be reached"
        })
    })?;
    let status = answer.status();
    let text = answer.text().await.map_err(|_| unreachable("its answer was cut off"))?;
    match status.as_u16() {
        200 => Ok(text),
        404 => Err(format!(
            "the gateway has no text {handle} now; try again after the conversation's next request"
        )),
        409 => Err(format!(
            "two conversations of the gateway have different texts {handle}, and it does not know which is meant; run again what printed the text"
        )),
        401 => Err(format!(
            "the gateway at {place} requires its token: set CODELET_GATEWAY_TOKEN"
        )),
        other => Err(unreachable(&format!("status {other}"))),
    }
}
