//! The language that a reply names, and that of its refusal.

use super::*;

#[rstest]
#[case::code(json!("zh"), Some(Language::Zh))]
#[case::tag(json!("zh-CN"), Some(Language::Zh))]
#[case::name(json!("Chinese"), Some(Language::Zh))]
#[case::own_name(json!("中文"), Some(Language::Zh))]
#[case::english(json!("en-US"), Some(Language::En))]
#[case::unknown(json!("tlh"), None)]
#[case::empty(json!(""), None)]
#[case::none(json!(null), None)]
#[case::no_text(json!(["zh"]), None)]
fn a_plan_names_its_language_and_a_spelling_is_no_mistake(
    #[case] named: Value,
    #[case] expected: Option<Language>,
) {
    let whole = json!({"title": "T", "steps": ["do"], "language": named});
    let inside = json!({"plan": whole});
    let beside = json!({"plan": {"steps": ["do"]}, "language": named});
    for draft in [whole, inside, beside] {
        let reply = understood(&draft.to_string(), &[], StopReason::End, json!({}));
        let PlanReply::Plan { plan } = reply else { panic!("{reply:?}") };
        assert_eq!(plan.language, expected, "{draft}");
    }
    let answer = json!({"steps": [], "message": "m", "language": named}).to_string();
    let reply = understood(&answer, &[], StopReason::End, json!({"may_be_empty": true}));
    assert_eq!(reply, PlanReply::Finished { response: "m".to_owned(), language: expected });
}

#[test]
fn an_argument_is_refused_in_the_language_of_the_job() {
    let decided = r#"{"status":"continue","next_action":{"tool":"complete_task","input":"62"}}"#;
    let planned = r#"{"steps":[{"description":"x","tool":"complete_task","args":{"id":"62"}}]}"#;
    for (text, work, expected) in [
        (
            decided,
            json!({"protocol": "decision"}),
            "next_action.input：必须是对象，包含 complete_task 的参数：",
        ),
        (planned, json!({}), "id：类型必须是 integer"),
    ] {
        let mut work = work;
        work["language"] = json!("zh");
        let got = line(&understood(text, &[], StopReason::End, work));
        assert!(got.contains(expected), "{got}");
    }
}
