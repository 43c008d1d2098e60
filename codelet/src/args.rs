//! What may stand on the command line, and what is said about it.

mod values;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_replay::policy::Policy;
use codelet_transcript::Format;
use std::ops::Range;
use std::path::PathBuf;
use values::{budget, dollars, named, policy, probability, range, source, tokens, vendor, window, written};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Cyan.on_default().bold())
    .usage(AnsiColor::Cyan.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Yellow.on_default());

// Paragraphs stand on one line: they are broken where the terminal ends.
const AFTER_HELP: &str = "\
Example: make a recorded session fit into 40,000 tokens, see what happens to each message, and keep what was removed:

  codelet compact session.jsonl --budget 40k --explain \\
      -o small.json --removed gone.jsonl

Exit status: 0 done (of -p: with a final answer), 1 the task failed, 2 bad usage, settings or input, 3 the provider \
gave no answer, 4 the conversation is too long, 130 interrupted.";

/// A coding agent that never falls over its own conversation.
///
/// Without arguments it starts an interactive session; a prompt behind it is sent first. With -p it works on one prompt
/// until that is done, prints the answer and exits. The commands keep conversations that any agent has
/// recorded small, valid and faithful, without a model, in milliseconds, offline.
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
    /// Start an interactive session with this prompt; without one, the session waits for you. A single word, or one that
    /// resembles a command, is refused unless -- stands before it
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub words: Vec<String>,

    /// The same, whatever it looks like.
    #[arg(last = true, hide = true, conflicts_with = "prompt")]
    pub rest: Vec<String>,

    /// Work on this prompt until it is done, print the answer, and exit; what comes by standard input is put behind it,
    /// and is the prompt where none or `-` is given. One that looks like an option is joined: -p='--verbose'
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1)]
    pub prompt: Option<Option<String>>,

    /// The model, as `codelet models` lists it
    #[arg(long, value_name = "VENDOR/NAME")]
    pub model: Option<String>,

    /// How much the model thinks: none, minimal, low, medium, high, xhigh or max, as far as the model takes it
    /// [default: the provider's]
    #[arg(long, value_name = "LEVEL", value_parser = named(Effort::ALL.map(Effort::name), crate::settings::effort), hide_possible_values = true)]
    pub effort: Option<Effort>,

    /// Another address than the vendor's own, for compatible servers
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// What is printed: the answer, one JSON object at the end, or a line for each event
    #[arg(long, value_name = "FORM", default_value = "text", value_enum, requires = "prompt")]
    pub output: OutputForm,

    /// What the tools may do: read (look only), edit (change files of the workspace), all [default: edit]
    #[arg(long, value_name = "WHAT", value_parser = named(["read", "edit", "all"], crate::settings::permission), hide_possible_values = true)]
    pub permission: Option<Permission>,

    /// A command that may be run under `edit`, such as 'cargo *', or a server's tool, such as 'mcp:files__*'; may be given
    /// several times
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,

    /// A command that is never run, such as 'git push *', or a server's tool, whatever permits it; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub deny: Vec<String>,

    /// Another folder that the tools may use as they do the workspace: read, and change under `edit`; may be given several
    /// times
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,

    /// The only tools that the model has, such as Read,Grep, and of MCP servers such as files__*; Recall stays beside
    /// them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,

    /// Give the model no tools at all
    #[arg(long, conflicts_with = "tools")]
    pub no_tools: bool,

    /// Stop after so many steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,

    /// Stop with the first request that passes this sum
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// The model's window, where the catalogue is wrong (200000, 200k, 1M)
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,

    /// Who writes the summary at a compaction: template (at once, no model) or model [default: template]
    #[arg(long, value_name = "WHO", value_parser = named(["template", "model"], crate::settings::summary), hide_possible_values = true)]
    pub summary: Option<SummaryBy>,

    /// How readily old outputs are set aside to save money: faithful, balanced, thrifty, or off (only when the window is
    /// full) [default: faithful]
    #[arg(long, value_name = "HOW", value_parser = named(Preset::ALL.map(Preset::name), crate::settings::economics), hide_possible_values = true)]
    pub economics: Option<Preset>,

    /// Read and write lines, without a terminal's tricks: for pipes, logs and screen readers
    #[arg(long, conflicts_with = "prompt")]
    pub plain: bool,

    /// Go on from a recorded conversation: a transcript, or a session of another agent (`codelet formats` lists them)
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Write the conversation to a file, as it goes on
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<PathBuf>,

    /// Text behind the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system: Option<String>,

    /// Work in this folder
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// What a run prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum OutputForm {
    /// The answer.
    Text,
    /// One JSON object at the end.
    Json,
    /// A line of JSON for each event.
    StreamJson,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Make a conversation smaller
    ///
    /// The newest work stays as it is; older work becomes a summary, with pointers to what was removed. Nothing is
    /// invented, no model is asked, and the result is valid for every vendor.
    Compact(Compact),
    /// Show what fills the window
    ///
    /// By kind and by tool, the largest items, texts that stand there more than once, reads of files that were read again
    /// or changed later, and the turns with the moments at which something was finished.
    Inspect(Inspect),
    /// Check a request against its vendor's rules
    ///
    /// Pairs of calls and results, programs and tools of the vendor's own, roles, empty messages, the places of system messages.
    /// What breaks a rule is listed with its place; nothing is sent.
    Check(Check),
    /// Say what recorded conversations would have cost under other ways of editing them
    ///
    /// Each is played request by request through policies side by side, with the rules of a vendor's cache: dollars, cache
    /// hits and breaks, what filled the window, and whether what was used later was still shown.
    Replay(Replay),
    /// Write a page about a recorded conversation, with what it would have cost under other ways of editing it
    ///
    /// One HTML file that needs no network: what filled the window request by request, what was edited, what the cache did,
    /// dollars under each policy, and the largest items.
    Report(Report),
    /// Print the original bytes of something that a compaction removed
    ///
    /// Exactly those bytes, and nothing else.
    Restore(Restore),
    /// List the forms of conversations that are read and written
    Formats,
    /// Watch the real loop work on a small task, with no key and no network
    ///
    /// A recorded model fixes a bug in a scratch folder with the real tools, in a window so small that the conversation is
    /// compacted on the way.
    Demo(Demo),
    /// Show each setting and where it comes from
    Settings(Place),
    /// List the models that are known, with their windows and prices
    Models(Models),
    /// Check MCP servers, whose tools a session can use
    ///
    /// Starts them as a session does, and says what each offers, how long it takes to be ready, and what is wrong with it.
    #[command(subcommand)]
    Mcp(Mcp),
    /// Print what a shell needs to complete this command line
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(Completions),
    /// Print the manual page, of the program or of one command
    #[command(after_help = MAN_HELP)]
    Man(Man),
}

#[derive(Subcommand, Debug)]
pub enum Mcp {
    /// List the servers of the settings, and try each of them
    #[command(after_help = MCP_LIST_HELP)]
    List(Place),
    /// Try one server and show its tools
    #[command(after_help = MCP_TEST_HELP)]
    Test(McpServer),
    /// Log in at a server that wants it (OAuth), in your browser
    #[command(after_help = MCP_LOGIN_HELP)]
    Login(McpLogin),
    /// Delete the login at a server
    #[command(after_help = MCP_LOGOUT_HELP)]
    Logout(McpServer),
}

const MCP_LIST_HELP: &str = "\
Exit status: 0 if every server that is enabled works, 1 if one does not, 2 if the settings are wrong.";

const MCP_TEST_HELP: &str = "\
Exit status: 0 if the server works, 1 if it does not, 2 if the settings are wrong or name no such server.";

const MCP_LOGIN_HELP: &str = "\
The address to open is printed, and opened in a browser if there is a display. Tokens are kept in a file that only you can \
read, beside your settings, and are sent to that server alone.

Exit status: 0 if you are logged in, 1 if not, 2 if the settings are wrong or name no such server.";

const MCP_LOGOUT_HELP: &str = "\
The file with the tokens is deleted. The server may take them until they expire, or until you revoke them there.";

#[derive(Args, Debug)]
pub struct McpServer {
    /// The server's name in the settings, where it stands as [mcp.NAME]
    #[arg(value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub place: Place,
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
    /// The command, such as `compact` or `mcp test`; nothing for the program itself
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args, Debug)]
pub struct Demo {
    /// What is printed: as for -p
    #[arg(long, value_name = "FORM", default_value = "text", value_enum)]
    pub output: OutputForm,
    /// Do not pause for a reader on a terminal
    #[arg(long)]
    pub fast: bool,
}

#[derive(Args, Debug)]
pub struct Place {
    /// As seen from this folder
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

const COMPACT_HELP: &str = "\
Examples:
  codelet compact session.jsonl --budget 40k > small.json
  codelet compact request.json --window 200k -o small.json --removed gone.jsonl
  codelet compact session.jsonl --budget 8000 --explain -o /dev/null

Without --budget and --window, the newest turns are kept from the last finished piece of work on, and what is older is \
summarised, whatever that weighs.

Standard output holds the result only; the notice and warnings go to standard error. The picture of --explain goes to \
standard error too, unless standard output is free for it: with -o FILE, or on a terminal, where it is shown instead of \
the result.

A file is replaced at once when its new content is complete, so -o may name the input itself.";

#[derive(Args, Debug)]
#[command(after_help = COMPACT_HELP)]
pub struct Compact {
    /// The conversation; `-` or nothing for standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The form of the input: `auto`, or one that `codelet formats` lists
    #[arg(long, value_name = "F", default_value = "auto", value_parser = source(), hide_possible_values = true)]
    pub from: Source,

    /// The form of the result [default: the input's own if it is written, else anthropic]
    #[arg(long, value_name = "F", value_parser = written(), hide_possible_values = true)]
    pub to: Option<Format>,

    /// Make it weigh at most this much (40000, 40_000, 40k, 1M)
    #[arg(long, value_name = "TOKENS", value_parser = budget, conflicts_with = "window")]
    pub budget: Option<u64>,

    /// Do as a session with a window of this size would: nothing while there is room
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub window: Option<u64>,

    /// Draw before and after, a line for each message, with what happened to it and why
    #[arg(long)]
    pub explain: bool,

    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the figures as JSON; `ratio` is the share of the tokens that was saved
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Write what was removed as JSON lines, for `codelet restore`
    #[arg(long, value_name = "FILE")]
    pub removed: Option<PathBuf>,
}

const INSPECT_HELP: &str = "\
Examples:
  codelet inspect session.jsonl
  codelet inspect session.jsonl --json | jq '.tools[0]'

Messages, turns and steps are counted from 0. Tokens are estimates: a quarter of the bytes, and 5 for each part.";

#[derive(Args, Debug)]
#[command(after_help = INSPECT_HELP)]
pub struct Inspect {
    /// The conversation; `-` or nothing for standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The form of the input: `auto`, or one that `codelet formats` lists
    #[arg(long, value_name = "F", default_value = "auto", value_parser = source(), hide_possible_values = true)]
    pub from: Source,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

const CHECK_HELP: &str = "\
Examples:
  codelet check request.json
  codelet check request.json --vendor responses --json | jq -r '.[].place'

Exit status: 0 no rule is broken, 1 some are (each is listed with its place), 2 the file is no request.";

#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct Check {
    /// The request; `-` or nothing for standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Whose rules: anthropic, openai (Chat Completions), responses (OpenAI) or gemini [default: by the request's form]
    #[arg(long, value_name = "V", value_parser = vendor(), hide_possible_values = true)]
    pub vendor: Option<Format>,

    /// Print a list of objects with place and sentence
    #[arg(long)]
    pub json: bool,
}

const REPLAY_HELP: &str = "\
Examples:
  codelet replay session.jsonl
  codelet replay sessions/ --window 1M --prices 1h --policy never --policy faithful
  codelet replay sessions/ --json | jq '.totals[] | {policy, ratio, recall}'

Policies, all of which compact with the engine when a request would not fit:
  never           nothing is edited before the window is full
  seven           the seven strategies before every request
  mask-10         all results but the last ten are masked
  clear-100k      beyond 100k, all results but the last three are cleared
  clear-100k-20k  the same, where that removes at least 20k
  protect-40k     results behind the newest 40k go when they come to 20k
  faithful, balanced, thrifty, off
                  codelet's own presets; off is not played unless asked for

Without times in a recording the cache is taken to stay warm. Files that cannot be read are told of and skipped.";

#[derive(Args, Debug)]
#[command(after_help = REPLAY_HELP)]
pub struct Replay {
    /// Recorded conversations, or folders of them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// The form of the files: `auto`, or one that `codelet formats` lists
    #[arg(long, value_name = "F", default_value = "auto", value_parser = source(), hide_possible_values = true)]
    pub from: Source,

    /// A policy; may be given several times [default: all but off]
    #[arg(long = "policy", value_name = "P", value_parser = policy(), hide_possible_values = true)]
    pub policies: Vec<Policy>,

    /// The model's window (200000, 200k, 1M)
    #[arg(long, value_name = "TOKENS", default_value = "200k", value_parser = window)]
    pub window: u64,

    /// A price card by its name (`5m`, `1h`, `no-write-fee`, a model), or a file with one; FILE#NAME where it has several
    #[arg(long, value_name = "CARD", default_value = codelet_context::price::USUAL)]
    pub prices: String,

    /// How long the cache is told to keep what is marked, where the vendor sells both [default: as the card says]
    #[arg(long, value_name = "TIME", value_enum)]
    pub ttl: Option<Ttl>,

    /// The probability that what is referred to and not shown is read again
    #[arg(long, value_name = "P", default_value = "0.5", value_parser = probability)]
    pub refetch: f64,

    /// Only one half of the files, by a hash of their names
    #[arg(long, value_name = "HALF", value_enum, default_value = "all")]
    pub half: WhichHalf,

    /// Play so many files at once [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,

    /// Print everything as JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print a line for each file and policy, with commas between
    #[arg(long)]
    pub csv: bool,
}

const REPORT_HELP: &str = "\
Examples:
  codelet report session.jsonl -o report.html
  codelet report session.jsonl --window 1M --prices 1h --policy faithful --policy thrifty -o report.html
  codelet report session.jsonl others/*.jsonl -o report.html

Of several files the first is shown in detail, and the dollars of all together. The page opens in any browser, from disk.";

#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub struct Report {
    /// The recorded conversation, and others to count beside it; without one, or with `-`, standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Where the page goes; it appears whole or not at all [default: standard output, unless that is a terminal]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// The form of the files: `auto`, or one that `codelet formats` lists
    #[arg(long, value_name = "F", default_value = "auto", value_parser = source(), hide_possible_values = true)]
    pub from: Source,

    /// The model's window (200000, 200k, 1M) [default: 200k, or 1M where the recording did not fit into that]
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,

    /// A price card, as `codelet replay` takes it [default: the recorded model's, or else 5m]
    #[arg(long, value_name = "CARD")]
    pub prices: Option<String>,

    /// A policy of `codelet replay`; may be given several times [default: all but off]
    #[arg(long = "policy", value_name = "P", value_parser = policy(), hide_possible_values = true)]
    pub policies: Vec<Policy>,

    /// The probability that what is referred to and not shown is read again
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
    /// One half.
    A,
    /// The other.
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
    /// What `codelet compact --removed` wrote; `-` for standard input
    #[arg(value_name = "REMOVED-FILE")]
    pub file: PathBuf,

    /// The handle, as the marker in the conversation names it; the whole marker will do
    #[arg(value_name = "HANDLE")]
    pub handle: String,

    /// Only these bytes, A up to but not including B, widened to whole characters; either may be left out
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
