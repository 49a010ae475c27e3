//! The screens, their names in commands, and the way between them.

use crate::words::Text;

/// A screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// The newest jobs.
    #[default]
    Jobs,
    /// One job.
    Job,
    /// Open questions.
    Inbox,
    /// Live processes.
    Crew,
    /// Numbers, queues and rates.
    Pulse,
    /// Dead letters, and jobs that need an operator.
    Attention,
}

impl Screen {
    /// All screens, in the order of their digits.
    pub const ALL: [Self; 6] =
        [Self::Jobs, Self::Job, Self::Inbox, Self::Crew, Self::Pulse, Self::Attention];

    /// Its digit.
    #[must_use]
    pub fn digit(self) -> char {
        match self {
            Self::Jobs => '1',
            Self::Job => '2',
            Self::Inbox => '3',
            Self::Crew => '4',
            Self::Pulse => '5',
            Self::Attention => '6',
        }
    }

    /// Its word in commands.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Job => "job",
            Self::Inbox => "inbox",
            Self::Crew => "crew",
            Self::Pulse => "pulse",
            Self::Attention => "attention",
        }
    }

    /// Its title.
    pub(crate) fn title(self) -> Text<'static> {
        match self {
            Self::Jobs => Text::Jobs,
            Self::Job => Text::Job,
            Self::Inbox => Text::Inbox,
            Self::Crew => Text::Crew,
            Self::Pulse => Text::Pulse,
            Self::Attention => Text::Attention,
        }
    }
}

/// A part of the job's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    /// The plan and its steps.
    #[default]
    Plan,
    /// Steps and calls over time.
    Time,
    /// Text of agents and the answer.
    Said,
    /// Events.
    Log,
}

impl Pane {
    /// All panes, in the order of the tab key.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Time, Self::Said, Self::Log];

    /// Its title.
    pub(crate) fn title(self) -> Text<'static> {
        match self {
            Self::Plan => Text::Plan,
            Self::Time => Text::Time,
            Self::Said => Text::Said,
            Self::Log => Text::Log,
        }
    }

    /// The pane after this one, or before it.
    #[must_use]
    pub fn next(self, back: bool) -> Self {
        let at = Self::ALL.iter().position(|pane| *pane == self).unwrap_or_default();
        let at = if back { at + Self::ALL.len() - 1 } else { at + 1 };
        Self::ALL[at % Self::ALL.len()]
    }
}
