//! The edits of the graph of a running job.

use proto::{
    decision::Note,
    id::Seq,
    workflow::{Key, WorkflowRun},
};
use serde_json::{Value, json};

use super::missing;
use crate::{
    at::Counted,
    state::{ActiveJob, EditRefusal, EditRequest, Job},
};

impl Job {
    /// Returns the reason why the job would not replace its graph by that of `run` now, or `None` if
    /// it would. `base` is the number of changes that the sender knows of.
    #[must_use]
    pub fn refuses_edit(&self, base: u32, run: &WorkflowRun) -> Option<EditRefusal> {
        match &self.open {
            Some(open) => open.refuses_edit(base, run),
            None => Some(EditRefusal::NoWorkflow),
        }
    }

    /// Returns the value of a key of the workflow's state, if it has one.
    #[must_use]
    pub fn workflow_value(&self, key: &Key) -> Option<&Value> {
        self.open.as_ref()?.graph.as_deref()?.state().get(key)
    }

    /// Returns `true` while an edit of the graph was requested and is not in force.
    #[must_use]
    pub fn has_requested_edit(&self) -> bool {
        let graph = self.open.as_ref().and_then(|open| open.graph.as_deref());
        graph.is_some_and(|graph| graph.requested_edit().is_some())
    }

    /// Returns `true` if the edit of this signal came into force, and no later one was decided on.
    #[must_use]
    pub fn took_up_edit(&self, signal: Seq) -> bool {
        let graph = self.open.as_ref().and_then(|open| open.graph.as_deref());
        graph.is_some_and(|graph| graph.took_up(signal))
    }

    /// Returns the workflow of the job as it is now, with the number of changes of the graph, or `None`
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

    /// Keeps an edit until it comes into force, and counts it if the paths have their places in the
    /// new graph.
    pub(crate) fn request_edit(&mut self, base: u32, request: EditRequest) -> Counted {
        if self.refuses_edit(base, request.run()).is_some() {
            return Counted::No;
        }
        let Some(graph) = self.graph.as_mut() else { return Counted::No };
        graph.request_edit(request);
        Counted::Yes
    }

    /// Returns the note with which a requested edit comes into force.
    pub(crate) fn edit_note(&self) -> Option<Note> {
        let signal = self.graph.as_ref()?.requested_edit()?.seq;
        Some(Note::GraphEdited { signal, generation: self.generation() })
    }

    /// Puts the requested edit in force. Returns `false` if no such edit was requested.
    pub(crate) fn edited_graph(&mut self, signal: Seq) -> bool {
        self.visits.forget_digest();
        self.graph.as_mut().is_some_and(|graph| graph.edit(signal))
    }
}
