//! Tests of requests whose reply subject is one to which the caller may not write. The answering
//! role has wider rights, and must not use them for the caller.

use proto::{
    door::{Role, Verb},
    id::JobId,
    subject::Subjects,
};
use serde_json::{Value, json};

use super::{broker::Brokers, flow::Roles, tricks, wire::Wire};

/// The discovery requests of NATS' own tools, each with the number of instances that answer.
const DISCOVERY: [(&str, usize); 6] = [
    ("$SRV.PING", 2),
    ("$SRV.PING.callboard", 2),
    ("$SRV.INFO", 2),
    ("$SRV.INFO.callboard", 2),
    ("$SRV.STATS", 2),
    ("$SRV.STATS.callboard", 2),
];

/// A client with an inbox of its own.
struct Asker {
    wire: Wire,
    inbox: &'static str,
    asked: usize,
}

impl Asker {
    fn new(brokers: &Brokers, user: &str, inbox: &'static str) -> Self {
        Self { wire: brokers.wire(user), inbox, asked: 0 }
    }

    /// Sends a request with a reply subject of another client. The server allows it.
    fn lay(&mut self, subject: &str, target: &str) {
        let complaints = self.wire.publish(subject, Some(target), &[], "{}");
        assert_eq!(complaints, Vec::<String>::new(), "{subject} → {target}");
    }

    /// Sends a request, and waits for a number of answers.
    fn ask(&mut self, subject: &str, body: &str, answers: usize) -> Vec<Value> {
        self.asked += 1;
        let reply = format!("{}.a{}", self.inbox, self.asked);
        assert_eq!(self.wire.subscribe(&reply), Vec::<String>::new());
        let complaints = self.wire.publish(subject, Some(&reply), &[], body);
        assert_eq!(complaints, Vec::<String>::new(), "{subject}");
        let answer = |_| serde_json::from_str(&self.wire.next(&reply).payload).unwrap();
        (0..answers).map(answer).collect()
    }
}

/// Returns two jobs of one shard.
fn jobs(subjects: &Subjects) -> [JobId; 2] {
    let victim = JobId::new("victim").unwrap();
    let mut others = (0..).map(|n| JobId::new(format!("other-{n}")).unwrap());
    let shard = subjects.shard_of(&victim);
    let other = others.find(|other| subjects.shard_of(other) == shard).unwrap();
    [victim, other]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_goes_where_its_caller_may_not_write() {
    let brokers = Brokers::single();
    brokers.set_up(1);
    let _roles = Roles::of(&brokers, 1, &["supervisor", "interaction", "door"]).await;
    let subjects = Subjects::new("cb", 8).unwrap();
    let [victim, other] = jobs(&subjects);
    let shard = subjects.shard_of(&victim);
    let stream = subjects.stream(shard);
    let of = |rest: &str| format!("cb.{shard}.{victim}.{rest}");
    // The streams to which the roles may write, with subjects of them.
    let targets = [
        ("KV_cb-agents", "$KV.cb-agents.default".to_owned()),
        ("KV_cb-agents", "$KV.cb-agents.taken".to_owned()),
        ("KV_cb-workflows", "$KV.cb-workflows.react".to_owned()),
        ("KV_cb-conversations", "$KV.cb-conversations.talk".to_owned()),
        ("KV_cb-links", "$KV.cb-links.0123".to_owned()),
        ("KV_cb-inbox", format!("$KV.cb-inbox.{victim}.q1")),
        (&stream, of("in.door")),
        (&stream, of("in.people")),
        (&stream, of("do.finish.none")),
        (&stream, of("at.t")),
    ];
    let mut client = Asker::new(&brokers, "client", "_INBOX_client.shared");
    let mut watcher = Asker::new(&brokers, "watcher", "_INBOX_watcher");
    let mut operator = Asker::new(&brokers, "operator", "_INBOX_operator");
    super::flow::until(&brokers, &["crew", "ls"], |said| said.contains("interaction"));

    let (reads, changes): (Vec<_>, Vec<_>) =
        Verb::ALL.into_iter().partition(|verb| verb.spec().roles.contains(&Role::Read));
    // Answers arrive in the order of the requests: after the last one no other is outstanding.
    for asker in [&mut watcher, &mut operator] {
        for (subject, instances) in DISCOVERY {
            targets.iter().for_each(|(_, target)| asker.lay(subject, target));
            asker.ask(subject, "", instances);
        }
        for verb in reads.iter().filter(|verb| !verb.spec().streams) {
            let subject = subjects.service(verb);
            targets.iter().for_each(|(_, target)| asker.lay(&subject, target));
            asker.ask(&subject, "{}", 1);
        }
    }
    for verb in changes {
        let subject = subjects.service(verb);
        targets.iter().for_each(|(_, target)| client.lay(&subject, target));
        client.ask(&subject, "{}", 1);
    }
    // A later write into the same streams is stored after any forged one.
    let set = json!({"name": "mine", "text": "extends: direct"}).to_string();
    let set = client.ask("cb.svc.set_agent", &set, 1);
    assert!(set[0]["name"] == "mine" && set[0]["revision"].is_u64(), "{set:?}");
    let submit = |job: &JobId| {
        let agent = json!({"confirm": true});
        json!({"id": job, "goal": "g", "conversation": "talk", "agent": agent}).to_string()
    };
    let first = client.ask("cb.svc.submit", &submit(&other), 1);
    assert_eq!(first[0]["created"], true, "{first:?}");
    for (stream, target) in &targets {
        if !target.ends_with("conversations.talk") {
            let stored = tricks::stored(&mut operator.wire, stream, target);
            assert_eq!(stored, None, "somebody had a role write to {target}");
        }
    }
    // No other request is affected by the attempt.
    let second = client.ask("cb.svc.submit", &submit(&victim), 1);
    assert_eq!(second[0]["created"], true, "{second:?}");
    let default = watcher.ask("cb.svc.agents", r#"{"name":"default"}"#, 1);
    let default = &default[0]["agents"][0];
    assert_eq!((&default["layer"], default.get("mistakes")), (&json!("preset"), None));
    super::flow::nothing_was_denied(&brokers);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_user_who_may_ask_is_answered_and_what_is_said_is_complete() {
    let brokers = Brokers::single();
    brokers.set_up(1);
    let _roles = Roles::of(&brokers, 1, &["supervisor", "interaction", "door"]).await;
    super::flow::until(&brokers, &["crew", "ls"], |said| said.contains("interaction"));
    let mut watcher = Asker::new(&brokers, "watcher", "_INBOX_watcher");
    let pings = watcher.ask("$SRV.PING", "", 2);
    let mut verbs = Vec::new();
    for ping in &pings {
        assert_eq!(ping["type"], "io.nats.micro.v1.ping_response");
        let id = ping["id"].as_str().unwrap();
        let info = watcher.ask(&format!("$SRV.INFO.callboard.{id}"), "", 1);
        assert_eq!((info[0]["id"].as_str(), &info[0]["name"]), (Some(id), &json!("callboard")));
        for endpoint in info[0]["endpoints"].as_array().unwrap() {
            verbs.push(endpoint["name"].as_str().unwrap().to_owned());
        }
        let stats = watcher.ask(&format!("$SRV.STATS.callboard.{id}"), "", 1);
        assert_eq!(stats[0]["type"], "io.nats.micro.v1.stats_response");
    }
    verbs.sort();
    let known: Vec<&str> =
        "about agent_revisions agents answer batch count crew dead download drop_agent drop_workflow \
         get graph inbox link list preview redeem set_agent set_workflow signal submit tools unlink upload usage \
         watch workflows"
            .split_whitespace()
            .collect();
    assert_eq!(verbs, known);
    let mut operator = Asker::new(&brokers, "operator", "_INBOX_operator");
    assert_eq!(operator.ask("$SRV.PING", "", 2).len(), 2);
    assert!(operator.ask("cb.svc.crew", "", 1)[0]["workers"].is_array());
    super::flow::nothing_was_denied(&brokers);
}
