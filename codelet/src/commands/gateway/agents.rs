//! How agents are told where their provider is: a row for each.

use codelet_gateway::Provider;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

/// What a setting of an agent's holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    /// The address of a provider, without the path of its interface.
    Origin(Provider),
    /// The same with the path at which OpenAI's interfaces begin.
    Openai,
    /// OpenCode's settings, as JSON.
    OpencodeSettings,
    /// An extension of pi's, as JavaScript.
    PiExtension,
}

/// An agent.
pub(super) struct Agent {
    program: &'static str,
    variables: &'static [(&'static str, Holds)],
    /// An option and its value, `ADDRESS` in it, that stand before the user's own.
    arguments: &'static [&'static str],
    /// The option that takes a file of settings, where there is no other way.
    extension: Option<&'static str>,
}

const ANTHROPIC: Holds = Holds::Origin(Provider::Anthropic);
const GEMINI: Holds = Holds::Origin(Provider::Gemini);
const OPENAI_HOST: Holds = Holds::Origin(Provider::Openai);

/// Which of them were tried, and where the rest is from: `docs/gateway.md`.
const AGENTS: &[Agent] = &[
    Agent {
        program: "claude",
        variables: &[("ANTHROPIC_BASE_URL", ANTHROPIC)],
        arguments: &[],
        extension: None,
    },
    Agent {
        program: "codex",
        variables: &[("OPENAI_BASE_URL", Holds::Openai)],
        arguments: &["-c", "openai_base_url=\"ADDRESS\""],
        extension: None,
    },
    Agent {
        program: "opencode",
        variables: &[("OPENCODE_CONFIG_CONTENT", Holds::OpencodeSettings)],
        arguments: &[],
        extension: None,
    },
    Agent {
        program: "gemini",
        variables: &[("GOOGLE_GEMINI_BASE_URL", GEMINI)],
        arguments: &[],
        extension: None,
    },
    Agent {
        program: "qwen",
        variables: &[("OPENAI_BASE_URL", Holds::Openai), ("GOOGLE_GEMINI_BASE_URL", GEMINI)],
        arguments: &[],
        extension: None,
    },
    Agent {
        program: "aider",
        variables: &[
            ("ANTHROPIC_API_BASE", ANTHROPIC),
            ("ANTHROPIC_BASE_URL", ANTHROPIC),
            ("OPENAI_API_BASE", Holds::Openai),
        ],
        arguments: &[],
        extension: None,
    },
    Agent {
        program: "goose",
        variables: &[("ANTHROPIC_HOST", ANTHROPIC), ("OPENAI_HOST", OPENAI_HOST)],
        arguments: &[],
        extension: None,
    },
    Agent {
        program: "pi",
        variables: &[],
        arguments: &[],
        extension: Some("--extension"),
    },
];

/// One that nobody knows is told in all ways that are common.
const UNKNOWN: Agent = Agent {
    program: "",
    variables: &[
        ("ANTHROPIC_BASE_URL", ANTHROPIC),
        ("ANTHROPIC_API_BASE", ANTHROPIC),
        ("ANTHROPIC_HOST", ANTHROPIC),
        ("OPENAI_BASE_URL", Holds::Openai),
        ("OPENAI_API_BASE", Holds::Openai),
        ("OPENAI_HOST", OPENAI_HOST),
        ("GOOGLE_GEMINI_BASE_URL", GEMINI),
    ],
    arguments: &[],
    extension: None,
};

/// The agent that a program is, by its name.
pub(super) fn of(program: &Path) -> &'static Agent {
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    AGENTS.iter().find(|agent| agent.program == name).unwrap_or(&UNKNOWN)
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables in which the user may have named a provider's address.
fn names(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::Anthropic => &["ANTHROPIC_BASE_URL"],
        Provider::Openai => &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        Provider::Gemini => &["GOOGLE_GEMINI_BASE_URL"],
    }
}

/// The address that the user has set for a provider, taken apart: up to its path, and the path.
fn set(provider: Provider, variable: Variables<'_>) -> Option<(String, String)> {
    let address = names(provider).iter().find_map(|name| variable(name))?;
    let scheme = address.find("://")? + 3;
    let path = address[scheme..].find('/').map_or(address.len(), |at| scheme + at);
    let (origin, path) = address.split_at(path);
    Some((origin.to_owned(), path.trim_end_matches('/').to_owned()))
}

/// Where a provider is: at the address that the user has set, whose path the agent brings with each request, or at the vendor's own.
pub(super) fn origin(provider: Provider, variable: Variables<'_>) -> String {
    set(provider, variable).map_or_else(|| provider.usual_address().to_owned(), |(origin, _)| origin)
}

impl Agent {
    /// The variables that it is started with.
    pub fn variables(&self, variable: Variables<'_>, gateway: SocketAddr) -> Vec<(&'static str, String)> {
        let value = |(name, holds): &(&'static str, Holds)| (*name, holds.value(variable, gateway));
        self.variables.iter().map(value).collect()
    }

    /// The arguments that it is started with, before the user's own.
    pub fn arguments(&self, variable: Variables<'_>, gateway: SocketAddr) -> Vec<String> {
        let address = Holds::Openai.value(variable, gateway);
        let arguments = self.arguments.iter();
        arguments
            .map(|argument| argument.replace("ADDRESS", &address))
            .collect()
    }

    /// The settings that it is started with, in a file that is there until this is dropped, and the option that takes it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn extension(&self, variable: Variables<'_>, gateway: SocketAddr) -> std::io::Result<Option<Extension>> {
        let Some(option) = self.extension else { return Ok(None) };
        let mut file = tempfile::Builder::new().prefix("codelet-").suffix(".js").tempfile()?;
        file.write_all(Holds::PiExtension.value(variable, gateway).as_bytes())?;
        Ok(Some(Extension { option, file }))
    }
}

/// Settings in a file.
pub(super) struct Extension {
    /// The option that takes it.
    pub option: &'static str,
    /// The file, gone when this is dropped.
    pub file: tempfile::NamedTempFile,
}

impl Holds {
    fn value(self, variable: Variables<'_>, gateway: SocketAddr) -> String {
        let here = |provider, usual: &str| {
            let path = set(provider, variable).map_or_else(|| usual.to_owned(), |(_, path)| path);
            format!("http://{gateway}{path}")
        };
        match self {
            Holds::Origin(Provider::Openai) => format!("http://{gateway}"),
            Holds::Origin(provider) => here(provider, ""),
            Holds::Openai => here(Provider::Openai, "/v1"),
            Holds::OpencodeSettings => {
                let base = |address: String| serde_json::json!({"options": {"baseURL": address}});
                let [anthropic, openai, google] = versioned(&here);
                let settings = serde_json::json!({"provider": {
                    "anthropic": base(anthropic), "openai": base(openai), "google": base(google),
                }});
                settings.to_string()
            }
            Holds::PiExtension => {
                let [_, openai, google] = versioned(&here);
                let set = |(provider, address): (&str, String)| {
                    format!(
                        "  pi.registerProvider(\"{provider}\", {});\n",
                        serde_json::json!({"baseUrl": address})
                    )
                };
                let providers = [
                    ("anthropic", here(Provider::Anthropic, "")),
                    ("openai", openai),
                    ("google", google),
                ];
                let set: String = providers.into_iter().map(set).collect();
                format!("export default function (pi) {{\n{set}}}\n")
            }
        }
    }
}

/// The addresses of the three providers with the version of their interface in the path.
fn versioned(here: &dyn Fn(Provider, &str) -> String) -> [String; 3] {
    [
        here(Provider::Anthropic, "") + "/v1",
        here(Provider::Openai, "/v1"),
        here(Provider::Gemini, "") + "/v1beta",
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 4114))
    }

    #[test]
    fn an_agent_is_told_in_its_own_way_and_an_unknown_one_in_all() {
        let told = |program: &str| of(Path::new(program)).variables(&|_| None, here());
        assert_eq!(
            told("/usr/bin/claude"),
            [("ANTHROPIC_BASE_URL", "http://127.0.0.1:4114".to_owned())]
        );
        assert_eq!(
            told("gemini"),
            [("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:4114".to_owned())]
        );
        assert!(
            told("opencode")[0]
                .1
                .contains("\"baseURL\":\"http://127.0.0.1:4114/v1beta\"")
        );
        assert!(told("my-agent").len() > 5);
        let pi = of(Path::new("pi")).extension(&|_| None, here()).unwrap().unwrap();
        let extension = std::fs::read_to_string(pi.file.path()).unwrap();
        for address in [
            "http://127.0.0.1:4114",
            "http://127.0.0.1:4114/v1",
            "http://127.0.0.1:4114/v1beta",
        ] {
            assert!(
                extension.contains(&format!("{{\"baseUrl\":\"{address}\"}}")),
                "{extension}"
            );
        }
        let codex = of(Path::new("codex")).arguments(&|_| None, here());
        assert_eq!(codex, ["-c", "openai_base_url=\"http://127.0.0.1:4114/v1\""]);
    }

    #[test]
    fn the_address_that_the_user_has_set_stays_the_provider_s() {
        let variable =
            |name: &str| (name == "OPENAI_BASE_URL").then(|| "https://models.example.com/api/v4/".to_owned());
        assert_eq!(origin(Provider::Openai, &variable), "https://models.example.com");
        assert_eq!(origin(Provider::Anthropic, &variable), "https://api.anthropic.com");
        let told = of(Path::new("qwen")).variables(&variable, here());
        assert_eq!(told[0], ("OPENAI_BASE_URL", "http://127.0.0.1:4114/api/v4".to_owned()));
    }
}
