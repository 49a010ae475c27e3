//! One connection to a server: the start of its program or the connection to its address, the era of
//! the protocol, and the end.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::HeaderMap;
use rmcp::{
    ClientHandler, ErrorData,
    model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion},
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer,
        RequestContext, RoleClient, RunningService,
    },
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::time::Instant;

use crate::{
    frames::{Frames, MESSAGE_BYTES_MAX},
    http::{self as http_client, ClientError},
    launch::{Launch, Target, escaped},
    process::{Process, Tail},
};

/// Time for the start of a program and the handshake.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(30);
/// Versions of the protocol. Those with a handshake differ in nothing that a client of tools needs.
const VERSIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V_2026_07_28,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];
/// Time for the end of a connection.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);
/// Largest error text of an HTTP server, in bytes.
const ERROR_BYTES_MAX: usize = 8 * 1024;

/// The reason why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The program cannot be started.
    #[error("the program cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The HTTP client cannot be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The handshake failed.
    #[error("the handshake failed: {why}{}", shown(.stderr))]
    Handshake {
        /// The reason.
        why: String,
        /// End of the program's standard error.
        stderr: String,
    },
    /// The server speaks another version of the protocol.
    #[error("the server speaks the version {0} of the protocol, which Callboard does not")]
    Version(String),
    /// The handshake took too long.
    #[error("the handshake did not end within {CONNECT_WITHIN:?}{}", shown(.stderr))]
    Late {
        /// End of the program's standard error.
        stderr: String,
    },
}

impl ConnectError {
    /// Returns the reason without what a program wrote to its standard error.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Handshake { why, .. } => format!("the handshake failed: {why}"),
            Self::Late { .. } => format!("the handshake did not end within {CONNECT_WITHIN:?}"),
            Self::Start(_) | Self::Client(_) | Self::Version(_) => self.to_string(),
        }
    }

    /// Returns the end of the program's standard error; empty without a program.
    pub(crate) fn stderr(&self) -> &str {
        match self {
            Self::Handshake { stderr, .. } | Self::Late { stderr } => stderr,
            Self::Start(_) | Self::Client(_) | Self::Version(_) => "",
        }
    }
}

fn shown(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; standard error: {}", escaped(stderr)) }
}

/// The era of a server's protocol, which later connections begin with.
#[derive(Debug, Default)]
pub(crate) struct Era(Mutex<Option<Generation>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// The handshake `initialize` begins a session.
    Sessions,
    /// Each request stands by itself.
    Stateless,
}

impl Era {
    fn is_unknown(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn lifecycle(&self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Some(Generation::Sessions) => ClientLifecycleMode::Initialize,
            Some(Generation::Stateless) => ClientLifecycleMode::Discover { preferred_versions },
        }
    }

    /// Keeps the era of a connection, or forgets it after a failure: the server may be another one.
    fn learn(&self, version: Option<&ProtocolVersion>) {
        let generation = version.map(|version| match version.has_initialize() {
            true => Generation::Sessions,
            false => Generation::Stateless,
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = generation;
    }
}

/// The client's side of a connection. It grants nothing that a server asks for.
#[derive(Debug)]
struct Handler {
    /// Set when the server's tools have changed.
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("callboard", env!("CARGO_PKG_VERSION"));
        // The newest version that begins with a handshake; the other era negotiates its own.
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    #[expect(
        deprecated,
        reason = "servers with a handshake may ask, and the library would answer with a list"
    )]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<rmcp::model::ListRootsRequestMethod>())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

type Service = RunningService<RoleClient, Handler>;

/// An open connection. It closes when the last user drops it.
#[derive(Debug)]
pub(crate) struct Connection {
    service: Option<Service>,
    process: Option<Process>,
    peer: Peer<RoleClient>,
}

impl Connection {
    /// Connects to a server. A program that does not answer in time is killed. While the era is unknown,
    /// a server that does not answer `server/discover` is connected a second time, with a handshake.
    pub(crate) async fn open(
        launch: &Launch,
        era: &Era,
        changed: &Arc<AtomicBool>,
    ) -> Result<Self, ConnectError> {
        let deadline = Instant::now() + CONNECT_WITHIN;
        let handler = || Handler { changed: Arc::clone(changed) };
        let mut opened = attempt(launch, handler(), era.lifecycle(), deadline).await;
        if let Err(first @ Failed { may_need_handshake: true, .. }) = &opened
            && era.is_unknown()
        {
            let again = attempt(launch, handler(), ClientLifecycleMode::Initialize, deadline).await;
            opened = again.map_err(|failed| failed.after(first));
        }
        let opened = opened.map_err(|failed| failed.error);
        let about = opened.as_ref().ok().and_then(|(service, _)| service.peer_info());
        let version = about.as_ref().map(|about| &about.protocol_version);
        era.learn(version);
        if let Some(version) = version.filter(|version| !VERSIONS.contains(version)) {
            let shown = escaped(&version.to_string()).chars().take(40).collect();
            return Err(ConnectError::Version(shown));
        }
        let (service, process) = opened?;
        Ok(Self { peer: service.peer().clone(), service: Some(service), process })
    }

    /// The server, for requests.
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// `true` if the server has ended or closed the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Closes the connection, and waits until a program has ended.
    pub(crate) async fn close(mut self) {
        end(self.service.take(), self.process.take()).await;
    }

    /// Returns the end of the program's standard error; empty without a program.
    pub(crate) fn stderr(&self) -> String {
        self.process.as_ref().map(|process| process.tail().text()).unwrap_or_default()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (service, process) = (self.service.take(), self.process.take());
        // Without a runtime the process ends, and what is dropped here is killed.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(end(service, process));
    }
}

async fn end(service: Option<Service>, process: Option<Process>) {
    if let Some(mut service) = service {
        // Closes the standard input of a program.
        let _ = service.close_with_timeout(CLOSE_WITHIN).await;
    }
    if let Some(process) = process {
        process.end().await;
    }
}

/// An attempt to connect that failed.
struct Failed {
    error: ConnectError,
    /// `true` if the server may be one that knows nothing before the handshake of older versions.
    may_need_handshake: bool,
}

impl Failed {
    /// Adds the reason why an earlier attempt failed.
    fn after(mut self, first: &Self) -> Self {
        if let (ConnectError::Handshake { why, .. }, ConnectError::Handshake { why: first, .. }) =
            (&mut self.error, &first.error)
        {
            *why = both(why, first);
        }
        self
    }
}

impl<E: Into<ConnectError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { error: error.into(), may_need_handshake: false }
    }
}

/// Starts a program or connects to an address once.
async fn attempt(
    launch: &Launch,
    handler: Handler,
    lifecycle: ClientLifecycleMode,
    deadline: Instant,
) -> Result<(Service, Option<Process>), Failed> {
    match &launch.target {
        Target::Program { path, args, env } => {
            let (process, output, input) = Process::start(path, args, env)?;
            let transport = AsyncRwTransport::new_client(Frames::new(output), input)
                .with_max_line_length(MESSAGE_BYTES_MAX);
            let tail = process.tail();
            let served = handler.serve_with_lifecycle(transport, lifecycle);
            within(served, &tail, deadline).await.map(|service| (service, Some(process)))
        }
        Target::Address { url, headers, allow_private } => {
            let client = http_client::client(url, *allow_private)?;
            let config = config(url.as_str(), headers);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let served = handler.serve_with_lifecycle(transport, lifecycle);
            within(served, &Tail::default(), deadline).await.map(|service| (service, None))
        }
    }
}

async fn within<T>(
    served: impl Future<Output = Result<T, ClientInitializeError>>,
    tail: &Tail,
    deadline: Instant,
) -> Result<T, Failed> {
    match tokio::time::timeout_at(deadline, served).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => {
            let why = reason(&error).chars().take(500).collect();
            let may_need_handshake = may_need_handshake(&error);
            let error = ConnectError::Handshake { why, stderr: tail.text() };
            Err(Failed { error, may_need_handshake })
        }
        Err(_) => Err(ConnectError::Late { stderr: tail.text() }.into()),
    }
}

/// `true` if the server answered nothing that says which era it speaks: it ended, sent something else
/// than an answer, or refused the HTTP request.
fn may_need_handshake(error: &ClientInitializeError) -> bool {
    let is_no_answer = matches!(
        error,
        ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. }
    );
    is_no_answer && !error.is_authorization_required()
}

fn reason(error: &ClientInitializeError) -> String {
    // The library's own text leaves out both reasons.
    if let ClientInitializeError::LegacyFallbackFailed { discover, fallback } = error {
        return both(&fallback.to_string(), &discover.to_string());
    }
    error.to_string()
}

/// Joins the reasons why both eras failed.
fn both(handshake: &str, discover: &str) -> String {
    format!("{handshake}; `server/discover` before it: {discover}")
}

fn config(url: &str, headers: &HeaderMap) -> StreamableHttpClientTransportConfig {
    let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers.collect())
        // A new session may have other tools, and a call that is sent again may have its effect twice.
        .reinit_on_expired_session(false)
        .max_sse_event_size(MESSAGE_BYTES_MAX)
        .max_json_response_size(MESSAGE_BYTES_MAX)
        .max_error_response_size(ERROR_BYTES_MAX)
}
