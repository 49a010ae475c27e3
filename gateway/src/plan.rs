//! `POST /v1/plans:execute`: submits a job with the plan of its client, and answers when the job has
//! ended or does not go on by itself, or after [`WITHIN`].
//!
//! The job outlives the request. A caller whose request broke sends it again with the same id, and
//! gets the reply of the same job.

use std::time::Duration;

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use client::Client;
use proto::{
    door::Submit,
    error::{Code, Failure},
    id::JobId,
    job::{JobState, Outcome},
    view::{JobView, StepView},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::Text;

/// Longest wait for the end of the job. Proxies wait 60 s.
const WITHIN: Duration = Duration::from_secs(45);

/// The reply: the outcome of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Executed {
    /// `true` if the job completed.
    success: bool,
    job: JobId,
    state: JobState,
    /// Final answer of a completed job.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Reason for which the job did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Steps, with their states, results and calls.
    logs: Vec<StepView>,
}

/// Gives a submission without a goal the title or the summary of its plan as its goal.
pub(crate) fn name(submit: &mut Submit) {
    if submit.goal.is_empty() {
        let plan = submit.plan.as_ref();
        let text = |field| plan.and_then(|plan| plan.get(field)?.as_str());
        let goal = text("title").or_else(|| text("summary")).unwrap_or_default();
        goal.clone_into(&mut submit.goal);
    }
}

/// Waits until a job has ended or does not go on by itself, but not longer than [`WITHIN`].
///
/// # Errors
/// The front door's refusal to show the job.
pub(crate) async fn executed(client: &Client, job: &JobId) -> Result<Response, Failure> {
    let last = client.settled(job, &[], WITHIN).await?;
    let away = || Failure::composed(Code::Unavailable, &Text::DoorAway.into());
    Ok(reply(last.ok_or_else(away)?))
}

fn reply(view: JobView) -> Response {
    let (status, summary, error) = match view.outcome {
        Some(Outcome::Completed { summary, .. }) => (StatusCode::OK, Some(summary), None),
        Some(Outcome::Failed { message, .. }) => {
            (StatusCode::INTERNAL_SERVER_ERROR, None, Some(message))
        }
        Some(Outcome::Canceled { reason }) => {
            let reason = reason.unwrap_or_else(|| view.state.to_string());
            (StatusCode::INTERNAL_SERVER_ERROR, None, Some(reason))
        }
        None => (StatusCode::ACCEPTED, None, None),
    };
    let logs = view.plan.map(|plan| plan.steps).unwrap_or_default();
    let (job, state) = (view.job, view.state);
    let executed = Executed { success: status == StatusCode::OK, job, state, summary, error, logs };
    (status, Json(executed)).into_response()
}
