//! The pool supervises the tools' actors.

use std::{pin::Pin, sync::Arc};

use callboard_tool_actors::{CallContext, Tool, ToolActor, ToolFault, Toolset, options};
use proto::{
    decision::Decision,
    fact::Fact,
    id::Pool,
    tool::{Effect, Fault, ToolResult, ToolSpec},
};
use rstest::rstest;
use runtime::testing::RoleStage;
use serde_json::{Value, json};

use crate::support::{Probe, call};

/// A tool that panics outside the guarded future, so that its actor panics.
struct Unguarded(Probe);

impl Tool for Unguarded {
    fn spec(&self) -> ToolSpec {
        self.0.spec()
    }

    fn call<'a, 'f>(
        &'a self,
        context: CallContext,
        args: Value,
    ) -> Pin<Box<dyn Future<Output = Result<ToolResult, ToolFault>> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        assert!(args["do"] != "panic", "told to panic");
        Tool::call(&self.0, context, args)
    }
}

#[rstest]
#[case(Effect::Idempotent, Fault::Internal)]
#[case(Effect::Once, Fault::Unknown)]
#[tokio::test]
async fn a_panic_ends_one_call_and_leaves_the_others(#[case] effect: Effect, #[case] fault: Fault) {
    let broker = RoleStage::broker(&[]).await;
    let probe = Probe::new(effect);
    let tools = vec![Arc::new(Unguarded(probe.clone())) as Arc<dyn Tool>];
    let tools = Arc::new(Toolset::new(Pool::new("p").unwrap(), tools).unwrap());
    let (bounds, role) = (options(&tools, 4), ToolActor::new(broker.clone(), tools, None));
    let mut stage = RoleStage::start(broker, role, bounds).await;
    let ask = |work: &str, what: &str| {
        Decision::Call(call(work, "p", "probe", effect, json!({"do": what})))
    };
    stage.decide(&ask("g0.s1", "wait")).await;
    probe.running().await;
    stage.decide(&ask("g0.s2", "panic")).await;
    let broken = next_called(&mut stage).await;
    assert_eq!((broken.0.as_str(), broken.1), ("g0.s2", Some(fault)));
    probe.may_end.notify_one();
    assert_eq!(next_called(&mut stage).await, ("g0.s1".to_owned(), None));
    stage.end().await;
}

/// Waits for the next result and returns its unit and fault.
async fn next_called(stage: &mut RoleStage) -> (String, Option<Fault>) {
    loop {
        if let (_, Fact::Called(called)) = stage.fact().await {
            return (called.work.to_string(), called.fault);
        }
    }
}
