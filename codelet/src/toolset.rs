//! `--tools` and `--no-tools`: the selection of a session's tools.

use crate::args::Chat;
use crate::exit::Failure;
use crate::paint::{clean, clip};
use crate::settings::Settings;
use codelet_agent::permission::fits;
use codelet_agent::skills;
use codelet_agent::tool::{Refreshed, Tool, ToolSource};
use codelet_text::near;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// The separator between a server's name and its tool's name.
const OF_SERVER: &str = "__";
/// The tool that restores removed content. It is always available, since markers in the conversation name it.
const RECALL: &str = "Recall";

/// The tools selected on the command line; all by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Toolset(Option<Vec<String>>);

impl Toolset {
    /// Returns the selection on the command line.
    pub fn of(chat: &Chat) -> Self {
        let is_name = |name: &String| !name.is_empty();
        let named = || {
            chat.tools
                .iter()
                .map(|name| name.trim().to_owned())
                .filter(is_name)
                .collect()
        };
        Toolset((chat.no_tools || !chat.tools.is_empty()).then(named))
    }

    /// Returns the selected ones of the session's own tools. Servers without a selected tool are not started.
    ///
    /// # Errors
    /// If a name matches no tool and no tool that a server in the settings could have.
    pub fn own(&self, tools: Vec<Arc<dyn Tool>>, settings: &mut Settings) -> Result<Vec<Arc<dyn Tool>>, Failure> {
        let Some(chosen) = &self.0 else {
            return Ok(tools);
        };
        let name = |tool: &Arc<dyn Tool>| tool.spec().name.to_string();
        let own: Vec<String> = tools.iter().map(name).chain([skills::TOOL.to_owned()]).collect();
        for wanted in chosen {
            let server = wanted.split_once(OF_SERVER).map(|(server, _)| server);
            let is_known = own.contains(wanted) || server.is_some_and(|server| settings.mcp.contains_key(server));
            if !is_known {
                return Err(unknown(wanted, &own, settings));
            }
        }
        let is_needed = |server: &String| {
            let of = |wanted: &String| wanted.split_once(OF_SERVER).is_some_and(|(named, _)| named == server);
            chosen.iter().any(of)
        };
        for (server, file) in &mut settings.mcp {
            if !is_needed(server) {
                file.disable();
            }
        }
        let is_chosen = |tool: &Arc<dyn Tool>| {
            let name = name(tool);
            chosen.contains(&name) || name == RECALL && !chosen.is_empty()
        };
        Ok(tools.into_iter().filter(is_chosen).collect())
    }

    /// Returns whether the model gets skills, if there are any.
    pub fn has_skills(&self) -> bool {
        let is_chosen = |chosen: &Vec<String>| chosen.iter().any(|name| name == skills::TOOL);
        self.0.as_ref().is_none_or(is_chosen)
    }

    /// Returns a source of the selected server tools, which follows changes of a server's list.
    pub fn source(&self, offers: Arc<dyn ToolSource>) -> Arc<dyn ToolSource> {
        match &self.0 {
            None => offers,
            Some(chosen) => Arc::new(Chosen {
                offers,
                names: chosen.clone(),
            }),
        }
    }

    /// Returns notices about names that no server offers.
    pub fn missing(&self, offers: &dyn ToolSource) -> Vec<String> {
        let offered: Vec<String> = offers.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
        let wanted = self.0.iter().flatten().filter(|wanted| wanted.contains(OF_SERVER));
        wanted
            .filter(|wanted| !offered.iter().any(|name| fits(wanted, name)))
            .map(|wanted| {
                let meant = near::hint(wanted, offered.iter().map(String::as_str));
                format!(
                    "no server offers a tool {} now (--tools){meant}",
                    clean(&clip(wanted, 60))
                )
            })
            .collect()
    }
}

fn unknown(wanted: &str, own: &[String], settings: &Settings) -> Failure {
    let servers: Vec<String> = settings
        .mcp
        .keys()
        .map(|server| format!("{server}{OF_SERVER}*"))
        .collect();
    let known: Vec<&str> = own.iter().chain(&servers).map(String::as_str).collect();
    let meant = match wanted.split_once(OF_SERVER) {
        Some((server, tool)) => near::nearest(server, settings.mcp.keys().map(String::as_str))
            .map_or(String::new(), |server| {
                format!("; did you mean {server}{OF_SERVER}{tool}?")
            }),
        None => near::hint(wanted, known.iter().copied()),
    };
    Failure::Told(format!(
        "--tools: unknown tool {}; the tools are {}{meant}",
        clean(&clip(wanted, 60)),
        known.join(", ")
    ))
}

/// A filtered source of tools.
struct Chosen {
    offers: Arc<dyn ToolSource>,
    names: Vec<String>,
}

impl Chosen {
    fn only(&self, mut tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
        tools.retain(|tool| self.names.iter().any(|wanted| fits(wanted, &tool.spec().name)));
        tools
    }
}

impl ToolSource for Chosen {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.only(self.offers.tools())
    }

    fn refresh(&self) -> BoxFuture<'_, Refreshed> {
        Box::pin(async {
            let Refreshed { tools, notices } = self.offers.refresh().await;
            let tools = tools.map(|tools| self.only(tools));
            Refreshed { tools, notices }
        })
    }
}
