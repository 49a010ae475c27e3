//! Tests of questions, their digests and the schemas of their answers.

use super::*;

fn question(kind: QuestionKind) -> Question {
    let id = AskId::new("q1").unwrap();
    Question { id, prompt: "?".into(), kind, step: None, deadline: None, default: None }
}

#[test]
fn only_an_approval_that_policies_ask_for_can_be_remembered() {
    let approval = |asked_by| {
        question(QuestionKind::ToolApproval {
            tool: ToolName::new("send_mail").unwrap(),
            version: "1".into(),
            args: json!({}),
            digest: "abc".into(),
            asked_by,
            seen: None,
            seen_seq: None,
        })
    };
    let remember = |answer| Answer { remember: Some(Remember::Job), ..answer };
    let yes = remember(Answer::approve(Some("abc".into())));
    assert_eq!(approval(vec![AskedBy::Tool]).check(&yes), Ok(()));
    // A question of an older version does not say what asked.
    assert_eq!(approval(Vec::new()).check(&yes), Err(Misfit::NotRemembered));
    let no = remember(Answer::of(Verdict::Reject));
    assert_eq!(approval(vec![AskedBy::Tool]).check(&no), Err(Misfit::NotRemembered));
    let value = remember(Answer::respond(json!("x")));
    assert_eq!(question(QuestionKind::Question).check(&value), Err(Misfit::NotRemembered));
}

#[test]
fn an_approval_binds_what_was_seen() {
    let tool = ToolName::new("send_mail").unwrap();
    let q = question(QuestionKind::ToolApproval {
        tool,
        version: "1".into(),
        args: json!({}),
        digest: "abc".into(),
        asked_by: Vec::new(),
        seen: None,
        seen_seq: None,
    });
    assert_eq!(q.check(&Answer::approve(Some("abc".into()))), Ok(()));
    assert_eq!(q.check(&Answer::approve(Some("old".into()))), Err(Misfit::Stale));
    assert_eq!(q.check(&Answer::approve(None)), Err(Misfit::Stale));
    assert!(matches!(q.check(&Answer::respond(json!(1))), Err(Misfit::Verdict { .. })));
}

#[test]
fn approvals_of_equal_calls_in_two_jobs_differ() {
    let tool = ToolName::new("t").unwrap();
    let of = |job: &str| {
        approval_digest(&JobId::new(job).unwrap(), "g0.s1", &tool, "1", &json!({"a": 1}))
    };
    assert_ne!(of("a"), of("b"));
    assert_eq!(of("a"), of("a"));
}

#[test]
fn the_schema_of_a_form_says_what_each_field_takes() {
    let q = question(QuestionKind::Form {
        fields: serde_json::from_value(json!([
            {"key": "name", "label": "Name", "type": "text", "required": true, "max_length": 5},
            {"key": "n", "label": "N", "type": "number", "min": 1.0, "integer": true},
            {"key": "c", "label": "C", "type": "select", "options": [{"value": "x"}], "multiple": true},
        ]))
        .unwrap(),
    });
    assert_eq!(
        q.value_schema().unwrap(),
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 5},
                "n": {"type": "integer", "minimum": 1.0},
                "c": {"type": "array", "items": {"enum": ["x"]}, "uniqueItems": true, "minItems": 1},
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    );
}
