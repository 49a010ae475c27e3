//! The versions of the workflows in the bucket: each under a key of its own beside the workflow,
//! `<workflow>.<version>`.
//!
//! A version has one definition. A writer creates the key of a version before it stores the workflow,
//! so of two writers with one number and different definitions the second is refused. A process that
//! dies in between leaves a version that was never in force; a repeated request completes it.

use broker::kv::{Bucket, Kv, KvError, Versioned};
use bytes::Bytes;
use jiff::Timestamp;
use proto::{
    door::WorkflowVersion,
    limits::WORKFLOW_VERSIONS_MAX,
    workflow::{Workflow, WorkflowName},
};
use serde::{Deserialize, Serialize};

/// A recorded version with its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) version: WorkflowVersion,
    pub(super) text: String,
    /// Revision of the bucket at the record.
    revision: u64,
}

/// The first line of a record. The file follows it as it is, because its characters would need more
/// bytes in JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

/// Attempts of a claim against others who write the same number.
const RACES_MAX: usize = 10;

/// The outcome of a claim of a version.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The version is the writer's own. The number is the revision of the record.
    Made(u64),
    /// The version was recorded before with this definition.
    Same,
    /// The version has another definition.
    Taken,
}

/// Returns the workflow's name and the version in a key of a version.
pub(super) fn parse(key: &str) -> Option<(WorkflowName, u32)> {
    let (name, version) = key.split_once('.')?;
    Some((WorkflowName::new(name).ok()?, version.parse().ok()?))
}

fn key(name: &WorkflowName, version: u32) -> String {
    format!("{name}.{version}")
}

/// Creates the version that a file states.
pub(super) fn of(
    workflow: &Workflow,
    time: Option<Timestamp>,
    by: Option<String>,
) -> WorkflowVersion {
    WorkflowVersion { version: workflow.version, digest: workflow.digest(), time, by }
}

/// Records a version unless its number is taken. A record that cannot be read is replaced.
pub(super) async fn claim(
    kv: &dyn Kv,
    name: &WorkflowName,
    version: &WorkflowVersion,
    text: &str,
) -> Result<Claim, KvError> {
    let key = key(name, version.version);
    let mut expected = 0;
    for _ in 0..RACES_MAX {
        match kv.update(Bucket::Workflows, &key, written(version, text), expected).await {
            Ok(revision) => return Ok(Claim::Made(revision)),
            Err(KvError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
        let found = kv.get(Bucket::Workflows, &key).await?;
        match found.as_ref().map(|value| (value.revision, read(value))) {
            Some((_, Some(recorded))) if recorded.version.digest == version.digest => {
                return Ok(Claim::Same);
            }
            Some((_, Some(_))) => return Ok(Claim::Taken),
            Some((revision, None)) => expected = revision,
            // Its writer withdrew it.
            None => expected = 0,
        }
    }
    Err(KvError::Conflict(key))
}

/// Records the version of the workflow that was stored: the newest comments and spaces of its file, and
/// all of it if its record is gone.
pub(super) async fn complete(
    kv: &dyn Kv,
    name: &WorkflowName,
    version: &WorkflowVersion,
    text: &str,
) -> Result<(), KvError> {
    let Some(recorded) = one(kv, name, version.version).await? else {
        return claim(kv, name, version, text).await.map(drop);
    };
    if recorded.text == text || recorded.version.digest != version.digest {
        return Ok(());
    }
    let (key, value) = (key(name, version.version), written(&recorded.version, text));
    match kv.update(Bucket::Workflows, &key, value, recorded.revision).await {
        Ok(_) | Err(KvError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes a claim back, if nobody has written the version since.
pub(super) async fn withdraw(kv: &dyn Kv, name: &WorkflowName, version: u32, claimed: u64) {
    let withdrawn = kv.delete_at(Bucket::Workflows, &key(name, version), claimed).await;
    if let Err(error) = withdrawn {
        tracing::debug!(workflow = %name, version, %error, "the claim of a version stays");
    }
}

/// Returns a recorded version of a workflow.
pub(super) async fn one(
    kv: &dyn Kv,
    name: &WorkflowName,
    version: u32,
) -> Result<Option<Recorded>, KvError> {
    let value = kv.get(Bucket::Workflows, &key(name, version)).await?;
    Ok(value.as_ref().and_then(read))
}

/// Returns the recorded versions of a workflow, highest first.
pub(super) async fn all(kv: &dyn Kv, name: &WorkflowName) -> Result<Vec<Recorded>, KvError> {
    let values = kv.list(Bucket::Workflows, name.as_str()).await?;
    let mut all: Vec<Recorded> = values.iter().filter_map(read).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.version.version));
    Ok(all)
}

/// Drops the lowest versions beyond the limit, but never the one in force.
pub(super) async fn prune(kv: &dyn Kv, name: &WorkflowName, in_force: u32) -> Result<(), KvError> {
    let others = all(kv, name).await?;
    let others = others.iter().filter(|one| one.version.version != in_force);
    drop_all(kv, name, others.skip(WORKFLOW_VERSIONS_MAX - 1)).await
}

/// Removes the versions that were recorded before a revision of the bucket.
pub(super) async fn forget(kv: &dyn Kv, name: &WorkflowName, before: u64) -> Result<(), KvError> {
    let all = all(kv, name).await?;
    drop_all(kv, name, all.iter().filter(|one| one.revision < before)).await
}

/// Removes versions that nobody has written since they were read.
async fn drop_all(
    kv: &dyn Kv,
    name: &WorkflowName,
    old: impl Iterator<Item = &Recorded>,
) -> Result<(), KvError> {
    for old in old {
        let key = key(name, old.version.version);
        match kv.delete_at(Bucket::Workflows, &key, old.revision).await {
            Ok(_) | Err(KvError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn read(value: &Versioned) -> Option<Recorded> {
    let (_, version) = parse(&value.key)?;
    let text = std::str::from_utf8(&value.value).ok();
    let parts = text.and_then(|text| text.split_once('\n'));
    let head = parts.and_then(|(head, text)| Some((serde_json::from_str(head).ok()?, text)));
    let Some((Head { digest, time, by }, text)) = head else {
        tracing::warn!(key = value.key, "a version of a workflow cannot be read");
        return None;
    };
    let version = WorkflowVersion { version, digest, time, by };
    Some(Recorded { version, text: text.to_owned(), revision: value.revision })
}

fn written(version: &WorkflowVersion, text: &str) -> Bytes {
    let WorkflowVersion { version: _, digest, time, by } = version.clone();
    let head = serde_json::to_string(&Head { digest, time, by }).unwrap_or_default();
    format!("{head}\n{text}").into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker::memory::{self, MemoryOptions};
    use proto::subject::Subjects;

    use super::*;

    fn bucket() -> Arc<dyn Kv> {
        memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default()).kv
    }

    fn mine() -> WorkflowName {
        WorkflowName::new("mine").unwrap()
    }

    fn version(version: u32, digest: &str) -> WorkflowVersion {
        let by = Some("ann".to_owned());
        WorkflowVersion {
            version,
            digest: digest.to_owned(),
            time: Some(Timestamp::UNIX_EPOCH),
            by,
        }
    }

    #[tokio::test]
    async fn a_version_has_the_definition_of_its_first_writer() {
        let kv = bucket();
        let first = version(1, "aa");
        assert!(matches!(claim(&*kv, &mine(), &first, "one\ntwo").await, Ok(Claim::Made(_))));
        assert_eq!(claim(&*kv, &mine(), &version(1, "bb"), "else").await.unwrap(), Claim::Taken);
        let again = WorkflowVersion { by: None, ..first.clone() };
        assert_eq!(claim(&*kv, &mine(), &again, "one # \ntwo").await.unwrap(), Claim::Same);
        let recorded = async || one(&*kv, &mine(), 1).await.unwrap().unwrap();
        assert_eq!(recorded().await.text, "one\ntwo", "the workflow may not be stored after all");
        complete(&*kv, &mine(), &again, "one # \ntwo").await.unwrap();
        complete(&*kv, &mine(), &version(1, "bb"), "else").await.unwrap();
        let recorded = recorded().await;
        assert_eq!((recorded.version, recorded.text.as_str()), (first, "one # \ntwo"));
        complete(&*kv, &mine(), &version(2, "cc"), "two").await.unwrap();
        assert_eq!(one(&*kv, &mine(), 2).await.unwrap().unwrap().text, "two");
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_read_is_replaced() {
        let kv = bucket();
        kv.put(Bucket::Workflows, "mine.1", Bytes::from_static(b"no record")).await.unwrap();
        assert!(matches!(claim(&*kv, &mine(), &version(1, "aa"), "a").await, Ok(Claim::Made(_))));
        assert_eq!(claim(&*kv, &mine(), &version(1, "bb"), "b").await.unwrap(), Claim::Taken);
    }

    #[tokio::test]
    async fn a_claim_that_is_withdrawn_leaves_the_number_free() {
        let kv = bucket();
        let Claim::Made(claimed) = claim(&*kv, &mine(), &version(1, "aa"), "a").await.unwrap()
        else {
            panic!("the number was free");
        };
        withdraw(&*kv, &mine(), 1, claimed + 1).await;
        assert!(one(&*kv, &mine(), 1).await.unwrap().is_some(), "it has another revision");
        withdraw(&*kv, &mine(), 1, claimed).await;
        assert!(matches!(claim(&*kv, &mine(), &version(1, "bb"), "b").await, Ok(Claim::Made(_))));
    }

    #[tokio::test]
    async fn the_lowest_versions_are_dropped_beyond_the_limit_but_not_the_one_in_force() {
        let kv = bucket();
        claim(&*kv, &WorkflowName::new("mine-too").unwrap(), &version(1, "aa"), "").await.unwrap();
        kv.put(Bucket::Workflows, "mine.0", Bytes::from_static(b"no record")).await.unwrap();
        let max = u32::try_from(WORKFLOW_VERSIONS_MAX).unwrap();
        for n in 1..=max + 3 {
            claim(&*kv, &mine(), &version(n, &n.to_string()), "").await.unwrap();
        }
        prune(&*kv, &mine(), 2).await.unwrap();
        let kept: Vec<u32> =
            all(&*kv, &mine()).await.unwrap().iter().map(|one| one.version.version).collect();
        let expected: Vec<u32> = (5..=max + 3).rev().chain([2]).collect();
        assert_eq!(kept, expected);
        assert!(one(&*kv, &WorkflowName::new("mine-too").unwrap(), 1).await.unwrap().is_some());
    }

    #[test]
    fn a_key_of_a_version_is_told_from_that_of_a_workflow() {
        assert_eq!(parse("mine.12"), Some((mine(), 12)));
        for key in ["mine", "mine.", "mine.x", "mine.1.2", "Mine.1"] {
            assert_eq!(parse(key), None, "{key}");
        }
    }
}
