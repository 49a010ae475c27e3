//! The model of the terminal user interface: its state, and the effects that follow from an input.
//! Pure: the shell performs the effects and reports what came of them.

mod acting;
mod action;
mod dialog;
mod entry;
mod input;
mod job;
mod keys;
mod loading;
mod pulse;
mod request;
mod screen;
pub mod spans;
mod subject;

use std::collections::{BTreeMap, BTreeSet};

use client::session::OpenQuestion;
use jiff::Timestamp;
use proto::{
    door::{Crew, DeadLetter, InboxEntry},
    id::JobId,
    lang::Language,
    view::JobSummary,
};

pub use self::{
    action::Action,
    dialog::{Dialog, Stage},
    entry::Entry,
    input::{Effect, Fetch, Input, Key, Loaded},
    job::{JobScreen, Past, Place},
    pulse::Pulse,
    request::{Confirmed, Request},
    screen::{Pane, Screen},
    subject::{Needy, Target},
};
use crate::render::style::{Style, Times, Tone};

/// Largest number of commands that are kept.
const LOGGED_MAX: usize = 200;

/// The state of the terminal user interface.
#[derive(Debug)]
pub struct Model {
    /// Language of the texts.
    pub language: Language,
    /// The time of the last tick.
    pub now: Timestamp,
    /// Columns and rows.
    pub size: (u16, u16),
    /// `true` if no action is offered that changes something.
    pub read_only: bool,
    /// The screen that is shown.
    pub screen: Screen,
    /// The newest jobs.
    pub jobs: Vec<JobSummary>,
    /// `true` once the jobs have been loaded.
    pub has_jobs: bool,
    /// `true` if there are further jobs.
    pub has_more_jobs: bool,
    /// The open questions, oldest first.
    pub inbox: Vec<InboxEntry>,
    /// The live processes, once loaded.
    pub crew: Option<Crew>,
    /// The dead letters.
    pub dead: Vec<DeadLetter>,
    /// The numbers of jobs over time.
    pub pulse: Pulse,
    /// The job that is open.
    pub job: Option<JobScreen>,
    /// The marked jobs.
    pub marks: BTreeSet<JobId>,
    /// The text that listed jobs and questions contain.
    pub filter: String,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// What lies over the screen.
    pub overlay: Option<Overlay>,
    /// The text that is typed on the bottom line.
    pub typing: Option<Typing>,
    /// The actions as commands, oldest first.
    pub log: Vec<Logged>,
    /// The last message for the person.
    pub notice: Option<(Tone, String)>,
    /// The reason why the data is old, and since when.
    pub offline: Option<(Timestamp, String)>,
    cursors: BTreeMap<char, usize>,
    came_from: Screen,
    waiting: BTreeSet<Fetch>,
    asked: BTreeMap<Fetch, Timestamp>,
    editing: Option<(OpenQuestion, String)>,
}

/// What lies over the screen.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// The possible actions, which a text narrows.
    Help(Entry, usize),
    /// The log of commands, scrolled up by some lines.
    Commands(usize),
}

/// A text that is typed on the bottom line.
#[derive(Debug, Clone)]
pub enum Typing {
    /// A filter.
    Filter(Entry),
    /// A command.
    Command(Entry),
}

/// An action as the command that it equals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The time of the action.
    pub at: Timestamp,
    /// The command.
    pub command: String,
    /// Success; absent until it is known.
    pub success: Option<bool>,
}

impl Model {
    /// Creates the model of a terminal of this size.
    #[must_use]
    pub fn new(language: Language, screen: Screen, read_only: bool, now: Timestamp) -> Self {
        Self {
            language,
            now,
            size: (80, 24),
            read_only,
            screen,
            jobs: Vec::new(),
            has_jobs: false,
            has_more_jobs: false,
            inbox: Vec::new(),
            crew: None,
            dead: Vec::new(),
            pulse: Pulse::default(),
            job: None,
            marks: BTreeSet::new(),
            filter: String::new(),
            dialog: None,
            overlay: None,
            typing: None,
            log: Vec::new(),
            notice: None,
            offline: None,
            cursors: BTreeMap::new(),
            came_from: Screen::Jobs,
            waiting: BTreeSet::new(),
            asked: BTreeMap::new(),
            editing: None,
        }
    }

    /// Takes an input and returns the effects that follow.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.key(key),
            Input::Pasted(text) => {
                self.paste(&text);
                Vec::new()
            }
            Input::Resized(columns, rows) => {
                self.size = (columns, rows);
                Vec::new()
            }
            Input::Tick(now) => {
                self.now = self.now.max(now);
                self.due()
            }
            Input::Loaded(loaded) => self.loaded(loaded),
            Input::NotLoaded(fetch, failure) => self.not_loaded(&fetch, &failure),
            Input::Watched(job, watched) => {
                if let Some(open) = self.job.as_mut().filter(|open| open.job == job) {
                    open.take(*watched);
                }
                Vec::new()
            }
            Input::WatchFailed(job, failure) => {
                if self.job.as_ref().is_some_and(|open| open.job == job) {
                    self.warn(&failure);
                }
                Vec::new()
            }
            Input::Previewed(asked, result) => {
                if let Some(dialog) = &mut self.dialog {
                    dialog.foreseen(self.language, &asked, result);
                }
                Vec::new()
            }
            Input::Sent(result) => self.sent(result),
            Input::Edited(text) => self.edited(text),
        }
    }

    /// The style of texts of the shared rendering, `width` columns wide.
    #[must_use]
    pub fn style(&self, width: usize) -> Style {
        let (now, language) = (self.now, self.language);
        Style { width: Some(width), color: false, times: Times::Relative, now, language }
    }

    /// The cursor of the present screen.
    #[must_use]
    pub fn cursor(&self) -> usize {
        let at = self.cursors.get(&self.screen.digit()).copied().unwrap_or_default();
        at.min(self.rows().saturating_sub(1))
    }

    fn set_cursor(&mut self, at: usize) {
        let at = at.min(self.rows().saturating_sub(1));
        self.cursors.insert(self.screen.digit(), at);
    }

    /// The number of rows that the cursor of the present screen can be on.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self.screen {
            Screen::Jobs => self.listed().len(),
            Screen::Job => self.job.as_ref().map_or(0, |job| {
                job.view().and_then(|v| v.plan.as_ref()).map_or(0, |plan| plan.steps.len())
            }),
            Screen::Inbox => self.questions().len(),
            Screen::Crew => self.crew.as_ref().map_or(0, |crew| crew.workers.len()),
            Screen::Pulse => 0,
            Screen::Attention => self.needy().len(),
        }
    }
}
