//! A test driver: a job and its log. Every record takes the live path, and after each one the whole
//! log is folded again. A difference fails the test, and so does a fold that evaluates an expression.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proto::{
    agent::Agent,
    cost::Cost,
    decision::{Decision, Note},
    fact::{
        Answered, Asked, AskedKind, CallTarget, Called, Fact, Fired, PlanReply, Planned, Signal,
        Signaled, Source, Submitted, TurnCall, TurnReply, Turned,
    },
    fallback::{AnsweredBy, FallbackReason, FellBack},
    id::{AskId, Attempt, JobId, Pool, Seq, StepId, TimerName, ToolName, WorkId},
    interaction::{Answer, Verdict},
    job::Outcome,
    lang::Language,
    message::Usage,
    plan::{Action, Plan, Step},
    record::{Known, Unreadable},
    subject::Family,
    tool::{Approval, Binding, Effect, Fault, ToolResult},
    view::JobView,
    work_error::{ErrorClass, WorkError},
};
use serde_json::{Value, json};

use crate::{At, Job, Replay, Surroundings, Tell, graph::without_evaluator, timeline};

#[derive(Clone)]
pub(super) struct Play {
    pub(super) job: Job,
    pub(super) log: Vec<(At, Family, Result<Known, Unreadable>)>,
    pub(super) armed: BTreeMap<TimerName, Timestamp>,
    /// The decisions of the last `drive`, in full.
    pub(super) decisions: Vec<Decision>,
    /// Messages to other jobs that no test has taken yet.
    pub(super) tells: Vec<Tell>,
    now: Timestamp,
    /// Tokens on the bill after the last record.
    paid: u64,
}

pub(super) fn agent(change: impl FnOnce(&mut Agent)) -> Agent {
    let mut agent = Agent { confirm: false, ..Agent::default() };
    change(&mut agent);
    agent
}

pub(super) fn work(id: &str) -> WorkId {
    WorkId::new(id).unwrap()
}

pub(super) fn binding() -> Binding {
    let pool = Pool::new("builtin").unwrap();
    Binding {
        pool,
        effect: Effect::Idempotent,
        approval: Approval::Never,
        destructive: false,
        untrusted: false,
        version: "1".into(),
    }
}

/// Returns a plan from `"a b<a"` (b depends on a); each step is one call of `echo`.
pub(super) fn plan(steps: &str) -> Plan {
    plan_with(steps, |_| Action::Tool {
        tool: ToolName::new("echo").unwrap(),
        args: json!({}),
        binding: binding(),
    })
}

pub(super) fn plan_with(steps: &str, action: impl Fn(&str) -> Action) -> Plan {
    let id = |s: &str| StepId::new(s).unwrap();
    let steps = steps
        .split_whitespace()
        .map(|s| {
            let (name, on) = s.split_once('<').unwrap_or((s, ""));
            Step {
                id: id(name),
                title: String::new(),
                description: format!("do {name}"),
                depends_on: on.split(',').filter(|d| !d.is_empty()).map(id).collect(),
                action: action(name),
            }
        })
        .collect();
    Plan { title: "the plan".into(), steps, ..Plan::default() }
}

/// Returns a call of a registered tool that needs no approval.
pub(super) fn tool_call(id: &str, name: &str, args: Value) -> TurnCall {
    let target = CallTarget::Tool { tool: ToolName::new(name).unwrap(), binding: binding() };
    TurnCall { id: id.into(), name: name.into(), args, target }
}

/// Returns a call of an unknown tool.
pub(super) fn refused_call(id: &str, name: &str, args: Value) -> TurnCall {
    let target = CallTarget::Refused { error: format!("there is no tool {name}") };
    TurnCall { id: id.into(), name: name.into(), args, target }
}

/// Returns a question in a turn.
pub(super) fn question(id: &str, prompt: &str) -> TurnCall {
    let question = Asked { prompt: prompt.into(), kind: AskedKind::Query, default: None };
    let target = CallTarget::Person { question };
    TurnCall { id: id.into(), name: "ask_user".into(), args: json!({"prompt": prompt}), target }
}

pub(super) fn calls(calls: Vec<TurnCall>) -> TurnReply {
    TurnReply::Calls { text: String::new(), calls }
}

impl Play {
    pub(super) fn submit(agent: Agent) -> Self {
        Self::submit_in(agent, Language::En)
    }

    pub(super) fn submit_in(agent: Agent, language: Language) -> Self {
        Self::submit_as(Self::submitted(agent, language))
    }

    /// Submits a job as a release with these rules would.
    pub(super) fn submit_under(rules: proto::rules::Rules, agent: Agent) -> Self {
        Self::submit_as(Submitted { rules, ..Self::submitted(agent, Language::En) })
    }

    pub(super) fn submitted(agent: Agent, language: Language) -> Submitted {
        Submitted {
            goal: "reach the goal".into(),
            agent,
            language,
            language_detected: false,
            digest: "d".into(),
            by: None,
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: None,
            plan: None,
            workflow: None,
            files: Vec::new(),
            labels: proto::label::Labels::default(),
            rules: proto::rules::Rules::NOW,
        }
    }

    pub(super) fn submit_as(submitted: Submitted) -> Self {
        Self::submit_to(JobId::new("job").unwrap(), submitted)
    }

    pub(super) fn submit_to(job: JobId, submitted: Submitted) -> Self {
        let mut play = Self {
            job: Job::new(job),
            log: Vec::new(),
            armed: BTreeMap::new(),
            decisions: Vec::new(),
            tells: Vec::new(),
            now: Timestamp::from_second(1_000_000).unwrap(),
            paid: 0,
        };
        play.fact(Fact::Submitted(submitted));
        play
    }

    /// Submits a job and puts a plan in force.
    pub(super) fn planned(agent: Agent, plan: Plan) -> Self {
        let mut play = Self::submit(agent);
        play.drive();
        play.reply(1, PlanReply::Plan { plan });
        play
    }

    pub(super) fn record(&mut self, family: Family, record: Result<Known, Unreadable>) {
        self.now = self.now.checked_add(SignedDuration::from_millis(1)).unwrap();
        let at = At { seq: Seq(self.log.len() as u64 * 3 + 1), time: self.now };
        without_evaluator(|| self.job.apply(at, &family, record.as_ref()));
        self.log.push((at, family, record));
        let replayed = self.folded();
        if self.job.must_be_refolded() {
            self.job = replayed.clone();
        }
        assert_eq!(
            format!("{replayed:?}"),
            format!("{:?}", self.job),
            "a replay differs from the live fold"
        );
        self.paid = super::costing::check(&self.job, self.paid);
        let is_over = self.job.has_ended() || self.job.view().is_none();
        let reasons = self.job.why(&Surroundings::default());
        assert_eq!(reasons.is_empty(), is_over, "a running job has a reason to rest: {reasons:?}");
    }

    /// Folds the whole log.
    pub(super) fn folded(&self) -> Job {
        self.at(self.last())
    }

    /// Folds the log up to a record.
    pub(super) fn at(&self, seq: Seq) -> Job {
        let log = || self.log.iter().take_while(|(at, _, _)| at.seq <= seq);
        let wanted =
            log().filter_map(|(_, family, record)| timeline::wanted(family, record.as_ref().ok()?));
        let mut fold = Replay::new(self.job.id().clone(), wanted.collect());
        without_evaluator(|| {
            for (at, family, record) in log() {
                fold.apply(*at, family, record.as_ref());
            }
        });
        fold.into_job()
    }

    /// Returns the position of the last record.
    pub(super) fn last(&self) -> Seq {
        self.log.last().map_or(Seq(0), |(at, _, _)| at.seq)
    }

    /// Rolls the job back as the door does, and returns `true` if the rollback counted.
    pub(super) fn back(&mut self, to: Seq) -> bool {
        let generation = self.job.generation();
        let seen = self.last();
        self.signal(Signal::RollBack { to, seen, again: false });
        self.job.generation() > generation
    }

    pub(super) fn fact(&mut self, fact: Fact) {
        let family = Family::In(fact.source());
        self.record(family, Ok(Known::Fact(Box::new(fact))));
    }

    pub(super) fn fact_from(&mut self, source: Source, fact: Fact) {
        self.record(Family::In(source), Ok(Known::Fact(Box::new(fact))));
    }

    pub(super) fn decision(&mut self, decision: Decision) {
        let family = Family::Do(decision.kind(), decision.pool());
        self.record(family, Ok(Known::Decision(Box::new(decision))));
    }

    /// Stores every decision that follows, and returns their labels.
    pub(super) fn drive(&mut self) -> Vec<String> {
        let mut labels = Vec::new();
        self.decisions.clear();
        while let Some(next) = self.job.decide() {
            assert!(labels.len() < 1000, "the machine never rests: {:?}", &labels[..10]);
            self.tells.extend(next.tell);
            for arm in next.arm {
                self.armed.insert(arm.timer, arm.at);
            }
            for timer in &next.disarm {
                self.armed.remove(timer);
            }
            labels.push(label(&next.decision));
            self.decisions.push(next.decision.clone());
            self.decision(next.decision);
        }
        labels
    }

    /// Asserts that exactly these decisions follow.
    #[track_caller]
    pub(super) fn expect(&mut self, expected: &[&str]) {
        assert_eq!(self.drive(), expected);
    }

    pub(super) fn reply(&mut self, round: u32, reply: PlanReply) {
        self.planned_with(round, reply, |_| {});
    }

    /// Applies a planner's reply, with changes to the fields beside it.
    pub(super) fn planned_with(
        &mut self,
        round: u32,
        reply: PlanReply,
        change: impl FnOnce(&mut Planned),
    ) {
        let work = work(&format!("g{}.p{round}", self.job.generation()));
        let attempt = self.attempt_of(&work);
        let usage = Usage::default();
        let mut planned = Planned {
            work,
            attempt,
            reply,
            usage,
            detected: None,
            outline: Vec::new(),
            reasoning: String::new(),
            answered: None,
        };
        change(&mut planned);
        self.fact(Fact::Planned(planned));
    }

    pub(super) fn unparseable(&mut self, round: u32) {
        self.reply(
            round,
            PlanReply::Unparseable { text: "Sure!".into(), error: "no JSON".into(), action: false },
        );
    }

    pub(super) fn result(
        &mut self,
        id: &str,
        attempt: u32,
        result: ToolResult,
        fault: Option<Fault>,
    ) {
        self.result_at(id, attempt, result, fault, Cost::default());
    }

    /// Applies a tool's result with its cost.
    pub(super) fn result_at(
        &mut self,
        id: &str,
        attempt: u32,
        result: ToolResult,
        fault: Option<Fault>,
        cost: Cost,
    ) {
        let (work, attempt) = (work(id), Attempt(attempt));
        self.fact(Fact::Called(Called {
            work,
            attempt,
            result,
            fault,
            outage: false,
            duration_ms: 1,
            cost,
            files: Vec::new(),
        }));
    }

    pub(super) fn ok(&mut self, id: &str, data: Value) {
        let attempt = self.attempt_of(&work(id)).0;
        self.result(id, attempt, ToolResult::ok(data), None);
    }

    pub(super) fn no(&mut self, id: &str) {
        let attempt = self.attempt_of(&work(id)).0;
        self.result(id, attempt, ToolResult::failed("no"), None);
    }

    pub(super) fn fault(&mut self, id: &str, fault: Fault) {
        let attempt = self.attempt_of(&work(id)).0;
        self.result(id, attempt, ToolResult::failed("broken"), Some(fault));
    }

    /// Ends the current attempt at a call because the tool's service cannot be reached.
    pub(super) fn outage(&mut self, id: &str) {
        let called = Called {
            work: work(id),
            attempt: self.attempt_of(&work(id)),
            result: ToolResult::failed("the service cannot be reached"),
            fault: Some(Fault::Unavailable),
            outage: true,
            duration_ms: 1,
            cost: Cost::default(),
            files: Vec::new(),
        };
        self.fact(Fact::Called(called));
    }

    pub(super) fn turn(&mut self, id: &str, reply: TurnReply) {
        let attempt = self.attempt_of(&work(id));
        self.turned(id, attempt.0, reply);
    }

    /// Applies the reply to any attempt of a turn.
    pub(super) fn turned(&mut self, id: &str, attempt: u32, reply: TurnReply) {
        let attempt = Attempt(attempt);
        let usage = Usage::reported(10, 1);
        self.fact(Fact::Turned(Turned {
            work: work(id),
            attempt,
            reply,
            usage,
            reasoning: String::new(),
            opaque: None,
            answered: None,
        }));
    }

    /// Applies the end of a step that a model to fall back to reported.
    pub(super) fn done_by(&mut self, id: &str, model: &str) {
        let attempt = self.attempt_of(&work(id));
        let fell_back = vec![FellBack { model: None, reason: FallbackReason::Overloaded }];
        self.fact(Fact::Turned(Turned {
            work: work(id),
            attempt,
            reply: TurnReply::Done {
                success: true,
                response: "done".into(),
                attachments: Vec::new(),
                value: Value::Null,
            },
            usage: Usage::reported(10, 1),
            reasoning: String::new(),
            opaque: None,
            answered: Some(AnsweredBy { model: model.into(), fell_back }),
        }));
    }

    pub(super) fn done(&mut self, id: &str, success: bool, response: &str) {
        let attachments = Vec::new();
        self.turn(
            id,
            TurnReply::Done { success, response: response.into(), attachments, value: Value::Null },
        );
    }

    pub(super) fn answer(&mut self, ask: &str, decision: Verdict, words: Option<&str>) {
        let text = words.map(str::to_owned);
        self.answer_with(ask, Answer { decision, value: None, text, digest: None, remember: None });
    }

    pub(super) fn answer_with(&mut self, ask: &str, answer: Answer) {
        let ask = AskId::new(ask).unwrap();
        self.fact(Fact::Answered(Answered { ask, answer, by: "ann".into() }));
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        self.fact(Fact::Signaled(Signaled {
            signal,
            reason: Some("because".into()),
            by: None,
            parent_seq: None,
        }));
    }

    /// Fires an armed timer.
    #[track_caller]
    pub(super) fn fire(&mut self, timer: &str) {
        let timer = TimerName::new(timer).unwrap();
        let at = self
            .armed
            .remove(&timer)
            .unwrap_or_else(|| panic!("{timer} is not armed: {:?}", self.armed));
        self.now = self.now.max(at);
        self.fact(Fact::Fired(Fired { timer }));
    }

    pub(super) fn view(&self) -> JobView {
        self.job.view().unwrap()
    }

    pub(super) fn states(&self) -> String {
        let plan = self.view().plan.unwrap();
        plan.steps.iter().map(|s| format!("{}:{}", s.id, s.state)).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.job.outcome().cloned().unwrap()
    }

    /// Returns the last attempt of a unit of work.
    pub(super) fn attempt_of(&self, work: &WorkId) -> Attempt {
        let sent = self.log.iter().rev().find_map(|(_, _, record)| match record.as_ref().ok()? {
            Known::Decision(decision) => match decision.as_ref() {
                Decision::Plan(w) if w.work == *work => Some(w.attempt),
                Decision::Turn(w) if w.work == *work => Some(w.attempt),
                Decision::Call(w) if w.work == *work => Some(w.attempt),
                Decision::Spawn(w) if w.work == *work => Some(w.attempt),
                _ => None,
            },
            Known::Fact(_) => None,
        });
        sent.unwrap_or_else(|| panic!("{work} was never sent"))
    }
}

pub(super) fn transient() -> WorkError {
    WorkError::new("503", ErrorClass::Transient)
}

fn label(decision: &Decision) -> String {
    match decision {
        Decision::Spawn(_) | Decision::Done(_) => crate::testing::label(decision),
        Decision::Note(note)
            if !matches!(note, Note::QuestionClosed { .. } | Note::Stopped { .. }) =>
        {
            crate::testing::label(decision)
        }
        Decision::Plan(w) => format!("plan {} #{}", w.work, w.attempt),
        Decision::Turn(w) => format!("turn {} #{}", w.work, w.attempt),
        Decision::Call(w) => format!("call {} #{}", w.work, w.attempt),
        Decision::Ask(w) => format!("ask {} {}", w.question.id, w.question.kind.name()),
        Decision::Wait(w) => format!("wait {} #{}", w.work, w.attempt),
        Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
            format!("close {ask} {because:?}")
        }
        Decision::Note(Note::Stopped { work, .. }) => format!("stop {work}"),
        Decision::Note(_) => unreachable!("written above"),
        Decision::Finish(f) => format!("finish {}", f.outcome.state()),
    }
}
