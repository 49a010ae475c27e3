//! The end of a job, and the consequences of a failed step.

use jiff::Timestamp;
use proto::{
    agent::{OnBlocked, OnFailure},
    job::{FailReason, Outcome},
    limits,
    outline::{Item, ItemStatus},
    step::StepState,
};
use serde_json::{Map, Value};

use super::{
    excerpt,
    state::{ActiveJob, Job, Stage},
    step::StepRun,
    text,
};

/// Maximum length of a step's label in the summary, in characters.
const LABEL_CHARS: usize = 120;

impl ActiveJob {
    /// Fails the job after a failed step: at once, or when no work is out, by the agent's policy.
    /// Replanning is not concluded here: see [`ActiveJob::wants_replan`].
    pub(super) fn settle_failures(&mut self) {
        if self.has_workflow() {
            // The graph says what follows from a failed step.
            return;
        }
        let at_once = self.brief.agent.step.on_failure == OnFailure::FailRun;
        if !self.planning.is_executing() || (self.has_anything_out() && !at_once) {
            return;
        }
        if let Some((reason, message)) = self.output_failed() {
            return self.planning.fail(reason, message);
        }
        let Some(failed) = self.execution.first_failed() else { return };
        let message = text::step_failed(
            self.language(),
            failed.id().as_str(),
            failed.response.as_deref().unwrap_or_default(),
        );
        match self.brief.agent.step.on_failure {
            OnFailure::Continue => {}
            OnFailure::Stop | OnFailure::FailRun => {
                self.planning.fail(failed.fail_reason(), message);
            }
            OnFailure::Replan if self.wants_replan() => {}
            OnFailure::Replan => {
                let message =
                    text::replans_used_up(self.language(), self.execution.replans(), &message);
                self.planning.fail(FailReason::ReplanLimit, message);
            }
        }
    }

    /// Returns the outcome that is to be stored now.
    pub(super) fn ending(&self, records: u64) -> Option<Outcome> {
        if let Some(cancel) = self.steering.canceled() {
            return Some(Outcome::Canceled { reason: cancel.reason.clone() });
        }
        if self.timers.has_deadline_passed() {
            let message = text::deadline_passed(self.language()).to_owned();
            return Some(self.failed(FailReason::DeadlineExceeded, message));
        }
        // Reserves room for the records that end a job.
        if records + 100 >= limits::RECORDS_MAX {
            return Some(
                self.failed(FailReason::HistoryFull, text::history_full(self.language(), records)),
            );
        }
        match self.planning.stage() {
            Stage::Failing { reason, message }
                if !self.has_anything_out() || self.abandons(*reason) =>
            {
                Some(self.failed(*reason, message.clone()))
            }
            Stage::Rejected { reason } => Some(Outcome::Canceled { reason: reason.clone() }),
            Stage::Execute => self.executed(),
            Stage::Failing { .. }
            | Stage::Plan { .. }
            | Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. } => None,
        }
    }

    /// Returns `true` if a command or a child job is out.
    pub(super) fn has_anything_out(&self) -> bool {
        self.has_work_out() || self.has_children_out()
    }

    fn executed(&self) -> Option<Outcome> {
        if self.has_workflow() {
            return self.workflow_outcome();
        }
        if self.wants_replan() || !self.execution.are_all_over() {
            return None;
        }
        if let Some(failed) =
            self.execution.first_failed().filter(|_| !self.completes_with_what_it_has())
        {
            let error = failed.response.as_deref().unwrap_or_default();
            let message = text::step_failed(self.language(), failed.id().as_str(), error);
            return Some(self.failed(failed.fail_reason(), message));
        }
        let value = self.output_value()?;
        let mut summary = self.answer().unwrap_or_else(|| self.summary());
        if let Some(failed) = self.execution.first_failed() {
            let error = failed.response.as_deref().unwrap_or_default();
            let failed = text::step_failed(self.language(), failed.id().as_str(), error);
            summary = text::without(self.language(), &summary, &failed, &self.skipped());
        }
        if self.brief.rules.open_items_are_told() {
            summary = text::with_open(self.language(), summary, &self.open_items());
        }
        Some(Outcome::Completed { summary, results: self.results(), value })
    }

    /// Returns the answer of the job in words, if a model gave one.
    pub(super) fn answer(&self) -> Option<String> {
        self.planning.answer().map(str::to_owned).or_else(|| self.answer_alone())
    }

    /// Returns `true` if the job completes in spite of a failed step.
    pub(super) fn completes_with_what_it_has(&self) -> bool {
        match self.brief.agent.step.on_blocked {
            OnBlocked::Error => false,
            OnBlocked::Skip => {
                self.brief.agent.step.on_failure == OnFailure::Continue
                    && self.execution.done().next().is_some()
            }
        }
    }

    fn skipped(&self) -> Vec<&str> {
        let skipped = self.execution.steps().iter().filter(|run| run.state == StepState::Skipped);
        skipped.map(|run| run.id().as_str()).collect()
    }

    /// Returns the titles of the items that models left open in the outlines of their steps.
    fn open_items(&self) -> Vec<&str> {
        let outlines = self.execution.done().filter_map(|run| run.outline.as_ref());
        outlines.flatten().filter(|item| is_undone(item)).map(|item| item.title.as_str()).collect()
    }

    pub(super) fn failed(&self, reason: FailReason, message: String) -> Outcome {
        let message = match reason {
            FailReason::BudgetExceeded
            | FailReason::NoProgress
            | FailReason::DeadlineExceeded
            | FailReason::ReplanLimit => self.report(reason, &message),
            FailReason::PlanFailed if self.reports_planner() => self.report(reason, &message),
            FailReason::PlanFailed
            | FailReason::StepFailed
            | FailReason::QuestionExpired
            | FailReason::HistoryFull
            | FailReason::QuestionRepeated
            | FailReason::TooManyQuestions
            | FailReason::OutputInvalid => message,
        };
        Outcome::Failed { reason, message, results: self.results() }
    }

    /// Returns the report of a job that ended before its goal: its results, its unfinished parts, the
    /// reason, and the recommended next action.
    fn report(&self, reason: FailReason, headline: &str) -> String {
        let done: Vec<String> = self.execution.done().map(StepRun::in_a_line).collect();
        text::report(self.language(), reason, headline, &done, &self.remaining())
    }

    /// Returns what the job did not reach: its unfinished steps, else the open items of the
    /// outline, else the goal itself.
    fn remaining(&self) -> Vec<&str> {
        let steps = self.execution.steps().iter().filter(|run| run.state != StepState::Completed);
        let items = self.planning.outline().iter().filter(|item| is_undone(item));
        let steps: Vec<&str> = steps.map(|run| run.step.label()).collect();
        let items: Vec<&str> = items.map(|item| item.title.as_str()).collect();
        [steps, items]
            .into_iter()
            .find(|open| !open.is_empty())
            .unwrap_or_else(|| vec![&self.brief.goal])
    }

    pub(super) fn results(&self) -> Value {
        let by_id: Map<_, _> = self
            .execution
            .done()
            .map(|run| (run.id().to_string(), run.result.clone().unwrap_or(Value::Null)))
            .collect();
        if by_id.is_empty() { Value::Null } else { Value::Object(by_id) }
    }

    /// Returns the answer of a job whose plan is the goal itself.
    fn answer_alone(&self) -> Option<String> {
        let run = self.goal_step().filter(|run| !run.unsuccessful)?;
        let answer = run.response.as_deref().filter(|text| !text.trim().is_empty())?;
        self.brief.rules.answer_stands_alone().then(|| answer.to_owned())
    }

    fn summary(&self) -> String {
        // Under the first rules, results of replaced plans are left out, unless the last plan has
        // no result of its own.
        let stands = !self.brief.rules.begun_steps_stay()
            && self.execution.done().any(|run| run.left.is_none());
        let steps = |unsuccessful| {
            let done = self.execution.done().filter(move |run| !stands || run.left.is_none());
            done.filter(move |run| run.unsuccessful == unsuccessful)
        };
        let list = |head: String, unsuccessful| {
            let lines = steps(unsuccessful).enumerate();
            let lines = lines.map(|(n, run)| format!("\n{}. {}", n + 1, self.summary_line(run)));
            format!("{head}{}", lines.collect::<String>())
        };
        let (good, bad) = (steps(false).count(), steps(true).count());
        let mut parts = Vec::new();
        if good > 0 || bad == 0 {
            parts.push(list(text::succeeded(self.language(), good), false));
        }
        if bad > 0 {
            parts.push(list(text::unsuccessful(self.language(), bad), true));
        }
        parts.join("\n")
    }

    /// Returns the line of a step in the summary: its label and its response.
    fn summary_line(&self, run: &StepRun) -> String {
        let said = run.in_a_line();
        let label = excerpt::line(run.step.label(), LABEL_CHARS);
        if !self.brief.rules.summaries_name_steps() || label.trim().is_empty() || label == said {
            return said;
        }
        text::summary_line(self.language(), &label, &said)
    }

    /// Records the stored end of the job: unfinished steps are canceled and questions closed.
    pub(super) fn finished(&mut self, at: Timestamp, outcome: &Outcome) {
        for step in self.execution.steps_mut().iter_mut().filter(|run| !run.state.is_terminal()) {
            step.end(StepState::Canceled, None, at);
        }
        self.questions.end(at);
        self.end(outcome);
    }
}

/// Returns `true` for an item that is neither done nor dropped.
fn is_undone(item: &Item) -> bool {
    match item.status {
        ItemStatus::Pending | ItemStatus::InProgress | ItemStatus::Blocked => true,
        ItemStatus::Done | ItemStatus::Skipped => false,
    }
}

impl StepRun {
    /// Returns the step's response, or its label if the response is empty, cut for display.
    fn in_a_line(&self) -> String {
        let response = self.response.as_deref().unwrap_or_default().trim();
        let said = if response.is_empty() { self.step.label() } else { response };
        proto::excerpt::ends(said, limits::EXCERPT_CHARS)
    }
}

impl Job {
    /// Returns `true` if the job has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.outcome().is_some()
    }
}
