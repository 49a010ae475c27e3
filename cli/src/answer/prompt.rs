//! The words before the cursor while a question is answered. Pure.

use client::session::AnswerDraft;
use proto::{
    escape,
    interaction::{Field, QuestionKind},
};
use serde_json::Value;

use crate::{style::Style, words::Text};

/// The prompt for the next line of an answer.
pub(crate) fn of(style: &Style, draft: &AnswerDraft) -> String {
    match &draft.question().kind {
        QuestionKind::PlanCheck { .. } => style.say(Text::PromptPlan),
        QuestionKind::ToolApproval { tool, .. } if draft.remembers() => {
            style.say(Text::PromptApprovalRemember { tool })
        }
        QuestionKind::ToolApproval { .. } => style.say(Text::PromptApproval),
        QuestionKind::Question => style.say(Text::PromptQuestion),
        QuestionKind::Choice { multiple: false, .. } => style.say(Text::PromptChoice),
        QuestionKind::Choice { multiple: true, .. } => style.say(Text::PromptChoices),
        QuestionKind::Form { .. } => {
            draft.field().map(|field| self::field(style, field)).unwrap_or_default()
        }
    }
}

fn field(style: &Style, field: &Field) -> String {
    let label = &escape::line(&field.label);
    match (&field.default, field.required) {
        (Some(default), _) => {
            let default = plain(default);
            style.say(Text::PromptFieldDefault { label, default: &escape::line(&default) })
        }
        (None, true) => style.say(Text::PromptField { label }),
        (None, false) => style.say(Text::PromptFieldOptional { label }),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
