//! The part of a planner's request that does not depend on the job: the system message and the
//! functions that the model may call.

use std::sync::Arc;

use agents::toolbox::Toolbox;
use proto::{asking, decision::PlanWork, message::ToolOffer, policy::PlanOutput};
use quick_cache::sync::Cache;

use crate::{prompt, protocol, words::Text};

/// Maximum number of openings in memory: one for each agent, language, form of planning and state of the
/// registry.
const OPENINGS_MAX: usize = 64;

/// A system message and the functions that are offered with it.
#[derive(Debug, PartialEq)]
pub(crate) struct Opening {
    pub(super) system: String,
    pub(super) offers: Vec<ToolOffer>,
}

impl Opening {
    /// Builds the opening of a command. Equal commands and tools give equal openings.
    pub(crate) fn new(work: &PlanWork, tools: &Toolbox<'_>) -> Self {
        Self { system: prompt::system(work, tools.offered()), offers: offers(work) }
    }
}

/// The most recent openings. The text about a hundred tools takes longer to write than a small plan
/// takes to store, and jobs of one agent share it.
#[derive(Debug)]
pub(crate) struct Openings(Cache<String, Arc<Opening>>);

impl Default for Openings {
    fn default() -> Self {
        Self(Cache::new(OPENINGS_MAX))
    }
}

impl Openings {
    /// Returns the opening of a command. `registered` is the digest of the registry that the tools are
    /// from.
    pub(crate) fn get(
        &self,
        work: &PlanWork,
        registered: &str,
        tools: &Toolbox<'_>,
    ) -> Arc<Opening> {
        let Some(key) = key(work, registered) else { return Arc::new(Opening::new(work, tools)) };
        if let Some(opening) = self.0.get(&key) {
            return opening;
        }
        let opening = Arc::new(Opening::new(work, tools));
        self.0.insert(key, Arc::clone(&opening));
        opening
    }
}

/// Returns everything that an opening depends on, as JSON.
fn key(work: &PlanWork, registered: &str) -> Option<String> {
    let model = &work.model;
    let tools = (registered, &model.tools, &model.presets, &model.agents);
    let form = (work.language, work.protocol, work.output, work.may_be_empty);
    let asking = (work.may_ask, &work.ask_kinds);
    serde_json::to_string(&(tools, form, asking, &model.system)).ok()
}

/// Returns the functions to offer: a question, unless asking is an ordinary action, and the
/// delivery of the plan.
fn offers(work: &PlanWork) -> Vec<ToolOffer> {
    let mut offers = Vec::new();
    if work.output == PlanOutput::Tool {
        offers.push(ToolOffer {
            name: protocol::function(work.protocol).to_owned(),
            description: Text::HandOver.text(work.language),
            schema: protocol::schema(work.protocol, work.may_be_empty),
        });
    }
    if work.may_ask && !work.protocol.is_turn_by_turn() {
        offers.push(asking::offer(work.language, &work.ask_kinds));
    }
    offers
}

#[cfg(test)]
mod tests;
