//! The state of an in-memory installation, behind one lock that is never held over an await.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use proto::{
    id::{JobId, Seq, Shard},
    subject::{Family, Subjects},
    trace::TraceContext,
};
use tokio::sync::Notify;

use super::{
    MemoryOptions,
    queue::{Queue, QueueKey},
    stream::{Message, Stream},
    timers::{TimerTask, Timers},
};
use crate::log::{self, Progress, QueueLoad, ShardLoad};

/// Number of record ids remembered for deduplication.
const REMEMBERED_MAX: usize = 4096;

/// The state shared by all connections.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) subjects: Subjects,
    pub(super) options: MemoryOptions,
    pub(super) timers: TimerTask,
    state: Mutex<State>,
}

impl Shared {
    pub(super) fn new(subjects: Subjects, options: MemoryOptions) -> Self {
        let state = State {
            streams: subjects.all_shards().map(|_| Stream::default()).collect(),
            options: options.clone(),
            queues: BTreeMap::new(),
            watchers: HashMap::new(),
            remembered: VecDeque::new(),
            seq_of: HashMap::new(),
            records: 0,
            tickets: 0,
            timers: Timers::default(),
        };
        Self { subjects, options, timers: TimerTask::default(), state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state behind the lock.
#[derive(Debug)]
pub(super) struct State {
    streams: Vec<Stream>,
    options: MemoryOptions,
    queues: BTreeMap<QueueKey, Queue>,
    watchers: HashMap<JobId, Weak<Notify>>,
    remembered: VecDeque<String>,
    seq_of: HashMap<String, Seq>,
    records: usize,
    tickets: u64,
    pub(super) timers: Timers,
}

impl State {
    pub(super) fn stream(&mut self, shard: Shard) -> &mut Stream {
        &mut self.streams[usize::from(shard.0)]
    }

    pub(super) fn queue(&mut self, key: QueueKey) -> &mut Queue {
        let ack_wait = match &key {
            QueueKey::Facts(_) => self.options.facts_ack_wait,
            QueueKey::Commands(..) | QueueKey::Outbox(_) => self.options.ack_wait,
        };
        self.queues.entry(key).or_insert_with(|| Queue::new(ack_wait))
    }

    pub(super) fn load(&mut self, subjects: &Subjects, shard: Shard) -> ShardLoad {
        let (records, bytes) = self.stream(shard).size();
        let mut queues = Vec::new();
        for (key, queue) in &self.queues {
            let QueueKey::Commands(kind, pool) = key else { continue };
            let (depth, oldest) = queue.part(|job| subjects.shard_of(job) == shard);
            queues.push(QueueLoad { kind: *kind, pool: pool.clone(), depth, oldest });
        }
        let end = self.stream(shard).last_seq();
        ShardLoad { records, bytes, end, queues }
    }

    pub(super) fn progress(&mut self, subjects: &Subjects, shard: Shard) -> Vec<Progress> {
        let last = self.stream(shard).last_seq();
        let queues = self.queues.iter().filter_map(|(key, queue)| {
            let name = match key {
                QueueKey::Facts(of) if *of == shard => log::Queue::Facts,
                QueueKey::Facts(_) | QueueKey::Outbox(_) => return None,
                QueueKey::Commands(kind, pool) => log::Queue::Commands(*kind, pool.clone()),
            };
            Some(queue.progress(name, last, |job| subjects.shard_of(job) == shard))
        });
        queues.collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.options.faults.is_full()
            || self.options.records_max.is_some_and(|max| self.records >= max)
    }

    /// Appends a record and wakes its readers.
    pub(super) fn append(
        &mut self,
        shared: &Shared,
        job: &JobId,
        family: Family,
        payload: Bytes,
        trace: Option<TraceContext>,
    ) -> Seq {
        let shard = shared.subjects.shard_of(job);
        let seq = self.stream(shard).next_seq();
        self.tickets += 1;
        self.records += 1;
        let key = match &family {
            Family::In(_) | Family::UnknownIn(_) => Some(QueueKey::Facts(shard)),
            Family::Do(kind, pool) => Some(QueueKey::Commands(*kind, pool.clone())),
            Family::At(_) | Family::UnknownDo(_) => None,
        };
        let message = Arc::new(Message {
            seq,
            ticket: self.tickets,
            time: self.options.clock.now(),
            job: job.clone(),
            family,
            payload,
            trace: trace.map(|t| t.to_string()),
        });
        self.stream(shard).push(Arc::clone(&message));
        let takes = |key: &QueueKey| matches!(key, QueueKey::Outbox(hook) if message.family.is_posted(hook));
        for (_, queue) in self.queues.iter_mut().filter(|(key, _)| takes(key)) {
            queue.push(Arc::clone(&message));
        }
        if let Some(key) = key {
            self.queue(key).push(message);
        }
        if let Some(watcher) = self.watchers.get(job).and_then(Weak::upgrade) {
            watcher.notify_waiters();
        }
        seq
    }

    /// Returns the position of a remembered record id.
    pub(super) fn remembered(&self, id: &str) -> Option<Seq> {
        self.seq_of.get(id).copied()
    }

    pub(super) fn remember(&mut self, id: &str, seq: Seq) {
        self.seq_of.insert(id.to_owned(), seq);
        self.remembered.push_back(id.to_owned());
        if self.remembered.len() > REMEMBERED_MAX
            && let Some(oldest) = self.remembered.pop_front()
        {
            self.seq_of.remove(&oldest);
        }
    }

    /// Returns the notifier of a job's new records.
    pub(super) fn watcher(&mut self, job: &JobId) -> Arc<Notify> {
        if let Some(watcher) = self.watchers.get(job).and_then(Weak::upgrade) {
            return watcher;
        }
        self.watchers.retain(|_, watcher| watcher.strong_count() > 0);
        let watcher = Arc::default();
        self.watchers.insert(job.clone(), Arc::downgrade(&watcher));
        watcher
    }

    pub(super) fn redeliver_now(&mut self) {
        for queue in self.queues.values_mut() {
            queue.redeliver_now();
        }
    }

    pub(super) fn purge(&mut self, shard: Shard, job: &JobId) {
        let removed = self.stream(shard).purge(job);
        self.records -= removed.min(self.records);
        for queue in self.queues.values_mut() {
            queue.purge(job, Seq(u64::MAX));
        }
        self.timers.purge(job);
    }

    /// Removes a job's records up to a position, and its timers if no record remains. Returns the
    /// number of records removed.
    pub(super) fn purge_until(&mut self, shard: Shard, job: &JobId, until: Seq) -> u64 {
        let removed = self.stream(shard).purge_until(job, until);
        self.records -= removed.min(self.records);
        for queue in self.queues.values_mut() {
            queue.purge(job, until);
        }
        if self.stream(shard).after(job, Seq(0)).is_empty() {
            self.timers.purge(job);
        }
        removed as u64
    }
}
