//! The effects of keys: in a dialog, in what lies over the screen, on the bottom line, or on the
//! screen itself.

use super::{
    Action, Effect, Entry, Fetch, Key, Model, Overlay, Pane, Screen, Typing, dialog::Outcome,
};
use crate::{render::style::Tone, words::Text};

/// Rows that a page key moves.
const PAGE: usize = 10;

impl Model {
    /// Takes a key.
    pub(super) fn key(&mut self, key: Key) -> Vec<Effect> {
        if key == Key::Control('c') {
            return vec![Effect::Quit];
        }
        self.notice = None;
        if self.dialog.is_some() {
            return self.key_of_dialog(key);
        }
        if let Some(overlay) = self.overlay.take() {
            return self.key_of_overlay(overlay, key);
        }
        if let Some(typing) = self.typing.take() {
            return self.key_of_line(typing, key);
        }
        self.key_of_screen(key)
    }

    /// Inserts a pasted text where a text is typed.
    pub(super) fn paste(&mut self, text: &str) {
        match (&mut self.dialog, &mut self.overlay, &mut self.typing) {
            (Some(dialog), _, _) => dialog.paste(text),
            (None, Some(Overlay::Help(entry, _)), _)
            | (None, None, Some(Typing::Filter(entry) | Typing::Command(entry))) => {
                entry.insert(text);
            }
            (None, Some(Overlay::Commands(_)) | None, _) => {}
        }
        if let Some(Typing::Filter(entry)) = &self.typing {
            self.filter = entry.text();
        }
    }

    fn key_of_dialog(&mut self, key: Key) -> Vec<Effect> {
        let language = self.language;
        let Some(dialog) = &mut self.dialog else { return Vec::new() };
        match dialog.take(language, key) {
            Outcome::Open => Vec::new(),
            Outcome::Closed => {
                self.dialog = None;
                Vec::new()
            }
            Outcome::Confirmed(confirmed) => {
                self.note_commands(&confirmed);
                vec![Effect::Send(confirmed)]
            }
        }
    }

    fn key_of_overlay(&mut self, overlay: Overlay, key: Key) -> Vec<Effect> {
        match overlay {
            Overlay::Commands(up) => {
                self.overlay = match key {
                    Key::Escape | Key::Enter | Key::Char(';' | 'q') => None,
                    Key::Up | Key::Char('k') => {
                        Some(Overlay::Commands((up + 1).min(self.log.len().saturating_sub(1))))
                    }
                    Key::Down | Key::Char('j') => Some(Overlay::Commands(up.saturating_sub(1))),
                    Key::Char(_)
                    | Key::Control(_)
                    | Key::Tab
                    | Key::BackTab
                    | Key::Backspace
                    | Key::Delete
                    | Key::Left
                    | Key::Right
                    | Key::PageUp
                    | Key::PageDown
                    | Key::Home
                    | Key::End => Some(Overlay::Commands(up)),
                };
                Vec::new()
            }
            Overlay::Help(mut entry, at) => {
                let found = self.help(&entry.text());
                match key {
                    Key::Escape => return Vec::new(),
                    Key::Enter => {
                        return found.get(at).map(|action| self.act(*action)).unwrap_or_default();
                    }
                    Key::Up => self.overlay = Some(Overlay::Help(entry, at.saturating_sub(1))),
                    Key::Down => {
                        let at = (at + 1).min(found.len().saturating_sub(1));
                        self.overlay = Some(Overlay::Help(entry, at));
                    }
                    Key::Char(_)
                    | Key::Control(_)
                    | Key::Tab
                    | Key::BackTab
                    | Key::Backspace
                    | Key::Delete
                    | Key::Left
                    | Key::Right
                    | Key::PageUp
                    | Key::PageDown
                    | Key::Home
                    | Key::End => {
                        entry.take(key);
                        self.overlay = Some(Overlay::Help(entry, 0));
                    }
                }
                Vec::new()
            }
        }
    }

    /// The possible actions whose key or name contains a text.
    #[must_use]
    pub fn help(&self, narrowed: &str) -> Vec<Action> {
        let narrowed = narrowed.to_lowercase();
        let possible = Action::ALL.into_iter().filter(|action| action.is_possible(self));
        let fits = |action: &Action| {
            let name = action.name(self).text(self.language).to_lowercase();
            narrowed.is_empty() || name.contains(&narrowed) || action.key_name() == narrowed
        };
        possible.filter(|action| *action != Action::Help).filter(fits).collect()
    }

    fn key_of_line(&mut self, typing: Typing, key: Key) -> Vec<Effect> {
        match typing {
            Typing::Filter(mut entry) => match key {
                Key::Enter => {}
                Key::Escape => self.filter.clear(),
                Key::Char(_)
                | Key::Control(_)
                | Key::Tab
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
                | Key::End => {
                    entry.take(key);
                    self.filter = entry.text();
                    self.typing = Some(Typing::Filter(entry));
                    self.set_cursor(0);
                }
            },
            Typing::Command(mut entry) => match key {
                Key::Enter => return self.run(entry.text().trim()),
                Key::Escape => {}
                Key::Backspace if entry.text().is_empty() => {}
                Key::Char(_)
                | Key::Control(_)
                | Key::Tab
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
                | Key::End => {
                    entry.take(key);
                    self.typing = Some(Typing::Command(entry));
                }
            },
        }
        Vec::new()
    }

    /// Runs a typed command: a screen, a job's id, or leaving.
    fn run(&mut self, line: &str) -> Vec<Effect> {
        let mut words = line.split_whitespace();
        let (word, rest) = (words.next().unwrap_or_default(), words.next());
        if word.is_empty() {
            return Vec::new();
        }
        if matches!(word, "q" | "quit" | "exit") {
            return vec![Effect::Quit];
        }
        if let ("job" | "jobs", Some(id)) = (word, rest) {
            return self.open_named(id);
        }
        let by_word = Screen::ALL.into_iter().find(|screen| screen.word().starts_with(word));
        match by_word {
            Some(screen) => self.go(screen),
            None if self.jobs.iter().any(|job| job.job.as_str().starts_with(word)) => {
                self.open_named(word)
            }
            None => {
                let word = &proto::escape::line(word);
                self.notice = Some((Tone::Wait, Text::NoCommand { word }.text(self.language)));
                Vec::new()
            }
        }
    }

    fn open_named(&mut self, id: &str) -> Vec<Effect> {
        let known = self.jobs.iter().find(|job| job.job.as_str().starts_with(id));
        match known.map(|job| job.job.clone()).or_else(|| proto::id::JobId::new(id).ok()) {
            Some(job) => self.open(job),
            None => Vec::new(),
        }
    }

    fn key_of_screen(&mut self, key: Key) -> Vec<Effect> {
        if let Key::Char(digit @ '1'..='6') = key {
            let screen = Screen::ALL.into_iter().find(|screen| screen.digit() == digit);
            return screen.map(|screen| self.go(screen)).unwrap_or_default();
        }
        let at = self.cursor();
        match key {
            Key::Down | Key::Char('j') => self.walk(1),
            Key::Up | Key::Char('k') => self.walk(-1),
            Key::PageDown => self.walk(PAGE.cast_signed()),
            Key::PageUp => self.walk(-PAGE.cast_signed()),
            Key::Home | Key::Char('g') => self.walk(-isize::MAX),
            Key::End | Key::Char('G') => self.walk(isize::MAX),
            Key::BackTab => {
                if let Some(job) = self.job.as_mut().filter(|_| self.screen == Screen::Job) {
                    job.pane = job.pane.next(true);
                    job.scrolled = 0;
                }
            }
            Key::Char(_)
            | Key::Control(_)
            | Key::Enter
            | Key::Escape
            | Key::Tab
            | Key::Backspace
            | Key::Delete
            | Key::Left
            | Key::Right => {
                let mut possible = Action::ALL.into_iter().filter(|a| a.is_possible(self));
                let chosen = possible.find(|action| action.key() == key);
                return chosen.map(|action| self.act(action)).unwrap_or_default();
            }
        }
        debug_assert!(at <= self.rows().max(at), "the cursor stays within the rows");
        Vec::new()
    }

    /// Moves the cursor, or scrolls a text.
    fn walk(&mut self, by: isize) {
        if self.screen == Screen::Job
            && let Some(job) = self.job.as_mut()
            && job.pane != Pane::Plan
        {
            // The ends of texts are shown first, so up means further from the end.
            job.scrolled = job.scrolled.saturating_add_signed(by.saturating_neg()).min(100_000);
            return;
        }
        let at = self.cursor().saturating_add_signed(by);
        self.set_cursor(at);
        let at = self.cursor();
        if let Some(job) = self.job.as_mut().filter(|_| self.screen == Screen::Job) {
            job.step = at;
        }
    }

    /// Shows a screen.
    pub(super) fn go(&mut self, screen: Screen) -> Vec<Effect> {
        if screen == Screen::Job {
            // The open job stays, unless the cursor is on another one.
            let selected = self.selected_job().or_else(|| self.job.as_ref().map(|j| j.job.clone()));
            return match selected.or_else(|| self.jobs.first().map(|job| job.job.clone())) {
                Some(job) => self.open(job),
                None => Vec::new(),
            };
        }
        self.screen = screen;
        self.due()
    }

    /// Opens a job that the person named before the start.
    pub fn show(&mut self, job: proto::id::JobId) -> Vec<Effect> {
        self.open(job)
    }

    /// Opens a job.
    pub(super) fn open(&mut self, job: proto::id::JobId) -> Vec<Effect> {
        if self.screen != Screen::Job {
            self.came_from = self.screen;
        }
        self.screen = Screen::Job;
        if self.job.as_ref().is_some_and(|open| open.job == job) {
            return Vec::new();
        }
        self.cursors.remove(&Screen::Job.digit());
        self.job = Some(super::JobScreen::new(job.clone()));
        vec![Effect::Watch(job)]
    }

    /// Begins to type on the bottom line.
    pub(super) fn begin(&mut self, typing: fn(Entry) -> Typing, text: &str) {
        self.typing = Some(typing(Entry::of(text)));
    }

    /// Asks for the point of the past that is shown.
    pub(super) fn scrub(&mut self, back: bool, steps: bool) -> Vec<Effect> {
        let Some(job) = self.job.as_mut() else { return Vec::new() };
        let id = job.job.clone();
        let seq = job.scrub(back, steps);
        seq.and_then(|seq| self.fetch(Fetch::At(id, seq))).into_iter().collect()
    }
}
