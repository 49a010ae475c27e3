//! Waits for a job that does not go on by itself any more.

use std::time::Duration;

use futures::StreamExt;
use proto::{
    door::Watched,
    error::Failure,
    event::EventId,
    id::{AskId, JobId},
    job::{JobState, SubStatus},
    view::JobView,
};

use super::{Client, WatchOptions, session::open_questions};

impl Client {
    /// Waits until a job has ended or does not go on by itself, but not longer than `within`. A job
    /// that still shows a question of `answered` will go on.
    /// Returns the latest view of the job; `None` if there was none in this time.
    ///
    /// # Errors
    /// Returns the server's refusal to show the job, or the transport's error.
    pub async fn settled(
        &self,
        job: &JobId,
        answered: &[(JobId, AskId)],
        within: Duration,
    ) -> Result<Option<JobView>, Failure> {
        let items = self.watch(job, WatchOptions::events(EventId::default()));
        let mut items = std::pin::pin!(items);
        let mut last = None;
        let watched = async {
            while let Some(item) = items.next().await {
                match item? {
                    Watched::View { view } => {
                        let is_still = is_still(&view) && !shows(&view, answered);
                        last = Some(*view);
                        if is_still {
                            break;
                        }
                    }
                    Watched::End { .. } => break,
                    Watched::Event { .. }
                    | Watched::Record { .. }
                    | Watched::Live { .. }
                    | Watched::Heartbeat => {}
                }
            }
            Ok::<_, Failure>(())
        };
        if let Ok(watched) = tokio::time::timeout(within, watched).await {
            watched?;
        }
        Ok(last)
    }
}

/// `true` for a view from before the answer of a question: that of a sub-agent reaches the jobs above it
/// later than its own.
fn shows(view: &JobView, answered: &[(JobId, AskId)]) -> bool {
    open_questions(view).iter().any(|open| answered.contains(&open.key()))
}

/// `true` if a job does not go on by itself.
fn is_still(view: &JobView) -> bool {
    match view.state {
        JobState::Submitted | JobState::Working => match view.sub_status {
            Some(SubStatus::Parked | SubStatus::Paused | SubStatus::Poisoned) => true,
            Some(
                SubStatus::Planning
                | SubStatus::Executing
                | SubStatus::Replanning
                | SubStatus::BackingOff,
            )
            | None => false,
        },
        JobState::InputRequired
        | JobState::AuthRequired
        | JobState::Completed
        | JobState::Failed
        | JobState::Canceled
        | JobState::Rejected => true,
    }
}
