//! Tests of a rollback and a fork on a real nats-server with real processes, which are killed in
//! the middle. `fsck` checks the logs afterwards.

use broker::Broker;
use callboard_tests::{
    company::{Company, Process},
    load,
    wait::{until, wait_for_door},
};
use client::Client;
use operator::fsck::JobCondition;
use proto::{
    id::JobId,
    job::{JobState, Outcome},
    view::JobView,
};

use super::chaos::connect;

/// A loop of two turns between two sleeps. Its second turn shows what the model received.
const SCRIPT: &str = r#"
rules:
  - name: the plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: naps
        steps:
          - { id: first, description: "nap", tool: sleep, args: { ms: 200 } }
          - { id: look, description: "look", depends_on: [first] }
          - { id: last, description: "nap", depends_on: [look], tool: sleep, args: { ms: 700 } }
  - name: the first turn
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: echo, args: { value: "seven" } } ] }
  - name: the second
    when: { offers: finish, turn: 2, any: 'seven' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "it was seven" } } ] }
"#;

struct Hall {
    company: Company,
    client: Client,
    broker: Broker,
    processes: [Process; 2],
}

impl Hall {
    async fn new() -> Self {
        let company = Company::start(SCRIPT).await;
        let processes = [
            company.serve("supervisor", "supervisor,interaction,door"),
            company.serve("worker", "planner,executor,tools"),
        ];
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        Self { company, client, broker, processes }
    }

    fn crash(&mut self) {
        self.processes.iter_mut().for_each(Process::kill9);
        for process in &mut self.processes {
            process.restart(&self.company);
        }
    }

    #[track_caller]
    fn does(&self, arguments: &[&str]) -> String {
        let (success, said) = self.callboard(arguments);
        assert!(success, "{arguments:?}: {said}");
        said
    }

    fn callboard(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.company.command().args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.success(), said.concat())
    }

    async fn completed(&self, id: &str) -> JobView {
        until(&self.client, &JobId::new(id).unwrap(), JobState::Completed).await
    }

    /// Returns the position of the first record whose line contains all these words.
    fn record(&self, id: &str, words: &[&str]) -> String {
        let log = self.does(&["jobs", "show", id, "-o", "jsonl"]);
        let line = log.lines().find(|line| words.iter().all(|word| line.contains(word)));
        let line = line.unwrap_or_else(|| panic!("{words:?}: {log}"));
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["seq"].to_string()
    }
}

fn response(view: &JobView, step: &str) -> Option<String> {
    let steps = &view.plan.as_ref().unwrap().steps;
    steps.iter().find(|one| one.id.as_str() == step).unwrap().response.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completed_job_goes_back_is_killed_in_the_middle_and_completes_again() {
    let mut hall = Hall::new().await;
    hall.does(&["submit", "naps", "--agent", "unattended", "--id", "report"]);
    let before = hall.completed("report").await;
    assert_eq!(response(&before, "look").as_deref(), Some("it was seven"));

    // The target is inside a loop, whose first turn is that of the former generation.
    let turned = hall.record("report", &["\"turned\"", "seven"]);
    let said = hall.does(&["jobs", "rollback", "report", "--to", &turned, "--yes"]);
    assert!(said.contains("was rolled back to"), "{said}");
    hall.crash();
    wait_for_door(&hall.client).await;
    let again = hall.completed("report").await;
    assert_eq!((again.generation.0, &again.outcome), (1, &before.outcome));

    hall.does(&["jobs", "restart", "report", "last", "--yes"]);
    let again = hall.completed("report").await;
    assert_eq!((again.generation.0, &again.outcome), (2, &before.outcome));
    let ids = [JobId::new("report").unwrap()];
    let ended = load::ended(&hall.broker, &ids).await;
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    assert_eq!(load::proved(&hall.broker).await.standing(JobCondition::Ended), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_named_forked_and_compared() {
    let mut hall = Hall::new().await;
    hall.does(&["submit", "naps", "--agent", "unattended", "--id", "report"]);
    until(&hall.client, &JobId::new("report").unwrap(), JobState::Working).await;
    let said = hall.does(&["jobs", "snapshot", "report", "before"]);
    assert!(said.contains("report is before at record"), "{said}");
    let said = hall.does(&["jobs", "snapshot", "report", "same", "--at", "before"]);
    assert!(said.contains("report is same at record before"), "{said}");
    let before = hall.completed("report").await;
    let turned = hall.record("report", &["\"turned\"", "seven"]);
    hall.does(&["jobs", "fork", "report", "--at", &turned, "--id", "report-2"]);
    hall.crash();
    wait_for_door(&hall.client).await;
    let fork = hall.completed("report-2").await;
    assert_eq!(response(&fork, "look").as_deref(), Some("it was seven"));
    let Some(Outcome::Completed { results, .. }) = &before.outcome else { panic!("{before:?}") };
    let Some(Outcome::Completed { results: again, .. }) = &fork.outcome else { panic!("{fork:?}") };
    assert_eq!(again, results);
    let same = hall.does(&["jobs", "diff", "report", "--with", "report-2"]);
    assert!(same.contains("--- report at record") && same.contains("+++ report-2"), "{same}");
    let diff = hall.does(&["jobs", "diff", "report", "before"]);
    assert!(diff.contains("state: working → completed"), "{diff}");
    let json = hall.does(&["jobs", "diff", "report", "before", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["to"]["state"], "completed");
    let named = hall.does(&["jobs", "snapshot", "report"]);
    assert!(named.contains("NAME") && named.contains("before"), "{named}");
    assert!(hall.does(&["jobs", "describe", "report-2"]).contains("report at record"));
    let (success, said) = hall.callboard(&["jobs", "rollback", "report", "--to", "before"]);
    assert!(!success && said.contains("needs a confirmation"), "{said}");
    let back = hall.does(&["jobs", "rollback", "report", "--to", "before", "--yes"]);
    assert!(back.contains("was rolled back to before"), "{back}");
    hall.completed("report").await;
    let log = hall.does(&["jobs", "show", "report"]);
    assert!(log.lines().any(|line| line.starts_with('×') && line.contains("finish")), "{log}");
    assert!(hall.does(&["jobs", "show", "report-2"]).contains("forked from report at record"));
    let (success, said) = hall.callboard(&["jobs", "rollback", "report", "--to", "after", "--yes"]);
    assert!(!success && said.contains("has no snapshot after; there are: before"), "{said}");
    load::proved(&hall.broker).await;
}
