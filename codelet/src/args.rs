//! The command line: commands, options and their help.

mod gateway;
mod mcp;
mod recorded;
mod replay;
mod session;
mod values;

pub use self::values::tokens;
pub use self::{gateway::*, mcp::*, recorded::*, replay::*, session::*};

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Cyan.on_default().bold())
    .usage(AnsiColor::Cyan.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Yellow.on_default());

// One line per paragraph: clap wraps them to the terminal's width.
const AFTER_HELP: &str = "\
Example: compact a recorded session to 40,000 tokens, show what happens to each message, and save what is removed:

  codelet compact session.jsonl --budget 40k --explain \\
      -o small.json --removed gone.jsonl

Exit status: 0 success (with -p: a final answer), 1 task failed, 2 usage, settings or input error, 3 no answer from \
the provider, 4 conversation too long, 5 no answer matched --schema, 130 interrupted.";

/// A terminal coding agent that compacts its context in milliseconds, without a model call.
///
/// Without arguments it starts an interactive session; other words are sent as its first prompt. With -p it works on
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
    /// Checks that tool calls and results match, that calls of the vendor's own tools are complete, that roles alternate as required, that no message is empty, and that system messages are where they may be.
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
    /// Prints exactly its bytes, without a final newline.
    Restore(Restore),
    /// List the sessions that agents on this machine have recorded
    ///
    /// Lists what each agent keeps on this machine, newest first. Reads only the beginning and the end of each file, and of a database its
    /// list of sessions. Nothing leaves the machine.
    Sessions(Sessions),
    /// Compact the conversations of other agents on their way to the provider
    ///
    /// Starts a local server between an agent and its provider. It compacts conversations as a session of codelet does, and
    /// passes everything else through unchanged. API keys are passed on and not stored.
    Gateway(Gateway),
    /// Run another agent through a gateway, which compacts its conversation
    ///
    /// Starts `codelet gateway` on a free port, sets it as the agent's provider, and prints the totals at the end.
    Run(Run),
    /// Print a text that the gateway removed from a conversation
    ///
    /// The agent's model runs this command in the agent's shell; the markers in the conversation name it.
    Recall(Recall),
    /// Work in an editor, over the Agent Client Protocol
    ///
    /// The editor starts it and talks to it over standard input and output (version 1 of the protocol). Sessions work in the
    /// directory that the editor names, with your settings. The options override the settings.
    Acp(Acp),
    /// List the supported conversation formats
    Formats,
    /// Watch the agent work on a small task; needs no key and no network
    ///
    /// A recorded model fixes a bug in a temporary directory with the real tools. The context window is so small that the
    /// conversation is compacted on the way.
    Demo(Demo),
    /// Show each setting and where it comes from
    Settings(DirectoryArgs),
    /// Check whether a session can work here: settings, key, provider, sandbox
    ///
    /// Checks settings, model, API key, certificates, provider, sandbox, git, instructions, MCP servers and terminal, and says what to do
    /// about each problem. Asks the provider only for its list of models, which costs nothing.
    Doctor(Doctor),
    /// List known models with their context windows and prices
    Models(Models),
    /// Check the configured MCP servers
    ///
    /// Starts them as a session does, and shows what each offers, its startup time, and errors.
    #[command(subcommand)]
    Mcp(Mcp),
    /// Print a shell completion script
    Completions(Completions),
    /// Print the manual page of codelet or of one command
    Man(Man),
}

#[derive(Args, Debug)]
pub struct Models {
    /// Only models whose names contain all of these words, such as `sonnet 5.5`
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pub search: Vec<String>,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  codelet completions bash > ~/.local/share/bash-completion/completions/codelet
  codelet completions zsh > ~/.zfunc/_codelet
  codelet completions fish > ~/.config/fish/completions/codelet.fish";

#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_HELP)]
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
#[command(after_help = MAN_HELP)]
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
pub struct DirectoryArgs {
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
#[command(after_help = DOCTOR_HELP)]
pub struct Doctor {
    /// Do not ask the provider
    #[arg(long)]
    pub offline: bool,

    /// Print the checks as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub place: DirectoryArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Codelet::command().debug_assert();
    }
}
