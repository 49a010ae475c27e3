//! `GET /v1/feed`: live figures for lists, as server-sent events.
//!
//! While there is a reader, one task of the process takes the pulses of all shards and the presence
//! of processes, and sends frames to every reader. A reader that is too slow loses frames and never
//! holds up others: each frame has whole figures, and `more` says that changes were left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::State,
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use client::Client;
use futures::{Stream, StreamExt};
use proto::{
    door::GetCrew,
    error::{Code, Failure},
    id::{JobId, Shard, WorkerId},
    refusal::Text as Refusal,
    wire::{Presence, Pulse, StateCount},
};
use runtime::presence::Crew;
use serde::Serialize;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::{Instant, MissedTickBehavior},
};

use super::body::Answered;
use crate::{Desk, caller::Caller, stream, words::Text};

/// Largest number of readers of one process.
const READERS_MAX: usize = 1_000;
/// Frames that wait for a reader. It loses the oldest of any more.
const FRAMES_MAX: usize = 32;
/// Interval of frames at most.
const EVERY: Duration = Duration::from_millis(250);
/// Jobs that one frame names.
const JOBS_MAX: usize = 500;
/// Time after which the front door is asked again whether a reader may read.
const ADMITTED_FOR: Duration = Duration::from_secs(10 * 60);

/// The figures of a gateway, shared by its readers. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Hub {
    client: Client,
    crew: Crew,
    shared: Arc<Mutex<Shared>>,
}

/// A frame, and its name.
type Frame = (&'static str, Arc<str>);

#[derive(Debug, Default)]
struct Shared {
    /// The frames, while there is a task that sends them.
    frames: Option<broadcast::Sender<Frame>>,
    figures: Figures,
}

/// The last figures of each shard.
#[derive(Debug, Default, Clone)]
struct Figures {
    shards: BTreeMap<Shard, (Vec<StateCount>, u64)>,
}

/// The data of a frame `pulse`.
#[derive(Debug, Serialize)]
struct PulseFrame {
    /// Jobs that changed.
    jobs: Vec<JobId>,
    /// `true` if more jobs changed than are named.
    more: bool,
    /// Number of open jobs by state.
    open: BTreeMap<&'static str, u64>,
    /// `true` if the numbers are those of all shards.
    complete: bool,
}

/// The data of a frame `inbox`.
#[derive(Debug, Serialize)]
struct InboxFrame {
    /// Number of open questions.
    questions: u64,
    complete: bool,
}

/// The data of a frame `crew`.
#[derive(Debug, Serialize)]
struct CrewFrame {
    workers: Vec<Member>,
}

#[derive(Debug, Serialize)]
struct Member {
    worker: WorkerId,
    roles: Vec<String>,
    draining: bool,
}

impl Figures {
    fn open(&self) -> BTreeMap<&'static str, u64> {
        let mut sums = BTreeMap::new();
        for count in self.shards.values().flat_map(|(open, _)| open) {
            *sums.entry(count.state.as_str()).or_default() += count.jobs;
        }
        sums
    }

    fn questions(&self) -> u64 {
        self.shards.values().map(|(_, questions)| questions).sum()
    }

    fn take(&mut self, pulse: &Pulse) {
        self.shards.insert(pulse.shard, (pulse.open.clone(), pulse.questions));
    }
}

impl Hub {
    /// Creates a hub without readers, which does nothing.
    pub(crate) fn new(client: Client, crew: Crew) -> Self {
        Self { client, crew, shared: Arc::default() }
    }

    /// Returns the frames from now on, after those with the present figures; `None` if there are too
    /// many readers.
    fn read(&self) -> Option<(Vec<Frame>, broadcast::Receiver<Frame>)> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Shared { frames, figures } = &mut *shared;
        if let Some(frames) = frames {
            let has_room = frames.receiver_count() < READERS_MAX;
            let now = || self.present(figures, BTreeSet::new(), false);
            return has_room.then(|| (now(), frames.subscribe()));
        }
        let (sender, receiver) = broadcast::channel(FRAMES_MAX);
        *frames = Some(sender.clone());
        *figures = Figures::default();
        let now = vec![crew(&self.crew.members())].into_iter().flatten().collect();
        tokio::spawn(self.clone().run(sender));
        Some((now, receiver))
    }

    /// Returns the frames of all figures.
    fn present(&self, figures: &Figures, jobs: BTreeSet<JobId>, more: bool) -> Vec<Frame> {
        let frames =
            [self.pulse(figures, jobs, more), self.inbox(figures), crew(&self.crew.members())];
        frames.into_iter().flatten().collect()
    }

    fn is_complete(&self, figures: &Figures) -> bool {
        figures.shards.len() >= usize::from(self.client.shards())
    }

    fn pulse(&self, figures: &Figures, jobs: BTreeSet<JobId>, more: bool) -> Option<Frame> {
        let (jobs, open) = (jobs.into_iter().collect(), figures.open());
        let complete = self.is_complete(figures);
        frame("pulse", &PulseFrame { jobs, more, open, complete })
    }

    fn inbox(&self, figures: &Figures) -> Option<Frame> {
        let (questions, complete) = (figures.questions(), self.is_complete(figures));
        frame("inbox", &InboxFrame { questions, complete })
    }

    /// Sends frames until the last reader has gone.
    async fn run(self, frames: broadcast::Sender<Frame>) {
        let mut pulses = std::pin::pin!(self.client.pulses());
        let mut members = self.crew.watch();
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut jobs, mut more) = (BTreeSet::new(), false);
        let (mut told_open, mut told_inbox) = (None, None);
        loop {
            tokio::select! {
                pulse = pulses.next() => {
                    let Some(pulse) = pulse else { break };
                    let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
                    shared.figures.take(&pulse);
                    more |= pulse.more;
                    for job in pulse.jobs {
                        if jobs.len() < JOBS_MAX {
                            jobs.insert(job);
                        } else {
                            more |= !jobs.contains(&job);
                        }
                    }
                }
                changed = members.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let now = members.borrow_and_update().clone();
                    send(&frames, crew(&now));
                }
                _ = ticks.tick() => {
                    let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
                    if frames.receiver_count() == 0 {
                        shared.frames = None;
                        return;
                    }
                    let figures = &shared.figures;
                    let open = (figures.open(), self.is_complete(figures));
                    if !jobs.is_empty() || more || told_open.as_ref() != Some(&open) {
                        let (jobs, more) = (std::mem::take(&mut jobs), std::mem::take(&mut more));
                        send(&frames, self.pulse(figures, jobs, more));
                        told_open = Some(open);
                    }
                    let inbox = (figures.questions(), self.is_complete(figures));
                    if told_inbox != Some(inbox) {
                        send(&frames, self.inbox(figures));
                        told_inbox = Some(inbox);
                    }
                }
            }
        }
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).frames = None;
    }
}

fn crew(members: &BTreeMap<WorkerId, Presence>) -> Option<Frame> {
    let workers = members.values().map(|member| Member {
        worker: member.worker.clone(),
        roles: member.roles.clone(),
        draining: member.draining,
    });
    frame("crew", &CrewFrame { workers: workers.collect() })
}

fn frame(name: &'static str, data: &impl Serialize) -> Option<Frame> {
    let written = serde_json::to_string(data);
    let written = written.inspect_err(|error| tracing::error!(%error, name, "a frame is lost"));
    Some((name, written.ok()?.into()))
}

fn send(frames: &broadcast::Sender<Frame>, frame: Option<Frame>) {
    if let Some(frame) = frame {
        // Fails without a reader, which the next tick sees.
        let _ = frames.send(frame);
    }
}

/// `GET /v1/feed`. The caller is admitted like a reader of the crew, at the start and again every
/// ten minutes.
pub(super) async fn open(State(desk): State<Desk>, caller: Caller) -> Answered {
    caller.client.call(&GetCrew::default()).await.map_err(|failure| caller.refused(failure))?;
    let overloaded = || caller.refused(Failure::of(Code::Overloaded, Refusal::TooManyReaders));
    let (present, frames) = desk.feed.read().ok_or_else(overloaded)?;
    let Some(place) = desk.limits.open(&caller.key) else {
        return Err(caller.overloads(Text::TooManyStreams { max: &desk.limits.streams_max() }));
    };
    let begin = [Event::default().retry(stream::RETRY)];
    let begin = begin.into_iter().chain(present.iter().map(written)).collect::<Vec<_>>();
    let frames = futures::stream::iter(begin).chain(admitted(caller.client.clone(), frames));
    let frames = frames.take_until(desk.shutdown.clone().cancelled_owned());
    let frames = frames.map(move |frame| {
        // The place is free again when the response is dropped.
        let _place = &place;
        Ok::<_, Infallible>(frame)
    });
    let body = Sse::new(frames).keep_alive(KeepAlive::new().interval(stream::KEEP_ALIVE));
    Ok(([(stream::UNBUFFERED, "no")], body).into_response())
}

/// Returns the frames of a reader for as long as the front door admits it.
fn admitted(
    client: Client,
    mut frames: broadcast::Receiver<Frame>,
) -> impl Stream<Item = Event> + Send + 'static {
    async_stream::stream! {
        let mut admitted = Instant::now();
        loop {
            let received = tokio::select! {
                received = frames.recv() => received,
                () = tokio::time::sleep_until(admitted + ADMITTED_FOR) => {
                    match client.call(&GetCrew::default()).await {
                        Err(failure) if failure.code == Code::Forbidden => break,
                        // A door that is away for a moment has not refused the reader.
                        Ok(_) | Err(_) => admitted = Instant::now(),
                    }
                    continue;
                }
            };
            match received {
                Ok(frame) => yield written(&frame),
                Err(RecvError::Lagged(lost)) => {
                    tracing::debug!(lost, "a slow reader of the feed lost frames");
                    yield Event::default().event("lost").data("{}");
                }
                Err(RecvError::Closed) => break,
            }
        }
    }
}

fn written((name, data): &Frame) -> Event {
    Event::default().event(*name).data(&**data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_door::ScriptedDoor;

    #[tokio::test(start_paused = true)]
    async fn a_reader_is_admitted_again_and_again_and_a_revoked_token_ends_its_feed() {
        let door = ScriptedDoor::open().await;
        let (sender, receiver) = broadcast::channel(FRAMES_MAX);
        let mut frames = std::pin::pin!(admitted(door.client("ann"), receiver));
        let start = Instant::now();
        let mut next = async || tokio::time::timeout(ADMITTED_FOR * 2, frames.next()).await;

        send(&sender, frame("pulse", &1));
        let first = format!("{:?}", next().await.unwrap());
        assert!(first.contains("event: pulse"), "{first}");
        assert!(next().await.is_err(), "a reader that is admitted keeps its feed");
        door.leave();
        assert!(next().await.is_err(), "a door that is away refuses nobody");
        door.come_back();
        door.revoke("ann");
        assert!(next().await.unwrap().is_none());
        let asked = door.asked("ann");
        assert!(asked >= 3, "{asked} questions to the door in {:?}", start.elapsed());
    }
}
