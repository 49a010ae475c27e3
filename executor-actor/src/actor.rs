//! The executor's actor and its command, between the pool and the executor.

use std::sync::Arc;

use broker::Broker;
use model::Model;
use proto::{
    decision::{Decision, DecisionKind, TurnWork, pools},
    fact::{Fact, TurnReply, Turned},
    message::Usage,
};
use runtime::{
    registry::Registry,
    worker::{Command, Failure, PoolOptions, Task},
};

use crate::work::Executor;

/// Name of the role in configuration, presence and logs.
pub const ROLE: &str = "executor";

/// Builds the pool options of executors: at most `slots` concurrent turns, defaults otherwise.
#[must_use]
pub fn options(slots: usize) -> PoolOptions {
    PoolOptions::new(DecisionKind::Turn, pools::models(), slots)
}

/// The command to take a model turn.
#[derive(Debug)]
pub struct TurnCommand(TurnWork);

impl Command for TurnCommand {
    fn parse(decision: &Decision) -> Option<Self> {
        let Decision::Turn(work) = decision else { return None };
        Some(Self(work.clone()))
    }

    fn failed(&self, failure: &Failure) -> Option<Fact> {
        let Self(work) = self;
        Some(Fact::Turned(Turned {
            work: work.work.clone(),
            attempt: work.attempt,
            reply: TurnReply::Failed { error: failure.error() },
            usage: Usage::default(),
            reasoning: String::new(),
            opaque: None,
            answered: None,
        }))
    }
}

/// The actor that carries out one [`TurnCommand`].
#[derive(Debug, Clone)]
pub struct ExecutorActor(Arc<Executor>);

impl ExecutorActor {
    /// Creates an executor that reads jobs from `broker`, calls `model` and offers the tools of
    /// `registry`.
    #[must_use]
    pub fn new(broker: Broker, model: Arc<dyn Model>, registry: Registry) -> Self {
        Self(Arc::new(Executor::new(broker, model, registry)))
    }

    async fn turn(&self, task: Task<TurnCommand>) -> Option<Fact> {
        let TurnCommand(work) = &*task.command;
        // Dropping the future of a cancelled turn ends the model call.
        let turn = self.0.turn(&task.job, work, task.live.channel());
        task.canceled.run_until_cancelled(turn).await.map(Fact::Turned)
    }
}

runtime::role!(ExecutorActor, ROLE, TurnCommand, turn);
