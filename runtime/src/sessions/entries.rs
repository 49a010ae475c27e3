//! The entries of sessions in the bucket, as a host writes and removes them.
//!
//! An entry is removed only at its own revision, so no removal reaches a later session.

use std::collections::BTreeMap;

use broker::{
    Broker,
    bus::{BusError, RequestContext},
    kv::{Bucket, KvError, Versioned, session_job, session_key},
};
use proto::{
    id::{JobId, WorkerId},
    session::{SessionId, SessionKind, SessionPlace},
    wire::{self, host::HostRequest},
};

use super::SILENCE;

/// The entries of the sessions of one kind.
#[derive(Debug)]
pub(super) struct Entries {
    broker: Broker,
    host: WorkerId,
    kind: SessionKind,
}

impl Entries {
    pub(super) fn new(broker: Broker, host: WorkerId, kind: SessionKind) -> Self {
        Self { broker, host, kind }
    }

    /// Enters this host for a job. A conflict means that the job has a session.
    pub(super) async fn claim(&self, job: &JobId) -> Result<SessionId, KvError> {
        let place = SessionPlace { host: self.host.clone() };
        let place = serde_json::to_vec(&place).expect("a name is JSON");
        let key = session_key(self.kind, job);
        let written = self.broker.kv.update(Bucket::Sessions, &key, place.into(), 0).await;
        written.map(SessionId)
    }

    /// Removes the entry of a session, if the job has no other one meanwhile.
    pub(super) async fn release(&self, job: &JobId, session: SessionId) {
        self.remove(&session_key(self.kind, job), session.0).await;
    }

    async fn remove(&self, key: &str, revision: u64) {
        match self.broker.kv.delete_at(Bucket::Sessions, key, revision).await {
            Ok(_) | Err(KvError::Conflict(_)) => {}
            // An asker or a sweep removes it.
            Err(error) => tracing::debug!(key, %error, "the entry of a session remains"),
        }
    }

    /// Removes the entries of hosts that are gone, those of this host's earlier life, and unreadable
    /// ones. `has` returns whether this host has a session of a job.
    pub(super) async fn sweep(&self, has: impl Fn(&JobId) -> bool) {
        let entries = match self.broker.kv.list(Bucket::Sessions, self.kind.as_str()).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(%error, "the entries of sessions cannot be read");
                return;
            }
        };
        let mut by_host: BTreeMap<Option<WorkerId>, Vec<Versioned>> = BTreeMap::new();
        for entry in entries {
            let place = serde_json::from_slice::<SessionPlace>(&entry.value).ok();
            by_host.entry(place.map(|place| place.host)).or_default().push(entry);
        }
        for (named, mut entries) in by_host {
            match named {
                Some(named) if named == self.host => entries.retain(|entry| {
                    session_job(self.kind, &entry.key).is_none_or(|job| !has(&job))
                }),
                Some(named) if !self.is_gone(&named).await => continue,
                Some(_) | None => {}
            }
            for entry in entries {
                self.remove(&entry.key, entry.revision).await;
            }
        }
    }

    /// Returns whether no process listens as this host.
    async fn is_gone(&self, host: &WorkerId) -> bool {
        let subject = self.broker.log.subjects().host(self.kind, host);
        let Ok(payload) = wire::encode(&HostRequest::Seek) else { return false };
        let context = RequestContext::default();
        let answer = self.broker.bus.request(subject, payload.into(), context, SILENCE).await;
        matches!(answer, Err(BusError::NoResponders(_)))
    }
}
