//! The browser of this process: one Chromium, and a session for each job that asks.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proto::{agent::Hosts, id::JobId};
use runtime::egress::Lookup;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tool_actors::{browser::Browser as Settings, settings::Http};

use crate::{
    address,
    chromium::Chromium,
    desk::AskError,
    proxy::Guard,
    refusal::Refusal,
    request::{Remark, Reply, Request},
    session::{Limits, Session},
};

/// Longest wait for the end of sessions before Chromium ends: longer than a host needs to close them.
const CLOSING: Duration = Duration::from_secs(20);

/// The browser of this process. Chromium starts with the first session, and again after a crash.
#[derive(Debug)]
pub struct Browser {
    program: PathBuf,
    settings: Settings,
    guard: Arc<Guard>,
    chromium: tokio::sync::Mutex<Option<Arc<Chromium>>>,
    /// At most `settings.sessions`.
    seats: Mutex<BTreeMap<JobId, Arc<Seat>>>,
    /// Is notified when a seat is removed.
    left: Notify,
    stopping: CancellationToken,
}

/// The place of a job. Its requests run one after the other.
#[derive(Debug)]
struct Seat {
    session: tokio::sync::Mutex<Option<Session>>,
    used: Mutex<Instant>,
}

impl Seat {
    fn new() -> Self {
        Self { session: tokio::sync::Mutex::new(None), used: Mutex::new(Instant::now()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Browser {
    pub(crate) fn new(
        program: PathBuf,
        settings: Settings,
        http: Http,
        lookup: Arc<dyn Lookup>,
    ) -> Self {
        Self {
            program,
            settings,
            guard: Arc::new(Guard::new(http, lookup)),
            chromium: tokio::sync::Mutex::new(None),
            seats: Mutex::default(),
            left: Notify::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Closes the session of a job, if it has one.
    pub async fn close(&self, job: &JobId) {
        let seat = lock(&self.seats).get(job).cloned();
        if let Some(seat) = seat {
            self.empty(job, &seat).await;
        }
    }

    /// Closes sessions that no call has used for a while, and Chromium with the last one.
    pub async fn close_idle(&self) {
        let seats: Vec<_> = lock(&self.seats).iter().map(|(j, s)| (j.clone(), s.clone())).collect();
        for (job, seat) in seats {
            // A request that waits for the seat finds it removed, and takes another one.
            let Ok(mut session) = seat.session.try_lock() else { continue };
            if lock(&seat.used).elapsed() < self.settings.idle() {
                continue;
            }
            tracing::info!(%job, "an idle browser session is closed");
            self.remove(&job, &seat);
            if let Some(session) = session.take() {
                session.close().await;
            }
        }
        let mut chromium = self.chromium.lock().await;
        if lock(&self.seats).is_empty()
            && let Some(unused) = chromium.take()
        {
            unused.stop().await;
        }
    }

    /// Waits until the host has closed all sessions, but not for long, and stops.
    pub(crate) async fn stop_after_sessions(&self) {
        if tokio::time::timeout(CLOSING, self.empty_of_sessions()).await.is_err() {
            tracing::warn!("browser sessions were not closed in time");
        }
        self.stop().await;
    }

    /// Ends all sessions and Chromium, and waits until nothing of it is left. No session begins
    /// afterwards.
    pub async fn stop(&self) {
        self.stopping.cancel();
        let chromium = self.chromium.lock().await.take();
        if let Some(chromium) = chromium {
            chromium.stop().await;
        }
        lock(&self.seats).clear();
    }

    async fn empty_of_sessions(&self) {
        loop {
            let left = self.left.notified();
            if lock(&self.seats).is_empty() {
                return;
            }
            left.await;
        }
    }

    /// Removes a seat and closes its session.
    async fn empty(&self, job: &JobId, seat: &Arc<Seat>) {
        let mut session = seat.session.lock().await;
        self.remove(job, seat);
        if let Some(session) = session.take() {
            session.close().await;
        }
    }

    fn remove(&self, job: &JobId, seat: &Arc<Seat>) {
        let mut seats = lock(&self.seats);
        if seats.get(job).is_some_and(|known| Arc::ptr_eq(known, seat)) {
            seats.remove(job);
            self.left.notify_waiters();
        }
    }

    /// Returns the seat of a job. Only a page that is opened makes a new one.
    fn seat(&self, job: &JobId, request: &Request) -> Result<Arc<Seat>, Refusal> {
        let mut seats = lock(&self.seats);
        if let Some(seat) = seats.get(job) {
            return Ok(Arc::clone(seat));
        }
        if !matches!(request, Request::Open { .. }) {
            return Err(Refusal::NoPage);
        }
        if seats.len() >= self.settings.places() {
            return Err(Refusal::Full);
        }
        let seat = Arc::new(Seat::new());
        seats.insert(job.clone(), Arc::clone(&seat));
        Ok(seat)
    }

    /// Returns the running Chromium, or starts one.
    async fn chromium(&self) -> Result<Arc<Chromium>, AskError> {
        let mut current = self.chromium.lock().await;
        if self.stopping.is_cancelled() {
            return Err(AskError::NoHost);
        }
        if let Some(running) = current.as_ref().filter(|running| !running.gone().is_cancelled()) {
            return Ok(Arc::clone(running));
        }
        if let Some(broken) = current.take() {
            tracing::warn!("the browser broke down and is started again");
            broken.stop().await;
        }
        let started = Chromium::start(&self.program, self.settings.sandbox).await;
        let started = Arc::new(started.map_err(|error| {
            tracing::error!(%error, "the browser did not start");
            AskError::NoHost
        })?);
        *current = Some(Arc::clone(&started));
        Ok(started)
    }

    async fn open(&self, hosts: Option<&Hosts>) -> Result<Session, AskError> {
        let chromium = self.chromium().await?;
        let limits = Limits {
            tabs: self.settings.tabs,
            timeout: self.settings.timeout(),
            connection_bytes: self.settings.connection_bytes(),
        };
        let opened = Session::open(chromium, Arc::clone(&self.guard), hosts, limits).await;
        opened.map_err(|error| {
            tracing::error!(%error, "a browser session did not begin");
            AskError::Lost { may_have_begun: false }
        })
    }

    /// Carries out a request in the session of a seat.
    async fn ask_seat(
        &self,
        session: &mut Option<Session>,
        hosts: Option<&Hosts>,
        request: Request,
    ) -> Result<Reply, AskError> {
        let opens = matches!(request, Request::Open { .. });
        let lost = session.take_if(|session| session.is_lost()).is_some();
        if lost && !opens {
            return Err(AskError::Lost { may_have_begun: false });
        }
        let current = match session {
            Some(current) => current,
            None if opens => session.insert(self.open(hosts).await?),
            None => return Err(Refusal::NoPage.into()),
        };
        let mut reply = current.ask(hosts, request).await?;
        if lost {
            reply.notes.insert(0, Remark::Restarted);
        }
        Ok(reply)
    }
}

impl Browser {
    /// Returns `true` if the job has a seat, or there is one for it.
    pub(crate) fn has_room_for(&self, job: &JobId) -> bool {
        let seats = lock(&self.seats);
        let has_room = seats.contains_key(job) || seats.len() < self.settings.places();
        has_room && !self.stopping.is_cancelled()
    }

    /// Carries out a request in the session of a job. `hosts` are the only hosts that its pages may
    /// reach; `None` for every host that the operator permits.
    ///
    /// # Errors
    /// If the request was refused, or the session is lost.
    pub async fn ask(
        &self,
        job: &JobId,
        hosts: Option<&Hosts>,
        request: Request,
    ) -> Result<Reply, AskError> {
        // An address that is refused starts no browser.
        if let Request::Open { url } = &request {
            address::check(url)?;
        }
        loop {
            let seat = self.seat(job, &request)?;
            let mut session = seat.session.lock().await;
            // While this request waited, the seat may have been closed.
            if !lock(&self.seats).get(job).is_some_and(|known| Arc::ptr_eq(known, &seat)) {
                continue;
            }
            let answer = Box::pin(self.ask_seat(&mut session, hosts, request)).await;
            *lock(&seat.used) = Instant::now();
            if matches!(answer, Err(AskError::Lost { .. })) {
                *session = None;
            }
            if session.is_none() {
                self.remove(job, &seat);
            }
            return answer;
        }
    }
}
