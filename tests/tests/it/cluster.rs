//! A cluster of three nats-servers with three replicas, whose leader is killed under load. Jobs
//! flow again, and no log shows a trace of the failure. `make bench` measures the time.

use broker::{kv::Bucket, testing::NatsCluster};
use callboard_tests::{company::Company, load, wait};
use client::Client;
use proto::id::JobId;

use super::chaos::approve_all;

/// Each job creates a task, takes model turns with two concurrent calls, and writes a file.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', last: 'copy (?<id>\w+)' }
    reply:
      json:
        title: "copy {{ captures.id }}"
        steps:
          - { id: make, description: "make", tool: create_task, args: { title: "copy {{ captures.id }}" } }
          - { id: think, description: "think", depends_on: [make] }
          - { id: sleep, description: "sleep", depends_on: [make], tool: sleep, args: { ms: 500 } }
          - { id: done, description: "done", depends_on: [think, sleep], tool: complete_task, args: { id: "{{ '{{make.id}}' }}" } }

  - name: first turn
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: echo, args: { value: 1 } }, { tool: sleep, args: { ms: 200 } } ] }

  - name: second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought" } } ] }
"#;

/// The number of jobs before the leader is killed, and again after it.
const JOBS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn jobs_flow_again_after_the_leader_of_a_cluster_dies() {
    let shards = 2;
    let mut company = Company::on(NatsCluster::start().await, SCRIPT).await;
    for (setting, value) in [
        ("NATS__SHARDS", shards.to_string()),
        ("NATS__REPLICAS", "3".to_owned()),
        ("NATS__CONNECT_TIMEOUT_MS", "30000".to_owned()),
        ("NATS__ACK_WAIT_MS", "30000".to_owned()),
        ("NATS__FACTS_ACK_WAIT_MS", "30000".to_owned()),
        ("NATS__PIN_TIMEOUT_MS", "2000".to_owned()),
        ("NATS__REQUEST_TIMEOUT_MS", "2000".to_owned()),
    ] {
        company.set(setting, &value);
    }
    let processes = [
        company.serve("supervisor1", "supervisor,interaction,door"),
        company.serve("supervisor2", "supervisor,interaction,door"),
        company.serve("worker1", "planner,executor,tools"),
        company.serve("worker2", "planner,executor,tools"),
    ];
    let broker = load::connect(&company, shards, 3).await;
    let client = Client::new(&broker);
    for supervisor in &processes[..2] {
        wait::member(&client, supervisor, |_| true).await;
    }
    for tool in ["create_task", "sleep", "echo", "complete_task"] {
        wait::wait_for_tool(&client, tool).await;
    }
    let approving = tokio::spawn(approve_all(broker.clone()));
    let goal = |id: &JobId| format!("copy {id}");
    let mut ids = load::ids("before", JOBS);
    load::submit(&client, &ids, goal).await;

    let probes = load::one_a_shard(broker.log.subjects(), "probe");
    let leads = broker.log.subjects().stream(broker.log.subjects().shard_of(&probes[0]));
    let leader = company.nats.leader(&leads).await;
    company.nats.kill9(leader);
    load::submit_patiently(&client, &probes, goal).await;
    load::decided(&broker, &probes).await;
    ids.extend(probes);

    // The killed server returns and catches up, also under load.
    let after = load::ids("after", JOBS);
    load::submit(&client, &after, goal).await;
    ids.extend(after);
    company.nats.restart(leader).await;
    let ended = load::ended(&broker, &ids).await;
    approving.abort();
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    let tasks = broker.kv.list(Bucket::Tasks, "task").await.unwrap();
    assert_eq!(tasks.len(), ids.len(), "one task a job");
    load::proved(&broker).await;
    let ignored: u64 = ended.values().map(|checked| checked.ignored).sum();
    eprintln!("{} jobs, all logs clean; {ignored} facts that changed nothing", ids.len());
}
