//! Sample values for the snapshot tests: jobs, questions, tools and processes in the protocol's
//! format, with long titles, Chinese and hostile text.

use broker::log::Queue;
use operator::fsck::{Finding, JobCondition, Report, Wrong};
use proto::{
    decision::{DecisionKind, pools},
    door::{Crew, InboxPage, Listed, Tools, UsageReport},
    id::{AskId, JobId, Seq, Shard, TimerName},
    view::JobView,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::purge;

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the samples are what the protocol sends")
}

pub(crate) fn listed() -> Listed {
    let job = |job: &str,
               state: &str,
               sub: Option<&str>,
               goal: &str,
               done: u32,
               steps: u32,
               questions: u32| {
        json!({
            "job": job, "state": state, "sub_status": sub, "goal": goal, "agent": "default",
            "steps_done": done, "steps": steps, "questions": questions,
            "created": "2026-11-21T09:58:00Z", "updated": "2026-11-21T09:59:00Z",
        })
    };
    read(json!({"more": true, "jobs": [
        job("demo-zh", "working", Some("executing"), "先标记任务 ID:62 完成，创建发邮件任务，标记完成，创建等待反馈任务", 1, 4, 0),
        job("trip", "input-required", Some("parked"), "Plan a trip to Kyoto", 0, 3, 1),
        job("bad", "working", Some("poisoned"), "evil \u{1b}[2J\u{202e}goal\nwith two lines", 0, 0, 0),
        job("0193f3a0-c0de-7000-8000-000000000001", "failed", None, "x", 2, 2, 0),
    ]}))
}

/// A report whose jobs partly have no known price.
pub(crate) fn usage() -> UsageReport {
    let name = |name: &str, jobs: u32, input: u64, money: Option<f64>| {
        let mut spent = json!({"name": name, "jobs": jobs, "usage": {"input_tokens": input, "output_tokens": 95}});
        match money {
            Some(money) => spent["money"] = json!(money),
            None => spent["unpriced"] = spent["usage"].clone(),
        }
        spent
    };
    read(json!({
        "since": "2026-10-22T10:00:00Z", "jobs": 12, "more": true, "reached": "2026-11-02T10:00:00Z",
        "usage": {"input_tokens": 41200, "cached_tokens": 30000, "output_tokens": 3100},
        "unpriced": {"input_tokens": 800, "output_tokens": 95}, "money": 0.1725,
        "days": [
            {"day": "2026-11-20", "jobs": 2, "usage": {"input_tokens": 1200, "output_tokens": 100}, "money": 0.0125},
            {"day": "2026-11-21", "jobs": 10, "usage": {"input_tokens": 40000, "cached_tokens": 30000, "output_tokens": 3000},
             "unpriced": {"input_tokens": 800, "output_tokens": 95}, "money": 0.16},
        ],
        "agents": [name("default", 12, 41200, Some(0.1725))],
        "models": [name("claude-sonnet", 11, 40400, Some(0.1725)), name("an \u{1b}[2J\u{202e}evil 模型", 1, 800, None)],
        "tools": [],
        "dearest": [
            {"job": "demo-zh", "goal": "先标记任务 ID:62 完成，创建发邮件任务", "agent": "default", "state": "working",
             "created": "2026-11-21T09:58:00Z", "usage": {"input_tokens": 40000, "cached_tokens": 30000, "output_tokens": 3000}, "money": 0.16},
            {"job": "trip", "goal": "Plan a trip to Kyoto", "agent": "default", "state": "failed",
             "created": "2026-11-21T08:58:00Z", "usage": {"input_tokens": 800, "output_tokens": 95},
             "unpriced": {"input_tokens": 800, "output_tokens": 95}},
        ],
    }))
}

/// A job in the middle of its plan.
pub(crate) fn view() -> JobView {
    let at = |s: &str| format!("2026-11-21T09:59:{s}Z");
    read(json!({
        "job": "demo-zh", "state": "input-required", "sub_status": "parked",
        "reason": "waits for an answer to q2", "goal": "先标记任务 ID:62 完成，创建发邮件任务，标记完成，创建等待反馈任务",
        "agent": "default", "language": "zh",
        "plan": {"title": "完成任务并创建后续任务", "revision": 1, "confirmed": true, "steps": [
            {"id": "step1", "title": "标记任务 62 完成", "description": "d", "tool": "complete_task",
             "state": "completed", "success": true, "response": "任务 \"写周报\" 已标记为完成",
             "attempts": 1, "turns": 0, "started": at("10"), "ended": at("10.012"),
             "calls": [{"tool": "complete_task", "state": "succeeded", "attempts": 1, "message": "任务 \"写周报\" 已标记为完成"}]},
            {"id": "step2", "title": "创建发邮件任务", "description": "d", "tool": "create_task",
             "state": "failed", "success": false, "response": "no answer within 60 s \u{1b}]0;owned\u{7}",
             "attempts": 2, "turns": 0, "started": at("11"), "ended": at("13.5"),
             "calls": [{"tool": "create_task", "state": "failed", "attempts": 3, "message": "timeout"}]},
            {"id": "step3", "title": "Think about what a rather long title does to a narrow terminal", "description": "d",
             "state": "running", "attempts": 1, "turns": 2, "started": at("58"),
             "calls": [{"tool": "read_file", "state": "succeeded", "attempts": 1},
                       {"tool": "http_get", "state": "running", "attempts": 2}]},
            {"id": "step4", "title": "", "description": "等待反馈", "depends_on": ["step2", "step3"],
             "state": "pending", "attempts": 0, "turns": 0},
            {"id": "step5", "title": "after a failure", "description": "d", "depends_on": ["step2"],
             "state": "blocked", "attempts": 0, "turns": 0},
        ]},
        "successful_steps": 1, "failed_steps": 1,
        "questions": questions(),
        "past_questions": past_questions(), "older_questions": 3,
        "usage": {"input_tokens": 1200, "output_tokens": 88}, "ignored": 1, "records": 14, "seq": 4711,
        "untrusted": {"tool": "http_get", "seq": 4705, "at": "2026-11-21T09:58:30Z"},
        "remembered": [{"tool": "send_mail", "version": "1", "asked_by": [{"by": "tool"}], "ask": "q1",
            "by": "ann", "seq": 4700, "at": "2026-11-21T09:58:20Z"}],
        "created": at("00"), "updated": at("59"),
    }))
}

/// One question of each kind.
pub(crate) fn questions() -> Value {
    json!([
        {"id": "q1", "prompt": "Is this plan right?", "kind": "plan_check", "revision": 0, "digest": "ab12",
         "deadline": "2026-11-21T10:05:00Z",
         "plan": {"title": "Two steps", "steps": [
            {"id": "step1", "title": "Complete", "description": "Mark task 62 as done", "action": "tool",
             "tool": "complete_task", "args": {"id": 62}, "binding": {"pool": "builtin", "effect": "idempotent", "version": "1"}},
            {"id": "step2", "title": "", "description": "Say what was done", "depends_on": ["step1"], "action": "agent"}]}},
        {"id": "q2", "prompt": "收件人是谁？", "kind": "question", "step": "step3"},
        {"id": "q3", "prompt": "Which colours?", "kind": "choice", "multiple": true,
         "options": [{"value": "r", "label": "Red"}, {"value": "blue"}]},
        {"id": "q4", "prompt": "Fill in", "kind": "form", "deadline": "2026-11-21T11:00:00Z", "default": {"name": "nobody"},
         "fields": [
            {"key": "name", "label": "Name", "type": "text", "required": true, "max_length": 10},
            {"key": "n", "label": "How many", "type": "number", "min": 1.0, "max": 9.0, "integer": true, "default": 3},
            {"key": "go", "label": "Go?", "type": "boolean", "description": "whether to go at all"},
            {"key": "c", "label": "Class", "type": "select", "options": [{"value": "1", "label": "First"}, {"value": "2"}]}]},
        {"id": "q5", "prompt": "May it run?\u{1b}[8m", "kind": "tool_approval", "tool": "send_mail", "version": "1",
         "args": {"to": "eve\u{200b}@example.org", "body": "你好"}, "digest": "9f86d081884c7d65",
         "asked_by": [{"by": "tool"}]},
    ])
}

/// Questions with an end of each kind.
fn past_questions() -> Value {
    let at = |s: &str| format!("2026-11-21T09:59:{s}Z");
    let past = |id: &str, kind: &str, prompt: &str, end: Value| {
        let mut past =
            json!({"id": id, "kind": kind, "prompt": prompt, "asked": at("05"), "ended": at("09")});
        let fields = past.as_object_mut().zip(end.as_object().cloned());
        fields.into_iter().for_each(|(past, end)| past.extend(end));
        past
    };
    json!([
        past(
            "q6",
            "plan_check",
            "确认这个计划吗？",
            json!({"end": "answered", "decision": "approve", "by": "李雷"})
        ),
        past(
            "q7",
            "plan_check",
            "Is this plan right?",
            json!({"end": "answered", "decision": "respond", "text": "first the mail\nthen the task", "by": "ann"})
        ),
        past(
            "q8",
            "choice",
            "Which colours?\u{1b}[8m",
            json!({"end": "answered", "decision": "respond", "chosen": "Red, blue", "by": "ann\u{202e}"})
        ),
        past(
            "q9",
            "tool_approval",
            "May it run?",
            json!({"end": "answered", "decision": "reject", "text": "not now", "by": "ann", "step": "step2"})
        ),
        past(
            "q10",
            "form",
            "Fill in",
            json!({"end": "closed", "because": "expired", "chosen": "Name: nobody"})
        ),
        past("q11", "question", "Who?", json!({"end": "closed", "because": "superseded"})),
    ])
}

pub(crate) fn inbox() -> InboxPage {
    let entries: Vec<Value> = questions()
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|question| json!({"job": "demo-zh", "goal": "g", "asked": "2026-11-21T09:30:00Z", "question": question}))
        .collect();
    read(json!({"questions": entries, "more": false}))
}

pub(crate) fn tools() -> Tools {
    read(json!({"tools": [
        {"name": "complete_task", "description": "Marks a task of the task list as done.", "schema": {},
         "effect": "idempotent", "pool": "builtin"},
        {"name": "send_mail", "description": "Sends \u{1b}[31mmail", "schema": {}, "effect": "once", "pool": "python",
         "timeout_ms": 1500, "approval": "always", "version": "2.1"},
    ], "workers": {"complete_task": 2, "send_mail": 0},
    "refused": [{"name": "fax", "why": "timeout_ms: must be 1 to 86400000, got \u{1b}[2J0"}]}))
}

pub(crate) fn crew() -> Crew {
    let worker = |worker: &str, roles: &[&str], shards: &[u16], draining: bool| {
        json!({"worker": worker, "roles": roles, "version": "0.1.0", "host": "box", "pid": 42,
               "started_ms": 1_795_255_200_000_u64, "shards": shards, "draining": draining,
               "pools": [{"pool": "call.builtin", "in_flight": 3, "capacity": 1024}]})
    };
    read(json!({"workers": [
        worker("box-1", &["supervisor", "interaction"], &[0, 1, 7], false),
        worker("box-2", &["tools"], &[], true),
    ]}))
}

/// A check with a job in every condition, and every finding.
pub(crate) fn checked() -> Report {
    let job = |name: &str| JobId::new(name).expect("a word is an id");
    let ask = || AskId::new("q1").expect("a word is an id");
    let timer = TimerName::new("deadline").expect("a word is a name");
    let queue = || Queue::Commands(DecisionKind::Call, pools::builtin());
    let (seq, child) = (Seq(7), job("child"));
    let findings = vec![
        Finding::Log(machine::check::Finding::WaitsForNothing { seq }),
        Finding::Unattended { kind: DecisionKind::Plan, after: seq },
        Finding::Dropped { seq, queue: queue() },
        Finding::OneOfDropped { seq, queue: queue(), commands: 3, held: 2 },
        Finding::Uncovered { seq, queue: queue() },
        Finding::NoTimer { timer },
        Finding::NotInInbox { ask: ask() },
        Finding::StillInInbox { ask: ask() },
        Finding::NoChild { child: child.clone() },
        Finding::ChildUnheard { child },
    ];
    let letter = json!({"job": "stuck", "kind": "unreadable", "seq": 3, "reason": "unknown kind \"da\u{1b}nced\"",
        "since": "2026-11-21T09:58:00Z"});
    Report {
        jobs: 12,
        standings: JobCondition::ALL.iter().map(|condition| (*condition, 1)).collect(),
        wrong: vec![Wrong { job: job("bad"), shard: Shard(5), findings }],
        dead: vec![read(letter)],
        idle_timers: 2,
        lost: vec![Shard(6)],
    }
}

/// A purge that keeps jobs for every reason.
pub(crate) fn purged(dry_run: bool) -> purge::Report {
    let objects = purge::Objects { removed: 1, bytes: 64_250, kept: 3 };
    purge::Report {
        dry_run,
        jobs: Vec::new(),
        records: 7,
        bytes: 999,
        open: 2,
        family: 1,
        recent: 9,
        absent: vec![JobId::new("nowhere").expect("a word is an id")],
        more: true,
        lost: vec![Shard(3)],
        objects: Some(objects),
    }
}

/// The bars of a job that works, with an attempt that failed, a question, a queue and hostile text.
pub(crate) fn spans() -> Vec<client::spans::Span> {
    let event = |id: &str, at: &str, mut event: Value| {
        event["id"] = json!(id);
        event["time"] = json!(format!("2026-11-21T09:{at}Z"));
        read::<proto::event::Event>(event)
    };
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let tool = |attempt: u32, phase: &str| {
        let mut tool = json!({"type": "tool", "work": "g0.r0.read", "step": "read",
            "attempt": attempt, "tool": "http_get", "phase": phase});
        match phase {
            "calling" => tool["args"] = json!({}),
            _ => {
                tool["success"] = json!(attempt == 2);
                tool["duration_ms"] = json!(20_000);
            }
        }
        tool
    };
    let step = |step: &str, phase: &str, label: &str| json!({"type": "step", "phase": phase, "step": step, "label": label, "attempt": 1});
    let question = json!({"id": "q1", "prompt": "这个计划对吗？", "kind": "question"});
    let events = [
        event(
            "1.1",
            "50:00",
            json!({"type": "job", "state": "submitted", "goal": "Read it \u{1b}[2J and write a summary"}),
        ),
        event("2.1", "50:10", json!({"type": "job", "state": "working", "sub_status": "planning"})),
        event(
            "2.2",
            "50:10",
            json!({"type": "turn", "phase": "asked", "work": "g0.p1", "attempt": 1}),
        ),
        event(
            "3.1",
            "51:00",
            json!({"type": "usage", "work": "g0.p1", "spent": usage, "total": usage}),
        ),
        event(
            "4.1",
            "51:00",
            json!({"type": "interaction", "phase": "asked", "question": question}),
        ),
        event(
            "5.1",
            "54:00",
            json!({"type": "interaction", "phase": "closed", "ask": "q1", "because": "expired"}),
        ),
        event("6.1", "54:00", step("read", "started", "读取笔记 and all that belongs to it")),
        event("6.2", "54:00", tool(1, "calling")),
        event("7.1", "55:00", tool(1, "called")),
        event("8.1", "56:00", tool(2, "calling")),
        event("9.1", "56:20", tool(2, "called")),
        event("9.2", "56:20", step("read", "completed", "")),
        event("10.1", "56:20", step("write", "started", "Write")),
        event(
            "10.2",
            "56:20",
            json!({"type": "turn", "phase": "asked", "work": "g0.r0.write.n1.t1", "attempt": 1, "step": "write"}),
        ),
    ];
    client::spans::spans(&events)
}
