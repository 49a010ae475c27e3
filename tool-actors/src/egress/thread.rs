//! Threads for requests, one for each request.
//!
//! A server may send interim responses (1xx) as fast as the HTTP library reads them. The library
//! then reads on for a long time before it yields to another task. So no request runs on a thread
//! of the process's own tasks, and the end of a request ends its connection.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

/// The reason why a request has no outcome.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The request has not begun: the machine gave it no thread or no runtime.
    NotBegun(String),
    /// The request panicked; it may have been sent.
    Broke,
    /// The request took longer than its limit; it may have been sent.
    Late,
}

/// Runs a request on a thread of its own. A request that takes longer than `limit`, or that is
/// dropped, is stopped with its connection.
pub(super) async fn run<T: Send + 'static>(
    limit: Duration,
    request: impl Future<Output = T> + Send + 'static,
) -> Result<T, Unanswered> {
    let (stop, began) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
    let _stop_when_dropped = stop.clone().drop_guard();
    let has_begun = Arc::clone(&began);
    let thread = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        has_begun.store(true, Ordering::Relaxed);
        let answer = runtime.block_on(stop.run_until_cancelled(request));
        // A lookup of a name may still wait for the system.
        runtime.shutdown_background();
        Ok::<_, std::io::Error>(answer)
    });
    match tokio::time::timeout(limit, thread).await {
        Ok(Ok(Ok(answer))) => answer.ok_or(Unanswered::Late),
        Ok(Ok(Err(error))) => Err(Unanswered::NotBegun(error.to_string())),
        Ok(Err(_)) => Err(Unanswered::Broke),
        Err(_) if began.load(Ordering::Relaxed) => Err(Unanswered::Late),
        Err(_) => Err(Unanswered::NotBegun(format!("no thread was free within {limit:?}"))),
    }
}
