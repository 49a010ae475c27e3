//! The loop that every part of the front door shares: take a request, answer it once, never die of
//! one.
//!
//! * More requests at a time than configured are refused with `overloaded`, at once.
//! * A handler that panics is answered with `internal`; no other request notices.
//! * When the process ends, no new request is taken and those in hand are answered.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use broker::{
    Broker,
    bus::{BusError, Endpoint, Reply, Request},
};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream::BoxStream};
use opentelemetry::KeyValue;
use proto::{
    error::{Code, Failure},
    trace::TraceContext,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use crate::telemetry::{self, Histogram, Kind, LATENCY, Span, keys};

/// How long requests in hand may go on after the shutdown begins.
const DRAIN: Duration = Duration::from_secs(10);

static DURATION: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram("callboard.door.duration", "A request at the front door.", LATENCY)
});

/// Some verbs of the front door.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Its name, for logs.
    fn name(&self) -> &'static str;
    /// What it serves.
    fn endpoints(&self) -> Vec<Endpoint>;
    /// Answers one request.
    ///
    /// # Errors
    /// The refusal that is sent instead of an answer.
    async fn handle(&self, call: &Call) -> Result<Handled, Failure>;
}

/// How a request was answered.
#[derive(Debug)]
pub enum Handled {
    /// With this.
    Reply(Bytes),
    /// With several answers, all sent by the handler.
    Streamed,
}

impl Handled {
    /// One answer in JSON.
    ///
    /// # Errors
    /// `internal` when the value cannot be written.
    pub fn json(answer: &impl Serialize) -> Result<Self, Failure> {
        match serde_json::to_vec(answer) {
            Ok(bytes) => Ok(Self::Reply(Bytes::from(bytes))),
            Err(error) => Err(Failure::new(Code::Internal, format!("cannot be written: {error}"))),
        }
    }
}

/// A request in the hands of a [`Service`].
#[derive(Debug)]
pub struct Call {
    /// The verb that was asked for.
    pub verb: &'static str,
    /// The body. Nothing has looked at it yet.
    pub payload: Bytes,
    /// The caller's trace with a span of this request's own, or a new trace.
    pub trace: TraceContext,
    /// The caller's token, if it sent one. Never logged.
    pub token: Option<String>,
    /// Canceled when the process is about to end: long answers should end too.
    pub closing: CancellationToken,
    /// The span of the caller, as it came with the request.
    caller: Option<TraceContext>,
    reply: Box<dyn Reply>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Call {
    /// Sends one of several answers.
    ///
    /// # Errors
    /// When the bus does not take it.
    pub async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        self.reply.send(payload).await
    }

    /// Gives back its place among the requests in hand: for answers that take long and have a
    /// bound of their own.
    pub fn leave_queue(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// What a [`ServiceActor`] needs.
#[derive(Clone)]
pub struct ServiceArgs {
    /// Where requests come from.
    pub broker: Broker,
    /// What answers them.
    pub service: Arc<dyn Service>,
    /// Requests in hand at most.
    pub in_flight: usize,
    /// Begins the shutdown.
    pub shutdown: CancellationToken,
}

impl std::fmt::Debug for ServiceArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceArgs")
            .field("service", &self.service.name())
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

/// Serves a [`Service`]. Stops by itself, without an error, after a shutdown; fails when the bus
/// gives no more requests.
#[derive(Debug)]
pub struct ServiceActor;

/// What a service's actor is told by its own task.
#[derive(Debug)]
pub enum ServiceMsg {
    /// Everything in hand is answered after a shutdown.
    Finished,
    /// The bus gives no more requests.
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
        let requests = args.broker.bus.serve(args.service.endpoints()).await?;
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

async fn listen(args: ServiceArgs, mut requests: BoxStream<'static, Request>) -> ServiceMsg {
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
    // What was handed over already is nobody else's: it would wait for its time to run out.
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

/// Where requests are counted in.
struct Counter {
    args: ServiceArgs,
    places: Arc<Semaphore>,
    tracker: TaskTracker,
}

impl Counter {
    async fn take(&self, request: Request) {
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

fn call(request: Request, place: OwnedSemaphorePermit, closing: CancellationToken) -> Call {
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
    span.set(keys::DOOR_VERB, call.verb);
    let verb = call.verb;
    let refused = answered(service, call).await;
    let code = refused.map_or("", Code::as_str);
    if refused.is_some() {
        span.fail(code);
    }
    let attributes = [KeyValue::new(keys::DOOR_VERB, verb), KeyValue::new(keys::ERROR_TYPE, code)];
    DURATION.record(started.elapsed().as_secs_f64(), &attributes);
}

/// Answers; tells with what code it was refused, when it was.
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
            // What was panicked with may quote the request: the panic hook has printed where.
            tracing::error!(
                service = service.name(),
                verb = call.verb,
                "a request handler panicked"
            );
            Failure::new(Code::Internal, format!("{} panicked on this request", service.name()))
        }
    };
    let code = refusal.code;
    tracing::debug!(verb = call.verb, %code, "refused");
    unheard(call.verb, call.reply.refuse(refusal).await);
    Some(code)
}

/// The requester may be gone: nothing depends on the answer.
fn unheard(verb: &'static str, sent: Result<(), BusError>) {
    if let Err(error) = sent {
        tracing::debug!(verb, %error, "an answer could not be sent");
    }
}
