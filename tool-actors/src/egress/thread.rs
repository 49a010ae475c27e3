//! Threads for requests, one for each request.
//!
//! A server may send interim responses (1xx) faster than the HTTP library reads them, and the
//! library yields to no other task while more have arrived. So no request runs on a thread of the
//! process's own tasks, and the end of a request ends its connection.

use std::{future::Future, time::Duration};

use tokio_util::sync::CancellationToken;

use super::error::EgressError;

/// Runs a request on a thread of its own. Returns `None` if it takes longer than `limit`. A request
/// that takes too long, or that is dropped, is stopped with its connection.
///
/// # Errors
/// [`EgressError::Setup`] if the machine gives the thread no runtime.
pub(super) async fn run<T: Send + 'static>(
    limit: Duration,
    request: impl Future<Output = T> + Send + 'static,
) -> Result<Option<T>, EgressError> {
    let stop = CancellationToken::new();
    let _stop_when_dropped = stop.clone().drop_guard();
    let thread = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(stop.run_until_cancelled(request));
        // A lookup of a name may still wait for the system.
        runtime.shutdown_background();
        Ok::<_, std::io::Error>(answer)
    });
    match tokio::time::timeout(limit, thread).await {
        Ok(Ok(Ok(answer))) => Ok(answer),
        Ok(Ok(Err(error))) => Err(EgressError::Setup(error.to_string())),
        Ok(Err(_)) => Err(EgressError::Failed("the request broke".to_owned())),
        Err(_) => Ok(None),
    }
}
