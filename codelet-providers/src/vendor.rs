//! Vendors: base URLs, wires and key variables.

use crate::host::Host;
use crate::wire::Wire;

/// A vendor, or a kind of server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vendor {
    /// The part before the slash in `vendor/model`.
    pub name: &'static str,
    /// The default base URL.
    pub base_url: &'static str,
    /// The wire.
    pub wire: Wire,
    /// The environment variables for its key, the most common first; empty if it needs none.
    pub keys: &'static [&'static str],
    /// The environment variables for a token that is sent instead of the key, as gateways issue them.
    pub tokens: &'static [&'static str],
    /// The environment variable for another base URL, for this vendor's models only.
    pub base_url_variable: Option<&'static str>,
    /// The default model; empty if the available models are unknown.
    pub usual_model: &'static str,
    /// True if it runs on the user's own machine: slow to respond, with a context window that it reports itself.
    pub is_local: bool,
    /// The cloud, if it serves models of several makers and its base URL and credentials must be determined first.
    pub host: Option<Host>,
}

/// In the order in which they are tried if no model is configured.
const VENDORS: &[Vendor] = &[
    Vendor {
        tokens: &["ANTHROPIC_AUTH_TOKEN"],
        base_url_variable: Some("ANTHROPIC_BASE_URL"),
        ..cloud(
            "anthropic",
            "https://api.anthropic.com",
            Wire::Anthropic,
            &["ANTHROPIC_API_KEY"],
            "claude-sonnet-5-5",
        )
    },
    Vendor {
        base_url_variable: Some("OPENAI_BASE_URL"),
        ..cloud(
            "openai",
            "https://api.openai.com/v1",
            Wire::Responses,
            &["OPENAI_API_KEY"],
            "gpt-6.2-sol",
        )
    },
    Vendor {
        base_url_variable: Some("OPENAI_BASE_URL"),
        ..cloud(
            "openai-chat",
            "https://api.openai.com/v1",
            Wire::Chat,
            &["OPENAI_API_KEY"],
            "gpt-6.2-sol",
        )
    },
    cloud(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        Wire::Gemini,
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        "gemini-3.8-flash",
    ),
    cloud(
        "openrouter",
        "https://openrouter.ai/api/v1",
        Wire::Chat,
        &["OPENROUTER_API_KEY"],
        "anthropic/claude-sonnet-5.5",
    ),
    cloud(
        "deepseek",
        "https://api.deepseek.com/v1",
        Wire::Chat,
        &["DEEPSEEK_API_KEY"],
        "deepseek-v4-pro",
    ),
    Vendor {
        tokens: &["AZURE_OPENAI_AD_TOKEN"],
        base_url_variable: Some("AZURE_OPENAI_ENDPOINT"),
        ..hosted("azure", Host::Azure, Wire::Responses, &["AZURE_OPENAI_API_KEY"])
    },
    Vendor {
        tokens: &["AZURE_OPENAI_AD_TOKEN"],
        base_url_variable: Some("AZURE_OPENAI_ENDPOINT"),
        ..hosted("azure-chat", Host::Azure, Wire::Chat, &["AZURE_OPENAI_API_KEY"])
    },
    Vendor {
        base_url_variable: Some("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        ..hosted("bedrock", Host::Bedrock, Wire::Anthropic, &["AWS_BEARER_TOKEN_BEDROCK"])
    },
    Vendor {
        base_url_variable: Some("GOOGLE_VERTEX_BASE_URL"),
        ..hosted("vertex", Host::Vertex, Wire::Gemini, &["CLOUDSDK_AUTH_ACCESS_TOKEN"])
    },
    local("ollama", "http://127.0.0.1:11434/v1"),
    local("llamacpp", "http://127.0.0.1:8080/v1"),
];

impl Vendor {
    /// Returns whether this base URL is the vendor's own.
    pub fn is_at(&self, address: &str) -> bool {
        if let Some(host) = self.host {
            return host.is_at(address);
        }
        let base = |address| self.wire.base(address).ok();
        base(address).is_some_and(|given| Some(given) == base(self.base_url))
    }
}

/// Returns all known vendors.
pub fn vendors() -> impl Iterator<Item = &'static Vendor> {
    VENDORS.iter()
}

/// Returns the vendor with this name; `google` and `local` are aliases of `gemini` and `llamacpp`.
pub fn find(name: &str) -> Option<&'static Vendor> {
    let name = match name {
        "google" => "gemini",
        "local" => "llamacpp",
        name => name,
    };
    VENDORS.iter().find(|vendor| vendor.name == name)
}

const fn cloud(
    name: &'static str,
    base_url: &'static str,
    wire: Wire,
    keys: &'static [&'static str],
    usual_model: &'static str,
) -> Vendor {
    Vendor {
        name,
        base_url,
        wire,
        keys,
        tokens: &[],
        base_url_variable: None,
        usual_model,
        is_local: false,
        host: None,
    }
}

/// Not used merely because its key is set: only the owner of an account knows its models and locations.
const fn hosted(name: &'static str, host: Host, wire: Wire, keys: &'static [&'static str]) -> Vendor {
    Vendor {
        host: Some(host),
        ..cloud(name, "", wire, keys, "")
    }
}

const fn local(name: &'static str, base_url: &'static str) -> Vendor {
    Vendor {
        name,
        base_url,
        wire: Wire::Chat,
        keys: &[],
        tokens: &[],
        base_url_variable: None,
        usual_model: "",
        is_local: true,
        host: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_model_of_each_vendor_is_listed_with_its_price() {
        for vendor in vendors().filter(|vendor| !vendor.usual_model.is_empty() && vendor.name != "openai-chat") {
            let known = crate::catalogue::find(vendor.name, vendor.usual_model);
            assert!(known.is_some_and(|known| known.price.is_some()), "{}", vendor.name);
        }
    }

    #[test]
    fn an_address_is_the_vendors_own_however_it_is_written() {
        for (name, address, is) in [
            ("anthropic", "https://api.anthropic.com/v1/", true),
            ("openai", "https://api.openai.com", true),
            ("openai", "https://eu.api.openai.com/v1", false),
            ("anthropic", "no address", false),
        ] {
            assert_eq!(find(name).unwrap().is_at(address), is, "{name} {address}");
        }
    }
}
