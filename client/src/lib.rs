//! A client of Callboard's front door. The command line, the tests and every other program in this
//! workspace go through it; programs in other languages speak the same JSON (docs/front-door.md).
//!
//! Architecture invariant: it uses the bus and nothing else. It reads no log and writes none, so
//! that the right to ask is the only right needed.

mod ask;
mod retry_policy;
pub mod session;
mod watch;

use std::{sync::Arc, time::Duration};

use broker::{
    Broker,
    bus::{Bus, BusError, RequestContext},
};
use bytes::Bytes;
use proto::{
    door::{
        AgentList, Agents, Crew, FileSource, Get, GetCrew, GetTools, Submit, SubmitFile, Submitted,
        Tools, Upload,
    },
    error::{Code, Failure},
    file::FileName,
    id::{AgentName, JobId},
    limits,
    point::Point,
    subject::Subjects,
    trace::TraceContext,
    view::JobView,
};
use serde::Serialize;
use uuid::Uuid;

pub use self::{retry_policy::RetryPolicy, watch::WatchOptions};

/// How long an answer is waited for. A cancel may take 5 s by itself.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Speaks to the front door. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    bus: Arc<dyn Bus>,
    subjects: Subjects,
    timeout: Duration,
    token: Option<String>,
    trace: Option<TraceContext>,
    retries: Option<RetryPolicy>,
}

/// Shows everything but the token.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("prefix", &self.subjects.prefix())
            .field("timeout", &self.timeout)
            .field("token", &self.token.is_some())
            .field("trace", &self.trace)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the installation that a broker belongs to.
    #[must_use]
    pub fn new(broker: &Broker) -> Self {
        Self::over(Arc::clone(&broker.bus), broker.log.subjects().clone())
    }

    /// A client over a connection that may do nothing but ask.
    #[must_use]
    pub fn over(bus: Arc<dyn Bus>, subjects: Subjects) -> Self {
        Self { bus, subjects, timeout: TIMEOUT, token: None, trace: None, retries: None }
    }

    /// The same, waiting for answers so long.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The same, asking again as long as answers are waited for while nobody serves what is asked for:
    /// processes may be restarting. Without patience that is an error at once.
    #[must_use]
    pub fn with_retries(self, retries: Option<RetryPolicy>) -> Self {
        Self { retries, ..self }
    }

    /// The same, for somebody the server knows by a token.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Self {
        Self { token, ..self }
    }

    /// The same, with every request below one span of the caller's. Without it the server begins a
    /// trace for each request.
    #[must_use]
    pub fn with_trace(self, trace: TraceContext) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// Submits a job. Without an id one is made up here, before anything is sent: the submission
    /// then carries it, and a request whose answer got lost is sent again without making a second
    /// job.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked. After `timeout` and `unavailable` the
    /// outcome is not known, though it was asked for more than once.
    pub async fn submit(&self, mut submit: Submit) -> Result<Submitted, Failure> {
        submit.id.get_or_insert_with(new_id);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.call(&submit).await {
                Err(failure) if failure.code == Code::Timeout && tries < 3 => {
                    tracing::debug!(job = ?submit.id, "no answer to a submission; sent again");
                }
                answer => return answer,
            }
        }
    }

    /// Uploads what is in a file, piece by piece: as a submission names it. Uploading the same again
    /// stores nothing more.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked.
    pub async fn attach(
        &self,
        name: FileName,
        content: impl Into<Bytes>,
    ) -> Result<SubmitFile, Failure> {
        let mut pieces = Vec::new();
        let mut rest: Bytes = content.into();
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(limits::PIECE_BYTES_MAX));
            let uploaded = self.send::<Upload>(piece).await?;
            pieces.push(uploaded.piece);
        }
        Ok(SubmitFile { name, media_type: None, content: FileSource::Pieces(pieces) })
    }

    /// A job.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked.
    pub async fn get(&self, job: &JobId) -> Result<JobView, Failure> {
        self.call(&Get { job: job.clone(), at: None }).await
    }

    /// A job as it was at a point of its log.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked.
    pub async fn get_at(&self, job: &JobId, at: Point) -> Result<JobView, Failure> {
        self.call(&Get { job: job.clone(), at: Some(at) }).await
    }

    /// The registered tools.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked.
    pub async fn tools(&self) -> Result<Tools, Failure> {
        self.call(&GetTools {}).await
    }

    /// The processes that are alive.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked.
    pub async fn crew(&self) -> Result<Crew, Failure> {
        self.call(&GetCrew {}).await
    }

    /// Agents that submissions may name; of a single one its text and its effective values.
    ///
    /// # Errors
    /// What the server refuses, or why it could not be asked.
    pub async fn agents(&self, name: Option<&AgentName>) -> Result<AgentList, Failure> {
        self.call(&Agents { name: name.cloned() }).await
    }

    fn context(&self) -> RequestContext {
        // A client records no span of its own: the server begins a trace, or continues the
        // caller's span, and decides whether it is recorded.
        RequestContext { trace: self.trace, token: self.token.clone() }
    }
}

/// An id for a new job: ids made later sort later.
#[must_use]
pub fn new_id() -> JobId {
    JobId::new(Uuid::now_v7().simple().to_string()).expect("32 hex digits are an id")
}

fn body(request: &impl Serialize) -> Result<Bytes, Failure> {
    let written = serde_json::to_vec(request);
    written.map(Bytes::from).map_err(|e| Failure::new(Code::InvalidRequest, e.to_string()))
}

/// Why the server could not be asked, as the code that says what to do next.
fn transport(error: &BusError) -> Failure {
    let code = match error {
        BusError::Unavailable(_) => Code::Unavailable,
        BusError::NoResponders(_) => {
            let why = format!("{error}: no process with the role for it is running");
            let hint = "Start one: `callboard dev`, or `callboard serve --roles \
                        supervisor,interaction,door`; see `callboard crew ls`.";
            return Failure { hint: hint.to_owned(), ..Failure::new(Code::Unavailable, why) };
        }
        BusError::Timeout { .. } => Code::Timeout,
        BusError::TooLarge(_) => Code::TooLarge,
        BusError::Forbidden(_) => Code::Forbidden,
    };
    Failure::new(code, error.to_string())
}
