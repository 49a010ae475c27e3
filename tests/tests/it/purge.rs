//! Tests of `callboard jobs purge` on a real nats-server, beside working roles: ended jobs are
//! removed, and nothing else.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, SystemTime},
};

use broker::{
    Broker,
    objects::ObjectError,
    testing::{RawWriter, wait::until},
};
use callboard_tests::{
    company::Company,
    load,
    wait::{self, wait_for_door},
};
use client::Client;
use operator::purge;
use proto::{
    door::{Filter, List},
    fact::{Fact, Signal, Source},
    id::{JobId, Seq},
    job::JobState,
};
use runtime::telemetry::new_trace;
use serde_json::{Value, json};

const SHARDS: u16 = 4;

const SCRIPT: &str = r#"
rules:
  - name: quick
    when: { system: 'You are a planner', last: 'quick' }
    reply:
      json:
        title: quick
        steps: [ { id: say, description: "say it", tool: echo, args: { value: 1 } } ]
  - name: slow
    when: { system: 'You are a planner', last: 'slow' }
    reply:
      json:
        title: slow
        steps: [ { id: wait, description: "wait", tool: sleep, args: { ms: 50000 } } ]
"#;

struct Stage {
    company: Company,
    broker: Broker,
    client: Client,
}

impl Stage {
    async fn new() -> Self {
        let mut company = Company::start(SCRIPT).await;
        company.set("NATS__SHARDS", &SHARDS.to_string());
        let broker = load::connect(&company, SHARDS, 1).await;
        let client = Client::new(&broker);
        Self { company, broker, client }
    }

    /// Runs `callboard jobs purge`. Returns its exit code and its output.
    fn purge(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = self.company.command();
        let output = command.args(["jobs", "purge"]).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
        (output.status.code(), said.concat())
    }

    fn purged(&self, arguments: &[&str]) -> Value {
        let (code, said) = self.purge(arguments);
        assert_eq!(code, Some(0), "{said}");
        serde_json::from_str(&said).unwrap()
    }

    async fn records(&self, job: &JobId) -> usize {
        self.broker.log.read(job, Seq(0)).await.unwrap().len()
    }

    /// Ends a job, with a reason that is too large for a record.
    async fn cancel(&self, job: &JobId) {
        let fact = json!({"signal": Signal::Cancel, "reason": "s".repeat(100_000)});
        let fact = Fact::Signaled(serde_json::from_value(fact).unwrap());
        self.broker.log.append(job, &fact, new_trace()).await.unwrap();
    }

    async fn started(&self, jobs: &[JobId]) {
        for job in jobs {
            // Submitted, plan, planned, and the call.
            wait::log(&self.broker, job, |entries| (entries.len() >= 4).then_some(())).await;
        }
    }
}

fn names(report: &Value) -> BTreeSet<String> {
    let jobs = report["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["job"].as_str().unwrap().to_owned()).collect()
}

fn set(ids: &[JobId]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_ended_is_removed_and_nothing_else_beside_roles_that_work() {
    let stage = Stage::new().await;
    let (broker, client) = (&stage.broker, &stage.client);
    let _process = stage.company.serve("all", "all");
    wait_for_door(client).await;
    let (quick, big) = (load::ids("quick", 5), load::ids("big", 2));
    let (running, parked) = (load::ids("running", 1), load::ids("parked", 1));
    load::submit(client, &quick, |_| "quick".to_owned()).await;
    let slow = [&big[..], &running, &parked].concat();
    load::submit(client, &slow, |_| "slow".to_owned()).await;
    stage.started(&slow).await;
    for job in &big {
        stage.cancel(job).await;
    }
    let raw = RawWriter::connect(stage.company.nats.url()).await;
    let subject = broker.log.subjects().fact(&parked[0], &Source::Door);
    let strange = r#"{"v":1,"kind":"danced","id":"1","by":"w","body":{}}"#;
    raw.store(subject, strange, None).await.unwrap();
    let ended = [&quick[..], &big].concat();
    load::ended(broker, &ended).await;

    // A job that is too recent, an unconfirmed purge, and a dry run remove nothing.
    let (code, said) = stage.purge(&["--dry-run"]);
    assert!(code == Some(0) && said.contains("0 jobs would be removed"), "{said}");
    let (code, said) = stage.purge(&["--ended-before", "90d", "--yes"]);
    assert!(
        code == Some(0) && said.contains("0 jobs that ended") && said.contains("9 too new"),
        "{said}"
    );
    let told = stage.purged(&["--json", "--yes"]);
    assert_eq!((names(&told).len(), &told["recent"]), (0, &json!(9)), "{told}");
    let told = stage.purged(&["--dry-run", "--json", "--ended-before", "0s"]);
    assert_eq!((names(&told), &told["open"]), (set(&ended), &json!(2)), "{told}");
    let (code, said) = stage.purge(&["--ended-before", "0s"]);
    assert!(code == Some(2) && said.contains("--yes"), "{code:?} {said}");
    let (code, said) = stage.purge(&["quick0", "running0", "parked0", "--yes"]);
    assert!(code == Some(6) && said.contains("nothing was removed: running0, parked0"), "{said}");
    let (code, said) = stage.purge(&["quick0", "--ended-before", "1h", "--yes"]);
    assert!(code == Some(6) && said.contains("too recently"), "{said}");
    for job in &ended {
        assert!(stage.records(job).await > 3, "{job}");
    }

    shared_values_stay_as_long_as_somebody_refers_to_them(&stage, &big).await;

    // Other jobs are submitted during the purge.
    let more = load::ids("more", 10);
    let told = tokio::join!(load::submit(client, &more, |_| "quick".to_owned()), async {
        tokio::task::block_in_place(|| {
            stage.purged(&["--json", "--yes", "--ended-before", "0s", "--no-objects"])
        })
    });
    assert!(names(&told.1).is_superset(&set(&quick)), "{}", told.1);
    assert!(
        set(&ended)
            .union(&set(&more))
            .cloned()
            .collect::<BTreeSet<_>>()
            .is_superset(&names(&told.1)),
        "{}",
        told.1
    );
    for job in &ended {
        assert_eq!(stage.records(job).await, 0, "{job}");
    }
    assert!(stage.records(&running[0]).await >= 4 && stage.records(&parked[0]).await >= 4);
    load::proved(broker).await;
    let (code, said) = stage.purge(&["quick0", "--yes", "--no-objects"]);
    assert!(code == Some(0) && said.contains("not there: quick0"), "{said}");

    // The ids of removed jobs are free again, and the installation works.
    load::submit(client, &quick, |_| "quick".to_owned()).await;
    let again = load::ended(broker, &quick).await;
    assert_eq!(load::unclean(&again), Vec::<String>::new());
    let report = load::proved(broker).await;
    assert_eq!(report.standing(operator::fsck::JobCondition::Parked), 1);

    // A list that has shown a job lacks it at once, although no record tells of its purge.
    let filter = Filter::of_states([JobState::Completed]);
    let list = List { filter, ..List::default() };
    let shown = async || {
        let listed = client.call(&list).await.unwrap();
        listed.jobs.into_iter().map(|row| row.job).collect::<BTreeSet<_>>()
    };
    let (before, again) = (shown().await, shown().await);
    assert!(before == again && quick.iter().all(|job| before.contains(job)), "{before:?}");
    broker.log.purge(&quick[0]).await.unwrap();
    let left = before.into_iter().filter(|job| *job != quick[0]).collect();
    assert_eq!(shown().await, left);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_worker_removes_the_workspace_of_a_purged_job() {
    let stage = Stage::new().await;
    let _process = stage.company.serve("all", "all");
    wait_for_door(&stage.client).await;
    let [gone, stays] = load::ids("quick", 2).try_into().unwrap();
    let ids = [gone, stays];
    load::submit(&stage.client, &ids, |_| "quick".to_owned()).await;
    load::ended(&stage.broker, &ids).await;
    let [gone, stays] = ids.map(|id| stage.company.workspace().join("jobs").join(id.as_str()));
    let days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 3600);
    let claim = stage.company.workspace().join(".callboard/installation");
    until("the directory is claimed", async || claim.exists()).await;
    for workspace in [&gone, &stays] {
        fs::create_dir_all(workspace).unwrap();
        fs::write(workspace.join("a.txt"), "a").unwrap();
        fs::File::open(workspace).unwrap().set_modified(days_ago).unwrap();
    }
    fs::File::options().write(true).open(&claim).unwrap().set_modified(days_ago).unwrap();
    stage.purged(&["quick0", "--yes", "--json", "--no-objects"]);
    let _tools = stage.company.serve("more tools", "tools");
    until("the workspace is removed", async || !gone.exists()).await;
    assert!(stays.join("a.txt").exists());
}

/// Two jobs have the same reason, which is stored once.
async fn shared_values_stay_as_long_as_somebody_refers_to_them(stage: &Stage, big: &[JobId]) {
    let broker = &stage.broker;
    let stored = broker.objects.list().await.unwrap();
    assert!(!stored.is_empty());
    let garbage = async || purge::garbage(broker, Duration::ZERO, &BTreeSet::new()).await.unwrap();
    assert_eq!(garbage().await.values, []);
    let told = stage.purged(&["big0", "--yes", "--json"]);
    assert_eq!(names(&told), set(&big[..1]));
    // Too recent to be removed, with or without references.
    let objects = json!({"removed": 0, "bytes": 0, "kept": stored.len()});
    assert_eq!(told["objects"], objects);
    assert_eq!(garbage().await.values, []);
    stage.purged(&["big1", "--yes", "--json"]);
    let left = garbage().await;
    assert!(!left.values.is_empty() && left.bytes() >= 100_000, "{left:?}");
    purge::collect(broker, &left).await.unwrap();
    for value in &left.values {
        let gone = broker.objects.get(&value.sha256).await;
        assert!(matches!(gone, Err(ObjectError::Missing(_))), "{gone:?}");
    }
}
