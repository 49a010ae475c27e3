//! Tests of the agents in the bucket: storing, reading, overriding and deleting them.

use agents::catalogue::Catalogue;
use broker::{Broker, kv::Bucket, testing::wait::until};
use bytes::Bytes;
use client::Client;
use door::agents::Agents;
use proto::{
    door::Verb,
    error::Code,
    fact::Fact,
    id::{AgentName, JobId, Seq},
    record::Known,
};
use serde_json::{Value, json};

use super::hall::{Hall, Setup};

async fn hall() -> Hall {
    let setup = Setup { presets: true, ..Setup::default() };
    Hall::with(broker::memory::MemoryOptions::default(), setup).await
}

async fn put(hall: &Hall, name: &str, text: &str) -> Value {
    hall.ask(Verb::SetAgent, json!({"name": name, "text": text}).to_string()).await.unwrap()
}

/// Returns the agent with which a job was submitted.
async fn carried(broker: &Broker, job: &str) -> proto::agent::Agent {
    let entries = broker.log.read(&JobId::new(job).unwrap(), Seq(0)).await.unwrap();
    let known = entries[0].record.as_ref().unwrap().known().unwrap();
    let Known::Fact(fact) = known else { panic!("no fact") };
    let Fact::Submitted(submitted) = *fact else { panic!("no submission") };
    submitted.agent
}

async fn submit(hall: &Hall, job: &str, agent: &str) -> Result<Value, proto::error::Failure> {
    let body = json!({"goal": "g", "id": job, "agent": agent}).to_string();
    hall.ask(Verb::Submit, body).await
}

#[tokio::test]
async fn what_comes_with_the_program_is_there_and_can_be_looked_at() {
    let hall = hall().await;
    let all = hall.ask(Verb::Agents, "").await.unwrap();
    let names: Vec<_> = all["agents"].as_array().unwrap().iter().map(|a| &a["name"]).collect();
    for name in [
        "default",
        "fastgpt",
        "loop",
        "loop-phased",
        "manus",
        "plan-then-execute",
        "react",
        "inline-tools",
    ] {
        assert!(names.contains(&&json!(name)), "{name}");
    }
    assert!(all["agents"][0].get("text").is_none());
    let one = hall.ask(Verb::Agents, r#"{"name":"loop-phased"}"#).await.unwrap();
    let one = &one["agents"][0];
    assert_eq!((&one["layer"], &one["extends"]), (&json!("preset"), &json!("loop")));
    assert_eq!(one["policies"]["plan"]["protocol"], "phased");
    assert!(one["text"].as_str().unwrap().contains("extends: loop"));
}

#[tokio::test]
async fn an_agent_of_the_bucket_wins_and_a_job_keeps_what_it_was_submitted_with() {
    let hall = hall().await;
    submit(&hall, "before", "react").await.unwrap();
    put(&hall, "react", "extends: react\nstep: {max_turns: 3}\n").await;
    submit(&hall, "after", "react").await.unwrap();
    assert_eq!(carried(&hall.broker, "before").await.step.max_turns, 20);
    assert_eq!(carried(&hall.broker, "after").await.step.max_turns, 3);
    let one = hall.ask(Verb::Agents, r#"{"name":"react"}"#).await.unwrap();
    assert_eq!(one["agents"][0]["layer"], "bucket");
    hall.ask(Verb::DropAgent, r#"{"name":"react"}"#).await.unwrap();
    submit(&hall, "again", "react").await.unwrap();
    assert_eq!(carried(&hall.broker, "again").await.step.max_turns, 20);
}

#[tokio::test]
async fn another_process_follows_the_bucket() {
    let hall = hall().await;
    let agents = Agents::open(&hall.broker, Catalogue::presets()).await.unwrap();
    put(&hall, "mine", "extends: react\n").await;
    let late = Agents::open(&hall.broker, Catalogue::presets()).await.unwrap();
    let mine = AgentName::new("mine").unwrap();
    for agents in [&agents, &late] {
        until("the agent", async || agents.knows(&mine)).await;
    }
    hall.ask(Verb::DropAgent, r#"{"name":"mine"}"#).await.unwrap();
    for agents in [&agents, &late] {
        until("no such agent", async || !agents.knows(&mine)).await;
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_with_all_that_is_wrong() {
    let hall = hall().await;
    let text = "extends: fastgtp\nstep: {retires: {}}\n";
    let body = json!({"name": "mine", "text": text}).to_string();
    let failure = hall.ask(Verb::SetAgent, body).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("text")));
    assert_eq!(
        failure.message,
        "bucket:mine:1:10: extends: there is no agent fastgtp; did you mean fastgpt?\nbucket:mine:2:8: step.retires: there is no such field; did you mean retry?"
    );
    let (code, field) = hall.refused(Verb::Agents, r#"{"name":"mine"}"#).await;
    assert_eq!((code, field.as_str()), (Code::UnknownAgent, "name"));
}

#[tokio::test]
async fn what_others_extend_can_neither_be_taken_away_nor_broken() {
    let hall = hall().await;
    put(&hall, "parent", "confirm: false\nstep: {exec: direct_tool}\n").await;
    put(&hall, "child", "extends: parent\nplan: {protocol: action_steps}\n").await;
    let failure = hall.ask(Verb::DropAgent, r#"{"name":"parent"}"#).await.unwrap_err();
    assert!(
        failure.message.starts_with("child would become invalid: bucket:child:1:"),
        "{failure}"
    );
    let body = json!({"name": "parent", "text": "step: {exec: master_loop}"}).to_string();
    let failure = hall.ask(Verb::SetAgent, body).await.unwrap_err();
    assert!(failure.message.contains("child would become invalid"), "{failure}");
    let (code, _) = hall.refused(Verb::DropAgent, r#"{"name":"react"}"#).await;
    assert_eq!(code, Code::UnknownAgent, "a preset is no agent of the bucket");
}

/// Waits until the door has read the bucket, by means of an agent that is stored afterwards.
async fn until_read(hall: &Hall, n: usize) {
    let name = format!("mark-{n}");
    let mark = Bytes::from_static(b"about: a mark");
    hall.broker.kv.put(Bucket::Agents, &name, mark).await.unwrap();
    while hall.ask(Verb::Agents, json!({"name": name}).to_string()).await.is_err() {}
}

async fn entry(hall: &Hall, name: &str) -> Value {
    let found = hall.ask(Verb::Agents, json!({"name": name}).to_string()).await.unwrap();
    found["agents"][0].clone()
}

/// Values that are no agents, and agents that are truncated or malformed.
const NO_AGENTS: [&[u8]; 14] = [
    b"",
    b" \n",
    b"null",
    b"~",
    b"# only a comment\n",
    b"true",
    b"7",
    b"\"react\"",
    b"[]",
    br#"{"type":"io.nats.jetstream.api.v1.account_info_response","memory":0}"#,
    br#"{"stream":"cb-shard-0","seq":7}"#,
    b"confirm: false\n\xff\n",
    b"confrim: true\n",
    b"confirm: false\nbudget: {steps: many}\n",
];

#[tokio::test]
async fn what_is_no_agent_hides_none_and_is_none() {
    let hall = hall().await;
    put(&hall, "child", "extends: react\nabout: a child\n").await;
    let before = [entry(&hall, "react").await, entry(&hall, "child").await];
    for (n, value) in NO_AGENTS.into_iter().enumerate() {
        for name in ["react", "nowhere"] {
            hall.broker.kv.put(Bucket::Agents, name, Bytes::from_static(value)).await.unwrap();
        }
        until_read(&hall, n).await;
        let said = String::from_utf8_lossy(value).into_owned();
        // The preset applies, also to agents that extend it.
        let react = entry(&hall, "react").await;
        assert_eq!(react["policies"], before[0]["policies"], "{said}");
        assert_eq!(
            (&react["layer"], react["ignored"].is_array()),
            (&json!("preset"), true),
            "{said}"
        );
        assert_eq!(entry(&hall, "child").await, before[1], "{said}");
        submit(&hall, &format!("j{n}"), "child").await.unwrap();
        // Another name has no agent, and the error says what the bucket holds instead.
        let failure = submit(&hall, "never", "nowhere").await.unwrap_err();
        assert_eq!((failure.code, failure.field.as_deref()), (Code::UnknownAgent, Some("agent")));
        assert!(failure.message.contains("there is no agent \"nowhere\" here; the bucket holds"));
        let nowhere = entry(&hall, "nowhere").await;
        assert_eq!((&nowhere["layer"], nowhere["mistakes"].is_array()), (&json!("bucket"), true));
        let inherits = json!({"name": "heir", "text": "extends: nowhere"}).to_string();
        let failure = hall.ask(Verb::SetAgent, inherits).await.unwrap_err();
        assert!(
            failure.message.contains("there is no agent nowhere; the bucket holds"),
            "{failure}"
        );
        let hands = json!({"name": "boss", "text": "agents: [nowhere]"}).to_string();
        let failure = hall.ask(Verb::SetAgent, hands).await.unwrap_err();
        assert!(failure.message.contains("there is no agent nowhere"), "{failure}");
    }
    // Another process that starts now reads the same.
    let agents = Agents::open(&hall.broker, Catalogue::presets()).await.unwrap();
    let knows = |name: &str| agents.knows(&AgentName::new(name).unwrap());
    assert_eq!((knows("react"), knows("nowhere")), (true, false));
    // The value can be deleted, and replaced by a valid agent.
    hall.ask(Verb::DropAgent, r#"{"name":"nowhere"}"#).await.unwrap();
    put(&hall, "react", "extends: react\nstep: {max_turns: 3}\n").await;
    let react = entry(&hall, "react").await;
    assert_eq!((&react["layer"], react.get("ignored")), (&json!("bucket"), None));
}

#[tokio::test]
async fn what_is_no_agent_leaves_the_one_that_was_read_before() {
    let hall = hall().await;
    put(&hall, "careful", "extends: direct\ntools: [echo]\nbudget: {steps: 3}\n").await;
    put(&hall, "child", "extends: careful\n").await;
    let before = [entry(&hall, "careful").await, entry(&hall, "child").await];
    for (n, value) in NO_AGENTS.into_iter().enumerate() {
        let value = Bytes::from_static(value);
        hall.broker.kv.put(Bucket::Agents, "careful", value).await.unwrap();
        until_read(&hall, n).await;
        let careful = entry(&hall, "careful").await;
        assert_eq!(careful["policies"], before[0]["policies"]);
        assert_eq!(entry(&hall, "child").await, before[1]);
        let job = format!("j{n}");
        submit(&hall, &job, "careful").await.unwrap();
        let tools = carried(&hall.broker, &job).await.tools.unwrap();
        assert_eq!(tools.iter().map(|tool| tool.as_str()).collect::<Vec<_>>(), ["echo"]);
    }
    // A process that starts now has never seen the valid agent.
    let agents = Agents::open(&hall.broker, Catalogue::presets()).await.unwrap();
    assert!(!agents.knows(&AgentName::new("careful").unwrap()));
    // A process that saw its deletion does not use it either.
    hall.ask(Verb::DropAgent, r#"{"name":"child"}"#).await.unwrap();
    hall.ask(Verb::DropAgent, r#"{"name":"careful"}"#).await.unwrap();
    let failure = submit(&hall, "never", "careful").await.unwrap_err();
    assert_eq!(failure.code, Code::UnknownAgent);
}

#[tokio::test]
async fn an_agent_says_something() {
    let hall = hall().await;
    for text in ["", "# nothing\n", "null"] {
        let body = json!({"name": "mine", "text": text}).to_string();
        let failure = hall.ask(Verb::SetAgent, body).await.unwrap_err();
        assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("text")));
        assert!(failure.message.contains("bucket:mine:1:1: is empty"), "{failure}");
    }
    put(&hall, "mine", "{}").await;
}

/// An agent that parses but is invalid is refused by name. The preset that it overrides is never
/// used instead.
#[tokio::test]
async fn an_agent_that_cannot_be_used_is_never_replaced_by_what_it_hides() {
    let hall = hall().await;
    let bad = Bytes::from_static(b"extends: nowhere\nconfirm: false\n");
    hall.broker.kv.put(Bucket::Agents, "react", bad).await.unwrap();
    until_read(&hall, 0).await;
    let failure = submit(&hall, "never", "react").await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("agent")));
    assert!(failure.message.contains("there is no agent nowhere"), "{failure}");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_named_with_the_one_that_was_meant() {
    let hall = hall().await;
    let failure = submit(&hall, "j", "fastgtp").await.unwrap_err();
    assert_eq!(failure.code, Code::UnknownAgent);
    assert_eq!(failure.message, "there is no agent \"fastgtp\" here; did you mean fastgpt?");
}

#[tokio::test]
async fn a_sub_agent_that_is_called_like_a_registered_tool_is_refused_with_its_place() {
    let hall = hall().await;
    put(&hall, "create_task", "extends: direct\n").await;
    put(&hall, "early", "extends: direct\nagents: [create_task]\n").await;
    submit(&hall, "before", "early").await.unwrap();
    super::directing::announce(&hall).await;

    let text = "extends: direct\nagents:\n  - react\n  - create_task\n";
    let body = json!({"name": "late", "text": text}).to_string();
    let failure = hall.ask(Verb::SetAgent, body).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("text")));
    let why = "create_task is the name of a registered tool too, and models could not tell them apart; give the agent another name, or list in `tools` those that this agent may use";
    assert_eq!(failure.message, format!("bucket:late:2:1: agents[1]: {why}"));
    put(&hall, "late", &format!("{text}tools: []\n")).await;
    submit(&hall, "told-apart", "late").await.unwrap();

    // An agent that was valid before the tool was registered, directly and as a sub-agent.
    put(&hall, "above", "extends: direct\nagents: [early]\n").await;
    for (agent, of) in [("early", "early"), ("above", "early")] {
        let failure = submit(&hall, "j", agent).await.unwrap_err();
        let at = (failure.code, failure.field.as_deref());
        assert_eq!(at, (Code::InvalidRequest, Some("agent.agents")), "{agent}");
        assert_eq!(failure.message, format!("agent.agents: of {of}: {why}"));
    }
    assert_eq!(hall.jobs().await.len(), 2, "nothing is stored of what is refused");
}

async fn revisions(hall: &Hall, body: Value) -> Value {
    hall.ask(Verb::AgentRevisions, body.to_string()).await.unwrap()
}

#[tokio::test]
async fn every_change_of_an_agent_is_a_revision_that_can_be_read_and_stored_again() {
    let hall = hall().await;
    let set = |text: &str, by: &str| json!({"name": "mine", "text": text, "by": by}).to_string();
    let first = hall.ask(Verb::SetAgent, set("about: one\n", "ann")).await.unwrap();
    let second = hall.ask(Verb::SetAgent, set("about: two\n", "bob")).await.unwrap();
    let dropped = json!({"name": "mine", "by": "eve"}).to_string();
    let dropped = hall.ask(Verb::DropAgent, dropped).await.unwrap();
    let third = hall.ask(Verb::SetAgent, set("about: three\n", "ann")).await.unwrap();

    let all = revisions(&hall, json!({"name": "mine"})).await;
    assert_eq!(all["current"], third["revision"]);
    let seen: Vec<_> = all["revisions"].as_array().unwrap().iter().collect();
    let numbers: Vec<_> = seen.iter().map(|one| &one["revision"]).collect();
    let made = [&third, &dropped, &second, &first].map(|one| &one["revision"]);
    assert_eq!(numbers, made, "newest first");
    let by: Vec<_> = seen.iter().map(|one| one["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["ann", "eve", "bob", "ann"]);
    assert_eq!(seen[1]["dropped"], true);
    assert!(seen.iter().all(|one| one.get("text").is_none() && one["time"].is_string()));
    let old = revisions(&hall, json!({"name": "mine", "revision": first["revision"]})).await;
    assert_eq!(old["revisions"][0]["text"], "about: one\n");

    let (mine, client) = (AgentName::new("mine").unwrap(), Client::new(&hall.broker));
    let to = first["revision"].as_u64().unwrap();
    let back = client.roll_back_agent(&mine, to, None).await.unwrap();
    assert!(back.revision > third["revision"].as_u64());
    assert_eq!(entry(&hall, "mine").await["text"], "about: one\n");
    let to = dropped["revision"].as_u64().unwrap();
    let refused = client.roll_back_agent(&mine, to, None).await.unwrap_err();
    assert_eq!(refused.code, Code::NotFound, "a removal has no text");

    // An agent that was never stored has no revisions, and an unknown one is an error.
    let none = revisions(&hall, json!({"name": "react"})).await;
    assert_eq!((none.get("current"), &none["revisions"]), (None, &json!([])));
    let (code, field) = hall.refused(Verb::AgentRevisions, r#"{"name":"nobody"}"#).await;
    assert_eq!((code, field.as_str()), (Code::UnknownAgent, "name"));
    let body = r#"{"name":"mine","revision":1000000}"#;
    let (code, field) = hall.refused(Verb::AgentRevisions, body).await;
    assert_eq!((code, field.as_str()), (Code::NotFound, "revision"));
}

#[tokio::test]
async fn a_change_of_what_somebody_else_changed_is_stale() {
    let hall = hall().await;
    let set = |text: &str, expected: Option<u64>| {
        json!({"name": "mine", "text": text, "expected_revision": expected}).to_string()
    };
    let first = hall.ask(Verb::SetAgent, set("about: one\n", Some(0))).await.unwrap();
    let first = first["revision"].as_u64();
    assert_eq!(entry(&hall, "mine").await["revision"].as_u64(), first);
    let second = hall.ask(Verb::SetAgent, set("about: two\n", first)).await.unwrap();
    for expected in [Some(0), first] {
        let failure = hall.ask(Verb::SetAgent, set("about: three\n", expected)).await.unwrap_err();
        let field = failure.field.as_deref();
        assert_eq!((failure.code, field), (Code::Stale, Some("expected_revision")));
    }
    let drop = json!({"name": "mine", "expected_revision": first}).to_string();
    let (code, _) = hall.refused(Verb::DropAgent, drop).await;
    assert_eq!(code, Code::Stale);
    // The repetition of a request whose reply was lost changes nothing.
    let again = hall.ask(Verb::SetAgent, set("about: two\n", first)).await.unwrap();
    assert_eq!(again["revision"], second["revision"]);
    let all = revisions(&hall, json!({"name": "mine"})).await;
    assert_eq!(all["revisions"].as_array().unwrap().len(), 2, "{all}");
}

#[tokio::test]
async fn a_check_stores_nothing_and_warns_of_a_limit_without_a_price() {
    let hall = hall().await;
    let text = "about: costly\nmodel: unheard-of\nbudget: {money: 1.0}\n";
    let check = json!({"name": "mine", "text": text, "check": true}).to_string();
    let checked = hall.ask(Verb::SetAgent, check).await.unwrap();
    assert!(checked.get("revision").is_none(), "{checked}");
    let warning = checked["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("mine has a limit on money, but the price of"), "{warning}");
    let (code, _) = hall.refused(Verb::Agents, r#"{"name":"mine"}"#).await;
    assert_eq!(code, Code::UnknownAgent);
    let wrong = json!({"name": "mine", "text": "abuot: x", "check": true}).to_string();
    let (code, field) = hall.refused(Verb::SetAgent, wrong).await;
    assert_eq!((code, field.as_str()), (Code::InvalidRequest, "text"));
}
