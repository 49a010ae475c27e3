//! What each protocol is made of: the words that ask for it, its schema, and the function by which a
//! model may hand it over.

use proto::policy::PlanProtocol;
use serde_json::Value;

/// The function by which a model hands over a plan.
pub(crate) const CREATE_PLAN: &str = "create_plan";
/// The function by which a model says what it decided.
pub(crate) const DECIDE: &str = "decide";
/// Names under which models hand over plans, where they were taught to.
const KNOWN: &[&str] = &[CREATE_PLAN, "update_plan", "set_plan", DECIDE];

/// The template of the system message.
pub(crate) fn template(protocol: PlanProtocol) -> &'static str {
    match protocol {
        // A job with its plan inline has no planner; should one be asked, it plans as usual.
        PlanProtocol::Steps | PlanProtocol::InlineTools => "system",
        PlanProtocol::TaskSteps => "task_steps",
        PlanProtocol::TitleSteps => "title_steps",
        PlanProtocol::ActionSteps => "action_steps",
        PlanProtocol::Decision => "decision",
        PlanProtocol::Phased => "phased",
    }
}

/// The JSON Schema of a reply, as it is shown in the prompt. A reply that `may_be_empty` may hold a
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
    // The first properties are those of the reply itself.
    text.replacen(r#""properties":{"#, r#""properties":{"message":{"type":"string"},"#, 1)
}

/// The same, for a function's arguments.
pub(crate) fn schema(protocol: PlanProtocol, may_be_empty: bool) -> Value {
    serde_json::from_str(&schema_text(protocol, may_be_empty))
        .expect("the schemas are read by a test")
}

/// The function by which a model hands over what a protocol wants.
pub(crate) fn function(protocol: PlanProtocol) -> &'static str {
    if protocol.is_turn_by_turn() { DECIDE } else { CREATE_PLAN }
}

/// Whether a call of this name hands over a plan.
pub(crate) fn is_function(name: &str) -> bool {
    KNOWN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_can_be_read_and_is_closed() {
        for protocol in PlanProtocol::ALL {
            for may_be_empty in [false, true] {
                let schema = schema(protocol, may_be_empty);
                assert_eq!(schema["additionalProperties"], false, "{protocol:?}");
                assert_eq!(schema["properties"]["message"].is_object(), may_be_empty);
                runtime::schema::Schemas::new().get(&schema).unwrap();
            }
        }
    }
}
