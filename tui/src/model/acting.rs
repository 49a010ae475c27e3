//! The effects of actions. What changes something opens a dialog first.

use proto::{
    consequence::Consequence,
    error::Failure,
    interaction::{Answer, QuestionKind, Verdict, plan_digest},
    point::{Order, Point},
};
use serde_json::Value;

use super::{
    Action, Confirmed, Dialog, Effect, Entry, Fetch, LOGGED_MAX, Logged, Model, Overlay, Request,
    Screen, Target, Typing,
};
use crate::{
    render::{plan_text, question, style::Tone},
    words::Text,
};

impl Model {
    /// Performs an action that is possible.
    pub(super) fn act(&mut self, action: Action) -> Vec<Effect> {
        if !action.is_possible(self) {
            return Vec::new();
        }
        match action {
            Action::Open => {
                return self.selected_job().map(|job| self.open(job)).unwrap_or_default();
            }
            Action::Answer => self.ask_to_answer(),
            Action::Reject => {
                self.dialog = self.question().map(|open| Dialog::rejecting(self.language, open));
            }
            Action::Change => {
                self.dialog = self.question().map(|open| Dialog::changing(self.language, open));
            }
            Action::Edit => return self.edit(),
            Action::Pause => self.ask_to_signal(action, &Order::Pause, &Consequence::Pause),
            Action::Resume => self.ask_to_signal(action, &Order::Resume, &Consequence::Resume),
            Action::Cancel => self.ask_to_cancel(),
            Action::Retry => self.ask_to_signal(action, &Order::Retry, &Consequence::Retry),
            Action::Steer => {
                let target = self.targets().into_iter().next();
                self.dialog = target.map(|one| Dialog::steering(self.language, &one.job));
            }
            Action::Restart | Action::RollBack | Action::Fork => {
                return self.ask_about_point(action).into_iter().collect();
            }
            Action::Mark => {
                if let Some(job) = self.selected_job() {
                    if !self.marks.remove(&job) {
                        self.marks.insert(job);
                    }
                    self.set_cursor(self.cursor() + 1);
                }
            }
            Action::Earlier => return self.scrub(true, false),
            Action::Later => return self.scrub(false, false),
            Action::StepEarlier => return self.scrub(true, true),
            Action::StepLater => return self.scrub(false, true),
            Action::Diff => {
                if let Some(job) = &mut self.job {
                    job.compares = !job.compares;
                    (job.pane, job.scrolled) = (super::Pane::Said, 0);
                }
            }
            Action::NextPane => {
                if let Some(job) = &mut self.job {
                    job.pane = job.pane.next(false);
                    job.scrolled = 0;
                }
            }
            Action::Filter => {
                let filter = self.filter.clone();
                self.begin(Typing::Filter, &filter);
            }
            Action::Command => self.begin(Typing::Command, ""),
            Action::Back => self.back(),
            Action::Copy => {
                if let Some(command) = self.command() {
                    let said = Text::Copied { command: &command }.text(self.language);
                    self.notice = Some((Tone::Good, said));
                    return vec![Effect::Copy(command)];
                }
            }
            Action::Commands => self.overlay = Some(Overlay::Commands(0)),
            Action::Language => {
                let all = proto::lang::Language::ALL;
                let at = all.iter().position(|one| *one == self.language).unwrap_or_default();
                self.language = all[(at + 1) % all.len()];
            }
            Action::Help => self.overlay = Some(Overlay::Help(Entry::default(), 0)),
            Action::Quit => return vec![Effect::Quit],
        }
        Vec::new()
    }

    /// Asks whether to restart a step, to roll back, or to fork, once the front door has said what
    /// that would do.
    fn ask_about_point(&mut self, action: Action) -> Option<Effect> {
        let job = self.job.as_ref()?.job.clone();
        let (title, request) = if action == Action::Restart {
            let order = Order::Restart { step: self.chosen_step()?.clone(), again: false };
            (Text::DoRestart, Request::signal(&job, order))
        } else if action == Action::RollBack {
            let order = Order::RollBack { to: Point::Seq(self.past()?), again: false };
            (Text::DoRollBack, Request::signal(&job, order))
        } else {
            (Text::DoFork, Request::fork(&job, self.past().map(Point::Seq)))
        };
        let preview = request.preview()?;
        self.dialog = Some(Dialog::foreseeing(title.text(self.language), request));
        Some(Effect::Preview(Box::new(preview)))
    }

    fn past(&self) -> Option<proto::id::Seq> {
        self.job.as_ref().and_then(|job| job.past.as_ref()).map(|past| past.seq)
    }

    /// Returns whether there is something to go back from.
    #[must_use]
    pub fn can_go_back(&self) -> bool {
        self.screen == Screen::Job || !self.filter.is_empty() || !self.marks.is_empty()
    }

    fn back(&mut self) {
        if self.screen == Screen::Job {
            let past = self.job.as_mut().and_then(|job| {
                job.compares = false;
                job.past.take()
            });
            if past.is_none() {
                self.screen = self.came_from;
            }
        } else if !self.filter.is_empty() {
            self.filter.clear();
        } else {
            self.marks.clear();
        }
    }

    /// Asks whether to send a signal to every job that it is about.
    fn ask_to_signal(&mut self, action: Action, order: &Order, means: &Consequence) {
        let paused = |one: &Target| one.sub_status == Some(proto::job::SubStatus::Paused);
        let fits = |one: &Target| match action {
            Action::Retry => one.can_retry,
            Action::Resume => paused(one),
            Action::Pause => !one.state.is_terminal() && !paused(one),
            Action::Open
            | Action::Answer
            | Action::Reject
            | Action::Change
            | Action::Edit
            | Action::Steer
            | Action::Cancel
            | Action::Restart
            | Action::RollBack
            | Action::Fork
            | Action::Mark
            | Action::Earlier
            | Action::Later
            | Action::StepEarlier
            | Action::StepLater
            | Action::Diff
            | Action::NextPane
            | Action::Filter
            | Action::Back
            | Action::Copy
            | Action::Commands
            | Action::Command
            | Action::Language
            | Action::Help
            | Action::Quit => !one.state.is_terminal(),
        };
        let targets: Vec<Target> = self.targets().into_iter().filter(fits).collect();
        let title = action.name(self).text(self.language);
        self.ask_about(&targets, title, means.text(self.language), order);
    }

    fn ask_to_cancel(&mut self) {
        let targets: Vec<Target> =
            self.targets().into_iter().filter(|one| !one.state.is_terminal()).collect();
        let below = targets.iter().map(|one| one.children).sum();
        let means = Consequence::Cancel { below }.text(self.language);
        let title = Text::DoCancel.text(self.language);
        self.ask_about(&targets, title, means, &Order::Cancel);
    }

    fn ask_about(&mut self, targets: &[Target], title: String, means: String, order: &Order) {
        let requests: Vec<_> =
            targets.iter().map(|one| Request::signal(&one.job, order.clone())).collect();
        if requests.is_empty() {
            return;
        }
        let mut dialog = Dialog::deciding(title, means, requests);
        dialog.about = match targets {
            [one] => vec![one.goal.clone()],
            many => {
                let head = Text::ManyJobs { count: &many.len() }.text(self.language);
                let goals = many.iter().take(5).map(|one| format!("  {}", one.goal));
                std::iter::once(head).chain(goals).collect()
            }
        };
        self.dialog = Some(dialog);
    }

    fn ask_to_answer(&mut self) {
        let Some(open) = self.question() else { return };
        let (means, digest) = match &open.question.kind {
            QuestionKind::PlanCheck { plan, digest, .. } => {
                let steps = &plan.steps.len();
                let means = match steps {
                    1 => Text::ApprovePlanMeansOne.text(self.language),
                    _ => Text::ApprovePlanMeans { steps }.text(self.language),
                };
                (means, digest)
            }
            QuestionKind::ToolApproval { tool, args, digest, .. } => {
                let (tool, bytes) = (tool.clone(), args.to_string().len());
                (Consequence::Approve { tool, bytes }.text(self.language), digest)
            }
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                self.dialog = Some(Dialog::answering(self.language, open, ""));
                return;
            }
        };
        let answer = Answer::approve(Some(digest.clone()));
        let requests = vec![Request::answer(&open.job, &open.question.id, answer)];
        let title = Text::DoApprove.text(self.language);
        let mut dialog = Dialog::deciding(title, means, requests);
        let details = question::details(&self.style(60), &open.question);
        dialog.about = details.lines().map(|line| line.trim_end().to_owned()).collect();
        dialog.about.retain(|line| !line.is_empty());
        if open.question.can_be_remembered(Verdict::Approve) {
            dialog.offer_to_remember();
        }
        self.dialog = Some(dialog);
    }

    /// Opens the editor with a plan, or with an empty answer. A draft that was refused comes back.
    fn edit(&mut self) -> Vec<Effect> {
        let Some(open) = self.question() else { return Vec::new() };
        let draft = self.editing.take().filter(|(before, _)| before.key() == open.key());
        let text = match (&open.question.kind, draft) {
            (_, Some((_, draft))) => draft,
            // A plan truncated in the inbox must not be sent back as if it were complete.
            (QuestionKind::PlanCheck { plan, digest, .. }, None)
                if plan_digest(&open.job, plan) != *digest =>
            {
                let job = &open.job;
                let words = Text::PlanTooLarge { job }.text(self.language);
                self.notice = Some((Tone::Wait, words));
                return Vec::new();
            }
            (QuestionKind::PlanCheck { plan, .. }, None) => match plan_text::written(plan) {
                Ok(plan) => format!("{}\n{plan}", Text::EditHead.text(self.language)),
                Err(why) => {
                    self.notice = Some((Tone::Bad, why));
                    return Vec::new();
                }
            },
            (
                QuestionKind::Question
                | QuestionKind::Choice { .. }
                | QuestionKind::Form { .. }
                | QuestionKind::ToolApproval { .. },
                None,
            ) => String::new(),
        };
        self.editing = Some((open, text.clone()));
        vec![Effect::Edit(text)]
    }

    /// Takes the text from the editor, and asks whether to send it.
    pub(super) fn edited(&mut self, text: Option<String>) -> Vec<Effect> {
        let Some((open, before)) = self.editing.take() else { return Vec::new() };
        let Some(text) = text else {
            self.notice = Some((Tone::Bad, Text::EditorFailed.text(self.language)));
            return Vec::new();
        };
        if text.trim().is_empty() || text == before {
            self.notice = Some((Tone::Dim, Text::NotChanged.text(self.language)));
            return Vec::new();
        }
        let (answer, means) = match &open.question.kind {
            QuestionKind::PlanCheck { digest, revision, .. } => match plan_text::read(&text) {
                Ok(value) => {
                    let digest = Some(digest.clone());
                    let answer = Answer {
                        decision: Verdict::Edit,
                        value: Some(value),
                        text: None,
                        digest,
                        remember: None,
                    };
                    let means = Consequence::EditPlan { revision: revision + 1 };
                    (answer, means.text(self.language))
                }
                Err(why) => {
                    let without = text.lines().skip_while(|line| line.starts_with("# !"));
                    let why = why.lines().map(|line| format!("# ! {line}"));
                    let lines: Vec<_> = why.chain(without.map(str::to_owned)).collect();
                    let text = format!("{}\n", lines.join("\n"));
                    self.editing = Some((open, text.clone()));
                    return vec![Effect::Edit(text)];
                }
            },
            QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. }
            | QuestionKind::ToolApproval { .. } => {
                let answer = Answer::respond(Value::from(text.trim()));
                (answer, Text::AnswerMeans.text(self.language))
            }
        };
        let requests = vec![Request::answer(&open.job, &open.question.id, answer)];
        let title = Text::DoEdit.text(self.language);
        self.dialog = Some(Dialog::deciding(title, means, requests));
        self.editing = Some((open, text));
        Vec::new()
    }

    /// Takes the result of confirmed requests.
    pub(super) fn sent(&mut self, result: Result<(), Box<Failure>>) -> Vec<Effect> {
        let success = result.is_ok();
        let open = self.log.iter_mut().filter(|logged| logged.success.is_none());
        open.for_each(|logged| logged.success = Some(success));
        match result {
            Ok(()) => {
                self.dialog = None;
                self.editing = None;
                self.marks.clear();
                if let Some(job) = &mut self.job {
                    (job.past, job.compares) = (None, false);
                }
                self.notice = Some((Tone::Good, Text::Done.text(self.language)));
            }
            Err(failure) => match &mut self.dialog {
                Some(dialog) => dialog.failed(self.language, &failure),
                None => self.warn(&failure),
            },
        }
        [Fetch::Jobs, Fetch::Inbox].into_iter().filter_map(|fetch| self.fetch(fetch)).collect()
    }

    /// Notes confirmed requests as commands.
    pub(super) fn note_commands(&mut self, confirmed: &Confirmed) {
        let at = self.now;
        let commands = confirmed.requests().iter().map(Request::command);
        self.log.extend(commands.map(|command| Logged { at, command, success: None }));
        let surplus = self.log.len().saturating_sub(LOGGED_MAX);
        self.log.drain(..surplus);
    }
}
