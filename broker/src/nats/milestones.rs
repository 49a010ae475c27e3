//! The milestones of a shard: its submissions, signals and ends, read by their subjects.

use proto::{
    decision::{DecisionKind, pools},
    id::{Seq, Shard},
    milestone,
    record::Record,
};

use super::{
    entry,
    log::NatsLog,
    read::{self, Page, Stored},
};
use crate::log::{LogError, Milestone, Milestones, Passed};

/// Number of facts, and of ends, in one page. The server compares the subject of every message up to
/// the last one of a page, and serves no other request of the connection meanwhile.
const PAGE: usize = 100;

/// Reads the next page.
pub(super) async fn read(
    log: &NatsLog,
    shard: Shard,
    after: Passed,
) -> Result<Milestones, LogError> {
    let stream = log.subjects.stream(shard);
    let state = match read::state(&log.link, &stream).await {
        Ok(state) => state,
        Err(error) => return Err(log.unread(&stream, error).await),
    };
    let none = |is_rewound| Milestones { found: vec![], passed: after, more: false, is_rewound };
    if state.last.seq < after.door.max(after.end) {
        return Ok(none(true));
    }
    if after.state == Some(state) {
        return Ok(none(false));
    }
    let door_facts = log.subjects.door_facts_in(shard);
    let finishes = log.subjects.commands_in(shard, DecisionKind::Finish, &pools::nobody());
    // Ends first: an end without its submission would be an unknown job.
    let ends = page(log, &stream, &finishes, after.end).await?;
    let facts = page(log, &stream, &door_facts, after.door).await?;
    let last = |page: &Page, before| page.messages.last().map_or(before, |message| message.seq);
    let more = facts.more || ends.more;
    let (door, end) = (last(&facts, after.door), last(&ends, after.end));
    let is_whole = !more
        && reaches(log, &stream, &door_facts, door).await?
        && reaches(log, &stream, &finishes, end).await?;
    let passed = Passed { door, end, state: is_whole.then_some(state) };
    let all = facts.messages.iter().chain(&ends.messages);
    let found = all.filter_map(|message| milestone(log, message)).collect();
    Ok(Milestones { found, passed, more, is_rewound: false })
}

/// Returns `true` if there is no later record under the filter. Pages come from any replica, which
/// may be behind the leader.
async fn reaches(log: &NatsLog, stream: &str, filter: &str, passed: Seq) -> Result<bool, LogError> {
    if log.options.replicas == 1 {
        return Ok(true);
    }
    match read::last_at_leader(&log.link, stream, filter).await {
        Ok(last) => Ok(last.is_none_or(|last| last.seq <= passed)),
        Err(error) => Err(log.unread(stream, error).await),
    }
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
    let kind = match Record::from_slice(&message.payload) {
        Ok(record) => milestone::Milestone::of(&record)?,
        Err(_) => milestone::Milestone::MayReopen,
    };
    Some(Milestone { job, seq: message.seq, time: message.time, kind })
}
