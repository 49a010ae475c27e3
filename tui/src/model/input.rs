//! The inputs of the model and the effects that it asks for.

use jiff::Timestamp;
use proto::{
    door::{Counted, Crew, DeadLetters, InboxPage, Listed, Preview, Previewed, Watched},
    error::Failure,
    id::{JobId, Seq},
    view::JobView,
};

use super::request::Confirmed;

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character without a modifier other than shift.
    Char(char),
    /// A letter with control.
    Control(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Shift with tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// The upward arrow.
    Up,
    /// The downward arrow.
    Down,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
}

/// An input of the model.
#[derive(Debug, Clone)]
pub enum Input {
    /// A pressed key.
    Key(Key),
    /// A pasted text.
    Pasted(String),
    /// The size of the terminal: columns and rows.
    Resized(u16, u16),
    /// The time, at least once a second.
    Tick(Timestamp),
    /// The reply to a fetch.
    Loaded(Loaded),
    /// A fetch that failed.
    NotLoaded(Fetch, Box<Failure>),
    /// A message of the watch of a job.
    Watched(JobId, Box<Watched>),
    /// The end of a watch because of an error.
    WatchFailed(JobId, Box<Failure>),
    /// The reply to a preview.
    Previewed(Box<Preview>, Result<Box<Previewed>, Box<Failure>>),
    /// The result of the confirmed requests: the first failure, if any.
    Sent(Result<(), Box<Failure>>),
    /// The text from the editor; `None` if the editor failed.
    Edited(Option<String>),
}

/// Data that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fetch {
    /// The newest jobs.
    Jobs,
    /// The open questions.
    Inbox,
    /// The live processes.
    Crew,
    /// The dead letters.
    Dead,
    /// The numbers of jobs.
    Count,
    /// A job as of a record.
    At(JobId, Seq),
}

/// The reply to a fetch.
#[derive(Debug, Clone)]
pub enum Loaded {
    /// The newest jobs.
    Jobs(Listed),
    /// The open questions.
    Inbox(InboxPage),
    /// The live processes.
    Crew(Crew),
    /// The dead letters.
    Dead(DeadLetters),
    /// The numbers of jobs.
    Count(Counted),
    /// A job as of a record.
    At(JobId, Seq, Box<JobView>),
}

impl Loaded {
    /// Returns the fetch that this is the reply to.
    #[must_use]
    pub fn fetch(&self) -> Fetch {
        match self {
            Self::Jobs(_) => Fetch::Jobs,
            Self::Inbox(_) => Fetch::Inbox,
            Self::Crew(_) => Fetch::Crew,
            Self::Dead(_) => Fetch::Dead,
            Self::Count(_) => Fetch::Count,
            Self::At(job, seq, _) => Fetch::At(job.clone(), *seq),
        }
    }
}

/// An effect that the shell performs.
#[derive(Debug)]
pub enum Effect {
    /// Fetch data.
    Fetch(Fetch),
    /// Watch this job, and no other one.
    Watch(JobId),
    /// Ask what a request would do.
    Preview(Box<Preview>),
    /// Send the requests that a person confirmed.
    Send(Confirmed),
    /// Open the editor with this text.
    Edit(String),
    /// Copy a text to the clipboard.
    Copy(String),
    /// Leave.
    Quit,
}
