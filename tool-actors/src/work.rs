//! Turns a `call` into a `called`: the guards, the intent of `once` tools, the tool, the clock.

use std::sync::Arc;

use async_trait::async_trait;
use broker::Broker;
use proto::{
    cost::Cost,
    decision::{CallWork, Decision},
    fact::{Called, Fact},
    tool::{Effect, Fault, ToolResult},
};
use runtime::{
    telemetry::{self, Content},
    worker::{self, Task, Work},
};

use crate::{
    call, intent,
    observe::Execution,
    tool::{CallContext, ToolFault},
    toolset::Toolset,
};

/// Carries out the calls of a toolset.
#[derive(Debug)]
pub struct ToolWork {
    broker: Broker,
    tools: Arc<Toolset>,
    content: Option<Arc<Content>>,
}

impl ToolWork {
    /// Carries out the calls of that toolset.
    #[must_use]
    pub fn new(broker: Broker, tools: Arc<Toolset>) -> Self {
        Self { broker, tools, content: None }
    }

    /// Puts arguments and results into traces, as far as they may be seen.
    #[must_use]
    pub fn showing(self, content: Option<Arc<Content>>) -> Self {
        Self { content, ..self }
    }

    async fn carry_out(&self, task: &Task, call: &CallWork) -> Called {
        let own = telemetry::child_of(task.trace);
        let (is_known, content) = (self.tools.has(&call.tool), self.content.as_deref());
        let mut execution = Execution::start(&task.job, call, (task.trace, own), is_known, content);
        let context =
            CallContext::of(&task.job, call, own, task.canceled.clone()).with_files(&self.broker);
        let meter = context.meter.clone();
        let run = self.execute(task, call, context, &mut execution);
        let ended = telemetry::within(own, run).await;
        let duration_ms = execution.end(&ended);
        Called { cost: meter.read(), ..called(call, ended, duration_ms) }
    }

    async fn execute(
        &self,
        task: &Task,
        call: &CallWork,
        context: CallContext,
        execution: &mut Execution<'_>,
    ) -> Result<ToolResult, ToolFault> {
        let admitted = self.tools.admit(&task.job, call)?;
        // The place comes before the intent: a worker that dies while it waits has begun nothing.
        let _place = admitted.place().await;
        if admitted.effect() == Effect::Once {
            match intent::claim(&*self.broker.log, &task.job, task.seq, call, context.trace).await {
                Ok(true) => {}
                Ok(false) => return Err(call::unknown("this attempt was begun before")),
                Err(error) => {
                    let why = format!("the start could not be stored, nothing was run: {error}");
                    return Err(ToolFault::unavailable(why));
                }
            }
        }
        execution.begin();
        admitted.run(context, call.args.clone()).await
    }
}

fn called(call: &CallWork, ended: Result<ToolResult, ToolFault>, duration_ms: u64) -> Called {
    let (work, attempt, cost) = (call.work.clone(), call.attempt, Cost::default());
    match ended {
        Ok(result) => Called { work, attempt, result, fault: None, duration_ms, cost },
        Err(ToolFault { fault, message }) => {
            let result = ToolResult::failed(message);
            Called { work, attempt, result, fault: Some(fault), duration_ms, cost }
        }
    }
}

#[async_trait]
impl Work for ToolWork {
    fn name(&self) -> &'static str {
        "tools"
    }

    async fn run(&self, task: Task) -> Option<Fact> {
        let Decision::Call(call) = &task.decision else {
            tracing::error!(job = %task.job, seq = %task.seq, "not a call; ignored");
            return None;
        };
        tokio::select! {
            biased;
            called = self.carry_out(&task, call) => Some(Fact::Called(called)),
            // The tool's future is dropped; what it left on other threads sees the token.
            () = task.canceled.cancelled() => None,
        }
    }

    fn broken(&self, decision: &Decision, why: &str) -> Option<Fact> {
        unclear(worker::broken(decision, why), decision)
    }

    fn lost(&self, decision: &Decision, delivered: u64) -> Option<Fact> {
        unclear(worker::lost(decision, delivered), decision)
    }
}

/// What the worker loop reports of a `once` tool on its own account never invites another run.
fn unclear(fact: Option<Fact>, decision: &Decision) -> Option<Fact> {
    let Decision::Call(CallWork { effect: Effect::Once, .. }) = decision else { return fact };
    let Some(Fact::Called(reported)) = fact else { return fact };
    let why = reported.result.error.unwrap_or_default();
    let ToolFault { message, .. } = call::unknown(&why);
    let result = ToolResult::failed(message);
    Some(Fact::Called(Called { result, fault: Some(Fault::Unknown), ..reported }))
}
