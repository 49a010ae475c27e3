//! One step of a plan: what it waits for, how it is carried out, how it ended.

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    agent::{Agent, OnUnsuccessful, StepExec},
    budget::Spend,
    decision::StepEnd,
    fact::WorkError,
    id::{Attempt, Generation, Seq, StepId},
    job::FailReason,
    lang::Language,
    notice::Notice,
    observe::Observe,
    outline::Item,
    plan::{Action, Step},
    preset::Presets,
    rules::Rules,
    step::StepState,
    view::CallView,
};
use serde_json::Value;

use super::{
    anomaly::Watch,
    arguments,
    budget::Spent,
    call::{Call, CallEnd, why},
    names, text,
    tries::Tries,
    turn::{Acting, Turn, UnitKind},
};

/// A step of a plan that is or was in force.
#[derive(Debug, Clone)]
pub(super) struct StepRun {
    /// Shared, as what never changes is not copied with the rest.
    pub(super) step: Arc<Step>,
    /// The revision of its plan; part of the names of its work.
    pub(super) revision: u32,
    /// The generation of the job; part of those names too.
    pub(super) generation: Generation,
    pub(super) state: StepState,
    pub(super) exec: Exec,
    /// What later steps see.
    pub(super) result: Option<Value>,
    /// Its result or error, for people.
    pub(super) response: Option<String>,
    /// It completed, and its agent reported that it did not reach what it was for.
    pub(super) unsuccessful: bool,
    /// Files and addresses that belong to its result.
    pub(super) attachments: Vec<String>,
    pub(super) attempts: u32,
    pub(super) turns: u32,
    /// Calls of turns that are over.
    pub(super) calls: Vec<CallView>,
    /// What the run has come to, once a turn of it is over.
    pub(super) watch: Option<Box<Watch>>,
    /// What its guards saw last.
    pub(super) notices: Vec<Notice>,
    pub(super) started: Option<Timestamp>,
    /// Whether it was counted among what the job has spent.
    pub(super) counted: bool,
    pub(super) ended: Option<Timestamp>,
    /// What its loop intends, where it keeps a list of its own.
    pub(super) outline: Option<Vec<Item>>,
    /// How many steps of its plan come one after the other above it, where that decides its turn.
    pub(super) level: u32,
    /// The plan in which it is not any more.
    pub(super) left: Option<u32>,
}

/// How a step is being carried out.
#[derive(Debug, Clone)]
pub(super) enum Exec {
    /// Its dependencies are not there yet.
    NotBegun,
    /// It is one tool call.
    Tool(Box<Call>),
    /// A model turn should be taken, or is.
    Turn(Turn),
    /// The calls of a turn are carried out.
    Acting(Acting),
    /// A run failed; the next one waits for the clock.
    Rerun(Tries),
    /// It has ended.
    Ended,
}

/// What of its job a step is begun with.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) presets: &'a Presets,
    pub(super) rules: Rules,
    pub(super) language: Language,
}

impl StepRun {
    pub(super) fn new(step: Step, generation: Generation, revision: u32) -> Self {
        Self {
            step: Arc::new(step),
            revision,
            generation,
            state: StepState::Pending,
            exec: Exec::NotBegun,
            result: None,
            response: None,
            unsuccessful: false,
            attachments: Vec::new(),
            attempts: 0,
            turns: 0,
            calls: Vec::new(),
            watch: None,
            notices: Vec::new(),
            started: None,
            counted: false,
            ended: None,
            outline: None,
            level: 0,
            left: None,
        }
    }

    pub(super) fn id(&self) -> &StepId {
        &self.step.id
    }

    /// Everything it depends on is there: prepares its first command, or fails it when its
    /// arguments cannot be resolved.
    pub(super) fn ready(
        &mut self,
        lookup: &impl Fn(&StepId) -> Option<Value>,
        given: Given<'_>,
        at: Timestamp,
    ) {
        let Given { presets, rules, language } = given;
        match &self.step.action {
            Action::Tool { tool, args, binding } => {
                let reads = (args, self.step.depends_on.as_slice());
                match arguments::resolved(reads, lookup, rules, language) {
                    Ok(args) => {
                        let work = names::step(self.generation, self.revision, self.id());
                        // What is fixed is no text of a plan: nothing in it is looked up.
                        let args = presets.fill(tool, args);
                        let call = Call::new(work, tool.clone(), binding.clone(), args);
                        self.exec = Exec::Tool(Box::new(call));
                        self.become_state(StepState::Ready);
                    }
                    Err(missing) => self.fail(text::unresolved(language, &missing), at),
                }
            }
            Action::Agent => {
                self.exec = Exec::Turn(self.first_turn(1, None));
                self.become_state(StepState::Ready);
            }
        }
    }

    fn first_turn(&self, run: u32, previous_error: Option<String>) -> Turn {
        Turn {
            run,
            number: 1,
            work: names::turn(self.generation, self.revision, self.id(), run, 1),
            tries: Tries::Idle,
            after: None,
            replies: Vec::new(),
            previous_error,
            notices: Vec::new(),
            must_answer: false,
            told: 0,
            carries: 0,
            summarised: false,
            summary: None,
        }
    }

    /// Draws the conclusions of what has been answered so far.
    pub(super) fn settle(&mut self, agent: &Agent, language: Language, at: Timestamp) {
        match std::mem::replace(&mut self.exec, Exec::Ended) {
            Exec::Tool(mut call) => {
                call.settle(agent);
                self.attempts = call.tries.attempts();
                match call.end.take() {
                    None => self.exec = Exec::Tool(call),
                    Some(end) => self.tool_ended(*call, end, language, at),
                }
            }
            Exec::Turn(turn) => {
                self.attempts = turn.run;
                let is_parked = turn.tries.is_parked(agent);
                match turn.tries.given_up(&agent.tool.retry).map(|e| e.message.clone()) {
                    _ if is_parked => self.exec = Exec::Turn(turn),
                    None => self.exec = Exec::Turn(turn),
                    Some(error) => self.run_failed(turn.run, error, agent, at),
                }
            }
            Exec::Acting(mut acting) => {
                acting.settle(agent);
                self.settle_acting(acting, agent, language, at);
            }
            Exec::Rerun(tries) => match (tries.to_send(), tries.given_up(&agent.step.retry)) {
                (Some(run), _) => {
                    let error = self.response.take();
                    (self.watch, self.notices) = (None, Vec::new());
                    self.exec = Exec::Turn(self.first_turn(run.0, error));
                }
                (None, Some(error)) => self.fail(error.message.clone(), at),
                (None, None) => self.exec = Exec::Rerun(tries),
            },
            exec @ (Exec::NotBegun | Exec::Ended) => self.exec = exec,
        }
        self.follow();
    }

    fn settle_acting(&mut self, acting: Acting, agent: &Agent, language: Language, at: Timestamp) {
        let name =
            |number| names::turn(self.generation, self.revision, &self.step.id, acting.run, number);
        let Some(mut next) = acting.next(name, &agent.observe, language) else {
            self.exec = Exec::Acting(acting);
            return;
        };
        self.calls.extend(acting.calls().map(Call::view));
        if agent.step.exec == StepExec::SingleAction
            && let Some(action) = acting.action()
        {
            return self.acted(action, acting.run, agent, language, at);
        }
        let verdict = self.watch.get_or_insert_default().over(&acting.ended(), &agent.guard);
        self.notices.clone_from(&verdict.notices);
        (next.notices, next.must_answer) = (verdict.notices, verdict.must_answer);
        if next.number > agent.step.max_turns {
            let error = text::turns_used_up(language, agent.step.max_turns);
            self.run_failed(acting.run, error, agent, at);
        } else {
            self.exec = Exec::Turn(next);
        }
    }

    /// The one action of a step was taken: what came of it is what came of the step.
    fn acted(
        &mut self,
        action: &UnitKind,
        run: u32,
        agent: &Agent,
        language: Language,
        at: Timestamp,
    ) {
        let ended = match action {
            UnitKind::Tool(call) => match &call.end {
                Some(CallEnd::Answered(result)) if result.success => {
                    Ok((result.value(), said(result)))
                }
                Some(CallEnd::Answered(result)) => Err(why(result)),
                Some(CallEnd::Unknown(result)) => {
                    return self.fail(text::effect_unknown(language, &why(result)), at);
                }
                Some(CallEnd::Refused(reason)) => Err(text::not_approved(language, reason)),
                None => return,
            },
            UnitKind::Person { reply, .. } => {
                let reply = reply.clone().unwrap_or_default();
                Ok((Value::String(reply.clone()), reply))
            }
            UnitKind::Noted(_) => return,
            UnitKind::Refused(error) => Err(error.clone()),
        };
        match ended {
            Ok((result, response)) => self.complete(result, response, at),
            Err(error) => self.run_failed(run, error, agent, at),
        }
    }

    /// A guard ended the run.
    pub(super) fn stop(
        &mut self,
        notice: Notice,
        run: u32,
        error: String,
        agent: &Agent,
        at: Timestamp,
    ) {
        self.notices = vec![notice];
        self.run_failed(run, error, agent, at);
        self.follow();
    }

    /// Why a job has failed that this step fails.
    pub(super) fn fail_reason(&self) -> FailReason {
        let stopped = |notice: &Notice| match notice {
            Notice::NoProgress { .. } | Notice::NoAnswer => true,
            Notice::ToolFailure { .. } | Notice::Repeated { .. } | Notice::BudgetLow { .. } => {
                false
            }
        };
        if self.notices.iter().any(stopped) {
            FailReason::NoProgress
        } else {
            FailReason::StepFailed
        }
    }

    fn tool_ended(&mut self, mut call: Call, end: CallEnd, language: Language, at: Timestamp) {
        let ended = match &end {
            CallEnd::Answered(result) if result.success => Ok((result.value(), said(result))),
            CallEnd::Answered(result) => Err(why(result)),
            CallEnd::Unknown(result) => Err(text::effect_unknown(language, &why(result))),
            CallEnd::Refused(reason) => Err(text::not_approved(language, reason)),
        };
        call.end = Some(end);
        self.calls.push(call.view());
        match ended {
            Ok((result, response)) => self.complete(result, response, at),
            Err(error) => self.fail(error, at),
        }
    }

    /// The model reported the step's end.
    pub(super) fn reported(
        &mut self,
        (success, attachments): (bool, Vec<String>),
        response: String,
        run: u32,
        agent: &Agent,
        at: Timestamp,
    ) {
        match (success, agent.step.on_unsuccessful) {
            (true, _) | (false, OnUnsuccessful::Complete) => {
                (self.unsuccessful, self.attachments) = (!success, attachments);
                self.complete(Value::String(response.clone()), response, at);
            }
            (false, OnUnsuccessful::Fail) => self.run_failed(run, response, agent, at),
        }
        self.follow();
    }

    /// A run of the step failed: another follows by the step's policy, or the step has failed.
    fn run_failed(&mut self, run: u32, error: String, agent: &Agent, at: Timestamp) {
        if agent.step.retry.delay(Attempt(run), 0).is_none() {
            return self.fail(error, at);
        }
        let broken = WorkError { message: error.clone(), transient: true, retry_after_ms: None };
        self.response = Some(error);
        self.exec = Exec::Rerun(Tries::Broken { attempt: Attempt(run), error: broken, at });
    }

    fn complete(&mut self, result: Value, response: String, at: Timestamp) {
        self.result = Some(result);
        self.end(StepState::Completed, Some(response), at);
    }

    pub(super) fn fail(&mut self, error: String, at: Timestamp) {
        self.end(StepState::Failed, Some(error), at);
    }

    pub(super) fn end(&mut self, state: StepState, response: Option<String>, at: Timestamp) {
        // A direct call is begun and ended by facts alone; the state passes through `running`.
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

    /// A command of it was stored.
    pub(super) fn begun(&mut self, at: Timestamp, spent: &mut Spent, what: Spend, again: bool) {
        if !again {
            spent.count(what);
        }
        if !self.counted {
            spent.count(Spend::Step);
            self.counted = true;
        }
        self.started.get_or_insert(at);
        self.follow();
    }

    /// A person was asked about it, which begins it and spends nothing. By the first rules no step
    /// counted that was begun so.
    pub(super) fn asked_about(&mut self, at: Timestamp, rules: Rules) {
        self.counted |= self.started.is_none() && rules < Rules::SECOND;
        self.started.get_or_insert(at);
        self.follow();
    }

    /// Lets the state follow what is going on.
    pub(super) fn follow(&mut self) {
        let next = match &self.exec {
            Exec::NotBegun | Exec::Ended => return,
            Exec::Tool(call) if call.is_waiting() => StepState::Waiting,
            Exec::Acting(acting) if acting.is_waiting() => StepState::Waiting,
            Exec::Rerun(tries) if tries.timer().is_some() => StepState::Waiting,
            Exec::Turn(turn) if turn.tries.timer().is_some() => StepState::Waiting,
            Exec::Tool(_) | Exec::Turn(_) | Exec::Acting(_) | Exec::Rerun(_) => {
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
            Exec::Turn(turn) => turn.tries.is_out(),
            Exec::Acting(acting) => acting.has_work_out(),
            Exec::NotBegun | Exec::Rerun(_) | Exec::Ended => false,
        }
    }

    /// How it ended, for prompts.
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

    /// The call that a unit of work is, wherever it stands, and whether it is the whole step.
    pub(super) fn call_mut(&mut self, find: impl Fn(&Call) -> bool) -> Option<(&mut Call, bool)> {
        match &mut self.exec {
            Exec::Tool(call) if find(call) => Some((call.as_mut(), true)),
            Exec::Acting(acting) => acting.call_mut(find).map(|call| (call, false)),
            Exec::Tool(_) | Exec::NotBegun | Exec::Turn(_) | Exec::Rerun(_) | Exec::Ended => None,
        }
    }

    /// Every call of what is carried out now.
    pub(super) fn calls_mut(&mut self, change: &mut dyn FnMut(&mut Call)) {
        match &mut self.exec {
            Exec::Tool(call) => change(call),
            Exec::Acting(acting) => acting.calls_mut().for_each(change),
            Exec::NotBegun | Exec::Turn(_) | Exec::Rerun(_) | Exec::Ended => {}
        }
    }

    /// Every set of tries that a timer may be for.
    pub(super) fn tries_mut(&mut self) -> Vec<&mut Tries> {
        match &mut self.exec {
            Exec::Tool(call) => vec![&mut call.tries],
            Exec::Turn(turn) => vec![&mut turn.tries],
            Exec::Rerun(tries) => vec![tries],
            Exec::Acting(acting) => acting
                .units
                .iter_mut()
                .filter_map(|unit| match &mut unit.kind {
                    UnitKind::Tool(call) => Some(&mut call.tries),
                    UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
                })
                .collect(),
            Exec::NotBegun | Exec::Ended => Vec::new(),
        }
    }

    /// The calls of a turn were read.
    pub(super) fn acts(&mut self, heard: Seq, acting: Acting) {
        debug_assert_eq!(acting.heard, heard, "the calls are those of the turn that was heard");
        self.exec = Exec::Acting(acting);
        self.follow();
    }
}

/// What a result says, for people.
fn said(result: &proto::tool::ToolResult) -> String {
    match (&result.message, &result.data) {
        (Some(message), _) => message.clone(),
        (None, Some(Value::String(text))) => text.clone(),
        (None, Some(data)) => data.to_string(),
        (None, None) => String::new(),
    }
}
