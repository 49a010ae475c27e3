//! Tests of plans in every shape, from the goal to the result, with a real nats-server, a scripted
//! model over HTTP, and the program.

use std::process::{Command, Output};

use callboard_tests::{
    company::{Company, Process},
    wait::{until, wait_for_door},
};
use client::Client;
use proto::{
    agent::Agent,
    door::{AgentChoice, Submit},
    id::JobId,
    job::{JobState, Outcome},
    view::JobView,
};
use serde_json::{Value, json};

use super::chaos::connect;

/// The script of the model. The words before the colon of a goal select the rule.
const SCRIPT: &str = r#"
rules:
  - name: whether a goal is complex
    when: { last: '(?s)Decide whether a goal needs a plan.*asked of a model' }
    reply: { json: { complex: false, why: "one greeting" } }
  - name: a task in a step
    when: { system: 'carries out one step', last: 'greet with @echo' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "greeted" } } ] }
  - name: a goal that is one step
    when: { system: 'carries out one step', last: 'asked of|simple:' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "in one step" } } ] }
  - name: tasks
    when: { system: 'You cut a task into steps', last: 'tasks:' }
    reply:
      json: { task: Greet, steps: [ { id: step1, title: Greet, description: "greet with @echo" } ], replan: [] }
  - name: titles, and nothing but the list
    when: { system: 'into atomic steps in words', last: 'titles:' }
    reply: { json: ["greet with @echo"] }
  - name: actions, in a fence
    when: { system: 'steps are tool calls', last: 'actions:' }
    reply:
      raw: true
      text: |-
        Here you are:
        ```json
        {"summary": "Greet twice", "steps": [
          {"id": "step1", "action": "echo", "params": {"value": "hello"}, "description": "greet"},
          {"id": "step2", "action": "echo", "params": {"value": "hello again"}, "description": "greet again", "dependsOn": ["step1"]},
        ]}
        ```
  - name: a plan handed over by a function
    when: { system: 'Reply by calling `create_plan`', offers: create_plan }
    reply: { calls: [ { tool: create_plan, args: { title: T, steps: [ { id: a, description: greet, tool: echo, args: { value: handed over } } ] } } ] }
  - name: a plan to be changed
    when: { system: 'You are a planner', last: 'edit:|first, then' }
    reply: { json: { title: T, steps: [ { id: a, description: greet, tool: echo, args: { value: hello } } ] } }
  - name: a list of its own
    when: { system: 'Keep a plan', turn: 1 }
    reply:
      calls:
        - tool: set_plan
          args: { items: [ { id: look, title: Look around, status: in_progress }, { id: write, title: Write it down } ] }
  - name: it wants to finish too early
    when: { system: 'Keep a plan', turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "early" } } ] }
  - name: and is advised once
    when: { system: 'Keep a plan', last: 'The plan is not done' }
    reply:
      calls:
        - tool: update_plan
          args: { updates: [ { id: look, status: done }, { id: write, status: skipped, note: "nothing to write" } ] }
  - name: then it may
    when: { system: 'Keep a plan', turn: 4 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "late" } } ] }
"#;

struct Hall {
    company: Company,
    client: Client,
    _process: Process,
}

impl Hall {
    async fn new() -> Self {
        let company = Company::start(SCRIPT).await;
        let process = company.serve("all", "supervisor,interaction,door,planner,executor,tools");
        let client = Client::new(&connect(&company).await);
        wait_for_door(&client).await;
        Self { company, client, _process: process }
    }

    async fn submit(&self, id: &str, goal: &str, agent: Value) -> JobId {
        let job = JobId::new(id).unwrap();
        let mut policies = json!({"confirm": false});
        for (axis, value) in agent.as_object().unwrap() {
            policies[axis] = value.clone();
        }
        let agent: Agent = serde_json::from_value(policies).unwrap();
        let agent = Some(AgentChoice::Inline(Box::new(agent)));
        let submit = Submit { id: Some(job.clone()), agent, ..Submit::goal(goal) };
        self.client.submit(submit).await.unwrap();
        job
    }

    async fn completed(&self, id: &str, goal: &str, agent: Value) -> JobView {
        let job = self.submit(id, goal, agent).await;
        until(&self.client, &job, JobState::Completed).await
    }

    fn callboard(&self, arguments: &[&str]) -> Output {
        let mut command: Command = self.company.command();
        command.args(arguments).output().unwrap()
    }
}

fn responses(view: &JobView) -> Vec<&str> {
    let steps = &view.plan.as_ref().unwrap().steps;
    steps.iter().map(|step| step.response.as_deref().unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shape_of_plan_is_asked_for_read_and_carried_out() {
    let hall = Hall::new().await;
    for (id, agent, expected) in [
        ("tasks", json!({"plan": {"protocol": "task_steps"}}), vec!["greeted"]),
        ("titles", json!({"plan": {"protocol": "title_steps"}}), vec!["greeted"]),
        ("actions", json!({"plan": {"protocol": "action_steps"}}), vec!["hello", "hello again"]),
        ("function", json!({"plan": {"output": "tool"}}), vec!["handed over"]),
    ] {
        let view = hall.completed(id, &format!("{id}: greet somebody"), agent).await;
        assert_eq!(responses(&view), expected, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn goals_that_need_no_plan_have_none_and_it_is_shown_why() {
    let hall = Hall::new().await;
    let auto = |detect: &str| json!({"plan": {"when": "auto", "detect": detect}});
    let view = hall.completed("simple", "simple: greet Ann", auto("patterns")).await;
    let detected = view.detected.clone().unwrap();
    assert_eq!((detected.complex, detected.why.as_str()), (false, "no pattern was found"));
    assert_eq!(responses(&view), ["in one step"]);
    let view = hall.completed("complex", "greet Ann first, then Li", auto("patterns")).await;
    assert_eq!(view.detected.clone().unwrap().why, r"\bfirst\b.*\bthen\b");
    assert_eq!(responses(&view), ["hello"]);
    let view = hall.completed("model", "asked of a model", auto("model")).await;
    assert_eq!(view.detected.clone().unwrap().why, "one greeting");
    assert_eq!(responses(&view), ["in one step"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_keeps_its_own_plan_shows_it_and_is_advised_once() {
    let hall = Hall::new().await;
    let agent = json!({"plan": {"protocol": "inline_tools"}});
    let view = hall.completed("inline", "inline: look and write", agent).await;
    let Some(Outcome::Completed { results, .. }) = &view.outcome else { panic!("{view:?}") };
    assert_eq!(results["goal"], "late");
    let outline = &view.plan.unwrap().steps[0].outline;
    let items: Vec<_> = outline.iter().map(|i| (i.id.as_str(), i.status.as_str())).collect();
    assert_eq!(items, [("look", "done"), ("write", "skipped")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_changed_from_a_file_and_in_an_editor_and_runs_as_it_was_confirmed() {
    let hall = Hall::new().await;
    let job = hall.submit("edit", "edit: greet somebody", json!({"confirm": true})).await;
    until(&hall.client, &job, JobState::InputRequired).await;
    let file = hall.company.workspace().join("plan.yaml");
    std::fs::write(&file, "steps:\n  - { description: greet, tool: ehco, args: { value: bye } }\n")
        .unwrap();
    let refused =
        hall.callboard(&["inbox", "answer", "edit", "q1", "--plan", file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("did you mean echo?"), "{said}");
    std::fs::write(&file, "steps:\n  - { description: greet, tool: echo, args: { value: bye } }\n")
        .unwrap();
    let taken = hall.callboard(&[
        "inbox",
        "answer",
        "edit",
        "q1",
        "--plan",
        &format!("@{}", file.display()),
    ]);
    assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
    // The environment names the editor; this one replaces a word.
    let editor = hall.company.workspace().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/value: bye/value: good night/' \"$1\"\n")
        .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&editor, mode).unwrap();
    let shown = hall.callboard(&["inbox", "show", "edit", "q2", "--wait"]);
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let mut command = hall.company.command();
    command.env_remove("EDITOR").env_remove("VISUAL");
    let refused = command.args(["inbox", "answer", "edit", "q2", "--edit"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("the plan cannot be edited without a terminal"), "{said}");
    let breaks = hall.company.workspace().join("breaks");
    std::fs::write(&breaks, "#!/bin/sh\necho 'steps: [' > \"$1\"\n").unwrap();
    let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&breaks, mode).unwrap();
    let mut command = hall.company.command();
    command.env("EDITOR", &breaks).env_remove("VISUAL");
    let refused = command.args(["inbox", "answer", "edit", "q2", "--edit"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("line 1 column 8") && said.contains("your text is in"), "{said}");
    let mut command = hall.company.command();
    command.env("EDITOR", &editor).env_remove("VISUAL");
    let edited = command.args(["inbox", "answer", "edit", "q2", "--edit"]).output().unwrap();
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    assert_eq!(hall.client.get(&job).await.unwrap().outcome, None, "nothing ran");
    let approved = hall.callboard(&["inbox", "approve", "edit", "q3", "--wait"]);
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    let view = until(&hall.client, &job, JobState::Completed).await;
    assert_eq!(responses(&view), ["good night"]);
    let shown = hall.callboard(&["jobs", "get", "edit", "--revisions"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!(shown.matches("before it was confirmed").count(), 2, "{shown}");
    assert!(shown.contains(" · changed by ") && shown.contains("+ "), "{shown}");
}
