//! The functions offered to a model in a turn: the agent's tools, a question to a person, and the
//! end of the step.

use agents::toolbox::Toolbox;
use model::{ModelRequest, Params};
use proto::{
    asking,
    decision::TurnWork,
    lang::Language,
    limits,
    message::{Message, ToolOffer},
};
use serde_json::json;

use crate::outline;

messages::texts!(finish);

/// Function by which a model ends a step. It takes precedence over a registered tool of that name.
pub(crate) const FINISH: &str = "finish";

/// `true` if this is the last turn of the step, or the model must answer now.
pub(crate) fn is_last(work: &TurnWork) -> bool {
    work.turn >= work.max_turns || work.must_answer
}

/// Returns the functions of a turn; in the last turn only [`FINISH`].
pub(crate) fn offers(work: &TurnWork, tools: &Toolbox<'_>) -> Vec<ToolOffer> {
    let end = finish(work.language);
    if is_last(work) {
        return vec![end];
    }
    let keeps_plan = work.outline.is_some();
    let ours = |name: &str| {
        name == FINISH || name == asking::ASK_USER || (keeps_plan && outline::is_ours(name))
    };
    let mut offers: Vec<_> = tools
        .offered()
        .iter()
        .filter(|tool| !ours(tool.name.as_str()))
        .map(|tool| ToolOffer {
            name: tool.name.to_string(),
            description: tool.description.clone(),
            schema: tool.schema.clone(),
        })
        .collect();
    if keeps_plan {
        offers.extend(outline::offers(work.language));
    }
    if work.may_ask {
        offers.push(asking::offer(work.language, &work.ask_kinds));
    }
    offers.push(end);
    offers
}

/// Builds the model request of a turn.
pub(crate) fn request(
    work: &TurnWork,
    messages: Vec<Message>,
    tools: &Toolbox<'_>,
) -> ModelRequest {
    let params = Params {
        model: work.model.model.clone(),
        fallback: work.model.fallback.clone(),
        temperature: work.model.temperature,
        top_p: work.model.top_p,
        effort: work.model.effort,
        may_be_cached: work.is_first_try(),
        parallel_tool_calls: work.max_calls != Some(1),
        ..Params::default()
    };
    ModelRequest { messages, tools: offers(work, tools), params }
}

fn finish(language: Language) -> ToolOffer {
    ToolOffer {
        name: FINISH.to_owned(),
        description: Text::Description.text(language),
        schema: json!({
            "type": "object",
            "properties": {
                "success": {
                    "type": "boolean",
                    "description": Text::Success.text(language)
                },
                "response": {
                    "type": "string",
                    "description": Text::Response.text(language)
                },
                "attachments": {
                    "type": "array",
                    "maxItems": limits::ATTACHMENTS_MAX,
                    "items": {"type": "string", "minLength": 1},
                    "description": Text::Attachments.text(language)
                }
            },
            "required": ["success", "response"],
            "additionalProperties": false
        }),
    }
}
