//! The calls of tools: each becomes requests to the front door.

use std::time::Duration;

use proto::{
    door::{AgentChoice, Filter, GiveAnswer, Inbox, List, SendSignal, Submit, Submitted},
    error::{Code, Failure},
    id::{AskId, JobId},
    interaction::Verdict,
    point::Order,
    strict,
    view::JobView,
};
use rmcp::model::{CallToolResponse, CallToolResult, CreateTaskResult};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    McpServer,
    arguments::{AnswerQuestion, CancelJob, GetJob, ListJobs, ListQuestions, SubmitJob},
    elicitation::{Asking, Call},
    status::Status,
    tasks,
    tools::ToolName,
};

impl McpServer {
    /// Carries out a call. A client that knows tasks gets a submitted job as a task.
    pub(super) async fn call(
        &self,
        call: Call,
        arguments: Value,
    ) -> Result<CallToolResponse, Failure> {
        match call.tool {
            ToolName::SubmitJob => self.submit_job(&call, read(arguments)?).await,
            ToolName::GetJob => self.get_job(&call, read(arguments)?).await,
            ToolName::ListJobs => {
                let ListJobs { states, agent, conversation, limit, after } = read(arguments)?;
                let filter = Filter { states, agent, conversation, ..Filter::default() };
                result(&self.client.call(&List { filter, limit, after }).await?)
            }
            ToolName::ListQuestions => {
                let ListQuestions { job, limit } = read(arguments)?;
                result(&self.client.call(&Inbox { job, limit }).await?)
            }
            ToolName::AnswerQuestion => {
                let AnswerQuestion { job, ask, decision, value, text, digest } = read(arguments)?;
                let decision = decision.unwrap_or(Verdict::Respond);
                // A model answers whatever it is asked, so it never approves its own job.
                let (remember, by, four_eyes) = (None, None, true);
                let answer =
                    GiveAnswer { job, ask, decision, value, text, digest, remember, by, four_eyes };
                result(&self.client.call(&answer).await?)
            }
            ToolName::CancelJob => {
                let CancelJob { job, reason } = read(arguments)?;
                let signal =
                    SendSignal { job, signal: Order::Cancel, expected_seq: None, reason, by: None };
                result(&self.client.call(&signal).await?)
            }
        }
    }

    async fn get_job(&self, call: &Call, arguments: GetJob) -> Result<CallToolResponse, Failure> {
        let GetJob { job, wait_ms } = arguments;
        if let Some((asked, responses)) = &call.asked {
            return self.resumed(call, asked, responses, wait_ms.duration()).await;
        }
        let view = self.seen(&job, &[], wait_ms.duration()).await?;
        self.met(call, &view, None, &[])
    }

    async fn submit_job(
        &self,
        call: &Call,
        arguments: SubmitJob,
    ) -> Result<CallToolResponse, Failure> {
        let SubmitJob { goal, agent, id, files, wait_ms } = arguments;
        let wait = wait_ms.duration();
        if let Some((asked, responses)) = &call.asked {
            return self.resumed(call, asked, responses, wait).await;
        }
        let agent = agent.map(AgentChoice::Named);
        let submit = Submit { id, agent, files, ..Submit::goal(goal) };
        let Submitted { job, created, .. } = self.client.submit(submit).await?;
        let view = match self.seen(&job, &[], wait).await {
            Ok(view) => view,
            // A caller with the role `submit` alone learns the id of the job.
            Err(failure) if failure.code == Code::Forbidden => {
                return result(&Status::unseen(job, created));
            }
            Err(failure) => return Err(failure),
        };
        match call.asking {
            Asking::Task if view.outcome.is_none() => {
                Ok(CreateTaskResult::new(tasks::task(&view, self.language)).into())
            }
            Asking::Elicitation if wait.is_some() => self.met(call, &view, Some(created), &[]),
            Asking::Task | Asking::Elicitation | Asking::Tools => {
                result(&Status::of(&view, self.language).submitted(created))
            }
        }
    }

    /// Returns a job, after a wait until it does not go on by itself. A job that shows a question of
    /// `answered` goes on.
    pub(super) async fn seen(
        &self,
        job: &JobId,
        answered: &[(JobId, AskId)],
        wait: Option<Duration>,
    ) -> Result<JobView, Failure> {
        let settled = match wait {
            Some(wait) => self.client.settled(job, answered, wait).await?,
            None => None,
        };
        match settled {
            Some(view) => Ok(view),
            None => self.client.get(job).await,
        }
    }
}

/// Reads the arguments of a tool.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    strict::request_from_value(arguments).map_err(Failure::from)
}

/// Returns the result of a tool, which fits the schema of its results.
pub(super) fn result(value: &impl Serialize) -> Result<CallToolResponse, Failure> {
    let value = serde_json::to_value(value)
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    Ok(CallToolResult::structured(value).into())
}
