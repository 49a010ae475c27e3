//! The milestones of a shard: its submissions, signals and ends, read by their subjects.

use proto::{
    decision::{DecisionKind, Finish, pools},
    id::{Seq, Shard},
    job::JobState,
    record::{Body, Record},
};

use super::{
    entry,
    log::NatsLog,
    read::{self, Page, Stored},
};
use crate::log::{LogError, Milestone, MilestoneKind, Milestones, Passed};

/// Number of facts, and of ends, in one page.
const PAGE: usize = 500;

/// Reads the next page.
pub(super) async fn read(
    log: &NatsLog,
    shard: Shard,
    after: Passed,
) -> Result<Milestones, LogError> {
    let stream = log.subjects.stream(shard);
    let facts = log.subjects.door_facts_in(shard);
    let ends = log.subjects.commands_in(shard, DecisionKind::Finish, &pools::nobody());
    // Ends first: an end without its submission would be an unknown job.
    let ends = page(log, &stream, &ends, after.end).await?;
    let facts = page(log, &stream, &facts, after.door).await?;
    let last = |page: &Page, before| page.messages.last().map_or(before, |message| message.seq);
    let passed = Passed { door: last(&facts, after.door), end: last(&ends, after.end) };
    let more = facts.more || ends.more;
    let all = facts.messages.iter().chain(&ends.messages);
    let found = all.filter_map(|message| milestone(log, message)).collect();
    Ok(Milestones { found, passed, more })
}

async fn page(log: &NatsLog, stream: &str, filter: &str, after: Seq) -> Result<Page, LogError> {
    match read::page(&log.link, stream, filter, after, PAGE).await {
        Ok(page) => Ok(page),
        Err(error) => Err(log.unread(stream, error).await),
    }
}

fn milestone(log: &NatsLog, message: &Stored) -> Option<Milestone> {
    if !entry::is_record(message, &log.subjects) {
        return None;
    }
    let job = log.subjects.parse(&message.subject).ok()?.job;
    let record = Record::from_slice(&message.payload).ok();
    let kind = match record.as_ref().map(|record| record.kind.as_str()) {
        Some("submitted") => MilestoneKind::Submitted,
        Some("finish") => MilestoneKind::Ended(record.as_ref().and_then(state)),
        Some(_) | None => MilestoneKind::Signaled,
    };
    Some(Milestone { job, seq: message.seq, time: message.time, kind })
}

/// Returns the state of a job after this end.
fn state(record: &Record) -> Option<JobState> {
    match &record.body {
        Body::Inline(body) => {
            serde_json::from_str::<Finish>(body.get()).ok().map(|finish| finish.outcome.state())
        }
        Body::Stored(_) => None,
    }
}
