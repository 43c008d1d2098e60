//! The table of agents and how their provider's address is configured, one row each.

use codelet_gateway::Provider;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

/// The value of an agent's setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    /// The base URL without the API path.
    Origin,
    /// The same with the path at which OpenAI's APIs begin.
    Openai,
    /// OpenCode's settings as JSON.
    OpencodeSettings,
    /// An extension for pi, in JavaScript.
    PiExtension,
}

/// An agent.
pub(super) struct ClientAgent {
    program: &'static str,
    variables: &'static [(&'static str, Holds)],
    /// Arguments before the user's own; `ADDRESS` is replaced by the gateway's address.
    arguments: &'static [&'static str],
    /// The option for a settings file, if the agent can be configured in no other way.
    extension: Option<&'static str>,
}

/// `docs/gateway.md` says which of them were tested, and where the rest comes from.
const AGENTS: &[ClientAgent] = &[
    ClientAgent {
        program: "claude",
        variables: &[("ANTHROPIC_BASE_URL", Holds::Origin)],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "codex",
        variables: &[("OPENAI_BASE_URL", Holds::Openai)],
        arguments: &["-c", "openai_base_url=\"ADDRESS\""],
        extension: None,
    },
    ClientAgent {
        program: "opencode",
        variables: &[("OPENCODE_CONFIG_CONTENT", Holds::OpencodeSettings)],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "gemini",
        variables: &[("GOOGLE_GEMINI_BASE_URL", Holds::Origin)],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "qwen",
        variables: &[
            ("OPENAI_BASE_URL", Holds::Openai),
            ("GOOGLE_GEMINI_BASE_URL", Holds::Origin),
        ],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "aider",
        variables: &[
            ("ANTHROPIC_API_BASE", Holds::Origin),
            ("ANTHROPIC_BASE_URL", Holds::Origin),
            ("OPENAI_API_BASE", Holds::Openai),
        ],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "goose",
        variables: &[("ANTHROPIC_HOST", Holds::Origin), ("OPENAI_HOST", Holds::Origin)],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "pi",
        variables: &[],
        arguments: &[],
        extension: Some("--extension"),
    },
];

/// An unknown agent is configured in all common ways.
const UNKNOWN: ClientAgent = ClientAgent {
    program: "",
    variables: &[
        ("ANTHROPIC_BASE_URL", Holds::Origin),
        ("ANTHROPIC_API_BASE", Holds::Origin),
        ("ANTHROPIC_HOST", Holds::Origin),
        ("OPENAI_BASE_URL", Holds::Openai),
        ("OPENAI_API_BASE", Holds::Openai),
        ("OPENAI_HOST", Holds::Origin),
        ("GOOGLE_GEMINI_BASE_URL", Holds::Origin),
    ],
    arguments: &[],
    extension: None,
};

/// Returns the agent for a program's name.
pub(super) fn of(program: &Path) -> &'static ClientAgent {
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    AGENTS.iter().find(|agent| agent.program == name).unwrap_or(&UNKNOWN)
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables from which agents read Anthropic's base URL.
const OF_ANTHROPIC: &[&str] = &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_HOST"];
/// The variables for OpenAI, with and without the path at which its APIs begin.
const OF_OPENAI: &[&str] = &["OPENAI_BASE_URL", "OPENAI_API_BASE"];
const OF_OPENAI_HOST: &[&str] = &["OPENAI_HOST"];
/// The variables for Gemini.
const OF_GEMINI: &[&str] = &["GOOGLE_GEMINI_BASE_URL"];

/// Returns a variable's base URL, if the user has set one.
fn set(name: &'static str, variable: Variables<'_>) -> Option<(&'static str, String)> {
    Some((name, variable(name)?.trim().trim_end_matches('/').to_owned()))
}

/// Returns whether a base URL has a path after the host.
fn has_path(address: &str) -> bool {
    address.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
}

/// The address of a provider.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Address {
    /// The URL, as it is written.
    pub url: String,
    /// The variable that holds it; none for the vendor's own.
    pub variable: Option<&'static str>,
    /// Its path stands in place of the `/v1` of requests.
    pub replaces_version: bool,
}

/// Returns a provider's address: the one that the user has set, or the vendor's own. All variables that the agent is
/// started with are considered: a user who has set one means its keys for that address.
///
/// # Errors
/// If two of them name different addresses, since it is unknown which one the agent would use.
pub(super) fn address(provider: Provider, variable: Variables<'_>) -> Result<Address, String> {
    let names = match provider {
        Provider::Anthropic => [OF_ANTHROPIC, &[]],
        Provider::Openai => [OF_OPENAI, OF_OPENAI_HOST],
        Provider::Gemini => [OF_GEMINI, &[]],
    };
    let mut set = names.into_iter().flatten().filter_map(|name| set(name, variable));
    let Some((name, url)) = set.next() else {
        return Ok(Address {
            url: provider.usual_address().to_owned(),
            variable: None,
            replaces_version: false,
        });
    };
    fn unversioned(url: &str) -> &str {
        url.strip_suffix("/v1").unwrap_or(url)
    }
    match set.find(|(_, other)| unversioned(other) != unversioned(&url)) {
        None => Ok(Address {
            replaces_version: OF_OPENAI.contains(&name) && has_path(&url),
            url,
            variable: Some(name),
        }),
        Some((other, _)) => Err(format!(
            "{name} and {other} name different addresses; choose one with --upstream {}=ADDRESS",
            provider.name()
        )),
    }
}

impl ClientAgent {
    /// Returns the agent's environment variables.
    pub fn variables(&self, variable: Variables<'_>, gateway: SocketAddr) -> Vec<(&'static str, String)> {
        let value = |(name, holds): &(&'static str, Holds)| (*name, holds.value(variable, gateway));
        self.variables.iter().map(value).collect()
    }

    /// Returns the agent's arguments, to be placed before the user's own.
    pub fn arguments(&self, variable: Variables<'_>, gateway: SocketAddr) -> Vec<String> {
        let address = Holds::Openai.value(variable, gateway);
        let arguments = self.arguments.iter();
        arguments
            .map(|argument| argument.replace("ADDRESS", &address))
            .collect()
    }

    /// Writes the agent's settings to a file, which is removed on drop, and returns it with its option.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn extension(&self, variable: Variables<'_>, gateway: SocketAddr) -> std::io::Result<Option<Extension>> {
        let Some(option) = self.extension else { return Ok(None) };
        let mut file = tempfile::Builder::new().prefix("codelet-").suffix(".js").tempfile()?;
        file.write_all(Holds::PiExtension.value(variable, gateway).as_bytes())?;
        Ok(Some(Extension { option, file }))
    }
}

/// Settings in a file.
pub(super) struct Extension {
    /// The option for the file.
    pub option: &'static str,
    /// The file, removed on drop.
    pub file: tempfile::NamedTempFile,
}

impl Holds {
    fn value(self, variable: Variables<'_>, gateway: SocketAddr) -> String {
        let origin = format!("http://{gateway}");
        // What the user's base URL has in place of the usual path, the gateway puts there; without a path, the agent sends none.
        let set = OF_OPENAI.iter().find_map(|name| set(name, variable));
        let openai = match set.is_none_or(|(_, url)| has_path(&url)) {
            true => format!("{origin}/v1"),
            false => origin.clone(),
        };
        match self {
            Holds::Origin => origin,
            Holds::Openai => openai,
            Holds::OpencodeSettings => {
                let base = |address: String| serde_json::json!({"options": {"baseURL": address}});
                let settings = serde_json::json!({"provider": {
                    "anthropic": base(format!("{origin}/v1")), "openai": base(openai), "google": base(origin + "/v1beta"),
                }});
                settings.to_string()
            }
            Holds::PiExtension => {
                let set = |(provider, address): (&str, String)| {
                    format!(
                        "  pi.registerProvider(\"{provider}\", {});\n",
                        serde_json::json!({"baseUrl": address})
                    )
                };
                let providers = [
                    ("anthropic", origin.clone()),
                    ("openai", openai),
                    ("google", origin + "/v1beta"),
                ];
                let set: String = providers.into_iter().map(set).collect();
                format!("export default function (pi) {{\n{set}}}\n")
            }
        }
    }
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
            "http://127.0.0.1:4114", "http://127.0.0.1:4114/v1", "http://127.0.0.1:4114/v1beta",
        ] {
            assert!(
                extension.contains(&format!("{{\"baseUrl\":\"{address}\"}}")),
                "{extension}"
            );
        }
        let codex = of(Path::new("codex")).arguments(&|_| None, here());
        assert_eq!(codex, ["-c", "openai_base_url=\"http://127.0.0.1:4114/v1\""]);
    }

    fn variables<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            set.iter()
                .find(|(set, _)| *set == name)
                .map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn the_address_that_the_user_has_set_stays_the_provider_s() {
        // The variables that are set, and the address of each provider.
        let addresses = |set: &[(&str, &str)]| {
            Provider::ALL.map(|provider| match address(provider, &variables(set)) {
                Ok(address) if address.replaces_version => format!("{} for /v1", address.url),
                Ok(address) => address.url,
                Err(error) => error,
            })
        };
        let usual = Provider::ALL.map(Provider::usual_address);
        assert_eq!(addresses(&[]), usual);
        for name in OF_ANTHROPIC.iter().chain(OF_OPENAI_HOST).chain(OF_GEMINI) {
            let mut set = addresses(&[(name, "http://a.example/x/")]).to_vec();
            set.retain(|address| !usual.contains(&address.as_str()));
            assert_eq!(set, ["http://a.example/x"], "{name}");
        }
        for name in OF_OPENAI {
            let set = addresses(&[(name, "http://a.example/x")]);
            assert_eq!(set, [usual[0], "http://a.example/x for /v1", usual[2]], "{name}");
            assert_eq!(addresses(&[(name, "http://a.example")])[1], "http://a.example");
        }
        let same = [
            ("OPENAI_HOST", "http://a.example/x/"),
            ("OPENAI_BASE_URL", "http://a.example/x/v1"),
        ];
        assert_eq!(addresses(&same)[1], "http://a.example/x/v1 for /v1");
        for other in ["http://b.example/v1", "http://a.example/x/v1", "a.example"] {
            let two = [("OPENAI_HOST", "http://a.example"), ("OPENAI_API_BASE", other)];
            assert!(addresses(&two)[1].starts_with("OPENAI_API_BASE and OPENAI_HOST name different"));
        }
    }

    /// An agent is started with its provider's variable: a user who has set it means its keys for that address.
    #[test]
    fn no_variable_is_replaced_whose_address_is_not_known() {
        let known: Vec<&str> = [OF_ANTHROPIC, OF_OPENAI, OF_OPENAI_HOST, OF_GEMINI].concat();
        for agent in AGENTS.iter().chain([&UNKNOWN]) {
            for (name, holds) in agent.variables {
                assert!(known.contains(name) || *holds == Holds::OpencodeSettings, "{name}");
            }
        }
    }

    #[test]
    fn the_path_that_the_user_has_set_is_the_gateway_s_to_bring() {
        let told = |base| of(Path::new("qwen")).variables(&variables(&[("OPENAI_BASE_URL", base)]), here())[0].clone();
        let versioned = ("OPENAI_BASE_URL", "http://127.0.0.1:4114/v1".to_owned());
        assert_eq!(told("https://models.example.com/api/v4/"), versioned);
        assert_eq!(
            told("https://models.example.com/"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:4114".to_owned())
        );
    }
}
