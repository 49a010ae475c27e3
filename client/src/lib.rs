//! A client of Callboard's front door. The command line, the tests and all other programs of this
//! workspace use it; programs in other languages speak the same JSON (docs/front-door.md).
//!
//! Architecture invariant: the client uses the bus and nothing else. It neither reads nor writes
//! logs, so it needs no permission but that of sending requests.

pub mod answer_form;
mod ask;
mod pulses;
mod retry_policy;
pub mod session;
mod settled;
pub mod spans;
mod watch;
pub mod workflow_stats;

use std::{sync::Arc, time::Duration};

use broker::{
    Broker,
    bus::{Bus, BusError, RequestContext},
};
use bytes::Bytes;
use proto::{
    digest,
    door::{
        AgentChanged, AgentHistory, AgentList, AgentRevisions, Agents, Crew, Download, Downloaded,
        FileSource, Get, GetCrew, GetTools, SetAgent, SetWorkflow, Submit, SubmitFile, Submitted,
        Tools, Upload, Uploaded, WorkflowChanged, WorkflowEntry, Workflows,
    },
    error::{Code, Failure},
    file::FileName,
    id::{AgentName, JobId, Seq},
    limits,
    point::Point,
    refusal::Text,
    subject::Subjects,
    trace::TraceContext,
    view::JobView,
    workflow::WorkflowName,
};
use serde::Serialize;
use uuid::Uuid;

pub use self::{retry_policy::RetryPolicy, watch::WatchOptions};

/// Default timeout of a request. A cancellation alone may take 5 s.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The front door's client. Cheap to clone.
#[derive(Clone, derive_more::Debug)]
// Shows everything except the token.
#[debug("Client {{ prefix: {}, timeout: {timeout:?}, has_token: {} }}", subjects.prefix(), token.is_some())]
pub struct Client {
    bus: Arc<dyn Bus>,
    subjects: Subjects,
    timeout: Duration,
    token: Option<String>,
    trace: Option<TraceContext>,
    retries: Option<RetryPolicy>,
}

impl Client {
    /// Creates a client that uses a broker's bus and subjects.
    #[must_use]
    pub fn new(broker: &Broker) -> Self {
        Self::over(Arc::clone(&broker.bus), broker.log.subjects().clone())
    }

    /// Creates a client over a bus that may only send requests.
    #[must_use]
    pub fn over(bus: Arc<dyn Bus>, subjects: Subjects) -> Self {
        Self { bus, subjects, timeout: TIMEOUT, token: None, trace: None, retries: None }
    }

    /// Returns the prefix of the installation's subjects.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.subjects.prefix()
    }

    /// Sets the time to wait for each reply (default 10 s).
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the retry policy for requests that no process serves at the moment, for example during
    /// a restart. Retries end after the timeout. Without a policy such a request fails at once.
    #[must_use]
    pub fn with_retries(self, retries: Option<RetryPolicy>) -> Self {
        Self { retries, ..self }
    }

    /// Sets the token by which the server identifies the user.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Self {
        Self { token, ..self }
    }

    /// Sets the span that becomes the parent of every request. Without it the server starts a trace
    /// for each request.
    #[must_use]
    pub fn with_trace(self, trace: TraceContext) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// Submits a job. If the request has no id, one is generated before anything is sent, so that a
    /// request whose reply was lost can be repeated without creating a second job. A request that
    /// times out is sent up to three times.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error. After `timeout` and `unavailable` the
    /// outcome is unknown, even though the request may have been repeated.
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

    /// Uploads the content of a file in pieces, and returns the file as a submission names it.
    /// Repeated uploads of the same content store nothing more.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn attach(
        &self,
        name: FileName,
        content: impl Into<Bytes>,
    ) -> Result<SubmitFile, Failure> {
        let mut pieces = Vec::new();
        let mut rest: Bytes = content.into();
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(limits::PIECE_BYTES_MAX));
            let uploaded = self.upload(piece).await?;
            pieces.push(uploaded.piece);
        }
        Ok(SubmitFile { name, media_type: None, content: FileSource::Pieces(pieces) })
    }

    /// Uploads a piece of a file. A repeated upload of the same piece stores nothing more.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn upload(&self, piece: Bytes) -> Result<Uploaded, Failure> {
        self.send::<Upload>(piece).await
    }

    /// Returns the content of a file that came with a job or that its calls published: at most
    /// [`limits::FILE_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error, and `stale` if another file of the name is
    /// published meanwhile.
    pub async fn download(&self, job: &JobId, name: &FileName) -> Result<Vec<u8>, Failure> {
        let first = self.download_piece(job, name, 0).await?;
        let mut content = first.data.0;
        for piece in 1..first.pieces {
            content.extend(self.download_rest(job, name, piece, first.seq).await?.data.0);
        }
        Ok(content)
    }

    /// Returns one piece of a file of which another piece was published at this position.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error, and `stale` if another file of the name was
    /// published meanwhile.
    pub async fn download_rest(
        &self,
        job: &JobId,
        name: &FileName,
        piece: u32,
        seq: Option<Seq>,
    ) -> Result<Downloaded, Failure> {
        match self.download_piece(job, name, piece).await {
            Ok(got) if got.seq == seq => Ok(got),
            // The file of the first piece had this one.
            Err(failure) if failure.code != Code::InvalidRequest => Err(failure),
            Ok(_) | Err(_) => Err(Failure::of(Code::Stale, Text::FileReplaced { name }).at("name")),
        }
    }

    /// Returns one piece of a file, numbered from 0.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn download_piece(
        &self,
        job: &JobId,
        name: &FileName,
        piece: u32,
    ) -> Result<Downloaded, Failure> {
        self.call(&Download { job: job.clone(), name: name.clone(), piece }).await
    }

    /// Returns a job.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn get(&self, job: &JobId) -> Result<JobView, Failure> {
        self.call(&Get { job: job.clone(), at: None }).await
    }

    /// Returns a job as it was at a point of its log.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn get_at(&self, job: &JobId, at: Point) -> Result<JobView, Failure> {
        self.call(&Get { job: job.clone(), at: Some(at) }).await
    }

    /// Returns the registered tools.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn tools(&self) -> Result<Tools, Failure> {
        self.call(&GetTools {}).await
    }

    /// Returns the presence of all live processes.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn crew(&self) -> Result<Crew, Failure> {
        self.call(&GetCrew::default()).await
    }

    /// Returns the agents that submissions may name. A single one includes its text and its
    /// effective values.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn agents(&self, name: Option<&AgentName>) -> Result<AgentList, Failure> {
        self.call(&Agents { name: name.cloned() }).await
    }

    /// Returns the revisions of an agent in the bucket, newest first; one of them with its text.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn agent_revisions(
        &self,
        name: &AgentName,
        revision: Option<u64>,
    ) -> Result<AgentHistory, Failure> {
        self.call(&AgentRevisions { name: name.clone(), revision }).await
    }

    /// Stores the text of an earlier revision of an agent again, as a new revision.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error: `not_found` if the revision is unknown
    /// or removed the agent, and `stale` if somebody else changes the agent meanwhile.
    pub async fn roll_back_agent(
        &self,
        name: &AgentName,
        to: u64,
        by: Option<String>,
    ) -> Result<AgentChanged, Failure> {
        let mut history = self.agent_revisions(name, Some(to)).await?;
        let Some(text) = history.revisions.pop().and_then(|revision| revision.text) else {
            let why = Text::NoAgentText { name, revision: &to };
            return Err(Failure::of(Code::NotFound, why).at("revision"));
        };
        let expected_revision = Some(history.current.unwrap_or_default());
        let (name, check) = (name.clone(), false);
        self.call(&SetAgent { name, text, expected_revision, check, by }).await
    }

    /// Returns a version of a workflow with its text, and the list of its versions; the version in force
    /// if none is given.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error: `not_found` if the workflow or the
    /// version is unknown.
    pub async fn workflow(
        &self,
        name: &WorkflowName,
        version: Option<u32>,
    ) -> Result<WorkflowEntry, Failure> {
        let request = Workflows { name: Some(name.clone()), version };
        let found = self.call(&request).await?.workflows.pop();
        let missing = || Failure::new(Code::Internal, "the server answered without the workflow");
        found.ok_or_else(missing)
    }

    /// Puts a stored version of a workflow in force again.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error: `not_found` if the workflow or the
    /// version is unknown, and `stale` if somebody else changes the workflow meanwhile.
    pub async fn roll_back_workflow(
        &self,
        name: &WorkflowName,
        to: u32,
        by: Option<String>,
    ) -> Result<WorkflowChanged, Failure> {
        let expected_revision = self.workflow(name, None).await?.revision.or(Some(0));
        let text = self.workflow(name, Some(to)).await?.text.unwrap_or_default();
        let (name, check) = (name.clone(), false);
        self.call(&SetWorkflow { name, text, expected_revision, check, by }).await
    }

    /// Returns a key that every process with the caller's token derives for the same purpose, and nobody
    /// else can. Without a token everybody can.
    #[must_use]
    pub fn key_for(&self, purpose: &str) -> String {
        let token = self.token.as_deref().unwrap_or_default();
        digest::of_bytes(format!("{purpose}\n{token}").as_bytes())
    }

    fn context(&self) -> RequestContext {
        // The client records no span of its own. The server starts a trace or continues the
        // caller's span, and decides whether to record it.
        RequestContext { trace: self.trace, token: self.token.clone() }
    }
}

/// Generates an id for a new job (UUID v7): later ids sort after earlier ones.
#[must_use]
pub fn new_id() -> JobId {
    JobId::new(Uuid::now_v7().simple().to_string()).expect("32 hex digits are an id")
}

fn body(request: &impl Serialize) -> Result<Bytes, Failure> {
    let written = serde_json::to_vec(request);
    written.map(Bytes::from).map_err(|e| Failure::new(Code::InvalidRequest, e.to_string()))
}

/// Maps an error of the transport to the code that tells the caller what to do.
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
