//! The property of any reply of a model to a planner. `callboard-planner-actor`'s own tests run it
//! over the seeds and over mutations of them.
//!
//! The function depends only on its bytes.

use std::collections::BTreeSet;

use agents::toolbox::Toolbox;
use model::Reply;
use planner_actor::understand;
use proto::{
    decision::PlanWork,
    fact::PlanReply,
    message::{StopReason, Usage},
    plan::Action,
    policy::PlanProtocol,
    tool::ToolSpec,
};
use serde_json::json;

/// Checks that a reply is a sound plan of offered tools, a question or an answer that the protocol
/// allows, or an error that the model can act upon; and that blank lines around it change nothing.
/// The first byte selects the protocol.
pub fn replies(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let protocols = PlanProtocol::ALL;
    let protocol = protocols[usize::from(*first) % protocols.len()];
    let work: PlanWork = serde_json::from_value(json!({
        "work": "g0.p1", "attempt": 1, "goal": "the goal", "language": "en", "protocol": protocol,
        "may_ask": false, "tools": ["create_task"]
    }))
    .expect("a planner's command");
    let understood = read(text, &work);
    match &understood {
        PlanReply::Plan { plan } => {
            assert_eq!(plan.check(&BTreeSet::new()), Ok(()), "an unsound plan is accepted");
            for step in &plan.steps {
                if let Action::Tool { tool, .. } = &step.action {
                    assert_eq!(tool.as_str(), "create_task", "a tool that was not offered");
                }
            }
            let blank = format!("\n \n{text}\n\n");
            assert_eq!(read(&blank, &work), understood, "blank lines make another plan");
        }
        PlanReply::Question { .. } => {
            panic!("a person is asked, and the planner may not ask: {understood:?}")
        }
        PlanReply::Unparseable { error, .. } => assert!(error.len() > 10, "{error:?}"),
        PlanReply::Failed { .. } => panic!("no service failed: {understood:?}"),
        PlanReply::Finished { .. } | PlanReply::Noted { .. } => {
            assert!(protocol.is_turn_by_turn(), "an end that the protocol does not allow");
        }
        PlanReply::Simple => panic!("a reply detects nothing"),
    }
}

fn read(text: &str, work: &PlanWork) -> PlanReply {
    let reply = Reply {
        text: text.to_owned(),
        thought: String::new(),
        calls: Vec::new(),
        opaque: None,
        answered: None,
        usage: Usage::default(),
        stop: StopReason::End,
        model: "m".to_owned(),
    };
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let tools: Vec<ToolSpec> = ["create_task", "delete_all"]
        .map(|name| {
            let spec = json!({
                "name": name, "description": "d", "schema": schema, "effect": "idempotent",
                "pool": "p", "version": "1"
            });
            serde_json::from_value(spec).expect("a tool")
        })
        .into();
    let offered = Toolbox::new(&tools, work.model.tools.as_deref());
    understand(&reply, work, &offered, &|_, _| Ok(())).reply
}
