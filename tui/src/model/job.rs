//! The screen of one job: its live state, its events, and the point of its past that is looked at.

use client::session::{Change, SessionState};
use proto::{
    door::Watched,
    event::{Event, Happened},
    id::{JobId, Seq, StepId},
    notice::Notice,
    view::{JobView, StepView},
};

use super::{Pane, spans};

/// Largest number of events that are kept; the oldest are left out.
const EVENTS_MAX: usize = 4_000;

/// The screen of one job.
#[derive(Debug)]
pub struct JobScreen {
    /// The job.
    pub job: JobId,
    /// The pane with the cursor.
    pub pane: Pane,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The chosen step.
    pub step: usize,
    /// Lines that the text and the log are scrolled up from their ends.
    pub scrolled: usize,
    /// The point of the past that is looked at.
    pub past: Option<Past>,
    /// `true` while the past is compared with the present.
    pub compares: bool,
    /// `true` once the job has ended or the watch has failed.
    pub is_over: bool,
    state: SessionState,
}

/// A point of the past.
#[derive(Debug)]
pub struct Past {
    /// The last record of the point.
    pub seq: Seq,
    /// The job at the point, once it is loaded.
    pub view: Option<Box<JobView>>,
}

/// Where a job stands, in one line (MON-3).
#[derive(Debug, Clone, PartialEq)]
pub struct Place<'a> {
    /// The current step: the first that runs or waits, or the next one.
    pub step: Option<&'a StepView>,
    /// Number of the current step, from 1; the number of steps when all are done.
    pub number: usize,
    /// Number of steps.
    pub steps: usize,
    /// Number of steps that need no more work.
    pub done: usize,
    /// The latest anomaly.
    pub notice: Option<&'a Notice>,
}

impl JobScreen {
    /// Opens a job.
    #[must_use]
    pub fn new(job: JobId) -> Self {
        Self {
            job,
            pane: Pane::Plan,
            events: Vec::new(),
            step: 0,
            scrolled: 0,
            past: None,
            compares: false,
            is_over: false,
            state: SessionState::default(),
        }
    }

    /// Takes a message of the watch.
    pub fn take(&mut self, watched: Watched) {
        if let Watched::Event { event } = &watched {
            if self.events.len() >= EVENTS_MAX {
                self.events.drain(..EVENTS_MAX / 4);
            }
            self.events.push((**event).clone());
        }
        match self.state.apply(watched) {
            Change::End(_) => self.is_over = true,
            Change::Nothing | Change::Text | Change::Job => {}
        }
    }

    /// The present job, after the first view.
    #[must_use]
    pub fn now(&self) -> Option<&JobView> {
        self.state.view()
    }

    /// The job as it is shown: at the point of the past, or now.
    #[must_use]
    pub fn view(&self) -> Option<&JobView> {
        match &self.past {
            Some(past) => past.view.as_deref(),
            None => self.now(),
        }
    }

    /// The text of work in progress; none of the past.
    #[must_use]
    pub fn said(&self) -> crate::render::tree::Said {
        match self.past {
            Some(_) => Default::default(),
            None => self.state.text().of_steps(),
        }
    }

    /// The text of the planner; none of the past.
    #[must_use]
    pub fn planning(&self) -> Option<&str> {
        self.state.text().of_planner().filter(|_| self.past.is_none())
    }

    /// The events up to the point that is shown.
    pub fn shown_events(&self) -> &[Event] {
        let until = self.past.as_ref().map(|past| past.seq);
        let count = self.events.iter().filter(|e| until.is_none_or(|seq| e.id.seq <= seq)).count();
        self.events.get(..count).unwrap_or_default()
    }

    /// The bars over time, up to the point that is shown.
    #[must_use]
    pub fn bars(&self, planning: &str, waiting: &str) -> Vec<spans::Bar> {
        spans::bars(self.shown_events(), planning, waiting)
    }

    /// Returns whether there is an event before the one that is shown.
    #[must_use]
    pub fn can_go_back(&self) -> bool {
        self.point(true, false).is_some()
    }

    /// Moves to another point of the past. Returns the record to load; `None` when the present is
    /// reached, or nothing is there.
    pub fn scrub(&mut self, back: bool, steps: bool) -> Option<Seq> {
        self.compares = false;
        match self.point(back, steps) {
            Some(seq) => {
                self.past = Some(Past { seq, view: None });
                Some(seq)
            }
            None => {
                if !back {
                    self.past = None;
                }
                None
            }
        }
    }

    /// Finds the record of the next event before or after the one that is shown.
    fn point(&self, back: bool, steps: bool) -> Option<Seq> {
        let last = self.events.last()?.id.seq;
        let at = self.past.as_ref().map_or(last, |past| past.seq);
        let is_step = |event: &&Event| !steps || matches!(event.happened, Happened::Step(_));
        let mut seqs = self.events.iter().filter(is_step).map(|event| event.id.seq);
        if back {
            seqs.rfind(|seq| *seq < at)
        } else {
            self.past.as_ref()?;
            seqs.find(|seq| *seq > at && *seq < last)
        }
    }

    /// The chosen step, if it has begun.
    #[must_use]
    pub fn chosen(&self) -> Option<&StepId> {
        let step = self.view()?.plan.as_ref()?.steps.get(self.step)?;
        step.started.map(|_| &step.id)
    }

    /// Where the job stands.
    #[must_use]
    pub fn place(&self) -> Option<Place<'_>> {
        let view = self.view()?;
        let steps = view.plan.as_ref().map(|plan| plan.steps.as_slice()).unwrap_or_default();
        let done = steps.iter().filter(|step| step.state.is_done()).count();
        let begun = steps.iter().position(|s| s.started.is_some() && !s.state.is_terminal());
        let at = begun.or_else(|| steps.iter().position(|step| !step.state.is_terminal()));
        let at = at.filter(|_| view.outcome.is_none());
        let of_steps = steps.iter().flat_map(|step| step.notices.last()).last();
        Some(Place {
            step: at.and_then(|at| steps.get(at)),
            number: at.map_or(steps.len(), |at| at + 1),
            steps: steps.len(),
            done,
            notice: view.notices.last().or(of_steps),
        })
    }
}
