//! Processes come and go under load: shards balance, nothing is lost, and nothing is run twice that
//! need not be. All waits are those of production here, so that none of them can be what helps.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use callboard_tests::{
    company::{Company, Process},
    load,
};
use client::Client;
use proto::wire::Presence;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::chaos::{approve_all, wait_for_door};

/// Each job fetches, thinks with two calls at a time while it sleeps, and posts once.
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
    when: { system: 'You are a planner', last: 'grace' }
    reply:
      json:
        title: "grace"
        steps:
          - { id: short, description: "a short nap", tool: sleep, args: { ms: 1500 } }
          - { id: long, description: "a long nap", tool: sleep, args: { ms: 5000 } }
"#;

/// Jobs that are submitted at each stage.
const WAVE: usize = 40;

/// What the project promises.
const BALANCED_WITHIN: Duration = Duration::from_secs(5);

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
    let effects = MockServer::start().await;
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_millis(200));
    Mock::given(matchers::any()).respond_with(slow).mount(&effects).await;
    let supervisor = |n| company.serve(&format!("supervisor{n}"), "supervisor,interaction");
    let worker = |n| company.serve(&format!("worker{n}"), "planner,executor,tools");

    let (mut first, mut leaving) = (supervisor(1), worker(1));
    let broker = load::connect(&company, 8, 1).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let approving = tokio::spawn(approve_all(client.clone()));
    let mut ids = Vec::new();
    let wave = async |ids: &mut Vec<_>, name: &str| {
        let new = load::ids(name, WAVE);
        load::submit(&client, &new, |id| format!("scale {id} {}", effects.uri())).await;
        ids.extend(new);
    };

    wave(&mut ids, "alone").await;
    let mut staying = vec![supervisor(2), worker(2)];
    let joined = balanced(&client, &[&first, &staying[0]]).await;
    eprintln!("a second supervisor has its half after {joined:?}");
    wave(&mut ids, "two").await;
    staying.extend([worker(3), worker(4)]);
    for process in staying.iter().skip(1).chain([&leaving]) {
        member(&client, process, |member| !member.pools.is_empty()).await;
    }
    wave(&mut ids, "four").await;

    wave(&mut ids, "leave").await;
    leaving.signal("TERM");
    first.signal("TERM");
    let left = balanced(&client, &[&staying[0]]).await;
    eprintln!("the other supervisor has all shards after {left:?}");
    let probes = load::one_a_shard(broker.log.subjects(), "probe");
    load::submit(&client, &probes, |id| format!("scale {id} {}", effects.uri())).await;
    eprintln!("every shard decides after another {:?}", load::decided(&broker, &probes).await);
    ids.extend(probes);
    for (process, what) in [(&mut first, "supervisor"), (&mut leaving, "worker")] {
        let (code, after) = exit(process).await;
        eprintln!("the {what} drained and ended after at most {after:?} more");
        assert_eq!(code, Some(0), "{}", process.logged());
    }

    let ended = load::ended(&broker, &ids, Duration::from_secs(60)).await;
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

/// Every job had four effects, each once: nobody was killed, so nothing had to be done again.
async fn assert_once_each(effects: &MockServer, jobs: usize) {
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

/// Waits until these supervisors, and nobody else, have all shards among them in equal parts.
async fn balanced(client: &Client, supervisors: &[&Process]) -> Duration {
    let began = Instant::now();
    let (mut shares, each) = (Vec::new(), 8 / supervisors.len());
    // A question that reaches a door while it closes may be lost: then it is asked again.
    let client = client.clone().with_timeout(Duration::from_millis(500));
    while began.elapsed() < BALANCED_WITHIN {
        if let Ok(crew) = client.crew().await {
            let holders = crew.workers.iter().filter(|member| !member.shards.is_empty());
            shares = holders.map(|member| (member.pid, member.shards.clone())).collect();
            let of = |pid| shares.iter().find(|(holder, _)| *holder == pid);
            let fair = |process: &&&Process| of(process.id()).is_some_and(|s| s.1.len() == each);
            let all: std::collections::BTreeSet<_> = shares.iter().flat_map(|s| &s.1).collect();
            if shares.len() == supervisors.len()
                && supervisors.iter().filter(fair).count() == supervisors.len()
                && all.len() == 8
            {
                return began.elapsed();
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not balanced within {BALANCED_WITHIN:?}: {shares:?}");
}

/// Waits until a process says something of itself.
async fn member(client: &Client, process: &Process, says: impl Fn(&Presence) -> bool) -> Presence {
    let began = Instant::now();
    let client = client.clone().with_timeout(Duration::from_millis(500));
    loop {
        let crew = client.crew().await.map(|crew| crew.workers).unwrap_or_default();
        if let Some(member) = crew.into_iter().find(|m| m.pid == process.id() && says(m)) {
            return member;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{}", process.logged());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits for a process that was told to end.
async fn exit(process: &mut Process) -> (Option<i32>, Duration) {
    let began = Instant::now();
    while process.is_running() {
        assert!(began.elapsed() < Duration::from_secs(40), "{}", process.logged());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (process.wait(), began.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_work_has_its_grace_and_what_takes_longer_goes_to_another_worker() {
    let mut company = Company::start(SCRIPT).await;
    company.set("WORKERS__DRAIN_MS", "3000");
    let _supervisor = company.serve("supervisor", "supervisor,interaction");
    let worker = |n| company.serve(&format!("worker{n}"), "planner,executor,tools");
    let mut leaving = worker(1);
    let broker = load::connect(&company, 8, 1).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let ids = load::ids("grace", 1);
    load::submit(&client, &ids, |_| "grace".to_owned()).await;
    let both_naps =
        |member: &Presence| member.pools.iter().map(|pool| pool.in_flight).sum::<u32>() == 2;
    let patient = member(&client, &leaving, both_naps).await;
    let mut hasty = worker(2);
    member(&client, &hasty, |_| true).await;

    leaving.signal("TERM");
    let (code, after) = exit(&mut leaving).await;
    eprintln!("a worker with 3 s to drain and a nap of 5 s in hand ended after {after:?}");
    assert_eq!(code, Some(0), "{}", leaving.logged());
    assert!(after < Duration::from_secs(3 + 2 + 3), "{after:?}");
    let took =
        member(&client, &hasty, |member| member.pools.iter().any(|p| p.in_flight == 1)).await;

    // Told twice, it ends at once, and the nap goes to yet another one.
    let _last = worker(3);
    hasty.signal("TERM");
    member(&client, &hasty, |member| member.draining).await;
    hasty.signal("TERM");
    let (code, after) = exit(&mut hasty).await;
    eprintln!("a worker that was told twice ended after {after:?}");
    assert_eq!((code, after < Duration::from_secs(2)), (Some(130), true));

    let ended = load::ended(&broker, &ids, Duration::from_secs(40)).await;
    assert_eq!(load::unclean(&ended), Vec::<String>::new());
    let checked = &ended[&ids[0]];
    // Nobody's attempt was used up: what was not finished is the same attempt in other hands.
    assert_eq!((checked.commands, checked.results, checked.ignored), (3, 3, 0));
    let short = "the plan and the short nap are the first worker's";
    assert!(checked.workers.contains(patient.worker.as_str()), "{short}: {checked:?}");
    assert!(!checked.workers.contains(took.worker.as_str()), "{checked:?}");
    assert_eq!(checked.workers.len(), 2, "{checked:?}");
    load::proved(&broker).await;
}
