//! The edits of the graph of a running job.

use proto::workflow::WorkflowRun;
use serde_json::json;

use super::missing;
use crate::{
    at::Counted,
    state::{ActiveJob, EditRefusal, Job},
};

impl Job {
    /// Returns the reason why the job would not replace its graph by that of `run` now, or `None` if
    /// it would. `base` is the number of edits that the sender knows of.
    #[must_use]
    pub fn refuses_edit(&self, base: u32, run: &WorkflowRun) -> Option<EditRefusal> {
        match &self.open {
            Some(open) => open.refuses_edit(base, run),
            None => Some(EditRefusal::NoWorkflow),
        }
    }

    /// Returns the workflow of the job as it is now, with the number of edits that count, or `None`
    /// for a job without one.
    #[must_use]
    pub fn workflow(&self) -> Option<(&WorkflowRun, u32)> {
        let graph = self.open.as_ref()?.graph.as_deref()?;
        Some((graph.run(), graph.revision()))
    }
}

impl ActiveJob {
    fn refuses_edit(&self, base: u32, run: &WorkflowRun) -> Option<EditRefusal> {
        let Some(graph) = self.graph.as_deref() else { return Some(EditRefusal::NoWorkflow) };
        if let Some(node) = missing(&run.definition) {
            return Some(EditRefusal::Missing { node: node.clone() });
        }
        let refused = run
            .tools
            .iter()
            .find_map(|(tool, binding)| self.not_granted(tool, binding, &json!({})));
        if let Some((_, why)) = refused {
            return Some(EditRefusal::NotGranted { why });
        }
        graph.refuses_edit(base, run)
    }

    /// Replaces the graph, and counts the edit if the paths have their places in the new one.
    pub(crate) fn edit_graph(&mut self, base: u32, run: &WorkflowRun) -> Counted {
        if self.refuses_edit(base, run).is_some() {
            return Counted::No;
        }
        let edited = self.graph.as_mut().is_some_and(|graph| graph.edit(base, run).is_ok());
        self.visits.forget_digest();
        Counted::from(edited)
    }
}
