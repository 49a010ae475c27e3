//! Says things from code that cannot wait, such as the pieces of a model's reply as they come.

use proto::wire::Said;
use tokio::sync::mpsc::{self, error::TrySendError};

use super::work::LiveSink;

/// Pieces that may wait to be said; more are dropped, for nothing depends on them.
const WAITING_MAX: usize = 4096;
/// Longest text of one message, in bytes: pieces that wait are put together up to here.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Says things without waiting. What is still waiting when this is dropped is said all the same.
#[derive(Debug)]
pub struct Speaker(mpsc::Sender<Said>);

impl Speaker {
    /// Says something, soon.
    pub fn say(&self, said: Said) {
        match self.0.try_send(said) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => tracing::debug!("a live message was dropped"),
        }
    }
}

impl LiveSink {
    /// A way to say things without waiting. Must be called inside a tokio runtime.
    #[must_use]
    pub fn speaker(&self) -> Speaker {
        let (sender, mut waiting) = mpsc::channel(WAITING_MAX);
        let sink = self.clone();
        tokio::spawn(async move {
            while let Some(first) = waiting.recv().await {
                let mut said = first;
                while let Ok(next) = waiting.try_recv() {
                    if let Some(other) = join(&mut said, next) {
                        sink.say(std::mem::replace(&mut said, other)).await;
                    }
                }
                sink.say(said).await;
            }
        });
        Speaker(sender)
    }
}

/// Puts what is said next to what was said before; gives it back when they do not go together.
fn join(before: &mut Said, next: Said) -> Option<Said> {
    match (before, next) {
        (Said::Text(text), Said::Text(more)) | (Said::Thought(text), Said::Thought(more))
            if text.len() + more.len() <= TEXT_BYTES_MAX =>
        {
            text.push_str(&more);
            None
        }
        (_, next) => Some(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_kind_are_put_together_up_to_a_bound() {
        let mut said = Said::Text("a".into());
        assert_eq!(join(&mut said, Said::Text("b".into())), None);
        assert_eq!(said, Said::Text("ab".into()));
        let thought = Said::Thought("c".into());
        assert_eq!(join(&mut said, thought.clone()), Some(thought));
        let long = Said::Text("x".repeat(TEXT_BYTES_MAX));
        assert_eq!(join(&mut said, long.clone()), Some(long));
        assert_eq!(said, Said::Text("ab".into()));
    }
}
