//! The test of docs/front-door.md: every example parses as the type that it shows, and every verb
//! and code is described.
//!
//! Blocks of requests are marked `nats`; a JSON block names its content: `json request <verb>`,
//! `json reply <verb>` or `json refusal`.

use std::path::Path;

use proto::{
    door::{
        AgentChanged, AgentList, Agents, AnswerTaken, Crew, Dead, DeadLetters, DropAgent, Get,
        GiveAnswer, Inbox, InboxPage, List, Listed, Refusal, SendSignal, SetAgent, Signaled,
        Submit, Submitted, Tools, Uploaded, Watch, Watched, verbs,
    },
    error::Code,
    strict,
    view::JobView,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

const VERBS: [&str; 14] = [
    verbs::SUBMIT,
    verbs::GET,
    verbs::LIST,
    verbs::WATCH,
    verbs::SIGNAL,
    verbs::DEAD,
    verbs::INBOX,
    verbs::ANSWER,
    verbs::TOOLS,
    verbs::CREW,
    verbs::AGENTS,
    verbs::SET_AGENT,
    verbs::DROP_AGENT,
    verbs::UPLOAD,
];

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

fn request(verb: &str, body: &str) {
    fn check<T: DeserializeOwned>(body: &str) {
        let read = strict::request::<T>(body.as_bytes());
        assert!(read.is_ok(), "{}: {body}", read.err().unwrap());
    }
    match verb {
        verbs::SUBMIT => check::<Submit>(body),
        verbs::GET => check::<Get>(body),
        verbs::WATCH => check::<Watch>(body),
        verbs::SIGNAL => check::<SendSignal>(body),
        verbs::ANSWER => check::<GiveAnswer>(body),
        verbs::LIST | verbs::DEAD | verbs::INBOX | verbs::TOOLS | verbs::CREW | verbs::AGENTS
            if body.is_empty() => {}
        verbs::LIST => check::<List>(body),
        verbs::DEAD => check::<Dead>(body),
        verbs::INBOX => check::<Inbox>(body),
        verbs::AGENTS => check::<Agents>(body),
        verbs::SET_AGENT => check::<SetAgent>(body),
        verbs::DROP_AGENT => check::<DropAgent>(body),
        // The request is the bytes of the piece.
        verbs::UPLOAD => assert!(!body.is_empty()),
        other => panic!("{other} takes no {body}"),
    }
}

fn reply(verb: &str, text: &str) {
    fn check<T: DeserializeOwned + Serialize>(text: &str) {
        let mut count = 0;
        for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            let value = value.unwrap_or_else(|e| panic!("{e}: {text}"));
            let read: T =
                serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"));
            let written = serde_json::to_value(read).unwrap();
            // Every field that is shown must exist, with its name and its value.
            assert!(holds(&written, &value), "shown: {value}\nis: {written}");
            count += 1;
        }
        assert!(count > 0, "no reply in {text}");
    }
    match verb {
        verbs::SUBMIT => check::<Submitted>(text),
        verbs::GET => check::<JobView>(text),
        verbs::LIST => check::<Listed>(text),
        verbs::WATCH => check::<Watched>(text),
        verbs::SIGNAL => check::<Signaled>(text),
        verbs::DEAD => check::<DeadLetters>(text),
        verbs::INBOX => check::<InboxPage>(text),
        verbs::ANSWER => check::<AnswerTaken>(text),
        verbs::TOOLS => check::<Tools>(text),
        verbs::CREW => check::<Crew>(text),
        verbs::AGENTS => check::<AgentList>(text),
        verbs::SET_AGENT | verbs::DROP_AGENT => check::<AgentChanged>(text),
        verbs::UPLOAD => check::<Uploaded>(text),
        "refusal" => check::<Refusal>(text),
        other => panic!("no verb {other}"),
    }
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

/// Returns the verb and the body of a line `nats req [options] cb.svc.<verb> '<body>'`.
fn sent(line: &str) -> (&str, &str) {
    let (command, body) =
        line.split_once(" '").filter(|_| !line.contains(" -H '")).unwrap_or_else(|| {
            let (_, rest) = line.split_once("' ").unwrap();
            rest.split_once(" '").unwrap()
        });
    let verb = command.rsplit_once("cb.svc.").unwrap().1.trim();
    (verb, body.strip_suffix('\'').unwrap())
}

#[test]
fn every_example_is_one() {
    let mut replied = Vec::new();
    for (info, text) in blocks() {
        match info.split(' ').collect::<Vec<_>>().as_slice() {
            ["nats"] => {
                for line in text.lines() {
                    let (verb, body) = sent(line);
                    assert!(VERBS.contains(&verb), "{line}");
                    request(verb, body);
                }
            }
            ["json", "request", verb] => request(verb, &text),
            ["json", "reply", verb] => {
                reply(verb, &text);
                replied.push((*verb).to_owned());
            }
            ["json", "refusal"] => reply("refusal", &text),
            ["toml"] => {}
            other => panic!("a block says that it is {other:?}"),
        }
    }
    for verb in VERBS {
        assert!(replied.iter().any(|replied| replied == verb), "no reply of {verb} is shown");
    }
}

#[test]
fn every_verb_and_every_code_is_explained() {
    let document = document();
    for verb in VERBS {
        let row = format!("| `{verb}` |");
        assert!(document.contains(&row), "no row {row}");
    }
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
        format!("lasts {} minutes at most", limits::WATCH_SECONDS_MAX / 60),
    ] {
        assert!(document.contains(&said), "the document does not say {said:?}");
    }
}
