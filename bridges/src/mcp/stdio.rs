//! The MCP server over standard input and output, for hosts that start it as a child process.

use rmcp::{ServiceExt, service::ServerInitializeError};

use super::McpServer;

/// The reason why a connection over standard input and output could not begin.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StdioError(Box<ServerInitializeError>);

/// Serves one client until it closes standard input.
///
/// # Errors
/// If the client speaks another protocol.
pub async fn serve(server: McpServer) -> Result<(), StdioError> {
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let running = match Box::pin(server.serve(streams)).await {
        Ok(running) => running,
        // The client went away before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError(Box::new(error))),
    };
    // A panic of the server has been logged where it happened.
    let _ = running.waiting().await;
    Ok(())
}
