//! The parts of each planning protocol: its prompt, its schema, and the function by which a model
//! may deliver a plan.

use proto::policy::PlanProtocol;
use serde_json::Value;

/// Function by which a model delivers a plan.
pub(crate) const CREATE_PLAN: &str = "create_plan";
/// Function by which a model delivers a decision.
pub(crate) const DECIDE: &str = "decide";
/// Function names that models use to deliver plans, some of them from their training.
const KNOWN: &[&str] = &[CREATE_PLAN, "update_plan", "set_plan", DECIDE];

/// Returns the name of the system message's template.
pub(crate) fn template(protocol: PlanProtocol) -> &'static str {
    match protocol {
        // A job with an inline plan has no planner; if it plans nevertheless, it uses the default.
        PlanProtocol::Steps | PlanProtocol::InlineTools => "system",
        PlanProtocol::TaskSteps => "task_steps",
        PlanProtocol::TitleSteps => "title_steps",
        PlanProtocol::ActionSteps => "action_steps",
        PlanProtocol::Decision => "decision",
        PlanProtocol::Phased => "phased",
    }
}

/// Returns the JSON Schema of a reply, for the prompt. A plan that `may_be_empty` may contain a
/// message.
pub(crate) fn schema_text(protocol: PlanProtocol, may_be_empty: bool) -> String {
    let text = match protocol {
        PlanProtocol::Steps | PlanProtocol::InlineTools => include_str!("../schemas/steps.json"),
        PlanProtocol::TaskSteps => include_str!("../schemas/task_steps.json"),
        PlanProtocol::TitleSteps => include_str!("../schemas/title_steps.json"),
        PlanProtocol::ActionSteps => include_str!("../schemas/action_steps.json"),
        PlanProtocol::Decision => include_str!("../schemas/decision.json"),
        PlanProtocol::Phased => include_str!("../schemas/phased.json"),
    }
    .trim_end();
    if !may_be_empty {
        return text.to_owned();
    }
    // The first `properties` are those of the reply itself.
    text.replacen(r#""properties":{"#, r#""properties":{"message":{"type":"string"},"#, 1)
}

/// Returns the JSON Schema of a reply, for a function's arguments.
pub(crate) fn schema(protocol: PlanProtocol, may_be_empty: bool) -> Value {
    serde_json::from_str(&schema_text(protocol, may_be_empty))
        .expect("the schemas are read by a test")
}

/// Returns the function that delivers a protocol's reply.
pub(crate) fn function(protocol: PlanProtocol) -> &'static str {
    if protocol.is_turn_by_turn() { DECIDE } else { CREATE_PLAN }
}

/// `true` if a call of this name delivers a plan.
pub(crate) fn is_function(name: &str) -> bool {
    KNOWN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_can_be_read_and_is_closed() {
        for &protocol in PlanProtocol::ALL {
            for may_be_empty in [false, true] {
                let schema = schema(protocol, may_be_empty);
                assert_eq!(schema["additionalProperties"], false, "{protocol:?}");
                assert_eq!(schema["properties"]["message"].is_object(), may_be_empty);
                runtime::schema::Schemas::new().get(&schema).unwrap();
            }
        }
    }
}
