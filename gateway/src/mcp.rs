//! `POST /mcp`: the MCP server over streamable HTTP, for the caller of the request.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header},
};
use bridges::mcp::{self, McpServer};
use proto::{
    error::{Code, Failure},
    refusal::Text as Refusal,
};

use crate::{
    Desk,
    api::body::{self, Answered},
    caller::Caller,
    words::Text,
};

/// Answers a request. The extractor has checked its `Host`, its `Origin` and the form of its token.
pub(crate) async fn call(State(desk): State<Desk>, caller: Caller, request: Request) -> Answered {
    let Some(_place) = desk.limits.open(&caller.key) else {
        return Err(caller.overloads(Text::TooManyStreams { max: &desk.limits.streams_max() }));
    };
    let mut request = body::foreign_request(request, &desk).await?;
    // Hosts ask their user for another token when HTTP says so, and not when a tool does.
    caller.must_be_known().await?;
    // Answers are JSON, and no client refuses that one.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    request.headers_mut().insert(header::ACCEPT, both);
    let server = McpServer::new(caller.client.clone(), caller.language, desk.version);
    let answered = mcp::answer(server, request, desk.shutdown.clone());
    match desk.shutdown.run_until_cancelled(answered).await {
        Some(response) => Ok(response.map(Body::new)),
        None => Err(caller.refused(Failure::of(Code::Unavailable, Refusal::ShuttingDown))),
    }
}
