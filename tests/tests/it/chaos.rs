//! Two hundred jobs in flight while every process and nats-server are killed in turn. Every job
//! ends correctly, no result counts twice, effects happen once, and an interrupted `once` call is
//! reported and never repeated silently.
//!
//! The default sizes are bounded. A longer run: `CALLBOARD_CHAOS_JOBS=600 CALLBOARD_CHAOS_ROUNDS=6
//! make test NEXTEST="-p callboard-tests two_hundred_jobs"`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker::{
    Broker,
    kv::Bucket,
    nats::{self, NatsOptions},
    testing::wait::until,
};
use callboard_tests::{
    company::{Company, Process},
    load,
    wait::{self, wait_for_door},
    web::WebServer,
};
use client::Client;
use futures::{StreamExt, stream};
use operator::fsck::JobCondition;
use proto::{
    decision::{CallWork, Decision},
    door::{AgentChoice, GiveAnswer, Submit},
    entry::Entry,
    error::{Code, Failure},
    id::{AgentName, JobId, Seq, WorkerId},
    interaction::{QuestionKind, Verdict},
    job::Outcome,
    subject::Subjects,
};
use serde_json::Value;
use wiremock::{Mock, ResponseTemplate, matchers};

/// Each job creates a task, completes it, takes model turns, and calls a `once` tool.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', last: 'chaos (?<id>\w+) (?<url>\S+)' }
    reply:
      json:
        title: "chaos {{ captures.id }}"
        steps:
          - { id: make, description: "make a task", tool: create_task, args: { title: "chaos {{ captures.id }}" } }
          - id: done
            description: "complete it"
            depends_on: [make]
            tool: complete_task
            args: { id: "{{ '{{make.id}}' }}" }
          - { id: think, description: "think about {{ captures.id }}", depends_on: [make] }
          - { id: wait, description: "take a while", depends_on: [make], tool: sleep, args: { ms: 700 } }
          - id: post
            description: "post it"
            depends_on: [done, think, wait]
            tool: http_post
            args: { url: "{{ captures.url }}", json: { id: "{{ captures.id }}" } }

  - name: first turn
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: echo, args: { value: "{{ request }}" } } ] }

  - name: second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought" } } ] }
"#;

/// A lower bound of the records in a job's log.
const RECORDS_MIN: usize = 14;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

pub(crate) async fn connect(company: &Company) -> Broker {
    let options =
        NatsOptions { servers: vec![company.nats.url().to_owned()], ..NatsOptions::default() };
    let subjects = Subjects::new("cb", 8).unwrap();
    nats::connect(&options, subjects, WorkerId::new("test").unwrap()).await.unwrap()
}

/// Starts an HTTP server with a delay, so that calls are interrupted in the middle.
async fn effects() -> WebServer {
    let server = WebServer::start().await;
    let answer = ResponseTemplate::new(200).set_delay(Duration::from_millis(150));
    Mock::given(matchers::method("POST")).respond_with(answer).mount(&server).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_jobs_survive_the_death_of_everything() {
    let jobs = number("CALLBOARD_CHAOS_JOBS", 200);
    let rounds = number("CALLBOARD_CHAOS_ROUNDS", 2);
    let mut company = Company::start(SCRIPT).await;
    company.set("TOOLS__HTTP__ALLOW_PRIVATE", "true");
    let effects = effects().await;
    // The process with all roles carries out work of its own jobs without the queue.
    let mut processes = vec![
        company.serve("supervisor", "supervisor,interaction,door"),
        company.serve("worker1", "planner,executor,tools"),
        company.serve("worker2", "planner,executor,tools"),
        company.serve("together", "supervisor,interaction,door,planner,executor,tools"),
    ];
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let ids: Vec<JobId> = (0..jobs).map(|n| JobId::new(format!("chaos{n}")).unwrap()).collect();
    submit_all(&client, &ids, &effects.uri()).await;

    let approving = tokio::spawn(approve_all(broker.clone()));
    // The kills are spread over the expected number of records.
    let each = ids.len() * RECORDS_MIN / (4 * rounds + 2);
    let mut stored = records(&broker).await.unwrap_or_default();
    for round in 0..rounds {
        for victim in 0..=processes.len() {
            stored += each as u64;
            until("what is stored", async || records(&broker).await.is_some_and(|n| n >= stored))
                .await;
            kill(&mut company, &mut processes, victim).await;
        }
        eprintln!("round {round}: everything was killed once");
        // From then on there are moments without any supervisor.
        if round == 0
            && let Some(mut together) = processes.pop()
        {
            together.kill9();
        }
    }
    let ended = all_ended(&broker, &ids).await;
    approving.abort();
    let Checked { unknown, done } = check_logs(&broker, &ended).await;
    assert!(done > 0, "no work was carried out without the queue");
    check_effects(&broker, &effects, &ids).await;
    let report = load::proved(&broker).await;
    assert_eq!(report.standing(JobCondition::Ended), ids.len() as u64, "{report:?}");
    eprintln!(
        "{} jobs, {unknown} of them with a call caught in the middle; {done} units of work without the queue",
        ids.len()
    );
}

async fn kill(company: &mut Company, processes: &mut [Process], victim: usize) {
    match processes.get_mut(victim) {
        Some(process) => process.restart(company),
        None => company.nats.restart().await,
    }
}

/// Returns the number of records in all logs; `None` while the broker is away.
async fn records(broker: &Broker) -> Option<u64> {
    let mut all = 0;
    for shard in broker.log.subjects().all_shards() {
        all += broker.log.load(shard).await.ok()?.records;
    }
    Some(all)
}

async fn submit_all(client: &Client, ids: &[JobId], url: &str) {
    let submitted = stream::iter(ids).for_each_concurrent(32, |id| async move {
        let agent = AgentChoice::Named(AgentName::new("unattended").unwrap());
        let submit = Submit {
            id: Some(id.clone()),
            agent: Some(agent),
            ..Submit::goal(format!("chaos {id} {url}"))
        };
        client.submit(submit).await.unwrap();
    });
    submitted.await;
}

/// Approves every question, with retries after errors, until the task is aborted.
pub(crate) async fn approve_all(broker: Broker) {
    let client = Client::new(&broker);
    let mut tries = tokio::time::interval(Duration::from_millis(100));
    loop {
        tries.tick().await;
        let Ok(changes) = broker.kv.watch(Bucket::Inbox).await else { continue };
        let mut changes = changes.ready_chunks(500);
        while let Some(changed) = changes.next().await {
            let is_whole = changed.iter().all(Result::is_ok);
            if !is_whole || approve_open(&client).await.is_err() {
                break;
            }
        }
    }
}

async fn approve_open(client: &Client) -> Result<(), Failure> {
    let inbox = client.call(&proto::door::Inbox { limit: Some(500), ..Default::default() }).await?;
    let mut all = Ok(());
    for entry in inbox.questions {
        let QuestionKind::ToolApproval { digest, .. } = entry.question.kind else { continue };
        let answer = GiveAnswer {
            job: entry.job,
            ask: entry.question.id,
            decision: Verdict::Approve,
            value: None,
            text: None,
            digest: Some(digest),
            remember: None,
            by: Some("the tester".into()),
            four_eyes: false,
        };
        match client.call(&answer).await {
            Err(failure) if failure.code != Code::AlreadyAnswered => all = Err(failure),
            Ok(_) | Err(_) => {}
        }
    }
    all
}

/// Waits until all jobs have ended, and returns their folds.
async fn all_ended(broker: &Broker, ids: &[JobId]) -> Vec<machine::Job> {
    let folds = stream::iter(ids).map(|id| {
        wait::log(broker, id, |entries| {
            Some(machine::replay(id, entries)).filter(machine::Job::has_ended)
        })
    });
    folds.buffer_unordered(64).collect().await
}

/// Counts over the logs of all jobs.
#[derive(Default)]
struct Checked {
    /// Number of jobs that failed because a call was interrupted.
    unknown: usize,
    /// Number of units of work that were carried out without the queue.
    done: usize,
}

/// Checks that every job has completed, or failed because a call was interrupted. Checks also that
/// no attempt was sent twice, and that all attempts of a unit of work carry the same key.
async fn check_logs(broker: &Broker, jobs: &[machine::Job]) -> Checked {
    let mut checked = Checked::default();
    for job in jobs {
        match job.outcome().unwrap() {
            Outcome::Completed { .. } => {}
            Outcome::Failed { message, .. } if message.contains("not known whether") => {
                checked.unknown += 1
            }
            other @ (Outcome::Failed { .. } | Outcome::Canceled { .. }) => {
                panic!("{} ended as {other:?}", job.id())
            }
        }
        let entries = broker.log.read(job.id(), Seq(0)).await.unwrap();
        let done = entries.iter().filter_map(|entry| entry.decision()?.into_done());
        checked.done += done.map(|done| done.units().count()).sum::<usize>();
        let (calls, finishes) = calls(&entries);
        let mut keys = BTreeMap::new();
        for call in calls {
            let key = keys.entry(call.work.clone()).or_insert_with(|| call.idempotency_key.clone());
            assert_eq!(*key, call.idempotency_key, "the key of {} changed", call.work);
        }
        assert_eq!(finishes, 1, "{} has one end", job.id());
    }
    checked
}

/// Returns the calls of a log and the number of its ends. Fails if an attempt was sent twice.
pub(super) fn calls(entries: &[Entry]) -> (Vec<CallWork>, usize) {
    let (mut sent, mut calls, mut finishes) = (BTreeSet::new(), Vec::new(), 0);
    let decisions = entries.iter().filter_map(Entry::decision);
    for command in decisions.flat_map(Decision::into_commands) {
        match command {
            Decision::Call(call) => {
                let is_first = sent.insert((call.work.clone(), call.attempt));
                assert!(is_first, "{} was sent twice", call.work);
                calls.push(call);
            }
            Decision::Finish(_) => finishes += 1,
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Done(_) => {}
        }
    }
    (calls, finishes)
}

/// Checks that each job created one task, and that no request was posted twice.
async fn check_effects(broker: &Broker, effects: &WebServer, ids: &[JobId]) {
    let mut tasks: BTreeMap<String, usize> = BTreeMap::new();
    for stored in broker.kv.list(Bucket::Tasks, "task").await.unwrap() {
        let task: Value = serde_json::from_slice(&stored.value).unwrap();
        *tasks.entry(task["title"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    for id in ids {
        assert_eq!(tasks.get(&format!("chaos {id}")), Some(&1), "tasks of {id}");
    }
    let mut posts: BTreeMap<String, usize> = BTreeMap::new();
    for request in effects.received_requests().await.unwrap() {
        let key = request.headers.get("idempotency-key").unwrap().to_str().unwrap().to_owned();
        *posts.entry(key).or_default() += 1;
    }
    let twice: Vec<_> = posts.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "posted twice: {twice:?}");
}
