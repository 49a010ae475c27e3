//! Every pair of policies that is legal carries a job to its end: nothing hangs, nothing is sent
//! twice, nothing poisons the log.

use std::collections::BTreeSet;

use proto::{
    agent::{Agent, StepExec, words},
    decision::Decision,
    fact::PlanReply,
    interaction::Verdict,
    plan::{Action, Plan},
    policy::PlanProtocol,
    tool::ToolResult,
};
use serde_json::json;

use super::play::{Play, plan, plan_with};

/// Answers everything that is asked, the first tool call with a no.
fn live(agent: Agent) -> Result<String, String> {
    let (exec, protocol) = (agent.step.exec, agent.plan.protocol);
    let said = format!("{agent:?}");
    let mut p = Play::submit(agent);
    let mut sent = BTreeSet::new();
    let mut calls = 0;
    for _ in 0..60 {
        let labels = p.drive();
        if let Some(poison) = p.job.poison() {
            return Err(format!("poisoned: {poison:?}: {said}"));
        }
        if p.job.has_ended() {
            return Ok(p.outcome().state().to_string());
        }
        for label in &labels {
            let is_command = ["plan", "turn", "call"].iter().any(|kind| label.starts_with(kind));
            if is_command && !sent.insert(label.clone()) {
                return Err(format!("{label} was sent twice: {said}"));
            }
        }
        if labels.is_empty() {
            return Err(format!("it stands still: {said}: {:?}", p.view()));
        }
        for decision in p.decisions.clone() {
            answer(&mut p, &decision, exec, protocol, &mut calls);
        }
    }
    Err(format!("it never ends: {said}"))
}

fn answer(
    p: &mut Play,
    decision: &Decision,
    exec: StepExec,
    protocol: PlanProtocol,
    calls: &mut u32,
) {
    match decision {
        Decision::Plan(work) => {
            let round: u32 = work.work.as_str().trim_start_matches("g0.p").parse().unwrap();
            p.reply(round, planned(round, exec, protocol));
        }
        Decision::Turn(work) => {
            p.done(work.work.as_str(), work.turn % 2 == 1, "done");
        }
        Decision::Call(work) => {
            *calls += 1;
            let result =
                if *calls == 1 { ToolResult::failed("no") } else { ToolResult::ok(json!(*calls)) };
            p.result(work.work.as_str(), work.attempt.0, result, None);
        }
        Decision::Ask(work) => p.answer(work.question.id.as_str(), Verdict::Approve, None),
        Decision::Wait(wait) => p.fire(wait.timer.as_str()),
        Decision::Spawn(_) | Decision::Note(_) | Decision::Finish(_) => {}
    }
}

/// What a planner says: a plan with a step that is listed before the one it needs, then less and less.
fn planned(round: u32, exec: StepExec, protocol: PlanProtocol) -> PlanReply {
    if protocol.is_turn_by_turn() && round > 3 {
        return PlanReply::Finished { response: "reached".into() };
    }
    let steps = match (protocol.is_turn_by_turn(), round) {
        (true, n) => format!("s{n}"),
        (false, 1) => "b<a a c d<b,c".to_owned(),
        (false, n) if n < 5 => format!("x{n} y{n}<x{n}"),
        (false, n) => format!("x{n}"),
    };
    let plan = match exec {
        StepExec::MasterLoop => plan_with(&steps, |_| Action::Agent),
        StepExec::AsPlanned | StepExec::DirectTool | StepExec::SingleAction => plan(&steps),
    };
    let replan = if round < 3 {
        plan.steps.first().map(|step| step.id.clone()).into_iter().collect()
    } else {
        Vec::new()
    };
    PlanReply::Plan { plan: Plan { replan, ..plan } }
}

#[test]
fn every_legal_pair_of_policies_carries_a_job_to_its_end() {
    let (mut completed, mut failed) = (0, 0);
    for agent in words::pairs().filter(|agent| agent.check().is_ok()) {
        match live(agent).as_deref() {
            Ok("completed") => completed += 1,
            Ok(_) => failed += 1,
            Err(why) => panic!("{why}"),
        }
    }
    assert!(completed > 50 && failed > 50, "{completed} completed, {failed} failed");
}

#[test]
fn every_preset_carries_a_job_to_its_end() {
    let presets = proto::agent::catalogue::Catalogue::presets();
    for entry in presets.entries() {
        let agent = entry.resolved.unwrap();
        let end = live(Agent::clone(&agent)).unwrap();
        assert!(end == "completed" || end == "failed", "{}: {end}", entry.name);
    }
}
