//! Tests of workflows by name: storing, finding and removing them, and the agents that name one.

use broker::{Broker, kv::Bucket, testing::wait::until};
use bytes::Bytes;
use door::workflows::Workflows;
use proto::{
    door::Verb,
    error::{Code, Failure},
    fact::{Fact, Submitted},
    id::{AgentName, JobId, Seq},
    record::Known,
    workflow::WorkflowName,
};
use serde_json::{Value, json};

use super::hall::Hall;

/// A workflow whose input has a goal.
fn greet(version: u32) -> String {
    format!(
        "workflow: greet\nversion: {version}\nabout: greets\n\
         input: {{type: object, required: [goal], properties: {{goal: {{type: string}}}}}}\n\
         start: hello\nnodes:\n  hello: {{type: human, ask: \"{{{{ input.goal }}}}\", \
         deadline: {{after: 1h, then: end}}, next: end}}\n"
    )
}

/// A workflow that runs another one.
fn above(version: u32, other: &str) -> String {
    format!(
        "workflow: above\nversion: {version}\nstart: go\nnodes:\n  go: {{type: workflow, workflow: {other}, \
         input: {{goal: hi}}, next: end}}\n"
    )
}

async fn set(hall: &Hall, name: &str, text: &str) -> Result<Value, Failure> {
    hall.ask(Verb::SetWorkflow, json!({"name": name, "text": text}).to_string()).await
}

async fn submit(hall: &Hall, job: &str, workflow: Value) -> Result<Value, Failure> {
    let body = json!({"goal": "g", "id": job, "workflow": workflow}).to_string();
    hall.ask(Verb::Submit, body).await
}

/// Returns the submission of a job.
async fn stored(broker: &Broker, job: &str) -> Submitted {
    let entries = broker.log.read(&JobId::new(job).unwrap(), Seq(0)).await.unwrap();
    let known = entries[0].record.as_ref().unwrap().known().unwrap();
    let Known::Fact(fact) = known else { panic!("no fact") };
    let Fact::Submitted(submitted) = *fact else { panic!("no submission") };
    submitted
}

async fn version(hall: &Hall, job: &str) -> u32 {
    stored(&hall.broker, job).await.workflow.unwrap().definition.version
}

fn greeting(goal: &str) -> Value {
    json!({"name": "greet", "input": {"goal": goal}})
}

#[tokio::test]
async fn a_job_keeps_the_definition_that_its_name_had_at_the_submission() {
    let hall = Hall::new().await;
    let failure = submit(&hall, "early", greeting("hi")).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.field.as_deref()),
        (Code::InvalidRequest, Some("workflow.name"))
    );
    let changed = set(&hall, "greet", &greet(1)).await.unwrap();
    assert!(changed["revision"].is_u64(), "{changed}");
    submit(&hall, "first", greeting("hi")).await.unwrap();
    set(&hall, "greet", &greet(2)).await.unwrap();
    submit(&hall, "second", greeting("hi")).await.unwrap();
    assert_eq!((version(&hall, "first").await, version(&hall, "second").await), (1, 2));
    hall.ask(Verb::DropWorkflow, r#"{"name":"greet"}"#).await.unwrap();
    let failure = submit(&hall, "late", greeting("hi")).await.unwrap_err();
    assert_eq!(failure.field.as_deref(), Some("workflow.name"));
    // A repeated submission finds its job, whatever happened to the name.
    let again = submit(&hall, "first", greeting("hi")).await.unwrap();
    assert_eq!(again["created"], false);
    let both = json!({"name": "react", "source": greet(1), "input": {"goal": "hi"}});
    let failure = submit(&hall, "both", both).await.unwrap_err();
    assert_eq!(failure.field.as_deref(), Some("workflow.source"));
}

#[tokio::test]
async fn a_file_is_refused_with_all_its_mistakes_and_nothing_is_stored() {
    let hall = Hall::new().await;
    let text = greet(1).replace("input.goal", "inputt.goal").replace("next: end", "next: ned");
    let failure = set(&hall, "greet", &text).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("text")));
    assert!(failure.message.lines().count() >= 2, "{failure}");
    assert!(failure.message.lines().all(|line| line.starts_with("greet.yaml:")), "{failure}");
    let (code, field) = hall
        .refused(Verb::SetWorkflow, json!({"name": "other", "text": greet(1)}).to_string())
        .await;
    assert_eq!((code, field.as_str()), (Code::InvalidRequest, "name"));
    let check = json!({"name": "greet", "text": greet(1), "check": true}).to_string();
    let checked = hall.ask(Verb::SetWorkflow, check).await.unwrap();
    assert_eq!(checked["revision"], json!(null));
    // The reply has what an editor draws.
    assert_eq!(checked["graph"]["start"], "hello");
    assert_eq!(checked["graph"]["nodes"][0]["type"], "human");
    let kinds: Vec<_> = checked["graph"]["edges"].as_array().unwrap().iter().collect();
    assert_eq!((kinds.len(), &kinds[1]["kind"]), (2, &json!("timeout")));
    let (code, field) = hall.refused(Verb::Workflows, r#"{"name":"greet"}"#).await;
    assert_eq!((code, field.as_str()), (Code::NotFound, "name"));
}

#[tokio::test]
async fn a_change_counts_only_for_the_revision_that_its_author_saw() {
    let hall = Hall::new().await;
    let expecting = |n: u32, revision: u64| {
        json!({"name": "greet", "text": greet(n), "expected_revision": revision}).to_string()
    };
    let first = hall.ask(Verb::SetWorkflow, expecting(1, 0)).await.unwrap()["revision"].clone();
    let first = first.as_u64().unwrap();
    // The same request again finds its own change.
    let again = hall.ask(Verb::SetWorkflow, expecting(1, 0)).await.unwrap();
    assert_eq!(again["revision"], first);
    let (code, field) = hall.refused(Verb::SetWorkflow, expecting(2, 0)).await;
    assert_eq!((code, field.as_str()), (Code::Stale, "expected_revision"));
    let second = hall.ask(Verb::SetWorkflow, expecting(2, first)).await.unwrap();
    let dropping = |revision: u64| json!({"name": "greet", "expected_revision": revision});
    let (code, _) = hall.refused(Verb::DropWorkflow, dropping(first).to_string()).await;
    assert_eq!(code, Code::Stale);
    let second = second["revision"].as_u64().unwrap();
    hall.ask(Verb::DropWorkflow, dropping(second).to_string()).await.unwrap();
    for name in ["greet", "react"] {
        let (code, _) = hall.refused(Verb::DropWorkflow, json!({"name": name}).to_string()).await;
        assert_eq!(code, Code::NotFound, "{name}");
    }
}

#[tokio::test]
async fn a_version_has_one_definition_and_can_come_into_force_again() {
    let hall = Hall::new().await;
    set(&hall, "greet", &greet(1)).await.unwrap();
    set(&hall, "greet", &greet(3)).await.unwrap();
    // Comments are no part of a definition.
    set(&hall, "greet", &format!("# for all\n{}", greet(3))).await.unwrap();
    let other = greet(1).replace("about: greets", "about: greets everybody");
    let failure = set(&hall, "greet", &other).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("text")));
    assert!(failure.message.contains("`version: 4`"), "{failure}");
    let check = json!({"name": "greet", "text": other, "check": true}).to_string();
    let checked = hall.ask(Verb::SetWorkflow, check).await.unwrap();
    assert!(checked["warnings"][0].as_str().unwrap().contains("`version: 4`"), "{checked}");
    assert_eq!(checked["graph"]["start"], "hello");

    let asked = async |version: u32| {
        let request = json!({"name": "greet", "version": version}).to_string();
        let found = hall.ask(Verb::Workflows, request).await?;
        Ok::<_, Failure>(found["workflows"][0].clone())
    };
    let (first, third) = (asked(1).await.unwrap(), asked(3).await.unwrap());
    let numbers = |entry: &Value| {
        let versions = entry["versions"].as_array().unwrap();
        versions.iter().map(|one| one["version"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((numbers(&first), numbers(&third)), (vec![3, 1], vec![3, 1]));
    assert_eq!((&first["text"], first.get("revision")), (&json!(greet(1)), None));
    assert_eq!(first["digest"], first["versions"][1]["digest"]);
    assert!(third["text"].as_str().unwrap().starts_with("# for all"), "{third}");
    assert!(third["revision"].is_u64() && third["versions"][0]["time"].is_string(), "{third}");
    let failure = asked(2).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::NotFound, Some("version")));
    let (code, field) = hall.refused(Verb::Workflows, r#"{"version":1}"#).await;
    assert_eq!((code, field.as_str()), (Code::InvalidRequest, "version"));

    set(&hall, "greet", &greet(1)).await.unwrap();
    submit(&hall, "back", greeting("hi")).await.unwrap();
    assert_eq!(version(&hall, "back").await, 1);
    assert_eq!(numbers(&asked(3).await.unwrap()), [3, 1]);
    // All numbers are free after the removal.
    hall.ask(Verb::DropWorkflow, r#"{"name":"greet"}"#).await.unwrap();
    let again = set(&hall, "greet", &other).await.unwrap();
    assert_eq!(again.get("warnings"), None);
}

#[tokio::test]
async fn a_removal_that_did_not_end_is_ended_by_the_next_one() {
    let hall = Hall::new().await;
    set(&hall, "greet", &greet(1)).await.unwrap();
    set(&hall, "react", &greet(1).replace("workflow: greet", "workflow: react")).await.unwrap();
    for name in ["greet", "react"] {
        hall.broker.kv.delete(Bucket::Workflows, name).await.unwrap();
    }
    let shown = async || hall.ask(Verb::Workflows, r#"{"name":"react"}"#).await.unwrap();
    let is_built_in = async || shown().await["workflows"][0]["layer"] == "preset";
    until("the built-in workflow", is_built_in).await;
    // A version that is left is not that of the built-in workflow.
    let react = shown().await;
    let stored = hall.ask(Verb::Workflows, r#"{"name":"react","version":1}"#).await.unwrap();
    assert_ne!(react["workflows"][0]["text"], stored["workflows"][0]["text"]);
    for name in ["greet", "react"] {
        let (code, _) = hall.refused(Verb::DropWorkflow, json!({"name": name}).to_string()).await;
        assert_eq!(code, Code::NotFound);
    }
    let other = greet(1).replace("about: greets", "about: greets everybody");
    set(&hall, "greet", &other).await.unwrap();
}

#[tokio::test]
async fn of_two_authors_who_write_one_version_the_second_is_refused() {
    let hall = Hall::new().await;
    let texts = ["to Ann", "to Bob", "to Eve"]
        .map(|whom| greet(7).replace("about: greets", &format!("about: greets {whom}")));
    let written = futures::future::join_all(texts.iter().map(|it| set(&hall, "greet", it))).await;
    let stored: Vec<_> = texts.iter().zip(&written).filter(|(_, it)| it.is_ok()).collect();
    assert_eq!(stored.len(), 1, "{written:?}");
    let found = hall.ask(Verb::Workflows, r#"{"name":"greet"}"#).await.unwrap();
    assert_eq!(found["workflows"][0]["text"], json!(stored[0].0));
}

#[tokio::test]
async fn a_workflow_of_an_earlier_release_has_its_version_and_keeps_it() {
    let hall = Hall::new().await;
    hall.broker.kv.put(Bucket::Workflows, "greet", Bytes::from(greet(2))).await.unwrap();
    let found = hall.ask(Verb::Workflows, r#"{"name":"greet"}"#).await.unwrap();
    let versions = &found["workflows"][0]["versions"];
    assert_eq!((&versions[0]["version"], versions[0].get("time")), (&json!(2), None));
    let other = greet(2).replace("about: greets", "about: another");
    let failure = set(&hall, "greet", &other).await.unwrap_err();
    assert!(failure.message.contains("`version: 3`"), "{failure}");
    set(&hall, "greet", &greet(3)).await.unwrap();
    let former = hall.ask(Verb::Workflows, r#"{"name":"greet","version":2}"#).await.unwrap();
    assert_eq!(former["workflows"][0]["text"], json!(greet(2)));
}

#[tokio::test]
async fn lists_name_the_layer_and_the_revision_and_one_is_shown_in_full() {
    let hall = Hall::new().await;
    let revision = set(&hall, "greet", &greet(4)).await.unwrap()["revision"].clone();
    let all = hall.ask(Verb::Workflows, "").await.unwrap();
    let rows: Vec<_> = all["workflows"].as_array().unwrap().iter().collect();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["greet", "human-review", "plan-and-execute", "react"]);
    assert_eq!((&rows[0]["layer"], &rows[0]["revision"]), (&json!("bucket"), &revision));
    assert_eq!((&rows[1]["layer"], rows[1].get("revision")), (&json!("preset"), None));
    assert!(rows.iter().all(|row| row.get("text").is_none() && row["digest"].is_string()));
    let one = hall.ask(Verb::Workflows, r#"{"name":"greet"}"#).await.unwrap();
    let one = &one["workflows"][0];
    assert_eq!((&one["text"], &one["definition"]["version"]), (&json!(greet(4)), &json!(4)));
    assert_eq!(one["graph"]["nodes"][0]["id"], "hello");
    assert!(rows.iter().all(|row| row.get("graph").is_none()));
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_submission_then_the_bucket_then_the_program() {
    let hall = Hall::new().await;
    let below = async |job: &str, workflow: Value| {
        submit(&hall, job, workflow).await.unwrap();
        let run = stored(&hall.broker, job).await.workflow.unwrap();
        run.workflows.values().next().unwrap().definition.version
    };
    let built_in = above(1, "human-review").replace("goal: hi", "task: hi");
    set(&hall, "above", &built_in).await.unwrap();
    assert_eq!(below("built-in", json!({"name": "above"})).await, 1);
    set(&hall, "greet", &greet(2)).await.unwrap();
    set(&hall, "human-review", &greet(5).replace("workflow: greet", "workflow: human-review"))
        .await
        .unwrap();
    set(&hall, "above", &above(2, "human-review")).await.unwrap();
    assert_eq!(below("bucket", json!({"name": "above"})).await, 5);
    set(&hall, "above", &above(3, "greet")).await.unwrap();
    assert_eq!(below("stored", json!({"name": "above"})).await, 2);
    let own = json!({"name": "above", "workflows": {"greet": greet(9)}});
    assert_eq!(below("own", own).await, 9);
    let dropped = hall.ask(Verb::DropWorkflow, r#"{"name":"greet"}"#).await.unwrap();
    assert!(dropped["warnings"][0].as_str().unwrap().contains("above"), "{dropped}");
    let failure = submit(&hall, "gone", json!({"name": "above"})).await.unwrap_err();
    assert!(failure.message.contains("there is no workflow greet"), "{failure}");
}

#[tokio::test]
async fn another_process_follows_the_bucket_and_a_faulty_value_is_refused_by_name() {
    let hall = Hall::new().await;
    let workflows = Workflows::open(&hall.broker).await.unwrap();
    let greet_name = WorkflowName::new("greet").unwrap();
    set(&hall, "greet", &greet(1)).await.unwrap();
    let late = Workflows::open(&hall.broker).await.unwrap();
    for workflows in [&workflows, &late] {
        until("the workflow", async || workflows.revision(&greet_name).is_some()).await;
    }
    hall.ask(Verb::DropWorkflow, r#"{"name":"greet"}"#).await.unwrap();
    for workflows in [&workflows, &late] {
        until("no such workflow", async || workflows.revision(&greet_name).is_none()).await;
    }
    let faulty = Bytes::from_static(b"workflow: react\nstart: nowhere\n");
    hall.broker.kv.put(Bucket::Workflows, "react", faulty).await.unwrap();
    let react = hall.ask(Verb::Workflows, r#"{"name":"react"}"#).await.unwrap();
    let react = &react["workflows"][0];
    assert_eq!((&react["layer"], react["mistakes"].is_array()), (&json!("bucket"), true));
    let failure = submit(&hall, "never", json!({"name": "react"})).await.unwrap_err();
    assert_eq!(failure.field.as_deref(), Some("workflow.name"));
    assert!(failure.message.starts_with("react.yaml:"), "{failure}");
}

#[tokio::test]
async fn a_job_of_an_agent_with_a_workflow_runs_it_with_the_goal_as_input() {
    let hall = Hall::new().await;
    let agent = json!({"name": "greeter", "text": "workflow: greet\nconfirm: false\n"}).to_string();
    let warned = hall.ask(Verb::SetAgent, &agent).await.unwrap();
    let warning = warned["warnings"][0].as_str().unwrap();
    assert!(warning.contains("there is no workflow greet"), "{warned}");
    let ask = async |job: &str, more: Value| {
        let mut body = json!({"goal": "hello there", "id": job, "agent": "greeter"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hall.ask(Verb::Submit, body.to_string()).await
    };
    let failure = ask("early", json!({})).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.field.as_deref()),
        (Code::InvalidRequest, Some("agent.workflow"))
    );
    set(&hall, "greet", &greet(1)).await.unwrap();
    assert!(hall.ask(Verb::SetAgent, &agent).await.unwrap().get("warnings").is_none());
    ask("plain", json!({})).await.unwrap();
    let run = stored(&hall.broker, "plain").await.workflow.unwrap();
    assert_eq!((run.definition.version, run.input), (1, json!({"goal": "hello there"})));
    ask("own", json!({"workflow": {"input": {"goal": "mine"}}})).await.unwrap();
    assert_eq!(stored(&hall.broker, "own").await.workflow.unwrap().input, json!({"goal": "mine"}));
    // Other work of the submission precedes the workflow of the agent.
    ask("called", json!({"workflow": {"name": "human-review", "input": {"task": "t"}}}))
        .await
        .unwrap();
    let run = stored(&hall.broker, "called").await.workflow.unwrap();
    assert_eq!(run.definition.name, WorkflowName::new("human-review").unwrap());
    let failure = submit(&hall, "none", json!({"input": {}})).await.unwrap_err();
    assert_eq!(failure.field.as_deref(), Some("workflow"));
    let dropped = hall.ask(Verb::DropWorkflow, r#"{"name":"greet"}"#).await.unwrap();
    assert!(dropped["warnings"][0].as_str().unwrap().contains("greeter"), "{dropped}");
}

#[tokio::test]
async fn a_submission_freezes_the_workflows_of_its_sub_agents() {
    let hall = Hall::new().await;
    for (name, text) in
        [("greeter", "workflow: greet\n"), ("boss", "agents: [greeter]\nconfirm: false\n")]
    {
        let body = json!({"name": name, "text": text}).to_string();
        hall.ask(Verb::SetAgent, body).await.unwrap();
    }
    let body = json!({"goal": "g", "id": "j", "agent": "boss"}).to_string();
    let failure = hall.ask(Verb::Submit, &body).await.unwrap_err();
    assert_eq!(failure.field.as_deref(), Some("agent.agents.greeter.workflow"));
    set(&hall, "greet", &greet(3)).await.unwrap();
    hall.ask(Verb::Submit, &body).await.unwrap();
    set(&hall, "greet", &greet(4)).await.unwrap();
    let submitted = stored(&hall.broker, "j").await;
    let callee = &submitted.agents[&AgentName::new("greeter").unwrap()];
    assert_eq!(callee.workflow.as_ref().unwrap().definition.version, 3);
    assert_eq!(submitted.rules, proto::rules::Rules::WORKFLOWS);
    assert!(submitted.workflow.is_none());
}

#[tokio::test]
async fn the_files_of_a_jobs_graph_are_those_that_a_migration_takes() {
    let hall = Hall::new().await;
    let workflow = json!({"source": above(1, "greet"), "workflows": {"greet": greet(3)}});
    submit(&hall, "j1", workflow).await.unwrap();
    let plain = hall.ask(Verb::Graph, r#"{"job":"j1"}"#).await.unwrap();
    assert_eq!(plain.get("files"), None);
    let graph = hall.ask(Verb::Graph, r#"{"job":"j1","files":true}"#).await.unwrap();
    let files = &graph["files"];
    let preview = async |source: &str| {
        let migrate = json!({"source": source, "workflows": files["workflows"]});
        let body = json!({"signal": {"job": "j1", "signal": {"migrate": migrate}}}).to_string();
        hall.ask(Verb::Preview, body).await.unwrap()
    };
    let source = files["source"].as_str().unwrap();
    // The job keeps the sub-workflow of its submission, and nothing changes.
    let same = preview(source).await;
    let refused = same["refused"]["message"].as_str().unwrap_or_default();
    assert!(refused.contains("the graph is the same"), "{same}");
    let other = preview(&source.replace("goal: hi", "goal: hello")).await;
    assert_eq!(other.get("refused"), None, "{other}");
    assert!(other["text"].as_str().unwrap().contains("~go"), "{other}");
}
