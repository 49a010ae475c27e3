//! A run: the events of a job from the beginning, an answer or an instruction, up to the next
//! question or the end, as events of AG-UI. Pure.
//!
//! The same events give the same run, so a client that lost a run repeats its request. A run that
//! begins later reads the events before too, and shows none of those.

use std::collections::BTreeSet;

use proto::{
    event::{
        ErrorScope, Event, EventId, Happened, InteractionEvent, JobEvent, MessageEvent, PlanEvent,
        StepEvent, StepPhase, Stream, ToolEvent, ToolPhase, UsageEvent,
    },
    id::{AskId, JobId, Seq, StepId},
    interaction::Question,
    job::{JobState, SubStatus},
    view::JobView,
};
use serde_json::{Map, Value, json};

use super::{
    events::{Interrupt, PLAN, PROTOCOL_VERSION, Patch, RunEvent, RunOutcome, TokenUsage},
    interrupts,
};

/// A question by the job that asks and its id.
pub(super) type Asked = (JobId, AskId);

/// The point of a job at which a run begins to show events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Start {
    /// The submission.
    Beginning,
    /// The last one of these answers.
    Answers(BTreeSet<Asked>),
    /// This record.
    Record(Seq),
}

/// The member of the thread's state that belongs to Callboard.
const STATE: &str = "callboard";

/// A run in progress.
#[derive(Debug)]
pub(super) struct Run {
    job: JobId,
    thread_id: String,
    run_id: String,
    /// State of the client, without the part of the job.
    state: Map<String, Value>,
    /// Point at which the run begins to show events. Answers leave it when they are known, and a
    /// record becomes the beginning when it is reached.
    start: Start,
    /// Steps of the plan, in order.
    plan: Option<PlanEvent>,
    /// Open questions, in the order in which they were asked.
    open: Vec<(Asked, Question)>,
    /// Steps that the run shows as running.
    steps: Vec<StepId>,
    usage: TokenUsage,
    /// Latest state of the job.
    latest: JobEvent,
    /// Message and reason of the job's failure.
    failure: Option<(String, Option<String>)>,
    has_ended: bool,
}

impl Run {
    /// Creates the run of a job that shows the events from a point on.
    pub(super) fn new(
        job: JobId,
        (thread_id, run_id): (String, String),
        state: Map<String, Value>,
        start: Start,
    ) -> Self {
        let latest = JobEvent {
            state: JobState::Submitted,
            sub_status: None,
            reason: None,
            goal: None,
            value: Value::Null,
        };
        Self {
            job,
            thread_id,
            run_id,
            state,
            start,
            plan: None,
            open: Vec::new(),
            steps: Vec::new(),
            usage: TokenUsage { input_tokens: 0, output_tokens: 0 },
            latest,
            failure: None,
            has_ended: false,
        }
    }

    /// Returns whether the run has ended. It takes no events then.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the first events.
    pub(super) fn begin(&self) -> Vec<RunEvent> {
        let (thread_id, run_id) = (self.thread_id.clone(), self.run_id.clone());
        vec![
            RunEvent::RunStarted { thread_id, run_id, protocol_version: PROTOCOL_VERSION },
            self.snapshot(),
        ]
    }

    /// Returns the end of a run that cannot go on.
    pub(super) fn fail(&mut self, message: String, code: Option<String>) -> Vec<RunEvent> {
        self.has_ended = true;
        vec![RunEvent::RunError { message, code }]
    }

    /// Takes an event of the job.
    pub(super) fn take(&mut self, event: &Event) -> Vec<RunEvent> {
        if matches!(&self.start, Start::Record(seq) if event.id.seq >= *seq) {
            self.start = Start::Beginning;
            let mut shown = self.so_far();
            shown.extend(self.convert(event));
            return shown;
        }
        let was_silent = self.is_silent();
        let shown = self.convert(event);
        match (was_silent, self.is_silent()) {
            (false, _) => shown,
            (true, true) => Vec::new(),
            (true, false) => self.so_far(),
        }
    }

    /// Returns whether the point at which the run begins is still to come.
    fn is_silent(&self) -> bool {
        match &self.start {
            Start::Beginning => false,
            Start::Answers(awaited) => !awaited.is_empty(),
            Start::Record(_) => true,
        }
    }

    /// Returns the plan and the state that the run has read in silence.
    fn so_far(&self) -> Vec<RunEvent> {
        let plan = self.plan.as_ref().map(|plan| self.activity(plan));
        plan.into_iter().chain([self.snapshot()]).collect()
    }

    /// Takes a view of the job, which follows all events so far. A job may wait for a person without
    /// an event of its own: one of several questions was answered.
    pub(super) fn view(&mut self, view: &JobView) -> Vec<RunEvent> {
        let waits = view.state.needs_person() && !self.is_silent() && !self.has_ended;
        if waits { self.interrupt() } else { Vec::new() }
    }

    fn convert(&mut self, event: &Event) -> Vec<RunEvent> {
        match &event.happened {
            Happened::Message(message) => self.message(message, event.id),
            Happened::Tool(tool) => self.tool(tool, event.id),
            Happened::Interaction(interaction) => {
                self.interaction(interaction);
                Vec::new()
            }
            Happened::Usage(usage) => {
                self.count(usage);
                Vec::new()
            }
            Happened::Plan(plan) => {
                self.plan = Some(plan.clone());
                vec![self.activity(plan)]
            }
            Happened::Step(step) => self.step(step),
            Happened::Job(job) => self.job(job),
            Happened::Error(error) => {
                if error.scope == ErrorScope::Job {
                    self.failure = Some((error.message.clone(), error.reason.clone()));
                }
                Vec::new()
            }
            Happened::Notice(_) | Happened::Turn(_) | Happened::Node(_) | Happened::Artifact(_) => {
                Vec::new()
            }
        }
    }

    fn message(&self, message: &MessageEvent, id: EventId) -> Vec<RunEvent> {
        let (message_id, delta) = (format!("{}/{id}", self.job), message.text.clone());
        let is_answer = match message.stream {
            // The result of a step is a part of the plan.
            Stream::Result if message.step.is_some() => return Vec::new(),
            Stream::Result => true,
            Stream::Thought | Stream::Summary => false,
        };
        if is_answer {
            return vec![
                RunEvent::TextMessageStart { message_id: message_id.clone(), role: "assistant" },
                RunEvent::TextMessageContent { message_id: message_id.clone(), delta },
                RunEvent::TextMessageEnd { message_id },
            ];
        }
        let of = || message_id.clone();
        vec![
            RunEvent::ReasoningStart { message_id: of() },
            RunEvent::ReasoningMessageStart { message_id: of(), role: "reasoning" },
            RunEvent::ReasoningMessageContent { message_id: of(), delta },
            RunEvent::ReasoningMessageEnd { message_id: of() },
            RunEvent::ReasoningEnd { message_id: of() },
        ]
    }

    fn tool(&self, tool: &ToolEvent, id: EventId) -> Vec<RunEvent> {
        let tool_call_id = format!("{}/{}/{}", self.job, tool.work, tool.attempt);
        match &tool.phase {
            ToolPhase::Calling { args, remembered: _ } => {
                let tool_call_name = tool.tool.to_string();
                vec![
                    RunEvent::ToolCallStart { tool_call_id: tool_call_id.clone(), tool_call_name },
                    RunEvent::ToolCallArgs {
                        tool_call_id: tool_call_id.clone(),
                        delta: args.to_string(),
                    },
                    RunEvent::ToolCallEnd { tool_call_id },
                ]
            }
            ToolPhase::Called { success, result, error, message, .. } => {
                let content = json!({
                    "success": success, "result": result, "error": error, "message": message,
                });
                let message_id = format!("{}/{id}", self.job);
                let content = content.to_string();
                vec![RunEvent::ToolCallResult { message_id, tool_call_id, content, role: "tool" }]
            }
        }
    }

    fn interaction(&mut self, interaction: &InteractionEvent) {
        let asked = match interaction {
            InteractionEvent::Asked { question, below } => {
                let job = below.as_ref().map_or(&self.job, |below| &below.job);
                self.open.push(((job.clone(), question.id.clone()), question.clone()));
                return;
            }
            InteractionEvent::Answered { ask, .. } | InteractionEvent::Closed { ask, .. } => {
                (self.job.clone(), ask.clone())
            }
            InteractionEvent::Settled { ask, below } => (below.job.clone(), ask.clone()),
            InteractionEvent::Told { .. } | InteractionEvent::Signaled { .. } => return,
        };
        self.open.retain(|(open, _)| *open != asked);
        if let Start::Answers(awaited) = &mut self.start {
            awaited.remove(&asked);
        }
    }

    fn count(&mut self, usage: &UsageEvent) {
        if !self.is_silent() {
            self.usage.input_tokens += usage.spent.input_tokens;
            self.usage.output_tokens += usage.spent.output_tokens;
        }
    }

    fn step(&mut self, step: &StepEvent) -> Vec<RunEvent> {
        let is_shown = self.steps.contains(&step.step);
        let step_name = step.step.to_string();
        let (is_running, state) = match step.phase {
            StepPhase::Started | StepPhase::Retried | StepPhase::Resumed => (true, "running"),
            StepPhase::Waiting => (is_shown, "waiting"),
            StepPhase::Completed => (false, "completed"),
            StepPhase::Failed => (false, "failed"),
            StepPhase::Blocked => (false, "blocked"),
            StepPhase::Skipped => (false, "skipped"),
            StepPhase::Canceled => (false, "canceled"),
        };
        let mut shown = Vec::new();
        if !self.is_silent() && is_running != is_shown {
            if is_running {
                self.steps.push(step.step.clone());
                shown.push(RunEvent::StepStarted { step_name });
            } else {
                self.steps.retain(|running| *running != step.step);
                shown.push(RunEvent::StepFinished { step_name });
            }
        }
        shown.extend(self.change(step, state));
        shown
    }

    /// Returns the change of the plan that a step's change is.
    fn change(&mut self, step: &StepEvent, state: &str) -> Option<RunEvent> {
        let plan = self.plan.as_mut()?;
        let at = plan.steps.iter().position(|planned| planned.id == step.step)?;
        let state = json!(state);
        if let (Some(planned), Ok(state)) =
            (plan.steps.get_mut(at), serde_json::from_value(state.clone()))
        {
            planned.state = state;
        }
        let mut patch = vec![Patch::Add { path: format!("/steps/{at}/state"), value: state }];
        if let Some(response) = &step.response {
            let (path, value) = (format!("/steps/{at}/response"), json!(response));
            patch.push(Patch::Add { path, value });
        }
        let message_id = self.plan_id();
        Some(RunEvent::ActivityDelta { message_id, activity_type: PLAN, patch })
    }

    fn job(&mut self, job: &JobEvent) -> Vec<RunEvent> {
        self.latest = job.clone();
        if self.is_silent() {
            return Vec::new();
        }
        if job.state.needs_person() && !self.open.is_empty() {
            return self.interrupt();
        }
        let mut shown = vec![self.snapshot()];
        let outcome = match job.state {
            JobState::Submitted
            | JobState::Working
            | JobState::InputRequired
            | JobState::AuthRequired => return shown,
            JobState::Completed => RunOutcome::Success,
            JobState::Canceled => RunOutcome::Cancelled,
            JobState::Failed | JobState::Rejected => {
                let reason = || (job.reason.clone().unwrap_or_else(|| job.state.to_string()), None);
                let (message, code) = self.failure.take().unwrap_or_else(reason);
                shown.extend(self.fail(message, code));
                return shown;
            }
        };
        shown.extend(self.finish(outcome));
        shown
    }

    /// Ends the run with the open questions.
    fn interrupt(&mut self) -> Vec<RunEvent> {
        let of = |(asked, question): &(Asked, Question)| interrupts::of(&self.job, asked, question);
        let interrupts: Vec<Interrupt> = self.open.iter().map(of).collect();
        if interrupts.is_empty() {
            return Vec::new();
        }
        let mut shown: Vec<_> =
            self.plan.as_ref().map(|plan| self.activity(plan)).into_iter().collect();
        shown.push(self.snapshot());
        shown.extend(self.finish(RunOutcome::Interrupt { interrupts }));
        shown
    }

    fn finish(&mut self, outcome: RunOutcome) -> Vec<RunEvent> {
        self.has_ended = true;
        let running = self.steps.drain(..);
        let mut shown: Vec<_> =
            running.map(|step| RunEvent::StepFinished { step_name: step.to_string() }).collect();
        let is_used = self.usage.input_tokens + self.usage.output_tokens > 0;
        let result = (outcome == RunOutcome::Success).then(|| json!({"job": self.job}));
        shown.push(RunEvent::RunFinished {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            result,
            outcome,
            usage: is_used.then(|| self.usage.clone()).into_iter().collect(),
        });
        shown
    }

    fn snapshot(&self) -> RunEvent {
        let JobEvent { state, sub_status, reason, .. } = &self.latest;
        let mut snapshot = self.state.clone();
        let job = job_state(&self.job, *state, *sub_status, reason.as_deref());
        snapshot.insert(STATE.to_owned(), job);
        RunEvent::StateSnapshot { snapshot }
    }

    fn activity(&self, plan: &PlanEvent) -> RunEvent {
        let content = json!({
            "title": plan.title,
            "revision": plan.revision,
            "confirmed": plan.confirmed,
            "steps": plan.steps,
            "outline": plan.outline,
        });
        let message_id = self.plan_id();
        RunEvent::ActivitySnapshot { message_id, activity_type: PLAN, content, replace: true }
    }

    fn plan_id(&self) -> String {
        format!("{}/plan", self.job)
    }
}

fn job_state(
    job: &JobId,
    state: JobState,
    sub_status: Option<SubStatus>,
    reason: Option<&str>,
) -> Value {
    let mut shown = json!({"job": job, "state": state});
    if let Some(sub_status) = sub_status {
        shown["subStatus"] = json!(sub_status);
    }
    if let Some(reason) = reason {
        shown["reason"] = json!(reason);
    }
    shown
}

#[cfg(test)]
mod tests;
