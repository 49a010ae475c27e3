//! The workflows that submissions, agents and nodes may name, kept current in memory: those of the
//! bucket, which take precedence, and the built-in ones.

mod entry;
mod storing;
mod verbs;
mod versions;

use std::collections::BTreeSet;

use agents::workflow::shelf::{Shelf, WORKFLOWS_MAX};
use broker::{
    Broker,
    kv::{Bucket, Change, KvError},
};
use proto::{
    error::{Code, Failure},
    refusal::Text,
    workflow::WorkflowName,
};

use crate::bucket::{Followed, Kept};

/// All workflows of the installation. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workflows(Followed<Shelf>);

impl Workflows {
    /// Returns the built-in workflows, which never change.
    #[must_use]
    pub fn built_in() -> Self {
        Self(Followed::fixed(Shelf::default()))
    }

    /// Reads the bucket, and follows it from then on.
    ///
    /// # Errors
    /// Returns an error if the bucket cannot be read at first. Later failures lead to a new read.
    pub async fn open(broker: &Broker) -> Result<Self, KvError> {
        Followed::open(broker, Shelf::default()).await.map(Self)
    }

    /// Returns the revision of the bucket's value of a name; `None` for a name without one.
    #[must_use]
    pub fn revision(&self, name: &WorkflowName) -> Option<u64> {
        self.look(|shelf| shelf.revision(name))
    }

    /// Calls `look` with all workflows.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Shelf) -> T) -> T {
        self.0.look(look)
    }

    fn change(&self, change: impl FnOnce(&mut Shelf)) {
        self.0.change(change);
    }
}

impl Kept for Shelf {
    const BUCKET: Bucket = Bucket::Workflows;

    fn passes_over(key: &str) -> bool {
        versions::parse(key).is_some()
    }

    fn fill(&mut self, present: Vec<Change>) {
        let names: BTreeSet<WorkflowName> = present.iter().filter_map(name_of).collect();
        self.keep(&names);
        present.into_iter().for_each(|change| self.apply(change));
    }

    fn apply(&mut self, change: Change) {
        let Some(name) = name_of(&change) else { return };
        match change {
            Change::Put(put) => {
                if !self.put(name.clone(), put.revision, &put.value) {
                    tracing::warn!(workflow = %name, "the bucket has more than {WORKFLOWS_MAX} workflows; the workflow is ignored");
                }
                warn(self, &name);
            }
            Change::Deleted(_) => self.remove(&name),
            Change::Foreign(_) => {
                self.put_foreign(name.clone());
                tracing::error!(workflow = %name, "the server wrote to the bucket of workflows on behalf of a client; the value is ignored");
            }
            Change::CaughtUp => {}
        }
    }
}

fn name_of(change: &Change) -> Option<WorkflowName> {
    let key = match change {
        Change::Put(put) => &put.key,
        Change::Foreign(key) | Change::Deleted(key) => key,
        Change::CaughtUp => return None,
    };
    let name = WorkflowName::new(key).ok();
    if name.is_none() && versions::parse(key).is_none() {
        tracing::warn!(
            "the bucket of workflows has a key that is not a workflow name; the key is ignored"
        );
    }
    name
}

/// Logs what is wrong with a workflow. Details may quote user content and are logged at debug level.
fn warn(shelf: &Shelf, name: &WorkflowName) {
    if let Some(Err(mistakes)) = shelf.entry(name).map(|entry| entry.brief) {
        tracing::warn!(workflow = %name, mistakes = mistakes.0.len(), "a workflow of the bucket is invalid");
        tracing::debug!(workflow = %name, %mistakes, "the errors of the workflow");
    }
}

/// Returns the failure of a request that names an unknown workflow in a field.
pub(crate) fn unknown(shelf: &Shelf, name: &WorkflowName, code: Code, field: &str) -> Failure {
    let why = match &shelf.meant(name) {
        Some(meant) => Failure::about(code, field, Text::WorkflowUnknownNear { name, meant }),
        None => Failure::about(code, field, Text::WorkflowUnknown { name }),
    };
    why.next(Text::SeeWorkflows)
}
