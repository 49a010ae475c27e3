//! An HTTP server with prepared answers, for tests of the whole.

use std::{ops::Deref, panic, thread};

use wiremock::MockServer;

/// An HTTP server with prepared answers. The end of the server checks what its mocks expect.
///
/// The destructor of [`MockServer`] blocks its thread for a lock of tokio's. A task that has used
/// its 128 operations gets no lock before its next turn, so the destructor would wait for ever.
/// This server therefore ends on a thread of its own, which belongs to no task.
pub struct WebServer(Option<MockServer>);

impl WebServer {
    /// Starts a server on a free port of the loopback address.
    pub async fn start() -> Self {
        Self(Some(MockServer::start().await))
    }
}

impl Deref for WebServer {
    type Target = MockServer;

    fn deref(&self) -> &MockServer {
        self.0.as_ref().expect("only the destructor takes the server")
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let server = self.0.take();
        let ended = thread::spawn(move || drop(server)).join();
        if let Err(unmet) = ended
            && !thread::panicking()
        {
            panic::resume_unwind(unmet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WebServer;

    /// The number of operations that tokio allows a task in one turn.
    const BUDGET: usize = 128;

    #[tokio::test]
    async fn a_server_ends_in_a_task_that_has_used_its_budget() {
        for used in 0..=BUDGET {
            let server = WebServer::start().await;
            tokio::task::yield_now().await;
            for _ in 0..used {
                tokio::task::consume_budget().await;
            }
            drop(server);
        }
    }
}
