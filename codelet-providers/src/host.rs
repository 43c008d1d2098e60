//! Clouds that serve models of several makers on the makers' own wires: endpoints, request URLs, and differences in the
//! body.
//!
//! As the vendors documented them in November 2026:
//! - Azure OpenAI: learn.microsoft.com/azure/foundry/openai/api-version-lifecycle (the v1 API, without `api-version`;
//!   the model is the name of a deployment).
//! - Amazon Bedrock: docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html and …/inference-messages-api.html
//!   (`bedrock-runtime`, recommended: `InvokeModelWithResponseStream` for Claude, `/openai/v1` for the others), and
//!   platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock (`anthropic_version` and `anthropic_beta`
//!   in the body).
//! - Google Vertex AI: platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai (`streamRawPredict`), and
//!   cloud.google.com/vertex-ai/generative-ai/docs/learn/locations (hosts of locations).

pub mod aws;
pub(crate) mod events;
pub mod google;
pub(crate) mod names;

use crate::address::{below, given, is_version};
use crate::wire::Wire;
use rig_reqwest::reqwest::Url;
use serde_json::{Map, Value};

/// A cloud that serves models of several makers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Host {
    /// Azure OpenAI: deployments of a resource.
    Azure,
    /// Amazon Bedrock, in one region.
    Bedrock,
    /// Google Vertex AI, in one location of one project.
    Vertex,
}

/// The location and identity for requests to a cloud; everything in a [`Choice`](crate::Choice) about a cloud besides
/// base URL and key.
#[derive(Clone, Default, Debug)]
pub struct Site {
    /// Bedrock's region, or Vertex' location, by default `global`.
    pub region: Option<String>,
    /// Vertex' project.
    pub project: Option<String>,
    /// The keys of an AWS account, which sign requests if no API key is given.
    pub aws: Option<aws::AwsSource>,
    /// Google's Application Default Credentials, which obtain a token if none is given.
    pub google: Option<google::GoogleCredentials>,
    /// The reason for missing credentials: the places searched and the remedy, as a sentence without its period.
    pub missing: Option<String>,
}

/// The default location for Vertex: the models' makers recommend it, and it has no surcharge.
const EVERYWHERE: &str = "global";

/// The version of the Messages API that Bedrock requires in the body.
const BEDROCK_VERSION: &str = "bedrock-2023-05-31";
/// … and Vertex.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// The domains of each cloud's endpoints.
const AZURE_DOMAINS: &[&str] = &[".azure.com", ".azure.us", ".azure.cn"];
const AWS_DOMAINS: &[&str] = &[".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];
const GOOGLE_DOMAINS: &[&str] = &["aiplatform.googleapis.com", ".rep.googleapis.com"];

impl Host {
    /// Returns whether an address belongs to the cloud: it requires the cloud's credentials, which are useless
    /// elsewhere.
    pub fn is_at(self, address: &str) -> bool {
        let domains = match self {
            Host::Azure => AZURE_DOMAINS,
            Host::Bedrock => AWS_DOMAINS,
            Host::Vertex => GOOGLE_DOMAINS,
        };
        let url = Url::parse(address.trim()).ok();
        let host = url.as_ref().and_then(Url::host_str);
        host.is_some_and(|host| domains.iter().any(|domain| host.ends_with(domain)))
    }

    /// Returns the wire of a model, by its name; for Azure the vendor's.
    pub(crate) fn wire(self, vendor: Wire, model: &str) -> Wire {
        match self {
            Host::Azure => vendor,
            Host::Bedrock => names::bedrock_wire(model),
            Host::Vertex if model.starts_with("claude") => Wire::Anthropic,
            // `meta/llama-…`: models of other makers use OpenAI's format.
            Host::Vertex if model.contains('/') => Wire::Chat,
            Host::Vertex => Wire::Gemini,
        }
    }

    /// Returns the cloud's own base URL.
    ///
    /// # Errors
    /// If a setting for it is missing; the sentence says which.
    pub fn address(self, site: &Site) -> Result<String, String> {
        let region = |variable: &str| {
            site.region
                .as_deref()
                .map_or(Ok(None), |region| match is_label(region) {
                    true => Ok(Some(region)),
                    false => Err(format!("{region:?} is not a valid region: check ${variable}")),
                })
        };
        match self {
            Host::Azure => Err(
                "its address is not known: set $AZURE_OPENAI_ENDPOINT to the resource's, such as \
                 https://RESOURCE.openai.azure.com"
                    .to_owned(),
            ),
            Host::Bedrock => match region("AWS_REGION")? {
                None => Err(
                    "its region is not known: set $AWS_REGION, such as us-east-1, or `region` in the profile"
                        .to_owned(),
                ),
                Some(region) => Ok(format!("https://bedrock-runtime.{region}.{}", aws_domain(region))),
            },
            Host::Vertex => Ok(match region("CLOUD_ML_REGION")?.unwrap_or(EVERYWHERE) {
                EVERYWHERE => "https://aiplatform.googleapis.com".to_owned(),
                several @ ("us" | "eu") => format!("https://aiplatform.{several}.rep.googleapis.com"),
                region => format!("https://{region}-aiplatform.googleapis.com"),
            }),
        }
    }

    /// Returns the base URL: as configured, with the common beginning of all paths.
    ///
    /// # Errors
    /// If the text is no address of the cloud; the sentence does not repeat it.
    pub(crate) fn base(self, text: &str) -> Result<Url, String> {
        let (mut url, path) = given(text)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let whole: Vec<&str> = match (self, path.as_slice()) {
            (Host::Azure, path) if path.contains(&"deployments") => {
                return Err(
                    "it is the address of one deployment in the dated API: use the resource's address, such as \
                     https://RESOURCE.openai.azure.com, and the deployment's name as the model"
                        .to_owned(),
                );
            }
            (Host::Azure, []) => vec!["openai", "v1"],
            (Host::Azure, [path @ .., "openai"]) => [path, &["openai", "v1"]].concat(),
            (Host::Azure, [path @ .., "responses"] | [path @ .., "chat", "completions"]) => path.to_vec(),
            (Host::Vertex, path) if !path.last().is_some_and(|last| is_version(last)) => [path, &["v1"]].concat(),
            (_, path) => path.to_vec(),
        };
        url.set_path(&whole.join("/"));
        if self == Host::Azure {
            // The v1 API has no dated versions, and rejects a URL copied with one.
            let kept: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            url.set_query(None);
            for (name, value) in kept.iter().filter(|(name, _)| name != "api-version") {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        Ok(url)
    }

    /// Returns the URL of the streaming endpoint.
    ///
    /// # Errors
    /// If a setting for it is missing; the sentence says which.
    pub(crate) fn endpoint(self, base: &Url, wire: Wire, model: &str, site: &Site) -> Result<Url, String> {
        let openai: &[&str] = match wire {
            Wire::Responses => &["responses"],
            _ => &["chat", "completions"],
        };
        Ok(match (self, wire) {
            (Host::Azure, _) => below(base, openai),
            (Host::Bedrock, Wire::Anthropic | Wire::Gemini) => {
                below(base, &["model", model, "invoke-with-response-stream"])
            }
            (Host::Bedrock, _) => below(base, &[&["openai", "v1"], openai].concat()),
            (Host::Vertex, wire) => {
                let project = site.project.as_deref().ok_or(
                    "its project is not known: set $GOOGLE_CLOUD_PROJECT, or run `gcloud auth application-default \
                     set-quota-project PROJECT`",
                )?;
                let location = site.region.as_deref().unwrap_or(EVERYWHERE);
                let place = below(base, &["projects", project, "locations", location]);
                match wire {
                    Wire::Anthropic => below(
                        &place,
                        &[
                            "publishers",
                            "anthropic",
                            "models",
                            &format!("{model}:streamRawPredict"),
                        ],
                    ),
                    Wire::Gemini => {
                        let method = format!("{model}:streamGenerateContent");
                        let mut url = below(&place, &["publishers", "google", "models", &method]);
                        url.query_pairs_mut().append_pair("alt", "sse");
                        url
                    }
                    Wire::Responses | Wire::Chat => below(&place, &[&["endpoints", "openapi"], openai].concat()),
                }
            }
        })
    }

    /// Returns whether replies use AWS event framing instead of server-sent events.
    pub(crate) fn frames_events(self, wire: Wire) -> bool {
        (self, wire) == (Host::Bedrock, Wire::Anthropic)
    }

    /// Adapts the maker's body to the cloud: the model is in the URL, and the version in the body.
    pub(crate) fn rewrite(self, wire: Wire, body: &mut Map<String, Value>) {
        let version = match (self, wire) {
            (Host::Bedrock, Wire::Anthropic) => {
                body.shift_remove("stream");
                BEDROCK_VERSION
            }
            (Host::Vertex, Wire::Anthropic) => VERTEX_VERSION,
            _ => return,
        };
        body.shift_remove("model");
        body.shift_insert(0, "anthropic_version".to_owned(), Value::from(version));
    }
}

/// Returns whether a name is a valid region or location: it becomes part of a host name.
fn is_label(name: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= 40
        && name.chars().all(is_inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn aws_domain(region: &str) -> &'static str {
    match region.starts_with("cn-") {
        true => "amazonaws.com.cn",
        false => "amazonaws.com",
    }
}

#[cfg(test)]
mod tests;
