//! An edit of a graph that a person requested.

use proto::{
    fact::Signaled,
    id::Seq,
    workflow::{GraphChanges, WorkflowRun},
};

/// An edit that a person requested. It comes into force with the supervisor's next decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EditRequest {
    /// Position of the signal.
    pub(crate) seq: Seq,
    /// Changes, the reason and the person.
    pub(crate) said: EditWords,
    run: WorkflowRun,
}

/// The words about an edit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EditWords {
    /// Word of the signal.
    pub(crate) signal: &'static str,
    pub(crate) changes: GraphChanges,
    pub(crate) reason: Option<String>,
    pub(crate) by: Option<String>,
}

impl EditRequest {
    pub(crate) fn new(
        seq: Seq,
        signaled: &Signaled,
        changes: &GraphChanges,
        run: &WorkflowRun,
    ) -> Self {
        let Signaled { reason, by, .. } = signaled;
        let said = EditWords {
            signal: signaled.signal.word(),
            changes: changes.clone(),
            reason: reason.clone(),
            by: by.clone(),
        };
        Self { seq, said, run: run.clone() }
    }

    pub(crate) fn run(&self) -> &WorkflowRun {
        &self.run
    }
}
