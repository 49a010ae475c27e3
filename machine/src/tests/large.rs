//! Large plans: the bytes written and read grow linearly with the steps.

use proto::{
    fact::{Called, Fact, PlanReply, Planned},
    id::{Attempt, JobId, Seq},
    lang::Language,
    message::Usage,
    plan::Plan,
    record::Known,
    subject::Family,
    tool::ToolResult,
};
use serde_json::json;

use super::play::{agent, plan, work};
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

/// Carries out a plan on a log that is not kept: every record is folded once.
fn carry_out(plan: &Plan, confirm: bool) -> Cost {
    let mut job = Job::new(JobId::new("job").unwrap());
    let (mut cost, mut queue) = (Cost { records: 0, written: 0, shown: 0 }, Vec::new());
    let submitted = json!({
        "goal": "g", "agent": agent(|a| a.confirm = confirm), "language": Language::En, "digest": "d",
    });
    let mut facts = vec![Fact::Submitted(serde_json::from_value(submitted).unwrap())];
    loop {
        while let Some(next) = job.decide() {
            let decision = next.decision;
            cost.written += match &decision {
                proto::decision::Decision::Plan(work) => serde_json::to_vec(work),
                proto::decision::Decision::Call(work) => serde_json::to_vec(work),
                proto::decision::Decision::Ask(work) => serde_json::to_vec(work),
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
    cost
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
