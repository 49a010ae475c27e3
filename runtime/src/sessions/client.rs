//! The asker's side: finding or opening the session of a job, and requests to it.

use std::time::Duration;

use broker::{
    Broker,
    backoff::Backoff,
    bus::{BusError, Message, RequestContext},
    kv::{Bucket, KvError, session_key},
};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{
    id::{JobId, Unit, WorkerId},
    limits::{SESSION_BODY_BYTES_MAX, WIRE_BYTES_MAX},
    session::{SessionId, SessionKind, SessionPlace},
    wire::{
        self, Wire,
        host::{Carry, CarryAnswer, Heard, HostRequest, Offer, OpenAnswer},
    },
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{SILENCE, STOP_GRACE};

/// Time without a further offer after which no more hosts are expected to answer.
const OFFERS: Duration = Duration::from_secs(1);
/// Time in which a host acknowledges a cancellation.
const CANCELED: Duration = Duration::from_secs(1);
/// Pauses between requests to a host without capacity.
const BUSY: Backoff = Backoff::doubling(Duration::from_millis(50), Duration::from_secs(1));

/// A request to the session of a job.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Kind of the session.
    pub kind: SessionKind,
    /// Job of the session.
    pub job: JobId,
    /// Attempt at a unit of work. A second request for an attempt that runs joins it.
    pub unit: Unit,
    /// Content for the keeper, at most [`SESSION_BODY_BYTES_MAX`].
    pub body: Bytes,
    /// Time after which the host stops the work.
    pub within: Duration,
    /// `true` to open a session if the job has none.
    pub opens: bool,
}

/// The reason why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No process serves the kind of session, or all of them are full. Nothing began.
    #[error("no host has room for a session")]
    NoHost,
    /// The job has no session, and the request opens none.
    #[error("the job has no session")]
    NoSession,
    /// The session is lost. The next request opens a new one.
    #[error("the session is lost: {why}")]
    Lost {
        /// `false` only if it is certain that the request had no effect.
        may_have_begun: bool,
        /// Reason.
        why: String,
    },
    /// The session could not be opened, or its keeper refused the request or failed.
    #[error("{0}")]
    Refused(String),
    /// The request was canceled. It may have had effects.
    #[error("canceled")]
    Canceled,
    /// The time of the request passed. It may have had effects.
    #[error("the time for the request is over")]
    Late,
    /// The broker cannot be reached. Nothing began.
    #[error("{0}")]
    Unavailable(String),
}

impl AskError {
    /// Returns whether the request may have had effects that no answer tells.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Lost { may_have_begun, .. } => *may_have_begun,
            Self::Canceled | Self::Late => true,
            Self::NoHost | Self::NoSession | Self::Refused(_) | Self::Unavailable(_) => false,
        }
    }
}

/// Requests to the sessions of jobs, wherever they live. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sessions {
    broker: Broker,
}

/// A session and its host.
struct Place {
    host: WorkerId,
    session: SessionId,
}

type Answers = BoxStream<'static, Result<Message, BusError>>;

impl Sessions {
    /// Creates the askers' side.
    #[must_use]
    pub fn new(broker: Broker) -> Self {
        Self { broker }
    }

    /// Has a request carried out in the session of its job.
    ///
    /// When the future is dropped or `canceled` is canceled, the host is told to stop the work.
    ///
    /// # Errors
    /// The reason why there is no result.
    pub async fn ask(&self, ask: Ask, canceled: &CancellationToken) -> Result<Bytes, AskError> {
        if ask.body.len() > SESSION_BODY_BYTES_MAX {
            let bytes = ask.body.len();
            return Err(AskError::Refused(format!(
                "the request has {bytes} bytes; a session takes at most {SESSION_BODY_BYTES_MAX}"
            )));
        }
        let end = Instant::now() + ask.within;
        let mut stop = StopWhenDropped { sessions: self, ask: Some(&ask) };
        let answer = tokio::select! {
            biased;
            answer = self.asked(&ask, end) => answer,
            () = canceled.cancelled() => return Err(AskError::Canceled),
            // The host is the first to know that the time is over.
            () = sleep_until(end + STOP_GRACE + SILENCE) => return Err(AskError::Late),
        };
        stop.ask = None;
        answer
    }

    /// Closes the session of a job, if it has one. A host that cannot be reached closes the session
    /// when it was idle for long enough.
    ///
    /// # Errors
    /// If the bucket cannot be read.
    pub async fn close(&self, kind: SessionKind, job: &JobId) -> Result<(), AskError> {
        if let Some(Place { host, session }) = self.find(kind, job).await? {
            self.tell(kind, &host, &HostRequest::Close { job: job.clone(), session }).await;
        }
        Ok(())
    }

    async fn asked(&self, ask: &Ask, end: Instant) -> Result<Bytes, AskError> {
        let mut busy = BUSY;
        loop {
            let place = match self.find(ask.kind, &ask.job).await? {
                Some(place) => place,
                None if ask.opens => self.open(ask.kind, &ask.job).await?,
                None => return Err(AskError::NoSession),
            };
            match self.carry(ask, &place, end).await? {
                Some(body) => return Ok(body),
                None if Instant::now() >= end => {
                    return Err(AskError::Refused("the host had no capacity in time".to_owned()));
                }
                None => sleep(busy.pause()).await,
            }
        }
    }

    /// Returns the session of a job.
    async fn find(&self, kind: SessionKind, job: &JobId) -> Result<Option<Place>, AskError> {
        let entry = self.broker.kv.get(Bucket::Sessions, &session_key(kind, job)).await;
        let Some(entry) = entry.map_err(|error| unavailable(&error))? else { return Ok(None) };
        let session = SessionId(entry.revision);
        match serde_json::from_slice(&entry.value) {
            Ok(SessionPlace { host }) => Ok(Some(Place { host, session })),
            Err(error) => {
                tracing::warn!(%job, %kind, %error, "the entry of a session cannot be read; it is removed");
                self.forget(kind, job, session).await;
                Ok(None)
            }
        }
    }

    /// Removes the entry of a session, unless it was changed.
    async fn forget(&self, kind: SessionKind, job: &JobId, session: SessionId) {
        let key = session_key(kind, job);
        match self.broker.kv.delete_at(Bucket::Sessions, &key, session.0).await {
            Ok(_) | Err(KvError::Conflict(_)) => {}
            // The next request finds it and fails in the same way.
            Err(error) => tracing::warn!(key, %error, "the entry of a lost session remains"),
        }
    }

    async fn open(&self, kind: SessionKind, job: &JobId) -> Result<Place, AskError> {
        let subject = self.broker.log.subjects().hosts(kind);
        let mut offers = match self.send(subject, &HostRequest::Seek, OFFERS).await {
            Ok(offers) => offers,
            Err(BusError::NoResponders(_)) => return Err(AskError::NoHost),
            Err(error) => return Err(unavailable(&error)),
        };
        let mut failed = None;
        while let Some(offer) = offers.next().await {
            let offer = match offer {
                Ok(offer) => offer,
                Err(BusError::NoResponders(_)) => break,
                Err(error) => return Err(unavailable(&error)),
            };
            let Some(Offer { host, has_room: true }) = read(&offer) else { continue };
            match self.open_at(kind, job, &host).await {
                Some(OpenAnswer::Opened { session }) => return Ok(Place { host, session }),
                Some(OpenAnswer::Failed { why }) => failed = Some(why),
                Some(OpenAnswer::Taken | OpenAnswer::Full | OpenAnswer::Working) | None => {}
            }
            // Another asker may have been faster. A host that fell silent may have opened it.
            if let Some(place) = self.find(kind, job).await? {
                return Ok(place);
            }
        }
        Err(failed.map_or(AskError::NoHost, AskError::Refused))
    }

    /// Asks one host to open a session; `None` if it falls silent.
    async fn open_at(&self, kind: SessionKind, job: &JobId, host: &WorkerId) -> Option<OpenAnswer> {
        let subject = self.broker.log.subjects().host(kind, host);
        let request = HostRequest::Open { job: job.clone() };
        let mut answers = self.send(subject, &request, SILENCE).await.ok()?;
        loop {
            let answer = read(&answers.next().await?.ok()?)?;
            if answer != OpenAnswer::Working {
                return Some(answer);
            }
        }
    }

    /// Returns the result; `None` if the host has no capacity at the moment.
    async fn carry(
        &self,
        ask: &Ask,
        place: &Place,
        end: Instant,
    ) -> Result<Option<Bytes>, AskError> {
        let left = end.saturating_duration_since(Instant::now());
        let request = HostRequest::Carry(Carry {
            job: ask.job.clone(),
            session: place.session,
            work: ask.unit.work.clone(),
            attempt: ask.unit.attempt,
            within_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            body: ask.body.to_vec(),
        });
        let subject = self.broker.log.subjects().host(ask.kind, &place.host);
        let (may_have_begun, why) = match self.send(subject, &request, SILENCE).await {
            Ok(answers) => match last(answers).await {
                Last::Answer(CarryAnswer::Done { body }) => return Ok(Some(body.into())),
                Last::Answer(CarryAnswer::Busy) => return Ok(None),
                Last::Answer(CarryAnswer::Refused { why }) => return Err(AskError::Refused(why)),
                Last::Answer(CarryAnswer::Stopped) => return Err(AskError::Canceled),
                Last::Answer(CarryAnswer::Late) => return Err(AskError::Late),
                Last::Answer(CarryAnswer::Unknown) => (false, "its host does not have it".into()),
                Last::Answer(CarryAnswer::Lost { why }) => (true, why),
                Last::Gone => (false, GONE.into()),
                // The host may have begun although its acknowledgement was lost.
                Last::Answer(CarryAnswer::Begun | CarryAnswer::Working) | Last::Silence => {
                    (true, "its host does not answer".into())
                }
            },
            Err(BusError::NoResponders(_)) => (false, GONE.into()),
            Err(BusError::TooLarge(bytes)) => {
                let why = format!("the broker takes no request of {bytes} bytes");
                return Err(AskError::Refused(why));
            }
            Err(error) => return Err(unavailable(&error)),
        };
        self.forget(ask.kind, &ask.job, place.session).await;
        Err(AskError::Lost { may_have_begun, why })
    }

    /// Asks the host of the session, if there is one, to stop the work.
    async fn cancel(&self, kind: SessionKind, job: JobId, Unit { work, attempt }: Unit) {
        let Ok(Some(Place { host, .. })) = self.find(kind, &job).await else { return };
        self.tell(kind, &host, &HostRequest::Cancel { job, work, attempt }).await;
    }

    /// Sends a request on which nothing depends.
    async fn tell(&self, kind: SessionKind, host: &WorkerId, request: &HostRequest) {
        let subject = self.broker.log.subjects().host(kind, host);
        let answer = match self.send(subject, request, CANCELED).await {
            Ok(mut answers) => answers.next().await.and_then(Result::ok),
            Err(_) => None,
        };
        let is_known = answer.and_then(|answer| read(&answer)).map(|Heard { is_known }| is_known);
        tracing::debug!(%host, ?is_known, "a host was told to stop");
    }

    async fn send(
        &self,
        subject: String,
        request: &HostRequest,
        idle: Duration,
    ) -> Result<Answers, BusError> {
        let payload = wire::encode(request).map_err(|_| BusError::TooLarge(WIRE_BYTES_MAX))?;
        let context = RequestContext::default();
        self.broker.bus.request_many(subject, payload.into(), context, idle).await
    }
}

/// Tells the host that nobody waits for the result. The asker may be dropped at once, so a task does.
struct StopWhenDropped<'a> {
    sessions: &'a Sessions,
    /// `None` once there is a result.
    ask: Option<&'a Ask>,
}

impl Drop for StopWhenDropped<'_> {
    fn drop(&mut self) {
        let Some(Ask { kind, job, unit, .. }) = self.ask else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (sessions, kind) = (self.sessions.clone(), *kind);
        let (job, unit) = (job.clone(), unit.clone());
        runtime.spawn(async move { sessions.cancel(kind, job, unit).await });
    }
}

const GONE: &str = "its host is gone";

/// The end of the answers to a request.
enum Last {
    Answer(CarryAnswer),
    /// Nobody listens.
    Gone,
    /// No further answer came, or one that cannot be read.
    Silence,
}

async fn last(mut answers: Answers) -> Last {
    loop {
        match answers.next().await {
            Some(Ok(answer)) => match read(&answer) {
                Some(CarryAnswer::Begun | CarryAnswer::Working) => {}
                Some(answer) => return Last::Answer(answer),
                None => return Last::Silence,
            },
            Some(Err(BusError::NoResponders(_))) => return Last::Gone,
            Some(Err(_)) | None => return Last::Silence,
        }
    }
}

fn read<T: Wire>(answer: &Message) -> Option<T> {
    let read = wire::decode(&answer.payload);
    read.inspect_err(|error| tracing::debug!(%error, "an answer of a host cannot be read")).ok()
}

fn unavailable(error: &impl std::fmt::Display) -> AskError {
    AskError::Unavailable(error.to_string())
}
