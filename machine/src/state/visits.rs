//! The visits of a workflow, in the order in which paths entered nodes. The place of the workflow
//! ([`Graph`](super::Graph)) holds only what further moves depend on; this is the record of the way.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use jiff::Timestamp;
use proto::{
    step::StepState,
    workflow::{Expression, Key, Move, Path, Target, Visit, Workflow, WorkflowEnd},
};

/// The visits of a workflow. They are as many as the workflow allows, at most
/// [`STEPS_MAX`](proto::workflow::STEPS_MAX).
#[derive(Debug, Clone, Default)]
pub(crate) struct Visits {
    all: Vec<Visited>,
    /// Keys that were written since the last visit ended.
    written: Vec<Key>,
    /// Beginnings and ends of the last advance, in their order.
    trail: Vec<Trail>,
    /// Digest of the definition, once it was asked for.
    digest: Digest,
}

/// A digest that is computed once. It is no part of the state: folds with and without it are equal.
#[derive(Clone, Default)]
struct Digest(Arc<OnceLock<String>>);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

/// A visit of a node.
#[derive(Debug, Clone)]
pub(crate) struct Visited {
    pub(crate) visit: Visit,
    pub(crate) path: Path,
    pub(crate) entered: Timestamp,
    pub(crate) writes: Vec<Key>,
    pub(crate) end: Option<VisitedEnd>,
}

/// The end of a visit, and its time.
#[derive(Debug, Clone)]
pub(crate) struct VisitedEnd {
    pub(crate) at: Timestamp,
    pub(crate) over: Over,
}

/// The ends of a visit.
#[derive(Debug, Clone)]
pub(crate) enum Over {
    /// The path went on.
    Left { to: Target, when: Option<Expression>, error: Option<String> },
    /// The path ended with an error.
    Failed(String),
    /// The path ended with the workflow, or was cancelled.
    Stopped(StepState),
}

/// A beginning or an end of a visit, by its place among all visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trail {
    Entered(usize),
    Ended(usize),
}

impl Visits {
    pub(crate) fn all(&self) -> &[Visited] {
        &self.all
    }

    /// Returns the beginnings and ends of visits in the last advance.
    pub(crate) fn trail(&self) -> impl Iterator<Item = (Trail, &Visited)> {
        self.trail.iter().filter_map(|one| {
            let (Trail::Entered(place) | Trail::Ended(place)) = one;
            Some((*one, self.all.get(*place)?))
        })
    }

    /// Returns the digest of the job's workflow, which is computed once.
    pub(crate) fn digest(&self, definition: &Workflow) -> &str {
        self.digest.0.get_or_init(|| definition.digest())
    }

    /// Drops the digest after the definition has changed.
    pub(crate) fn forget_digest(&mut self) {
        self.digest = Default::default();
    }

    /// Begins the record of another advance.
    pub(crate) fn begin_advance(&mut self) {
        self.trail.clear();
        self.written.clear();
    }

    /// Records an applied move, and the visits that it cancelled.
    pub(crate) fn record(&mut self, one: &Move, canceled: &[Visit], at: Timestamp) {
        match one {
            Move::Enter { visit, path, work: _ } => {
                self.trail.push(Trail::Entered(self.all.len()));
                self.all.push(Visited {
                    visit: visit.clone(),
                    path: path.clone(),
                    entered: at,
                    writes: Vec::new(),
                    end: None,
                });
            }
            Move::Write { key, value: _ } => self.written.push(key.clone()),
            Move::Leave { visit, to, when, error } => {
                let (to, when, error) = (to.clone(), when.clone(), error.clone());
                self.end(|one| one.visit == *visit, Over::Left { to, when, error }, at);
            }
            Move::Split { .. } | Move::Receive { .. } => {}
            Move::Arrive { path, error: Some(error), collected: _ } => {
                self.end(|one| one.path == *path, Over::Failed(error.clone()), at);
            }
            Move::Arrive { error: None, .. } => {}
            Move::Join { .. } => self.stop(canceled, StepState::Skipped, at),
            Move::End { end } => {
                self.end_main(end, at);
                self.stop(canceled, StepState::Canceled, at);
            }
        }
    }

    /// Ends the visit from which the workflow ended: that of its only path. Beside other paths the
    /// main one waits for them, and is cancelled as they are.
    fn end_main(&mut self, end: &WorkflowEnd, at: Timestamp) {
        let mut open = self.all.iter().filter(|one| one.end.is_none());
        let (Some(Visited { path: Path::Main, .. }), None) = (open.next(), open.next()) else {
            return;
        };
        let over = match end {
            WorkflowEnd::Completed { .. } => Over::Stopped(StepState::Completed),
            WorkflowEnd::Failed { message, .. } => Over::Failed(message.clone()),
        };
        self.end(|one| one.path == Path::Main, over, at);
    }

    fn stop(&mut self, visits: &[Visit], state: StepState, at: Timestamp) {
        for visit in visits {
            self.end(|one| one.visit == *visit, Over::Stopped(state), at);
        }
    }

    /// Ends the newest open visit that matches; without one, nothing.
    fn end(&mut self, is: impl Fn(&Visited) -> bool, over: Over, at: Timestamp) {
        let writes = std::mem::take(&mut self.written);
        let newest = self.all.iter().rposition(|one| one.end.is_none() && is(one));
        let Some(place) = newest else { return };
        if let Some(one) = self.all.get_mut(place) {
            one.writes = writes;
            one.end = Some(VisitedEnd { at, over });
            self.trail.push(Trail::Ended(place));
        }
    }
}

impl Visited {
    pub(crate) fn over(&self) -> Option<&Over> {
        self.end.as_ref().map(|end| &end.over)
    }

    /// Returns the error that ended the visit.
    pub(crate) fn error(&self) -> Option<&str> {
        match self.over()? {
            Over::Left { error, .. } => error.as_deref(),
            Over::Failed(error) => Some(error),
            Over::Stopped(_) => None,
        }
    }
}
