//! Transitions between two looks at a job.

use proto::{fact::PlanReply, interaction::Verdict};
use serde_json::json;

use super::play::{Play, agent, plan};
use crate::{States, Transition};

/// Returns the transitions since the last call.
fn since(seen: &mut States, p: &Play) -> Vec<String> {
    let states = States::of(&p.job);
    let transitions = seen.transitions_to(&states);
    *seen = states;
    let was = |from: Option<String>| from.unwrap_or_else(|| "-".to_owned());
    let told = transitions.into_iter().map(|transition| match transition {
        Transition::Job { from, to, sub_status } => {
            let sub = sub_status.map(|sub| format!(" {sub}")).unwrap_or_default();
            format!("job {} {to}{sub}", was(from.map(|state| state.to_string())))
        }
        Transition::Step { step, from, to } => {
            format!("{step} {} {to}", was(from.map(|state| state.to_string())))
        }
        Transition::Question { ask, from, to } => {
            format!("{ask} {} {to}", was(from.map(|state| state.to_string())))
        }
    });
    told.collect()
}

#[test]
fn each_change_of_a_job_of_a_step_and_of_a_question_is_one_transition() {
    let mut seen = States::default();
    let mut p = Play::submit(agent(|a| a.confirm = true));
    assert_eq!(since(&mut seen, &p), ["job - submitted"]);
    p.drive();
    assert_eq!(since(&mut seen, &p), ["job submitted working planning"]);
    p.reply(1, PlanReply::Plan { plan: plan("a b<a") });
    p.drive();
    assert_eq!(since(&mut seen, &p), ["job working input-required parked", "q1 - open"]);
    p.answer("q1", Verdict::Approve, None);
    p.drive();
    assert_eq!(
        since(&mut seen, &p),
        ["job input-required working executing", "a - running", "b - pending", "q1 open answered"]
    );
    assert_eq!(since(&mut seen, &p), [""; 0]);
    p.ok("g0.r0.a", json!(1));
    p.drive();
    assert_eq!(since(&mut seen, &p), ["a running completed", "b pending running"]);
    p.ok("g0.r0.b", json!(1));
    p.drive();
    assert_eq!(since(&mut seen, &p), ["job working completed", "b running completed"]);
}
