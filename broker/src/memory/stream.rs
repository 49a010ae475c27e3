//! The records of one shard, in order. Pure: the time is an argument.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use jiff::Timestamp;
use proto::{
    fact::Source,
    id::{JobId, Seq},
    subject::Family,
};

#[derive(Debug)]
pub(super) struct Message {
    /// Position in the shard.
    pub seq: Seq,
    /// Position among all messages of all shards: the order of delivery.
    pub ticket: u64,
    /// Time of the append, by the broker's clock.
    pub time: Timestamp,
    /// The job whose log contains the message.
    pub job: JobId,
    /// The rest of the subject.
    pub family: Family,
    /// The encoded record.
    pub payload: Bytes,
    /// Value of the `traceparent` header.
    pub trace: Option<String>,
}

/// The records of a job that a compare-and-set covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// Decisions of every kind and pool.
    Decisions,
    /// Facts from the door.
    Door,
    /// Answers of people.
    People,
    /// Facts and decisions of every kind.
    Records,
}

impl Filter {
    fn matches(self, family: &Family) -> bool {
        match (self, family) {
            (Self::Decisions | Self::Records, Family::Do(..) | Family::UnknownDo(_))
            | (Self::Records, Family::In(_) | Family::UnknownIn(_)) => true,
            (Self::Door, Family::In(source)) => *source == Source::Door,
            (Self::People, Family::In(source)) => *source == Source::People,
            (Self::Decisions, Family::In(_) | Family::UnknownIn(_))
            | (Self::Decisions | Self::Records, Family::At(_))
            | (
                Self::Door | Self::People,
                Family::Do(..) | Family::UnknownIn(_) | Family::UnknownDo(_) | Family::At(_),
            ) => false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    last: u64,
    jobs: HashMap<JobId, Vec<Arc<Message>>>,
    /// The first fact from the door of each job, by position.
    submissions: BTreeMap<u64, Arc<Message>>,
}

impl Stream {
    /// Allocates a position. Timers take one too, as scheduled messages do: positions have gaps.
    pub(super) fn next_seq(&mut self) -> Seq {
        self.last += 1;
        Seq(self.last)
    }

    pub(super) fn last_seq(&self) -> Seq {
        Seq(self.last)
    }

    pub(super) fn push(&mut self, message: Arc<Message>) {
        let job = self.jobs.entry(message.job.clone()).or_default();
        let door = Filter::Door;
        if door.matches(&message.family) && !job.iter().any(|m| door.matches(&m.family)) {
            self.submissions.insert(message.seq.0, Arc::clone(&message));
        }
        job.push(message);
    }

    /// Returns a job's records after a position.
    pub(super) fn after(&self, job: &JobId, after: Seq) -> &[Arc<Message>] {
        let all = self.jobs.get(job).map_or(&[][..], Vec::as_slice);
        &all[all.partition_point(|m| m.seq <= after)..]
    }

    /// Returns the position of the last record under a filter, or 0.
    pub(super) fn last(&self, job: &JobId, filter: Filter) -> Seq {
        let mut newest_first = self.after(job, Seq(0)).iter().rev();
        newest_first.find(|m| filter.matches(&m.family)).map_or(Seq(0), |m| m.seq)
    }

    /// Returns the first record under a filter after a position.
    pub(super) fn first_after(
        &self,
        job: &JobId,
        filter: Filter,
        after: Seq,
    ) -> Option<&Arc<Message>> {
        self.after(job, after).iter().find(|m| filter.matches(&m.family))
    }

    /// Returns submissions before a position, newest first.
    pub(super) fn submissions(&self, before: Option<Seq>, limit: usize) -> Vec<Arc<Message>> {
        let end = before.map_or(u64::MAX, |s| s.0);
        self.submissions.range(..end).rev().take(limit).map(|(_, m)| Arc::clone(m)).collect()
    }

    /// Returns the number of records and their size in bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let all = self.jobs.values().flatten();
        all.fold((0, 0), |(count, bytes), m| (count + 1, bytes + m.payload.len() as u64))
    }

    /// Iterates over every record, job by job.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.jobs.values().flatten()
    }

    /// Removes a job's records up to a position and returns their number.
    pub(super) fn purge_until(&mut self, job: &JobId, until: Seq) -> usize {
        let left = self.after(job, until).to_vec();
        let removed = self.purge(job) - left.len();
        left.into_iter().for_each(|message| self.push(message));
        removed
    }

    /// Removes a job's records and returns their number.
    pub(super) fn purge(&mut self, job: &JobId) -> usize {
        self.submissions.retain(|_, m| m.job != *job);
        self.jobs.remove(job).map_or(0, |records| records.len())
    }
}
