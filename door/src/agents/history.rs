//! The revisions of the agents in the bucket: each change under a key of its own beside the agent,
//! `<agent>.<revision>`, with its author and time.
//!
//! A revision has the number of the bucket's write that made it, so two writers never share one, and
//! the number is what a compare-and-set expects. The change itself is written first: a process that
//! dies in between leaves a revision without author and time, which the next reader or writer adds.

use broker::kv::{Bucket, Kv, KvError, Versioned};
use bytes::Bytes;
use jiff::Timestamp;
use proto::{
    door::{AgentHistory, AgentRevision},
    id::AgentName,
    limits::AGENT_REVISIONS_MAX,
};

/// The author of a change, and its time.
#[derive(Debug, Clone)]
pub(super) struct Author {
    pub(super) by: Option<String>,
    pub(super) time: Timestamp,
}

/// Returns the agent's name and the revision in a key of a revision.
pub(super) fn parse(key: &str) -> Option<(AgentName, u64)> {
    let (name, revision) = key.split_once('.')?;
    Some((AgentName::new(name).ok()?, revision.parse().ok()?))
}

fn key(name: &AgentName, revision: u64) -> String {
    format!("{name}.{revision}")
}

/// Records a change of an agent, and drops the oldest revisions beyond the limit.
pub(super) async fn record(
    kv: &dyn Kv,
    name: &AgentName,
    change: &AgentRevision,
) -> Result<(), KvError> {
    kv.put(Bucket::Agents, &key(name, change.revision), written(change)).await?;
    let kept = kept(kv, name).await?;
    let superfluous = kept.len().saturating_sub(AGENT_REVISIONS_MAX);
    for old in kept.iter().take(superfluous) {
        kv.delete(Bucket::Agents, &key(name, old.revision)).await?;
    }
    Ok(())
}

/// Records a change unless its revision is recorded.
pub(super) async fn record_missing(
    kv: &dyn Kv,
    name: &AgentName,
    change: &AgentRevision,
) -> Result<(), KvError> {
    let key = key(name, change.revision);
    if kv.get(Bucket::Agents, &key).await?.is_some() {
        return Ok(());
    }
    match kv.update(Bucket::Agents, &key, written(change), 0).await {
        // Its author recorded it meanwhile.
        Ok(_) | Err(KvError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates the revision that stores a source.
pub(super) fn stored(revision: u64, author: Author, text: &str) -> AgentRevision {
    let (by, time, text) = (author.by, Some(author.time), Some(text.to_owned()));
    AgentRevision { revision, time, by, dropped: false, text }
}

/// Creates the revision that removes an agent.
pub(super) fn dropped(revision: u64, author: Author) -> AgentRevision {
    AgentRevision { revision, time: Some(author.time), by: author.by, dropped: true, text: None }
}

/// Reads the revisions of an agent, newest first, with their texts.
pub(super) async fn read(kv: &dyn Kv, name: &AgentName) -> Result<AgentHistory, KvError> {
    let current = kv.get(Bucket::Agents, name.as_str()).await?;
    let mut revisions = kept(kv, name).await?;
    if let Some(current) = &current
        && revisions.iter().all(|one| one.revision != current.revision)
    {
        revisions.push(unrecorded(current));
        revisions.sort_by_key(|one| one.revision);
    }
    revisions.reverse();
    revisions.truncate(AGENT_REVISIONS_MAX);
    Ok(AgentHistory { name: name.clone(), current: current.map(|it| it.revision), revisions })
}

/// Returns the recorded revisions, oldest first.
async fn kept(kv: &dyn Kv, name: &AgentName) -> Result<Vec<AgentRevision>, KvError> {
    let values = kv.list(Bucket::Agents, name.as_str()).await?;
    let recorded = values.into_iter().filter(|value| parse(&value.key).is_some());
    let mut revisions: Vec<AgentRevision> = recorded
        .filter_map(|value| {
            let read = serde_json::from_slice(&value.value);
            let key = &value.key;
            read.inspect_err(|_| tracing::warn!(key, "a revision of an agent cannot be read")).ok()
        })
        .collect();
    revisions.sort_by_key(|one| one.revision);
    Ok(revisions)
}

/// Creates the revision of an agent whose author is not known.
pub(super) fn unrecorded(agent: &Versioned) -> AgentRevision {
    AgentRevision {
        revision: agent.revision,
        time: None,
        by: None,
        dropped: false,
        text: Some(String::from_utf8_lossy(&agent.value).into_owned()),
    }
}

fn written(change: &AgentRevision) -> Bytes {
    serde_json::to_vec(change).unwrap_or_default().into()
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

    fn mine() -> AgentName {
        AgentName::new("mine").unwrap()
    }

    fn author() -> Author {
        Author { by: Some("ann".to_owned()), time: Timestamp::UNIX_EPOCH }
    }

    async fn put(kv: &dyn Kv, text: &str) -> Versioned {
        let value = Bytes::from(text.to_owned());
        kv.put(Bucket::Agents, "mine", value).await.unwrap();
        kv.get(Bucket::Agents, "mine").await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_change_whose_author_died_is_a_revision_without_author() {
        let kv = bucket();
        let first = put(&*kv, "about: one").await;
        let history = read(&*kv, &mine()).await.unwrap();
        assert_eq!(history.current, Some(first.revision));
        assert_eq!(history.revisions, [unrecorded(&first)]);
        record_missing(&*kv, &mine(), &unrecorded(&first)).await.unwrap();
        let second = put(&*kv, "about: two").await;
        record(&*kv, &mine(), &stored(second.revision, author(), "about: two")).await.unwrap();
        let history = read(&*kv, &mine()).await.unwrap();
        let seen: Vec<_> = history.revisions.iter().map(|one| (one.revision, &one.by)).collect();
        assert_eq!(seen, [(second.revision, &Some("ann".to_owned())), (first.revision, &None)]);
    }

    #[tokio::test]
    async fn an_author_is_kept_whichever_process_records_the_revision_first() {
        let kv = bucket();
        let first = put(&*kv, "about: one").await;
        record_missing(&*kv, &mine(), &unrecorded(&first)).await.unwrap();
        let change = stored(first.revision, author(), "about: one");
        record(&*kv, &mine(), &change).await.unwrap();
        record_missing(&*kv, &mine(), &unrecorded(&first)).await.unwrap();
        assert_eq!(read(&*kv, &mine()).await.unwrap().revisions, [change]);
    }

    #[tokio::test]
    async fn the_oldest_revisions_are_dropped_beyond_the_limit() {
        let kv = bucket();
        kv.put(Bucket::Agents, "mine-too.1", Bytes::from_static(b"{}")).await.unwrap();
        for n in 0..AGENT_REVISIONS_MAX + 3 {
            let text = format!("about: {n}");
            let revision = put(&*kv, &text).await.revision;
            record(&*kv, &mine(), &stored(revision, author(), &text)).await.unwrap();
        }
        let history = read(&*kv, &mine()).await.unwrap();
        assert_eq!(history.revisions.len(), AGENT_REVISIONS_MAX);
        assert_eq!(history.revisions.last().unwrap().text.as_deref(), Some("about: 3"));
        assert_eq!(history.revisions[0].text.as_deref(), Some("about: 66"));
        let keys = kv.list(Bucket::Agents, "").await.unwrap();
        assert_eq!(keys.len(), AGENT_REVISIONS_MAX + 2, "the others stay");
    }
}
