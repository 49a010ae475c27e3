//! The contract between the pool and a worker role: a typed command, and an actor that carries it
//! out.

use std::sync::Arc;

use proto::{
    decision::Decision,
    fact::{Fact, WorkError},
    id::{JobId, Seq},
    tool::Fault,
    trace::TraceContext,
};
use ractor::Actor;
use tokio_util::sync::CancellationToken;

use super::{Assignment, LiveSink};

/// A worker role: an actor that takes one [`Assignment`], carries it out and stops. The pool clones
/// the role for each command.
pub trait Role:
    Actor<Msg = Assignment<<Self as Role>::Command>, State = (), Arguments = ()> + Clone
{
    /// The name of the role in logs.
    const NAME: &'static str;

    /// The commands that the role carries out.
    type Command: Command;
}

/// A decision that one role carries out. The pool parses it once; behind the pool no other kind of
/// decision exists.
pub trait Command: Sized + Send + Sync + 'static {
    /// The command in a decision, or nothing when the decision is for another role.
    fn parse(decision: &Decision) -> Option<Self>;

    /// The fact that reports a failure. Without one, a broken command is delivered again later and
    /// a lost one is carried out all the same.
    fn failed(&self, failure: &Failure) -> Option<Fact>;

    /// Whether the task must end when this process can no longer tell the broker that it is alive,
    /// before the command is delivered to another worker: two runs with effects must not overlap.
    /// Every other task goes on, since its result may still be stored first.
    fn stops_when_cut_off(&self) -> bool {
        false
    }
}

/// The reason why no worker answered a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The actor of the command panicked, or its result could not be stored.
    Broken(String),
    /// Every worker that took the command died.
    Lost {
        /// The number of deliveries, the current one included.
        delivered: u64,
    },
}

impl Failure {
    /// The failure for the people who look at the job.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Broken(why) => why.clone(),
            Self::Lost { delivered } => {
                let taken = delivered.saturating_sub(1);
                format!("delivered {taken} times, and every worker died before it answered")
            }
        }
    }

    /// The fault of a tool call that fails so.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Broken(_) => Fault::Internal,
            Self::Lost { .. } => Fault::WorkerLost,
        }
    }

    /// The error of a plan or a turn that fails so: another attempt may end differently.
    #[must_use]
    pub fn error(&self) -> WorkError {
        WorkError { message: self.message(), transient: true, retry_after_ms: None }
    }
}

/// A command that is being carried out.
#[derive(Debug)]
pub struct Task<C> {
    /// The job of the command.
    pub job: JobId,
    /// The position of the command in the job's log.
    pub seq: Seq,
    /// The command.
    pub command: Arc<C>,
    /// The job's trace, with a span of the task's own.
    pub trace: TraceContext,
    /// The channel to the people who watch the job now.
    pub live: LiveSink,
    /// Canceled when the result is not wanted any more. A task that returns within a few seconds
    /// can clean up; the pool drops one that does not.
    pub canceled: CancellationToken,
}
