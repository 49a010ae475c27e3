//! One call of a server's tool: the request, its time, its cancellation, and what comes back.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
        ClientRequest, JsonObject, RequestId, ServerResult,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};

use crate::settings::PROGRESS_TIMES;

/// The answer of a server to a call.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The result.
    Complete(CallToolResult),
    /// The server asks for input first.
    NeedsInput,
    /// The server made a task of the call.
    Task,
}

/// The reason why a call has no answer.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The server answered with an error of the protocol.
    Refused(ErrorData),
    /// The server did not answer within this time.
    Late(Duration),
    /// The connection broke; the call may have had its effect.
    Lost(String),
    /// The server answered with something that is no result of a call.
    Odd,
}

/// Calls a tool. Each progress starts `limit` again. When the future is dropped, the server is told
/// that the call is cancelled.
pub(crate) async fn call(
    peer: &Peer<RoleClient>,
    tool: &str,
    args: JsonObject,
    limit: Duration,
) -> Result<Answer, CallFailure> {
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::with_timeout(limit)
        .reset_timeout_on_progress()
        .with_max_total_timeout(limit.saturating_mul(PROGRESS_TIMES));
    let handle = peer.send_cancellable_request(request, options).await.map_err(failure)?;
    let mut cancels = CancelWhenDropped { peer: peer.clone(), request: Some(handle.id.clone()) };
    let ended = handle.await_response().await;
    cancels.request = None;
    let result = ended.map_err(failure)?;
    if let ServerResult::CallToolResult(result) = result {
        Ok(Answer::Complete(result))
    } else if let ServerResult::InputRequiredResult(_) = result {
        Ok(Answer::NeedsInput)
    } else if let ServerResult::CreateTaskResult(_) = result {
        Ok(Answer::Task)
    } else {
        Err(CallFailure::Odd)
    }
}

fn failure(error: ServiceError) -> CallFailure {
    if let ServiceError::McpError(error) = error {
        return CallFailure::Refused(error);
    }
    if let ServiceError::Timeout { timeout } = error {
        return CallFailure::Late(timeout);
    }
    if let ServiceError::UnexpectedResponse = error {
        return CallFailure::Odd;
    }
    // The library may add errors; all others are those of a connection.
    CallFailure::Lost(error.to_string().chars().take(500).collect())
}

/// Tells the server that nobody waits for the answer.
struct CancelWhenDropped {
    peer: Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for CancelWhenDropped {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let canceled = CancelledNotificationParam::new(Some(request), None);
            // A server that is gone needs no notice.
            let _ = peer.notify_cancelled(canceled).await;
        });
    }
}
