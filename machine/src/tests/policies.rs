//! Combinations of policies: every valid agent carries its job to an end, whatever is replied. No
//! job hangs, no attempt is sent twice, and no record poisons the log. All pairs of policies are
//! tried, and thousands of agents with a value on every axis.

use std::collections::BTreeSet;

use agents::{catalogue::Catalogue, conflicts, words};
use proto::{
    agent::{Agent, StepExec},
    decision::{Decision, PlanWork, TurnWork},
    fact::{Asked, AskedKind, PlanNote, PlanPhase, PlanReply, Signal, TurnReply},
    id::Attempt,
    interaction::{Answer, QuestionKind, Verdict},
    outline,
    plan::{Action, Plan},
    policy::PlanProtocol,
    tool::{Fault, ToolResult},
};
use serde_json::json;

use super::{
    outputs,
    play::{Play, calls, plan, plan_with, question, tool_call, transient},
};

/// The course of a job: the number of replies of each kind so far.
struct Course {
    exec: StepExec,
    protocol: PlanProtocol,
    /// Number that selects the replies.
    number: u32,
    rounds: u32,
    turns: u32,
    calls: u32,
    questions: u32,
    /// Number of retries by the operator.
    retries: u32,
}

/// Answers every command and question. Returns the outcome, or the fault.
fn live(agent: Agent, number: u32) -> Result<String, String> {
    let said = format!("{number}: {agent:?}");
    let (exec, protocol) = (agent.step.exec, agent.plan.protocol);
    let has_output = agent.output.is_some();
    let mut course =
        Course { exec, protocol, number, rounds: 0, turns: 0, calls: 0, questions: 0, retries: 0 };
    let mut p = Play::submit(agent);
    let mut sent = BTreeSet::new();
    for _ in 0..400 {
        let labels = p.drive();
        if let Some(poison) = p.job.poison() {
            return Err(format!("poisoned: {poison:?}: {said}"));
        }
        if p.job.has_ended() {
            if has_output == p.outcome().value().is_null() && p.outcome().failure().is_none() {
                return Err(format!("completed with {:?}: {said}", p.outcome()));
            }
            return Ok(p.outcome().state().to_string());
        }
        for label in &labels {
            let is_command = ["plan", "turn", "call"].iter().any(|kind| label.starts_with(kind));
            if is_command && !sent.insert(label.clone()) {
                return Err(format!("{label} was sent twice: {said}"));
            }
        }
        if labels.is_empty() && !course.is_tried_again(&mut p) {
            return Err(format!("it stands still: {said}: {:?}", p.view()));
        }
        for decision in p.decisions.clone() {
            course.answer(&mut p, &decision);
        }
    }
    Err(format!("it never ends: {said}"))
}

impl Course {
    /// Retries work that was given up, and returns `true` if there was any.
    fn is_tried_again(&mut self, p: &mut Play) -> bool {
        self.retries += 1;
        let seq = p.view().ignored;
        p.signal(Signal::Retry);
        self.retries < 10 && p.view().ignored == seq
    }

    fn answer(&mut self, p: &mut Play, decision: &Decision) {
        match decision {
            Decision::Plan(work) => {
                self.rounds += 1;
                let round: u32 = work.work.as_str().trim_start_matches("g0.p").parse().unwrap();
                let reply = self.planned(work);
                p.reply(round, reply);
            }
            Decision::Turn(work) => {
                self.turns += 1;
                p.turn(work.work.as_str(), self.turned(work));
            }
            Decision::Call(work) => {
                self.calls += 1;
                let (result, fault) = match (self.number % 3, self.calls) {
                    (0, 1) | (1, 2) => (ToolResult::failed("no"), None),
                    (2, 1..=3) => (ToolResult::failed("late"), Some(Fault::Timeout)),
                    (_, n) => (ToolResult::ok(json!(n)), None),
                };
                p.result(work.work.as_str(), work.attempt.0, result, fault);
            }
            Decision::Ask(work) => {
                let ask = work.question.id.as_str();
                match work.question.kind {
                    QuestionKind::PlanCheck { .. }
                        if self.questions == 0 && self.number % 5 == 1 =>
                    {
                        p.answer(ask, Verdict::Respond, Some("another way"));
                    }
                    QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. } => {
                        p.answer(ask, Verdict::Approve, None);
                    }
                    QuestionKind::Question
                    | QuestionKind::Choice { .. }
                    | QuestionKind::Form { .. } => p.answer_with(ask, Answer::respond("it".into())),
                }
                self.questions += 1;
            }
            Decision::Wait(wait) => p.fire(wait.timer.as_str()),
            Decision::Spawn(_) | Decision::Note(_) | Decision::Done(_) | Decision::Finish(_) => {}
        }
    }

    /// Returns a planner's reply: first an unusable reply, a question or an empty plan in some
    /// runs, then a plan with a step listed before its dependency, then smaller and smaller plans.
    fn planned(&self, work: &PlanWork) -> PlanReply {
        let odd = if self.number.is_multiple_of(4) { 0 } else { self.number % 7 };
        let round = self.rounds.saturating_sub(u32::from(odd > 0));
        match (odd, self.rounds) {
            (1, 1) => {
                return PlanReply::Unparseable {
                    text: "Well?".into(),
                    error: "no JSON".into(),
                    action: false,
                };
            }
            (2, 1) => {
                let kind = AskedKind::Query;
                let question = Asked { prompt: "Which one?".into(), kind, default: None };
                return PlanReply::Question { question };
            }
            (3, 1) => return PlanReply::Plan { plan: Plan::default() },
            (4, 1) => {
                let (phase, outline) = (PlanPhase::Planned, outline::of_texts(["look", "write"]));
                return PlanReply::Noted { note: PlanNote { phase, outline, response: None } };
            }
            (5, 1) if work.may_be_empty => {
                return PlanReply::Finished { response: "at once".into(), language: None };
            }
            (_, _) => {}
        }
        planned(round, self.exec, self.protocol)
    }

    /// Returns a model's reply: calls, a question, a failure, and in the end a result.
    fn turned(&self, work: &TurnWork) -> TurnReply {
        let done = |success: bool| TurnReply::Done {
            success,
            response: "done".into(),
            attachments: Vec::new(),
            value: serde_json::Value::Null,
        };
        if work.output.is_some() {
            return self.stated(work);
        }
        if work.must_answer {
            return done(true);
        }
        match (self.number % 5, self.turns) {
            (1, 1) | (2, 2) => {
                let two = json!({"page": 2});
                calls(vec![tool_call("x", "read", json!({})), tool_call("y", "read", two)])
            }
            (3, 1..=2) => calls(vec![question("q", "And what?")]),
            (4, 1) => done(false),
            (_, _) => done(true),
        }
    }

    /// Returns the structured result, after replies that do not fit it in some runs.
    fn stated(&self, work: &TurnWork) -> TurnReply {
        let told = work.task.as_ref().and_then(|task| task.previous_error.as_deref());
        let tries = told.map_or(0, |told| told.matches("total: is missing").count());
        match (self.number % 4, tries) {
            (1, 0) | (3, _) => outputs::misfit(),
            (2, 0) if work.attempt == Attempt::FIRST => TurnReply::Failed { error: transient() },
            (_, _) => outputs::fits(),
        }
    }
}

fn planned(round: u32, exec: StepExec, protocol: PlanProtocol) -> PlanReply {
    if protocol.is_turn_by_turn() && round > 3 {
        return PlanReply::Finished { response: "reached".into(), language: None };
    }
    let steps = match (protocol.is_turn_by_turn(), round) {
        (true, n) => format!("s{n}"),
        (false, 0 | 1) => "b<a a c d<b,c".to_owned(),
        (false, n) if n < 5 => format!("x{n} y{n}<x{n}"),
        (false, n) => format!("x{n}"),
    };
    let plan = match (exec, protocol) {
        (StepExec::MasterLoop, _) | (_, PlanProtocol::TaskSteps | PlanProtocol::TitleSteps) => {
            plan_with(&steps, |_| Action::Agent)
        }
        (
            StepExec::AsPlanned | StepExec::DirectTool | StepExec::SingleAction,
            PlanProtocol::Steps
            | PlanProtocol::ActionSteps
            | PlanProtocol::Decision
            | PlanProtocol::Phased
            | PlanProtocol::InlineTools,
        ) => plan(&steps),
    };
    let replan = if round < 3 {
        plan.steps.first().map(|step| step.id.clone()).into_iter().collect()
    } else {
        Vec::new()
    };
    PlanReply::Plan { plan: Plan { replan, ..plan } }
}

/// Asserts that all jobs end, and returns how many completed and how many failed.
#[track_caller]
fn all_end(agents: impl Iterator<Item = Agent>) -> (u32, u32) {
    let (mut completed, mut failed) = (0, 0);
    for (number, mut agent) in (0..).zip(agents.filter(|agent| conflicts::check(agent).is_ok())) {
        if number % 6 == 5 {
            agent.budget.steps = Some(3);
        }
        match live(agent, number).as_deref() {
            Ok("completed") => completed += 1,
            Ok(_) => failed += 1,
            Err(why) => panic!("{why}"),
        }
    }
    (completed, failed)
}

#[test]
fn every_legal_pair_of_policies_carries_a_job_to_its_end() {
    let (completed, failed) = all_end(words::pairs());
    assert!(completed > 100 && failed > 100, "{completed} completed, {failed} failed");
}

#[test]
fn agents_with_a_word_of_every_axis_carry_a_job_to_its_end() {
    let legal = words::sample(40_000).filter(|agent| conflicts::check(agent).is_ok()).take(2000);
    let (completed, failed) = all_end(legal);
    assert!(completed + failed == 2000 && completed > 200 && failed > 200, "{completed} {failed}");
}

#[test]
fn every_preset_carries_a_job_to_its_end() {
    let presets = Catalogue::presets();
    for entry in presets.entries() {
        let agent = entry.resolved.unwrap();
        for number in 0..35 {
            let end = live(Agent::clone(&agent), number).unwrap();
            assert!(end == "completed" || end == "failed", "{}: {end}", entry.name);
        }
    }
}

#[test]
fn every_preset_with_a_schema_completes_with_a_result_that_fits_or_fails() {
    let presets = Catalogue::presets();
    let mut completed = 0;
    for entry in presets.entries() {
        let agent =
            Agent { output: Some(outputs::schema()), ..Agent::clone(&entry.resolved.unwrap()) };
        for number in 0..40 {
            let end = live(agent.clone(), number).unwrap();
            completed += u32::from(end == "completed");
            assert!(end == "completed" || end == "failed", "{}: {end}", entry.name);
        }
    }
    assert!(completed > 100, "{completed}");
}

#[test]
fn agents_with_a_schema_and_a_word_of_every_axis_carry_a_job_to_its_end() {
    let legal = words::sample(20_000).filter(|agent| conflicts::check(agent).is_ok()).take(1000);
    let stating = legal.map(|agent| Agent { output: Some(outputs::schema()), ..agent });
    let (completed, failed) = all_end(stating);
    assert!(completed > 50 && failed > 50, "{completed} {failed}");
}
