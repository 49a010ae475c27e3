//! Large plans and large maps: the records, and the bytes written and read, grow linearly with the
//! steps and items.

use proto::{
    fact::{Called, Fact, PlanReply, Planned},
    id::{Attempt, JobId, Seq},
    job::Outcome,
    lang::Language,
    limits,
    message::Usage,
    plan::Plan,
    record::Known,
    subject::Family,
    tool::ToolResult,
    workflow::ITEMS_MAX,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{agent, binding, plan, work};
use crate::{At, Job};

/// The cost of carrying out a plan.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Number of records that were folded, each once.
    records: usize,
    /// Bytes of all decisions.
    written: usize,
    /// Bytes of the final view of the job.
    shown: usize,
}

/// Carries out a plan.
fn carry_out(plan: &Plan, confirm: bool) -> Cost {
    let submitted = json!({
        "goal": "g", "agent": agent(|a| a.confirm = confirm), "language": Language::En, "digest": "d",
    });
    carry_out_job(submitted, plan).1
}

/// Carries out a job on a log that is not kept: every record is folded once. A planner replies with
/// the plan.
fn carry_out_job(submitted: Value, plan: &Plan) -> (Job, Cost) {
    let mut job = Job::new(JobId::new("job").unwrap());
    let (mut cost, mut queue) = (Cost { records: 0, written: 0, shown: 0 }, Vec::new());
    let mut facts = vec![Fact::Submitted(serde_json::from_value(submitted).unwrap())];
    loop {
        while let Some(next) = job.decide() {
            let decision = next.decision;
            cost.written += match &decision {
                proto::decision::Decision::Plan(work) => serde_json::to_vec(work),
                proto::decision::Decision::Call(work) => serde_json::to_vec(work),
                proto::decision::Decision::Ask(work) => serde_json::to_vec(work),
                proto::decision::Decision::Note(note) => serde_json::to_vec(note),
                proto::decision::Decision::Finish(finish) => serde_json::to_vec(finish),
                other => panic!("{other:?}"),
            }
            .unwrap()
            .len();
            queue.push(decision.clone());
            let family = Family::Do(decision.kind(), decision.pool());
            apply(&mut job, &mut cost, &family, &Known::Decision(Box::new(decision)));
        }
        facts.extend(queue.drain(..).filter_map(|decision| answer(plan, &decision)));
        if facts.is_empty() {
            break;
        }
        for fact in facts.drain(..) {
            let family = Family::In(fact.source());
            apply(&mut job, &mut cost, &family, &Known::Fact(Box::new(fact)));
        }
    }
    assert!(job.has_ended(), "{:?}", job.view());
    cost.shown = serde_json::to_vec(&job.view()).unwrap().len();
    (job, cost)
}

fn apply(job: &mut Job, cost: &mut Cost, family: &Family, record: &Known) {
    cost.records += 1;
    let seq = Seq(cost.records as u64);
    job.apply(At { seq, time: jiff::Timestamp::UNIX_EPOCH }, family, Ok(record));
}

fn answer(plan: &Plan, decision: &proto::decision::Decision) -> Option<Fact> {
    match decision {
        proto::decision::Decision::Plan(_) => Some(Fact::Planned(Planned {
            work: work("g0.p1"),
            attempt: Attempt::FIRST,
            reply: PlanReply::Plan { plan: plan.clone() },
            usage: Usage::default(),
            detected: None,
            outline: Vec::new(),
            reasoning: String::new(),
            answered: None,
        })),
        proto::decision::Decision::Call(call) => Some(Fact::Called(Called {
            work: call.work.clone(),
            attempt: call.attempt,
            result: ToolResult::ok(json!(1)),
            fault: None,
            outage: false,
            duration_ms: 1,
            cost: Default::default(),
            files: Vec::new(),
        })),
        proto::decision::Decision::Ask(ask) => {
            let answered = json!({"ask": ask.question.id, "decision": "approve", "by": "ann"});
            Some(Fact::Answered(serde_json::from_value(answered).unwrap()))
        }
        _ => None,
    }
}

fn independent(steps: usize) -> Plan {
    plan(&(0..steps).map(|n| format!("s{n:03}")).collect::<Vec<_>>().join(" "))
}

fn chain(steps: usize) -> Plan {
    let step = |n: usize| match n {
        0 => "s000".to_owned(),
        n => format!("s{n:03}<s{:03}", n - 1),
    };
    plan(&(0..steps).map(step).collect::<Vec<_>>().join(" "))
}

#[test]
fn what_a_job_costs_grows_with_its_steps_and_no_faster() {
    for (shape, confirm) in
        [(independent as fn(usize) -> Plan, false), (chain, false), (independent, true)]
    {
        let (small, large) = (carry_out(&shape(200), confirm), carry_out(&shape(400), confirm));
        // A command and a result for each step, and the submission, the plan, its confirmation and
        // the end.
        assert!(large.records <= 2 * 400 + 6, "{large:?}");
        for (what, small, large) in
            [("written", small.written, large.written), ("shown", small.shown, large.shown)]
        {
            assert!(large <= small * 2 + small / 10, "{what}: {small} for 200, {large} for 400");
        }
        assert!(large.written < 400 * 1500, "{large:?}");
    }
}

/// Submits a map over a list, whose every item is one call.
fn map_of(items: u32, max_parallel: u32) -> Value {
    let definition = json!({
        "workflow": "map", "version": 1, "start": "each", "limits": {"steps": items + 1, "visits": 1},
        "state": {"seen": {"schema": {"type": "array"}, "reduce": "append", "initial": []}},
        "output": {"seen": "{{ state.seen }}"},
        "nodes": {
            "each": {
                "work": {"type": "map", "over": "input.rows", "item": "row",
                    "max_parallel": max_parallel, "max_items": items, "start": "call",
                    "nodes": ["call"], "collect": {"seen": "{{ row }}"}, "join": "all"},
                "next": [{"to": "end"}],
            },
            "call": {"work": {"type": "tool", "tool": "tool", "args": {"row": "{{ row }}"}},
                "next": [{"to": "end"}]},
        },
    });
    let run = json!({
        "definition": definition, "input": {"rows": (0..items).collect::<Vec<_>>()},
        "tools": {"tool": binding()},
    });
    json!({
        "goal": "g", "agent": agent(|_| {}), "language": Language::En, "digest": "d", "workflow": run,
    })
}

#[rstest]
#[case::few_at_a_time(4)]
#[case::all_at_once(ITEMS_MAX)]
fn a_map_of_the_most_items_ends_with_all_results(#[case] max_parallel: u32) {
    let (job, cost) = carry_out_job(map_of(ITEMS_MAX, max_parallel), &Plan::default());
    let Some(Outcome::Completed { value, .. }) = job.view().unwrap().outcome else { panic!() };
    assert_eq!(value, json!({"seen": (0..ITEMS_MAX).collect::<Vec<_>>()}));
    let records = u64::try_from(cost.records).unwrap();
    // A command, a result and an advance for each item, and the submission, the first advances and
    // the end.
    assert!(records <= 3 * u64::from(ITEMS_MAX) + 10, "{cost:?}");
    assert!(records < limits::RECORDS_MAX, "{cost:?}");
    assert!(cost.shown < limits::REPLY_BYTES_MAX, "{cost:?}");
    let graph = serde_json::to_vec(&job.graph().unwrap()).unwrap().len();
    assert!(graph < limits::REPLY_BYTES_MAX, "{graph} bytes");
}

#[test]
fn the_cost_of_a_map_grows_with_its_items_and_no_faster() {
    let cost = |items| carry_out_job(map_of(items, 4), &Plan::default()).1;
    let (small, large) = (cost(200), cost(400));
    for (what, small, large) in
        [("written", small.written, large.written), ("shown", small.shown, large.shown)]
    {
        assert!(large <= small * 2 + small / 10, "{what}: {small} for 200, {large} for 400");
    }
}
