//! A supervisor that is stopped for a long time and goes on with what it has in hand: another one
//! has taken over, and nothing is changed twice.

use std::{collections::BTreeSet, time::Duration};

use callboard_tests::{company::Company, load};
use client::Client;
use proto::{
    decision::Decision,
    door::{AgentChoice, Submit},
    id::{AgentName, JobId, Seq},
    job::JobState,
    record::Known,
};

use super::chaos::{connect, wait_for_door};

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
const PAUSE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_stopped_for_twenty_seconds_and_continued_changes_nothing_twice() {
    let company = Company::start(SCRIPT).await;
    let stopped = company.serve("stopped", "supervisor,interaction");
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
    let _other = company.serve("other", "supervisor,interaction");
    tokio::time::sleep(PAUSE).await;
    stopped.signal("CONT");

    for id in &ids {
        let job = ended(&broker, id).await;
        assert_eq!(job.view().unwrap().state, JobState::Completed, "{id}");
        let (mut sent, mut finishes) = (BTreeSet::new(), 0);
        for entry in broker.log.read(id, Seq(0)).await.unwrap() {
            let Ok(Known::Decision(decision)) = entry.record.unwrap().known() else { continue };
            match *decision {
                Decision::Call(call) => {
                    assert!(
                        sent.insert((call.work.clone(), call.attempt)),
                        "{} was sent twice",
                        call.work
                    );
                }
                Decision::Finish(_) => finishes += 1,
                Decision::Plan(_)
                | Decision::Turn(_)
                | Decision::Ask(_)
                | Decision::Wait(_)
                | Decision::Spawn(_)
                | Decision::Note(_) => {}
            }
        }
        assert_eq!((sent.len(), finishes), (4, 1), "{id}");
    }
    let tasks = broker.kv.list(broker::kv::Bucket::Tasks, "task").await.unwrap();
    assert_eq!(tasks.len(), JOBS, "one task a job");
    load::proved(&broker).await;
}

async fn ended(broker: &broker::Broker, id: &JobId) -> machine::Job {
    for _ in 0..600 {
        let entries = broker.log.read(id, Seq(0)).await.unwrap();
        let job = machine::replay(id, &entries);
        if job.has_ended() {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let entries = broker.log.read(id, Seq(0)).await.unwrap();
    panic!("{id} never ended: {:#?}", machine::replay(id, &entries).view());
}
