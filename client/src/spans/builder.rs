//! The bars that the events so far have drawn.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proto::{
    event::{
        ErrorEvent, ErrorScope, Event, EventId, Happened, InteractionEvent, JobEvent, StepEvent,
        StepPhase, ToolEvent, ToolPhase, TurnEvent, UsageEvent,
    },
    excerpt,
    id::{AskId, Attempt, JobId, StepId, WorkId},
    job::{JobState, SubStatus},
    point::Point,
};

use super::{Span, SpanId, SpanKind, SpanState};

/// Characters that each end of a label keeps.
const LABEL_CHARS: usize = 60;

/// The word of a rollback among the signals.
const ROLL_BACK: &str = "roll_back";

/// A builder of bars. Cheap to take an event; holds one bar for each beginning among the events.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    list: Vec<Span>,
    job: Option<SpanId>,
    latest: Option<Timestamp>,
    /// The last bar of each step.
    steps: BTreeMap<StepId, Tried>,
    /// The turns and calls, by their work.
    works: BTreeMap<WorkId, Tried>,
    /// Open questions; those of descendants with their job.
    questions: BTreeMap<(Option<JobId>, AskId), SpanId>,
    /// The bar of a step's present wait.
    waits: BTreeMap<StepId, SpanId>,
    /// The bar of the job's present pause, or of its time before the first decision.
    held: Option<SpanId>,
}

/// A bar that may be tried several times.
#[derive(Debug, Clone, Copy)]
struct Tried {
    span: SpanId,
    attempt: u32,
    /// Bar of the attempt, when it is not the only one.
    attempt_span: Option<SpanId>,
    attempt_began: Timestamp,
    attempt_event: EventId,
}

impl Spans {
    /// Takes the next event, in the order of the job's events.
    pub fn take(&mut self, event: &Event) {
        // Clocks of servers may differ, and time never goes back here.
        self.latest = self.latest.max(Some(event.time));
        let at = At { time: self.latest.unwrap_or(event.time), id: event.id };
        let job = self.job(at);
        let is_end = matches!(&event.happened, Happened::Job(job) if job.state.is_terminal());
        if !is_end {
            self.reopen(job);
        }
        match &event.happened {
            Happened::Job(change) => self.job_changed(job, change, at),
            Happened::Step(step) => self.step_changed(job, step, at),
            Happened::Turn(turn) => self.turn_asked(job, turn, at),
            Happened::Tool(tool) => self.tool_changed(job, tool, at),
            Happened::Interaction(interaction) => self.interacted(job, interaction, at),
            Happened::Usage(usage) => self.spent(usage, at),
            Happened::Error(error) => self.failed(error, at),
            Happened::Message(_)
            | Happened::Plan(_)
            | Happened::Notice(_)
            | Happened::Node(_)
            | Happened::Artifact(_) => {}
        }
    }

    /// Returns the bars so far, each after its parent.
    #[must_use]
    pub fn list(&self) -> &[Span] {
        &self.list
    }

    /// Returns the bars, each after its parent.
    #[must_use]
    pub fn into_list(self) -> Vec<Span> {
        self.list
    }

    /// Returns the job's bar, which the first event begins, whichever it is.
    fn job(&mut self, at: At) -> SpanId {
        if let Some(job) = self.job {
            return job;
        }
        let job = self.begin(SpanKind::Job, None, String::new(), at);
        self.job = Some(job);
        job
    }

    fn job_changed(&mut self, job: SpanId, change: &JobEvent, at: At) {
        if let (Some(goal), Some(span)) = (&change.goal, self.list.get_mut(job)) {
            span.label = label(goal);
        }
        if change.state.is_terminal() {
            let state = match change.state {
                JobState::Completed => SpanState::Done,
                JobState::Failed | JobState::Rejected => SpanState::Failed,
                JobState::Canceled
                | JobState::Submitted
                | JobState::Working
                | JobState::InputRequired
                | JobState::AuthRequired => SpanState::Canceled,
            };
            self.end(job, state, at.time);
            self.end_all(at.time);
            return;
        }
        let is_held = change.state == JobState::Submitted
            || matches!(change.sub_status, Some(SubStatus::Paused | SubStatus::Poisoned));
        if let Some(held) = self.held.take() {
            self.end(held, SpanState::Done, at.time);
        }
        if is_held {
            let kind = match change.state {
                JobState::Submitted => SpanKind::Queue,
                JobState::Working
                | JobState::InputRequired
                | JobState::AuthRequired
                | JobState::Completed
                | JobState::Failed
                | JobState::Canceled
                | JobState::Rejected => SpanKind::Waiting,
            };
            let reason = change.reason.as_deref().map(label).unwrap_or_default();
            self.held = Some(self.begin(kind, Some(job), reason, at));
        }
    }

    fn step_changed(&mut self, job: SpanId, step: &StepEvent, at: At) {
        let known = self.steps.get(&step.step).copied();
        let open = known.filter(|known| self.is_open(known.span));
        if let Some(wait) = self.waits.remove(&step.step) {
            self.end(wait, SpanState::Done, at.time);
        }
        match step.phase {
            StepPhase::Started | StepPhase::Retried | StepPhase::Resumed => match open {
                Some(tried) if step.attempt > tried.attempt => {
                    let tried = self.try_again(tried, step.attempt, at);
                    self.steps.insert(step.step.clone(), tried);
                }
                Some(_) => {}
                None => {
                    let span = self.begin(SpanKind::Step, Some(job), label(&step.label), at);
                    self.mark(span, |span| span.step = Some(step.step.clone()));
                    self.steps.insert(step.step.clone(), Tried::first(span, step.attempt, at));
                }
            },
            StepPhase::Waiting => {
                let parent = self.around(Some(&step.step), job);
                let wait = self.begin(SpanKind::Waiting, Some(parent), String::new(), at);
                self.mark(wait, |span| span.step = Some(step.step.clone()));
                self.waits.insert(step.step.clone(), wait);
            }
            StepPhase::Completed | StepPhase::Failed | StepPhase::Blocked => {
                let is_good = step.phase == StepPhase::Completed && !step.unsuccessful;
                let state = if is_good { SpanState::Done } else { SpanState::Failed };
                if let Some(tried) = open {
                    self.end_tree(tried.span, state, at.time);
                }
            }
            StepPhase::Skipped | StepPhase::Canceled => {
                if let Some(tried) = open {
                    self.end_tree(tried.span, SpanState::Canceled, at.time);
                }
            }
        }
    }

    fn turn_asked(&mut self, job: SpanId, turn: &TurnEvent, at: At) {
        let place = (turn.step.as_ref(), &turn.work, turn.attempt);
        self.work_began(job, SpanKind::Turn, place, String::new(), at);
    }

    fn tool_changed(&mut self, job: SpanId, tool: &ToolEvent, at: At) {
        match &tool.phase {
            ToolPhase::Calling { .. } => {
                let place = (Some(&tool.step), &tool.work, tool.attempt);
                self.work_began(job, SpanKind::Call, place, tool.tool.to_string(), at);
            }
            ToolPhase::Called { success, duration_ms, .. } => {
                let state = if *success { SpanState::Done } else { SpanState::Failed };
                self.queued(&tool.work, tool.attempt, *duration_ms, at);
                self.work_ended(&tool.work, tool.attempt, state, at);
            }
        }
    }

    /// Draws the time for which a call was queued: all but its run time.
    fn queued(&mut self, work: &WorkId, attempt: Attempt, duration_ms: u64, at: At) {
        let Some(tried) = self.works.get(work).copied() else { return };
        // A job without a worker's own measure, such as a sub-agent's, was not queued.
        if duration_ms == 0 || tried.attempt != attempt.0 || !self.is_open(tried.span) {
            return;
        }
        let ran =
            i64::try_from(duration_ms).map_or(SignedDuration::MAX, SignedDuration::from_millis);
        let began = at.time.checked_sub(ran).unwrap_or(tried.attempt_began);
        if began > tried.attempt_began {
            let start = At { time: tried.attempt_began, id: tried.attempt_event };
            let parent = self.inner(tried);
            let queue = self.begin(SpanKind::Queue, Some(parent), String::new(), start);
            self.end(queue, SpanState::Done, began);
        }
    }

    fn work_began(
        &mut self,
        job: SpanId,
        kind: SpanKind,
        (step, work, attempt): (Option<&StepId>, &WorkId, Attempt),
        label: String,
        at: At,
    ) {
        let attempt = attempt.0;
        let known = self.works.get(work).copied();
        let goes_on = |tried: &Tried| {
            let parent = self.list.get(tried.span).and_then(|span| span.parent);
            parent.is_none_or(|parent| self.is_open(parent))
        };
        if let Some(tried) = known.filter(goes_on) {
            if attempt > tried.attempt {
                let tried = self.try_again(tried, attempt, at);
                self.works.insert(work.clone(), tried);
            }
            return;
        }
        let parent = self.around(step, job);
        let span = self.begin(kind, Some(parent), label, at);
        self.mark(span, |span| {
            span.step = step.cloned();
            span.work = Some(work.clone());
        });
        self.works.insert(work.clone(), Tried::first(span, attempt, at));
    }

    /// Ends the present attempt at a unit of work. A later attempt opens its bar again.
    fn work_ended(&mut self, work: &WorkId, attempt: Attempt, state: SpanState, at: At) {
        let Some(tried) = self.works.get(work).copied() else { return };
        if tried.attempt == attempt.0 && self.is_open(tried.span) {
            self.end_tree(tried.span, state, at.time);
        }
    }

    /// Begins another attempt. The first one gets a bar of its own, too.
    fn try_again(&mut self, tried: Tried, attempt: u32, at: At) -> Tried {
        let Tried { span, .. } = tried;
        let ended = self.list.get(span).and_then(|span| span.end);
        let before = tried.attempt_span.unwrap_or_else(|| {
            let start = At { time: tried.attempt_began, id: tried.attempt_event };
            let first = self.begin(SpanKind::Attempt, Some(span), String::new(), start);
            let state = if ended.is_some() { SpanState::Failed } else { SpanState::Open };
            self.mark(first, |span| {
                (span.attempt, span.end, span.state) = (Some(tried.attempt), ended, state);
            });
            first
        });
        self.end_tree(before, SpanState::Failed, at.time);
        self.reopen(span);
        if let Some(ended) = ended.filter(|ended| *ended < at.time) {
            let start = At { time: ended, id: at.id };
            let pause = self.begin(SpanKind::Waiting, Some(span), String::new(), start);
            self.end(pause, SpanState::Done, at.time);
        }
        let next = self.begin(SpanKind::Attempt, Some(span), String::new(), at);
        self.mark(next, |span| span.attempt = Some(attempt));
        for of in [span, before, next] {
            let (step, work) =
                self.list.get(span).map(|s| (s.step.clone(), s.work.clone())).unwrap_or_default();
            self.mark(of, |span| (span.step, span.work) = (step, work));
        }
        Tried {
            span,
            attempt,
            attempt_span: Some(next),
            attempt_began: at.time,
            attempt_event: at.id,
        }
    }

    fn interacted(&mut self, job: SpanId, interaction: &InteractionEvent, at: At) {
        match interaction {
            InteractionEvent::Asked { question, below } => {
                let below = below.as_ref().map(|below| below.job.clone());
                let step = question.step.as_ref().filter(|_| below.is_none());
                let wait = step.and_then(|step| self.waits.get(step)).copied();
                let wait = wait.unwrap_or_else(|| {
                    let parent = self.around(step, job);
                    self.begin(SpanKind::Waiting, Some(parent), String::new(), at)
                });
                self.mark(wait, |span| {
                    span.label = label(&question.prompt);
                    span.step = span.step.take().or_else(|| step.cloned());
                });
                self.questions.insert((below, question.id.clone()), wait);
            }
            InteractionEvent::Answered { ask, .. } | InteractionEvent::Closed { ask, .. } => {
                self.question_closed(None, ask, at);
            }
            InteractionEvent::Settled { ask, below } => {
                self.question_closed(Some(below.job.clone()), ask, at);
            }
            InteractionEvent::Signaled { signal, to: Some(Point::Seq(to)), .. }
                if signal == ROLL_BACK =>
            {
                self.rolled_back(*to, at);
            }
            InteractionEvent::Signaled { .. } | InteractionEvent::Told { .. } => {}
        }
    }

    fn question_closed(&mut self, of: Option<JobId>, ask: &AskId, at: At) {
        if let Some(wait) = self.questions.remove(&(of, ask.clone())) {
            self.end(wait, SpanState::Done, at.time);
            self.waits.retain(|_, one| *one != wait);
        }
    }

    /// A model call ended, or a tool call that cost something.
    fn spent(&mut self, usage: &UsageEvent, at: At) {
        self.work_ended(&usage.work, usage.attempt, SpanState::Done, at);
    }

    fn failed(&mut self, error: &ErrorEvent, at: At) {
        let (ErrorScope::Attempt, Some(work)) = (error.scope, &error.work) else { return };
        let attempt = error.attempt.unwrap_or(Attempt::FIRST);
        // The outcome of a call follows with its run time.
        let is_call = |tried: &Tried| self.kind(tried.span) == Some(SpanKind::Call);
        if !self.works.get(work).is_some_and(is_call) {
            self.work_ended(work, attempt, SpanState::Failed, at);
        }
    }

    /// Ends what runs, and marks the bars whose begin is taken out. Steps that began before the
    /// target go on.
    fn rolled_back(&mut self, to: proto::id::Seq, at: At) {
        let job = self.job;
        for id in 0..self.list.len() {
            let Some(span) = self.list.get_mut(id) else { continue };
            let is_out = span.event.seq > to;
            span.taken_out |= is_out;
            let goes_on = Some(id) == job || (span.kind == SpanKind::Step && !is_out);
            if !goes_on {
                self.end(id, SpanState::Canceled, at.time);
            }
        }
        self.works.clear();
        self.forget_waits();
    }

    fn begin(&mut self, kind: SpanKind, parent: Option<SpanId>, label: String, at: At) -> SpanId {
        let id = self.list.len();
        self.list.push(Span {
            id,
            parent,
            kind,
            label,
            step: None,
            work: None,
            attempt: None,
            begin: at.time,
            end: None,
            state: SpanState::Open,
            event: at.id,
            taken_out: false,
        });
        id
    }

    fn mark(&mut self, id: SpanId, change: impl FnOnce(&mut Span)) {
        self.list.get_mut(id).map(change);
    }

    fn is_open(&self, id: SpanId) -> bool {
        self.list.get(id).is_some_and(|span| span.end.is_none())
    }

    fn kind(&self, id: SpanId) -> Option<SpanKind> {
        self.list.get(id).map(|span| span.kind)
    }

    /// Returns the bar in which work of a step happens: the present attempt, the step or the job.
    fn around(&self, step: Option<&StepId>, job: SpanId) -> SpanId {
        let tried = step.and_then(|step| self.steps.get(step)).copied();
        let open = tried.filter(|tried| self.is_open(tried.span));
        open.map_or(job, |tried| self.inner(tried))
    }

    fn inner(&self, tried: Tried) -> SpanId {
        tried.attempt_span.filter(|span| self.is_open(*span)).unwrap_or(tried.span)
    }

    /// Ends a bar that is open.
    fn end(&mut self, id: SpanId, state: SpanState, at: Timestamp) {
        if let Some(span) = self.list.get_mut(id).filter(|span| span.end.is_none()) {
            (span.end, span.state) = (Some(at), state);
        }
    }

    /// Ends a bar with the open bars within it.
    fn end_tree(&mut self, root: SpanId, state: SpanState, at: Timestamp) {
        self.end(root, state, at);
        // A bar follows its parent, so one pass finds all.
        let mut within = BTreeSet::from([root]);
        for id in root + 1..self.list.len() {
            let Some(span) = self.list.get(id) else { continue };
            if span.parent.is_some_and(|parent| within.contains(&parent)) {
                within.insert(id);
                let own = match span.kind {
                    SpanKind::Attempt => state,
                    SpanKind::Waiting | SpanKind::Queue => SpanState::Done,
                    SpanKind::Job | SpanKind::Step | SpanKind::Turn | SpanKind::Call => {
                        SpanState::Canceled
                    }
                };
                self.end(id, own, at);
            }
        }
    }

    fn end_all(&mut self, at: Timestamp) {
        (0..self.list.len()).for_each(|id| self.end(id, SpanState::Canceled, at));
        self.forget_waits();
    }

    fn forget_waits(&mut self) {
        self.questions.clear();
        self.waits.clear();
        self.held = None;
    }

    fn reopen(&mut self, id: SpanId) {
        self.mark(id, |span| (span.end, span.state) = (None, SpanState::Open));
    }
}

/// The place and the time of an event.
#[derive(Debug, Clone, Copy)]
struct At {
    time: Timestamp,
    id: EventId,
}

impl Tried {
    fn first(span: SpanId, attempt: u32, at: At) -> Self {
        let (attempt_began, attempt_event) = (at.time, at.id);
        Self { span, attempt, attempt_span: None, attempt_began, attempt_event }
    }
}

/// Returns the first line of a text, shortened.
fn label(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    excerpt::ends(line, LABEL_CHARS)
}
