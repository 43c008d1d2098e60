//! What may stand on the command line, and what is said about it.

mod values;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_gateway::Provider;
use codelet_replay::policy::Policy;
use codelet_transcript::Format;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use values::{
    agent, budget, dollars, named, policy, probability, range, recorded, source, tokens, upstream, vendor, window,
    written,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Cyan.on_default().bold())
    .usage(AnsiColor::Cyan.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Yellow.on_default());

// Paragraphs stand on one line: they are broken where the terminal ends.
const AFTER_HELP: &str = "\
Example: compact a recorded session to 40,000 tokens, show what happens to each message, and save what is removed:

  codelet compact session.jsonl --budget 40k --explain \\
      -o small.json --removed gone.jsonl

Exit status: 0 success (with -p: a final answer), 1 task failed, 2 usage, settings or input error, 3 no answer from \
the provider, 4 conversation too long, 5 no answer matched --schema, 130 interrupted.";

/// A terminal coding agent that compacts its context in milliseconds, without a model call.
///
/// Without arguments it starts an interactive session; words after the name are sent as its first prompt. With -p it works on
/// one prompt, prints the answer and exits. The other commands compact, inspect and replay recorded sessions of many agents,
/// offline and without a model call.
#[derive(Parser, Debug)]
#[command(name = "codelet", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = AFTER_HELP, subcommand_value_name = "COMMAND", subcommand_help_heading = "Commands")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Codelet {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub chat: Chat,
}

#[derive(Args, Debug)]
pub struct Chat {
    /// Start an interactive session with this prompt. Write -- before a prompt of one word, or one that resembles a command
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub words: Vec<String>,

    /// The same, whatever it looks like.
    #[arg(last = true, hide = true, conflicts_with = "prompt")]
    pub rest: Vec<String>,

    /// Work on this prompt, print the answer, and exit. Standard input is appended, or used as the prompt if none or `-`
    /// is given. For a prompt starting with a dash, write -p='--verbose'
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1)]
    pub prompt: Option<Option<String>>,

    #[command(flatten)]
    pub overrides: Overrides,

    /// Model to ask for the rest of a prompt if the provider stays overloaded
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

    /// Plan mode: only look, and answer with a plan, as with --permission plan
    #[arg(long, conflicts_with = "permission")]
    pub plan: bool,

    /// Additional directory that the tools can use like the workspace: read, and under `edit` change. Can be repeated
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,

    /// The only tools that the model has, such as Read,Grep, and of MCP servers such as files__*; Recall is always
    /// available
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,

    /// Give the model no tools at all
    #[arg(long, conflicts_with = "tools")]
    pub no_tools: bool,

    /// How compaction writes its summary: template (instant, no model call) or model [default: template]
    #[arg(long, value_name = "METHOD", value_parser = named(["template", "model"], crate::settings::summary), hide_possible_values = true)]
    pub summary: Option<SummaryBy>,

    /// Trim unused tool outputs when that saves money, keeping a tenth (faithful), a twentieth (balanced) or a fiftieth
    /// (thrifty) of them; off: only when the context window is full [default: faithful]
    #[arg(long, value_name = "PRESET", value_parser = named(Preset::ALL.map(Preset::name), crate::settings::economics), hide_possible_values = true)]
    pub economics: Option<Preset>,

    /// Compact at this share of the context window at the latest, from 0.1 to 0.95, or only on /compact (off) [default: when it is full]
    #[arg(long, value_name = "SHARE", value_parser = crate::settings::compact_at)]
    pub compact_at: Option<CompactAt>,

    /// Plain lines, no cursor control: for pipes, logs and screen readers
    #[arg(long, conflicts_with = "prompt")]
    pub plain: bool,

    /// Continue a recorded session: a transcript, or a session of another agent (see `codelet formats`)
    #[arg(long, value_name = "FILE", value_parser = recorded())]
    pub from: Option<PathBuf>,

    /// If --from names a data set or an agent's database, the number of the conversation, from 0
    #[arg(long, value_name = "N", requires = "from")]
    pub index: Option<usize>,

    /// Save the conversation to this new file as it grows; with the file of --from, continue in it
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<PathBuf>,

    /// Text appended to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system: Option<String>,

    /// Run in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Work in a separate git working tree on this branch, beside the repository (../REPOSITORY.worktrees/NAME); made if there
    /// is none, and never deleted
    #[arg(long, value_name = "NAME")]
    pub worktree: Option<String>,
}

/// What the command line says over the settings, for every kind of session.
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

    /// What tools may do without asking: plan (only look, and answer with a plan), read (read the workspace), edit (also change it), all
    /// (anything) [default: edit]
    #[arg(long, value_name = "LEVEL", value_parser = named(Permission::ALL.map(Permission::name), crate::settings::permission), hide_possible_values = true)]
    pub permission: Option<Permission>,

    /// Under `edit`, run commands that match this pattern without asking, such as 'cargo *'; or allow MCP tools, such as
    /// 'mcp:files__*', or hosts of web pages, such as 'web:docs.rs'. Can be repeated
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,

    /// Never run commands that match this pattern, such as 'git push *', or MCP tools or hosts; overrides everything. Can be repeated
    #[arg(long, value_name = "PATTERN")]
    pub deny: Vec<String>,

    /// Stop after this many steps (model replies)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,

    /// Stop once the cost exceeds this amount
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// Context window in tokens, if the built-in value is wrong (200000, 200k, 1M)
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,
}

/// What standard input holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum InputForm {
    /// A prompt, or text to append to it.
    Text,
    /// One prompt per line, as JSON.
    StreamJson,
}

/// What a run prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum OutputForm {
    /// The answer.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON line per event.
    StreamJson,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compact a recorded conversation
    ///
    /// The newest turns stay unchanged; older ones become a summary of quotes, with handles to restore what was removed. No model
    /// is called, and the result is valid for every supported provider.
    Compact(Compact),
    /// Show what fills the context window
    ///
    /// Tokens by kind and by tool, the largest items, repeated texts, outdated file reads (the file was read again or
    /// changed later), and the turns, with completed work marked.
    Inspect(Inspect),
    /// Check a request against its vendor's rules
    ///
    /// Checks that calls and results match, the vendor's own tools, roles, empty messages, and the position of system messages.
    /// Lists each broken rule with its place; sends nothing.
    Check(Check),
    /// Estimate what recorded sessions would have cost under other context-editing policies
    ///
    /// Simulates each session request by request with a provider's prompt cache rules. Shows the cost, cache hits and misses,
    /// what filled the context window, and how much of what was needed later was still in it.
    Replay(Replay),
    /// Write an HTML report about a recorded session, with its cost under other context-editing policies
    ///
    /// One HTML file that needs no network: context window use per request, edits, cache hits and misses, the cost under
    /// each policy, and the largest items.
    Report(Report),
    /// Print a text that compaction removed
    ///
    /// Prints its exact bytes, and nothing else.
    Restore(Restore),
    /// List the sessions that agents on this machine have recorded
    ///
    /// Lists what each agent keeps on this machine, newest first. Reads only the beginning and the end of each file, and of a database its
    /// list of sessions. Nothing leaves the machine.
    Sessions(Sessions),
    /// Compact the conversations of other agents on their way to the provider
    ///
    /// A local server that an agent takes for its provider. Conversations are kept small by the rules of `codelet` itself, and
    /// everything else passes through unchanged. API keys pass through and are not stored.
    #[command(after_help = GATEWAY_HELP)]
    Gateway(Gateway),
    /// Run another agent behind a gateway of its own
    ///
    /// Starts `codelet gateway` on a free port, tells the agent where it is, and shows at the end what it came to.
    #[command(after_help = RUN_HELP)]
    Run(Run),
    /// Print a text that the gateway removed from a conversation
    ///
    /// The agent's model is told of this command, and runs it in the agent's shell.
    Recall(Recall),
    /// Work in an editor, over the Agent Client Protocol
    ///
    /// The editor starts it, and speaks with it over standard input and output (version 1 of the protocol). Sessions work in
    /// the directory that the editor names, with your settings; what the options say goes before these.
    #[command(after_help = ACP_HELP)]
    Acp(Acp),
    /// List the supported conversation formats
    Formats,
    /// Watch the agent work on a small task; needs no key and no network
    ///
    /// A recorded model fixes a bug in a temporary directory with the real tools. The context window is so small that the
    /// conversation is compacted on the way.
    Demo(Demo),
    /// Show each setting and where it comes from
    Settings(Place),
    /// Check whether a session can work here: settings, key, provider, sandbox
    ///
    /// Checks settings, model, API key, certificates, provider, sandbox, git, instructions, MCP servers and terminal, and says what to do
    /// about each problem. Asks the provider only for its list of models, which costs nothing.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
    /// List known models with their context windows and prices
    Models(Models),
    /// Check the configured MCP servers
    ///
    /// Starts them as a session does, and shows what each offers, its startup time, and errors.
    #[command(subcommand)]
    Mcp(Mcp),
    /// Print a shell completion script
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(Completions),
    /// Print the manual page of codelet or of one command
    #[command(after_help = MAN_HELP)]
    Man(Man),
}

const ACP_HELP: &str = "\
Settings for Zed, which starts it in its agent panel (docs/editors.md has those of other editors):
  {\"agent_servers\": {\"Codelet\": {\"type\": \"custom\", \"command\": \"codelet\", \"args\": [\"acp\"]}}}";

/// Sessions in an editor.
#[derive(Args, Clone, Debug)]
pub struct Acp {
    #[command(flatten)]
    pub overrides: Overrides,
}

const GATEWAY_HELP: &str = "\
Examples:
  codelet gateway
  codelet gateway --upstream openai=https://openrouter.ai/api
  ANTHROPIC_BASE_URL=http://127.0.0.1:4114 claude

An address that other machines can reach needs a secret in CODELET_GATEWAY_TOKEN; agents show it in the header
x-codelet-token or in their base URL: http://HOST:PORT/t/TOKEN";

const RUN_HELP: &str = "\
Examples:
  codelet run -- claude
  codelet run --window 150k -- codex exec \"fix the tests\"
  codelet run --policy off -- opencode";

/// What stands between an agent and its provider.
#[derive(Args, Debug)]
pub struct Behind {
    /// Address of a provider: `anthropic`, `openai` or `gemini` [default: as set for agents, else the vendor's]
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = upstream)]
    pub upstreams: Vec<(Provider, String)>,

    /// How readily old tool outputs are trimmed to save money
    #[arg(long, value_name = "P", default_value = "faithful", value_parser = named(PRESETS, crate::commands::gateway::policy))]
    pub policy: Preset,

    /// Context window [default: the model's]
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,

    /// Whether the model is told of `codelet recall`
    #[arg(long, value_name = "ON|OFF", default_value = "on")]
    pub recall: Switch,

    /// Append figures of each request to a file, as JSON lines; no words of any
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,

    /// Compute and show edits, and send the original requests
    #[arg(long)]
    pub dry_run: bool,
}

/// Yes or no.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    /// Yes.
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

const PRESETS: [&str; 4] = ["faithful", "balanced", "thrifty", "off"];

#[derive(Args, Debug)]
pub struct Gateway {
    /// Address and port to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4114")]
    pub listen: SocketAddr,

    #[command(flatten)]
    pub behind: Behind,
}

#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    pub behind: Behind,

    /// The agent and its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub struct Recall {
    /// Handle from a marker in the conversation
    #[arg(value_name = "HANDLE")]
    pub handle: String,
}

#[derive(Subcommand, Debug)]
pub enum Mcp {
    /// Check every configured server
    #[command(after_help = MCP_LIST_HELP)]
    List(Place),
    /// Check one server and list its tools
    #[command(after_help = MCP_TEST_HELP)]
    Test(McpServer),
    /// Log in to a server that requires it (OAuth), in your browser
    #[command(after_help = MCP_LOGIN_HELP)]
    Login(McpLogin),
    /// Delete the saved login for a server
    #[command(after_help = MCP_LOGOUT_HELP)]
    Logout(McpServer),
}

const MCP_LIST_HELP: &str = "\
Exit status: 0 if every enabled server works, 1 if one does not, 2 if the settings are invalid.";

const MCP_TEST_HELP: &str = "\
Exit status: 0 if the server works, 1 if it does not, 2 if the settings are invalid or have no such server.";

const MCP_LOGIN_HELP: &str = "\
The address to open is printed, and opened in a browser if there is a display. Tokens are kept in a file that only you can \
read, beside your settings, and are sent to that server alone.

Exit status: 0 if you are logged in, 1 if not, 2 if the settings are wrong or name no such server.";

const MCP_LOGOUT_HELP: &str = "\
The file with the tokens is deleted. The server may take them until they expire, or until you revoke them there.";

#[derive(Args, Debug)]
pub struct McpServer {
    /// Server name: the NAME in [mcp.NAME] of the settings
    #[arg(value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub place: Place,
}

const SESSIONS_HELP: &str = "\
Examples:
  codelet sessions
  codelet inspect @1
  codelet --from @3

@N is a session's number in the list; @ID is part of its id (see --json). Use either in place of the FILE of a recorded session. \
Tokens are those of the newest recorded request and its reply.";

#[derive(Args, Debug)]
#[command(after_help = SESSIONS_HELP)]
pub struct Sessions {
    /// List only this agent's sessions
    #[arg(long, value_name = "NAME", value_parser = agent())]
    pub agent: Option<String>,

    /// List all sessions, not only the newest
    #[arg(long)]
    pub all: bool,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct Models {
    /// Only models whose names contain all of these words, such as `sonnet 5.5`
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pub search: Vec<String>,
}

#[derive(Args, Debug)]
pub struct McpLogin {
    #[command(flatten)]
    pub server: McpServer,

    /// Only print the address, open no browser
    #[arg(long)]
    pub no_browser: bool,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  codelet completions bash > ~/.local/share/bash-completion/completions/codelet
  codelet completions zsh > ~/.zfunc/_codelet
  codelet completions fish > ~/.config/fish/completions/codelet.fish";

#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

const MAN_HELP: &str = "\
Examples:
  codelet man | man -l -
  codelet man compact > ~/.local/share/man/man1/codelet-compact.1";

#[derive(Args, Debug)]
pub struct Man {
    /// Command, such as `compact` or `mcp test`; default: codelet itself
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args, Debug)]
pub struct Demo {
    /// Output format, as for -p
    #[arg(long, value_name = "FORMAT", default_value = "text", value_enum)]
    pub output: OutputForm,
    /// Do not slow down to reading speed on a terminal
    #[arg(long)]
    pub fast: bool,
}

#[derive(Args, Debug)]
pub struct Place {
    /// Use the settings that apply in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

const DOCTOR_HELP: &str = "\
Examples:
  codelet doctor
  codelet doctor --offline --json | jq -r '.[] | select(.state != \"ok\") | .text'

Exit status: 0 no problem, 1 at least one, 2 there is no such directory.";

#[derive(Args, Debug)]
pub struct Doctor {
    /// Do not ask the provider
    #[arg(long)]
    pub offline: bool,

    /// Print the checks as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub place: Place,
}

const COMPACT_HELP: &str = "\
Examples:
  codelet compact session.jsonl --budget 40k > small.json
  codelet compact request.json --window 200k -o small.json --removed gone.jsonl
  codelet compact session.jsonl --budget 8000 --explain -o /dev/null
  codelet compact trajectories --out smaller --budget 20k --jobs 8

Without --budget or --window, everything since the last completed piece of work stays, and older turns are \
summarised, whatever the resulting size.

The result goes to standard output; notices and warnings go to standard error. The --explain table goes to standard \
output if that is free (with -o FILE, or on a terminal, where it replaces the result), otherwise to standard \
error.

Output files are replaced atomically, so -o may name the input file.

With --out, links are not followed, a JSONL file with a conversation on each line keeps its lines, and a run that was \
interrupted goes on where it was when it is repeated: files that are there are not done again. What cannot be compacted \
is listed in codelet-failed.jsonl. Exit status: 0 everything is compacted, 1 some conversations could not be, 2 bad \
usage, or nothing more could be written.";

/// How a recorded conversation is read.
#[derive(Args, Debug)]
pub struct Reading {
    /// Input format: `auto`, or a name from `codelet formats`
    #[arg(long, value_name = "F", default_value = "auto", value_parser = source(), hide_possible_values = true)]
    pub from: Source,

    /// Continue although less than 90 % of the messages could be read
    #[arg(long)]
    pub force: bool,
}

#[derive(Args, Debug)]
#[command(after_help = COMPACT_HELP)]
pub struct Compact {
    /// Conversation file, with --out a folder; `-` or none: standard input
    #[arg(value_name = "FILE", value_parser = recorded())]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    /// Use only this conversation of a data set or an agent's database, counted from 0 [default: all]
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,

    /// Output format [default: the input format if it can be written, else anthropic]
    #[arg(long, value_name = "F", value_parser = written(), hide_possible_values = true)]
    pub to: Option<Format>,

    /// Target size in tokens (40000, 40_000, 40k, 1M)
    #[arg(long, value_name = "TOKENS", value_parser = budget, conflicts_with = "window")]
    pub budget: Option<u64>,

    /// Compact only if a session with this context window would
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub window: Option<u64>,

    /// Show before and after: one line per message, with what happened to it and why
    #[arg(long)]
    pub explain: bool,

    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write statistics as JSON; `ratio` is the share of tokens saved
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Write the removed texts as JSON lines, for `codelet restore`; the result then says how to run it
    #[arg(long, value_name = "FILE")]
    pub removed: Option<PathBuf>,

    /// Compact every conversation below the folder FILE to the same name below this one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["index", "explain", "output", "report", "removed"])]
    pub out: Option<PathBuf>,

    /// With --out: files to process in parallel [default: number of CPU cores]
    #[arg(short, long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
}

const INSPECT_HELP: &str = "\
Examples:
  codelet inspect session.jsonl
  codelet inspect session.jsonl --json | jq '.tools[0]'

Messages, turns and steps are numbered from 0. Token counts are estimates: a quarter of the bytes, plus 5 per part.";

#[derive(Args, Debug)]
#[command(after_help = INSPECT_HELP)]
pub struct Inspect {
    /// Conversation file; `-` or none: standard input
    #[arg(value_name = "FILE", value_parser = recorded())]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    /// Use only this conversation of a data set or an agent's database, counted from 0 [default: all]
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

const CHECK_HELP: &str = "\
Examples:
  codelet check request.json
  codelet check request.json --vendor responses --json | jq -r '.[].place'

Exit status: 0 no rule is broken, 1 at least one is, 2 the file is not a request.";

#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct Check {
    /// The request; `-` or none: standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Vendor whose rules apply: anthropic, openai (Chat Completions), responses (OpenAI) or gemini [default: detected]
    #[arg(long, value_name = "V", value_parser = vendor(), hide_possible_values = true)]
    pub vendor: Option<Format>,

    /// Print the broken rules as JSON, each with its place
    #[arg(long)]
    pub json: bool,
}

const REPLAY_HELP: &str = "\
Examples:
  codelet replay session.jsonl
  codelet replay sessions/ --window 1M --prices 1h --policy never --policy faithful
  codelet replay sessions/ --json | jq '.totals[] | {policy, ratio, recall}'

Policies (all compact when a request would not fit in the context window):
  never           edit nothing until the context window is full
  seven           apply all seven strategies before every request
  mask-10         mask all tool outputs but the last ten
  clear-100k      above 100k tokens, clear all tool outputs but the last three
  clear-100k-20k  the same, if that removes at least 20k tokens
  protect-40k     clear tool outputs before the newest 40k tokens once they exceed 20k
  faithful, balanced, thrifty, off
                  codelet's presets; off runs only if named
  wishes          faithful, and the model asks for a compaction whenever work is done; only if named

If a recording has no times, the cache is assumed to stay warm. Files that cannot be read are reported and skipped.";

#[derive(Args, Debug)]
#[command(after_help = REPLAY_HELP)]
pub struct Replay {
    /// Recorded sessions, or directories of them
    #[arg(value_name = "FILE", required = true, value_parser = recorded())]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    /// Use only this conversation of data sets and agents' databases, counted from 0 [default: all]
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,

    /// Policy to simulate; can be repeated [default: all but off]
    #[arg(long = "policy", value_name = "P", value_parser = policy(), hide_possible_values = true)]
    pub policies: Vec<Policy>,

    /// Context window in tokens (200000, 200k, 1M)
    #[arg(long, value_name = "TOKENS", default_value = "200k", value_parser = window)]
    pub window: u64,

    /// Price card: a name (`5m`, `1h`, `no-write-fee`, a model) or a file; FILE#NAME if the file has several
    #[arg(long, value_name = "CARD", default_value = codelet_context::price::USUAL)]
    pub prices: String,

    /// Cache lifetime, if the provider offers both [default: from the price card]
    #[arg(long, value_name = "TIME", value_enum)]
    pub ttl: Option<Ttl>,

    /// Probability that the agent reads again what it needs and no longer sees
    #[arg(long, value_name = "P", default_value = "0.5", value_parser = probability)]
    pub refetch: f64,

    /// Use only one half of the files, split by a hash of their names
    #[arg(long, value_name = "HALF", value_enum, default_value = "all")]
    pub half: WhichHalf,

    /// Files to process in parallel [default: number of CPU cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,

    /// Print everything as JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print CSV, one row per file and policy
    #[arg(long)]
    pub csv: bool,
}

const REPORT_HELP: &str = "\
Examples:
  codelet report session.jsonl -o report.html
  codelet report session.jsonl --window 1M --prices 1h --policy faithful --policy thrifty -o report.html
  codelet report session.jsonl others/*.jsonl -o report.html

With several files, the first is shown in detail and the costs are summed over all. The page opens offline in any browser.";

#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub struct Report {
    /// Recorded session, and others to include in the totals; none or `-`: standard input
    #[arg(value_name = "FILE", value_parser = recorded())]
    pub files: Vec<PathBuf>,

    /// Output file, written atomically [default: standard output, unless that is a terminal]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    /// Of data sets and agents' databases, the conversation with this number, from 0
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,

    /// Context window in tokens (200000, 200k, 1M) [default: 200k, or 1M if the recording did not fit into 200k]
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,

    /// Price card, as in `codelet replay` [default: the recorded model's, else 5m]
    #[arg(long, value_name = "CARD")]
    pub prices: Option<String>,

    /// Policy to simulate, as in `codelet replay`; can be repeated [default: all but off]
    #[arg(long = "policy", value_name = "P", value_parser = policy(), hide_possible_values = true)]
    pub policies: Vec<Policy>,

    /// Probability that the agent reads again what it needs and no longer sees
    #[arg(long, value_name = "P", default_value = "0.5", value_parser = probability)]
    pub refetch: f64,
}

/// How long a cache keeps what is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Ttl {
    /// Five minutes.
    #[value(name = "5m")]
    Minutes,
    /// An hour.
    #[value(name = "1h")]
    Hour,
}

/// Which of the files are played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum WhichHalf {
    /// The first half.
    A,
    /// The second half.
    B,
    /// Both.
    All,
}

const RESTORE_HELP: &str = "\
Examples:
  codelet restore gone.jsonl k3f9a2
  codelet restore gone.jsonl '[Read k3f9a2]' --range 0..2000";

#[derive(Args, Debug)]
#[command(after_help = RESTORE_HELP)]
pub struct Restore {
    /// File written by `codelet compact --removed`; `-`: standard input
    #[arg(value_name = "REMOVED-FILE")]
    pub file: PathBuf,

    /// Handle from the marker in the conversation, or the whole marker
    #[arg(value_name = "HANDLE")]
    pub handle: String,

    /// Byte range from A to before B, extended to whole characters; A or B can be omitted
    #[arg(long, value_name = "A..B", value_parser = range)]
    pub range: Option<Range<usize>>,
}

/// The form of an input: named, or to be found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source(pub Option<Format>);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Codelet::command().debug_assert();
    }
}
