//! A test of two releases that share a cluster. The program of this checkout is the older release,
//! and a fixture is the newer one. A record that the older release does not know parks that one job
//! and is named. The job continues once the newer release owns its shard. Nothing is lost,
//! whichever release writes and reads.

use std::collections::BTreeMap;

use broker::{
    Broker,
    clock::SystemClock,
    kv::Bucket,
    testing::jobs::{self, Jobs},
};
use callboard_tests::{
    company::{Company, Process},
    load,
    newer::{self, Results},
    wait::{self, wait_for_door, wait_for_tool},
};
use client::Client;
use machine::check::{Finding, check};
use proto::{
    agent::{Agent, Calling},
    decision::{Decision, DecisionKind},
    fact::{Called, Fact, Submitted},
    id::{Attempt, JobId, Pool, Seq, ToolName, WorkerId},
    job::SubStatus,
    retry::RetryPolicy,
    tool::{Approval, Effect, Fault, ToolResult, ToolSpec},
    view::JobView,
};
use runtime::{
    actor::{Child, Restarts, Tree},
    presence::{Beacon, Crew, Status},
    registry::{self, Registry},
    testing::{AnyCommand, FnRole},
    worker::{LocalPools, PoolArgs, PoolOptions, Task},
};
use serde_json::{Value, json};
use supervisor::actors::{ROLE, SupervisorActor, SupervisorArgs, SupervisorOptions};
use tokio_util::sync::CancellationToken;

/// Each job uses a tool of the newer worker, and then one of the older worker.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', last: 'weigh (?<id>\w+)' }
    reply:
      json:
        title: "weigh {{ captures.id }}"
        steps:
          - { id: nap, description: "nap", tool: sleep, args: { ms: 1500 } }
          - { id: weigh, description: "weigh", tool: weigh, args: {} }
          - { id: make, description: "make", depends_on: [nap, weigh], tool: create_task, args: { title: "{{ captures.id }}" } }
"#;

/// Returns the form in which the newer worker writes the results of a job.
fn results(job: &JobId) -> Results {
    match job.as_str() {
        name if name.starts_with("kind") => Results::NewKind,
        name if name.starts_with("version") => Results::NewVersion,
        _ => Results::SameKind,
    }
}

/// The tool of the newer release. It is unavailable at the first attempt of jobs named `rest…`.
async fn weigh(task: Task<AnyCommand>) -> Option<Fact> {
    let AnyCommand(Decision::Call(work)) = &*task.command else { return None };
    let rests = task.job.as_str().starts_with("rest") && work.attempt == Attempt::FIRST;
    let result = if rests { ToolResult::failed("later") } else { ToolResult::ok(json!(1)) };
    Some(Fact::Called(Called {
        attempt: work.attempt,
        result,
        fault: rests.then_some(Fault::Unavailable),
        ..jobs::called(work.work.as_str())
    }))
}

/// A process of the newer release, inside this one.
struct Newer {
    tree: Tree,
    shutdown: CancellationToken,
}

impl Newer {
    async fn worker(company: &Company, broker: &Broker) -> Self {
        let (worker, shutdown) = (WorkerId::new("newer-worker").unwrap(), CancellationToken::new());
        let broker = newer::broker(broker, company.nats.url(), &worker, results).await;
        let pool = Pool::new("newer").unwrap();
        let spec = ToolSpec {
            name: ToolName::new("weigh").unwrap(),
            description: "Weighs.".to_owned(),
            schema: json!({"type": "object"}),
            effect: Effect::Pure,
            pool: pool.clone(),
            timeout_ms: 60_000,
            concurrency: 16,
            approval: Approval::Never,
            destructive: false,
            untrusted: false,
            version: "1".to_owned(),
            commands: Vec::new(),
            translations: BTreeMap::new(),
        };
        let crew = Crew::open(&broker);
        registry::announce(&broker, spec, &worker, &crew).await.unwrap();
        let options = PoolOptions::new(DecisionKind::Call, pool, 16);
        let args = PoolArgs::new(broker.clone(), worker, FnRole(weigh), options, shutdown.clone());
        let (pool, _) = args.into_child("weigh");
        let tree = Tree::start("newer worker", Restarts::default(), vec![pool]);
        Self { tree: tree.await.unwrap(), shutdown }
    }

    async fn supervisor(company: &Company, broker: &Broker, name: &str) -> Self {
        let (worker, shutdown) = (WorkerId::new(name).unwrap(), CancellationToken::new());
        let broker = newer::broker(broker, company.nats.url(), &worker, results).await;
        let roles = vec![ROLE.to_owned()];
        let status = Status::new(worker, roles, "9.9.9", &SystemClock::new(), shutdown.clone());
        let args = SupervisorArgs {
            broker: broker.clone(),
            status: status.clone(),
            crew: Crew::open(&broker),
            registry: Registry::open(&broker).await.unwrap(),
            local: LocalPools::default(),
            options: SupervisorOptions::default(),
            shutdown: shutdown.clone(),
        };
        let children = vec![
            Child::actor("beacon", || Beacon, (broker, status)).in_background(),
            Child::actor("supervisor", || SupervisorActor, args),
        ];
        let tree = Tree::start("newer supervisor", Restarts::default(), children).await.unwrap();
        Self { tree, shutdown }
    }

    async fn leave(self) {
        self.shutdown.cancel();
        self.tree.ended().await;
    }
}

/// Submits jobs directly to the log, since the front door may be of either release.
async fn submit(broker: &Broker, ids: &[JobId]) {
    let wait = RetryPolicy { initial_interval_ms: 4_000, jitter: 0.0, ..RetryPolicy::default() };
    let agent = Agent {
        confirm: false,
        tool: Calling { retry: wait, ..Calling::default() },
        ..Agent::default()
    };
    for id in ids {
        let submitted =
            Submitted { agent: agent.clone(), ..jobs::submitted(&format!("weigh {id}")) };
        Jobs { broker: broker.clone() }.submit(id.as_str(), submitted).await;
    }
}

/// Waits until the older release has parked these jobs, and checks the reported place.
async fn parked(client: &Client, broker: &Broker, ids: &[JobId], because: &str) {
    for id in ids {
        let is_parked = |view: &JobView| view.sub_status == Some(SubStatus::Poisoned);
        let view = wait::view(client, id, is_parked).await;
        let findings = check(id, &broker.log.read(id, Seq(0)).await.unwrap()).findings;
        let [Finding::Parked { seq, reason }] = findings.as_slice() else {
            panic!("{id}: {findings:?}")
        };
        assert_eq!(view.reason, Some(format!("record {seq}: {reason}")));
        assert!(reason.starts_with(because), "{reason}");
    }
}

/// Stops the older supervisor. Its exit code shows that all its work is stored.
fn leave(mut process: Process) {
    process.signal("TERM");
    assert_eq!(process.wait(), Some(0), "{}", process.logged());
}

/// Waits until the log of each job has a record of a kind.
async fn recorded(broker: &Broker, ids: &[JobId], kind: &str) {
    for id in ids {
        wait::record(broker, id, kind).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_and_a_newer_release_share_a_cluster_and_lose_nothing() {
    let mut company = Company::start(SCRIPT).await;
    // The defaults, which the fixture uses because it has no configuration.
    company.set("NATS__FACTS_ACK_WAIT_MS", "30000");
    company.set("NATS__PIN_TIMEOUT_MS", "2000");
    let older = |n| company.serve(&format!("supervisor{n}"), "supervisor,interaction,door");
    let first = older(1);
    let _worker = company.serve("worker", "planner,executor,tools");
    let broker = load::connect(&company, 8, 1).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    wait_for_tool(&client, "create_task").await;
    let _newer_worker = Newer::worker(&company, &broker).await;
    let reader = WorkerId::new("reader").unwrap();
    let newer_eyes = newer::broker(&broker, company.nats.url(), &reader, results).await;
    let [kinds, versions, same, rest, handed, again] =
        ["kind", "version", "same", "rest", "handed", "again"].map(|name| load::ids(name, 3));
    let is_clean = async |broker: &Broker, ids: &[JobId]| {
        let ended = load::ended(broker, ids).await;
        assert_eq!(load::unclean(&ended), Vec::<String>::new());
    };

    // The older supervisor reads the records of the newer worker.
    for ids in [&kinds, &versions, &same] {
        submit(&broker, ids).await;
    }
    parked(&client, &broker, &kinds, "written in version 2").await;
    parked(&client, &broker, &versions, "written in version 2").await;
    is_clean(&broker, &same).await;

    // The newer supervisor takes over the shards, and continues the parked jobs.
    let newer = Newer::supervisor(&company, &broker, "newer-1").await;
    leave(first);
    let strange = [kinds.clone(), versions.clone()].concat();
    is_clean(&newer_eyes, &strange).await;

    // The older supervisor takes over jobs with decisions of the newer one.
    for ids in [&rest, &handed] {
        submit(&broker, ids).await;
    }
    recorded(&broker, &rest, newer::REST).await;
    let second = older(2);
    wait_for_door(&client).await;
    newer.leave().await;
    submit(&broker, &again).await;
    is_clean(&broker, &again).await;
    is_clean(&broker, &handed).await;
    // The timer that ends the wait fires while no supervisor knows its purpose.
    recorded(&broker, &rest, "fired").await;
    parked(&client, &broker, &rest, "unknown kind \"rest\"").await;

    let _newer = Newer::supervisor(&company, &broker, "newer-2").await;
    leave(second);
    is_clean(&newer_eyes, &rest).await;
    let all = [kinds, versions, same, rest, handed, again].concat();
    is_clean(&newer_eyes, &all).await;
    let tasks = broker.kv.list(Bucket::Tasks, "task").await.unwrap();
    assert_eq!(tasks.len(), all.len(), "one task a job");
    assert_new_fields_are_kept(&broker, &all).await;
    load::proved(&newer_eyes).await;
}

/// Checks that the records of the newer release keep their new fields, after reads and writes of
/// the older one.
async fn assert_new_fields_are_kept(broker: &Broker, ids: &[JobId]) {
    let [outer, inner] = newer::NEW_FIELDS;
    let mut by_newer = 0;
    for id in ids {
        for entry in broker.log.read(id, Seq(0)).await.unwrap() {
            let record = entry.record.unwrap();
            let value: Value = serde_json::from_slice(&record.to_vec()).unwrap();
            if record.by.starts_with("newer") {
                by_newer += 1;
                assert_eq!(
                    (&value[outer], &value["body"][inner]["nobody"]),
                    (&json!(1.5), &json!("asked"))
                );
            }
        }
    }
    assert!(by_newer > ids.len(), "{by_newer} records are by the newer release");
}
