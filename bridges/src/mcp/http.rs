//! The MCP server over streamable HTTP.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::{Full, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use tokio_util::sync::CancellationToken;

use super::McpServer;

/// A response, whose body is JSON or a stream of server-sent events.
pub type Response = http::Response<BoxBody<Bytes, Infallible>>;

/// Answers a request with the server of its caller. The caller's `Host`, `Origin` and token must have
/// been checked, and the size of the body.
pub async fn answer(
    server: McpServer,
    request: http::Request<Bytes>,
    shutdown: CancellationToken,
) -> Response {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(request.body().len().max(1))
        .with_cancellation_token(shutdown);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    service.handle(request.map(Full::new)).await
}
