//! Tests of values that the server is made to write into the bucket of agents: a worker sends a
//! request with the bucket as the reply subject.

use std::fs;

use serde_json::{Value, json};

use super::{
    broker::Brokers,
    flow::{Roles, ask, until},
    tricks::until_stored,
    wire::Wire,
};

const CAREFUL: &str =
    "extends: unattended\nabout: careful\ntools: [read_attachment]\nbudget: {steps: 3}\n";
const CHILD: &str = "extends: careful\nabout: a child\n";

/// Makes the server write a value under a name, and waits until it is stored.
fn forge(tools: &mut Wire, operator: &mut Wire, how: (&str, &str), agent: &str) {
    let target = format!("$KV.cb-agents.{agent}");
    let (subject, body) = how;
    let complaints = tools.publish(subject, Some(&target), &[], body);
    // If the server begins to check reply subjects, this test has served its purpose.
    assert_eq!(complaints, Vec::<String>::new());
    until_stored(operator, "KV_cb-agents", &target);
}

/// A read of a missing record, whose reply has only a status.
const NOTHING: (&str, &str) =
    ("$JS.API.DIRECT.GET.cb-shard-6", r#"{"last_by_subj":"cb.6.nobody.in.turn"}"#);
/// A request whose reply is plain JSON.
const ACCOUNT: (&str, &str) = ("$JS.API.INFO", "");

fn shown(brokers: &Brokers, agent: &str) -> Value {
    let said = ask(brokers, &["-o", "json", "agents", "show", agent]).unwrap();
    serde_json::from_str(&said).unwrap()
}

/// Waits until the front door has read the bucket's last change: it reports why it ignores a value.
fn until_left_out(brokers: &Brokers, agents: &[&str]) -> Value {
    let said = until(brokers, &["-o", "json", "agents", "ls"], |said| {
        let all: Value = serde_json::from_str(said).unwrap();
        let is_left_out = |agent: &&str| {
            let mut entries = all["agents"].as_array().unwrap().iter();
            let entry = entries.find(|entry| entry["name"] == **agent);
            entry.is_some_and(|entry| !entry["ignored"].is_null() || !entry["mistakes"].is_null())
        };
        agents.iter().all(is_left_out)
    });
    serde_json::from_str(&said).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_was_made_to_write_is_no_agent_and_hides_none() {
    let brokers = Brokers::single();
    brokers.set_up(1);
    let roles = Roles::of(&brokers, 1, &["door"]).await;
    for (name, text) in [("careful", CAREFUL), ("child", CHILD)] {
        let file = brokers.file(&format!("{name}.yaml"));
        fs::write(&file, text).unwrap();
        until(&brokers, &["agents", "put", &file.display().to_string()], |_| true);
    }
    let [mut tools, mut operator] = ["tools", "operator"].map(|user| brokers.wire(user));
    let whole = [shown(&brokers, "careful"), shown(&brokers, "child")];
    assert_eq!(whole[1]["policies"]["tools"], json!(["read_attachment"]));
    for (agent, how) in [
        ("careful", NOTHING),
        ("react", ACCOUNT),
        ("default", NOTHING),
        ("nowhere", NOTHING),
        ("elsewhere", ACCOUNT),
    ] {
        forge(&mut tools, &mut operator, how, agent);
    }

    // The agent that was read before stays in use, and so do the presets.
    let forged = ["careful", "react", "default", "nowhere", "elsewhere"];
    until_left_out(&brokers, &forged);
    for (before, name) in whole.iter().zip(["careful", "child"]) {
        assert_eq!(shown(&brokers, name)["policies"], before["policies"], "{name}");
    }
    ask(&brokers, &["submit", "g", "--id", "kept", "--agent", "careful"]).unwrap();
    for name in ["react", "default"] {
        let entry = shown(&brokers, name);
        assert_eq!((&entry["layer"], &entry["mistakes"]), (&json!("preset"), &Value::Null));
    }
    for name in ["nowhere", "elsewhere"] {
        let refused = ask(&brokers, &["submit", "g", "--agent", name]).unwrap_err();
        assert!(refused.contains("there is no agent") && refused.contains("bucket"), "{refused}");
    }

    // A process that never saw the agent does not know it, nor an agent that extends it.
    drop(roles);
    let _roles = Roles::of(&brokers, 1, &["door"]).await;
    until_left_out(&brokers, &forged);
    let refused = ask(&brokers, &["submit", "g", "--agent", "careful"]).unwrap_err();
    assert!(refused.contains("there is no agent"), "{refused}");
    let refused = ask(&brokers, &["submit", "g", "--agent", "child"]).unwrap_err();
    assert!(refused.contains("there is no agent careful"), "{refused}");
    ask(&brokers, &["submit", "g", "--id", "by-default"]).unwrap();

    // The agent can be stored again, and the forged one deleted.
    let careful = brokers.file("careful.yaml").display().to_string();
    ask(&brokers, &["agents", "put", &careful]).unwrap();
    assert_eq!(shown(&brokers, "child")["policies"], whole[1]["policies"]);
    ask(&brokers, &["agents", "rm", "nowhere"]).unwrap();
    let unknown = ask(&brokers, &["agents", "show", "nowhere"]).unwrap_err();
    assert!(unknown.contains("there is no agent"), "{unknown}");
}
