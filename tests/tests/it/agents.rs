//! Tests of agents in files, replanning and steering, with a real nats-server, a scripted model
//! over HTTP, and the program.

use std::process::Output;

use callboard_tests::{
    company::{Company, Process},
    wait::{until, wait_for_door},
};
use client::Client;
use proto::{
    door::GiveAnswer,
    id::JobId,
    interaction::Verdict,
    job::{JobState, Outcome},
    revision::Cause,
    view::JobView,
};
use serde_json::json;

use super::chaos::connect;

/// The script of the model. The words before the colon of a goal select the rule.
const SCRIPT: &str = r#"
rules:
  - name: a step of a list
    when: { system: 'carries out one step', last: 'look it up', top_p: 0.5 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "nine o'clock" } } ] }
  - name: the step that was planned later
    when: { system: 'carries out one step', last: 'say that it is (?<hour>.+)' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "it is {{ captures.hour }}" } } ] }
  - name: the plan that follows from a result
    when: { system: 'You cut a task into steps', last: "nine o'clock" }
    reply: { json: { task: Go on, steps: [ { id: tell, title: Tell, description: "say that it is nine" } ] } }
  - name: a plan that lists a step
    when: { system: 'You cut a task into steps', last: 'listed:', top_p: 0.5 }
    reply: { json: { task: Find out, steps: [ { id: look, title: Look, description: "look it up" } ], replan: [look] } }
  - name: one action
    when: { system: 'one action at a time', turn: 1 }
    reply: { json: { status: continue, plan: [ask the clock], next_action: { tool: nonsense, input: {} }, response: null } }
  - name: another one, after what went wrong
    when: { system: 'one action at a time', turn: 2 }
    reply: { json: { status: continue, plan: [echo], next_action: { tool: echo, input: { value: "nine" } }, response: null } }
  - name: the end
    when: { system: 'one action at a time', last: 'nine' }
    reply: { json: { status: done, plan: [], next_action: null, response: "It is nine." } }
  - name: a question first
    when: { offers: ask_user, turn: 1 }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Which hill?" } } ] }
  - name: what was said meanwhile
    when: { last: 'While the job runs, the user says:[\s\S]*in (?<unit>\w+)' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "500 {{ captures.unit }}" } } ] }
else:
  calls: [ { tool: finish, args: { success: true, response: "nobody said anything" } } ]
"#;

struct Hall {
    company: Company,
    client: Client,
    _process: Process,
}

impl Hall {
    async fn new() -> Self {
        let mut company = Company::start(SCRIPT).await;
        let dir = company.workspace().join("agents");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("quick.yaml"), "extends: fastgpt\nconfirm: false\ntop_p: 0.5\n")
            .unwrap();
        company.set("DOOR__AGENTS_DIR", &dir.display().to_string());
        let process = company.serve("all", "all");
        let client = Client::new(&connect(&company).await);
        wait_for_door(&client).await;
        Self { company, client, _process: process }
    }

    fn callboard(&self, arguments: &[&str]) -> (bool, String) {
        let output: Output = self.company.command().args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.success(), said.concat())
    }

    #[track_caller]
    fn does(&self, arguments: &[&str]) -> String {
        let (success, said) = self.callboard(arguments);
        assert!(success, "{arguments:?}: {said}");
        said
    }

    async fn until(&self, id: &str, state: JobState) -> JobView {
        until(&self.client, &JobId::new(id).unwrap(), state).await
    }
}

fn summary(view: &JobView) -> &str {
    match &view.outcome {
        Some(Outcome::Completed { summary, .. }) => summary,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_checked_put_used_and_taken_out() {
    let hall = Hall::new().await;
    let listed = hall.does(&["agents", "ls"]);
    for words in ["fastgpt", "loop-phased", "quick", "directory", "preset"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let file = hall.company.workspace().join("mine.yaml");
    let path = file.display().to_string();
    std::fs::write(&file, "extends: direct\nstep: {max_trns: 7}\n").unwrap();
    let (success, said) = hall.callboard(&["agents", "check", &path]);
    assert!(
        !success
            && said
                .contains(":2:8: step.max_trns: there is no such field; did you mean max_turns?"),
        "{said}"
    );
    let (success, said) = hall.callboard(&["agents", "put", &path]);
    assert!(!success && said.contains("did you mean max_turns?"), "{said}");
    std::fs::write(&file, "extends: direct\nlanguage: zhh\n").unwrap();
    let (success, said) = hall.callboard(&["agents", "check", &path]);
    assert!(!success && said.contains("language: ") && said.contains("did you mean zh?"), "{said}");
    std::fs::write(&file, "extends: direct\nlanguage: zh\ntools: [ehco]\n").unwrap();
    let (success, said) = hall.callboard(&["agents", "put", &path]);
    assert!(success && said.contains("no worker announces ehco; did you mean echo?"), "{said}");
    assert!(hall.does(&["agents", "show", "mine"]).contains("\"language\": \"zh\""));
    std::fs::write(&file, "extends: direct\nstep: {max_turns: 7}\nask: {limit: 0}\n").unwrap();
    hall.does(&["agents", "check", &path]);
    hall.does(&["agents", "put", &path]);
    let shown = hall.does(&["agents", "show", "mine"]);
    assert!(shown.contains("extends: direct") && shown.contains("\"max_turns\": 7"), "{shown}");
    let log = hall.does(&["agents", "log", "mine"]);
    assert!(log.contains("in force") && log.lines().count() == 3, "{log}");
    let diff = hall.does(&["agents", "diff", "mine"]);
    assert!(diff.contains("-language: zh") && diff.contains("+step: {max_turns: 7}"), "{diff}");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("max_turns: 7", "max_turns: 8")).unwrap();
    let preview = hall.does(&["agents", "put", &path, "--dry-run"]);
    assert!(preview.contains("+step: {max_turns: 8}"), "{preview}");
    assert!(hall.does(&["agents", "show", "mine"]).contains("\"max_turns\": 7"));
    let (success, said) = hall.callboard(&["agents", "put", &path, "--expect", "0"]);
    assert!(!success && said.contains("the agent mine was changed meanwhile"), "{said}");
    let log: serde_json::Value =
        serde_json::from_str(&hall.does(&["-o", "json", "agents", "log", "mine"])).unwrap();
    let revision = |n: usize| log["revisions"][n]["revision"].to_string();
    hall.does(&["agents", "rollback", "mine", "--to", &revision(1)]);
    assert!(hall.does(&["agents", "show", "mine"]).contains("\"language\": \"zh\""));
    hall.does(&["agents", "rollback", "mine", "--to", &revision(0)]);
    std::fs::write(&file, text).unwrap();
    hall.does(&["submit", "anything", "--agent", "mine", "--id", "one"]);
    let view = hall.until("one", JobState::Completed).await;
    assert_eq!((view.agent.as_str(), summary(&view)), ("mine", "nobody said anything"));
    let described = hall.does(&["jobs", "describe", "one"]);
    let policies = described.lines().find(|line| line.starts_with("policies")).unwrap();
    assert!(
        policies.contains("ask.limit=0") && described.contains("step.max_turns=7"),
        "{described}"
    );
    hall.does(&["agents", "rm", "mine"]);
    let (success, said) = hall.callboard(&["submit", "anything", "--agent", "mine"]);
    assert!(!success && said.contains("there is no agent \"mine\" here"), "{said}");
    let from_file = format!("@{path}");
    hall.does(&["submit", "anything", "--agent", &from_file, "--id", "two"]);
    assert_eq!(hall.until("two", JobState::Completed).await.agent.as_str(), "mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_listed_step_the_plan_goes_on_and_its_revisions_are_shown() {
    let hall = Hall::new().await;
    hall.does(&["submit", "listed: what time is it", "--agent", "quick", "--id", "listed"]);
    let view = hall.until("listed", JobState::Completed).await;
    assert_eq!(
        summary(&view),
        "Carried out 2 steps:\n1. Look: nine o'clock\n2. Tell: it is nine",
        "a plan that replaces all leaves earlier results in the summary"
    );
    let causes: Vec<_> = view.revisions.iter().map(|revision| revision.cause).collect();
    assert_eq!(causes, [None, Some(Cause::Listed)]);
    let shown = hall.does(&["jobs", "get", "listed", "--revisions"]);
    assert!(shown.contains("+ look Look · completed"), "{shown}");
    assert!(
        shown.contains("- look Look · completed") && shown.contains("+ tell Tell · completed"),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_action_after_the_other_is_decided_until_the_goal_is_reached() {
    let hall = Hall::new().await;
    hall.does(&["submit", "what time is it", "--agent", "loop", "--id", "loop"]);
    let view = hall.until("loop", JobState::Completed).await;
    assert_eq!(summary(&view), "It is nine.");
    let steps = &view.plan.as_ref().unwrap().steps;
    assert_eq!(
        steps.iter().map(|step| step.response.as_deref().unwrap()).collect::<Vec<_>>(),
        ["nine"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_told_something_and_its_next_turn_hears_it() {
    let hall = Hall::new().await;
    hall.does(&["submit", "how high is it", "--agent", "direct", "--id", "steered"]);
    let view = hall.until("steered", JobState::InputRequired).await;
    hall.does(&["jobs", "steer", "steered", "say it in metres"]);
    let ask = view.questions[0].id.clone();
    let answer = GiveAnswer {
        job: view.job,
        ask,
        decision: Verdict::Respond,
        value: Some(json!("this one")),
        text: None,
        digest: None,
        remember: None,
        by: None,
        four_eyes: false,
    };
    hall.client.call(&answer).await.unwrap();
    let view = hall.until("steered", JobState::Completed).await;
    assert_eq!(summary(&view), "500 metres");
    assert!(view.instructions[0].heard);
    let log = hall.does(&["jobs", "show", "steered"]);
    assert!(log.contains("steer") && log.contains("say it in metres"), "{log}");
    let (success, said) = hall.callboard(&["jobs", "steer", "steered", "more"]);
    assert!(!success && said.contains("has ended"), "{said}");
}
