//! Elicitation without tasks: a call that meets a question of its job returns the form with a sealed
//! state, and the repeated call brings the user's response and the state. Any gateway takes it, because
//! the state holds all that is known of the question.

use std::time::Duration;

use ::client::session::OpenQuestion;
use jiff::Timestamp;
use proto::{
    digest,
    error::{Code, Failure},
    id::{AskId, JobId, Seq},
    view::JobView,
};
use rmcp::model::{
    CallToolResponse, ClientCapabilities, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion, RequestStateCodec, RequestStateError, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    McpServer,
    calls::result,
    questions::{self, Response},
    status::Status,
    tools::ToolName,
    words::Text,
};

/// Time in which a user responds to an elicitation. Afterwards the call shows the question again.
pub(super) const RESPONSE_AFTER_MAX: Duration = Duration::from_secs(72 * 60 * 60);

/// Purpose of the key that seals a state.
const PURPOSE: &str = "callboard mcp requestState";

/// The way in which a client takes the questions of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// As inputs of a task.
    Task,
    /// As an elicitation of the call that meets the question.
    Elicitation,
    /// By the tools that list and answer questions.
    Tools,
}

impl Asking {
    /// Returns the way that a client has declared. Before 2026-07-28 an elicitation needs a connection
    /// that stays open, which this server does not have.
    pub(super) fn of(
        version: Option<&ProtocolVersion>,
        capabilities: Option<&ClientCapabilities>,
    ) -> Self {
        let Some(capabilities) = capabilities else { return Self::Tools };
        // A client that names no mode takes forms.
        let elicitation = capabilities.elicitation.as_ref();
        let takes_forms = elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none());
        let is_stateless = version.is_some_and(|version| !version.has_initialize());
        match (capabilities.supports_tasks(), takes_forms && is_stateless) {
            (true, _) => Self::Task,
            (false, true) => Self::Elicitation,
            (false, false) => Self::Tools,
        }
    }
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    /// The tool.
    pub(super) tool: ToolName,
    /// The way in which the client takes questions.
    pub(super) asking: Asking,
    /// The question that an earlier round of the call met, with the responses of the user.
    pub(super) asked: Option<(Asked, InputResponses)>,
    /// The seal of its states.
    pub(super) seal: Seal,
}

/// A question that a call met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The job of the call.
    job: JobId,
    /// `true` if an earlier round of the call submitted the job.
    created: Option<bool>,
    /// The job that asks: that of the call, or one below it.
    by: JobId,
    /// The question.
    ask: AskId,
    /// The time at which the job of the call was submitted.
    submitted: Timestamp,
    /// The last record of this job that was known.
    seq: Seq,
}

impl Asked {
    fn of(open: &OpenQuestion, view: &JobView, created: Option<bool>) -> Self {
        let (by, ask) = open.key();
        let (job, submitted, seq) = (view.job.clone(), view.created, view.seq);
        Self { job, created, by, ask, submitted, seq }
    }

    fn question(&self) -> (JobId, AskId) {
        (self.by.clone(), self.ask.clone())
    }

    /// `true` if the log of this job is the one in which the question was asked. A job that was removed
    /// and submitted again asks other questions under the same names, and so does one from a backup.
    fn is_of(&self, view: &JobView) -> bool {
        self.submitted == view.created && self.seq <= view.seq
    }
}

/// Seals the states of one call, of one caller, and opens these alone.
#[derive(Debug)]
pub(super) struct Seal {
    codec: RequestStateCodec,
    call: String,
}

impl Seal {
    fn of(key: String, tool: ToolName, arguments: &Value) -> Result<Self, Failure> {
        let codec = RequestStateCodec::try_new(key);
        let name: &'static str = tool.into();
        let call = digest::of_json(&json!({"tool": name, "arguments": arguments}));
        Ok(Self { codec: codec.map_err(|error| internal(&error))?, call })
    }

    fn seal(&self, asked: &Asked) -> Result<String, Failure> {
        let options =
            SealOptions::new().associated_data(self.call.as_bytes()).ttl(RESPONSE_AFTER_MAX);
        self.codec.seal_json_with(asked, &options).map_err(|error| internal(&error))
    }

    /// Opens a state. A caller learns nothing about the reason why it does not open.
    pub(super) fn open(&self, state: &str) -> Result<Asked, Failure> {
        self.codec.open_json_with(state, self.call.as_bytes()).map_err(|_| {
            Failure::composed(Code::InvalidRequest, &Text::ForeignState.into()).at("requestState")
        })
    }
}

fn internal(error: &RequestStateError) -> Failure {
    Failure::new(Code::Internal, error.to_string())
}

impl McpServer {
    /// Returns the seal of a call. Its key derives from the caller's token, so every gateway has it, and
    /// no other caller has.
    pub(super) fn seal(&self, tool: ToolName, arguments: &Value) -> Result<Seal, Failure> {
        Seal::of(self.client.key_for(PURPOSE), tool, arguments)
    }

    /// Answers the question that an earlier round of a call met, and waits on. A question that was
    /// answered elsewhere in the meantime counts as answered.
    pub(super) async fn resumed(
        &self,
        call: &Call,
        asked: &Asked,
        responses: &InputResponses,
        wait: Option<Duration>,
    ) -> Result<CallToolResponse, Failure> {
        let view = self.client.get(&asked.job).await?;
        if !asked.is_of(&view) {
            let why = Text::StaleState { job: &asked.job };
            return Err(Failure::composed(Code::Stale, &why.into()).at("requestState"));
        }
        let question = asked.question();
        let open = questions::requests(&view).find(|(open, _)| open.key() == question);
        let response = responses.get(&questions::key(&asked.by, &asked.ask));
        match (open, response) {
            (Some((open, _)), Some(response)) => match questions::response(&open, response)? {
                Response::Answered(answer) => match self.client.call(&answer).await {
                    Ok(_) => {}
                    Err(failure) if failure.code.is_settled_elsewhere() => {}
                    Err(failure) => return Err(failure),
                },
                // The model reads that the question is open, and may ask in its own words.
                Response::Dismissed => return result(&self.status(&view, asked.created)),
            },
            (Some(_), None) => return self.met(call, &view, asked.created, &[]),
            (None, _) => {}
        }
        let answered = [question];
        let view = self.seen(&asked.job, &answered, wait).await?;
        self.met(call, &view, asked.created, &answered)
    }

    /// Returns the first question of a job, but for those of `answered`, if the client takes it as an
    /// elicitation, else the state of the job.
    pub(super) fn met(
        &self,
        call: &Call,
        view: &JobView,
        created: Option<bool>,
        answered: &[(JobId, AskId)],
    ) -> Result<CallToolResponse, Failure> {
        let mut open =
            questions::requests(view).filter(|(open, _)| !answered.contains(&open.key()));
        let first = match call.asking {
            Asking::Elicitation => open.next(),
            Asking::Task | Asking::Tools => None,
        };
        let Some((open, request)) = first else {
            return result(&self.status(view, created));
        };
        let (by, ask) = open.key();
        let requests = InputRequests::from([(questions::key(&by, &ask), request)]);
        let asked = Asked::of(&open, view, created);
        let state = call.seal.seal(&asked)?;
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }

    fn status(&self, view: &JobView, created: Option<bool>) -> Status {
        let status = Status::of(view, self.language);
        match created {
            Some(created) => status.submitted(created),
            None => status,
        }
    }
}

#[cfg(test)]
mod tests {
    use ::client::session::open_questions;
    use rstest::rstest;

    use super::*;
    use crate::testing::asking;

    fn asked() -> (JobView, Asked) {
        let view = asking(&json!({"kind": "question"}));
        let asked = Asked::of(&open_questions(&view)[0], &view, Some(true));
        (view, asked)
    }

    fn seal(key: &str, tool: ToolName, job: &str) -> Seal {
        Seal::of(digest::of_bytes(key.as_bytes()), tool, &json!({"job": job, "wait_ms": 1}))
            .unwrap()
    }

    #[rstest]
    #[case::the_same_call(seal("ann", ToolName::GetJob, "j1"), true)]
    #[case::another_caller(seal("bob", ToolName::GetJob, "j1"), false)]
    #[case::another_tool(seal("ann", ToolName::SubmitJob, "j1"), false)]
    #[case::other_arguments(seal("ann", ToolName::GetJob, "j2"), false)]
    fn a_state_opens_for_its_call_and_caller(#[case] opening: Seal, #[case] opens: bool) {
        let (_, asked) = asked();
        let state = seal("ann", ToolName::GetJob, "j1").seal(&asked).unwrap();
        let opened = opening.open(&state).map_err(|failure| failure.code);
        assert_eq!(opened, if opens { Ok(asked) } else { Err(Code::InvalidRequest) });
    }

    #[test]
    fn an_altered_state_does_not_open() {
        let (_, asked) = asked();
        let seal = seal("ann", ToolName::GetJob, "j1");
        let state = seal.seal(&asked).unwrap();
        for n in 0..state.len() {
            let mut altered = state.clone();
            altered.replace_range(n..=n, if &state[n..=n] == "B" { "C" } else { "B" });
            assert!(seal.open(&altered).is_err(), "{n}");
        }
        assert!(seal.open("").is_err());
    }

    #[test]
    fn a_state_is_stale_for_another_log_of_the_job() {
        let (view, asked) = asked();
        let since = |created: &str| created.parse().unwrap();
        let resubmitted = JobView { created: since("2026-03-02T00:00:00Z"), ..view.clone() };
        let later = JobView { seq: Seq(view.seq.0 + 1), ..view.clone() };
        let earlier = JobView { seq: Seq(view.seq.0 - 1), ..view.clone() };
        assert!(asked.is_of(&view) && asked.is_of(&later));
        assert!(!asked.is_of(&resubmitted) && !asked.is_of(&earlier));
    }

    #[rstest]
    #[case::nothing("2026-07-28", json!({}), Asking::Tools)]
    #[case::forms("2026-07-28", json!({"elicitation": {"form": {}}}), Asking::Elicitation)]
    #[case::no_mode("2026-07-28", json!({"elicitation": {}}), Asking::Elicitation)]
    #[case::links_only("2026-07-28", json!({"elicitation": {"url": {}}}), Asking::Tools)]
    #[case::the_era_of_sessions("2025-11-25", json!({"elicitation": {}}), Asking::Tools)]
    #[case::tasks("2026-07-28", json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}), Asking::Task)]
    fn a_client_says_how_it_takes_questions(
        #[case] version: &str,
        #[case] capabilities: Value,
        #[case] asking: Asking,
    ) {
        let version: ProtocolVersion = serde_json::from_value(json!(version)).unwrap();
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap();
        assert_eq!(Asking::of(Some(&version), Some(&capabilities)), asking);
    }
}
