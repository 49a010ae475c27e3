//! The HTTP server of the scripted model.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, DefaultBodyLimit, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    Script,
    connection::{Breakable, Breaker},
    conversation::Conversation,
    format::{DropDoc, HangDoc},
    player::{NoAnswer, Player},
    reply::{Fault, Rendered},
    wire::{self, Frames, Streamed},
};

/// Largest request, in bytes.
const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Time for which a shutdown waits for pending replies.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(2);

/// A running scripted model, stopped on drop.
#[derive(Debug)]
pub struct ScriptServer {
    address: SocketAddr,
    served: Arc<Served>,
    task: JoinHandle<io::Result<()>>,
}

#[derive(Debug)]
struct Served {
    player: Player,
    stop: CancellationToken,
}

/// Serves a script at an address; port 0 selects a free one. Returns once requests are accepted.
///
/// # Errors
/// If the address cannot be bound.
pub async fn serve(script: Script, address: SocketAddr) -> io::Result<ScriptServer> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let served = Arc::new(Served { player: Player::new(script), stop });
    let routes = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(Arc::clone(&served))
        .into_make_service_with_connect_info::<Breaker>();
    let stop = served.stop.clone();
    let task = tokio::spawn(async move {
        axum::serve(Breakable(listener), routes)
            .with_graceful_shutdown(stop.cancelled_owned())
            .await
    });
    Ok(ScriptServer { address, served, task })
}

impl ScriptServer {
    /// The base URL for clients, up to and including `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Number of chat requests so far, answered or not.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.served.player.requests()
    }

    /// Number of chat requests without an answer: no rule matched, a template failed, or the
    /// request was invalid. A test should assert 0 at its end.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.served.player.unanswered()
    }

    /// Stops accepting requests, ends hanging replies, and waits up to two seconds for the others.
    pub async fn shutdown(mut self) {
        self.served.stop.cancel();
        if tokio::time::timeout(SHUTDOWN_WAIT, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for ScriptServer {
    fn drop(&mut self) {
        self.served.stop.cancel();
    }
}

async fn models(State(served): State<Arc<Served>>) -> Response {
    json(StatusCode::OK, wire::models(&served.player.script.models))
}

async fn chat(
    State(served): State<Arc<Served>>,
    ConnectInfo(breaker): ConnectInfo<Breaker>,
    body: Bytes,
) -> Response {
    let request = served.player.request();
    let talk = match Conversation::parse(&body) {
        Ok(talk) => talk,
        Err(message) => return served.refuse(&message, "invalid_request_error", None),
    };
    let (rendered, fault) = match served.player.answer(&talk, request) {
        Ok(answer) => answer,
        Err(NoAnswer { message, code }) => {
            return served.refuse(&message, "script_error", Some(code));
        }
    };
    let frames = Frames::new(&talk, request, jiff::Timestamp::now().as_second());
    let stop = served.stop.clone();
    match &fault {
        Some(Fault::Status { status, retry_after, code }) => {
            failure(*status, *retry_after, code.as_deref())
        }
        Some(Fault::Drop(DropDoc::Start)) => {
            breaker.trip();
            json(StatusCode::OK, String::new())
        }
        None
        | Some(Fault::Malformed | Fault::Cut | Fault::Hang(_) | Fault::Drop(DropDoc::Middle)) => {
            if talk.stream {
                events(frames.streamed(&rendered), &rendered, fault.as_ref(), stop)
            } else {
                whole(frames.whole(&rendered), &rendered, fault.as_ref(), stop)
            }
        }
    }
}

impl Served {
    /// Builds the response to a request without an answer: status 400, so that clients do not
    /// retry.
    fn refuse(&self, message: &str, kind: &str, code: Option<&str>) -> Response {
        self.player.missed(message);
        json(StatusCode::BAD_REQUEST, wire::error(message, kind, code))
    }
}

fn failure(status: u16, retry_after: Option<u64>, code: Option<&str>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind =
        if status == StatusCode::TOO_MANY_REQUESTS { "rate_limit_error" } else { "scripted_fault" };
    let mut response = json(status, wire::error("the script asks for this error", kind, code));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn json(status: StatusCode, body: String) -> Response {
    typed(status, "application/json", Body::from(body))
}

fn typed(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The end of a body after its chunks.
enum Ending {
    Close(String),
    Hang,
    Break,
}

fn events(
    streamed: Streamed,
    reply: &Rendered,
    fault: Option<&Fault>,
    stop: CancellationToken,
) -> Response {
    let Streamed { mut pieces, close } = streamed;
    let half = pieces.len().div_ceil(2);
    let (kept, ending) = match fault {
        None | Some(Fault::Status { .. }) => (pieces.len(), Ending::Close(close)),
        Some(Fault::Malformed) => (
            half,
            Ending::Close("data: {\"choices\":[{\"delta\":{\"content\":\"bro\n\n".to_owned()),
        ),
        Some(Fault::Cut) => (half, Ending::Close(String::new())),
        Some(Fault::Hang(HangDoc::FirstToken)) => (0, Ending::Hang),
        Some(Fault::Hang(HangDoc::Idle)) => (half, Ending::Hang),
        Some(Fault::Drop(DropDoc::Start | DropDoc::Middle)) => (half, Ending::Break),
    };
    pieces.truncate(kept);
    let body = match ending {
        // In the common case one buffer and one write suffice.
        Ending::Close(close) if reply.pace.is_instant() => {
            pieces.push(close);
            Body::from(pieces.concat())
        }
        ending @ (Ending::Close(_) | Ending::Hang | Ending::Break) => {
            paced(pieces, ending, reply, stop)
        }
    };
    typed(StatusCode::OK, "text/event-stream", body)
}

fn whole(
    body: String,
    reply: &Rendered,
    fault: Option<&Fault>,
    stop: CancellationToken,
) -> Response {
    let half = body.chars().take(body.chars().count() / 2).collect::<String>();
    let (pieces, ending) = match fault {
        None | Some(Fault::Status { .. }) => (vec![body], Ending::Close(String::new())),
        Some(Fault::Malformed | Fault::Cut) => (vec![half], Ending::Close(String::new())),
        Some(Fault::Hang(HangDoc::FirstToken)) => (Vec::new(), Ending::Hang),
        Some(Fault::Hang(HangDoc::Idle)) => (vec![half], Ending::Hang),
        Some(Fault::Drop(DropDoc::Start | DropDoc::Middle)) => (vec![half], Ending::Break),
    };
    let body = match ending {
        Ending::Close(_) if reply.pace.is_instant() => Body::from(pieces.concat()),
        ending @ (Ending::Close(_) | Ending::Hang | Ending::Break) => {
            paced(pieces, ending, reply, stop)
        }
    };
    typed(StatusCode::OK, "application/json", body)
}

/// Builds a body whose chunks follow the reply's timing. Ends at once if the server stops.
fn paced(pieces: Vec<String>, ending: Ending, reply: &Rendered, stop: CancellationToken) -> Body {
    let pace = reply.pace;
    Body::from_stream(async_stream::stream! {
        let mut wait = pace.first_delay;
        for piece in pieces {
            if !pause(wait, &stop).await {
                return;
            }
            wait = pace.delay;
            yield Ok(Bytes::from(piece));
        }
        match ending {
            Ending::Close(close) => yield Ok(Bytes::from(close)),
            Ending::Hang => stop.cancelled().await,
            Ending::Break => {
                // Lets the half reply be sent before the connection is broken.
                tokio::task::yield_now().await;
                yield Err(io::Error::new(io::ErrorKind::ConnectionReset, "broken by the script"));
            }
        }
    })
}

/// Waits; returns `false` if the server stops meanwhile.
async fn pause(wait: Duration, stop: &CancellationToken) -> bool {
    if wait.is_zero() {
        return !stop.is_cancelled();
    }
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = stop.cancelled() => false,
    }
}
