//! Substitutes for tools and for workers' reports when a recorded job is played again.

use std::{fmt::Debug, sync::Arc};

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
}
