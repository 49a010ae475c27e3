//! The planner's actor and its command, between the pool and the planner.

use std::sync::Arc;

use broker::Broker;
use model::Model;
use proto::{
    decision::{Decision, DecisionKind, PlanWork, pools},
    fact::{Fact, PlanReply, Planned},
    message::Usage,
};
use runtime::{
    registry::Registry,
    telemetry::{self, Kind, Span, keys},
    worker::{Command, Failure, PoolOptions, Task},
};

use crate::work::Planner;

/// Name of the role in configuration, presence and logs.
pub const ROLE: &str = "planner";

/// Builds the pool options of planners: at most `slots` concurrent plans, defaults otherwise.
#[must_use]
pub fn options(slots: usize) -> PoolOptions {
    PoolOptions::new(DecisionKind::Plan, pools::models(), slots)
}

/// The command to make a plan.
#[derive(Debug)]
pub struct PlanCommand(PlanWork);

impl Command for PlanCommand {
    fn parse(decision: &Decision) -> Option<Self> {
        let Decision::Plan(work) = decision else { return None };
        Some(Self(work.clone()))
    }

    fn failed(&self, failure: &Failure) -> Option<Fact> {
        let Self(work) = self;
        Some(Fact::Planned(Planned {
            work: work.work.clone(),
            attempt: work.attempt,
            reply: PlanReply::Failed { error: failure.error() },
            usage: Usage::default(),
            detected: None,
            outline: Vec::new(),
            reasoning: String::new(),
            answered: None,
        }))
    }
}

/// The actor that carries out one [`PlanCommand`].
#[derive(Debug, Clone)]
pub struct PlannerActor(Arc<Planner>);

impl PlannerActor {
    /// Creates a planner that calls `model`, plans with the tools of `registry` and reads the task
    /// list of `broker`.
    #[must_use]
    pub fn new(broker: Broker, model: Arc<dyn Model>, registry: Registry) -> Self {
        Self(Arc::new(Planner::new(broker.kv, model, registry)))
    }

    async fn plan(&self, task: Task<PlanCommand>) -> Option<Fact> {
        let PlanCommand(work) = &*task.command;
        let own = telemetry::child_of(task.trace);
        let mut span = Span::start(own, Some(task.trace), Kind::Internal, || "plan".to_owned());
        span.set(keys::GEN_AI_OPERATION_NAME, "plan");
        span.work(&task.job, &work.work, work.attempt);
        // Dropping the future of a cancelled plan ends the model call.
        let plan = telemetry::within(own, self.0.plan(work, task.live.channel()));
        let planned = task.canceled.run_until_cancelled(plan).await;
        let (outcome, error) = outcome(planned.as_ref().map(|planned| &planned.reply));
        span.set(keys::OUTCOME, outcome);
        if error {
            span.fail(outcome);
        }
        planned.map(Fact::Planned)
    }
}

runtime::role!(PlannerActor, ROLE, PlanCommand, plan);

/// Returns the outcome for the span, and `true` if it is an error.
fn outcome(reply: Option<&PlanReply>) -> (&'static str, bool) {
    match reply {
        Some(PlanReply::Plan { .. }) => ("plan", false),
        Some(PlanReply::Question { .. }) => ("question", false),
        Some(PlanReply::Simple) => ("simple", false),
        Some(PlanReply::Noted { .. }) => ("noted", false),
        Some(PlanReply::Finished { .. }) => ("finished", false),
        Some(PlanReply::Unparseable { .. }) => ("unparseable", true),
        Some(PlanReply::Failed { .. }) => ("failed", true),
        None => ("canceled", true),
    }
}
