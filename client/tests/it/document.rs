//! The test of docs/front-door.md: every example parses as the type that it shows, and every verb
//! and code is described.
//!
//! Blocks of requests are marked `nats`; a JSON block names its content: `json request <verb>`,
//! `json reply <verb>` or `json refusal`.

use std::path::Path;

use proto::{
    door::{
        AgentRevisions, Agents, Batch, Count, Dead, Download, DropAgent, DropWorkflow, Get,
        GetAbout, GetCrew, GetGraph, GetTools, GetUsage, GiveAnswer, Inbox, Link, List, Preview,
        Redeem, Refusal, Request, SendSignal, SetAgent, SetWorkflow, Submit, Unlink, Uploaded,
        Verb, VerbSpec, Watch, Workflows,
    },
    error::Code,
    strict,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/front-door.md");
    std::fs::read_to_string(path).unwrap()
}

/// Returns the code blocks of the document, each with its mark.
fn blocks() -> Vec<(String, String)> {
    let (mut blocks, mut open) = (Vec::new(), None::<(String, String)>);
    for line in document().lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some((info, text))) => open = Some((info, format!("{text}{line}\n"))),
            (None, None) => {}
        }
    }
    blocks
}

/// The half of a verb that an example shows.
#[derive(Clone, Copy)]
enum Half {
    Request,
    Reply,
}

fn check(verb: Verb, half: Half, text: &str) {
    match verb {
        Verb::Submit => check_of::<Submit>(half, text),
        Verb::Get => check_of::<Get>(half, text),
        Verb::List => check_of::<List>(half, text),
        Verb::Count => check_of::<Count>(half, text),
        Verb::Graph => check_of::<GetGraph>(half, text),
        Verb::Usage => check_of::<GetUsage>(half, text),
        Verb::Watch => check_of::<Watch>(half, text),
        Verb::Signal => check_of::<SendSignal>(half, text),
        Verb::Preview => check_of::<Preview>(half, text),
        Verb::Batch => check_of::<Batch>(half, text),
        Verb::Dead => check_of::<Dead>(half, text),
        Verb::Inbox => check_of::<Inbox>(half, text),
        Verb::Answer => check_of::<GiveAnswer>(half, text),
        Verb::Link => check_of::<Link>(half, text),
        Verb::Unlink => check_of::<Unlink>(half, text),
        Verb::Redeem => check_of::<Redeem>(half, text),
        Verb::Tools => check_of::<GetTools>(half, text),
        Verb::About => check_of::<GetAbout>(half, text),
        Verb::Crew => check_of::<GetCrew>(half, text),
        Verb::Agents => check_of::<Agents>(half, text),
        Verb::SetAgent => check_of::<SetAgent>(half, text),
        Verb::DropAgent => check_of::<DropAgent>(half, text),
        Verb::AgentRevisions => check_of::<AgentRevisions>(half, text),
        Verb::Workflows => check_of::<Workflows>(half, text),
        Verb::SetWorkflow => check_of::<SetWorkflow>(half, text),
        Verb::DropWorkflow => check_of::<DropWorkflow>(half, text),
        Verb::Download => check_of::<Download>(half, text),
        // The request is the bytes of the piece.
        Verb::Upload => match half {
            Half::Request => assert!(!text.is_empty()),
            Half::Reply => check_reply::<Uploaded>(text),
        },
    }
}

fn check_of<R: Request + DeserializeOwned>(half: Half, text: &str) {
    match half {
        Half::Request => {
            let read = strict::request::<R>(text.as_bytes());
            assert!(read.is_ok(), "{}: {text}", read.err().unwrap());
        }
        Half::Reply => check_reply::<R::Reply>(text),
    }
}

fn check_reply<T: DeserializeOwned + Serialize>(text: &str) {
    let mut count = 0;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value.unwrap_or_else(|e| panic!("{e}: {text}"));
        let read: T =
            serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"));
        let written = serde_json::to_value(read).unwrap();
        // Every field that is shown exists, under its name and with its meaning.
        assert!(holds(&written, &value), "shown: {value}\nis: {written}");
        count += 1;
    }
    assert!(count > 0, "no reply in {text}");
}

/// Returns `true` if `whole` contains all of `part`; fields with their default value may be left
/// out.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(name, value)| {
            let default = matches!(value, Value::Bool(false)) || *value == "never" || *value == "1";
            whole.get(name).map_or(default, |whole| holds(whole, value))
        }),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(w, p)| holds(w, p))
        }
        (whole, part) => whole == part,
    }
}

fn verb(name: &str) -> Verb {
    let found = Verb::ALL.into_iter().find(|verb| verb.name() == name);
    found.unwrap_or_else(|| panic!("no verb {name}"))
}

/// Returns the verb and the body of a line `nats req [options] cb.svc.<verb> '<body>'`.
fn sent(line: &str) -> (Verb, &str) {
    let (command, body) =
        line.split_once(" '").filter(|_| !line.contains(" -H '")).unwrap_or_else(|| {
            let (_, rest) = line.split_once("' ").unwrap();
            rest.split_once(" '").unwrap()
        });
    let name = command.rsplit_once("cb.svc.").unwrap().1.trim();
    (verb(name), body.strip_suffix('\'').unwrap())
}

#[test]
fn every_example_is_one() {
    let mut replied = Vec::new();
    for (info, text) in blocks() {
        match info.split(' ').collect::<Vec<_>>().as_slice() {
            ["nats"] => {
                for line in text.lines() {
                    let (verb, body) = sent(line);
                    check(verb, Half::Request, body);
                }
            }
            ["json", "request", name] => check(verb(name), Half::Request, &text),
            ["json", "reply", name] => {
                check(verb(name), Half::Reply, &text);
                replied.push(verb(name));
            }
            ["json", "refusal"] => check_reply::<Refusal>(&text),
            ["toml"] => {}
            other => panic!("a block says that it is {other:?}"),
        }
    }
    for verb in Verb::ALL {
        assert!(replied.contains(&verb), "no reply of {verb} is shown");
    }
}

#[test]
fn the_table_of_verbs_is_that_of_the_program() {
    let row = |verb: Verb| {
        let VerbSpec { name, about, roles, repeatable, .. } = verb.spec();
        let roles: Vec<_> = roles.iter().map(|role| format!("`{}`", role.as_str())).collect();
        let roles = if roles.is_empty() { "the link".to_owned() } else { roles.join(" or ") };
        let repeatable = if repeatable { "yes" } else { "no" };
        format!("| `{name}` | {about} | {roles} | {repeatable} |")
    };
    let document = document();
    let shown = document.lines().skip_while(|line| !line.starts_with("| verb | effect |")).skip(2);
    let shown: Vec<_> = shown.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(shown, Verb::ALL.map(row));
}

#[test]
fn every_code_is_explained() {
    let document = document();
    for code in Code::ALL {
        let row = format!("| [`{code}`](errors/{code}.md) | {} |", code.status());
        assert!(document.contains(&row), "no row {row}");
    }
}

#[test]
fn every_number_is_the_one_that_holds() {
    use proto::limits;
    let document = document();
    let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
    for said in [
        format!("at most {} and {} levels", kib(limits::REQUEST_BYTES_MAX), limits::JSON_DEPTH_MAX),
        format!("1 byte to {}", kib(limits::GOAL_BYTES_MAX)),
        format!("one reply ({})", kib(limits::REPLY_BYTES_MAX)),
        format!("`limit` is 1 to {}, 50", limits::LIST_MAX),
        format!("`limit` is 1 to {}, 100", limits::INBOX_MAX),
        format!("nothing happened for {} s", limits::WATCH_HEARTBEAT_SECONDS),
        format!("after {} minutes in any case", limits::WATCH_SECONDS_MAX / 60),
    ] {
        assert!(document.contains(&said), "the document does not say {said:?}");
    }
}
