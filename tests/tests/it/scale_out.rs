//! A test in which processes join and leave under load: shards balance, no job is lost, and no work
//! is repeated unnecessarily. All timeouts are those of production, so that none of them can hide a
//! defect. `make bench` measures how soon shards balance.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker::testing::wait::eventually;
use callboard_tests::{
    company::{Company, Process},
    gate::Gate,
    load,
    wait::{member, wait_for_door},
    web::WebServer,
};
use client::Client;
use proto::wire::Presence;
use wiremock::{Mock, ResponseTemplate, matchers};

use super::chaos::approve_all;

/// Each job fetches, takes model turns with two concurrent calls, and posts once.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', last: 'scale (?<id>\w+) (?<url>\S+)' }
    reply:
      json:
        title: "scale {{ captures.id }}"
        steps:
          - { id: fetch, description: "fetch", tool: http_get, args: { url: "{{ captures.url }}/{{ captures.id }}/fetch" } }
          - { id: think, description: "think of {{ captures.url }}/{{ captures.id }}", depends_on: [fetch] }
          - { id: sleep, description: "sleep", depends_on: [fetch], tool: sleep, args: { ms: 300 } }
          - id: post
            description: "post"
            depends_on: [think, sleep]
            tool: http_post
            args: { url: "{{ captures.url }}/{{ captures.id }}/post", json: {} }

  - name: first turn
    when: { offers: finish, turn: 1, last: 'think of (?<url>\S+)' }
    reply:
      calls:
        - { tool: http_get, args: { url: "{{ captures.url }}/left" } }
        - { tool: http_get, args: { url: "{{ captures.url }}/right" } }

  - name: second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought" } } ] }

  - name: grace
    when: { system: 'You are a planner', last: 'grace (?<short>\S+) (?<long>\S+)' }
    reply:
      json:
        title: "grace"
        steps:
          - { id: short, description: "short work", tool: http_get, args: { url: "{{ captures.short }}" } }
          - { id: long, description: "long work", tool: http_get, args: { url: "{{ captures.long }}" } }
"#;

/// The number of jobs that are submitted at each stage.
const WAVE: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn processes_come_and_go_under_load_and_nothing_is_lost_or_run_twice() {
    let mut company = Company::start(SCRIPT).await;
    for (setting, value) in [
        ("TOOLS__HTTP__ALLOW_PRIVATE", "true"),
        ("NATS__ACK_WAIT_MS", "30000"),
        ("NATS__FACTS_ACK_WAIT_MS", "30000"),
        ("NATS__PIN_TIMEOUT_MS", "2000"),
        ("WORKERS__DELIVERIES_MAX", "5"),
    ] {
        company.set(setting, value);
    }
    let effects = WebServer::start().await;
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_millis(200));
    Mock::given(matchers::any()).respond_with(slow).mount(&effects).await;
    let supervisor = |n| company.serve(&format!("supervisor{n}"), "supervisor,interaction,door");
    let worker = |n| company.serve(&format!("worker{n}"), "planner,executor,tools");

    let (mut first, mut leaving) = (supervisor(1), worker(1));
    let broker = load::connect(&company, 8, 1).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let approving = tokio::spawn(approve_all(broker.clone()));
    let mut ids = Vec::new();
    let wave = async |ids: &mut Vec<_>, name: &str| {
        let new = load::ids(name, WAVE);
        load::submit(&client, &new, |id| format!("scale {id} {}", effects.uri())).await;
        ids.extend(new);
    };

    wave(&mut ids, "alone").await;
    let mut staying = vec![supervisor(2), worker(2)];
    balanced(&client, &[&first, &staying[0]]).await;
    wave(&mut ids, "two").await;
    staying.extend([worker(3), worker(4)]);
    for process in staying.iter().skip(1).chain([&leaving]) {
        member(&client, process, |member| !member.pools.is_empty()).await;
    }
    wave(&mut ids, "four").await;

    wave(&mut ids, "leave").await;
    leaving.signal("TERM");
    first.signal("TERM");
    balanced(&client, &[&staying[0]]).await;
    let probes = load::one_a_shard(broker.log.subjects(), "probe");
    load::submit(&client, &probes, |id| format!("scale {id} {}", effects.uri())).await;
    load::decided(&broker, &probes).await;
    ids.extend(probes);
    for process in [&mut first, &mut leaving] {
        assert_eq!(process.wait(), Some(0), "{}", process.logged());
    }

    let ended = load::ended(&broker, &ids).await;
    approving.abort();
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    let workers = ended.values().flat_map(|checked| &checked.workers).collect::<Vec<_>>();
    let by: BTreeMap<_, _> = workers.iter().map(|by| (*by, share(&workers, by))).collect();
    eprintln!("jobs that each worker had a part in: {by:?}");
    assert_eq!(by.len(), 4, "every worker worked");
    assert_once_each(&effects, ids.len()).await;
    load::proved(&broker).await;
}

fn share(workers: &[&String], by: &String) -> usize {
    workers.iter().filter(|worker| **worker == by).count()
}

/// Checks that every job had four effects, each once. No process was killed, so no work may be
/// repeated.
async fn assert_once_each(effects: &WebServer, jobs: usize) {
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for request in effects.received_requests().await.unwrap() {
        *runs.entry(request.url.path().to_owned()).or_default() += 1;
    }
    runs.retain(|path, times| {
        assert_eq!(*times, 1, "runs of {path}");
        true
    });
    assert_eq!(runs.len(), jobs * 4, "effects");
}

/// Waits until exactly these supervisors own all shards, in equal parts.
async fn balanced(client: &Client, supervisors: &[&Process]) {
    let each = 8 / supervisors.len();
    // A request to a closing door may be lost, and is then repeated.
    let client = client.clone().with_timeout(Duration::from_secs(5));
    let fair = eventually("shards in equal parts", async || {
        let crew = client.crew().await.map(|crew| crew.workers).unwrap_or_default();
        let holders = crew.iter().filter(|member| !member.shards.is_empty());
        let shares: Vec<_> = holders.map(|member| (member.pid, member.shards.clone())).collect();
        let of = |pid| shares.iter().find(|(holder, _)| *holder == pid);
        let fair = |process: &&Process| of(process.id()).is_some_and(|s| s.1.len() == each);
        let all: BTreeSet<_> = shares.iter().flat_map(|s| &s.1).collect();
        let is_fair =
            shares.len() == supervisors.len() && supervisors.iter().all(fair) && all.len() == 8;
        if is_fair { Ok(()) } else { Err(shares) }
    });
    fair.await;
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_work_has_its_grace_and_what_takes_longer_goes_to_another_worker() {
    let mut company = Company::start(SCRIPT).await;
    company.set("WORKERS__DRAIN_MS", "5000");
    company.set("TOOLS__HTTP__ALLOW_PRIVATE", "true");
    company.set("TOOLS__HTTP__TIMEOUT_MS", "600000");
    let (short, long) = (Gate::closed().await, Gate::closed().await);
    let _supervisor = company.serve("supervisor", "supervisor,interaction,door");
    let worker = |n| company.serve(&format!("worker{n}"), "planner,executor,tools");
    let mut leaving = worker(1);
    let broker = load::connect(&company, 8, 1).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let ids = load::ids("grace", 1);
    load::submit(&client, &ids, |_| format!("grace {} {}", short.url(), long.url())).await;
    let both = |member: &Presence| member.pools.iter().map(|pool| pool.in_flight).sum::<u32>() == 2;
    let one = |member: &Presence| member.pools.iter().any(|pool| pool.in_flight == 1);
    let patient = member(&client, &leaving, both).await;
    let mut hasty = worker(2);
    member(&client, &hasty, |_| true).await;

    // The short call ends before the drain deadline, and the long one does not.
    leaving.signal("TERM");
    member(&client, &leaving, |member| member.draining).await;
    short.open();
    assert_eq!(leaving.wait(), Some(0), "{}", leaving.logged());
    let took = member(&client, &hasty, one).await;

    // After a second signal the process does not drain, and another worker gets the call.
    let last = worker(3);
    hasty.signal("TERM");
    member(&client, &hasty, |member| member.draining).await;
    hasty.signal("TERM");
    assert_eq!(hasty.wait(), Some(130), "{}", hasty.logged());
    member(&client, &last, one).await;
    long.open();

    let ended = load::ended(&broker, &ids).await;
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    let checked = &ended[&ids[0]];
    // No attempt was used up: a redelivery is the same attempt at another worker.
    assert_eq!((checked.commands, checked.results, checked.ignored), (3, 3, 0));
    let by = "the plan and the short work are the first worker's";
    assert!(checked.workers.contains(patient.worker.as_str()), "{by}: {checked:?}");
    assert!(!checked.workers.contains(took.worker.as_str()), "{checked:?}");
    assert_eq!(checked.workers.len(), 2, "{checked:?}");
    load::proved(&broker).await;
}
