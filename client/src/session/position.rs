//! The place in a job's log from which a watch goes on.

use proto::{
    door::{Watch, Watched},
    event::EventId,
    id::{JobId, Seq},
};

/// A place in a job's log, and the form in which the rest is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Records after this one.
    Records(Seq),
    /// Events after this one.
    Events(EventId),
}

impl Position {
    /// Moves behind an item. False for a record or event that came before.
    pub fn take(&mut self, item: &Watched) -> bool {
        match (self, item) {
            (Self::Records(last), Watched::Record { seq, .. }) => {
                let is_new = seq > last;
                *last = (*last).max(*seq);
                is_new
            }
            (Self::Events(last), Watched::Event { event }) => {
                let is_new = event.id > *last;
                *last = (*last).max(event.id);
                is_new
            }
            (
                Self::Records(_) | Self::Events(_),
                Watched::Record { .. }
                | Watched::Event { .. }
                | Watched::View { .. }
                | Watched::Live { .. }
                | Watched::Heartbeat
                | Watched::End { .. },
            ) => true,
        }
    }

    /// The request for the rest.
    pub(crate) fn request(self, job: &JobId, live: bool, stored: bool) -> Watch {
        let (after, after_event) = match self {
            Self::Records(after) => (after, None),
            Self::Events(after) => (Seq(0), Some(after)),
        };
        Watch { job: job.clone(), after, live, events: after_event.is_some(), after_event, stored }
    }
}
