//! The request loop of every front-door service: it takes a request, answers it once, and survives
//! its failure.
//!
//! * A request beyond the configured number of concurrent requests is refused with `overloaded`, at
//!   once.
//! * A request whose handler panics is answered with `internal`, and no other request is affected.
//! * During the shutdown no new request is taken, and running ones are answered.

use std::{
    marker::PhantomData,
    panic::AssertUnwindSafe,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use broker::{
    Broker,
    bus::{self, BusError, Reply},
};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream::BoxStream};
use opentelemetry::KeyValue;
use proto::{
    door::{Request, Verb},
    error::{Code, Failure},
    strict,
    trace::TraceContext,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use crate::{
    people::{Caller, People},
    telemetry::{self, Histogram, Kind, LATENCY, Span, keys},
};

/// The time that running requests have after the shutdown begins.
const DRAIN: Duration = Duration::from_secs(10);

static DURATION: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram("callboard.door.duration", "A request at the front door.", LATENCY)
});

/// A part of the front door that serves some of its verbs.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Returns the name of the service, for logs.
    fn name(&self) -> &'static str;
    /// The verbs that it serves.
    fn verbs(&self) -> Vec<Verb>;
    /// Answers one request.
    ///
    /// # Errors
    /// The refusal that is sent instead of an answer.
    async fn handle(&self, call: &Call) -> Result<Handled, Failure>;
}

/// The way in which a request was answered.
#[derive(Debug)]
pub enum Handled {
    /// One answer, which the loop sends.
    Reply(Bytes),
    /// Several answers, which the handler has sent itself.
    Streamed,
}

impl Handled {
    /// Encodes one answer as JSON.
    ///
    /// # Errors
    /// `internal` when the value cannot be encoded.
    pub fn json(answer: &impl Serialize) -> Result<Self, Failure> {
        match serde_json::to_vec(answer) {
            Ok(bytes) => Ok(Self::Reply(Bytes::from(bytes))),
            Err(error) => Err(Failure::new(Code::Internal, format!("cannot be written: {error}"))),
        }
    }
}

/// A request to a [`Service`].
#[derive(Debug)]
pub struct Call {
    /// The verb of the request.
    pub verb: Verb,
    /// The body, not yet validated.
    pub payload: Bytes,
    /// The caller's trace with a new span id for this request, or a new trace.
    pub trace: TraceContext,
    /// The caller's token, if the request has one. Never logged.
    pub token: Option<String>,
    /// Canceled when the shutdown begins. Long streams of answers should end then.
    pub closing: CancellationToken,
    /// The span of the caller, from the request's headers.
    caller: Option<TraceContext>,
    reply: Box<dyn Reply>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Call {
    /// Sends one of several answers.
    ///
    /// # Errors
    /// An error is returned when the bus refuses the message.
    pub async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        self.reply.send(payload).await
    }

    /// Sends one of several answers, and returns `false` if nobody receives it.
    ///
    /// # Errors
    /// An error is returned when the bus refuses the message.
    pub async fn is_heard(&self, payload: Bytes) -> Result<bool, BusError> {
        self.reply.is_heard(payload).await
    }

    /// Returns the beginning of the caller's inbox, which tells callers without tokens apart.
    #[must_use]
    pub fn inbox(&self) -> &str {
        self.reply.inbox()
    }

    /// Releases the request's place among the concurrent requests. For long streams of answers,
    /// which have a bound of their own.
    pub fn leave_queue(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A request of an admitted caller.
#[derive(Debug)]
pub struct Asked<'a, R> {
    /// The caller.
    pub caller: Caller,
    /// The request as it came in.
    pub call: &'a Call,
    request: PhantomData<R>,
}

impl<'a, R: Request> Asked<'a, R> {
    /// Admits the caller of a request.
    ///
    /// # Errors
    /// Those of [`People::admit`].
    pub async fn admit(call: &'a Call, people: &People) -> Result<Self, Failure> {
        let caller = people.admit(call.token.as_deref(), R::VERB.spec().roles).await?;
        Ok(Self { caller, call, request: PhantomData })
    }

    /// The request, parsed from JSON.
    ///
    /// # Errors
    /// The field that is wrong.
    pub fn request(&self) -> Result<R, Failure>
    where
        R: DeserializeOwned,
    {
        Ok(strict::request(&self.call.payload)?)
    }
}

/// Answers requests of one type with its reply.
pub trait Answers<R: Request> {
    /// The reply to an admitted request.
    ///
    /// # Errors
    /// The refusal that is sent instead.
    fn answer(&self, asked: Asked<'_, R>)
    -> impl Future<Output = Result<R::Reply, Failure>> + Send;
}

impl Call {
    /// Admits the caller, and has the request answered.
    ///
    /// # Errors
    /// The refusal.
    pub async fn answer<R: Request>(
        &self,
        people: &People,
        service: &impl Answers<R>,
    ) -> Result<Handled, Failure> {
        Handled::json(&service.answer(Asked::admit(self, people).await?).await?)
    }

    /// The refusal of a verb that another service serves.
    #[must_use]
    pub fn served_elsewhere(&self) -> Failure {
        let why = format!("there is no verb {:?} here", self.verb.name());
        Failure::new(Code::InvalidRequest, why)
    }
}

/// The arguments of a [`ServiceActor`].
#[derive(Clone, derive_more::Debug)]
#[debug("ServiceArgs {{ service: {}, in_flight: {in_flight} }}", service.name())]
pub struct ServiceArgs {
    /// The broker that delivers the requests.
    pub broker: Broker,
    /// The service that answers them.
    pub service: Arc<dyn Service>,
    /// The maximum number of concurrent requests.
    pub in_flight: usize,
    /// Begins the shutdown when it is canceled.
    pub shutdown: CancellationToken,
}

/// The actor of a [`Service`]. It stops by itself, without an error, after a shutdown. It fails
/// when the stream of requests ends.
#[derive(Debug)]
pub struct ServiceActor;

/// A message to a service's actor from its own task.
#[derive(Debug)]
pub enum ServiceMsg {
    /// The shutdown is complete: every request was answered, or the drain deadline has passed.
    Finished,
    /// The stream of requests ended without a shutdown.
    Ended,
}

impl Actor for ServiceActor {
    type Msg = ServiceMsg;
    type State = AbortOnDropHandle<()>;
    type Arguments = ServiceArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<ServiceMsg>,
        args: ServiceArgs,
    ) -> Result<Self::State, ActorProcessingErr> {
        let requests = args.broker.bus.serve(args.service.verbs()).await?;
        let task = tokio::spawn(async move {
            let _ = myself.cast(listen(args, requests).await);
        });
        Ok(AbortOnDropHandle::new(task))
    }

    async fn handle(
        &self,
        myself: ActorRef<ServiceMsg>,
        message: ServiceMsg,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ServiceMsg::Finished => myself.stop(None),
            ServiceMsg::Ended => return Err("the request stream of the bus ended".into()),
        }
        Ok(())
    }
}

async fn listen(args: ServiceArgs, mut requests: BoxStream<'static, bus::Request>) -> ServiceMsg {
    let counter = Counter {
        places: Arc::new(Semaphore::new(args.in_flight)),
        tracker: TaskTracker::new(),
        args,
    };
    let end = loop {
        let request = tokio::select! {
            biased;
            () = counter.args.shutdown.cancelled() => break ServiceMsg::Finished,
            request = requests.next() => request,
        };
        let Some(request) = request else { break ServiceMsg::Ended };
        counter.take(request).await;
    };
    // Requests that were delivered already reach no other process, and would time out unanswered.
    while let Some(Some(request)) = requests.next().now_or_never() {
        counter.take(request).await;
    }
    drop(requests);
    counter.tracker.close();
    if tokio::time::timeout(DRAIN, counter.tracker.wait()).await.is_err() {
        let (service, left) = (counter.args.service.name(), counter.tracker.len());
        tracing::warn!(service, left, "requests were left unanswered");
    }
    end
}

/// The admission of requests, up to the configured number.
struct Counter {
    args: ServiceArgs,
    places: Arc<Semaphore>,
    tracker: TaskTracker,
}

impl Counter {
    async fn take(&self, request: bus::Request) {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => {
                let call = call(request, place, self.args.shutdown.clone());
                drop(self.tracker.spawn(answer(Arc::clone(&self.args.service), call)));
            }
            Err(_) => {
                let why = format!("{} requests are in progress already", self.args.in_flight);
                let refused = request.reply.refuse(Failure::new(Code::Overloaded, why)).await;
                unheard(request.verb, refused);
            }
        }
    }
}

fn call(request: bus::Request, place: OwnedSemaphorePermit, closing: CancellationToken) -> Call {
    Call {
        verb: request.verb,
        payload: request.payload,
        caller: request.context.trace,
        trace: request.context.trace.map_or_else(telemetry::new_trace, telemetry::child_of),
        token: request.context.token,
        closing,
        reply: request.reply,
        place: Mutex::new(Some(place)),
    }
}

async fn answer(service: Arc<dyn Service>, call: Call) {
    let started = Instant::now();
    let parent = call.caller;
    let mut span =
        Span::start(call.trace, parent, Kind::Server, || format!("callboard {}", call.verb));
    let verb = call.verb;
    span.set(keys::DOOR_VERB, verb.name());
    let refused = answered(service, call).await;
    let code = refused.map_or("", Code::as_str);
    if refused.is_some() {
        span.fail(code);
    }
    let attributes =
        [KeyValue::new(keys::DOOR_VERB, verb.name()), KeyValue::new(keys::ERROR_TYPE, code)];
    DURATION.record(started.elapsed().as_secs_f64(), &attributes);
}

/// Answers a request, and returns the code of the refusal if it was refused.
async fn answered(service: Arc<dyn Service>, call: Call) -> Option<Code> {
    let handled = AssertUnwindSafe(service.handle(&call)).catch_unwind().await;
    let refusal = match handled {
        Ok(Ok(Handled::Streamed)) => return None,
        Ok(Ok(Handled::Reply(payload))) => match call.reply.send(payload).await {
            Err(BusError::TooLarge(bytes)) => {
                let why = format!("the reply has {bytes} bytes, more than the broker accepts");
                Failure::new(Code::TooLarge, why)
            }
            sent => {
                unheard(call.verb, sent);
                return None;
            }
        },
        Ok(Err(failure)) => failure,
        Err(_) => {
            // The panic's message may quote the request. The panic hook has logged its place.
            tracing::error!(
                service = service.name(),
                verb = call.verb.name(),
                "a request handler panicked"
            );
            Failure::new(Code::Internal, format!("{} panicked on this request", service.name()))
        }
    };
    let code = refusal.code;
    tracing::debug!(verb = call.verb.name(), %code, "refused");
    unheard(call.verb, call.reply.refuse(refusal).await);
    Some(code)
}

/// Logs an answer that could not be sent. The caller may be gone, and nothing depends on the
/// answer.
fn unheard(verb: Verb, sent: Result<(), BusError>) {
    if let Err(error) = sent {
        tracing::debug!(%verb, %error, "an answer could not be sent");
    }
}
