//! The tools' actor and its command, between the pool and the tools.

use std::sync::Arc;

use broker::Broker;
use proto::{
    cost::Cost,
    decision::{CallWork, Decision, DecisionKind},
    fact::{Called, Fact},
    tool::{Effect, ToolResult},
};
use runtime::{
    telemetry::Content,
    worker::{Command, Failure, PoolOptions, Task},
};

use crate::{call, tool::ToolFault, toolset::Toolset, work::Calls};

/// Builds the pool options of a toolset: at most `slots` concurrent calls, defaults otherwise.
#[must_use]
pub fn options(tools: &Toolset, slots: usize) -> PoolOptions {
    PoolOptions::new(DecisionKind::Call, tools.pool().clone(), slots)
}

/// The command to call a tool.
#[derive(Debug)]
pub struct CallCommand(CallWork);

impl Command for CallCommand {
    fn parse(decision: &Decision) -> Option<Self> {
        let Decision::Call(work) = decision else { return None };
        Some(Self(work.clone()))
    }

    /// A `once` tool that failed is never run again by itself: the tool may have had its effect.
    fn failed(&self, failure: &Failure) -> Option<Fact> {
        let Self(work) = self;
        let ToolFault { fault, message, outage } = match work.effect {
            Effect::Once => call::unknown(&failure.message()),
            Effect::Pure | Effect::Idempotent => ToolFault::new(failure.fault(), failure.message()),
        };
        Some(Fact::Called(Called {
            work: work.work.clone(),
            attempt: work.attempt,
            result: ToolResult::failed(message),
            fault: Some(fault),
            outage,
            duration_ms: 0,
            cost: Cost::default(),
            files: Vec::new(),
        }))
    }

    fn stops_when_cut_off(&self) -> bool {
        match self.0.effect {
            Effect::Idempotent | Effect::Once => true,
            Effect::Pure => false,
        }
    }
}

/// The actor that carries out one [`CallCommand`].
#[derive(Debug, Clone)]
pub struct ToolActor(Arc<Calls>);

impl ToolActor {
    /// Creates an actor for the calls of `tools`. With `content`, arguments and results go into
    /// traces as its settings allow.
    #[must_use]
    pub fn new(broker: Broker, tools: Arc<Toolset>, content: Option<Arc<Content>>) -> Self {
        Self(Arc::new(Calls { broker, tools, content }))
    }

    async fn call(&self, task: Task<CallCommand>) -> Option<Fact> {
        let CallCommand(work) = &*task.command;
        tokio::select! {
            biased;
            called = self.0.carry_out(&task, work) => Some(Fact::Called(called)),
            // Dropping the tool's future does not stop its other threads: they watch the token.
            () = task.canceled.cancelled() => None,
        }
    }
}

runtime::role!(ToolActor, "tools", CallCommand, call);
