//! Options of the commands for recorded conversations.

use super::values::{Source, agent, budget, range, recorded, source, tokens, vendor, written};
use clap::Args;
use codelet_transcript::Format;
use std::ops::Range;
use std::path::PathBuf;

const SESSIONS_HELP: &str = "\
Examples:
  codelet sessions
  codelet inspect @1
  codelet --from @3

@N is a session's number in the list; @ID is part of its id (see --json). Use either in place of the FILE of a recorded session. \
The token count is that of the newest recorded request and its reply.";

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

With --out, links are not followed, and a JSONL file with one conversation per line is compacted line by line. Files that \
the output folder has already are skipped, so repeating the command continues an interrupted run. Exit status: 0 \
everything is compacted, 1 some conversations could not be, 2 bad usage.";

/// Options for reading a recorded conversation.
#[derive(Args, Debug)]
pub struct Reading {
    /// Input format: `auto`, or a name from `codelet formats`
    #[arg(long, value_name = "F", default_value = "auto", value_parser = source(), hide_possible_values = true)]
    pub from: Source,

    /// Continue even if less than 90 % of the file's content could be read
    #[arg(long)]
    pub force: bool,
}

/// Options for selecting and reading the conversations of a file.
#[derive(Args, Debug)]
pub struct Conversations {
    #[command(flatten)]
    pub reading: Reading,

    /// Use only this conversation of a data set or an agent's database, counted from 0 [default: all]
    #[arg(long, value_name = "N")]
    pub index: Option<usize>,
}

#[derive(Args, Debug)]
#[command(after_help = COMPACT_HELP)]
pub struct Compact {
    /// Conversation file, with --out a folder; `-` or none: standard input
    #[arg(value_name = "FILE", value_parser = recorded())]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    pub conversations: Conversations,

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

    /// Compact every conversation in the folder FILE; write each to the same relative path in this one
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
    pub conversations: Conversations,

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
