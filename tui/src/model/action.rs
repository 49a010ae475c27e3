//! The actions: their keys, their names, and the circumstances under which they are possible.

use proto::{interaction::QuestionKind, job::SubStatus, why::Reason};

use super::{Key, Model, screen::Screen};
use crate::words::Text;

/// An action of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Open what the cursor is on.
    Open,
    /// Approve a plan or a call, or answer a question.
    Answer,
    /// Reject a plan or a call.
    Reject,
    /// Ask for a change of a plan in words.
    Change,
    /// Edit a plan, or write an answer, in the editor.
    Edit,
    /// Pause a job.
    Pause,
    /// Resume a paused job.
    Resume,
    /// Instruct a job.
    Steer,
    /// Cancel jobs.
    Cancel,
    /// Try again at once what failed.
    Retry,
    /// Restart the chosen step.
    Restart,
    /// Roll the job back to the record that is looked at.
    RollBack,
    /// Continue from a record as a new job.
    Fork,
    /// Mark a job for an action on several jobs.
    Mark,
    /// Go to the event before.
    Earlier,
    /// Go to the event after.
    Later,
    /// Go to the change of a step before.
    StepEarlier,
    /// Go to the change of a step after.
    StepLater,
    /// Compare the past with the present.
    Diff,
    /// Go to the next pane.
    NextPane,
    /// Filter a list.
    Filter,
    /// Go back.
    Back,
    /// Copy the command of what the cursor is on.
    Copy,
    /// Show the actions as commands.
    Commands,
    /// Type a command.
    Command,
    /// Change the language.
    Language,
    /// Show all that is possible.
    Help,
    /// Leave.
    Quit,
}

impl Action {
    /// All actions, the most frequent first.
    pub const ALL: [Self; 28] = [
        Self::Answer,
        Self::Reject,
        Self::Change,
        Self::Edit,
        Self::Open,
        Self::Pause,
        Self::Resume,
        Self::Steer,
        Self::Cancel,
        Self::Retry,
        Self::RollBack,
        Self::Restart,
        Self::Fork,
        Self::Mark,
        Self::Diff,
        Self::Earlier,
        Self::Later,
        Self::StepEarlier,
        Self::StepLater,
        Self::NextPane,
        Self::Filter,
        Self::Back,
        Self::Copy,
        Self::Commands,
        Self::Command,
        Self::Language,
        Self::Help,
        Self::Quit,
    ];

    /// Its key.
    #[must_use]
    pub fn key(self) -> Key {
        match self {
            Self::Open => Key::Enter,
            Self::Answer => Key::Char('a'),
            Self::Reject => Key::Char('r'),
            Self::Change => Key::Char('c'),
            Self::Edit => Key::Char('e'),
            Self::Pause | Self::Resume => Key::Char('p'),
            Self::Steer => Key::Char('s'),
            Self::Cancel => Key::Char('x'),
            Self::Retry => Key::Char('t'),
            Self::Restart => Key::Char('R'),
            Self::RollBack => Key::Char('b'),
            Self::Fork => Key::Char('f'),
            Self::Mark => Key::Char(' '),
            Self::Earlier => Key::Char('['),
            Self::Later => Key::Char(']'),
            Self::StepEarlier => Key::Char('{'),
            Self::StepLater => Key::Char('}'),
            Self::Diff => Key::Char('d'),
            Self::NextPane => Key::Tab,
            Self::Filter => Key::Char('/'),
            Self::Back => Key::Escape,
            Self::Copy => Key::Char('y'),
            Self::Commands => Key::Char(';'),
            Self::Command => Key::Char(':'),
            Self::Language => Key::Char('L'),
            Self::Help => Key::Char('?'),
            Self::Quit => Key::Char('q'),
        }
    }

    /// The name of its key.
    #[must_use]
    pub fn key_name(self) -> String {
        match self.key() {
            Key::Char(' ') => "space".to_owned(),
            Key::Char(c) => c.to_string(),
            Key::Enter => "enter".to_owned(),
            Key::Tab => "tab".to_owned(),
            Key::Escape => "esc".to_owned(),
            Key::Control(_)
            | Key::BackTab
            | Key::Backspace
            | Key::Delete
            | Key::Up
            | Key::Down
            | Key::Left
            | Key::Right
            | Key::PageUp
            | Key::PageDown
            | Key::Home
            | Key::End => String::new(),
        }
    }

    /// `true` for an action that changes something after a confirmation.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::Answer
            | Self::Reject
            | Self::Change
            | Self::Edit
            | Self::Pause
            | Self::Resume
            | Self::Steer
            | Self::Cancel
            | Self::Retry
            | Self::Restart
            | Self::RollBack
            | Self::Fork => true,
            Self::Open
            | Self::Mark
            | Self::Earlier
            | Self::Later
            | Self::StepEarlier
            | Self::StepLater
            | Self::Diff
            | Self::NextPane
            | Self::Filter
            | Self::Back
            | Self::Copy
            | Self::Commands
            | Self::Command
            | Self::Language
            | Self::Help
            | Self::Quit => false,
        }
    }

    /// Its name on the bottom line.
    pub(crate) fn name(self, model: &Model) -> Text<'static> {
        match self {
            Self::Open => Text::DoOpen,
            Self::Answer if model.asks_for_approval() => Text::DoApprove,
            Self::Answer => Text::DoAnswer,
            Self::Reject => Text::DoReject,
            Self::Change => Text::DoChange,
            Self::Edit => Text::DoEdit,
            Self::Pause => Text::DoPause,
            Self::Resume => Text::DoResume,
            Self::Steer => Text::DoSteer,
            Self::Cancel => Text::DoCancel,
            Self::Retry => Text::DoRetry,
            Self::Restart => Text::DoRestart,
            Self::RollBack => Text::DoRollBack,
            Self::Fork => Text::DoFork,
            Self::Mark => Text::DoMark,
            Self::Earlier => Text::DoEarlier,
            Self::Later => Text::DoLater,
            Self::StepEarlier => Text::DoStepEarlier,
            Self::StepLater => Text::DoStepLater,
            Self::Diff => Text::DoDiff,
            Self::NextPane => Text::DoNextPane,
            Self::Filter => Text::DoFilter,
            Self::Back if model.is_in_the_past() => Text::DoLive,
            Self::Back => Text::DoBack,
            Self::Copy => Text::DoCopy,
            Self::Commands => Text::DoCommands,
            Self::Command => Text::DoCommand,
            Self::Language => Text::DoLanguage,
            Self::Help => Text::DoHelp,
            Self::Quit => Text::DoQuit,
        }
    }

    /// Returns whether the action is possible now.
    #[must_use]
    pub fn is_possible(self, model: &Model) -> bool {
        if self.changes() && model.read_only {
            return false;
        }
        let is_live = !model.is_in_the_past();
        match self {
            Self::Open => model.screen != Screen::Job && model.selected_job().is_some(),
            Self::Answer => is_live && model.question().is_some(),
            Self::Reject => is_live && model.asks_for_approval(),
            Self::Change => is_live && model.question().is_some_and(|q| is_plan(&q.question.kind)),
            Self::Edit => is_live && model.question().is_some_and(|q| is_written(&q.question.kind)),
            Self::Pause | Self::Resume => {
                let paused = model.targets().iter().any(|job| is_paused(job.sub_status));
                let open = model.targets().iter().any(|job| !job.state.is_terminal());
                is_live && open && paused == (self == Self::Resume)
            }
            Self::Steer => {
                let targets = model.targets();
                is_live && matches!(targets.as_slice(), [one] if !one.state.is_terminal())
            }
            Self::Cancel => is_live && model.targets().iter().any(|job| !job.state.is_terminal()),
            Self::Retry => is_live && model.targets().iter().any(|job| job.can_retry),
            Self::Restart => is_live && model.chosen_step().is_some(),
            Self::RollBack => !is_live,
            Self::Fork => model.screen == Screen::Job && model.job.is_some(),
            Self::Mark => model.screen == Screen::Jobs && model.selected_job().is_some(),
            Self::Earlier | Self::StepEarlier => {
                model.screen == Screen::Job && model.job.as_ref().is_some_and(|j| j.can_go_back())
            }
            Self::Later | Self::StepLater => !is_live,
            Self::Diff => !is_live,
            Self::NextPane => model.screen == Screen::Job,
            Self::Filter => matches!(model.screen, Screen::Jobs | Screen::Inbox),
            Self::Back => model.can_go_back(),
            Self::Copy => model.command().is_some(),
            Self::Commands | Self::Command | Self::Language | Self::Help | Self::Quit => true,
        }
    }
}

fn is_plan(kind: &QuestionKind) -> bool {
    matches!(kind, QuestionKind::PlanCheck { .. })
}

/// `true` for what an editor helps to write.
fn is_written(kind: &QuestionKind) -> bool {
    matches!(kind, QuestionKind::PlanCheck { .. } | QuestionKind::Question)
}

fn is_paused(sub: Option<SubStatus>) -> bool {
    sub == Some(SubStatus::Paused)
}

/// Returns whether `jobs retry` helps against this reason.
#[must_use]
pub(super) fn helps_to_retry(reason: &Reason) -> bool {
    match reason {
        Reason::Unreadable { .. }
        | Reason::GivenUp { .. }
        | Reason::Outage { .. }
        | Reason::Retry { .. } => true,
        Reason::Paused { .. }
        | Reason::Pausing { .. }
        | Reason::Event { .. }
        | Reason::NoSupervisor { .. }
        | Reason::NoWorker { .. }
        | Reason::Question { .. }
        | Reason::Child { .. }
        | Reason::Queued { .. }
        | Reason::Sent { .. }
        | Reason::Running { .. }
        | Reason::BudgetUsed { .. }
        | Reason::Ending { .. }
        | Reason::Deciding => false,
    }
}
