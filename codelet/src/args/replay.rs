//! Options of the commands that replay recorded sessions.

use super::values::{policy, probability, recorded, window};
use super::{Conversations, Reading};
use clap::Args;
use codelet_replay::policy::Policy;
use std::path::PathBuf;

const REPLAY_HELP: &str = "\
Examples:
  codelet replay session.jsonl
  codelet replay sessions/ --window 1M --prices 1h --policy never --policy faithful
  codelet replay sessions/ --json | jq '.totals[] | {policy, ratio, recall}'

Policies (all compact when a request would not fit in the context window):
  never           edit nothing until the context window is full
  mask-10         mask all tool outputs but the last ten
  clear-100k      above 100k tokens, clear all tool outputs but the last three
  faithful, balanced, thrifty, off
                  as --policy of a session; off runs only if named

Columns: share is the cost compared with `never`, with its 95 % interval and p95, the 95th percentile of the sessions; hits, the prompt tokens read from the cache; broken and cold, the cache misses after edits and after the cache expired; recall, how much of what later replies refer to was still in the context window.

If a recording has no times, the cache is assumed to stay warm. Files that cannot be read are reported and skipped.";

#[derive(Args, Debug)]
#[command(after_help = REPLAY_HELP)]
pub struct Replay {
    /// Recorded sessions, or directories of them
    #[arg(value_name = "FILE", required = true, value_parser = recorded())]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub conversations: Conversations,

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

    /// Number of the conversation in a data set or an agent's database, from 0
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

/// The cache lifetime.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Ttl {
    /// Five minutes.
    #[value(name = "5m")]
    Minutes,
    /// An hour.
    #[value(name = "1h")]
    Hour,
}

/// The half of the files to replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum WhichHalf {
    /// The first half.
    A,
    /// The second half.
    B,
    /// Both.
    All,
}
