//! The decisions of a supervisor, stored by a test.

use broker::testing::jobs::{Jobs, trace};
use machine::{Job, Tell, replay};
use proto::{fact::Fact, id::JobId};

/// The treatment of timers by [`drive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timers {
    /// Arm the timers, as a supervisor does.
    Armed,
    /// Arm no timers.
    LeftOut,
}

/// Stores every decision that should follow, after its messages to other jobs. Returns the job at
/// the end.
///
/// # Panics
/// Panics if the broker refuses a write.
pub async fn drive(jobs: &Jobs, job: &JobId, timers: Timers) -> Job {
    loop {
        let folded = replay(job, &jobs.read(job).await);
        let Some(next) = folded.decide() else { return folded };
        for timer in next.arm.iter().filter(|_| timers == Timers::Armed) {
            let armed = jobs.broker.log.arm(job, &timer.timer, timer.at, trace()).await;
            armed.expect("a timer is armed");
        }
        for told in next.tell {
            match told {
                Tell::Submit { job, submitted, .. } => {
                    let fact = Fact::Submitted(*submitted);
                    let stored = jobs.broker.log.submit(&job, &fact, trace()).await;
                    stored.expect("a job below is submitted");
                }
                Tell::Say { job, fact } => _ = jobs.append(&job, *fact).await,
            }
        }
        jobs.decide(job, &next.decision).await;
    }
}
