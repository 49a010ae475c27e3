//! Workflows by name, with a real nats-server, a scripted model over HTTP, and the program.

use std::{fs, process::Output};

use callboard_tests::{
    company::{Company, Process},
    wait::{until, view, wait_for_door},
};
use client::Client;
use proto::{
    id::JobId,
    job::{JobState, Outcome},
    view::JobView,
};
use serde_json::{Value, json};

use super::{admin::http::get, chaos::connect, dashboards::free_port};

/// The script of the model: one kind for all tickets, and one turn that fails.
const SCRIPT: &str = r#"
rules:
  - name: the kind
    when: { last: 'Which kind' }
    reply: { text: '{"kind": "question"}' }
else:
  text: 'no rule'
"#;

/// Sorts a ticket.
const SORT: &str = r#"
workflow: sort
version: 1
about: Sorts a ticket
input: {type: object, required: [goal], properties: {goal: {type: string}}}
state: {kind: {schema: {enum: [bug, question]}}}
output: {kind: "{{ state.kind }}", of: "{{ input.goal }}"}
start: ask
nodes:
  ask:
    type: model
    prompt: "Which kind is this? {{ input.goal }}"
    reply: {type: object, required: [kind], properties: {kind: {enum: [bug, question]}}}
    write: {kind: "{{ reply.kind }}"}
    next: end
"#;

/// Runs the workflow `sort` below a pause that is long enough for a change of it.
const ABOVE: &str = r#"
workflow: above
state: {kind: {schema: {type: string}}}
output: {kind: "{{ state.kind }}"}
start: ask
nodes:
  ask: {type: human, ask: "Go on?", deadline: {after: 1h, then: end}, next: below}
  below: {type: workflow, workflow: sort, input: {goal: x}, write: {kind: "{{ result.kind }}"}, next: end}
"#;

struct Hall {
    company: Company,
    admin: String,
    client: Client,
    _process: Process,
}

impl Hall {
    async fn new() -> Self {
        let mut company = Company::start(SCRIPT).await;
        let admin = format!("127.0.0.1:{}", free_port());
        company.set("ADMIN__LISTEN", &admin);
        let process = company.serve("all", "all");
        let client = Client::new(&connect(&company).await);
        wait_for_door(&client).await;
        Self { company, admin, client, _process: process }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.company.workspace().join(name);
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn callboard(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output: Output = self.company.command().args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), said.concat())
    }

    #[track_caller]
    fn does(&self, arguments: &[&str]) -> String {
        let (code, said) = self.callboard(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        said
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let all = [&["-o", "json"], arguments].concat();
        let output = self.company.command().args(&all).output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{all:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    async fn until(&self, id: &str, state: JobState) -> JobView {
        until(&self.client, &JobId::new(id).unwrap(), state).await
    }
}

fn value(view: &JobView) -> Value {
    match &view.outcome {
        Some(Outcome::Completed { value, .. }) => value.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_set_listed_run_by_name_and_dropped() {
    let hall = Hall::new().await;
    let file = hall.file("sort.yaml", &SORT.replace("next: end", "next: ned"));
    let (code, said) = hall.callboard(&["workflow", "set", &file]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("sort.yaml:15:") && said.contains("ned"), "{said}");
    hall.file("sort.yaml", SORT);
    hall.does(&["workflow", "set", &file, "--dry-run"]);
    hall.does(&["workflow", "set", &file, "--expect", "0"]);
    let (code, said) = hall.callboard(&["workflow", "set", &file, "--expect", "0"]);
    assert_eq!(code, Some(0), "the text is in force: {said}");
    let all = hall.json(&["workflow", "ls"]);
    let sort = all["workflows"].as_array().unwrap().iter().find(|it| it["name"] == "sort").unwrap();
    assert_eq!((&sort["layer"], sort["revision"].is_u64()), (&json!("bucket"), true), "{all}");
    let listed = hall.does(&["workflow", "ls"]);
    assert!(listed.contains("human-review") && listed.contains("preset"), "{listed}");
    let shown = hall.does(&["workflow", "show", "sort"]);
    assert!(shown.contains(SORT.trim()) && shown.contains("bucket"), "{shown}");
    let drawn = hall.does(&["workflow", "graph", "sort", "--format", "mermaid"]);
    assert!(drawn.contains("ask"), "{drawn}");

    hall.does(&["workflow", "run", "sort", "--input", r#"{"goal":"where is it?"}"#, "--id", "one"]);
    let one = hall.until("one", JobState::Completed).await;
    assert_eq!(value(&one), json!({"kind": "question", "of": "where is it?"}));
    hall.does(&["workflow", "drop", "sort"]);
    let (code, said) = hall.callboard(&["workflow", "run", "sort", "--input", r#"{"goal":"x"}"#]);
    assert_ne!(code, Some(0));
    assert!(said.contains("there is no workflow sort"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_keeps_the_sub_workflow_of_its_submission() {
    let hall = Hall::new().await;
    for (name, text) in [("sort.yaml", SORT), ("above-it.yaml", ABOVE)] {
        let file = hall.file(name, text);
        hall.does(&["workflow", "set", &file]);
    }
    hall.does(&["submit", "g", "--workflow", "above", "--id", "above"]);
    hall.until("above", JobState::InputRequired).await;
    hall.does(&["workflow", "drop", "sort"]);
    hall.does(&["inbox", "answer", "above", "q1", "--text", "yes"]);
    let above = hall.until("above", JobState::Completed).await;
    assert_eq!(value(&above), json!({"kind": "question"}));
    let stats = hall.json(&["workflow", "stats"]);
    let names: Vec<_> =
        stats["workflows"].as_array().unwrap().iter().map(|it| &it["workflow"]).collect();
    assert_eq!(names, ["above", "sort"], "a sub-workflow is a job of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_moves_to_a_stored_version_and_an_earlier_one_comes_into_force_again() {
    let hall = Hall::new().await;
    let versioned = |version: u32, question: &str| {
        let text =
            ABOVE.replace("workflow: above", &format!("workflow: above\nversion: {version}"));
        hall.file("above.yaml", &text.replace("Go on?", question))
    };
    let file = hall.file("sort.yaml", SORT);
    hall.does(&["workflow", "set", &file]);
    hall.does(&["workflow", "set", &versioned(1, "Go on?")]);
    let (code, said) = hall.callboard(&["workflow", "set", &versioned(1, "Really?")]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("version: 2") && !said.contains("--text"), "{said}");
    hall.does(&["submit", "g", "--workflow", "above", "--id", "moved"]);
    hall.until("moved", JobState::InputRequired).await;
    hall.does(&["workflow", "set", &versioned(2, "Really?")]);

    let listed = hall.json(&["workflow", "versions", "above"]);
    let numbers: Vec<_> =
        listed.as_array().unwrap().iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 1], "{listed}");
    let told = hall.does(&["workflow", "versions", "above"]);
    assert!(told.contains("in force"), "{told}");
    let compared = hall.does(&["workflow", "diff", "above"]);
    assert_eq!(compared, hall.does(&["workflow", "diff", "above", "1", "2"]));
    assert!(compared.contains("-version: 1") && compared.contains("+version: 2"), "{compared}");
    let shown = hall.does(&["workflow", "show", "above", "--version", "1"]);
    assert!(shown.contains("Go on?") && !shown.contains("Really?"), "{shown}");
    let (code, said) = hall.callboard(&["workflow", "show", "above", "--version", "5"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("no version 5 of the workflow above"), "{said}");

    let said = hall.does(&["workflow", "migrate", "moved", "--to", "2", "--dry-run"]);
    assert!(said.contains("~ask"), "{said}");
    hall.does(&["workflow", "migrate", "moved", "--to", "2"]);
    let moved = hall.until("moved", JobState::InputRequired).await;
    assert_eq!(moved.graph.unwrap().version, 2);

    hall.does(&["workflow", "rollback", "above", "--to", "1"]);
    hall.does(&["submit", "g", "--workflow", "above", "--id", "back"]);
    let back = hall.until("back", JobState::InputRequired).await;
    assert_eq!(back.graph.unwrap().version, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_an_agent_with_a_workflow_runs_it() {
    let hall = Hall::new().await;
    let sorter = hall.file("sorter.yaml", "about: Sorts tickets\nworkflow: sort\n");
    let warned = hall.does(&["agents", "put", &sorter]);
    assert!(warned.contains("there is no workflow sort"), "{warned}");
    let (code, said) = hall.callboard(&["submit", "where is it?", "--agent", "sorter"]);
    assert_ne!(code, Some(0));
    assert!(said.contains("agent.workflow: there is no workflow sort"), "{said}");
    let file = hall.file("sort.yaml", SORT);
    hall.does(&["workflow", "set", &file]);
    hall.does(&["submit", "where is it?", "--agent", "sorter", "--id", "asked"]);
    let asked = hall.until("asked", JobState::Completed).await;
    assert_eq!(value(&asked)["of"], "where is it?");
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_count_jobs_by_state_and_visits_by_node() {
    let hall = Hall::new().await;
    let file = hall.file("sort.yaml", SORT);
    hall.does(&["workflow", "set", &file]);
    let broken = SORT
        .replace("Which kind", "No rule for this")
        .replace("workflow: sort", "workflow: broken");
    let broken = hall.file("broken.yaml", &broken);
    let empty = hall.json(&["workflow", "stats"]);
    assert_eq!((&empty["jobs"], &empty["workflows"]), (&json!(0), &json!([])));
    for id in ["a", "b", "c"] {
        hall.does(&["submit", "g", "--workflow", "sort", "--input", r#"{"goal":"x"}"#, "--id", id]);
        hall.until(id, JobState::Completed).await;
    }
    hall.does(&["submit", "g", "--workflow", &broken, "--input", r#"{"goal":"x"}"#, "--id", "bad"]);
    hall.until("bad", JobState::Failed).await;
    hall.does(&["submit", "without a workflow", "--id", "plan"]);
    view(&hall.client, &JobId::new("plan").unwrap(), |_| true).await;

    let stats = hall.json(&["workflow", "stats", "sort"]);
    assert_eq!((&stats["jobs"], &stats["more"]), (&json!(3), &json!(false)));
    let sort = &stats["workflows"][0];
    assert_eq!((&sort["workflow"], &sort["jobs"]["completed"]), (&json!("sort"), &json!(3)));
    let ask = &sort["nodes"][0];
    assert_eq!(
        (&ask["node"], &ask["visits"], &ask["failed"]),
        (&json!("ask"), &json!(3), &json!(0))
    );
    assert!(ask["p50_ms"].as_u64() <= ask["p95_ms"].as_u64() && ask["p50_ms"].is_u64(), "{ask}");
    let all = hall.json(&["workflow", "stats"]);
    assert_eq!(all["jobs"], 4);
    assert_eq!(all["workflows"][0]["nodes"][0]["failed"], 1, "{all}");
    let newest = hall.json(&["workflow", "stats", "--limit", "1"]);
    assert_eq!((&newest["jobs"], &newest["more"]), (&json!(1), &json!(true)));
    let told = hall.does(&["workflow", "stats"]);
    assert!(told.contains("the graphs of 4 jobs were read"), "{told}");
    let told = hall.does(&["workflow", "stats", "--limit", "2"]);
    assert!(told.contains("the newest 2 jobs"), "{told}");

    let metrics = get(&hall.admin, "/metrics").await.body;
    let labels = [
        "callboard_workflow_node_duration_seconds_count",
        "callboard_workflow=\"sort\"",
        "callboard_workflow_node=\"ask\"",
        "callboard_step_state=\"completed\"",
    ];
    let counted = metrics.lines().find(|line| labels.iter().all(|label| line.contains(label)));
    assert!(counted.is_some_and(|line| line.ends_with(" 3")), "{counted:?}");
}
