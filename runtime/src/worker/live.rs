//! Live updates from a running task to the current watchers of its job. Nothing depends on them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use broker::bus::Bus;
use bytes::Bytes;
use proto::{
    decision::Decision,
    id::{Attempt, StepId, WorkId},
    wire::{self, Live, LiveUpdate},
};
use tokio::sync::mpsc::{self, error::TrySendError};

/// Bound of the updates that wait to be sent. Further updates are dropped.
const WAITING_MAX: usize = 4096;
/// Bound of the text of one message, in bytes. Waiting texts are joined up to this size.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// A sender of live updates about one command.
#[derive(Clone, derive_more::Debug)]
#[debug("LiveSink({subject})")]
pub struct LiveSink {
    bus: Arc<dyn Bus>,
    subject: Arc<str>,
    about: Option<Arc<About>>,
    next: Arc<AtomicU32>,
}

#[derive(Debug)]
struct About {
    work: WorkId,
    attempt: Attempt,
    step: Option<StepId>,
}

impl LiveSink {
    /// Creates a sink for updates about a command on a job's live subject. The sink of a decision
    /// that is no unit of work drops every update.
    pub(super) fn new(bus: Arc<dyn Bus>, subject: String, decision: &Decision) -> Self {
        let about = match decision {
            Decision::Plan(w) => Some((w.work.clone(), w.attempt, None)),
            Decision::Turn(w) => Some((w.work.clone(), w.attempt, Some(w.step.clone()))),
            Decision::Call(w) => Some((w.work.clone(), w.attempt, Some(w.step.clone()))),
            Decision::Ask(w) => Some((w.work.clone(), Attempt::FIRST, None)),
            Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Done(_)
            | Decision::Finish(_) => None,
        };
        let about = about.map(|(work, attempt, step)| Arc::new(About { work, attempt, step }));
        Self { bus, subject: subject.into(), about, next: Arc::default() }
    }

    /// Sends an update. Returns when the bus has accepted it. A failure to send is only logged.
    pub async fn send(&self, said: LiveUpdate) {
        let Some(about) = &self.about else { return };
        let live = Live {
            work: about.work.clone(),
            attempt: about.attempt,
            step: about.step.clone(),
            index: self.next.fetch_add(1, Ordering::Relaxed),
            said,
        };
        let sent = match wire::encode(&live) {
            Ok(bytes) => self.bus.publish(self.subject.to_string(), Bytes::from(bytes)).await,
            Err(error) => return tracing::debug!(%error, "a live message was dropped"),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a live message was dropped");
        }
    }

    /// Returns a channel for code that cannot wait, such as the reader of a model's reply. Must be
    /// called inside a tokio runtime.
    #[must_use]
    pub fn channel(&self) -> LiveChannel {
        let (sender, mut waiting) = mpsc::channel(WAITING_MAX);
        let sink = self.clone();
        tokio::spawn(async move {
            while let Some(first) = waiting.recv().await {
                let mut said = first;
                while let Ok(next) = waiting.try_recv() {
                    if let Some(other) = join(&mut said, next) {
                        sink.send(std::mem::replace(&mut said, other)).await;
                    }
                }
                sink.send(said).await;
            }
        });
        LiveChannel(sender)
    }
}

/// A sender that does not wait. Updates that are still queued when the channel is dropped are sent
/// nevertheless.
#[derive(Debug)]
pub struct LiveChannel(mpsc::Sender<LiveUpdate>);

impl LiveChannel {
    /// Queues an update, or drops it when the queue is full.
    pub fn send(&self, said: LiveUpdate) {
        match self.0.try_send(said) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => tracing::debug!("a live message was dropped"),
        }
    }
}

/// Joins an update with the one before it. Returns `next` when the two cannot be joined.
fn join(before: &mut LiveUpdate, next: LiveUpdate) -> Option<LiveUpdate> {
    match (before, next) {
        (LiveUpdate::Text(text), LiveUpdate::Text(more))
        | (LiveUpdate::Thought(text), LiveUpdate::Thought(more))
            if text.len() + more.len() <= TEXT_BYTES_MAX =>
        {
            text.push_str(&more);
            None
        }
        (_, next) => Some(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_of_one_kind_are_joined_up_to_a_bound() {
        let mut said = LiveUpdate::Text("a".into());
        assert_eq!(join(&mut said, LiveUpdate::Text("b".into())), None);
        assert_eq!(said, LiveUpdate::Text("ab".into()));
        let thought = LiveUpdate::Thought("c".into());
        assert_eq!(join(&mut said, thought.clone()), Some(thought));
        let long = LiveUpdate::Text("x".repeat(TEXT_BYTES_MAX));
        assert_eq!(join(&mut said, long.clone()), Some(long));
        assert_eq!(said, LiveUpdate::Text("ab".into()));
    }
}
