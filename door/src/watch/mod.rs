//! The verb `watch`: a job's records from a position on, then each new one; the job's view after
//! each burst; and, on request, live output of running work.
//!
//! A watcher that reconnects with its last position gets exactly what it missed. A watch ends with
//! the job, with the first view if the watcher wants no more than what is stored, and after
//! [`GONE_AFTER`] heartbeats that nobody receives. It ends after [`limits::WATCH_SECONDS_MAX`] in any
//! case, as not every bus can tell that a watcher has gone.

mod feed;
mod follower;
mod hub;
mod slots;

use std::{pin::pin, sync::Arc, time::Duration};

use broker::bus::BusError;
use bytes::Bytes;
use futures::{StreamExt, stream::FuturesUnordered};
use proto::{
    door::{Watch, Watched},
    error::Failure,
    event::EventId,
    id::{JobId, Seq},
    limits,
    refusal::Text,
};
use runtime::service::{Asked, Call, Handled};
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, MissedTickBehavior},
};

use self::{
    feed::{Feed, Item, Next, ViewId, again, event_message, record_message},
    follower::events_between,
    hub::WatchedJob,
};
pub(super) use self::{hub::Hub, slots::Slots};
use super::{Door, fold, truncate};

/// Number of heartbeats in a row without a receiver after which a watcher has gone. After a restart
/// of the broker the door may be connected before the watcher is.
const GONE_AFTER: u32 = 2;

/// The reason for which a watch ends before its job does.
enum Cut {
    /// The watcher cannot be reached.
    Gone,
    /// The watcher is sent an error.
    Because(Failure),
}

impl From<Failure> for Cut {
    fn from(failure: Failure) -> Self {
        Self::Because(failure)
    }
}

impl Door {
    pub(super) async fn watch(&self, asked: Asked<'_, Watch>) -> Result<Handled, Failure> {
        let request = asked.request()?;
        let call = asked.call;
        let _slot = self.watches.take(&asked.caller, call.inbox())?;
        call.leave_queue();
        let job = self.hub.join(&request.job);
        // Subscribed before the log is read, so that nothing is missed in between.
        let live = match request.live {
            true => Some(job.live().await?),
            false => None,
        };
        let (feed, stored) = job.follow().await?;
        let (form, taken) = match request.events {
            false => (Form::Records, EventId::all_of(request.after)),
            true => {
                let all = EventId::all_of(request.after);
                (Form::Events, request.after_event.unwrap_or(all))
            }
        };
        let log = &*self.broker.log;
        let ends_with_view = request.stored;
        let viewed = None;
        let mut watcher =
            Watcher { call, log, job, feed, form, taken, viewed, stored, ends_with_view };
        let end = match watcher.follow(live).await {
            Ok(()) => None,
            Err(Cut::Because(failure)) => Some(Box::new(failure)),
            Err(Cut::Gone) => return Ok(Handled::Streamed),
        };
        if let Ok(end) = truncate::bytes(&Watched::End { error: end }) {
            let _ = watcher.send(end).await;
        }
        Ok(Handled::Streamed)
    }
}

/// The form in which a watcher receives the log.
#[derive(Clone, Copy)]
enum Form {
    Records,
    Events,
}

struct Watcher<'a> {
    call: &'a Call,
    log: &'a dyn broker::log::Reader,
    job: Arc<WatchedJob>,
    feed: watch::Receiver<Feed>,
    form: Form,
    /// Position up to which everything was sent, or was not requested.
    taken: EventId,
    /// View that was sent last.
    viewed: Option<ViewId>,
    /// Last record that was stored when the watch began.
    stored: Seq,
    /// `true` if the watch is over with its first view.
    ends_with_view: bool,
}

impl Watcher<'_> {
    /// Sends stored records, then new ones, until the job has ended or the watcher wants no more.
    async fn follow(&mut self, mut live: Option<broadcast::Receiver<Bytes>>) -> Result<(), Cut> {
        let mut quiet = tokio::time::interval(Duration::from_secs(limits::WATCH_HEARTBEAT_SECONDS));
        quiet.set_missed_tick_behavior(MissedTickBehavior::Delay);
        quiet.reset();
        let over = Instant::now() + Duration::from_secs(limits::WATCH_SECONDS_MAX);
        let mut over = pin!(tokio::time::sleep_until(over));
        let heartbeat = truncate::bytes(&Watched::Heartbeat)?;
        let call = self.call;
        let (mut beats, mut unheard) = (FuturesUnordered::new(), 0);
        loop {
            tokio::select! {
                changed = self.feed.changed() => {
                    changed.map_err(|_| again(Text::FeedEnded))?;
                    if self.catch_up().await? {
                        return Ok(());
                    }
                }
                said = heard(&mut live) => self.send(said).await?,
                _ = quiet.tick() => beats.push(call.is_heard(heartbeat.clone())),
                Some(is_heard) = beats.next() => {
                    let is_heard = is_heard.map_err(|error| self.unreachable(&error))?;
                    unheard = if is_heard { 0 } else { unheard + 1 };
                    if unheard == GONE_AFTER {
                        return Err(Cut::Gone);
                    }
                }
                () = &mut over => return Err(again(Text::WatchOver).into()),
                () = self.call.closing.cancelled() => {
                    return Err(again(Text::ShuttingDown).into());
                }
            }
        }
    }

    /// Sends the next part of the feed and returns `true` if the watch is over. The rest follows
    /// after the other events of the loop.
    async fn catch_up(&mut self) -> Result<bool, Cut> {
        let next = self.feed.borrow_and_update().next(self.taken, self.viewed, self.stored);
        match next {
            Next::Items(items) => {
                for item in items {
                    self.item(&item).await?;
                }
            }
            Next::Missed(until) => self.missed(until).await?,
            Next::View(id, view) => {
                self.send(view).await?;
                self.viewed = Some(id);
                if self.ends_with_view {
                    return Ok(true);
                }
            }
            Next::End(end) => return end.map(|()| true).map_err(Cut::from),
            Next::Wait => return Ok(false),
        }
        self.feed.mark_changed();
        Ok(false)
    }

    async fn item(&mut self, item: &Item) -> Result<(), Cut> {
        match self.form {
            Form::Records => self.send(item.record()?).await?,
            Form::Events => {
                for event in item.events_after(self.taken) {
                    self.send(event?).await?;
                }
            }
        }
        self.taken = EventId::all_of(item.entry.seq);
        Ok(())
    }

    /// Sends from the log what the feed no longer keeps.
    async fn missed(&mut self, until: Seq) -> Result<(), Cut> {
        let (id, taken) = (self.job.id().clone(), self.taken);
        match self.form {
            Form::Records => {
                // A position within a record's events counts as the whole record here.
                let entries = self.log.read(&id, taken.seq).await.map_err(Failure::from)?;
                for entry in entries.iter().take_while(|entry| entry.seq <= until) {
                    self.send(record_message(entry)?).await?;
                }
            }
            Form::Events => {
                for event in self.earlier_events(&id, until).await? {
                    self.send(event_message(event)?).await?;
                }
            }
        }
        self.taken = EventId::all_of(until);
        Ok(())
    }

    async fn earlier_events(
        &self,
        id: &JobId,
        until: Seq,
    ) -> Result<Vec<proto::event::Event>, Failure> {
        let entries = fold::read(self.log, id).await?;
        events_between(id, &entries, self.taken, until)
    }

    async fn send(&self, message: Bytes) -> Result<(), Cut> {
        self.call.send(message).await.map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, error: &BusError) -> Cut {
        tracing::debug!(job = %self.job.id(), %error, "a watcher is unreachable");
        Cut::Gone
    }
}

/// Returns the next live message. A slow watcher loses some.
async fn heard(live: &mut Option<broadcast::Receiver<Bytes>>) -> Bytes {
    let Some(receiver) = live else { return std::future::pending().await };
    loop {
        match receiver.recv().await {
            Ok(message) => return message,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}
