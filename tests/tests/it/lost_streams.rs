//! Tests of an installation that lost a stream or its server: processes go on, or say what is lost
//! and what to do.

use std::{
    path::Path,
    process::{Command, Output},
};

use broker::{
    Broker,
    testing::{
        RawWriter,
        wait::{eventually, until as holds},
    },
};
use callboard_tests::{
    company::Company,
    wait::{until, wait_for_door, wait_for_tool},
};
use client::Client;
use proto::{
    door::{AgentChoice, Count, Counted, Inbox, Submit},
    error::Code,
    id::{AgentName, JobId, Seq, Shard, TimerName},
    job::JobState,
};

use super::{admin::http::get, chaos::connect, dashboards::free_port};

const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply: { json: { title: "a plan", steps: [ { id: s, description: "s", tool: echo, args: { value: "hi" } } ] } }
"#;

/// The buckets that an installation can lose without a loss of jobs.
const BUCKETS: [&str; 10] = [
    "KV_cb-inbox",
    "KV_cb-tools",
    "KV_cb-tasks",
    "KV_cb-conversations",
    "KV_cb-agents",
    "KV_cb-links",
    "KV_cb-mcp",
    "KV_cb-workflows",
    "KV_cb-sessions",
    "KV_cb-receivers",
];

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_that_lost_its_buckets_goes_on() {
    let company = Company::start(SCRIPT).await;
    let mut process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_tool(&client, "echo").await;
    let job = JobId::new("asked").unwrap();
    let agent = AgentChoice::Named(AgentName::new("default").unwrap());
    let submit = Submit { id: Some(job.clone()), agent: Some(agent), ..Submit::goal("say hi") };
    client.submit(submit).await.unwrap();
    until(&client, &job, JobState::InputRequired).await;

    let raw = RawWriter::connect(company.nats.url()).await;
    for bucket in BUCKETS {
        raw.destroy(bucket).await;
    }
    // Clients need no bucket.
    let listed = company.command().args(["jobs", "ls"]).output().unwrap();
    assert!(listed.status.success() && said(&listed).contains("asked"), "{}", said(&listed));
    // The operator is told, and nothing is created unasked.
    let refused = said(&company.command().arg("setup").output().unwrap());
    assert!(refused.contains("No job is lost") && refused.contains("--recreate"), "{refused}");
    let doctor = said(&company.command().arg("doctor").output().unwrap());
    assert!(doctor.contains("callboard setup --recreate"), "{doctor}");
    let recreated = said(&company.command().args(["setup", "--recreate"]).output().unwrap());
    for bucket in BUCKETS {
        let name = bucket.trim_start_matches("KV_");
        assert!(recreated.contains(&format!("The bucket {name} was lost")), "{recreated}");
    }

    // The same by a process that may create.
    for bucket in BUCKETS {
        raw.destroy(bucket).await;
    }
    process.restart(&company);
    wait_for_tool(&client, "echo").await;
    let entry = eventually("the question", async || {
        let inbox = client.call(&Inbox::default()).await;
        inbox.map_err(|e| e.to_string())?.questions.pop().ok_or_else(|| process.logged())
    })
    .await;
    assert_eq!(entry.job, job);
    let approved = company.command().args(["inbox", "approve", "asked"]).output().unwrap();
    assert!(approved.status.success(), "{}", said(&approved));
    until(&client, &job, JobState::Completed).await;
    assert!(process.logged().contains("a lost bucket was created again"), "{}", process.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_waits_for_a_server_that_starts_later() {
    let mut company = Company::start(SCRIPT).await;
    company.nats.kill9();
    let mut process = company.serve("all", "all");
    let waits = || process.logged().contains("waiting for nats-server");
    holds("a process that says that it waits", async || waits()).await;
    let impatient = ["--timeout", "100ms", "serve", "--roles", "supervisor"];
    let impatient = company.command().args(impatient).output().unwrap();
    assert_eq!(impatient.status.code(), Some(5), "{}", said(&impatient));
    assert!(process.is_running());
    company.nats.restart().await;
    wait_for_door(&Client::new(&connect(&company).await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_shard_stops_only_its_own_jobs_until_it_is_back() {
    let company = Company::start(SCRIPT).await;
    let process = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "echo").await;
    let raw = RawWriter::connect(company.nats.url()).await;
    let subjects = broker.log.subjects();
    let lost = Shard(3);
    let config = raw.destroy(&subjects.stream(lost)).await;

    let kept = job_in(&broker, Shard(4), "kept");
    client.submit(submission(&kept)).await.unwrap();
    until(&client, &kept, JobState::Completed).await;
    let stopped = job_in(&broker, lost, "stopped");
    let refused = client.submit(submission(&stopped)).await.unwrap_err();
    assert_eq!(refused.code, Code::Unavailable);
    for said in ["cb-shard-3", "restores it from a backup", "another id"] {
        assert!(refused.message.contains(said), "{refused:?}");
    }
    let listed = said(&company.command().args(["jobs", "ls"]).output().unwrap());
    assert!(listed.contains(kept.as_str()), "{listed}");
    let run = |args: &[&str]| company.command().args(args).output().unwrap();
    let checked = run(&["fsck"]);
    assert!(!checked.status.success(), "jobs of a lost shard are not proved");
    let checked = said(&checked);
    for part in ["shard 3 is lost", "every checked job is consistent", "1 job"] {
        assert!(checked.contains(part), "{part}: {checked}");
    }
    let purged = run(&["jobs", "purge", "--ended-before", "0s", "--dry-run"]);
    assert!(purged.status.success());
    let purged = said(&purged);
    for part in ["lost shards: 3", "1 job"] {
        assert!(purged.contains(part), "{part}: {purged}");
    }
    let refused = run(&["jobs", "purge", stopped.as_str(), "--dry-run"]);
    assert_eq!(refused.status.code(), Some(5), "{}", said(&refused));
    let uncounted = client.call(&Count::default()).await.unwrap_err();
    assert_eq!(uncounted.code, Code::Unavailable, "{uncounted:?}");
    assert!(uncounted.message.contains("cb-shard-3"), "{uncounted:?}");
    let doctor = said(&company.command().arg("doctor").output().unwrap());
    assert!(doctor.contains("cb-shard-3"), "{doctor}");

    // A process that starts meanwhile serves the others.
    drop(process);
    let process = company.serve("second", "all");
    wait_for_tool(&client, "echo").await;
    let next = job_in(&broker, Shard(5), "next");
    holds("a submission", async || client.submit(submission(&next)).await.is_ok()).await;
    until(&client, &next, JobState::Completed).await;

    raw.create(&config).await;
    client.submit(submission(&stopped)).await.unwrap();
    until(&client, &stopped, JobState::Completed).await;
    let counted = client.call(&Count::default()).await.unwrap();
    assert_eq!(counted, Counted { completed: 3, ..Counted::default() });
    assert!(process.logged().contains("a shard is lost"), "{}", process.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_reported_until_the_server_is_restarted() {
    let mut company = Company::start(SCRIPT).await;
    let admin = format!("127.0.0.1:{}", free_port());
    company.set("ADMIN__LISTEN", &admin);
    company.set("NATS__OVERLOADED_AFTER_MS", "500");
    company.set("SUPERVISOR__PROBE_INTERVAL_MS", "1000");
    let _process = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "echo").await;
    let full = job_in(&broker, Shard(0), "full");
    // No reader sees the message of a timer that never fires.
    let timer = broker.log.subjects().timer(&full, &TimerName::new("_").unwrap());
    let raw = RawWriter::connect(company.nats.url()).await;
    raw.store(timer, vec![b'x'; 200_000], None).await.unwrap();
    let run = |args: &[&str]| company.command().args(args).output().unwrap();
    let is_ready = || run(&["health", "--address", &admin]).status.success();
    holds("a process that is ready", async || is_ready()).await;

    company.nats.limit_files(Some(100_000));
    let refused = client.submit(submission(&full)).await.unwrap_err();
    assert_eq!(refused.code, Code::Overloaded, "{refused:?}");
    holds("a process that is not ready", async || !is_ready()).await;
    company.nats.limit_files(None);
    let health = said(&run(&["health", "--address", &admin]));
    assert!(health.contains("shard 0 stores no records"), "{health}");
    let doctor = said(&run(&["doctor"]));
    assert!(doctor.contains("1 of 8 shards") && doctor.contains("restart nats-server"), "{doctor}");

    company.nats.restart().await;
    holds("a submission", async || client.submit(submission(&full)).await.is_ok()).await;
    until(&client, &full, JobState::Completed).await;
    holds("a process that is ready", async || {
        company.command().args(["health", "--address", &admin]).status().unwrap().success()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_lost_its_last_records_is_reported_and_its_jobs_go_on() {
    let mut company = Company::start(SCRIPT).await;
    let admin = format!("127.0.0.1:{}", free_port());
    company.set("ADMIN__LISTEN", &admin);
    let process = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "echo").await;
    let (early, late) = (job_in(&broker, Shard(0), "early"), job_in(&broker, Shard(0), "late"));
    let agent = AgentChoice::Named(AgentName::new("default").unwrap());
    let submit = Submit { id: Some(early.clone()), agent: Some(agent), ..Submit::goal("say hi") };
    client.submit(submit).await.unwrap();
    until(&client, &early, JobState::InputRequired).await;

    company.nats.shut_down().await;
    let (store, kept) = (company.nats.store_dir(), tempfile::tempdir().unwrap());
    let copy = |from: &Path, to: &Path| {
        assert!(Command::new("cp").arg("-rT").args([from, to]).status().unwrap().success());
    };
    copy(&store, kept.path());
    company.nats.restart().await;
    holds("a submission", async || client.submit(submission(&late)).await.is_ok()).await;
    until(&client, &late, JobState::Completed).await;
    let mut records = 0.0;
    for job in [&early, &late] {
        records += broker.log.read(job, Seq(0)).await.unwrap().len() as f64;
    }
    holds("a poll of the shard", async || {
        let metrics = get(&admin, "/metrics").await.body;
        let is_shard = |line: &&str| {
            line.starts_with("callboard_log_messages{") && line.contains("callboard_shard=\"0\"")
        };
        let value = metrics.lines().find(is_shard).and_then(|line| line.rsplit(' ').next());
        value.is_some_and(|value| value.parse::<f64>().unwrap() >= records)
    })
    .await;

    company.nats.shut_down().await;
    std::fs::remove_dir_all(&store).unwrap();
    copy(kept.path(), &store);
    company.nats.restart().await;
    holds("a report", async || process.logged().contains("the shard lost its last records")).await;
    holds("an answer", async || {
        let answer = ["inbox", "approve", early.as_str()];
        company.command().args(answer).output().unwrap().status.success()
    })
    .await;
    until(&client, &early, JobState::Completed).await;
    holds("a submission", async || client.submit(submission(&late)).await.is_ok()).await;
    until(&client, &late, JobState::Completed).await;
}

/// Returns a job id in a shard.
fn job_in(broker: &Broker, shard: Shard, name: &str) -> JobId {
    let mut ids = (0..).map(|n| JobId::new(format!("{name}-{n}")).unwrap());
    ids.find(|id| broker.log.subjects().shard_of(id) == shard).unwrap()
}

fn submission(job: &JobId) -> Submit {
    let agent = AgentChoice::Named(AgentName::new("unattended").unwrap());
    Submit { id: Some(job.clone()), agent: Some(agent), ..Submit::goal("say hi") }
}
