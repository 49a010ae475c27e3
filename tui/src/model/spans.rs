//! The events of a job as bars over time: planning, steps, and the calls of steps.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proto::{
    event::{Event, Happened, InteractionEvent, PlanPhase, StepPhase, ToolPhase},
    id::{StepId, WorkId},
};

use crate::render::style::Tone;

/// A bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Name, unescaped.
    pub label: String,
    /// 0 for planning and steps, 1 for calls.
    pub depth: usize,
    /// Mark of the state.
    pub mark: &'static str,
    /// Tone of the state.
    pub tone: Tone,
    /// Parts of the bar, in order; the last one is open while it goes on.
    pub parts: Vec<Part>,
}

/// A part of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Begin.
    pub from: Timestamp,
    /// End; absent while it goes on.
    pub to: Option<Timestamp>,
    /// `true` for a wait, `false` for work.
    pub waits: bool,
}

impl Bar {
    fn begin(label: &str, depth: usize, at: Timestamp) -> Self {
        let parts = vec![Part { from: at, to: None, waits: false }];
        Self { label: label.to_owned(), depth, mark: "▸", tone: Tone::Busy, parts }
    }

    fn turn(&mut self, at: Timestamp, waits: bool) {
        if let Some(last) = self.parts.last_mut() {
            if last.to.is_none() && last.waits == waits {
                return;
            }
            last.to.get_or_insert(at);
        }
        self.parts.push(Part { from: at, to: None, waits });
        (self.mark, self.tone) = if waits { ("⏸", Tone::Wait) } else { ("▸", Tone::Busy) };
    }

    fn end(&mut self, at: Timestamp, (mark, tone): (&'static str, Tone)) {
        if let Some(last) = self.parts.last_mut() {
            last.to.get_or_insert(at);
        }
        (self.mark, self.tone) = (mark, tone);
    }

    /// Begin of the bar.
    #[must_use]
    pub fn from(&self) -> Option<Timestamp> {
        self.parts.first().map(|part| part.from)
    }

    /// End of the bar; `None` while it goes on.
    #[must_use]
    pub fn to(&self) -> Option<Timestamp> {
        self.parts.last().and_then(|part| part.to)
    }
}

const DONE: (&str, Tone) = ("✓", Tone::Good);
const FAILED: (&str, Tone) = ("✗", Tone::Bad);
const ENDED: (&str, Tone) = ("⊘", Tone::Dim);
const SKIPPED: (&str, Tone) = ("–", Tone::Dim);

/// Computes the bars: planning, then each step, followed by its calls. `planning` names the
/// planner's bars.
#[must_use]
pub fn bars(events: &[Event], planning: &str) -> Vec<Bar> {
    let mut all = Bars::default();
    for event in events {
        all.take(event, planning);
    }
    let mut calls = all.calls;
    let steps = all.steps.into_iter().flat_map(|(step, bar)| {
        let below = calls.remove(&step).unwrap_or_default();
        std::iter::once(bar).chain(below.into_iter().map(|(_, bar)| bar))
    });
    all.plans.into_iter().chain(steps).collect()
}

#[derive(Debug, Default)]
struct Bars {
    plans: Vec<Bar>,
    steps: Vec<(StepId, Bar)>,
    calls: BTreeMap<StepId, Vec<(WorkId, Bar)>>,
    /// The question about a plan that is open.
    check: Option<proto::id::AskId>,
}

impl Bars {
    fn take(&mut self, event: &Event, planning: &str) {
        let at = event.time;
        match &event.happened {
            Happened::Job(job) => {
                if job.goal.is_some() {
                    self.plans.push(Bar::begin(planning, 0, at));
                }
                if job.state.is_terminal() {
                    self.close(at);
                }
            }
            Happened::Plan(plan) => match plan.phase {
                PlanPhase::Created | PlanPhase::Updated if plan.replanning => {
                    self.plans.push(Bar::begin(planning, 0, at));
                }
                PlanPhase::Created | PlanPhase::Updated => {
                    let open = self.plans.iter_mut().filter(|bar| bar.to().is_none());
                    open.for_each(|bar| bar.end(at, DONE));
                }
                PlanPhase::Completed => {}
            },
            Happened::Interaction(interaction) => self.interaction(interaction, at),
            Happened::Step(step) => {
                self.step(&step.step, &step.label, step.phase, step.unsuccessful, at)
            }
            Happened::Tool(tool) => {
                let calls = self.calls.entry(tool.step.clone()).or_default();
                let known = calls.iter().position(|(work, _)| *work == tool.work);
                let at_call = known.unwrap_or_else(|| {
                    calls.push((tool.work.clone(), Bar::begin(tool.tool.as_str(), 1, at)));
                    calls.len() - 1
                });
                let Some((_, bar)) = calls.get_mut(at_call) else { return };
                match &tool.phase {
                    ToolPhase::Calling { .. } => bar.turn(at, false),
                    ToolPhase::Called { success, .. } => {
                        bar.end(at, if *success { DONE } else { FAILED });
                    }
                }
            }
            Happened::Error(_)
            | Happened::Message(_)
            | Happened::Usage(_)
            | Happened::Notice(_) => {}
        }
    }

    /// A plan that waits for its confirmation is a wait of the planning.
    fn interaction(&mut self, interaction: &InteractionEvent, at: Timestamp) {
        match interaction {
            InteractionEvent::Asked { question, below: None } if question.step.is_none() => {
                if let Some(bar) = self.plans.last_mut() {
                    bar.turn(at, true);
                    self.check = Some(question.id.clone());
                }
            }
            InteractionEvent::Answered { ask, .. } | InteractionEvent::Closed { ask, .. }
                if self.check.as_ref() == Some(ask) =>
            {
                self.check = None;
                if let Some(bar) = self.plans.last_mut() {
                    bar.end(at, DONE);
                }
            }
            InteractionEvent::Asked { .. }
            | InteractionEvent::Answered { .. }
            | InteractionEvent::Closed { .. }
            | InteractionEvent::Settled { .. }
            | InteractionEvent::Told { .. }
            | InteractionEvent::Signaled { .. } => {}
        }
    }

    fn step(&mut self, id: &StepId, label: &str, phase: StepPhase, fails: bool, at: Timestamp) {
        let known = self.steps.iter().position(|(step, _)| step == id);
        let at_step = known.unwrap_or_else(|| {
            self.steps.push((id.clone(), Bar::begin(label, 0, at)));
            self.steps.len() - 1
        });
        let Some((_, bar)) = self.steps.get_mut(at_step) else { return };
        match phase {
            StepPhase::Started | StepPhase::Retried | StepPhase::Resumed => bar.turn(at, false),
            StepPhase::Waiting => bar.turn(at, true),
            StepPhase::Completed => bar.end(at, if fails { FAILED } else { DONE }),
            StepPhase::Failed => bar.end(at, FAILED),
            StepPhase::Blocked | StepPhase::Canceled => bar.end(at, ENDED),
            StepPhase::Skipped => bar.end(at, SKIPPED),
        }
    }

    /// Ends what is open when the job ends.
    fn close(&mut self, at: Timestamp) {
        let calls = self.calls.values_mut().flatten().map(|(_, bar)| bar);
        let bars = self.plans.iter_mut().chain(self.steps.iter_mut().map(|(_, bar)| bar));
        bars.chain(calls).filter(|bar| bar.to().is_none()).for_each(|bar| bar.end(at, ENDED));
    }
}
