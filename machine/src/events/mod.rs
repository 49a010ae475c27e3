//! The projection of a job's log to its events. It is pure, so an event has the same id wherever
//! and whenever it is derived.
//!
//! The fold alone decides what a record means for the job. The cost of a record depends on what it
//! changed, not on the size of the job.

mod changes;
mod descendants;
mod folding;
mod look;
mod memory;
mod message;
mod nodes;
mod persons;

use std::collections::BTreeMap;

use proto::event::{
    ErrorEvent, ErrorScope, Happened, NoticeEvent, REASON_UNPARSEABLE, Stream, ToolEvent,
    ToolPhase, TurnEvent, TurnPhase, UsageEvent,
};
use proto::{
    decision::{Decision, Note},
    fact::{Called, Fact, PlanReply, Planned, TurnReply, Turned},
    family::{ChildSaid, News},
    id::{Attempt, StepId, ToolName, WorkId},
    job::Outcome,
    notice::{Notice, NoticeKind},
    record::Known,
    work_error::WorkError,
};

use serde_json::json;

pub use self::folding::Folded;
use self::{
    look::Look,
    memory::{Before, ToldPlan},
    message::message,
};
use crate::{kin_text, state::Job};

/// A projection that derives the events of one job from its records, in log order.
#[derive(Debug, Default)]
pub struct Projection {
    before: Option<Before>,
    told: Option<ToldPlan>,
    /// Units of work that are out, with their steps.
    out: BTreeMap<WorkId, Out>,
    /// Notices of the last command of each step; `None` is the planner.
    notices: BTreeMap<Option<StepId>, Vec<Notice>>,
}

#[derive(Debug, Clone)]
struct Out {
    step: StepId,
    tool: Option<ToolName>,
}

impl Projection {
    /// Compares the job with its state at the last look.
    fn look(&mut self, record: Option<&Known>, after: &Job) -> Vec<Happened> {
        let Some(after) = Look::at(after) else { return Vec::new() };
        let happened = self.happened(record, &after);
        match &mut self.before {
            Some(before) => before.update(&after),
            None => self.before = Some(Before::of(&after)),
        }
        happened
    }

    fn happened(&mut self, record: Option<&Known>, after: &Look<'_>) -> Vec<Happened> {
        let mut events = Vec::new();
        let before = self.before.as_ref();
        let has_ended = after.outcome().is_some();
        if before.is_some_and(|before| before.has_ended) && has_ended {
            // The end was the last event. The spending that children report afterwards is counted,
            // but is no event.
            return events;
        }
        // A late or duplicate result changed nothing and is no event.
        let counted = before.is_none_or(|before| before.ignored == after.ignored());
        let known = record.filter(|_| counted && !changes::newly_poisoned(before, after));
        if let Some(known) = known {
            self.said(known, after, &mut events);
            self.called(known, &mut events);
            self.spent(known, after, &mut events);
        }
        let before = self.before.as_ref();
        persons::said(before, known, after, &mut events);
        self.planned(after, &mut events);
        if let Some(known) = known {
            self.calling(known, &mut events);
        }
        let before = self.before.as_ref();
        persons::asked(before, after, &mut events);
        descendants::asked(before, after, &mut events);
        // The end is the last event of a job, so open questions close before it.
        if has_ended {
            descendants::settled(before, after, &mut events);
        }
        changes::ended(before, after, &mut events);
        events.extend(changes::job(before, after).map(Happened::Job));
        if !has_ended {
            descendants::settled(before, after, &mut events);
        }
        if let Some(known) = known {
            self.noticed(known, after, &mut events);
            events.extend(turn(known).map(Happened::Turn));
            nodes::moved(known, after, &mut events);
            if let Known::Fact(fact) = known
                && let Fact::Called(called) = &**fact
            {
                events.extend(after.new_artifacts(called).cloned().map(Happened::Artifact));
            }
        }
        events
    }

    /// Adds the changes of the plan and of its steps.
    fn planned(&mut self, after: &Look<'_>, events: &mut Vec<Happened>) {
        let (before, told, plan) = (self.before.as_ref(), self.told.as_ref(), after.plan());
        let shown = told.filter(|_| before.is_some_and(|before| before.has_plan));
        let was = shown.map(|told| told.steps.as_slice()).unwrap_or_default();
        let Some(plan) = plan else { return changes::steps(was, None, events) };
        // Most records move no step, and a plan may have hundreds.
        let is_still = told.is_some_and(|told| told.has_steps_of(&plan));
        let changed = changes::plan(before, (told, is_still), &plan, after);
        events.extend(changed.map(Happened::Plan));
        if !is_still || shown.is_none() {
            changes::steps(was, Some(&plan), events);
        }
        self.told.get_or_insert_default().update(&plan, is_still);
    }

    /// Adds the notices of a command that the last command of the same step, or of the planner, did
    /// not carry.
    fn noticed(&mut self, known: &Known, after: &Look<'_>, events: &mut Vec<Happened>) {
        let Known::Decision(decision) = known else { return };
        let (work, step) = match &**decision {
            Decision::Plan(plan) => (&plan.work, None),
            Decision::Turn(turn) => (&turn.work, Some(turn.step.clone())),
            Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Done(_)
            | Decision::Finish(_) => return,
        };
        // A limit of the budget concerns the whole job.
        let is_new = |notice: &&Notice| {
            let of_job = notice.kind() == NoticeKind::BudgetLow;
            let last = self.notices.iter().filter(|(of, _)| of_job || **of == step);
            !last.flat_map(|(_, told)| told).any(|told| told.repeats(notice))
        };
        events.extend(decision.notices().into_iter().filter(is_new).map(|notice| {
            Happened::Notice(NoticeEvent {
                notice: notice.clone(),
                message: notice.told(after.language()),
                work: work.clone(),
                step: step.clone(),
            })
        }));
        let notices = decision.notices().into_iter().cloned().collect();
        self.notices.insert(step, notices);
    }

    /// Adds messages of agents, and errors.
    fn said(&self, known: &Known, after: &Look<'_>, events: &mut Vec<Happened>) {
        let Known::Fact(fact) = known else {
            if let Known::Decision(decision) = known
                && let Decision::Note(Note::Stopped { work, notice }) = &**decision
            {
                events.push(Happened::Error(ErrorEvent {
                    scope: ErrorScope::Guard,
                    message: notice.text(after.language()),
                    reason: None,
                    work: Some(work.clone()),
                    attempt: None,
                    step: self.step_of(work),
                }));
            }
            return;
        };
        match &**fact {
            Fact::Planned(planned) => planner_said(planned, events),
            Fact::Turned(turned) => self.turn_said(turned, events),
            Fact::Called(called) => {
                if let Some(fault) = called.fault {
                    let message = called.result.error.clone().unwrap_or_default();
                    let mut error = broke(&called.work, called.attempt, message);
                    error.reason = serde_json::to_value(fault)
                        .ok()
                        .and_then(|word| word.as_str().map(str::to_owned));
                    error.step = self.step_of(&called.work);
                    events.push(Happened::Error(error));
                }
            }
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Started(_)
            | Fact::Answered(_)
            | Fact::Child(_)
            | Fact::Fired(_) => {}
        }
    }

    fn turn_said(&self, turned: &Turned, events: &mut Vec<Happened>) {
        let (step, work) = (self.step_of(&turned.work), Some(&turned.work));
        match &turned.reply {
            TurnReply::Calls { text, .. } => message(Stream::Thought, step, work, text, events),
            TurnReply::Done { response, value, .. } if value.is_null() => {
                message(Stream::Result, step, work, response, events);
            }
            TurnReply::Done { value, .. } => {
                message(Stream::Result, step, work, &value.to_string(), events);
            }
            TurnReply::Misfit { text, .. } => message(Stream::Thought, step, work, text, events),
            TurnReply::Summarised { summary, results } => {
                let texts = results.iter().map(|result| &result.text);
                for text in texts.chain(summary.iter().map(|summary| &summary.text)) {
                    message(Stream::Summary, step.clone(), work, text, events);
                }
            }
            TurnReply::Failed { error } => {
                let mut error = broke(&turned.work, turned.attempt, error.message.clone());
                error.step = step;
                events.push(Happened::Error(error));
            }
        }
    }

    fn called(&mut self, known: &Known, events: &mut Vec<Happened>) {
        let Known::Fact(fact) = known else { return };
        let called = match &**fact {
            Fact::Called(called) => called,
            Fact::Child(said) => return self.child_ended(said, events),
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Started(_)
            | Fact::Answered(_)
            | Fact::Fired(_) => return,
        };
        let Some(Out { step, tool: Some(tool) }) = self.out.get(&called.work).cloned() else {
            return;
        };
        let Called { work, attempt, result, fault, outage: _, duration_ms, cost: _, files: _ } =
            called;
        events.push(Happened::Tool(ToolEvent {
            work: work.clone(),
            attempt: *attempt,
            step,
            tool,
            phase: ToolPhase::Called {
                success: result.success,
                result: result.data.clone(),
                error: result.error.clone(),
                message: result.message.clone(),
                fault: *fault,
                duration_ms: *duration_ms,
            },
        }));
    }

    /// Adds the result of a child job in the form of a tool's result.
    fn child_ended(&self, said: &ChildSaid, events: &mut Vec<Happened>) {
        let News::Ended { outcome, .. } = &said.news else { return };
        let Some(Out { step, tool: Some(tool) }) = self.out.get(&said.work).cloned() else {
            return;
        };
        let (result, error) = match outcome {
            Outcome::Completed { summary, results, value } => {
                (Some(kin_text::result(summary, results, value)), None)
            }
            Outcome::Failed { message, .. } => (None, Some(message.clone())),
            Outcome::Canceled { reason } => (None, Some(reason.clone().unwrap_or_default())),
        };
        events.push(Happened::Tool(ToolEvent {
            work: said.work.clone(),
            attempt: said.attempt,
            step,
            tool,
            phase: ToolPhase::Called {
                success: error.is_none(),
                result,
                error,
                message: None,
                fault: None,
                // The child's own events carry its duration.
                duration_ms: 0,
            },
        }));
    }

    fn spent(&mut self, known: &Known, after: &Look<'_>, events: &mut Vec<Happened>) {
        let Known::Fact(fact) = known else { return };
        let (work, attempt, usage) = match &**fact {
            Fact::Planned(planned) => (&planned.work, planned.attempt, planned.usage),
            Fact::Turned(turned) => (&turned.work, turned.attempt, turned.usage),
            Fact::Called(called) => {
                let out = self.out.remove(&called.work);
                if !called.cost.is_nothing() {
                    let (tool, step) = out.map_or((None, None), |out| (out.tool, Some(out.step)));
                    events.push(Happened::Usage(UsageEvent {
                        work: called.work.clone(),
                        attempt: called.attempt,
                        step,
                        tool,
                        spent: called.cost.usage,
                        paid: called.cost.paid(),
                        total: after.usage(),
                    }));
                }
                return;
            }
            Fact::Child(said) => match &said.news {
                News::Ended { usage, .. } => (&said.work, said.attempt, *usage),
                News::Asks { .. } | News::Closed { .. } => return,
            },
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Started(_)
            | Fact::Answered(_)
            | Fact::Fired(_) => return,
        };
        let step = self.out.remove(work).map(|out| out.step);
        events.push(Happened::Usage(UsageEvent {
            work: work.clone(),
            attempt,
            step,
            tool: None,
            spent: usage,
            paid: None,
            total: after.usage(),
        }));
    }

    /// Adds the calls of a stored command, and remembers its step.
    fn calling(&mut self, known: &Known, events: &mut Vec<Happened>) {
        let Known::Decision(decision) = known else { return };
        match &**decision {
            Decision::Turn(turn) => {
                let out = Out { step: turn.step.clone(), tool: None };
                self.out.insert(turn.work.clone(), out);
            }
            Decision::Call(call) => {
                let told = |phase| {
                    Happened::Tool(ToolEvent {
                        work: call.work.clone(),
                        attempt: call.attempt,
                        step: call.step.clone(),
                        tool: call.tool.clone(),
                        phase,
                    })
                };
                events.push(told(ToolPhase::Calling {
                    args: call.args.clone(),
                    remembered: call.remembered.clone(),
                }));
                if let Some(error) = &call.refused {
                    events.push(told(refused(error)));
                    return;
                }
                let out = Out { step: call.step.clone(), tool: Some(call.tool.clone()) };
                self.out.insert(call.work.clone(), out);
            }
            Decision::Spawn(spawn) => {
                let Ok(tool) = ToolName::new(spawn.agent.name.as_str()) else { return };
                let (step, work) = (spawn.step.clone(), spawn.work.clone());
                let out = Out { step: step.clone(), tool: Some(tool.clone()) };
                self.out.insert(work.clone(), out);
                let args = json!({"goal": spawn.goal, "child": spawn.child});
                events.push(Happened::Tool(ToolEvent {
                    work,
                    attempt: spawn.attempt,
                    step,
                    tool,
                    phase: ToolPhase::Calling { args, remembered: spawn.remembered.clone() },
                }));
            }
            Decision::Plan(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Note(_)
            | Decision::Done(_)
            | Decision::Finish(_) => {}
        }
    }

    fn step_of(&self, work: &WorkId) -> Option<StepId> {
        self.out.get(work).map(|out| out.step.clone())
    }
}

/// Returns the beginning of the model call that a command asks for.
fn turn(known: &Known) -> Option<TurnEvent> {
    let Known::Decision(decision) = known else { return None };
    let (work, attempt, step) = match &**decision {
        Decision::Plan(plan) => (&plan.work, plan.attempt, None),
        Decision::Turn(turn) => (&turn.work, turn.attempt, Some(turn.step.clone())),
        Decision::Call(_)
        | Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Done(_)
        | Decision::Finish(_) => return None,
    };
    Some(TurnEvent { phase: TurnPhase::Asked, work: work.clone(), attempt, step })
}

/// Returns the end of a call that the supervisor refused to send.
fn refused(error: &WorkError) -> ToolPhase {
    ToolPhase::Called {
        success: false,
        result: None,
        error: Some(error.message.clone()),
        message: None,
        fault: None,
        duration_ms: 0,
    }
}

fn broke(work: &WorkId, attempt: Attempt, message: String) -> ErrorEvent {
    ErrorEvent {
        scope: ErrorScope::Attempt,
        message,
        reason: None,
        work: Some(work.clone()),
        attempt: Some(attempt),
        step: None,
    }
}

fn planner_said(planned: &Planned, events: &mut Vec<Happened>) {
    let failed =
        |message: &str| Happened::Error(broke(&planned.work, planned.attempt, message.to_owned()));
    match &planned.reply {
        PlanReply::Failed { error } => events.push(failed(&error.message)),
        PlanReply::Unparseable { error, .. } => {
            let reason = Some(REASON_UNPARSEABLE.to_owned());
            let event = broke(&planned.work, planned.attempt, error.clone());
            events.push(Happened::Error(ErrorEvent { reason, ..event }));
        }
        PlanReply::Noted { note } => {
            let text = note.response.as_deref().unwrap_or_default();
            message(Stream::Thought, None, Some(&planned.work), text, events);
        }
        // The final answer is reported with the end of the job, which follows.
        PlanReply::Plan { .. }
        | PlanReply::Question { .. }
        | PlanReply::Simple
        | PlanReply::Finished { .. } => {}
    }
}
