//! `WebFetch` as the loop calls it.

use crate::Options;
use crate::fetch::{self, Fetched, Lookup};
use crate::page;
use crate::target::Target;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::Parameters;
use codelet_context::reminder;
use futures_util::future::BoxFuture;
use percent_encoding::percent_decode_str;
use serde_json::json;
use std::sync::Arc;

/// The tool.
pub(crate) struct WebFetch {
    spec: ToolSpec,
    options: Options,
    lookup: Lookup,
}

impl WebFetch {
    pub(crate) fn new(options: Options, lookup: Lookup) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"url": {"type": "string"}},
            "required": ["url"],
        });
        let spec = ToolSpec {
            name: Arc::from("WebFetch"),
            description: Arc::from(include_str!("web_fetch.md").trim_end()),
            parameters,
        };
        WebFetch { spec, options, lookup }
    }

    /// The target of a call, if it may be requested at all.
    ///
    /// # Errors
    /// Says why not.
    fn target(&self, parameters: &Parameters) -> Result<Target, String> {
        let url = parameters.str("url").ok_or("`url` is missing, or no string")?;
        let target = Target::parse(url)?;
        let holds = |text: &str| (self.options.holds_secret)(text);
        let sent = target.url.as_str();
        if holds(url) || holds(sent) || holds(&percent_decode_str(sent).decode_utf8_lossy()) {
            return Err("this address contains one of the user's secrets, which are never sent".to_owned());
        }
        fetch::judge(&target, &self.options)?;
        Ok(target)
    }

    async fn fetch(&self, target: Target) -> Output {
        match fetch::fetch(target, &self.options, &self.lookup).await {
            Ok(Fetched::Page(page)) => {
                let sees_images = (self.options.sees_images)();
                let read = tokio::task::spawn_blocking(move || page::read(*page, sees_images)).await;
                // The loop answers panics, as for any tool.
                read.unwrap_or_else(|error| match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Output::failure("interrupted by the user"),
                })
            }
            Ok(Fetched::Elsewhere { status, from, to }) => Output::failure(reminder::escape(&format!(
                "{} redirects ({status}) to another host, which was sent nothing. To go on, call WebFetch with:\n{to}",
                from.host
            ))),
            Err(why) => Output::failure(reminder::escape(&why)),
        }
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let target = self.target(parameters)?;
        let mut remarks = target.remarks();
        if target.literal().is_none()
            && let Some(proxy) = fetch::proxy(&target, &self.options)?
        {
            remarks.push(format!(
                "The proxy {} resolves this host, so Codelet cannot check whether its address is private.",
                proxy.shown()
            ));
        }
        Ok(vec![Need::Fetch {
            is_long: target.is_long(),
            host: target.host,
            url: target.url.into(),
            remarks,
        }])
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let url = parameters.str("url").unwrap_or_default();
        Target::parse(url).map_or_else(|_| url.to_owned(), |target| target.url.into())
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let target = match self.target(call.parameters) {
                Ok(target) => target,
                Err(why) => return Output::failure(why),
            };
            let (host, time) = (target.host.clone(), self.options.time);
            tokio::select! {
                biased;
                () = call.interrupt.thrown() => Output::failure("interrupted by the user"),
                fetched = tokio::time::timeout(time, self.fetch(target)) => fetched.unwrap_or_else(|_| {
                    Output::failure(format!("{host} did not answer in whole within {} s", time.as_secs()))
                }),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::tokens::estimate_bytes;
    use codelet_network::Network;

    #[test]
    fn its_definition_weighs_little() {
        let tool = WebFetch::new(Options::new(Network::default()), fetch::system_lookup());
        let ToolSpec {
            name,
            description,
            parameters,
        } = tool.spec();
        let bytes = name.len() + description.len() + parameters.to_string().len();
        assert!(estimate_bytes(bytes) <= 70, "{}", estimate_bytes(bytes));
    }
}
