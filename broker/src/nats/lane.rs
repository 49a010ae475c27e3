//! The state of one pulled consumer, including its outstanding messages.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// One consumer of a puller.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) stream: String,
    pub(super) consumer: String,
    /// Number of requested messages that have neither arrived nor been given up.
    pub(super) credit: usize,
    /// The pin id, for a consumer that delivers to one puller at a time.
    pub(super) pin: Option<String>,
    pub(super) pinned: bool,
    /// Requests that may be open, oldest first: token and number of messages.
    pub(super) open: VecDeque<(u64, usize)>,
    /// Time by which the server must give a sign of life; after that, something was lost.
    pub(super) silent_at: Option<Instant>,
    /// Time of the last delivery, or of the first request.
    pub(super) moved: Instant,
    pub(super) stalled: bool,
}

impl Lane {
    pub(super) fn new(stream: String, consumer: String, pinned: bool) -> Self {
        Self {
            stream,
            consumer,
            credit: 0,
            pin: None,
            pinned,
            open: VecDeque::new(),
            silent_at: None,
            moved: Instant::now(),
            stalled: false,
        }
    }

    /// Notes a sign of life of the server: a message, or a heartbeat, which it omits while messages
    /// arrive. Postpones the deadline of outstanding messages.
    pub(super) fn heard(&mut self, silence: Duration) {
        let now = Instant::now();
        self.silent_at = self.silent_at.map(|at| at.max(now + silence));
    }

    /// Settles `left` outstanding messages, because they arrived or will not. Returns their number,
    /// which the credit bounds.
    pub(super) fn settle(&mut self, left: usize) -> usize {
        let left = left.min(self.credit);
        self.credit -= left;
        if self.credit == 0 {
            self.open.clear();
            self.silent_at = None;
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn messages_and_heartbeats_are_both_signs_of_life() {
        let mut lane = Lane::new("s".to_owned(), "c".to_owned(), false);
        lane.heard(Duration::from_secs(3));
        assert_eq!(lane.silent_at, None, "nothing is asked for");
        (lane.credit, lane.silent_at) = (2, Some(Instant::now() + Duration::from_secs(1)));
        lane.settle(1);
        lane.heard(Duration::from_secs(3));
        assert_eq!(lane.silent_at, Some(Instant::now() + Duration::from_secs(3)));
        lane.settle(1);
        lane.heard(Duration::from_secs(3));
        assert_eq!(lane.silent_at, None, "everything came");
    }
}
