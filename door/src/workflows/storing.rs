//! The change of a workflow in the bucket, with the records of its versions.
//!
//! A writer claims the number of a version, stores the workflow, and then completes the record or
//! withdraws it. A removal takes the versions with it. A process that dies in between leaves what a
//! repeated request ends.

use agents::workflow::{
    read::{Known, read},
    shelf::place,
};
use broker::kv::{Bucket, KvError, Versioned};
use bytes::Bytes;
use proto::{
    door::WorkflowVersion,
    error::{Code, Failure},
    refusal::Text,
    workflow::{Workflow, WorkflowName},
};

use super::{
    verbs::{expect, not_stored, stale},
    versions::{self, Claim},
};
use crate::{Door, bucket::unavailable};

/// Attempts of a removal against others who write.
const RACES_MAX: usize = 10;

/// A workflow to store, with its file and author.
pub(super) struct File<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) text: &'a str,
    pub(super) by: Option<String>,
}

/// A version that has another definition already, and the next free number.
pub(super) struct Taken {
    name: WorkflowName,
    version: u32,
    free: u32,
}

impl Taken {
    pub(super) fn text(&self) -> Text<'_> {
        let Self { name, version, free } = self;
        Text::WorkflowVersionTaken { name, version, free }
    }

    fn failure(&self) -> Failure {
        Failure::of(Code::InvalidRequest, self.text()).at("text").next(Text::RaiseVersion)
    }
}

impl Door {
    /// Stores a workflow in place of `former`, and records the versions of both. Without an expected
    /// revision the last writer wins.
    pub(super) async fn store_workflow(
        &self,
        File { workflow, text, by }: File<'_>,
        former: Option<&Versioned>,
        expected: Option<u64>,
    ) -> Result<u64, Failure> {
        let (kv, name) = (&*self.broker.kv, &workflow.name);
        // An earlier release may have stored it.
        if let Some((version, former)) = former.and_then(|former| unrecorded(name, former)) {
            versions::complete(kv, name, &version, &former).await.map_err(unavailable)?;
        }
        let version = versions::of(workflow, Some(self.clock.now()), by);
        let claim = versions::claim(kv, name, &version, text).await.map_err(unavailable)?;
        if claim == Claim::Taken {
            return Err(self.version_taken(workflow, None).await?.failure());
        }
        let value = Bytes::from(text.to_owned());
        let stored = match expected {
            None => kv.put(Bucket::Workflows, name.as_str(), value).await,
            Some(expected) => kv.update(Bucket::Workflows, name.as_str(), value, expected).await,
        };
        match stored {
            Ok(revision) => {
                versions::complete(kv, name, &version, text).await.map_err(unavailable)?;
                versions::prune(kv, name, version.version).await.map_err(unavailable)?;
                Ok(revision)
            }
            Err(KvError::Conflict(_)) => {
                // Another writer with the same definition relies on the record.
                let winner = self.stored(name).await.ok().flatten();
                let winner = winner.as_ref().and_then(|winner| unrecorded(name, winner));
                let is_other = winner.is_some_and(|(it, _)| it.digest != version.digest);
                if let (Claim::Made(claimed), true) = (claim, is_other) {
                    versions::withdraw(kv, name, workflow.version, claimed).await;
                }
                Err(stale(name))
            }
            Err(
                error @ (KvError::Unavailable(_) | KvError::InvalidKey(_) | KvError::Refused(_)),
            ) => Err(unavailable(error)),
        }
    }

    /// Returns the version of a file if it has another definition already.
    pub(super) async fn taken(
        &self,
        workflow: &Workflow,
        former: Option<&Versioned>,
    ) -> Result<Option<Taken>, Failure> {
        let (kv, name) = (&*self.broker.kv, &workflow.name);
        let recorded = versions::one(kv, name, workflow.version).await.map_err(unavailable)?;
        let former = former.and_then(|former| unrecorded(name, former)).map(|(version, _)| version);
        let known = recorded.map(|recorded| recorded.version).or_else(|| former.clone());
        let is_taken = known.is_some_and(|known| {
            known.version == workflow.version && known.digest != workflow.digest()
        });
        if !is_taken {
            return Ok(None);
        }
        self.version_taken(workflow, former.map(|former| former.version)).await.map(Some)
    }

    /// Returns the version of a file, which has another definition already, with the next free one.
    async fn version_taken(
        &self,
        workflow: &Workflow,
        unrecorded: Option<u32>,
    ) -> Result<Taken, Failure> {
        let (kv, name) = (&*self.broker.kv, &workflow.name);
        let all = versions::all(kv, name).await.map_err(unavailable)?;
        let recorded = all.first().map(|one| one.version.version);
        let highest = recorded.max(unrecorded).max(Some(workflow.version)).unwrap_or_default();
        let (name, version) = (name.clone(), workflow.version);
        Ok(Taken { name, version, free: highest.saturating_add(1) })
    }

    /// Removes a workflow and its versions from the bucket. Returns the revision of the removal.
    pub(super) async fn remove_workflow(
        &self,
        name: &WorkflowName,
        expected: Option<u64>,
    ) -> Result<u64, Failure> {
        let kv = &self.broker.kv;
        for _ in 0..RACES_MAX {
            let Some(former) = self.stored(name).await? else {
                // Those that a removal left whose process died.
                versions::forget(&**kv, name, u64::MAX).await.map_err(unavailable)?;
                return Err(self.workflows.look(|shelf| not_stored(shelf, name)));
            };
            expect(name, expected, Some(&former))?;
            match kv.delete_at(Bucket::Workflows, name.as_str(), former.revision).await {
                Ok(revision) => {
                    versions::forget(&**kv, name, revision).await.map_err(unavailable)?;
                    return Ok(revision);
                }
                // Another writer was faster. Its change is what this request removes.
                Err(KvError::Conflict(_)) => {}
                Err(error) => return Err(unavailable(error)),
            }
        }
        Err(unavailable(KvError::Conflict(name.to_string())))
    }
}

/// Returns the version of the bucket's value with its file, or `None` if the file cannot be read.
fn unrecorded(name: &WorkflowName, value: &Versioned) -> Option<(WorkflowVersion, String)> {
    let text = String::from_utf8(value.value.to_vec()).ok()?;
    let read = read(&place(name), &text, &Known::default()).ok()?;
    Some((versions::of(&read.workflow, None, None), text))
}
