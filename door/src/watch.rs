//! `watch`: a job's records from a position on, then as they come; what the job is after each burst
//! of them; on request what is said while work is done.
//!
//! A watcher that asks again with the last position it saw gets exactly what it missed. A watch
//! ends by itself after [`limits::WATCH_SECONDS_MAX`]: the server cannot see that a watcher went
//! away, so none may cost anything for ever.

use std::{pin::pin, time::Duration};

use broker::{bus::Message, log::Log};
use futures::{StreamExt, stream::BoxStream};
use machine::Job;
use machine::events::Projection;
use proto::{
    door::{Watch, Watched},
    entry::Entry,
    error::{Code, Failure},
    event::EventId,
    id::Seq,
    limits, strict,
    wire::{self, Live, Said},
};
use runtime::{
    config::Role,
    service::{Call, Handled},
};
use tokio::time::{Instant, MissedTickBehavior};

use super::{Door, fit, fold};

/// Records that are folded before the job is shown again.
const BURST: usize = 256;

/// Why a watch ends before its job does.
enum Cut {
    /// The watcher cannot be reached.
    Gone,
    /// It is told why.
    Because(Failure),
}

impl From<Failure> for Cut {
    fn from(failure: Failure) -> Self {
        Self::Because(failure)
    }
}

impl Door {
    pub(super) async fn watch(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Read)?;
        let request: Watch = strict::request(&call.payload)?;
        let Ok(_place) = self.watches.try_acquire() else {
            return Err(Failure::new(Code::Overloaded, "too many watches are in hand already"));
        };
        call.leave_queue();
        // Listened to before the log is read, so that nothing is missed in between.
        let live = match request.live {
            true => Some(self.live(&request).await?),
            false => None,
        };
        let entries = fold::read(&*self.broker.log, &request.job).await?;
        let job = Job::new(request.job.clone());
        let wanted = match request.events {
            false => Wanted::Records { after: request.after },
            true => Wanted::Events {
                after: request.after_event.unwrap_or_else(|| EventId::all_of(request.after)),
                projection: Box::default(),
            },
        };
        let mut watcher = Watcher { call, log: &*self.broker.log, job, wanted };
        let end = match self.follow(&mut watcher, &entries, live).await {
            Ok(()) => None,
            Err(Cut::Because(failure)) => Some(Box::new(failure)),
            Err(Cut::Gone) => return Ok(Handled::Streamed),
        };
        let _ = watcher.send(&Watched::End { error: end }).await;
        Ok(Handled::Streamed)
    }

    async fn live(&self, request: &Watch) -> Result<BoxStream<'static, Message>, Failure> {
        let subject = self.broker.log.subjects().live(&request.job);
        let said = self.broker.bus.subscribe(subject).await;
        said.map_err(|e| Failure::new(Code::Unavailable, e.to_string()))
    }

    /// Sends what is there, then what comes, until the job has ended.
    async fn follow(
        &self,
        watcher: &mut Watcher<'_>,
        entries: &[Entry],
        live: Option<BoxStream<'static, Message>>,
    ) -> Result<(), Cut> {
        if watcher.take(entries).await? {
            return Ok(());
        }
        let log = self.broker.log.watch(watcher.job.id(), watcher.job.seq()).await;
        let mut log = log.map_err(Failure::from)?.ready_chunks(BURST);
        let mut live = live.unwrap_or_else(|| futures::stream::pending().boxed()).fuse();
        let mut quiet = tokio::time::interval(Duration::from_secs(limits::WATCH_HEARTBEAT_SECONDS));
        quiet.set_missed_tick_behavior(MissedTickBehavior::Delay);
        quiet.reset();
        let over = Instant::now() + Duration::from_secs(limits::WATCH_SECONDS_MAX);
        let mut over = pin!(tokio::time::sleep_until(over));
        loop {
            tokio::select! {
                entries = log.next() => {
                    let entries = entries.ok_or_else(|| again("the log gives nothing more"))?;
                    let entries: Result<Vec<_>, _> = entries.into_iter().collect();
                    if watcher.take(&entries.map_err(Failure::from)?).await? {
                        return Ok(());
                    }
                }
                Some(message) = live.next() => watcher.heard(&message).await?,
                _ = quiet.tick() => watcher.send(&Watched::Heartbeat).await?,
                () = &mut over => return Err(again("a watch lasts so long and no longer").into()),
                () = watcher.call.closing.cancelled() => {
                    return Err(again("the server is going away").into());
                }
            }
        }
    }
}

/// Nothing is wrong with the job; the watcher is to ask again.
fn again(why: &str) -> Failure {
    let hint = "Watch again, with `after` set to the last position you saw.".to_owned();
    Failure { hint, ..Failure::new(Code::Unavailable, why) }
}

fn record(entry: &Entry) -> Watched {
    Watched::Record {
        seq: entry.seq,
        family: entry.family.to_string(),
        time: entry.time,
        record: fit::record(&entry.record),
    }
}

struct Watcher<'a> {
    call: &'a Call,
    log: &'a dyn Log,
    job: Job,
    wanted: Wanted,
}

/// What a watcher has seen of what it wants.
enum Wanted {
    Records { after: Seq },
    Events { after: EventId, projection: Box<Projection> },
}

impl Watcher<'_> {
    /// Takes records in and sends what the watcher has not seen; says whether the job has ended.
    async fn take(&mut self, entries: &[Entry]) -> Result<bool, Cut> {
        let (sent, folded) = match &mut self.wanted {
            Wanted::Records { after } => {
                let seen = *after;
                let fresh: Vec<_> = entries.iter().filter(|entry| entry.seq > seen).collect();
                *after = fresh.last().map_or(seen, |entry| entry.seq);
                let sent = fresh.into_iter().map(record).collect();
                (sent, fold::more(self.log, &mut self.job, entries).await)
            }
            Wanted::Events { after, projection } => {
                let seen = *after;
                let mut events = fold::events(self.log, &mut self.job, projection, entries).await?;
                events.retain(|event| event.id > seen);
                *after = events.last().map_or(seen, |event| event.id);
                let events = events.into_iter().map(fit::event).collect::<Result<Vec<_>, _>>();
                let event = |event| Watched::Event { event: Box::new(event) };
                (events?.into_iter().map(event).collect::<Vec<_>>(), Ok(()))
            }
        };
        for message in &sent {
            self.send(message).await?;
        }
        folded?;
        let view = Box::new(fit::view(fold::view(&self.job)?)?);
        self.send(&Watched::View { view }).await?;
        Ok(self.job.outcome().is_some())
    }

    /// Passes on what was said while work is done. It is ephemeral: what cannot be read is dropped.
    async fn heard(&self, message: &Message) -> Result<(), Cut> {
        let live: Live = match wire::decode(&message.payload) {
            Ok(live) => live,
            Err(error) => {
                tracing::debug!(%error, "a live message cannot be read");
                return Ok(());
            }
        };
        let (what, text) = match live.said {
            Said::Taken { worker } => ("taken", worker.to_string()),
            Said::Text(text) => ("text", text),
            Said::Thought(text) => ("thought", text),
            Said::Tool { tool } => ("tool", tool.to_string()),
        };
        let said = Watched::Live {
            work: live.work.to_string(),
            attempt: live.attempt.0,
            step: live.step.map(|step| step.to_string()),
            index: live.index,
            what: what.to_owned(),
            text,
        };
        self.send(&said).await
    }

    async fn send(&self, message: &Watched) -> Result<(), Cut> {
        let payload = fit::bytes(message)?;
        self.call.send(payload).await.map_err(|error| {
            tracing::debug!(job = %self.job.id(), %error, "a watcher cannot be reached");
            Cut::Gone
        })
    }
}
