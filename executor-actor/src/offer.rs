//! What a model is offered in a turn: the agent's tools, a way to ask, and a way to end the step.

use model::{ModelRequest, Params};
use proto::{
    asking,
    decision::TurnWork,
    lang::Language,
    limits,
    message::{Message, ToolOffer},
    toolbox::Toolbox,
};
use serde_json::json;

use crate::outline;

/// The function by which a model ends a step. No registered tool is offered or called under it.
pub(crate) const FINISH: &str = "finish";

/// Whether no further turn follows, or nothing but an answer is wanted.
pub(crate) fn is_last(work: &TurnWork) -> bool {
    work.turn >= work.max_turns || work.must_answer
}

/// The tools of a turn; in the last one only the end.
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

/// What the model is asked.
pub(crate) fn request(
    work: &TurnWork,
    messages: Vec<Message>,
    tools: &Toolbox<'_>,
) -> ModelRequest {
    let params = Params {
        model: work.model.model.clone(),
        temperature: work.model.temperature,
        top_p: work.model.top_p,
        parallel_tool_calls: work.max_calls != Some(1),
        ..Params::default()
    };
    ModelRequest { messages, tools: offers(work, tools), params }
}

fn finish(language: Language) -> ToolOffer {
    let say = |en: &'static str, zh: &'static str| match language {
        Language::En => en,
        Language::Zh => zh,
    };
    ToolOffer {
        name: FINISH.to_owned(),
        description: say(
            "End the step with its result. Call it alone, after everything else is done.",
            "结束这个步骤并给出结果。其他事情都完成后单独调用。",
        )
        .to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "success": {
                    "type": "boolean",
                    "description": say("whether the step reached what it was for", "步骤是否达到目的")
                },
                "response": {
                    "type": "string",
                    "description": say(
                        "the result, or why there is none",
                        "结果；没有结果时说明原因",
                    )
                },
                "attachments": {
                    "type": "array",
                    "maxItems": limits::ATTACHMENTS_MAX,
                    "items": {"type": "string", "minLength": 1},
                    "description": say(
                        "paths or addresses of files that belong to the result, if there are any",
                        "属于结果的文件路径或网址；没有则省略",
                    )
                }
            },
            "required": ["success", "response"],
            "additionalProperties": false
        }),
    }
}
