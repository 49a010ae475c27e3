//! The words before the cursor while a question is answered. Pure.

use client::session::AnswerDraft;
use proto::{
    escape,
    interaction::{Field, QuestionKind},
};
use serde_json::Value;

/// The prompt for the next line of an answer.
pub(crate) fn of(draft: &AnswerDraft) -> String {
    match &draft.question().kind {
        QuestionKind::PlanCheck { .. } => {
            "confirm [c], cancel [x], or say how it is to change:".to_owned()
        }
        QuestionKind::ToolApproval { .. } => "run it [y], do not [n], or say why not:".to_owned(),
        QuestionKind::Question => "answer:".to_owned(),
        QuestionKind::Choice { multiple: false, .. } => "choose:".to_owned(),
        QuestionKind::Choice { multiple: true, .. } => "choose, with commas:".to_owned(),
        QuestionKind::Form { .. } => draft.field().map(field).unwrap_or_default(),
    }
}

fn field(field: &Field) -> String {
    let label = escape::line(&field.label);
    match (&field.default, field.required) {
        (Some(default), _) => format!("{label} [{}]:", escape::line(&plain(default))),
        (None, true) => format!("{label}:"),
        (None, false) => format!("{label} (may be left empty):"),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
