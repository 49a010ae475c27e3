//! A test that a supervisor which is suspended and continues after another one has taken over
//! changes nothing twice.

use callboard_tests::{
    company::Company,
    load,
    wait::{self, wait_for_door},
};
use client::Client;
use futures::{StreamExt, stream::FuturesUnordered};
use machine::{Job, replay};
use proto::{
    door::{AgentChoice, Submit},
    entry::Entry,
    id::{AgentName, JobId, Seq},
    job::JobState,
};

use super::chaos::{calls, connect};

const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "naps"
        steps:
          - { id: a, description: "nap", tool: sleep, args: { ms: 500 } }
          - { id: b, description: "nap", depends_on: [a], tool: sleep, args: { ms: 500 } }
          - { id: c, description: "nap", depends_on: [a], tool: sleep, args: { ms: 500 } }
          - { id: d, description: "nap", depends_on: [b, c], tool: create_task, args: { title: "done" } }
"#;

const JOBS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_goes_on_after_another_has_taken_over_changes_nothing_twice() {
    let company = Company::start(SCRIPT).await;
    let mut stopped = company.serve("stopped", "supervisor,interaction,door");
    let _worker = company.serve("worker", "planner,executor,tools");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let ids: Vec<_> = (0..JOBS).map(|n| JobId::new(format!("nap{n}")).unwrap()).collect();
    for id in &ids {
        let agent = AgentChoice::Named(AgentName::new("unattended").unwrap());
        let submit =
            Submit { id: Some(id.clone()), agent: Some(agent), ..Submit::goal("sleep well") };
        client.submit(submit).await.unwrap();
    }
    stopped.signal("STOP");
    let _other = company.serve("other", "supervisor,interaction,door");
    // The other supervisor has ended some jobs, and some are still in progress.
    let ended = |id| wait::log(&broker, id, |entries| ended(id, entries));
    ids.iter().map(ended).collect::<FuturesUnordered<_>>().take(JOBS / 2).collect::<Vec<_>>().await;
    stopped.signal("CONT");
    // After its end no late write of the first supervisor can arrive.
    wait::member(&client, &stopped, |_| true).await;
    stopped.signal("TERM");
    assert_eq!(stopped.wait(), Some(0), "{}", stopped.logged());

    for id in &ids {
        let job = ended(id).await;
        assert_eq!(job.view().unwrap().state, JobState::Completed, "{id}");
        let (calls, finishes) = calls(&broker.log.read(id, Seq(0)).await.unwrap());
        assert_eq!((calls.len(), finishes), (4, 1), "{id}");
    }
    let tasks = broker.kv.list(broker::kv::Bucket::Tasks, "task").await.unwrap();
    assert_eq!(tasks.len(), JOBS, "one task a job");
    load::proved(&broker).await;
}

fn ended(id: &JobId, entries: &[Entry]) -> Option<Job> {
    Some(replay(id, entries)).filter(Job::has_ended)
}
