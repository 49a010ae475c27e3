//! Tests of parents and children, with a real nats-server, a scripted model over HTTP, the program,
//! and kills.

use super::chaos::connect;
use broker::{
    Broker,
    testing::{RawWriter, wait::until as holds},
};
use callboard_tests::{
    company::{Company, Process},
    gate::Gate,
    load,
    wait::{until, wait_for_door},
};
use client::Client;
use operator::fsck::JobCondition;
use proto::{
    fact::Source,
    family::ChildView,
    id::{JobId, Seq},
    job::{FailReason, JobState, Outcome},
    view::JobView,
};
use serde_json::json;

/// The script of the model. A boss plans two tasks for sub-agents: one counts for a while, one
/// asks.
const SCRIPT: &str = r#"
rules:
  - name: a plan that hands everything over
    when: { system: 'You are a planner', last: 'report' }
    reply:
      json:
        title: a report
        steps:
          - { id: s1, description: "count", tool: counter, args: { goal: "count the pages" } }
          - { id: s2, description: "ask", tool: asker, args: { goal: "find out the year" } }
  - name: counting takes time
    when: { turn: 1, any: 'count the pages' }
    reply: { calls: [ @count@ ] }
  - name: counted
    when: { turn: 2, any: 'count the pages' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "42 pages" } } ] }
  - name: a question
    when: { offers: ask_user, turn: 1, any: 'find out the year' }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Which year?" } } ] }
  - name: answered
    when: { turn: 2, any: 'find out the year', last: '(?<year>\d{4})' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "the year {{ captures.year }}" } } ] }
"#;

struct House {
    company: Company,
    client: Client,
    broker: Broker,
    process: Process,
}

impl House {
    /// Starts an installation whose `boss` has two sub-agents. Counting takes `ms` milliseconds.
    async fn new(ms: u32) -> Self {
        Self::counting_by(&format!("{{ tool: sleep, args: {{ ms: {ms} }} }}")).await
    }

    /// Like [`House::new`], where counting is the given call.
    async fn counting_by(call: &str) -> Self {
        let mut company = Company::start(&SCRIPT.replace("@count@", call)).await;
        company.set("TOOLS__HTTP__ALLOW_PRIVATE", "true");
        let dir = company.workspace().join("agents");
        std::fs::create_dir(&dir).unwrap();
        for (name, text) in [
            ("counter", "extends: direct\nabout: counts\n"),
            ("asker", "extends: direct\nabout: asks\n"),
            ("boss", "confirm: false\nagents: [counter, {name: asker, interactive: true}]\n"),
            ("lonely", "extends: boss\nbudget: {depth: 0}\n"),
            ("stingy", "extends: boss\nbudget: {fan_out: {total: 1}}\n"),
        ] {
            std::fs::write(dir.join(format!("{name}.yaml")), text).unwrap();
        }
        company.set("DOOR__AGENTS_DIR", &dir.display().to_string());
        let process = company.serve("all", "all");
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        Self { company, client, broker, process }
    }

    #[track_caller]
    fn does(&self, arguments: &[&str]) -> String {
        let output = self.company.command().args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{arguments:?}: {}", said.concat());
        said.concat()
    }

    async fn until(&self, id: &str, state: JobState) -> JobView {
        until(&self.client, &JobId::new(id).unwrap(), state).await
    }

    /// Returns the number of records of a kind in a job's log.
    async fn count(&self, job: &JobId, kind: &str) -> usize {
        let entries = self.broker.log.read(job, Seq(0)).await.unwrap();
        entries.iter().filter(|e| e.record.as_ref().is_ok_and(|r| r.kind == kind)).count()
    }
}

fn child<'a>(view: &'a JobView, path: &str) -> &'a ChildView {
    view.children.iter().find(|child| child.path == path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn children_work_side_by_side_one_asks_at_the_root_and_a_kill_begins_none_twice() {
    let pages = Gate::closed().await;
    let call = format!("{{ tool: http_get, args: {{ url: '{}' }} }}", pages.url());
    let mut house = House::counting_by(&call).await;
    house.does(&["submit", "the report", "--agent", "boss", "--id", "report-7"]);
    let view = house.until("report-7", JobState::InputRequired).await;
    let asks = &child(&view, "report-7/s2").questions;
    assert_eq!(
        (asks[0].path.as_str(), asks[0].question.prompt.as_str()),
        ("report-7/s2", "Which year?")
    );
    assert_eq!(child(&view, "report-7/s1").state, JobState::Working);
    house.process.kill9();
    house.process.restart(&house.company);
    wait_for_door(&house.client).await;

    let shown = house.does(&["jobs", "get", "report-7"]);
    for words in ["input-required", "report-7/s2", "Which year?", "counter working"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // The log has the question before the inbox does, and the process may have died in between.
    holds("the question in the inbox", async || {
        house.does(&["inbox", "ls"]).contains("report-7/s2")
    })
    .await;
    let tree = house.does(&["jobs", "ls", "--tree"]);
    let at = |words: &str| tree.find(words).unwrap_or_else(|| panic!("{words}: {tree}"));
    assert!(at("report-7 ") < at("└ "), "{tree}");
    house.does(&["inbox", "answer", "report-7", "--text", "1984"]);
    pages.open();

    let view = house.until("report-7", JobState::Completed).await;
    let Some(Outcome::Completed { results, .. }) = &view.outcome else { panic!() };
    assert_eq!(
        *results,
        json!({
            "s1": {"response": "42 pages", "results": {"goal": "42 pages"}},
            "s2": {"response": "the year 1984", "results": {"goal": "the year 1984"}},
        })
    );
    let ids: Vec<JobId> =
        view.children.iter().map(|c| c.job.clone()).chain([view.job.clone()]).collect();
    assert_eq!(ids.len(), 3);
    let ended = load::ended(&house.broker, &ids).await;
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    for id in &ids {
        assert_eq!((house.count(id, "submitted").await, house.count(id, "finish").await), (1, 1));
    }
    assert_eq!(house.count(&view.job, "spawn").await, 2);
    let used: u64 = view.children.iter().map(|child| child.usage.input_tokens).sum();
    assert!(view.usage.input_tokens > used && used > 0, "{:?} {used}", view.usage);
    assert_eq!(load::proved(&house.broker).await.standing(JobCondition::Ended), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn canceling_the_root_cancels_the_whole_family() {
    let house = House::new(60_000).await;
    house.does(&["submit", "the report", "--agent", "boss", "--id", "report-8"]);
    let view = house.until("report-8", JobState::InputRequired).await;
    assert_eq!(load::proved(&house.broker).await.jobs, 3);
    house.does(&["jobs", "cancel", "report-8", "--reason", "no need", "--yes"]);
    house.until("report-8", JobState::Canceled).await;
    for child in &view.children {
        let view = house.until(child.job.as_str(), JobState::Canceled).await;
        assert_eq!(view.parent.unwrap().root.as_str(), "report-8");
    }
    assert_eq!(load::proved(&house.broker).await.standing(JobCondition::Ended), 3);
    assert!(house.does(&["inbox", "ls"]).contains("no open questions"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_family_beyond_its_bounds_is_refused_before_it_is_begun() {
    let house = House::new(10).await;
    for (agent, children, why, words) in [
        // The depth limit excludes sub-agents, so the planner is offered none.
        ("lonely", 0, FailReason::PlanFailed, "no usable plan was made"),
        ("stingy", 1, FailReason::BudgetExceeded, "1 of 1 child jobs"),
    ] {
        house.does(&["submit", "the report", "--agent", agent, "--id", agent]);
        let view = house.until(agent, JobState::Failed).await;
        let Some(Outcome::Failed { reason, message, .. }) = &view.outcome else { panic!() };
        assert_eq!((*reason, view.children.len()), (why, children));
        assert!(message.contains(words), "{message}");
    }
    load::proved(&house.broker).await;
}

/// Runs `callboard jobs purge`. Returns its exit code and its output.
fn purge(house: &House, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = house.company.command();
    let output = command.args(["jobs", "purge"]).args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), said.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn none_of_a_family_is_removed_before_all_of_it_has_ended() {
    let house = House::new(10).await;
    house.does(&["submit", "the report", "--agent", "boss", "--id", "report-9"]);
    let view = house.until("report-9", JobState::InputRequired).await;
    let (counter, asker) = (&child(&view, "report-9/s1").job, &child(&view, "report-9/s2").job);
    house.until(counter.as_str(), JobState::Completed).await;

    // A child that has ended, while its parent has not.
    let all = ["--json", "--yes", "--no-objects", "--ended-before", "0s"];
    let (code, said) = purge(&house, &all);
    assert_eq!(code, Some(0), "{said}");
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    let stay = (&told["jobs"], &told["open"], &told["family"]);
    assert_eq!(stay, (&json!([]), &json!(2), &json!(1)), "{told}");
    let (code, said) = purge(&house, &[counter.as_str(), "--yes"]);
    assert!(code == Some(6) && said.contains("of a family that has not ended"), "{code:?} {said}");

    // A child with a record that cannot be read hears the cancellation all the same.
    let raw = RawWriter::connect(house.company.nats.url()).await;
    let subject = house.broker.log.subjects().fact(asker, &Source::Door);
    let strange = r#"{"v":1,"kind":"danced","id":"1","by":"w","body":{}}"#;
    raw.store(subject, strange, None).await.unwrap();
    house.does(&["jobs", "cancel", "report-9", "--yes"]);
    house.until("report-9", JobState::Canceled).await;
    house.until(asker.as_str(), JobState::Canceled).await;
    let ids = [view.job.clone(), counter.clone(), asker.clone()];
    for id in &ids {
        assert!(house.count(id, "submitted").await == 1, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_family_that_has_ended_is_removed_as_a_whole() {
    let house = House::new(10).await;
    house.does(&["submit", "the report", "--agent", "boss", "--id", "report-6"]);
    let view = house.until("report-6", JobState::InputRequired).await;
    house.does(&["inbox", "answer", "report-6", "--text", "1984"]);
    house.until("report-6", JobState::Completed).await;
    let (code, said) = purge(&house, &["--yes", "--no-objects", "--ended-before", "0s"]);
    assert!(code == Some(0) && said.contains("3 jobs that ended"), "{code:?} {said}");
    for id in view.children.iter().map(|child| &child.job).chain([&view.job]) {
        assert_eq!(house.count(id, "submitted").await, 0, "{id}");
    }
}
