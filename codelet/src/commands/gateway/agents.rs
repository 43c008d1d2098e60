//! The table of agents and how their provider's address is configured, one row each.

use codelet_gateway::Provider;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

/// The value of an agent's setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    /// The base URL of a provider, without the API path.
    Origin(Provider),
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

const ANTHROPIC: Holds = Holds::Origin(Provider::Anthropic);
const GEMINI: Holds = Holds::Origin(Provider::Gemini);
const OPENAI_HOST: Holds = Holds::Origin(Provider::Openai);

/// `docs/gateway.md` says which of them were tested, and where the rest comes from.
const AGENTS: &[ClientAgent] = &[
    ClientAgent {
        program: "claude",
        variables: &[("ANTHROPIC_BASE_URL", ANTHROPIC)],
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
        variables: &[("GOOGLE_GEMINI_BASE_URL", GEMINI)],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "qwen",
        variables: &[("OPENAI_BASE_URL", Holds::Openai), ("GOOGLE_GEMINI_BASE_URL", GEMINI)],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "aider",
        variables: &[
            ("ANTHROPIC_API_BASE", ANTHROPIC),
            ("ANTHROPIC_BASE_URL", ANTHROPIC),
            ("OPENAI_API_BASE", Holds::Openai),
        ],
        arguments: &[],
        extension: None,
    },
    ClientAgent {
        program: "goose",
        variables: &[("ANTHROPIC_HOST", ANTHROPIC), ("OPENAI_HOST", OPENAI_HOST)],
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

/// Splits a base URL that the user has set into its variable, the origin and the path.
fn set(name: &'static str, variable: Variables<'_>) -> Option<(&'static str, String, String)> {
    let address = variable(name)?;
    let scheme = address.find("://")? + 3;
    let path = address[scheme..].find('/').map_or(address.len(), |at| scheme + at);
    let (origin, path) = address.split_at(path);
    Some((name, origin.to_owned(), path.trim_end_matches('/').to_owned()))
}

/// Returns a provider's origin: the one that the user has set, whose path the agent sends with each request, or the
/// vendor's own. All variables that the agent is started with are considered: a user who has set one means its keys for
/// that address.
///
/// # Errors
/// If two of them name different addresses, since it is unknown which one the agent would use.
pub(super) fn origin(provider: Provider, variable: Variables<'_>) -> Result<String, String> {
    let names = match provider {
        Provider::Anthropic => [OF_ANTHROPIC, &[]],
        Provider::Openai => [OF_OPENAI, OF_OPENAI_HOST],
        Provider::Gemini => [OF_GEMINI, &[]],
    };
    let mut set = names.into_iter().flatten().filter_map(|name| set(name, variable));
    let Some((name, origin, _)) = set.next() else {
        return Ok(provider.usual_address().to_owned());
    };
    match set.find(|(_, other, _)| *other != origin) {
        None => Ok(origin),
        Some((other, ..)) => Err(format!(
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
        let here = |names: &[&'static str], usual: &str| {
            let set = names.iter().find_map(|name| set(name, variable));
            let path = set.map_or_else(|| usual.to_owned(), |(.., path)| path);
            format!("http://{gateway}{path}")
        };
        let anthropic = here(OF_ANTHROPIC, "");
        let openai = here(OF_OPENAI, "/v1");
        let gemini = here(OF_GEMINI, "");
        match self {
            Holds::Origin(Provider::Anthropic) => anthropic,
            Holds::Origin(Provider::Openai) => here(OF_OPENAI_HOST, ""),
            Holds::Origin(Provider::Gemini) => gemini,
            Holds::Openai => openai,
            Holds::OpencodeSettings => {
                let base = |address: String| serde_json::json!({"options": {"baseURL": address}});
                let settings = serde_json::json!({"provider": {
                    "anthropic": base(anthropic + "/v1"), "openai": base(openai), "google": base(gemini + "/v1beta"),
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
                    ("anthropic", anthropic),
                    ("openai", openai),
                    ("google", gemini + "/v1beta"),
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

    #[test]
    fn the_address_that_the_user_has_set_stays_the_provider_s() {
        // The variables that are set, and the origin of each provider.
        let origins = |set: &[(&str, &str)]| {
            let variable = |name: &str| {
                set.iter()
                    .find(|(set, _)| *set == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            Provider::ALL.map(|provider| origin(provider, &variable).unwrap_or_else(|error| error))
        };
        let usual = Provider::ALL.map(Provider::usual_address);
        assert_eq!(origins(&[]), usual);
        for name in OF_ANTHROPIC {
            assert_eq!(
                origins(&[(name, "http://a.example/x")])[0],
                "http://a.example",
                "{name}"
            );
        }
        for name in OF_OPENAI.iter().chain(OF_OPENAI_HOST) {
            let set = origins(&[(name, "http://a.example/x")]);
            assert_eq!(set, [usual[0], "http://a.example", usual[2]], "{name}");
        }
        assert_eq!(origins(&[(OF_GEMINI[0], "http://a.example")])[2], "http://a.example");
        let same = [
            ("OPENAI_HOST", "http://a.example"),
            ("OPENAI_BASE_URL", "http://a.example/v1"),
        ];
        assert_eq!(origins(&same)[1], "http://a.example");
        let two = [
            ("OPENAI_HOST", "http://a.example"),
            ("OPENAI_API_BASE", "http://b.example/v1"),
        ];
        assert!(origins(&two)[1].starts_with("OPENAI_API_BASE and OPENAI_HOST name different"));
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
    fn the_path_that_the_user_has_set_is_the_agent_s_to_bring() {
        let variable =
            |name: &str| (name == "OPENAI_BASE_URL").then(|| "https://models.example.com/api/v4/".to_owned());
        let told = of(Path::new("qwen")).variables(&variable, here());
        assert_eq!(told[0], ("OPENAI_BASE_URL", "http://127.0.0.1:4114/api/v4".to_owned()));
        let goose = of(Path::new("goose")).variables(&variable, here());
        assert_eq!(goose[1], ("OPENAI_HOST", "http://127.0.0.1:4114".to_owned()));
    }
}
