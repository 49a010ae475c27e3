//! The tools' actor and its command: the edge between the pool and the tools.

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

/// The bounds of a toolset's pool: at most `slots` calls in hand, the rest as usual.
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

    /// The failure of a `once` tool never invites another run: the tool may have had its effect.
    fn failed(&self, failure: &Failure) -> Option<Fact> {
        let Self(work) = self;
        let ToolFault { fault, message } = match work.effect {
            Effect::Once => call::unknown(&failure.message()),
            Effect::Pure | Effect::Idempotent => ToolFault::new(failure.fault(), failure.message()),
        };
        Some(Fact::Called(Called {
            work: work.work.clone(),
            attempt: work.attempt,
            result: ToolResult::failed(message),
            fault: Some(fault),
            duration_ms: 0,
            cost: Cost::default(),
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
    /// An actor for the calls of `tools`. `content` puts arguments and results into traces, as far
    /// as they may be seen.
    #[must_use]
    pub fn new(broker: Broker, tools: Arc<Toolset>, content: Option<Arc<Content>>) -> Self {
        Self(Arc::new(Calls { broker, tools, content }))
    }

    async fn call(&self, task: Task<CallCommand>) -> Option<Fact> {
        let CallCommand(work) = &*task.command;
        tokio::select! {
            biased;
            called = self.0.carry_out(&task, work) => Some(Fact::Called(called)),
            // The tool's future is dropped; its work on other threads sees the token.
            () = task.canceled.cancelled() => None,
        }
    }
}

runtime::role!(ToolActor, "tools", CallCommand, call);
