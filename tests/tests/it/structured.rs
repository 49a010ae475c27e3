//! Structured results, with a real nats-server, a scripted model over HTTP, and the program.

use std::process::Output;

use callboard_tests::{
    company::Company,
    wait::{until, wait_for_door},
};
use client::Client;
use proto::{
    agent::Agent,
    door::{AgentChoice, Submit},
    error::Code,
    id::JobId,
    job::{FailReason, JobState, Outcome},
    output::OutputSchema,
};
use serde_json::{Value, json};

use super::chaos::connect;

/// The script of the model. It states the price as a word first, and as a number when it is told that
/// this does not fit.
const SCRIPT: &str = r#"
rules:
  - name: the repaired result
    when: { system: 'state the result of a job', last: 'did not fit the schema[\s\S]*price' }
    reply: { text: '{"price": 9}' }
  - name: a result that does not fit
    when: { system: 'state the result of a job', last: 'It costs nine' }
    reply: { text: '{"price": "nine"}' }
  - name: no result at all
    when: { system: 'state the result of a job' }
    reply: { text: 'I would rather not say.' }
  - name: a goal without an answer
    when: { last: 'Say nothing' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "…" } } ] }
else:
  calls: [ { tool: finish, args: { success: true, response: "It costs nine." } } ]
"#;

fn schema() -> Value {
    json!({"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}})
}

fn job(id: &str, goal: &str, output: Value) -> Submit {
    let mut agent = Agent { confirm: false, ..Agent::default() };
    agent.plan.when = proto::agent::PlanWhen::Never;
    Submit {
        id: Some(JobId::new(id).unwrap()),
        agent: Some(AgentChoice::Inline(Box::new(agent))),
        output: Some(OutputSchema(output)),
        ..Submit::goal(goal)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_ends_with_a_result_that_fits_the_schema_of_its_submission() {
    let company = Company::start(SCRIPT).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;

    let refused = json!({"type": "object", "properties": {"price": {"type": "nummer"}}});
    let refused = client.submit(job("refused", "What does it cost?", refused)).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidRequest);
    let field = refused.field.unwrap_or_default();
    assert!(field.starts_with("output.properties.price.type"), "{field}: {}", refused.message);

    client.submit(job("priced", "What does it cost?", schema())).await.unwrap();
    let view = until(&client, &JobId::new("priced").unwrap(), JobState::Completed).await;
    let Some(Outcome::Completed { summary, value, .. }) = &view.outcome else { panic!("{view:?}") };
    assert_eq!((summary.as_str(), value), ("It costs nine.", &json!({"price": 9})));

    client.submit(job("silent", "Say nothing", schema())).await.unwrap();
    let view = until(&client, &JobId::new("silent").unwrap(), JobState::Failed).await;
    let Some(Outcome::Failed { reason, message, .. }) = &view.outcome else { panic!("{view:?}") };
    assert_eq!(*reason, FailReason::OutputInvalid, "{message}");

    let file = company.workspace().join("schema.json");
    std::fs::write(&file, schema().to_string()).unwrap();
    let path = format!("@{}", file.display());
    let arguments = [
        "-o",
        "json",
        "run",
        "What does it cost?",
        "--agent",
        "direct",
        "--schema",
        &path,
        "--no-confirm",
    ];
    let ran: Output = company.command().args(arguments).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    let view: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!(view["outcome"]["value"], json!({"price": 9}), "{said}");
}
