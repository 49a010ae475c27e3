//! The one projection from a job's log to its events: pure, and the same for every caller, so that
//! an event has the same id wherever and whenever it is derived.
//!
//! It never decides what a record means for the job: that is what the view says, which the fold gave.

mod changes;
mod descendants;
mod message;
mod persons;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;

use proto::event::{
    ErrorEvent, ErrorScope, Event, EventId, Happened, Stream, ToolEvent, ToolPhase, UsageEvent,
};
use proto::{
    decision::{Decision, Note},
    fact::{Called, Fact, PlanReply, Planned, TurnReply, Turned, WorkError},
    family::{ChildSaid, News},
    id::{Attempt, Seq, StepId, ToolName, WorkId},
    job::Outcome,
    record::Known,
    view::{JobView, PlanView},
};

use self::message::message;

/// Derives the events of one job from its records, in the order of the log.
#[derive(Debug, Default)]
pub struct Projection {
    before: Option<JobView>,
    /// The plan that was told of last. While another one is made, the job has none to show.
    told: Option<PlanView>,
    /// Work that is out: what its result is of.
    out: BTreeMap<WorkId, Out>,
}

#[derive(Debug, Clone)]
struct Out {
    step: StepId,
    tool: Option<ToolName>,
}

impl Projection {
    /// Takes the next record of the log and the job after it, and gives what happened with it.
    /// `record` is nothing when it cannot be read.
    ///
    /// Every record must be taken, from the first one on.
    pub fn take(
        &mut self,
        seq: Seq,
        time: Timestamp,
        record: Option<&Known>,
        after: JobView,
    ) -> Vec<Event> {
        let earlier = self.before.take();
        let (before, now) = (earlier.as_ref(), &after);
        if before.is_some_and(|before| before.outcome.is_some()) && now.outcome.is_some() {
            // What children spent until they heard of the end is counted, and is no event: the end
            // was the last one.
            self.before = Some(after);
            return Vec::new();
        }
        let mut events = Vec::new();
        // A result that came late or twice changed nothing: nothing happened.
        let counted = before.is_none_or(|before| before.ignored == now.ignored);
        let known = record.filter(|_| counted && !changes::newly_poisoned(before, now));
        if let Some(known) = known {
            self.said(known, now, &mut events);
            self.called(known, &mut events);
            self.spent(known, now, &mut events);
        }
        persons::said(before, known, now, &mut events);
        events.extend(changes::plan(before, self.told.as_ref(), now).map(Happened::Plan));
        if now.plan.is_some() {
            self.told.clone_from(&now.plan);
        }
        changes::steps(before, now, &mut events);
        if let Some(known) = known {
            self.calling(known, &mut events);
        }
        persons::asked(before, now, &mut events);
        descendants::asked(before, now, &mut events);
        // The last event of a job is its end, and tells nothing that is still open.
        let has_ended = now.outcome.is_some();
        if has_ended {
            descendants::settled(before, now, &mut events);
        }
        changes::ended(before, now, &mut events);
        events.extend(changes::job(before, now).map(Happened::Job));
        if !has_ended {
            descendants::settled(before, now, &mut events);
        }
        self.before = Some(after);
        let ids = 1u32..;
        let numbered = ids.zip(events);
        numbered
            .map(|(index, happened)| Event { id: EventId { seq, index }, time, happened })
            .collect()
    }

    /// What agents said, and what broke.
    fn said(&self, known: &Known, after: &JobView, events: &mut Vec<Happened>) {
        let Known::Fact(fact) = known else {
            if let Known::Decision(decision) = known
                && let Decision::Note(Note::Stopped { work, notice }) = &**decision
            {
                events.push(Happened::Error(ErrorEvent {
                    scope: ErrorScope::Guard,
                    message: notice.text(after.language),
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
            TurnReply::Done { response, .. } => {
                message(Stream::Result, step, work, response, events)
            }
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
        let Called { work, attempt, result, fault, duration_ms, cost: _ } = called;
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

    /// What another agent was asked for has come: told as what comes of a tool is.
    fn child_ended(&self, said: &ChildSaid, events: &mut Vec<Happened>) {
        let News::Ended { outcome, .. } = &said.news else { return };
        let Some(Out { step, tool: Some(tool) }) = self.out.get(&said.work).cloned() else {
            return;
        };
        let (result, error) = match outcome {
            Outcome::Completed { summary, results } => {
                (Some(json!({"response": summary, "results": results})), None)
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
                // The child's own events say how long it took.
                duration_ms: 0,
            },
        }));
    }

    fn spent(&mut self, known: &Known, after: &JobView, events: &mut Vec<Happened>) {
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
                        total: after.usage,
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
            total: after.usage,
        }));
    }

    /// Commands that go out.
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
                events.push(told(ToolPhase::Calling { args: call.args.clone() }));
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
                    phase: ToolPhase::Calling { args },
                }));
            }
            Decision::Plan(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Note(_)
            | Decision::Finish(_) => {}
        }
    }

    fn step_of(&self, work: &WorkId) -> Option<StepId> {
        self.out.get(work).map(|out| out.step.clone())
    }
}

/// The end of a call that the supervisor did not send.
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
        PlanReply::Unparseable { error, .. } => events.push(failed(error)),
        PlanReply::Noted { note } => {
            let text = note.response.as_deref().unwrap_or_default();
            message(Stream::Thought, None, Some(&planned.work), text, events);
        }
        // The final answer is told with the job's end, which follows.
        PlanReply::Plan { .. }
        | PlanReply::Question { .. }
        | PlanReply::Simple
        | PlanReply::Finished { .. } => {}
    }
}
