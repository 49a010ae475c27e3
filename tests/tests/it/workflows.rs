//! Workflows as jobs, with a real nats-server, a scripted model over HTTP, and the program.

use callboard_tests::{
    company::Company,
    wait::{until, wait_for_door},
};
use client::Client;
use proto::{
    door::{GiveAnswer, Submit, SubmitWorkflow},
    error::Code,
    id::JobId,
    interaction::Verdict,
    job::{JobState, Outcome},
};
use serde_json::{Value, json};

use super::chaos::connect;

/// The script of the model: the first draft is bad, and the second one is good.
const SCRIPT: &str = r#"
rules:
  - name: a good mark
    when: { system: 'judge texts strictly[\s\S]*JSON Schema', last: 'the second draft' }
    reply: { text: '{"mark": 9, "advice": "none"}' }
  - name: a bad mark
    when: { system: 'judge texts strictly[\s\S]*JSON Schema' }
    reply: { text: '{"mark": 3, "advice": "be longer"}' }
  - name: the draft after an advice
    when: { last: 'Advice: be longer' }
    reply: { text: 'the second draft' }
else:
  text: 'the first draft'
"#;

fn job(id: &str, source: &str, input: Value) -> Submit {
    let workflow = SubmitWorkflow { source: source.to_owned(), input };
    Submit {
        id: Some(JobId::new(id).unwrap()),
        workflow: Some(workflow),
        ..Submit::goal("Write a text")
    }
}

fn value(outcome: Option<&Outcome>) -> Value {
    match outcome {
        Some(Outcome::Completed { value, .. }) => value.clone(),
        other => panic!("{other:?}"),
    }
}

const IMPROVE: &str = include_str!("../../../examples/workflows/improve.yaml");

/// Asks a person between two pauses.
const ASKING: &str = r#"
workflow: asking
state: {said: {schema: {type: string}}}
output: {said: "{{ state.said }}"}
start: rest
nodes:
  rest: {type: wait, for: 50ms, next: ask}
  ask:
    type: human
    ask: "Which colour, {{ input.name }}?"
    deadline: {after: 1h, then: end}
    write: {said: "{{ answer.text }}"}
    next: end
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_improves_a_draft_until_it_is_good() {
    let company = Company::start(SCRIPT).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;

    client.submit(job("improve", IMPROVE, json!({"task": "Write"}))).await.unwrap();
    let view = until(&client, &JobId::new("improve").unwrap(), JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"text": "the second draft", "mark": 9}));
    let steps: Vec<String> =
        view.plan.unwrap().steps.iter().map(|step| step.id.to_string()).collect();
    assert_eq!(steps, ["draft--1", "judge--1", "draft--2", "judge--2"]);

    let refused = client.submit(job("no-input", IMPROVE, json!({}))).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.field.as_deref()),
        (Code::InvalidRequest, Some("workflow.input"))
    );
    let broken = IMPROVE.replace("next: judge", "next: jugde");
    let refused = client.submit(job("broken", &broken, json!({"task": "x"}))).await.unwrap_err();
    assert!(refused.message.contains("did you mean judge"), "{}", refused.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_survives_the_death_of_every_process() {
    let company = Company::start(SCRIPT).await;
    let process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    let id = JobId::new("asking").unwrap();
    client.submit(job("asking", ASKING, json!({"name": "Ann"}))).await.unwrap();
    let view = until(&client, &id, JobState::InputRequired).await;
    assert_eq!(view.questions[0].prompt, "Which colour, Ann?");
    // Dropping a process kills it.
    drop(process);
    let _process = company.serve("all", "all");
    wait_for_door(&client).await;
    let answer = GiveAnswer {
        job: id.clone(),
        ask: view.questions[0].id.clone(),
        decision: Verdict::Respond,
        value: Some(json!("red")),
        text: None,
        digest: None,
        by: Some("ann".to_owned()),
        four_eyes: false,
    };
    client.call(&answer).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"said": "red"}));
}
