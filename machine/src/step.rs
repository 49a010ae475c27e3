//! One step of a plan: its dependencies, its execution and its end.

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    agent::ReplanApply,
    budget::Spend,
    decision::StepEnd,
    id::{AskId, Generation, Seq, StepId, WorkId},
    job::FailReason,
    notice::Notice,
    observe::Observe,
    outline::Item,
    plan::Step,
    spent::Spent,
    step::StepState,
    view::CallView,
};
use serde_json::Value;

use super::{
    attempts::Attempts,
    call::{Agreement, Call},
    loops::Watch,
    names,
    nodes::{Inquiry, Sleep, VisitRules},
    state::Spending,
    turn::{Acting, Turn, Unit, UnitKind},
};

/// A step of a plan that is or was in force.
#[derive(Debug, Clone)]
pub(super) struct StepRun {
    /// Shared between clones of the job, because it never changes.
    pub(super) step: Arc<Step>,
    /// Places in [`Execution::all`](super::state::Execution::all) of the steps that this one depends
    /// on, in the order of `depends_on`; `None` for one that no plan has.
    pub(super) above: Arc<[Option<usize>]>,
    /// Revision of the plan; part of the names of the step's work.
    pub(super) revision: u32,
    /// Generation of the job; part of the names of the step's work.
    pub(super) generation: Generation,
    pub(super) state: StepState,
    pub(super) exec: Exec,
    /// Result that later steps read; `None` until the step completes.
    pub(super) result: Option<Value>,
    /// Text of the result or error, for display.
    pub(super) response: Option<String>,
    /// `true` if the step completed although its agent reported that it did not reach its purpose.
    pub(super) unsuccessful: bool,
    /// Files and addresses that belong to the result.
    pub(super) attachments: Vec<String>,
    pub(super) attempted: u32,
    pub(super) turns: u32,
    /// Cost of its model turns and tool calls. The cost of a child job is its own.
    pub(super) spent: Spent,
    /// Calls of finished turns.
    pub(super) calls: Vec<CallView>,
    /// The loop guard's record of the run; `None` until its first turn is over.
    pub(super) watch: Option<Box<Watch>>,
    /// Notices of the guards after the last turn.
    pub(super) notices: Vec<Notice>,
    pub(super) started: Option<Timestamp>,
    /// `true` once the step is counted in the job's spending.
    pub(super) counted: bool,
    pub(super) ended: Option<Timestamp>,
    /// The step's outline, if its model keeps one.
    pub(super) outline: Option<Vec<Item>>,
    /// Level in the graph of dependencies: the longest chain of steps above it. Read only if
    /// dispatch is by levels.
    pub(super) level: u32,
    /// Revision of the first plan that the step is no longer part of.
    pub(super) left: Option<u32>,
    /// `true` if the step is no part of a plan: its model gives the result of the job.
    pub(super) is_output: bool,
    /// `true` if the step failed because no reply fit the schema of the result.
    pub(super) is_misfit: bool,
    /// Settings of a workflow's visit; absent for a step of a plan.
    pub(super) rules: Option<Box<VisitRules>>,
}

/// The current phase of a step's execution.
#[derive(Debug, Clone)]
pub(super) enum Exec {
    /// Its dependencies have not completed.
    NotBegun,
    /// The step is one tool call.
    Tool(Box<Call>),
    /// A model turn is to be sent, or is with a worker.
    Turn(Turn),
    /// The calls of a turn are being carried out.
    Acting(Acting),
    /// A run failed, and the next one waits for its timer.
    Rerun(Attempts),
    /// The step is one question to a person.
    Asked(Box<Inquiry>),
    /// The step is a pause, or a wait for an event.
    Sleep(Sleep),
    /// The step has ended.
    Ended,
}

impl StepRun {
    pub(super) fn new(step: Step, generation: Generation, revision: u32) -> Self {
        Self {
            step: Arc::new(step),
            above: Arc::default(),
            revision,
            generation,
            state: StepState::Pending,
            exec: Exec::NotBegun,
            result: None,
            response: None,
            unsuccessful: false,
            attachments: Vec::new(),
            attempted: 0,
            turns: 0,
            spent: Spent::default(),
            calls: Vec::new(),
            watch: None,
            notices: Vec::new(),
            started: None,
            counted: false,
            ended: None,
            outline: None,
            level: 0,
            left: None,
            is_output: false,
            is_misfit: false,
            rules: None,
        }
    }

    pub(super) fn id(&self) -> &StepId {
        &self.step.id
    }

    /// Returns the reason with which the job fails if this step fails it.
    pub(super) fn fail_reason(&self) -> FailReason {
        let stopped = |notice: &Notice| match notice {
            Notice::NoProgress { .. } | Notice::NoAnswer => true,
            Notice::ToolFailure { .. } | Notice::Repeated { .. } | Notice::BudgetLow { .. } => {
                false
            }
        };
        if self.is_misfit {
            FailReason::OutputInvalid
        } else if self.notices.iter().any(stopped) {
            FailReason::NoProgress
        } else {
            FailReason::StepFailed
        }
    }

    pub(super) fn fail(&mut self, error: String, at: Timestamp) {
        self.end(StepState::Failed, Some(error), at);
    }

    pub(super) fn end(&mut self, state: StepState, response: Option<String>, at: Timestamp) {
        // A direct call has no stored start, so the state passes through `running` here.
        if self.state == StepState::Ready && state == StepState::Completed {
            self.become_state(StepState::Running);
        }
        self.become_state(state);
        self.exec = Exec::Ended;
        self.ended = Some(at);
        if response.is_some() {
            self.response = response;
        }
    }

    /// Records that a command of the step was stored.
    pub(super) fn begun(
        &mut self,
        at: Timestamp,
        spending: &mut Spending,
        what: Spend,
        again: bool,
    ) {
        if !again {
            spending.count(what);
        }
        if !self.counted {
            spending.count(Spend::Step);
            self.counted = true;
        }
        self.started.get_or_insert(at);
        self.follow();
    }

    /// Records a question about the step, which starts it and spends nothing.
    pub(super) fn asked_about(&mut self, at: Timestamp) {
        self.started.get_or_insert(at);
        self.follow();
    }

    /// Derives the state from the phase of execution.
    pub(super) fn follow(&mut self) {
        let next = match &self.exec {
            Exec::NotBegun | Exec::Ended => return,
            Exec::Asked(inquiry) if inquiry.ask.is_some() => StepState::Waiting,
            Exec::Sleep(sleep) if sleep.is_waiting() => StepState::Waiting,
            Exec::Tool(call) if call.is_waiting() => StepState::Waiting,
            Exec::Acting(acting) if acting.is_waiting() => StepState::Waiting,
            Exec::Rerun(attempts) if attempts.timer().is_some() => StepState::Waiting,
            Exec::Turn(turn) if turn.attempts.timer().is_some() => StepState::Waiting,
            Exec::Tool(_)
            | Exec::Turn(_)
            | Exec::Acting(_)
            | Exec::Rerun(_)
            | Exec::Asked(_)
            | Exec::Sleep(_) => {
                if self.started.is_none() {
                    return;
                }
                StepState::Running
            }
        };
        self.become_state(next);
    }

    pub(super) fn become_state(&mut self, next: StepState) {
        debug_assert!(
            self.state == next || self.state.may_become(next),
            "step {}: {} cannot become {next}",
            self.step.id,
            self.state
        );
        self.state = next;
    }

    pub(super) fn has_work_out(&self) -> bool {
        match &self.exec {
            Exec::Tool(call) => call.has_work_out(),
            Exec::Turn(turn) => turn.attempts.is_out(),
            Exec::Acting(acting) => acting.has_work_out(),
            Exec::NotBegun | Exec::Rerun(_) | Exec::Asked(_) | Exec::Sleep(_) | Exec::Ended => {
                false
            }
        }
    }

    /// Returns the step's end, for prompts.
    pub(super) fn as_end(&self, observe: &Observe) -> StepEnd {
        let response = match (&self.result, &self.response) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), _) => value.to_string(),
            (None, response) => response.clone().unwrap_or_default(),
        };
        StepEnd {
            id: self.step.id.clone(),
            state: self.state,
            response: observe.cut(&response),
            unsuccessful: self.unsuccessful,
            attachments: self.attachments.clone(),
        }
    }

    /// Returns the first running call that matches, with `true` if the call is the whole step.
    pub(super) fn call_mut(&mut self, find: impl Fn(&Call) -> bool) -> Option<(&mut Call, bool)> {
        match &mut self.exec {
            Exec::Tool(call) if find(call) => Some((call.as_mut(), true)),
            Exec::Acting(acting) => acting.call_mut(find).map(|call| (call, false)),
            Exec::Tool(_)
            | Exec::NotBegun
            | Exec::Turn(_)
            | Exec::Rerun(_)
            | Exec::Asked(_)
            | Exec::Sleep(_)
            | Exec::Ended => None,
        }
    }

    /// Applies `change` to every running call.
    pub(super) fn calls_mut(&mut self, change: &mut dyn FnMut(&mut Call)) {
        match &mut self.exec {
            Exec::Tool(call) => change(call),
            Exec::Acting(acting) => acting.calls_mut().for_each(change),
            Exec::NotBegun
            | Exec::Turn(_)
            | Exec::Rerun(_)
            | Exec::Asked(_)
            | Exec::Sleep(_)
            | Exec::Ended => {}
        }
    }

    /// Returns every set of attempts that a timer may be for.
    pub(super) fn attempts_mut(&mut self) -> Vec<&mut Attempts> {
        match &mut self.exec {
            Exec::Tool(call) => vec![&mut call.attempts],
            Exec::Turn(turn) => vec![&mut turn.attempts],
            Exec::Rerun(attempts) => vec![attempts],
            Exec::Acting(acting) => acting
                .units
                .iter_mut()
                .filter_map(|unit| match &mut unit.kind {
                    UnitKind::Tool(call) => Some(&mut call.attempts),
                    UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
                })
                .collect(),
            Exec::NotBegun | Exec::Asked(_) | Exec::Sleep(_) | Exec::Ended => Vec::new(),
        }
    }

    /// Records that a turn asked for calls.
    pub(super) fn acts(&mut self, heard: Seq, acting: Acting) {
        debug_assert_eq!(acting.heard, heard, "the calls are those of the turn that was heard");
        self.exec = Exec::Acting(acting);
        self.follow();
    }

    /// Returns every set of attempts that a timer may be for.
    pub(super) fn attempts(&self) -> impl Iterator<Item = &Attempts> {
        let own = match &self.exec {
            Exec::Turn(turn) => Some(&turn.attempts),
            Exec::Rerun(attempts) => Some(attempts),
            Exec::Tool(_)
            | Exec::Acting(_)
            | Exec::NotBegun
            | Exec::Asked(_)
            | Exec::Sleep(_)
            | Exec::Ended => None,
        };
        own.into_iter().chain(self.calls_now().map(|call| &call.attempts))
    }

    /// Returns the running calls.
    pub(super) fn calls_now(&self) -> impl Iterator<Item = &Call> {
        let (one, acting) = match &self.exec {
            Exec::Tool(call) => (Some(call.as_ref()), None),
            Exec::Acting(acting) => (None, Some(acting)),
            Exec::NotBegun
            | Exec::Turn(_)
            | Exec::Rerun(_)
            | Exec::Asked(_)
            | Exec::Sleep(_)
            | Exec::Ended => (None, None),
        };
        one.into_iter().chain(acting.into_iter().flat_map(Acting::calls))
    }

    /// Returns the number of questions that the turn asked for and that are not stored yet.
    pub(super) fn unasked(&self) -> u32 {
        let Exec::Acting(acting) = &self.exec else { return 0 };
        let is_unasked = |unit: &&Unit| matches!(&unit.kind, UnitKind::Person { ask: None, .. });
        u32::try_from(acting.units.iter().filter(is_unasked).count()).unwrap_or(u32::MAX)
    }

    /// Records that a question of the step was stored and returns `true` if an agent asked it.
    /// `None` if the step awaits no such question.
    pub(super) fn attach(&mut self, work: &WorkId, id: &AskId) -> Option<bool> {
        let approved = self.call_mut(|call| names::approval(&call.work) == *work);
        if let Some((call, _)) = approved {
            // A rule of the agent may ask about a call that needs no approval by itself.
            let wanted = matches!(call.agreement, Agreement::Wanted | Agreement::NotNeeded);
            call.agreement = Agreement::Asked(id.clone());
            return wanted.then_some(false);
        }
        if let Exec::Asked(inquiry) = &mut self.exec
            && inquiry.work == *work
            && inquiry.ask.is_none()
        {
            inquiry.ask = Some(id.clone());
            return Some(false);
        }
        let Exec::Acting(acting) = &mut self.exec else { return None };
        acting.units.iter_mut().find_map(|unit| {
            let UnitKind::Person { work: own, ask: ask @ None, .. } = &mut unit.kind else {
                return None;
            };
            if own != work {
                return None;
            }
            *ask = Some(id.clone());
            Some(true)
        })
    }

    /// Returns `true` if the step stays in force when its plan is replaced.
    pub(super) fn stays(&self, apply: ReplanApply) -> bool {
        apply == ReplanApply::Append && !self.state.is_terminal() && !self.is_output
    }

    /// Renames the positions that the step refers to. A fork holds copies of them.
    pub(super) fn refer_to(&mut self, named: impl Fn(Seq) -> Seq) {
        match &mut self.exec {
            Exec::Turn(turn) => {
                turn.after = turn.after.map(&named);
                if let Some(summary) = &mut turn.summary {
                    summary.through = named(summary.through);
                }
            }
            Exec::Acting(acting) => acting.heard = named(acting.heard),
            Exec::Tool(_)
            | Exec::Rerun(_)
            | Exec::NotBegun
            | Exec::Asked(_)
            | Exec::Sleep(_)
            | Exec::Ended => {}
        }
    }
}
