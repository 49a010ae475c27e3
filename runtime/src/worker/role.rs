//! The contract between the pool and a worker role: a typed command, and an actor that carries it
//! out.

use std::{future::Future, sync::Arc};

use proto::{
    decision::Decision,
    fact::Fact,
    id::{JobId, Seq},
    tool::Fault,
    trace::TraceContext,
    work_error::{ErrorClass, WorkError},
};
use ractor::Actor;
use tokio_util::sync::CancellationToken;

use super::{Assignment, LiveSink};

/// A worker role: an actor that takes one [`Assignment`], carries it out and stops. The pool clones
/// the role for each command. [`role!`](crate::role) makes one.
pub trait Role:
    Actor<Msg = Assignment<<Self as Role>::Command>, State = (), Arguments = ()> + Clone
{
    /// The name of the role in logs.
    const NAME: &'static str;

    /// The commands that the role carries out.
    type Command: Command;

    /// Carries a task out and returns the fact that reports it, or `None` when the task was canceled.
    fn run(&self, task: Task<Self::Command>) -> impl Future<Output = Option<Fact>> + Send;
}

/// Makes a type a worker role and its ractor actor: its name, its command, and the method that
/// carries a [`Task`] out and gives the fact that reports it.
#[macro_export]
macro_rules! role {
    ($actor:ty, $name:expr, $command:ty, $carry_out:ident) => {
        impl $crate::worker::Role for $actor {
            const NAME: &'static str = $name;
            type Command = $command;

            async fn run(
                &self,
                task: $crate::worker::Task<$command>,
            ) -> Option<$crate::worker::Fact> {
                self.$carry_out(task).await
            }
        }

        impl ::ractor::Actor for $actor {
            type Msg = $crate::worker::Assignment<$command>;
            type State = ();
            type Arguments = ();

            async fn pre_start(
                &self,
                _: ::ractor::ActorRef<Self::Msg>,
                (): (),
            ) -> Result<(), ::ractor::ActorProcessingErr> {
                Ok(())
            }

            async fn handle(
                &self,
                myself: ::ractor::ActorRef<Self::Msg>,
                assignment: Self::Msg,
                (): &mut (),
            ) -> Result<(), ::ractor::ActorProcessingErr> {
                assignment.carry_out(&myself, |task| self.$carry_out(task)).await;
                Ok(())
            }
        }
    };
}

/// A decision that one role carries out. The pool parses it once; behind the pool no other kind of
/// decision exists.
pub trait Command: Sized + Send + Sync + 'static {
    /// Parses the command of a decision; `None` when the decision is for another role.
    fn parse(decision: &Decision) -> Option<Self>;

    /// Returns the fact that reports a failure. With `None`, a broken command is delivered again
    /// later, and a lost one is carried out nevertheless.
    fn failed(&self, failure: &Failure) -> Option<Fact>;

    /// Returns whether the task must end before the command is delivered to another worker, once
    /// this process can no longer send heartbeats. Two runs with effects must not overlap. Every
    /// other task continues, since its result may still be stored first.
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
    /// Returns the failure as a sentence for users.
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

    /// Returns the fault of a tool call that ends with this failure.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Broken(_) => Fault::Internal,
            Self::Lost { .. } => Fault::WorkerLost,
        }
    }

    /// Returns the error of a plan or a turn that ends with this failure. It is transient: another
    /// attempt may succeed.
    #[must_use]
    pub fn error(&self) -> WorkError {
        WorkError::new(self.message(), ErrorClass::Transient)
    }
}

/// A command in process, as its role sees it.
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
    /// The channel to the current watchers of the job.
    pub live: LiveSink,
    /// Canceled when the job no longer needs the result. A task then has the pool's stop grace to
    /// clean up and return; after that the pool drops the task.
    pub canceled: CancellationToken,
}
