//! `answer` with `edit`: a plan that replaces the shown one, validated by the rules of plans.

use broker::kv::Bucket;
use proto::{
    error::Code,
    fact::Fact,
    id::{JobId, Seq, StepId},
    interaction::{QuestionKind, Verdict},
    lang::Language,
    plan::{Action, Plan},
    record::Known,
};
use rstest::rstest;
use runtime::people::People;
use serde_json::{Value, json};

use crate::office::Office;

fn plan_check() -> QuestionKind {
    let step = json!({"id": "a", "description": "write", "action": "agent"});
    let plan = serde_json::from_value(json!({"title": "t", "steps": [step]})).unwrap();
    let completed = vec![StepId::new("old").unwrap()];
    QuestionKind::PlanCheck {
        plan,
        revision: 1,
        digest: "d1".into(),
        completed,
        finished: Vec::new(),
    }
}

/// Creates an office that knows the tool `send_mail`, and a job whose plan awaits confirmation.
async fn office() -> (Office, JobId) {
    let mut office = Office::new().await;
    office.fire_everybody().await;
    let announcement = json!({
        "name": "send_mail", "description": "sends", "effect": "once", "approval": "always",
        "schema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
        "pool": "p", "version": "7", "by": "tools-1"
    });
    let value = serde_json::to_vec(&announcement).unwrap().into();
    office.broker.kv.put(Bucket::Tools, "send_mail", value).await.unwrap();
    office.hire(People::default()).await;
    let job = office.asked("j", plan_check()).await;
    (office, job)
}

async fn stored(office: &Office, job: &JobId) -> Option<(Verdict, Plan)> {
    let entries = office.broker.log.read(job, Seq(0)).await.unwrap();
    entries.into_iter().find_map(|entry| match entry.record.unwrap().known() {
        Ok(Known::Fact(fact)) => match *fact {
            Fact::Answered(answered) => {
                let plan = serde_json::from_value(answered.answer.value.unwrap()).unwrap();
                Some((answered.answer.decision, plan))
            }
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Fired(_)
            | Fact::Child(_) => None,
        },
        Ok(Known::Decision(_)) | Err(_) => None,
    })
}

#[tokio::test]
async fn a_changed_plan_becomes_a_fact_as_it_would_run() {
    let (office, job) = office().await;
    let steps = json!([
        {"id": "b", "description": "send it", "tool": "send_mail", "args": {"to": "{{old.address}}"}},
        "and tell Li",
    ]);
    let body =
        json!({"decision": "edit", "digest": "d1", "value": {"title": "t2", "steps": steps}});
    office.answer(&job, body).await.unwrap();
    let (verdict, plan) = stored(&office, &job).await.unwrap();
    assert_eq!((verdict, plan.title.as_str(), plan.steps.len()), (Verdict::Edit, "t2", 2));
    let Action::Tool { binding, .. } = &plan.steps[0].action else { panic!("not a tool call") };
    assert_eq!(binding.version, "7", "what the registry says, not what a person does");
    assert_eq!(plan.steps[0].depends_on[0].as_str(), "old", "mended as a planner's is");
    office.until(&job, 0).await;
}

#[tokio::test]
async fn a_plan_may_come_back_in_the_form_it_was_shown_in() {
    let (office, job) = office().await;
    let QuestionKind::PlanCheck { plan, .. } = plan_check() else { panic!("not a plan") };
    let mut value = serde_json::to_value(&plan).unwrap();
    let call = json!({"id": "b", "description": "send", "action": "tool", "tool": "send_mail",
        "args": {"to": "ann"}, "binding": {"pool": "evil", "effect": "pure", "version": "0"}});
    value["steps"].as_array_mut().unwrap().push(call);
    office.answer(&job, json!({"decision": "edit", "value": value})).await.unwrap();
    let (_, stored) = stored(&office, &job).await.unwrap();
    assert_eq!(stored.steps[0], plan.steps[0]);
    let Action::Tool { binding, .. } = &stored.steps[1].action else { panic!("not a tool call") };
    assert_eq!(binding.pool.as_str(), "p", "nobody but the registry says how a tool is run");
}

#[rstest]
#[case::nothing(json!({"decision": "edit"}), Code::InvalidAnswer, "value", "missing")]
#[case::no_plan(json!({"decision": "edit", "value": "send it"}), Code::InvalidAnswer, "value", "must be an object with steps")]
#[case::no_steps(json!({"decision": "edit", "value": {"steps": []}}), Code::InvalidAnswer, "value.steps", "reject it to end the job")]
#[case::unknown_field(json!({"decision": "edit", "value": {"steps": ["a"], "approve": true}}), Code::InvalidAnswer, "value.approve", "not a field of a plan")]
#[case::unknown_tool(json!({"decision": "edit", "value": {"steps": [{"description": "x", "tool": "send_mial"}]}}),
    Code::InvalidAnswer, "value.steps[0].tool", "there is no tool \"send_mial\"; did you mean send_mail?")]
#[case::what_depends_on_nothing_too(json!({"decision": "edit", "value": {"steps": [
    {"description": "x", "tool": "send_mial"}, {"description": "y", "depends_on": ["nobody"]}]}}),
    Code::InvalidAnswer, "value.steps[0].tool", "\nvalue.steps[1].depends_on: step step2 depends on nobody")]
#[case::wrong_arguments(json!({"decision": "edit", "value": {"steps": [{"description": "x", "tool": "send_mail", "args": {"to": 1}}]}}),
    Code::InvalidAnswer, "value.steps[0].args", "the arguments of send_mail do not fit")]
#[case::circle(json!({"decision": "edit", "value": {"steps": [
    {"id": "a", "description": "x", "depends_on": ["b"]}, {"id": "b", "description": "y", "depends_on": ["a"]}]}}),
    Code::InvalidAnswer, "value.steps", "Circular dependency")]
#[case::completed_before(json!({"decision": "edit", "value": {"steps": [{"id": "old", "description": "x"}]}}),
    Code::InvalidAnswer, "value.steps[0].id", "has completed already")]
#[case::another_plan(json!({"decision": "edit", "digest": "d0", "value": {"steps": ["a"]}}), Code::Stale, "digest", "show the question again")]
#[tokio::test]
async fn what_is_wrong_goes_back_to_the_person_and_the_question_stays_open(
    #[case] body: Value,
    #[case] code: Code,
    #[case] field: &str,
    #[case] why: &str,
) {
    let (office, job) = office().await;
    let failure = office.answer(&job, body).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (code, Some(field)), "{failure:?}");
    assert!(failure.message.contains(why), "{}", failure.message);
    let chinese = failure.reason.unwrap().text(Language::Zh).unwrap();
    assert!(!chinese.is_ascii() && !chinese.contains(why), "{chinese}");
    assert!(stored(&office, &job).await.is_none());
    office.until(&job, 1).await;
    office.answer(&job, json!({"decision": "approve", "digest": "d1"})).await.unwrap();
}

#[tokio::test]
async fn only_a_plan_can_be_edited() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    let refused =
        office.refused(&job, json!({"decision": "edit", "value": {"steps": ["a"]}})).await;
    assert_eq!(refused, (Code::InvalidAnswer, "decision".to_owned()));
}
