//! Workflows as jobs, with a real nats-server, a scripted model over HTTP, and the program.

use std::collections::BTreeMap;

use callboard_tests::{
    company::Company,
    root,
    wait::{member, until, view, wait_for_door, wait_for_tool},
};
use client::Client;
use proto::{
    door::{GetGraph, GiveAnswer, SendSignal, Submit, SubmitWorkflow},
    error::Code,
    id::{JobId, Seq},
    interaction::Verdict,
    job::{JobState, Outcome},
    point::{Order, Point},
    view::JobView,
    workflow::{EventName, ITEMS_MAX, WorkflowName},
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
    let workflow =
        SubmitWorkflow { source: Some(source.to_owned()), input, ..SubmitWorkflow::default() };
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

/// A map of calls.
const MAP: &str = r#"
workflow: map
limits: {steps: 1001}
state: {seen: {schema: {type: array}, reduce: append, initial: []}}
output: {seen: "{{ state.seen }}"}
start: each
nodes:
  each: {type: map, over: input.rows, as: row, do: call, max_parallel: 50, max_items: 1000,
    collect: {seen: "{{ result }}"}, next: end}
  call: {type: tool, tool: echo, args: {value: "{{ row }}"}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_map_of_a_thousand_items_runs_on_two_workers() {
    let company = Company::start(SCRIPT).await;
    let _supervisor = company.serve("supervisor", "supervisor,door");
    let workers = [company.serve("tools1", "tools"), company.serve("tools2", "tools")];
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    for worker in &workers {
        member(&client, worker, |_| true).await;
    }
    wait_for_tool(&client, "echo").await;

    let (id, rows) = (JobId::new("map").unwrap(), Vec::from_iter(0..ITEMS_MAX));
    client.submit(job("map", MAP, json!({"rows": rows}))).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"seen": rows}));
    let graph = view.graph.unwrap();
    assert_eq!(graph.visits, ITEMS_MAX + 1);
    let graph = client.call(&GetGraph { job: id.clone(), at: None, files: false }).await.unwrap();
    assert_eq!(graph.visits.len(), rows.len() + 1);
    let mut results = BTreeMap::<String, usize>::new();
    for entry in broker.log.read(&id, Seq(0)).await.unwrap() {
        let record = entry.record.unwrap();
        if record.kind == "called" {
            *results.entry(record.by.clone()).or_default() += 1;
        }
    }
    assert_eq!((results.len(), results.values().sum()), (2, rows.len()), "{results:?}");
}

const PAYMENT: &str = include_str!("../../../examples/workflows/payment.yaml");

/// Reports an event to a job.
fn event(job: &JobId, data: Value) -> SendSignal {
    let signal = Order::Event { name: EventName::new("payment").unwrap(), data };
    SendSignal { job: job.clone(), signal, expected_seq: None, reason: None, by: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_wakes_a_job_whose_processes_died() {
    let company = Company::start(SCRIPT).await;
    let process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    let id = JobId::new("order").unwrap();
    let source = PAYMENT.replace("for: 10m", "for: 10ms");
    client.submit(job("order", &source, json!({"order": "o-1"}))).await.unwrap();
    let waits = |view: &JobView| view.why.iter().any(|why| why.reason.code() == "event");
    let view = view(&client, &id, waits).await;
    let why = &view.why[0];
    assert!(why.until.is_some_and(|until| until > why.since), "{why:?}");

    let refused = client.call(&event(&id, json!({"text": "x".repeat(17_000)}))).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.field.as_deref()),
        (Code::TooLarge, Some("signal.event.data"))
    );
    client.call(&event(&id, json!({"order": "another", "amount": 1}))).await.unwrap();
    // Dropping a process kills it.
    drop(process);
    let _process = company.serve("all", "all");
    wait_for_door(&client).await;
    client.call(&event(&id, json!({"order": "o-1", "amount": 12.5}))).await.unwrap();
    let view = until(&client, &id, JobState::InputRequired).await;
    assert!(view.questions[0].prompt.contains("paid (12.5)"), "{}", view.questions[0].prompt);
    client.call(&answer(&id, &view, "Main Street 1")).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"amount": 12.5}));
}

/// Changes the graph of a job that the sender believes to have been changed `base` times.
fn edits(job: &JobId, base: u32, edits: Value) -> SendSignal {
    let edits = serde_json::from_value(edits).unwrap();
    let signal = Order::EditGraph { base, edits };
    SendSignal { job: job.clone(), signal, expected_seq: None, reason: None, by: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graph_of_a_running_job_is_edited_and_survives_the_death_of_every_process() {
    let company = Company::start(SCRIPT).await;
    let process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    let id = JobId::new("asked").unwrap();
    client.submit(job("asked", ASKING, json!({"name": "Ann"}))).await.unwrap();
    until(&client, &id, JobState::InputRequired).await;

    let paint = json!([
        {"op": "add_node", "id": "paint", "node":
            {"type": "set", "write": {"said": "{{ state.said }} paint"}}},
        {"op": "update_edge", "from": "ask", "next": "paint"},
    ]);
    let refusal = async |base, what: Value| {
        let refused = client.call(&edits(&id, base, what)).await.unwrap_err();
        (refused.code, refused.message)
    };
    let (code, _) = refusal(3, paint.clone()).await;
    assert_eq!(code, Code::Stale);
    let write = json!({"said": "red"});
    let other = json!({"type": "set", "ask": null, "deadline": null, "write": write});
    let other = json!([{"op": "update_node", "id": "ask", "node": other}]);
    let (code, message) = refusal(0, other).await;
    assert_eq!(code, Code::InvalidRequest);
    assert!(message.contains("a path of the job is at ask"), "{message}");
    let near = json!([{"op": "update_edge", "from": "rest", "next": "aks"}]);
    let (_, message) = refusal(0, near).await;
    assert!(message.contains("did you mean ask"), "{message}");

    client.call(&edits(&id, 0, paint)).await.unwrap();
    // Dropping a process kills it. An edit waits for a supervisor.
    drop(process);
    let door = company.serve("door", "door");
    wait_for_door(&client).await;
    let limits = json!([{"op": "set_limits", "limits": {"visits": 4}}]);
    let (code, message) = refusal(1, limits.clone()).await;
    assert_eq!(code, Code::Timeout);
    assert!(message.contains("is stored and not in force"), "{message}");
    assert_eq!(refusal(1, limits).await.0, Code::Stale);
    drop(door);
    let _process = company.serve("all", "all");
    wait_for_door(&client).await;
    let is_edited = |view: &JobView| view.graph.as_ref().is_some_and(|graph| graph.revision == 2);
    self::view(&client, &id, is_edited).await;
    let view = until(&client, &id, JobState::InputRequired).await;
    client.call(&answer(&id, &view, "red")).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"said": "red paint"}));
    let (code, _) = refusal(2, json!([{"op": "set_limits", "limits": {"visits": 3}}])).await;
    assert_eq!(code, Code::JobEnded);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_edits_a_graph_and_moves_a_job_to_another_version() {
    let company = Company::start(SCRIPT).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    let id = JobId::new("improve").unwrap();
    let resting = IMPROVE
        .replace("start: draft", "start: rest")
        .replace("nodes:\n", "nodes:\n  rest: {type: wait, for: 1h, next: draft}\n");
    client.submit(job("improve", &resting, json!({"task": "x"}))).await.unwrap();
    view(&client, &id, |view| view.graph.as_ref().is_some_and(|it| !it.current.is_empty())).await;

    let edits = root().join("examples/workflows/improve-edits.yaml").display().to_string();
    let said = printed(&company, &["workflow", "edit", "improve", &edits, "--dry-run"]);
    assert!(said.contains("(+look ~judge)"), "{said}");
    let said = printed(&company, &["workflow", "edit", "improve", &edits]);
    assert!(said.contains("improve follows the new graph"), "{said}");
    let directory = tempfile::tempdir().unwrap();
    let newer = directory.path().join("newer.yaml");
    std::fs::write(&newer, resting.replace("version: 1", "version: 2").replace("1h", "2h"))
        .unwrap();
    let newer = newer.display().to_string();
    let said = printed(&company, &["workflow", "migrate", "improve", &newer, "--dry-run"]);
    assert!(said.contains("~judge ~rest -look ~workflow"), "{said}");
    let said = printed(&company, &["workflow", "migrate", "improve", &newer, "--reason", "newer"]);
    assert!(said.contains("improve follows the new graph"), "{said}");
    let graph = client.get(&id).await.unwrap().graph.unwrap();
    assert_eq!((graph.version, graph.revision), (2, 2));
    let log = printed(&company, &["jobs", "show", "improve"]);
    assert!(log.contains("edit_graph") && log.contains("+look ~judge"), "{log}");
}

/// Runs the sub-workflow `asking`.
const ABOVE: &str = r#"
workflow: above
state: {said: {schema: {type: string}}}
output: {colour: "{{ state.said }}"}
start: below
nodes:
  below:
    type: workflow
    workflow: asking
    input: {name: "{{ input.name }}"}
    write: {said: "{{ result.said }}"}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_workflow_survives_the_death_of_every_process() {
    let company = Company::start(SCRIPT).await;
    let process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    let below = |name: &str, source: &str| (WorkflowName::new(name).unwrap(), source.to_owned());
    let with = |id: &str, sources: &[(&str, &str)]| {
        let mut submit = job(id, ABOVE, json!({"name": "Ann"}));
        let workflow = submit.workflow.as_mut().unwrap();
        workflow.workflows = sources.iter().map(|(name, source)| below(name, source)).collect();
        submit
    };
    let refused = client.submit(with("alone", &[])).await.unwrap_err();
    assert!(refused.message.contains("there is no workflow asking"), "{}", refused.message);
    let circle = ABOVE.replace("workflow: above", "workflow: asking");
    let refused = client.submit(with("circle", &[("asking", &circle)])).await.unwrap_err();
    assert!(refused.message.contains("runs itself"), "{}", refused.message);

    client.submit(with("above", &[("asking", ASKING)])).await.unwrap();
    let id = JobId::new("above").unwrap();
    let asks = |view: &JobView| view.children.iter().any(|child| !child.questions.is_empty());
    let above = view(&client, &id, asks).await;
    let below = above.children[0].job.clone();
    // Dropping a process kills it.
    drop(process);
    let _process = company.serve("all", "all");
    wait_for_door(&client).await;
    let view = until(&client, &below, JobState::InputRequired).await;
    assert_eq!(view.questions[0].prompt, "Which colour, Ann?");
    client.call(&answer(&below, &view, "red")).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"colour": "red"}));
}

/// Answers the first open question of a job.
fn answer(job: &JobId, view: &JobView, text: &str) -> GiveAnswer {
    GiveAnswer {
        job: job.clone(),
        ask: view.questions[0].id.clone(),
        decision: Verdict::Respond,
        value: Some(json!(text)),
        text: None,
        digest: None,
        remember: None,
        by: Some("ann".to_owned()),
        four_eyes: false,
    }
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
    client.call(&answer(&id, &view, "red")).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    assert_eq!(value(view.outcome.as_ref()), json!({"said": "red"}));
}

/// Runs the program, and returns what it printed.
fn printed(company: &Company, args: &[&str]) -> String {
    let output = company.command().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graph_of_a_job_shows_its_loop_now_and_at_an_earlier_record() {
    let company = Company::start(SCRIPT).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    let id = JobId::new("improve").unwrap();
    client.submit(job("improve", IMPROVE, json!({"task": "Write"}))).await.unwrap();
    let view = until(&client, &id, JobState::Completed).await;
    let progress = view.graph.unwrap();
    assert_eq!((progress.name.as_str(), progress.current.len()), ("improve", 0));

    let graph = client.call(&GetGraph { job: id.clone(), at: None, files: false }).await.unwrap();
    assert_eq!((graph.seq, &graph.digest), (view.seq, &progress.digest));
    let visits: Vec<String> = graph.visits.iter().map(|v| v.visit.to_string()).collect();
    assert!(visits.contains(&"draft--2".to_owned()), "{visits:?}");
    assert!(graph.edges.iter().any(|edge| edge.taken == 2), "{:?}", graph.edges);
    let judged = graph.visits.iter().find(|v| v.visit.to_string() == "judge--2").unwrap();
    assert_eq!(judged.output["mark"], json!(9));

    // After its first record the job has entered no node. It is the only job of its shard.
    let first = Some(Point::Seq(Seq(1)));
    let before = client.call(&GetGraph { job: id.clone(), at: first, files: false }).await.unwrap();
    assert!(before.visits.is_empty() && before.edges.iter().all(|edge| edge.taken == 0));

    let drawn =
        printed(&company, &["workflow", "graph", "--job", "improve", "--format", "mermaid"]);
    assert!(drawn.contains("✓ completed · ×2") && drawn.contains("classDef completed"), "{drawn}");
    let drawn = printed(&company, &["workflow", "graph", "--job", "improve", "--at", "1"]);
    assert!(drawn.contains("○ pending") && !drawn.contains("completed"), "{drawn}");

    // The output is told once.
    let told = printed(&company, &["jobs", "describe", "improve"]);
    assert!(told.contains("improve 1"), "{told}");
    client
        .submit(Submit { id: Some(JobId::new("planless").unwrap()), ..Submit::goal("x") })
        .await
        .unwrap();
    let planless = GetGraph { job: JobId::new("planless").unwrap(), at: None, files: false };
    let refused = client.call(&planless).await.unwrap_err();
    assert_eq!((refused.code, refused.field.as_deref()), (Code::NotFound, Some("job")));
}
