//! Sample replies of the front door, with long titles, Chinese and hostile text.

use jiff::Timestamp;
use proto::{
    consequence::{Consequence, Undone},
    door::{Previewed, Watched},
    error::Failure,
    id::{JobId, Seq, ToolName},
    interaction::plan_digest,
    lang::Language,
    plan::Plan,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::{Input, Loaded, Model, Screen};

pub(super) fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the samples are what the protocol sends")
}

pub(super) fn now() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

pub(super) fn id(job: &str) -> JobId {
    JobId::new(job).unwrap()
}

fn at(seconds: &str) -> String {
    format!("2026-11-21T09:59:{seconds}Z")
}

/// A model of a terminal of this size, with data for every screen.
pub(super) fn model(language: Language, screen: Screen, size: (u16, u16)) -> Model {
    let mut model = empty(language, size);
    for loaded in [
        Loaded::Jobs(read(jobs())),
        Loaded::Inbox(read(inbox())),
        Loaded::Crew(read(crew())),
        Loaded::Dead(read(dead())),
    ] {
        model.step(Input::Loaded(loaded));
    }
    for (second, completed, failed) in [(0, 40, 2), (2, 43, 2), (4, 43, 3), (6, 49, 3), (8, 50, 3)]
    {
        model.step(Input::Tick(now() + jiff::SignedDuration::from_secs(second - 8)));
        let counted =
            json!({"open": 6 + second, "completed": completed, "failed": failed, "canceled": 4});
        model.step(Input::Loaded(Loaded::Count(read(counted))));
    }
    model.screen = screen;
    if screen == Screen::Job {
        open(&mut model);
    }
    model
}

/// A model without data.
pub(super) fn empty(language: Language, (columns, rows): (u16, u16)) -> Model {
    // The samples of the pulse are taken in the seconds before.
    let start = now() - jiff::SignedDuration::from_secs(8);
    let mut model = Model::new(language, Screen::Jobs, false, start);
    model.step(Input::Resized(columns, rows));
    model
}

/// Opens the job in the middle of its plan.
pub(super) fn open(model: &mut Model) {
    model.step(Input::Tick(now()));
    model.show(id("report"));
    for event in events() {
        watched(model, json!({"type": "event", "event": event}));
    }
    watched(model, json!({"type": "view", "view": view()}));
    for (index, text) in
        [(0, "Reading the figures of the third quarter. "), (1, "它有三行\u{1b}[2J。")]
    {
        watched(
            model,
            json!({"type": "live", "work": "g0.r0.write.n1", "attempt": 1, "step": "write",
            "index": index, "what": "text", "text": text}),
        );
    }
}

pub(super) fn watched(model: &mut Model, message: Value) {
    let message: Watched = read(message);
    model.step(Input::Watched(id("report"), Box::new(message)));
}

pub(super) fn jobs() -> Value {
    let job = |job: &str, state: &str, sub: Option<&str>, goal: &str, (done, steps): (u32, u32)| {
        json!({
            "job": job, "state": state, "sub_status": sub, "goal": goal, "agent": "default",
            "steps_done": done, "steps": steps, "questions": 0,
            "created": at("00"), "updated": at("30"),
        })
    };
    let mut trip = job("trip", "input-required", Some("parked"), "Plan a trip to Kyoto", (0, 3));
    trip["why"] = json!({"code": "question", "job": "trip", "ask": "q1", "prompt": "Is this plan right?",
        "since": at("10")});
    let mut slow = job(
        "crawl",
        "working",
        Some("executing"),
        "Fetch the price list of every supplier",
        (1, 4),
    );
    slow["why"] = json!({"code": "no_worker", "work": "g0.r0.a", "attempt": 1, "kind": "call",
        "pool": "browser", "since": at("20")});
    let mut report = job(
        "report",
        "working",
        Some("executing"),
        "先标记任务 ID:62 完成，创建发邮件任务，标记完成，创建等待反馈任务",
        (1, 5),
    );
    report["notices"] = json!(["tool_failure"]);
    json!({"more": true, "jobs": [
        report, trip, slow,
        job("bad", "working", Some("poisoned"), "evil \u{1b}[2J\u{202e}goal\nwith two lines", (0, 0)),
        job("done", "completed", None, "Summarise notes.md", (3, 3)),
        job("0193f3a0c0de70008000000000000001", "failed", None, "Translate the contract", (2, 6)),
    ]})
}

pub(super) fn questions() -> Value {
    json!([
        {"id": "q1", "prompt": "Is this plan right?", "kind": "plan_check", "revision": 0, "digest": "ab12",
         "plan": {"title": "Kyoto in three days", "steps": [
            {"id": "step1", "title": "Find trains", "description": "Find trains from Tokyo", "action": "tool",
             "tool": "http_get", "args": {"url": "https://example.org"},
             "binding": {"pool": "builtin", "effect": "pure", "version": "1"}},
            {"id": "step2", "title": "", "description": "Write the itinerary", "depends_on": ["step1"],
             "action": "agent"}]}},
        {"id": "q5", "prompt": "May it run?\u{1b}[8m", "kind": "tool_approval", "tool": "send_mail", "version": "1",
         "args": {"to": "eve\u{200b}@example.org", "body": "你好"}, "digest": "9f86d081884c7d65",
         "asked_by": [{"by": "tool"}]},
        {"id": "q2", "prompt": "收件人是谁？", "kind": "question", "step": "step3"},
        {"id": "q3", "prompt": "Which colours?", "kind": "choice", "multiple": true,
         "options": [{"value": "r", "label": "Red"}, {"value": "blue"}]},
        {"id": "q4", "prompt": "Fill in", "kind": "form", "fields": [
            {"key": "name", "label": "Name", "type": "text", "required": true, "max_length": 10},
            {"key": "n", "label": "How many", "type": "number", "min": 1.0, "max": 9.0, "integer": true}]},
    ])
}

/// The digest of the plan that waits.
pub(super) fn digest() -> String {
    let plan: Plan = read(questions()[0]["plan"].clone());
    plan_digest(&id("trip"), &plan)
}

pub(super) fn inbox() -> Value {
    let mut questions = questions();
    questions[0]["digest"] = json!(digest());
    let questions = questions.as_array().unwrap().iter().enumerate().map(|(n, question)| {
        json!({"job": if n == 0 { "trip".to_owned() } else { format!("job{n}") }, "goal": "Plan a trip to Kyoto",
               "asked": at("10"), "question": question})
    });
    json!({"questions": questions.collect::<Vec<_>>(), "more": false})
}

pub(super) fn crew() -> Value {
    let worker = |worker: &str, roles: &[&str], shards: &[u16], draining: bool, busy: u32| {
        json!({"worker": worker, "roles": roles, "version": "0.1.0", "host": "box", "pid": 42,
               "started_ms": 1_795_255_200_000_u64, "shards": shards, "draining": draining,
               "pools": [{"pool": "call.builtin", "in_flight": busy, "capacity": 16}]})
    };
    json!({"workers": [
        worker("box-1", &["supervisor", "interaction", "door"], &[0, 1, 7], false, 0),
        worker("box-2", &["tools"], &[], false, 5),
        worker("box-3", &["planner", "executor"], &[], true, 1),
    ]})
}

pub(super) fn dead() -> Value {
    json!({"more": false, "letters": [
        {"job": "bad", "kind": "unreadable", "seq": 70, "since": at("15"),
         "reason": "unknown kind \"da\u{1b}nced\""},
        {"job": "stuck", "kind": "given_up", "seq": 71, "since": at("16"), "work": "g0.r0.a", "attempt": 5,
         "reason": "503 service unavailable"},
    ]})
}

fn undone() -> Undone {
    Undone {
        records: 7,
        steps: vec!["Write the report with all figures".into(), "检查\u{1b}[2J报告".into()],
        tools: vec![ToolName::new("http_get").unwrap()],
        ..Undone::default()
    }
}

/// The effect of the restart of a step.
pub(super) fn restart() -> Consequence {
    Consequence::Restart { step: "Write the report".into(), undone: undone() }
}

/// The effect of a rollback.
pub(super) fn roll_back() -> Consequence {
    Consequence::RollBack(undone())
}

/// The reply of the front door to a preview.
pub(super) fn previewed(consequence: &Consequence, refused: Option<Failure>) -> Previewed {
    Previewed {
        job: id("report"),
        seq: Seq(40),
        text: consequence.text(Language::En),
        sentences: consequence.sentences(),
        records: 7,
        steps: Vec::new(),
        plans: false,
        effects: Vec::new(),
        ends: Vec::new(),
        refused: refused.map(Box::new),
    }
}

pub(super) fn view() -> Value {
    json!({
        "job": "report", "state": "working", "sub_status": "executing", "goal": "Report on the third quarter",
        "agent": "default", "language": "en",
        "plan": {"title": "A report on the third quarter", "revision": 0, "confirmed": true, "steps": [
            {"id": "find", "title": "Find the figures", "description": "d", "tool": "http_get",
             "state": "completed", "success": true, "response": "3 files", "attempts": 1, "turns": 0,
             "started": at("12"), "ended": at("20"), "calls": []},
            {"id": "write", "title": "Write the report with all figures, tables and footnotes that it needs",
             "description": "d", "state": "running", "attempts": 2, "turns": 2, "started": at("20"),
             "notices": [{"type": "tool_failure", "tool": "http_get", "times": 3}],
             "calls": [{"tool": "read_file", "state": "succeeded", "attempts": 1},
                       {"tool": "http_get", "state": "failed", "attempts": 3, "message": "timeout"}]},
            {"id": "check", "title": "检查报告", "description": "d", "depends_on": ["write"],
             "state": "pending", "attempts": 0, "turns": 0},
            {"id": "mail", "title": "Mail it", "description": "d", "depends_on": ["check"], "state": "pending",
             "attempts": 0, "turns": 0},
        ]},
        "notices": [{"type": "tool_failure", "tool": "http_get", "times": 3}],
        "usage": {"input_tokens": 1200, "output_tokens": 88}, "ignored": 0, "records": 14, "seq": 40,
        "untrusted": {"tool": "http_get"},
        "created": at("00"), "updated": at("50"),
    })
}

/// The job as one that runs a workflow with a loop and a map.
pub(super) fn workflow() -> Value {
    let mut view = view();
    view["graph"] = json!({
        "name": "quarter", "version": 3, "digest": "ab", "limits": {"steps": 200, "visits": 10},
        "visits": 9, "current": ["write--2", "check--1--0", "check--1--1"],
        "nodes": [
            {"id": "find", "type": "tool", "state": "completed", "visits": 3, "failed": 1},
            {"id": "write", "type": "model", "state": "running", "visits": 2},
            {"id": "check", "type": "human", "state": "waiting", "visits": 2},
        ],
    });
    view
}

/// The events of nodes, one of each phase and end.
pub(super) fn node_events() -> Vec<Value> {
    let phases = [
        ("find", json!({"phase": "entered", "kind": "tool"})),
        ("find", json!({"phase": "ended", "state": "failed", "error": "timeout\u{1b}[2J"})),
        ("find", json!({"phase": "routed", "to": "write", "way": "error"})),
        ("good", json!({"phase": "ended", "state": "completed"})),
        (
            "good",
            json!({"phase": "routed", "to": "write", "way": "next", "when": "state.mark < 8"}),
        ),
        ("ask", json!({"phase": "routed", "to": "end", "way": "timeout"})),
        ("slow", json!({"phase": "ended", "state": "skipped"})),
        ("last", json!({"phase": "ended", "state": "canceled"})),
        ("each", json!({"phase": "routed", "to": "join:each", "way": "next"})),
    ];
    let events = (1..).zip(phases).map(|(n, (node, phase))| {
        let mut event = json!({"id": format!("41.{n}"), "time": at("49"), "type": "node",
            "node": node, "visit": format!("{node}--1"), "label": "A node"});
        event.as_object_mut().unwrap().extend(phase.as_object().unwrap().clone());
        event
    });
    events.collect()
}

pub(super) fn events() -> Vec<Value> {
    let step = |phase: &str, id: &str, label: &str| json!({"type": "step", "phase": phase, "step": id, "label": label, "attempt": 1});
    let tool = |phase: Value| {
        let mut event = json!({"type": "tool", "work": "g0.r0.write.n1.t1.c0", "attempt": 1, "step": "write",
            "tool": "http_get"});
        event.as_object_mut().unwrap().extend(phase.as_object().unwrap().clone());
        event
    };
    let plan = json!({"type": "plan", "phase": "created", "title": "A report on the third quarter", "revision": 0,
        "confirmed": true, "steps": []});
    let spent = json!({"input_tokens": 900, "output_tokens": 60});
    let happened = [
        (
            1,
            "00",
            json!({"type": "job", "state": "submitted", "goal": "Report on the third quarter"}),
        ),
        (2, "00", json!({"type": "turn", "phase": "asked", "work": "g0.p1", "attempt": 1})),
        (3, "12", json!({"type": "usage", "work": "g0.p1", "spent": spent, "total": spent})),
        (4, "12", plan),
        (6, "12", step("started", "find", "Find the figures")),
        (9, "20", step("completed", "find", "Find the figures")),
        (
            11,
            "20",
            step("started", "write", "Write the report with all figures, tables and footnotes"),
        ),
        (15, "25", tool(json!({"phase": "calling", "args": {"url": "https://example.org/q3"}}))),
        (
            18,
            "40",
            tool(
                json!({"phase": "called", "success": false, "error": "timeout", "duration_ms": 15000}),
            ),
        ),
        (21, "41", step("waiting", "write", "Write the report")),
        (24, "50", step("resumed", "write", "Write the report")),
    ];
    let event = |(seq, time, mut happened): (u64, &str, Value)| {
        happened["id"] = json!(format!("{seq}.1"));
        happened["time"] = json!(at(time));
        happened
    };
    happened.into_iter().map(event).collect()
}
