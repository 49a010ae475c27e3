//! Substitutes for tools, models, agents and workers' reports, when a recorded job is played again or
//! a user's agent is tested.

use std::{fmt::Debug, sync::Arc};

use agents::catalogue::Catalogue;
use model::{Model, script::ScriptModel};
use proto::fact::Fact;
use tool_actors::{InvalidToolset, Toolset};

use crate::tools::Bench;

/// The props of a process.
pub(crate) trait Props: Debug + Send + Sync {
    /// The tools that the process offers.
    ///
    /// # Errors
    /// An error is returned when two tools have the same name.
    fn toolset(self: Arc<Self>, bench: &Bench) -> Result<Toolset, InvalidToolset>;

    /// The fact that is stored in place of the one that a worker reports; nothing when the worker
    /// dies before it reports.
    fn report(&self, fact: &Fact) -> Option<Fact>;

    /// The model as the process reaches it.
    fn model(&self, script: ScriptModel, _: &Bench) -> Arc<dyn Model> {
        Arc::new(script)
    }

    /// The agents that submissions may name; `None` for the presets.
    fn agents(&self) -> Option<Catalogue> {
        None
    }
}
