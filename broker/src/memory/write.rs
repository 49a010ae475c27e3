//! One attempt of a write, and the broker's reply. Faults are injected here, below the layer that
//! settles writes.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use proto::{
    id::{JobId, Seq, TimerName},
    record::Record,
    subject::Family,
    trace::TraceContext,
};

use super::{Call, Fault, state::Shared, stream::Filter};
use crate::log::{
    LogError,
    settle::{GuardedWrite, Occupant, Reply, Write},
};

/// A broker's default limit on the size of a record, in bytes.
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Publish {
    pub(super) shared: Arc<Shared>,
    pub(super) call: Call,
    pub(super) job: JobId,
    pub(super) family: Family,
    pub(super) id: String,
    pub(super) payload: Bytes,
    pub(super) trace: TraceContext,
    /// Condition: the last record under the filter is at this position.
    pub(super) guard: Option<(Filter, Seq)>,
    /// Timer to cancel in the same write.
    pub(super) disarm: Option<TimerName>,
}

impl Publish {
    /// Stores the record, ignoring faults.
    fn store(&self) -> Reply {
        if self.payload.len() > PAYLOAD_BYTES_MAX {
            let bytes = self.payload.len();
            return Reply::Refused(LogError::TooLarge(format!("{bytes} bytes")));
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        let stream = state.stream(shared.subjects.shard_of(&self.job));
        // JetStream checks the position before duplicates: a second attempt of a guarded write gets
        // a conflict, not the first one's position.
        if let Some((filter, expected)) = self.guard
            && stream.last(&self.job, filter) != expected
        {
            return Reply::Conflict;
        }
        if !shared.options.faults.is_forgetful()
            && let Some(seq) = state.remembered(&self.id)
        {
            return Reply::Stored(seq);
        }
        if state.is_full() {
            return Reply::NotNow(LogError::Full("the limit of records is reached".into()));
        }
        let (family, payload) = (self.family.clone(), self.payload.clone());
        let seq = state.append(shared, &self.job, family, payload, Some(self.trace));
        state.remember(&self.id, seq);
        if let Some(timer) = &self.disarm {
            state.timers.disarm(&self.job, timer);
        }
        Reply::Stored(seq)
    }
}

#[async_trait]
impl Write for Publish {
    async fn publish(&self) -> Reply {
        // A real broker takes time: let other tasks run in between.
        tokio::task::yield_now().await;
        match self.shared.options.faults.take(self.call) {
            None => self.store(),
            Some(Fault::LyingConflict) => match self.store() {
                Reply::Stored(_) | Reply::Conflict => Reply::Conflict,
                failed @ (Reply::Unknown(_) | Reply::NotNow(_) | Reply::Refused(_)) => failed,
            },
            Some(Fault::LostReply) => {
                let _ = self.store();
                Reply::Unknown("no reply in time".into())
            }
            Some(Fault::LostRequest) => Reply::Unknown("no reply in time".into()),
            Some(Fault::Unavailable) => Reply::NotNow(LogError::Unavailable("no leader".into())),
            Some(Fault::Fails(error)) => Reply::Refused(error),
        }
    }

    async fn stored(&self) -> Result<Option<Seq>, LogError> {
        // To a forgetful broker the first attempt arrives after this read.
        let is_forgetful = self.shared.options.faults.is_forgetful();
        Ok(if is_forgetful { None } else { self.shared.lock().remembered(&self.id) })
    }
}

#[async_trait]
impl GuardedWrite for Publish {
    fn id(&self) -> &str {
        &self.id
    }

    async fn occupant(&self) -> Result<Option<Occupant>, LogError> {
        tokio::task::yield_now().await;
        if let Some(error) = self.shared.options.faults.failure(Call::Read) {
            return Err(error);
        }
        let Some((filter, after)) = self.guard else { return Ok(None) };
        let mut state = self.shared.lock();
        let stream = state.stream(self.shared.subjects.shard_of(&self.job));
        Ok(stream.first_after(&self.job, filter, after).map(|message| Occupant {
            seq: message.seq,
            id: Record::from_slice(&message.payload).ok().map(|record| record.id),
        }))
    }
}
