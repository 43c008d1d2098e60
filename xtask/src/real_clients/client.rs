//! The clients: their registry, their provider settings, and how they are given a task.

use codelet_testkit::server::Wire;
use std::path::{Path, PathBuf};

/// A loop with one tool, as in the vendor's documentation.
const ANTHROPIC: &str = include_str!("../../real-clients/anthropic.py");
/// The same for both of OpenAI's interfaces.
const OPENAI: &str = include_str!("../../real-clients/openai.py");

/// pi has no variable for the address; an extension sets it.
const PI_BASE: &str =
    "export default (pi) => pi.registerProvider(\"anthropic\", { baseUrl: process.env.ANTHROPIC_BASE_URL });";

/// The source that a client is installed from.
#[derive(Clone, Copy)]
pub enum Registry {
    /// npm, with the package that contains the program.
    Npm(&'static str),
    /// The Python index, with the package that contains the program.
    Pip(&'static str),
    /// The Python index; one of our scripts that uses the package, and its argument.
    Script(&'static str, &'static str, &'static str),
}

/// Environment variables by name.
pub type Variables = Vec<(&'static str, String)>;

/// A client under test.
pub struct Client {
    /// Its name.
    pub name: &'static str,
    /// The pinned version.
    pub version: &'static str,
    /// The registry.
    pub registry: Registry,
    /// Its wire protocol.
    pub wire: Wire,
    /// The arguments with which it does a task and exits.
    pub arguments: fn(&Task) -> Vec<String>,
    /// Its environment variables: key, directories, and no telemetry.
    pub variables: fn(&Task) -> Variables,
    /// Configuration files, by their path in its home.
    pub files: fn(&Task) -> Vec<(&'static str, String)>,
    /// The arguments and variables for the provider's address, without the gateway.
    pub direct: fn(&Task, &str) -> (Vec<String>, Variables),
}

/// A client's task and its directories.
pub struct Task {
    /// The prompt.
    pub prompt: String,
    /// The number of files.
    pub steps: usize,
    /// Its home directory.
    pub home: PathBuf,
    /// The directory of the files.
    pub work: PathBuf,
}

impl Task {
    fn home(&self, name: &str) -> String {
        self.home.join(name).display().to_string()
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn pairs(all: &[(&'static str, &str)]) -> Variables {
    all.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

fn no_files(_: &Task) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// All clients.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude",
        version: "2.1.332",
        registry: Registry::Npm("@anthropic-ai/claude-code"),
        wire: Wire::Anthropic,
        arguments: |task| {
            let mut arguments = owned(&["--model", "claude-sonnet-4-5", "--allowedTools", "Read,Bash", "-p"]);
            arguments.push(task.prompt.clone());
            arguments
        },
        variables: |_| {
            pairs(&[
                ("ANTHROPIC_API_KEY", "sk-ant-scripted"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_TELEMETRY", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
            ])
        },
        files: no_files,
        direct: |_, address| (Vec::new(), pairs(&[("ANTHROPIC_BASE_URL", address)])),
    },
    Client {
        name: "codex",
        version: "0.171.0",
        registry: Registry::Npm("@openai/codex"),
        wire: Wire::Responses,
        arguments: |task| {
            let mut arguments = owned(&[
                "-c",
                "analytics.enabled=false",
                "-c",
                "check_for_update_on_startup=false",
                "-m",
                "gpt-5.4",
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
            ]);
            arguments.push(task.prompt.clone());
            arguments
        },
        variables: |task| {
            let mut variables = pairs(&[("CODEX_API_KEY", "sk-scripted"), ("OPENAI_API_KEY", "sk-scripted")]);
            variables.push(("CODEX_HOME", task.home(".codex")));
            variables
        },
        files: |_| vec![(".codex/config.toml", String::new())],
        direct: |_, address| {
            (
                vec!["-c".to_owned(), format!("openai_base_url=\"{address}/v1\"")],
                Vec::new(),
            )
        },
    },
    Client {
        name: "anthropic-sdk",
        version: "2.14.0",
        registry: Registry::Script("anthropic", ANTHROPIC, "messages"),
        wire: Wire::Anthropic,
        arguments: |task| vec![task.prompt.clone()],
        variables: |_| pairs(&[("ANTHROPIC_API_KEY", "sk-ant-scripted")]),
        files: no_files,
        direct: |_, address| (Vec::new(), pairs(&[("ANTHROPIC_BASE_URL", address)])),
    },
    Client {
        name: "openai-sdk chat",
        version: "3.57.0",
        registry: Registry::Script("openai", OPENAI, "chat"),
        wire: Wire::Chat,
        arguments: |task| vec![task.prompt.clone()],
        variables: |_| pairs(&[("OPENAI_API_KEY", "sk-scripted")]),
        files: no_files,
        direct: |_, address| (Vec::new(), vec![("OPENAI_BASE_URL", format!("{address}/v1"))]),
    },
    Client {
        name: "openai-sdk responses",
        version: "3.57.0",
        registry: Registry::Script("openai", OPENAI, "responses"),
        wire: Wire::Responses,
        arguments: |task| vec![task.prompt.clone()],
        variables: |_| pairs(&[("OPENAI_API_KEY", "sk-scripted")]),
        files: no_files,
        direct: |_, address| (Vec::new(), vec![("OPENAI_BASE_URL", format!("{address}/v1"))]),
    },
    Client {
        name: "gemini",
        version: "0.61.0",
        registry: Registry::Npm("@google/gemini-cli"),
        wire: Wire::Gemini,
        arguments: |task| {
            let mut arguments = owned(&["--skip-trust", "--yolo", "-m", "gemini-2.5-pro", "-p"]);
            arguments.push(task.prompt.clone());
            arguments
        },
        variables: |_| pairs(&[("GEMINI_API_KEY", "scripted"), ("GEMINI_TELEMETRY_ENABLED", "false")]),
        files: |_| {
            let settings = serde_json::json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"enableAutoUpdate": false},
                "model": {"maxSessionTurns": -1},
            });
            vec![(".gemini/settings.json", settings.to_string())]
        },
        direct: |_, address| (Vec::new(), pairs(&[("GOOGLE_GEMINI_BASE_URL", address)])),
    },
    Client {
        name: "opencode",
        version: "1.18.33",
        registry: Registry::Npm("opencode-ai"),
        wire: Wire::Anthropic,
        arguments: |task| {
            let mut arguments = owned(&["run", "--auto", "-m", "anthropic/claude-sonnet-4-5"]);
            arguments.push(task.prompt.clone());
            arguments
        },
        variables: |_| {
            pairs(&[
                ("ANTHROPIC_API_KEY", "sk-ant-scripted"),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ])
        },
        files: no_files,
        direct: |_, address| {
            let base =
                serde_json::json!({"provider": {"anthropic": {"options": {"baseURL": format!("{address}/v1")}}}});
            (Vec::new(), vec![("OPENCODE_CONFIG_CONTENT", base.to_string())])
        },
    },
    Client {
        name: "pi",
        version: "0.73.1",
        registry: Registry::Npm("@mariozechner/pi-coding-agent"),
        wire: Wire::Anthropic,
        arguments: |task| {
            let mut arguments = owned(&["--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p"]);
            arguments.push(task.prompt.clone());
            arguments
        },
        variables: |_| {
            pairs(&[
                ("ANTHROPIC_API_KEY", "sk-ant-scripted"),
                ("PI_OFFLINE", "1"),
                ("PI_TELEMETRY", "0"),
            ])
        },
        files: |_| vec![("base.js", PI_BASE.to_owned())],
        direct: |task, address| {
            let arguments = vec!["--extension".to_owned(), task.home("base.js")];
            (arguments, pairs(&[("ANTHROPIC_BASE_URL", address)]))
        },
    },
    Client {
        name: "aider",
        version: "0.86.2",
        registry: Registry::Pip("aider-chat"),
        wire: Wire::Anthropic,
        arguments: |task| {
            let mut arguments = owned(&[
                "--model", "anthropic/claude-sonnet-4-5", "--no-git", "--yes-always", "--analytics-disable",
                "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-detect-urls",
                "--map-tokens", "0", "--max-chat-history-tokens", "100000000", "--load",
            ]);
            arguments.push(task.home("commands"));
            arguments
        },
        variables: |_| {
            pairs(&[
                ("ANTHROPIC_API_KEY", "sk-ant-scripted"),
                ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
            ])
        },
        files: |task| {
            // It has no tools: a command's output becomes part of the chat.
            let mut commands = format!("/run echo '{}'\n", task.prompt);
            for number in 0..task.steps {
                commands.push_str(&format!("/run cat {}\n/ask What is in {0}?\n", file(number)));
            }
            commands.push_str("/ask Which word was it?\n");
            vec![("commands", commands)]
        },
        direct: |_, address| (Vec::new(), pairs(&[("ANTHROPIC_API_BASE", address)])),
    },
];

/// The name of a file to be read.
pub fn file(number: usize) -> String {
    format!("part-{number:03}.txt")
}

impl Client {
    /// The program to start, given its installation directory, and its fixed arguments.
    pub fn program(&self, folder: &Path) -> (PathBuf, Vec<String>) {
        match self.registry {
            Registry::Npm(_) => (folder.join("node_modules/.bin").join(self.name), Vec::new()),
            Registry::Pip(_) => (folder.join("bin").join(self.name), Vec::new()),
            Registry::Script(_, _, argument) => {
                let script = folder.join("script.py").display().to_string();
                (folder.join("bin/python"), vec![script, argument.to_owned()])
            }
        }
    }
}
