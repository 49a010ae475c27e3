//! The form of an answer as one JSON object, for clients of protocols that ask by a JSON Schema: the
//! schema of a question's answer, and the answer in an object that fits. Pure.

use proto::interaction::{Answer, Question, QuestionKind, Verdict};
use serde_json::{Map, Value, json};

/// The member that holds the answer to a question or a choice.
const ANSWER: &str = "answer";

/// Returns the JSON Schema (2020-12) of the object that answers a question.
#[must_use]
pub fn schema(question: &Question) -> Value {
    match &question.kind {
        QuestionKind::PlanCheck { .. } => json!({
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "changes": {"type": "string", "minLength": 1},
                "plan": {"type": "object"},
            },
            "required": ["approved"],
            "additionalProperties": false,
        }),
        QuestionKind::ToolApproval { .. } => json!({
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
            "required": ["approved"],
            "additionalProperties": false,
        }),
        QuestionKind::Question | QuestionKind::Choice { .. } => json!({
            "type": "object",
            "properties": {ANSWER: question.value_schema()},
            "required": [ANSWER],
            "additionalProperties": false,
        }),
        QuestionKind::Form { .. } => question.value_schema().unwrap_or_default(),
    }
}

/// Returns the answer in an object of the form of [`schema`], or in the bare value of a question or a
/// choice; `None` for any other value. An approval refers to the plan or the call of this question:
/// a question never changes what it asks about.
///
/// Of a plan that is not approved, `plan` replaces it, `changes` says what the planner should change,
/// and without either the job ends.
#[must_use]
pub fn answer(question: &Question, payload: &Value) -> Option<Answer> {
    match &question.kind {
        QuestionKind::PlanCheck { digest, .. } => {
            let fields = known(payload, &["approved", "changes", "plan"])?;
            let is_approved = fields.get("approved")?.as_bool()?;
            let changes = text(fields, "changes")?;
            let plan = fields.get("plan").cloned();
            let (decision, digest) = match (is_approved, &plan, &changes) {
                (true, None, None) => (Verdict::Approve, Some(digest.clone())),
                (false, Some(_), None) => (Verdict::Edit, Some(digest.clone())),
                (false, None, Some(_)) => (Verdict::Respond, None),
                (false, None, None) => (Verdict::Reject, None),
                (true, _, _) | (false, Some(_), Some(_)) => return None,
            };
            Some(Answer { decision, value: plan, text: changes, digest, remember: None })
        }
        QuestionKind::ToolApproval { digest, .. } => {
            let fields = known(payload, &["approved", "reason"])?;
            let text = text(fields, "reason")?;
            Some(if fields.get("approved")?.as_bool()? {
                Answer { text, ..Answer::approve(Some(digest.clone())) }
            } else {
                Answer { text, ..decline() }
            })
        }
        QuestionKind::Question | QuestionKind::Choice { .. } => match payload {
            Value::Object(_) => {
                Some(Answer::respond(known(payload, &[ANSWER])?.get(ANSWER)?.clone()))
            }
            Value::String(_) | Value::Array(_) => Some(Answer::respond(payload.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        },
        QuestionKind::Form { .. } => payload.is_object().then(|| Answer::respond(payload.clone())),
    }
}

/// Returns the answer of a person who declines: a plan that is declined ends its job.
#[must_use]
pub fn decline() -> Answer {
    Answer { decision: Verdict::Reject, value: None, text: None, digest: None, remember: None }
}

/// Returns the members of an object that has no others than these.
fn known<'a>(payload: &'a Value, names: &[&str]) -> Option<&'a Map<String, Value>> {
    let fields = payload.as_object()?;
    fields.keys().all(|name| names.contains(&name.as_str())).then_some(fields)
}

/// Returns a text that may be absent, and `None` for a member that is no text.
fn text(fields: &Map<String, Value>, name: &str) -> Option<Option<String>> {
    match fields.get(name) {
        None => Some(None),
        Some(value) => Some(Some(value.as_str()?.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn question(kind: &Value) -> Question {
        let mut question = json!({"id": "q1", "prompt": "?"});
        question.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        serde_json::from_value(question).unwrap()
    }

    fn plan() -> Value {
        let plan = json!({"title": "t", "steps": []});
        json!({"kind": "plan_check", "plan": plan, "revision": 0, "digest": "d1"})
    }

    fn call() -> Value {
        json!({"kind": "tool_approval", "tool": "echo", "version": "1", "args": {}, "digest": "d2"})
    }

    fn choice() -> Value {
        json!({"kind": "choice", "options": [{"value": "a"}], "multiple": false})
    }

    #[rstest]
    #[case::a_plan(plan(), json!({"approved": true}), json!({"decision": "approve", "digest": "d1"}))]
    #[case::no_plan(plan(), json!({"approved": false}), json!({"decision": "reject"}))]
    #[case::a_change(plan(), json!({"approved": false, "changes": "shorter"}), json!({"decision": "respond", "text": "shorter"}))]
    #[case::another_plan(plan(), json!({"approved": false, "plan": {"steps": []}}), json!({"decision": "edit", "value": {"steps": []}, "digest": "d1"}))]
    #[case::a_call(call(), json!({"approved": true}), json!({"decision": "approve", "digest": "d2"}))]
    #[case::no_call(call(), json!({"approved": false, "reason": "no"}), json!({"decision": "reject", "text": "no"}))]
    #[case::a_text(json!({"kind": "question"}), json!({"answer": "Ann"}), json!({"decision": "respond", "value": "Ann"}))]
    #[case::a_bare_text(json!({"kind": "question"}), json!("Ann"), json!({"decision": "respond", "value": "Ann"}))]
    #[case::an_option(choice(), json!({"answer": "a"}), json!({"decision": "respond", "value": "a"}))]
    #[case::a_form(json!({"kind": "form", "fields": []}), json!({"name": "Ann"}), json!({"decision": "respond", "value": {"name": "Ann"}}))]
    fn an_object_that_fits_is_an_answer(
        #[case] kind: Value,
        #[case] payload: Value,
        #[case] expected: Value,
    ) {
        let question = question(&kind);
        let answer = answer(&question, &payload).unwrap();
        assert_eq!(serde_json::to_value(answer).unwrap(), expected);
        assert_eq!(schema(&question)["type"], "object");
    }

    #[rstest]
    #[case::a_word_for_a_plan(plan(), json!("yes"))]
    #[case::an_approval_with_changes(plan(), json!({"approved": true, "changes": "shorter"}))]
    #[case::a_change_of_another_plan(plan(), json!({"approved": false, "changes": "a", "plan": {}}))]
    #[case::a_member_more(plan(), json!({"approved": true, "force": true}))]
    #[case::an_approval_in_words(call(), json!({"approved": "yes"}))]
    #[case::nothing(call(), json!({}))]
    #[case::a_number(json!({"kind": "question"}), json!(7))]
    #[case::a_text_for_a_form(json!({"kind": "form", "fields": []}), json!("Ann"))]
    fn any_other_value_is_none(#[case] kind: Value, #[case] payload: Value) {
        assert_eq!(answer(&question(&kind), &payload), None);
    }
}
