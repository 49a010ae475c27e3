//! The listener for ends and questions of jobs, with one consumer for each shard, as a program that
//! submits many jobs would have. A consumer delivers a record only after the stream has stored it
//! durably; a plain subscription would deliver it before.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    self,
    consumer::{DeliverPolicy, pull::OrderedConfig},
};
use broker::backoff::{Backoff, Retryable};
use futures::StreamExt;
use proto::{
    decision::{Decision, DecisionKind, Note, pools},
    id::JobId,
    interaction::Question,
    job::Outcome,
    record::{Known, Record},
    subject::Subjects,
    workflow::{Entered, Move},
};
use tokio::{sync::oneshot, task::JoinSet};

use crate::{
    Failed,
    workload::{self, Graph, Workload},
};

/// Pauses between requests for a stream without a leader.
const BACKOFF: Backoff = Backoff::constant(Duration::from_millis(200));
/// Timeout of a job, and of the start of the listener.
const PATIENCE: Duration = Duration::from_secs(120);

/// The expected events of jobs. Clones share them.
#[derive(Clone)]
pub(crate) struct Ends {
    waiting: Arc<Mutex<HashMap<JobId, oneshot::Sender<JobReply>>>>,
    /// Aborted with the last clone.
    _listeners: Arc<JoinSet<()>>,
}

/// The first event of a job after its submission.
#[derive(Debug)]
pub(crate) enum JobReply {
    /// The job completed with the right results, at this time.
    Completed(Instant),
    /// The job asks a question.
    Asks(Box<Question>),
    /// A workflow waits for an event.
    Waits,
    /// The job failed, or has a wrong result.
    Wrong(String),
}

/// A future event of a job.
pub(crate) struct Expected(oneshot::Receiver<JobReply>);

impl Expected {
    /// Waits for the job's end, which must be correct.
    pub(crate) async fn completed(self) -> Result<Instant, Failed> {
        match self.heard().await? {
            JobReply::Completed(at) => Ok(at),
            JobReply::Asks(question) => Err(format!("it asks {}", question.prompt).into()),
            JobReply::Waits => Err("it waits for an event".into()),
            JobReply::Wrong(why) => Err(why.into()),
        }
    }

    /// Waits for the job's end, whatever its results.
    pub(crate) async fn ended(self) -> Result<(), Failed> {
        match self.heard().await? {
            JobReply::Completed(_) | JobReply::Wrong(_) => Ok(()),
            other @ (JobReply::Asks(_) | JobReply::Waits) => {
                Err(format!("{other:?} before the end").into())
            }
        }
    }

    /// Waits until the workflow waits for an event.
    pub(crate) async fn waits(self) -> Result<(), Failed> {
        match self.heard().await? {
            JobReply::Waits => Ok(()),
            other @ (JobReply::Completed(_) | JobReply::Asks(_) | JobReply::Wrong(_)) => {
                Err(format!("{other:?} before a wait for an event").into())
            }
        }
    }

    /// Waits until the job asks a question.
    pub(crate) async fn asks(self) -> Result<Question, Failed> {
        match self.heard().await? {
            JobReply::Asks(question) => Ok(*question),
            JobReply::Completed(_) | JobReply::Waits => Err("it has no question".into()),
            JobReply::Wrong(why) => Err(why.into()),
        }
    }

    async fn heard(self) -> Result<JobReply, Failed> {
        let heard = tokio::time::timeout(PATIENCE, self.0).await;
        Ok(heard.map_err(|_| format!("a job did not end within {PATIENCE:?}"))??)
    }
}

impl Ends {
    /// Starts the consumers.
    pub(crate) async fn listen(
        urls: &[String],
        subjects: &Subjects,
        workload: Workload,
    ) -> Result<Self, Failed> {
        let jetstream = jetstream::new(async_nats::connect(urls).await?);
        let waiting: Arc<Mutex<HashMap<JobId, oneshot::Sender<JobReply>>>> = Arc::default();
        let (mut listeners, began) = (JoinSet::new(), Instant::now());
        for shard in subjects.all_shards() {
            let filter = |kind, pool| subjects.commands_in(shard, kind, &pool);
            let mut filter_subjects = vec![
                filter(DecisionKind::Finish, pools::nobody()),
                filter(DecisionKind::Ask, pools::people()),
            ];
            if workload == Workload::Workflow(Graph::Waiting) {
                // Only such jobs have few notes.
                filter_subjects.push(filter(DecisionKind::Note, pools::nobody()));
            }
            let config = OrderedConfig {
                filter_subjects,
                deliver_policy: DeliverPolicy::New,
                ..OrderedConfig::default()
            };
            let stream = subjects.stream(shard);
            // A new stream may have no leader yet; then no server answers.
            let mut messages = (|| async {
                let stream = jetstream.get_stream(&stream).await.map_err(Failed::from)?;
                let consumer = stream.create_consumer(config.clone()).await?;
                Ok::<_, Failed>(consumer.messages().await?)
            })
            .retry(BACKOFF)
            .when(|_| began.elapsed() < PATIENCE)
            .await?;
            let (subjects, waiting) = (subjects.clone(), Arc::clone(&waiting));
            listeners.spawn(async move {
                while let Some(Ok(message)) = messages.next().await {
                    let Ok(place) = subjects.parse(&message.subject) else { continue };
                    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    if !waiting.contains_key(&place.job) {
                        continue;
                    }
                    let Some(reply) = understood(&message.payload, workload) else { continue };
                    if let Some(waits) = waiting.remove(&place.job) {
                        // The receiver may have timed out.
                        let _ = waits.send(reply);
                    }
                }
            });
        }
        Ok(Self { waiting, _listeners: Arc::new(listeners) })
    }

    /// Returns the next event of a job, to be awaited.
    pub(crate) fn expect(&self, job: &JobId) -> Expected {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(job.clone(), sender);
        Expected(receiver)
    }
}

/// Returns the event that a record reports, or `None` for a note of another kind.
fn understood(payload: &[u8], workload: Workload) -> Option<JobReply> {
    let at = Instant::now();
    let wrong = |why: String| Some(JobReply::Wrong(why));
    let decision = match Record::from_slice(payload).and_then(|record| record.known()) {
        Ok(Known::Decision(decision)) => decision,
        Ok(Known::Fact(_)) => return wrong("a fact where a decision belongs".to_owned()),
        Err(error) => return wrong(error.to_string()),
    };
    Some(match *decision {
        Decision::Ask(ask) => JobReply::Asks(Box::new(ask.question)),
        Decision::Finish(finish) => match finish.outcome {
            Outcome::Completed { results, value, .. }
                if workload::is_right(workload, &results, &value) =>
            {
                JobReply::Completed(at)
            }
            other @ (Outcome::Completed { .. }
            | Outcome::Failed { .. }
            | Outcome::Canceled { .. }) => JobReply::Wrong(format!("it ended with {other:?}")),
        },
        Decision::Note(Note::Advanced(advance)) => {
            let awaits =
                |one: &Move| matches!(one, Move::Enter { work: Entered::Event { .. }, .. });
            return advance.moves.iter().any(awaits).then_some(JobReply::Waits);
        }
        other @ (Decision::Plan(_)
        | Decision::Turn(_)
        | Decision::Call(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Done(_)
        | Decision::Note(_)) => JobReply::Wrong(format!("a {} was heard", other.kind().as_str())),
    })
}
