//! A session with its tools, servers, prompts and hooks, the same for every command that starts one.

use crate::exit::Failure;
use crate::fallback::Standby;
use crate::hooks::Hook;
use crate::hooks::runner::{Runner, Waits};
use crate::place::Place;
use crate::settings::Settings;
use crate::startup;
use crate::takeover::{self, Recording, TakenOver};
use crate::toolset::Toolset;
use crate::transcript::Transcript;
use crate::world::{self, Equipment};
use codelet_agent::environment::Surroundings;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::Model;
use codelet_agent::permission::Gate;
use codelet_agent::prompts::PromptSource;
use codelet_agent::session::{Parts, Session};
use codelet_agent::tool::Tool;
use codelet_mcp::Offers;
use codelet_tools::Reach;
use std::sync::Arc;

/// A session that has its model and tools, but no servers yet.
pub struct Assembly<'a> {
    /// The settings, in which servers without a selected tool are disabled.
    pub settings: Settings,
    place: &'a Place,
    model: Box<dyn Model>,
    standby: Standby,
    toolset: Toolset,
    equipment: Equipment,
    /// Runs at the session's events.
    pub hooks: Vec<Hook>,
    /// Holds the hooks that the session waits for.
    pub waits: Waits,
    /// The transcript to write.
    pub transcript: Option<&'a Transcript>,
    /// The conversation to continue.
    pub recorded: Option<Recording>,
}

/// A session that is ready to start.
pub struct Assembled {
    pub session: Session,
    /// The servers.
    pub offers: Arc<Offers>,
    /// The prompts that can be used as commands.
    pub prompts: Arc<dyn PromptSource>,
    /// Notices for the user.
    pub notices: Vec<String>,
    /// Information about the continued conversation.
    pub taken: Option<TakenOver>,
}

impl<'a> Assembly<'a> {
    /// Equips a session with its tools.
    ///
    /// # Errors
    /// If the toolset names an unknown tool.
    pub fn new(
        settings: &Settings,
        place: &'a Place,
        (model, standby): (Box<dyn Model>, Standby),
        toolset: Toolset,
    ) -> Result<Self, Failure> {
        let mut settings = settings.clone();
        let mut equipment = world::equipment(&settings, place, &*model);
        equipment.tools = toolset.own(equipment.tools, &mut settings)?;
        Ok(Assembly {
            settings,
            place,
            model,
            standby,
            toolset,
            equipment,
            hooks: Vec::new(),
            waits: Waits::default(),
            transcript: None,
            recorded: None,
        })
    }

    /// Returns the model.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Returns the permissions of the tools.
    pub fn reach(&self) -> Reach {
        self.equipment.reach.clone()
    }

    /// Begins what the first prompt needs, if it follows at once.
    pub fn begin(&self) {
        self.equipment.surroundings.ask_ahead();
    }

    /// Returns the surroundings.
    pub fn surroundings(&self) -> Arc<dyn Surroundings> {
        self.equipment.surroundings.clone()
    }

    /// Returns the tool for command lines that the user types.
    pub fn shell(&self) -> Option<Arc<dyn Tool>> {
        world::shell(&self.settings, self.place)
    }

    /// Connects the servers, unless `skip` is thrown, and assembles the session.
    pub async fn assembled(self, gate: Arc<dyn Gate>, skip: &Interrupt) -> Assembled {
        let Assembly {
            settings,
            place,
            model,
            standby,
            toolset,
            equipment,
            ..
        } = self;
        let connected = world::servers(&settings, place, &*model, skip).await;
        let offers = connected.offers;
        let mut notices = startup::notices(&settings, &*model);
        notices.extend(equipment.notices.into_iter().chain(connected.notices));
        notices.extend(toolset.missing(&*offers));
        let surroundings: Arc<dyn Surroundings> = equipment.surroundings;
        let (prompts, told) = world::prompts(&surroundings, offers.clone());
        notices.extend(told);
        let parts = Parts {
            model: model.into(),
            tools: equipment.tools,
            gate,
            world: surroundings,
        };
        let mut session = Session::new(parts, startup::session_settings(&settings, toolset.has_skills()));
        session.served_by(toolset.source(offers.clone()));
        let reach = equipment.reach;
        Runner::serve(
            self.hooks,
            &mut session,
            self.transcript,
            (place, reach.clone()),
            self.waits,
        );
        notices.extend(standby.serve(&mut session, reach));
        let taken = self
            .recorded
            .map(|recorded| takeover::go_on(&mut session, recorded, place));
        if let Some(transcript) = self.transcript {
            session.kept_by(transcript.kept());
        }
        Assembled {
            session,
            offers,
            prompts,
            notices,
            taken,
        }
    }
}
