//! Options of a session.

use super::values::{dollars, named, recorded, window};
use clap::Args;
use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct Chat {
    /// Start an interactive session with this prompt, or with -p work on it. Write -- before a prompt that resembles
    /// a command
    #[arg(value_name = "PROMPT")]
    pub words: Vec<String>,

    /// The prompt after `--`, whatever it looks like.
    #[arg(last = true, hide = true)]
    pub rest: Vec<String>,

    /// Work on this prompt, print the answer, and exit. Standard input is appended, or used as the prompt if none or `-`
    /// is given. For a prompt starting with a dash, write -p='--verbose'
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1)]
    pub prompt: Option<Option<String>>,

    #[command(flatten)]
    pub overrides: Overrides,

    /// Model that takes over for the rest of a prompt if the provider stays overloaded
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub fallback: Option<String>,

    /// Output format: the answer, one JSON object at the end, or one JSON line per event
    #[arg(
        long,
        alias = "output-format",
        value_name = "FORMAT",
        default_value = "text",
        value_enum,
        requires = "prompt"
    )]
    pub output: OutputForm,

    /// Input format: text, or one user message per JSON line, answered in turn in one session
    #[arg(
        long,
        alias = "input-format",
        value_name = "FORMAT",
        default_value = "text",
        value_enum,
        requires = "prompt"
    )]
    pub input: InputForm,

    /// JSON Schema for the final answer: a file, or the schema itself. An answer that does not match is sent back,
    /// up to twice; then the exit status is 5
    #[arg(long, value_name = "FILE|JSON", requires = "prompt")]
    pub schema: Option<String>,

    /// Plan mode: only read, and answer with a plan, as with --permission plan
    #[arg(long, conflicts_with = "permission")]
    pub plan: bool,

    /// Additional directory that the tools can use like the workspace: read, and change under `edit`. Can be repeated
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,

    /// Give the model only these tools, such as Read,Grep, or files__* for those of an MCP server; Recall is always
    /// available
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,

    /// Give the model no tools at all
    #[arg(long, conflicts_with = "tools")]
    pub no_tools: bool,

    /// How compaction writes its summary: template (instant, no model call) or model [default: template]
    #[arg(long, value_name = "METHOD", value_parser = named(["template", "model"], crate::settings::summary), hide_possible_values = true)]
    pub summary: Option<SummaryBy>,

    /// How eagerly to trim old tool outputs to save money: keep a tenth (faithful), a twentieth (balanced) or a fiftieth
    /// (thrifty) of them; off: trim only when the context window is full [default: faithful]
    #[arg(long, value_name = "POLICY", value_parser = named(Preset::ALL.map(Preset::name), crate::settings::policy), hide_possible_values = true)]
    pub policy: Option<Preset>,

    /// Compact at this share of the context window at the latest, from 0.1 to 0.95; off: only on /compact, and stop when the window is full [default: when it is full]
    #[arg(long, value_name = "SHARE", value_parser = crate::settings::compact_at)]
    pub compact_at: Option<CompactAt>,

    /// Plain lines, no cursor control: for pipes, logs and screen readers
    #[arg(long)]
    pub plain: bool,

    /// Continue the newest saved session of this project, and save it to the same file; needs the setting `transcripts`
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["from", "index"])]
    pub go_on: bool,

    /// Continue a recorded session: a transcript, or a session of another agent (see `codelet formats`)
    #[arg(long, value_name = "FILE", value_parser = recorded())]
    pub from: Option<PathBuf>,

    /// If --from names a data set or an agent's database, the number of the conversation, from 0
    #[arg(long, value_name = "N", requires = "from")]
    pub index: Option<usize>,

    /// Save the conversation to this new file as it grows; if it is the file of --from, append to it
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<PathBuf>,

    /// Do not save this session, even if `transcripts` is set
    #[arg(long, conflicts_with = "transcript")]
    pub no_transcript: bool,

    /// Text appended to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system: Option<String>,

    /// Run in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Work in a separate git working tree on this branch, beside the repository (../REPOSITORY.worktrees/NAME); created if
    /// missing, and never deleted
    #[arg(long, value_name = "NAME")]
    pub worktree: Option<String>,
}

/// Command-line overrides of the settings, for every kind of session.
#[derive(Args, Clone, Debug)]
pub struct Overrides {
    /// Model to use (listed by `codelet models`)
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub model: Option<String>,

    /// Thinking effort: none, minimal, low, medium, high, xhigh or max; not every model supports every level
    /// [default: the provider's]
    #[arg(long, value_name = "LEVEL", value_parser = named(Effort::ALL.map(Effort::name), crate::settings::effort), hide_possible_values = true)]
    pub effort: Option<Effort>,

    /// API base URL, for compatible servers
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// What tools may do without asking: plan (only read, and answer with a plan), read (read the workspace), edit (also change it), all
    /// (anything) [default: edit]
    #[arg(long, value_name = "LEVEL", value_parser = named(Permission::ALL.map(Permission::name), crate::settings::permission), hide_possible_values = true)]
    pub permission: Option<Permission>,

    /// Under `edit`, run commands that match this pattern without asking, such as 'cargo *'; or allow MCP tools, such as
    /// 'mcp:files__*', or hosts of web pages, such as 'web:docs.rs'. Can be repeated
    #[arg(long, value_name = "PATTERN", value_parser = codelet_agent::permission::read_pattern)]
    pub allow: Vec<String>,

    /// Never run commands that begin with these words, such as 'git push', or MCP tools or hosts that match; overrides everything. Can be repeated
    #[arg(long, value_name = "PATTERN", value_parser = codelet_agent::permission::read_pattern)]
    pub deny: Vec<String>,

    /// Stop each prompt after this many steps (model replies)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,

    /// Stop once the cost of the session, all prompts together, reaches this amount
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// Context window in tokens, if the built-in value is wrong (200000, 200k, 1M)
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,
}

/// The format of standard input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum InputForm {
    /// A prompt, or text to append to it.
    Text,
    /// One prompt per line, as JSON.
    StreamJson,
}

/// The output format of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum OutputForm {
    /// The answer.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON line per event.
    StreamJson,
}

const ACP_HELP: &str = "\
Settings for Zed, which starts it in its agent panel (docs/editors.md has those of other editors):
  {\"agent_servers\": {\"Codelet\": {\"type\": \"custom\", \"command\": \"codelet\", \"args\": [\"acp\"]}}}";

/// Sessions in an editor.
#[derive(Args, Clone, Debug)]
#[command(after_help = ACP_HELP)]
pub struct Acp {
    #[command(flatten)]
    pub overrides: Overrides,
}
