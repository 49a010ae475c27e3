//! What the cursor is on: the job, the question, and the jobs that an action is about.

use client::session::{OpenQuestion, open_questions};
use proto::{
    door::{DeadLetter, InboxEntry},
    escape,
    id::{JobId, StepId},
    interaction::QuestionKind,
    job::{JobState, SubStatus},
    view::{JobSummary, JobView},
    why::Reason,
};

use super::{Model, Pane, Screen, action::helps_to_retry};

/// A job that an action is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The job.
    pub job: JobId,
    /// Its goal in one line, escaped.
    pub goal: String,
    /// Its state.
    pub state: JobState,
    /// Its activity within the state.
    pub sub_status: Option<SubStatus>,
    /// `true` if a retry helps.
    pub can_retry: bool,
    /// The number of its children.
    pub children: usize,
}

/// A row of what needs an operator.
#[derive(Debug, Clone, Copy)]
pub enum Needy<'a> {
    /// A dead letter.
    Dead(&'a DeadLetter),
    /// A job whose reason names what an operator can do.
    Job(&'a JobSummary),
}

impl Needy<'_> {
    /// The job of the row.
    #[must_use]
    pub fn job(&self) -> &JobId {
        match self {
            Self::Dead(letter) => &letter.job,
            Self::Job(job) => &job.job,
        }
    }
}

impl Model {
    /// The listed jobs: those that contain the filter.
    #[must_use]
    pub fn listed(&self) -> Vec<&JobSummary> {
        let wanted = self.filter.to_lowercase();
        let fits = |job: &&JobSummary| {
            let fields = [&job.goal, job.job.as_str(), job.agent.as_str(), job.state.as_str()];
            wanted.is_empty() || fields.iter().any(|f| f.to_lowercase().contains(&wanted))
        };
        self.jobs.iter().filter(fits).collect()
    }

    /// The listed questions: those that contain the filter.
    #[must_use]
    pub fn questions(&self) -> Vec<&InboxEntry> {
        let wanted = self.filter.to_lowercase();
        let fits = |entry: &&InboxEntry| {
            let fields = [&entry.goal, entry.job.as_str(), &entry.question.prompt];
            wanted.is_empty() || fields.iter().any(|f| f.to_lowercase().contains(&wanted))
        };
        self.inbox.iter().filter(fits).collect()
    }

    /// What needs an operator: dead letters, then jobs that are held up. Questions are in the inbox.
    #[must_use]
    pub fn needy(&self) -> Vec<Needy<'_>> {
        let dead = self.dead.iter().map(Needy::Dead);
        let is_dead = |job: &JobSummary| self.dead.iter().any(|letter| letter.job == job.job);
        let held = self.jobs.iter().filter(|job| {
            job.why.as_ref().is_some_and(|why| needs_operator(&why.reason)) && !is_dead(job)
        });
        dead.chain(held.map(Needy::Job)).collect()
    }

    /// The job that the cursor is on.
    #[must_use]
    pub fn selected_job(&self) -> Option<JobId> {
        let at = self.cursor();
        match self.screen {
            Screen::Jobs => self.listed().get(at).map(|job| job.job.clone()),
            Screen::Job => self.job.as_ref().map(|job| job.job.clone()),
            Screen::Inbox => self.questions().get(at).map(|entry| entry.job.clone()),
            Screen::Attention => self.needy().get(at).map(|row| row.job().clone()),
            Screen::Crew | Screen::Pulse => None,
        }
    }

    /// The jobs that an action is about: the marked ones, or the one that the cursor is on.
    #[must_use]
    pub fn targets(&self) -> Vec<Target> {
        if self.screen == Screen::Job {
            return self.job.as_ref().and_then(|job| job.now()).map(of_view).into_iter().collect();
        }
        let known = |id: &JobId| self.jobs.iter().find(|job| job.job == *id).map(of_summary);
        if self.screen == Screen::Jobs && !self.marks.is_empty() {
            return self.marks.iter().filter_map(known).collect();
        }
        let Some(job) = self.selected_job() else { return Vec::new() };
        let dead = self.dead.iter().find(|letter| letter.job == job).map(of_letter);
        known(&job).or(dead).into_iter().collect()
    }

    /// The question that the cursor is on, or the first one of the open job.
    #[must_use]
    pub fn question(&self) -> Option<OpenQuestion> {
        match self.screen {
            Screen::Inbox => self.questions().get(self.cursor()).map(|entry| OpenQuestion {
                job: entry.job.clone(),
                path: entry.path.clone(),
                question: entry.question.clone(),
            }),
            Screen::Job => open_questions(self.job.as_ref()?.now()?).into_iter().next(),
            Screen::Jobs | Screen::Crew | Screen::Pulse | Screen::Attention => None,
        }
    }

    /// Returns whether the question is about a plan or a call.
    #[must_use]
    pub fn asks_for_approval(&self) -> bool {
        self.question().is_some_and(|open| match open.question.kind {
            QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. } => true,
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                false
            }
        })
    }

    /// The chosen step of the open job, if it has begun.
    #[must_use]
    pub fn chosen_step(&self) -> Option<&StepId> {
        let job = self.job.as_ref().filter(|_| self.screen == Screen::Job)?;
        job.chosen().filter(|_| job.pane == Pane::Plan)
    }

    /// Returns whether a point of the past is shown.
    #[must_use]
    pub fn is_in_the_past(&self) -> bool {
        self.screen == Screen::Job && self.job.as_ref().is_some_and(|job| job.past.is_some())
    }

    /// The command of what the cursor is on.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        if let Some(open) = self.question().filter(|_| self.screen == Screen::Inbox) {
            return Some(format!("callboard inbox show {} {}", open.job, open.question.id));
        }
        match self.screen {
            Screen::Crew => Some("callboard crew ls".to_owned()),
            Screen::Pulse => Some("callboard jobs count".to_owned()),
            Screen::Jobs | Screen::Job | Screen::Inbox | Screen::Attention => {
                let job = self.selected_job()?;
                Some(format!("callboard jobs describe {job}"))
            }
        }
    }
}

/// Returns whether an operator can help a job that has this reason. A question waits in the inbox.
fn needs_operator(reason: &Reason) -> bool {
    match reason {
        Reason::Unreadable { .. }
        | Reason::NoSupervisor { .. }
        | Reason::NoWorker { .. }
        | Reason::GivenUp { .. }
        | Reason::Outage { .. }
        | Reason::Paused { .. } => true,
        Reason::Child { why, .. } => why.as_ref().is_some_and(|why| needs_operator(&why.reason)),
        Reason::Question { .. }
        | Reason::Retry { .. }
        | Reason::Pausing { .. }
        | Reason::Event { .. }
        | Reason::Queued { .. }
        | Reason::Sent { .. }
        | Reason::Running { .. }
        | Reason::BudgetUsed { .. }
        | Reason::Ending { .. }
        | Reason::Deciding => false,
    }
}

fn of_summary(job: &JobSummary) -> Target {
    Target {
        job: job.job.clone(),
        goal: escape::line(&job.goal).into_owned(),
        state: job.state,
        sub_status: job.sub_status,
        can_retry: job.why.as_ref().is_some_and(|why| helps_to_retry(&why.reason)),
        children: 0,
    }
}

fn of_view(view: &JobView) -> Target {
    Target {
        job: view.job.clone(),
        goal: escape::line(&view.goal).into_owned(),
        state: view.state,
        sub_status: view.sub_status,
        can_retry: view.why.iter().any(|why| helps_to_retry(&why.reason)),
        children: view.children.iter().filter(|child| !child.state.is_terminal()).count(),
    }
}

fn of_letter(letter: &DeadLetter) -> Target {
    Target {
        job: letter.job.clone(),
        goal: letter.job.to_string(),
        state: JobState::Working,
        sub_status: None,
        can_retry: true,
        children: 0,
    }
}
