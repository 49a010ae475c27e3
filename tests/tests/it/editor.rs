//! Tests of the example with a sub-agent, `examples/editor`: its agents and its script, while the
//! installation is killed in between. A watcher of the root sees the sub-agent's question.

use std::{collections::BTreeSet, process::Stdio};

use broker::{Broker, testing::wait::eventually};
use callboard_tests::{
    company::{Company, Process},
    load,
    wait::{until, wait_for_door},
};
use client::Client;
use operator::fsck::JobCondition;
use proto::{
    id::{JobId, Seq},
    job::{JobState, Outcome},
    view::JobView,
};
use serde_json::{Value, json};

use super::chaos::connect;

struct Stage {
    company: Company,
    process: Process,
    client: Client,
    broker: Broker,
}

impl Stage {
    async fn new() -> Self {
        let example = callboard_tests::root().join("examples/editor");
        let script = std::fs::read_to_string(example.join("script.yaml")).unwrap();
        let mut company = Company::start(&script).await;
        company.set("DOOR__AGENTS_DIR", &example.join("agents").display().to_string());
        let process = company.serve("all", "all");
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        Self { company, process, client, broker }
    }

    /// Runs `callboard`. Returns whether it succeeded, and its output.
    fn ran(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.company.command().args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.success(), said.concat())
    }

    #[track_caller]
    fn does(&self, arguments: &[&str]) -> String {
        let (succeeded, said) = self.ran(arguments);
        assert!(succeeded, "{arguments:?}: {said}");
        said
    }

    /// Kills and restarts all processes.
    async fn die(&mut self) {
        self.process.kill9();
        self.process.restart(&self.company);
        wait_for_door(&self.client).await;
    }

    /// Returns the events that `callboard watch` prints.
    fn watched(&self, job: &str, after: &str) -> Vec<Value> {
        let arguments = ["-o", "jsonl", "watch", job, "--after", after, "--no-follow"];
        let output = self.company.command().args(arguments).stderr(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    async fn until(&self, state: JobState) -> JobView {
        until(&self.client, &JobId::new("note-1").unwrap(), state).await
    }

    async fn count(&self, job: &JobId, kind: &str) -> usize {
        let entries = self.broker.log.read(job, Seq(0)).await.unwrap();
        entries.iter().filter(|e| e.record.as_ref().is_ok_and(|r| r.kind == kind)).count()
    }
}

/// Returns the phase and the path of each event about a question of a descendant.
fn below(events: &[Value]) -> Vec<(String, String)> {
    let of = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let below = events.iter().filter(|event| !event["below"].is_null());
    below.map(|event| (of(event, "phase"), of(&event["below"], "path"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_with_a_sub_agent_does_what_it_says_whatever_is_killed_in_between() {
    let mut stage = Stage::new().await;
    stage.does(&["submit", "Write the programme note", "--agent", "editor", "--id", "note-1"]);
    let view = stage.until(JobState::InputRequired).await;
    let child = view.children[0].job.clone();
    stage.die().await;

    let tree = stage.does(&["jobs", "ls", "--tree"]);
    let lines: Vec<&str> = tree.lines().collect();
    let line = |words: &str| lines.iter().position(|line| line.starts_with(words));
    let (root, leaf) = (line("note-1 "), line(&format!("└ {child}")));
    assert!(root.is_some() && leaf == root.map(|at| at + 1), "{tree}");
    let asked = stage.watched("note-1", "0.0");
    assert_eq!(below(&asked), [("asked".into(), "note-1/find".into())]);
    assert!(asked.iter().all(|event| event["type"] != "error"), "nothing is wrong: {asked:#?}");
    assert!(stage.does(&["watch", "note-1", "--no-follow"]).contains("of note-1/find"));

    // A question enters the inbox after its job waits for it, and the kill may come in between.
    eventually("the question in the inbox", async || {
        let (found, said) = stage.ran(&["inbox", "show", "q1"]);
        if found { Ok(()) } else { Err(said) }
    })
    .await;
    // The name may be the root, the job that asks, or the question.
    for named in ["note-1", child.as_str(), "q1"] {
        let shown = stage.does(&["inbox", "show", named]);
        assert!(shown.contains("In which year") && shown.contains(child.as_str()), "{shown}");
    }
    for named in ["note-1", child.as_str()] {
        assert!(stage.does(&["inbox", "ls", "--job", named]).contains("note-1/find"), "{named}");
    }
    for nothing in [&["inbox", "show", "q7"][..], &["inbox", "show", "note-1", "q7"]] {
        let (succeeded, said) = stage.ran(nothing);
        assert!(!succeeded && said.contains("q7"), "{said}");
    }
    stage.does(&["inbox", "answer", "q1", "--text", "1984"]);
    stage.die().await;

    let view = stage.until(JobState::Completed).await;
    let Some(Outcome::Completed { results, .. }) = &view.outcome else { panic!() };
    assert_eq!(results["find"]["results"], json!({"goal": "The house was built in 1984."}));
    let file = stage.company.workspace().join("jobs/note-1/programme.md");
    let note = std::fs::read_to_string(file).unwrap();
    assert_eq!(note, "The house was built in 1984.\n");
    let family = [view.job.clone(), child.clone()];
    let ended = load::ended(&stage.broker, &family).await;
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    assert_eq!(stage.count(&view.job, "spawn").await, 1);
    assert_eq!(stage.count(&child, "ask").await, 1);
    assert_eq!(load::proved(&stage.broker).await.standing(JobCondition::Ended), 2);

    whoever_comes_back_gets_what_was_missed(&stage, &asked);
}

/// Checks that the events before an event and those after it are all events, at the root and at the
/// job that asked.
fn whoever_comes_back_gets_what_was_missed(stage: &Stage, seen: &[Value]) {
    let whole = stage.watched("note-1", "0.0");
    assert_eq!(
        below(&whole),
        ["asked", "settled"].map(|phase| (phase.to_owned(), "note-1/find".to_owned()))
    );
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    let mut rest = seen.to_vec();
    rest.extend(stage.watched("note-1", &id(seen.last().unwrap())));
    assert_eq!(rest, whole, "before and after two deaths");
    let ids: BTreeSet<String> = whole.iter().map(id).collect();
    assert_eq!(ids.len(), whole.len());
}
