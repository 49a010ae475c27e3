//! The data of the model: when it is fetched, and what comes of it.

use jiff::{SignedDuration, Timestamp};
use proto::{door::InboxEntry, error::Failure};

use super::{Effect, Fetch, Loaded, Model, Screen, dialog};
use crate::render::style::Tone;

impl Model {
    /// Returns the fetches that are due.
    pub(super) fn due(&mut self) -> Vec<Effect> {
        let seconds = |screen: bool, near, far| if screen { near } else { far };
        let shown = |screens: &[Screen]| screens.contains(&self.screen);
        let periods = [
            (Fetch::Jobs, seconds(shown(&[Screen::Jobs, Screen::Attention]), 2, 6)),
            (Fetch::Inbox, seconds(shown(&[Screen::Inbox]), 2, 4)),
            (Fetch::Count, seconds(shown(&[Screen::Pulse]), 1, 10)),
            (Fetch::Dead, seconds(shown(&[Screen::Attention]), 3, 15)),
            (Fetch::Crew, seconds(shown(&[Screen::Crew, Screen::Pulse]), 2, 15)),
        ];
        let is_due = |fetch: &Fetch, seconds: i64| {
            let age = |at: &Timestamp| self.now.duration_since(*at);
            self.asked.get(fetch).is_none_or(|at| age(at) >= SignedDuration::from_secs(seconds))
        };
        let due: Vec<Fetch> = periods
            .into_iter()
            .filter(|(fetch, seconds)| is_due(fetch, *seconds))
            .map(|(fetch, _)| fetch)
            .collect();
        due.into_iter().flat_map(|fetch| self.fetch(fetch)).collect()
    }

    /// Asks for data, unless the reply to the same question is awaited.
    pub(super) fn fetch(&mut self, fetch: Fetch) -> Option<Effect> {
        if !self.waiting.insert(fetch.clone()) {
            return None;
        }
        // Points of the past are asked for once each.
        if !matches!(fetch, Fetch::At(..)) {
            self.asked.insert(fetch.clone(), self.now);
        }
        Some(Effect::Fetch(fetch))
    }

    /// Takes the reply to a fetch.
    pub(super) fn loaded(&mut self, loaded: Loaded) -> Vec<Effect> {
        self.waiting.remove(&loaded.fetch());
        self.offline = None;
        // The cursor stays on its job and its question.
        let (screen, selected) = (self.screen, self.selected_job());
        let asked = self.question().map(|open| open.key());
        match loaded {
            Loaded::Jobs(listed) => {
                (self.jobs, self.has_more_jobs) = (listed.jobs, listed.more);
                self.has_jobs = true;
                let jobs = &self.jobs;
                self.marks.retain(|mark| jobs.iter().any(|job| job.job == *mark));
            }
            Loaded::Inbox(page) => self.inbox = page.questions,
            Loaded::Crew(crew) => self.crew = Some(crew),
            Loaded::Dead(letters) => self.dead = letters.letters,
            Loaded::Count(counted) => self.pulse.take(self.now, counted),
            Loaded::At(job, seq, view) => {
                let open = self.job.as_mut().filter(|open| open.job == job);
                if let Some(past) = open.and_then(|open| open.past.as_mut())
                    && past.seq == seq
                {
                    past.view = Some(view);
                }
            }
        }
        if let Some(selected) = selected {
            let at = match screen {
                Screen::Jobs => self.listed().iter().position(|job| job.job == selected),
                Screen::Inbox => asked.and_then(|(job, ask)| {
                    let is_it =
                        |entry: &&InboxEntry| (&entry.job, &entry.question.id) == (&job, &ask);
                    self.questions().iter().position(is_it)
                }),
                Screen::Attention => self.needy().iter().position(|row| *row.job() == selected),
                Screen::Job | Screen::Crew | Screen::Pulse => None,
            };
            at.into_iter().for_each(|at| self.set_cursor(at));
        }
        Vec::new()
    }

    /// Takes the failure of a fetch. The data that is there stays.
    pub(super) fn not_loaded(&mut self, fetch: &Fetch, failure: &Failure) -> Vec<Effect> {
        self.waiting.remove(fetch);
        let said = dialog::said(self.language, failure);
        match fetch {
            Fetch::At(job, _) => {
                if let Some(open) = self.job.as_mut().filter(|open| open.job == *job) {
                    open.past = None;
                }
                self.notice = Some((Tone::Bad, said));
            }
            Fetch::Jobs | Fetch::Inbox | Fetch::Crew | Fetch::Dead | Fetch::Count => {
                let since = self.offline.take().map_or(self.now, |(since, _)| since);
                self.offline = Some((since, said));
            }
        }
        Vec::new()
    }

    pub(super) fn warn(&mut self, failure: &Failure) {
        self.notice = Some((Tone::Bad, dialog::said(self.language, failure)));
    }
}
