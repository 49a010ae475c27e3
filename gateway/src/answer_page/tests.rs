//! Tests of answer pages and of the forms that they send.

use proto::{
    id::{AskId, JobId, ToolName},
    interaction::{Choice, Field, Input, Question, QuestionKind, Verdict},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    given::{Fields, Wrong},
    *,
};

/// A text that tries to leave its place.
const HOSTILE: &str = "</pre><script>alert(1)</script>\u{202e}\u{200b}\"'&";

fn redeemed(kind: QuestionKind, once: bool) -> Redeemed {
    let question = Question {
        id: AskId::new("q1").unwrap(),
        prompt: HOSTILE.to_owned(),
        kind,
        step: None,
        deadline: None,
        default: None,
    };
    Redeemed {
        job: JobId::new("j1").unwrap(),
        goal: HOSTILE.to_owned(),
        ask: question.id.clone(),
        by: "ann".to_owned(),
        expires: "2026-03-04T09:00:00Z".parse().unwrap(),
        question: Some(question),
        digest: Some("d0".to_owned()),
        changed: false,
        once,
        past: None,
    }
}

fn approval(once: bool) -> Redeemed {
    let args = json!({"to": HOSTILE, "body": "x".repeat(5_000)});
    let (tool, version) = (ToolName::new("send_mail").unwrap(), "1".to_owned());
    let (digest, asked_by, seen) = ("ab12cd".into(), Vec::new(), None);
    let seen_seq = None;
    let kind = QuestionKind::ToolApproval { tool, version, args, digest, asked_by, seen, seen_seq };
    redeemed(kind, once)
}

fn choice(multiple: bool) -> QuestionKind {
    let options = ["short", "long"].map(|value| Choice { value: value.into(), label: None });
    QuestionKind::Choice { options: options.into(), multiple }
}

fn form() -> QuestionKind {
    let field = |key: &str, input| Field {
        key: key.to_owned(),
        label: key.to_owned(),
        input,
        required: true,
        description: None,
        default: None,
    };
    QuestionKind::Form {
        fields: vec![
            field("name", Input::Text { max_length: None, min_length: None, multiline: false }),
            field("count", Input::Number { min: None, max: None, integer: true }),
            field("sure", Input::Boolean),
        ],
    }
}

fn html(redeemed: &Redeemed, language: Language) -> String {
    Shown::of(redeemed, language, None).render().unwrap()
}

#[rstest]
#[case::approval(approval(true))]
#[case::question(redeemed(QuestionKind::Question, false))]
#[case::choice(redeemed(choice(true), false))]
#[case::form(redeemed(form(), false))]
fn no_text_of_others_is_markup_and_nothing_is_preselected(#[case] redeemed: Redeemed) {
    for language in Language::ALL {
        let html = html(&redeemed, *language);
        assert!(!html.contains("<script"), "{html}");
        assert!(!html.contains(['\u{202e}', '\u{200b}']), "{html}");
        for selected in [" checked", " selected", "autofocus", " style=", " on"] {
            assert!(!html.contains(&format!("{selected}=")), "{selected}");
        }
        assert!(!html.contains(" checked") && !html.contains(" selected"));
        assert_eq!(html.matches("<form").count(), 1);
        assert_eq!(html.matches("type=\"submit\"").count(), 1);
        assert!(html.len() < 12 * 1024 + 6_000, "{}", html.len());
    }
}

#[test]
fn an_approval_shows_every_byte_with_their_number() {
    let redeemed = approval(false);
    let html = html(&redeemed, Language::En);
    let Some(QuestionKind::ToolApproval { args, .. }) = redeemed.question.map(|q| q.kind) else {
        panic!("it is an approval")
    };
    let bytes = args.to_string().len();
    assert!(html.contains(&format!("exactly these {bytes} bytes")), "{html}");
    assert!(html.contains(&"x".repeat(5_000)) && html.contains("ab12cd"));
    assert!(html.contains("\\u{202e}\\u{200b}"), "{html}");
}

#[rstest]
#[case::plain_approval(false, "decision=approve", Ok(Verdict::Approve))]
#[case::typed(true, "decision=approve&typed=AB12", Ok(Verdict::Approve))]
#[case::not_typed(true, "decision=approve", Err(Wrong::NotTheDigest))]
#[case::typed_wrongly(true, "decision=approve&typed=ab13", Err(Wrong::NotTheDigest))]
#[case::refused_without_typing(true, "decision=reject", Ok(Verdict::Reject))]
#[case::nothing_chosen(false, "typed=ab12", Err(Wrong::NoDecision))]
#[case::nonsense(false, "decision=yes", Err(Wrong::NoDecision))]
fn a_call_runs_only_by_a_choice(
    #[case] once: bool,
    #[case] sent: &str,
    #[case] expected: Result<Verdict, Wrong>,
) {
    let question = approval(once).question.unwrap();
    let answer = Fields::of(sent.as_bytes()).answer(&question, once);
    if let Ok(answer) = &answer {
        let digest = (answer.decision == Verdict::Approve).then_some("ab12cd");
        assert_eq!(answer.digest.as_deref(), digest);
    }
    assert_eq!(answer.map(|answer| answer.decision), expected);
}

#[rstest]
#[case::text(QuestionKind::Question, "value=a+b%0D%0Ac", json!("a b\nc"))]
#[case::one(choice(false), "value=long", json!("long"))]
#[case::several(choice(true), "value=long&value=short", json!(["long", "short"]))]
#[case::fields(form(), "field0=Ann&field1=7&field2=true", json!({"name": "Ann", "count": 7, "sure": true}))]
#[case::left_empty(form(), "field0=&field1=", json!({}))]
fn a_form_is_read_by_the_kind_of_its_question(
    #[case] kind: QuestionKind,
    #[case] sent: &str,
    #[case] value: Value,
) {
    let question = redeemed(kind, false).question.unwrap();
    let sent = format!("decision=respond&{sent}");
    let answer = Fields::of(sent.as_bytes()).answer(&question, false).unwrap();
    assert_eq!(answer.value, Some(value));
}

#[test]
fn a_number_is_a_number() {
    let question = redeemed(form(), false).question.unwrap();
    let answer = Fields::of(b"decision=respond&field1=many").answer(&question, false);
    assert_eq!(answer, Err(Wrong::NoNumber("count".to_owned())));
}
