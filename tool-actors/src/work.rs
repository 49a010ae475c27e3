//! The path from a `call` to a `called`: guards, the announcement of `once` tools, the tool,
//! timing.

use std::sync::Arc;

use broker::Broker;
use proto::{
    cost::Cost,
    decision::CallWork,
    fact::Called,
    tool::{Effect, ToolResult},
};
use runtime::{
    telemetry::{self, Content},
    worker::Task,
};

use crate::{
    actor::CallCommand,
    call, intent,
    observe::Execution,
    tool::{CallContext, ToolFault},
    toolset::Toolset,
};

/// Carries out the calls of a toolset.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) broker: Broker,
    pub(crate) tools: Arc<Toolset>,
    pub(crate) content: Option<Arc<Content>>,
}

impl Calls {
    pub(crate) async fn carry_out(&self, task: &Task<CallCommand>, call: &CallWork) -> Called {
        let own = telemetry::child_of(task.trace);
        let (is_known, content) = (self.tools.has(&call.tool), self.content.as_deref());
        let mut execution = Execution::start(&task.job, call, (task.trace, own), is_known, content);
        let context =
            CallContext::of(&task.job, call, own, task.canceled.clone()).with_files(&self.broker);
        let (meter, artifacts) = (context.meter.clone(), context.artifacts.clone());
        let run = self.execute(task, call, context, &mut execution);
        let ended = telemetry::within(own, run).await;
        let duration_ms = execution.end(&ended);
        let called = called(call, ended, duration_ms);
        let files = if called.result.success { artifacts.read() } else { Vec::new() };
        Called { cost: meter.read(), files, ..called }
    }

    async fn execute(
        &self,
        task: &Task<CallCommand>,
        call: &CallWork,
        context: CallContext,
        execution: &mut Execution<'_>,
    ) -> Result<ToolResult, ToolFault> {
        let admitted = self.tools.admit(&task.job, call)?;
        // The slot is taken before the announcement: a worker that dies while waiting has started
        // nothing.
        let _place = admitted.place().await;
        if admitted.effect() == Effect::Once {
            match intent::claim(&*self.broker.log, &task.job, task.seq, call, context.trace).await {
                Ok(true) => {}
                Ok(false) => return Err(call::unknown("this attempt has already started")),
                Err(error) => {
                    let why = format!("the start could not be stored, so nothing ran: {error}");
                    return Err(ToolFault::unavailable(why));
                }
            }
        }
        execution.begin();
        admitted.run(context, call.args.clone()).await
    }
}

fn called(call: &CallWork, ended: Result<ToolResult, ToolFault>, duration_ms: u64) -> Called {
    let (result, fault, outage) = match ended {
        Ok(result) => (result, None, false),
        Err(ToolFault { fault, message, outage }) => {
            (ToolResult::failed(message), Some(fault), outage)
        }
    };
    let (work, attempt, cost) = (call.work.clone(), call.attempt, Cost::default());
    Called { work, attempt, result, fault, outage, duration_ms, cost, files: Vec::new() }
}
