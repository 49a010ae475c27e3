//! Says to other jobs of a family what they must hear before a decision is stored. Every one of these
//! may be said again: a job is begun once however often it is submitted, and the fold counts what it
//! hears once.

use broker::{
    Broker,
    log::{LogError, Submission},
};
use machine::Tell;
use proto::{fact::Fact, id::JobId, trace::TraceContext};

/// Says all of it, in order. `trace` goes on in what it leads to.
pub(super) async fn tell(
    broker: &Broker,
    own: &JobId,
    all: Vec<Tell>,
    trace: TraceContext,
) -> Result<(), LogError> {
    for one in all {
        match one {
            Tell::Say { job, fact } => {
                broker.log.append(&job, &fact, trace).await?;
            }
            Tell::Submit { job, submitted, refused } => {
                let parent = submitted.parent.clone();
                let fact = Fact::Submitted(*submitted);
                if let Submission::Exists(first) = broker.log.submit(&job, &fact, trace).await?
                    && first.submission().and_then(|there| there.parent) != parent
                {
                    tracing::warn!(job = %own, child = %job, "another job has the id of a child");
                    broker.log.append(own, &refused, trace).await?;
                }
            }
        }
    }
    Ok(())
}
