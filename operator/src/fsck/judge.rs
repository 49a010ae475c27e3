//! The comparison of a log's claims with the broker's queues, timers and inbox.

use std::collections::BTreeMap;

use broker::{
    Broker,
    kv::{self, Bucket},
    log::{LogError, Progress, Queue, Whereabouts},
};
use machine::replay;
use proto::{
    door::{DeadKind, DeadLetter, InboxEntry},
    id::{JobId, Seq},
};

use super::{
    FsckError,
    claim::{Claim, Command},
    finding::{Finding, JobCondition},
};

/// The progress of every queue of a shard, read at one moment.
#[derive(Debug, Default)]
pub(super) struct Queues(BTreeMap<Queue, Progress>);

impl Queues {
    pub(super) fn new(all: Vec<Progress>) -> Self {
        Self(all.into_iter().map(|one| (one.queue.clone(), one)).collect())
    }

    /// Returns the number of a queue's unacknowledged deliveries.
    pub(super) fn held(&self, queue: &Queue) -> u64 {
        self.0.get(queue).map_or(0, |progress| progress.unacknowledged)
    }

    fn of(&self, command: &Command) -> Option<Whereabouts> {
        self.0.get(&command.queue).map(|progress| progress.of(command.seq))
    }
}

/// The verdict on one job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) seq: Seq,
    pub(super) standing: JobCondition,
    pub(super) findings: Vec<Finding>,
    pub(super) dead: Vec<DeadLetter>,
    /// Delivered commands without a result. Their acknowledgements can be judged only for a whole
    /// queue together.
    pub(super) delivered: Vec<Command>,
}

/// Judges one job. `queues` must have been read before its log: a command that has no result in the
/// log was then not acknowledged by its worker when the queues were read.
pub(super) async fn look(
    broker: &Broker,
    queues: &Queues,
    job: &JobId,
) -> Result<Verdict, FsckError> {
    let entries = broker.log.read(job, Seq(0)).await?;
    let claim = Claim::of(job, &entries);
    let mut judge =
        Judge { queues, findings: claim.wrong.clone(), queued: false, delivered: Vec::new() };
    if !claim.ended && claim.dead.iter().all(|letter| letter.kind == DeadKind::GivenUp) {
        judge.due(&claim);
        claim.commands.iter().for_each(|command| judge.command(command));
        judge.timers(broker, job, &claim).await?;
        judge.inbox(broker, job, &claim).await?;
        judge.children(broker, job, &claim).await?;
    }
    Ok(Verdict {
        seq: claim.seq,
        standing: judge.standing(&claim),
        findings: judge.findings,
        dead: claim.dead,
        delivered: judge.delivered,
    })
}

struct Judge<'a> {
    queues: &'a Queues,
    findings: Vec<Finding>,
    queued: bool,
    delivered: Vec<Command>,
}

impl Judge<'_> {
    /// Checks that a missing decision is preceded by a fact that will be delivered to a supervisor.
    fn due(&mut self, claim: &Claim) {
        let Some(due) = &claim.due else { return };
        let fact = Command { seq: due.last_fact, queue: Queue::Facts };
        match self.queues.of(&fact) {
            // Without a consumer no supervisor has run yet: the first one will receive every fact.
            None | Some(Whereabouts::Queued | Whereabouts::Delivered) => self.queued = true,
            Some(Whereabouts::Done) => {
                self.findings.push(Finding::Unattended { kind: due.kind, after: due.after });
            }
        }
    }

    fn command(&mut self, command: &Command) {
        let Command { seq, queue } = command.clone();
        match self.queues.of(command) {
            None => self.findings.push(Finding::Uncovered { seq, queue }),
            Some(Whereabouts::Queued) => self.queued = true,
            Some(Whereabouts::Delivered) => self.delivered.push(command.clone()),
            Some(Whereabouts::Done) => self.findings.push(Finding::Dropped { seq, queue }),
        }
    }

    async fn timers(
        &mut self,
        broker: &Broker,
        job: &JobId,
        claim: &Claim,
    ) -> Result<(), FsckError> {
        if claim.timers.is_empty() {
            return Ok(());
        }
        let armed = broker.log.armed(job).await?;
        let missing = claim.timers.iter().filter(|timer| !armed.contains(*timer));
        self.findings.extend(missing.map(|timer| Finding::NoTimer { timer: timer.clone() }));
        Ok(())
    }

    /// Checks that every open question is in the inbox, or that the command that adds it is queued
    /// or delivered.
    async fn inbox(
        &mut self,
        broker: &Broker,
        job: &JobId,
        claim: &Claim,
    ) -> Result<(), FsckError> {
        for (ask, command) in &claim.asks {
            let entry = broker.kv.get(Bucket::Inbox, &kv::inbox_key(job, ask)).await?;
            if entry.is_some_and(|entry| InboxEntry::read(job, ask, &entry.value).is_ok()) {
                continue;
            }
            match command.as_ref().map(|command| (command, self.queues.of(command))) {
                Some((_, Some(Whereabouts::Queued | Whereabouts::Delivered))) => {}
                Some((Command { seq, queue }, None)) => {
                    self.findings.push(Finding::Uncovered { seq: *seq, queue: queue.clone() });
                }
                Some((_, Some(Whereabouts::Done))) | None => {
                    self.findings.push(Finding::NotInInbox { ask: ask.clone() });
                }
            }
        }
        Ok(())
    }

    /// Checks that every child that runs, according to this log, has a log and has not ended.
    async fn children(
        &mut self,
        broker: &Broker,
        job: &JobId,
        claim: &Claim,
    ) -> Result<(), FsckError> {
        // A missing decision may be the note that submits the child, so children are checked only
        // without one.
        for child in claim.children.iter().filter(|_| claim.due.is_none()) {
            let entries = match broker.log.read(child, Seq(0)).await {
                // The report names the shard of the child as lost.
                Err(LogError::Lost(_)) => continue,
                entries => entries?,
            };
            let folded = replay(child, &entries);
            if folded.parent().is_none_or(|parent| parent.job != *job) {
                self.findings.push(Finding::NoChild { child: child.clone() });
            } else if folded.has_ended() {
                self.findings.push(Finding::ChildUnheard { child: child.clone() });
            }
        }
        Ok(())
    }

    fn standing(&self, claim: &Claim) -> JobCondition {
        if claim.ended {
            return JobCondition::Ended;
        }
        match claim.dead.first().map(|letter| letter.kind) {
            Some(DeadKind::Unreadable | DeadKind::Broken) => return JobCondition::Parked,
            Some(DeadKind::GivenUp) | None => {}
        }
        if !self.delivered.is_empty() {
            JobCondition::Leased
        } else if self.queued {
            JobCondition::Queued
        } else if claim.rests.paused {
            JobCondition::Held
        } else if !claim.asks.is_empty() {
            JobCondition::Person
        } else if claim.rests.backing_off {
            JobCondition::Clock
        } else if !claim.children.is_empty() {
            JobCondition::Child
        } else if !claim.dead.is_empty() {
            JobCondition::DeadLettered
        } else {
            JobCondition::Moving
        }
    }
}
