//! Views of jobs for the tests of the bridges.

use proto::view::JobView;
use serde_json::{Value, json};

/// Returns the view of a job that works, with other fields over it.
pub(crate) fn view(more: &Value) -> JobView {
    let mut view = json!({
        "job": "j1", "state": "working", "goal": "g", "agent": "default", "language": "en",
        "usage": {"input_tokens": 0, "output_tokens": 0}, "ignored": 0, "records": 3, "seq": 3,
        "created": "2026-03-01T09:00:00Z", "updated": "2026-03-01T09:00:05Z",
    });
    view.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(view).unwrap()
}

/// Returns the view of a job that waits for the answer to a question of this kind.
pub(crate) fn asking(kind: &Value) -> JobView {
    let mut question = json!({"id": "q1", "prompt": "?"});
    question.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
    view(&json!({"state": "input-required", "questions": [question]}))
}
