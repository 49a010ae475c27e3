//! Units of work that one record will store: those that this process has carried out, and the
//! command that it carries out next.

#[cfg(test)]
mod tests;

use std::time::Duration;

use machine::{Job, Next};
use proto::{
    decision::{Decision, Done, DoneUnit},
    fact::Fact,
    id::Seq,
    record::Known,
};

use super::{
    Compared, Effect,
    effect::Ran,
    fold::{after_work, apply_decision},
};

/// Largest number of units of one record.
pub(crate) const UNITS_MAX: usize = 64;
/// Size of the units, in bytes, from which no further one is begun. The last unit may exceed it.
const BYTES_MAX: usize = 32 * 1024;
/// Time that the work of the units took from which no further one is begun. A crash loses no more than
/// that and the work of the last unit, and watchers wait no longer for events.
const TOOK_MAX: Duration = Duration::from_millis(10);

/// Units of work before they are stored.
pub(super) enum Units {
    /// Another command is to be carried out first.
    Open(Box<Batch>),
    /// A record is to store them.
    Ready(Box<Done>),
}

/// Units that are carried out, and the command that follows from them.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct Batch {
    carried: Carried,
    further: Decision,
    /// `true` once a call was compared with the registry, and for any other command.
    compared: bool,
}

#[cfg_attr(test, derive(Debug, Clone))]
struct Carried {
    done: Done,
    /// The job as it will be after the record, but for its position and time.
    job: Job,
    /// Size of the units in bytes.
    bytes: usize,
    /// Time that their work took. Most units take less than the millisecond that a record counts in.
    took: Duration,
}

impl Units {
    /// Starts with the first command, which follows from the log that `job` is the fold of. Returns
    /// `None` if the fact does not answer the command.
    pub(super) fn new(job: &Job, command: Decision, ran: Ran) -> Option<Self> {
        let Ran { fact, took } = ran;
        let first = unit(command, fact, took)?;
        let mut job = job.clone();
        let at = after_work(&job, Seq(job.seq().0 + 1), first.took_ms());
        let (ignored, bytes) = (job.ignored(), size(&first));
        let done = Done::from(first);
        let decision = Decision::Done(Box::new(done.clone()));
        apply_decision(&mut job, at, &Known::from(decision));
        let counts = job.ignored() == ignored && job.poison().is_none();
        let carried = Carried { done, job, bytes, took };
        Some(if counts { carried.further() } else { carried.ready() })
    }
}

impl Batch {
    /// Returns the next effect.
    pub(super) fn effect(&self) -> Effect<'_> {
        if let (Decision::Call(call), false) = (&self.further, self.compared) {
            return Effect::Compare(call);
        }
        Effect::Run(&self.further)
    }

    /// Returns `true` if the registry has no say in the command any more, so it may be carried out.
    pub(super) fn is_compared(&self) -> bool {
        self.compared
    }

    /// Takes the registry's word. A call that it refuses is decided again once the units are stored.
    pub(super) fn compared(mut self, word: Compared) -> Units {
        let Compared { refused, untrusted } = word;
        if refused.is_some() {
            return self.carried.ready();
        }
        if let Decision::Call(call) = &mut self.further {
            call.untrusted |= untrusted;
        }
        self.compared = true;
        Units::Open(Box::new(self))
    }

    /// Takes the result of the command, if this process carried it out. Without a result the command
    /// is decided again once the units are stored.
    pub(super) fn ran(self, ran: Option<Ran>) -> Units {
        let Self { mut carried, further, .. } = self;
        let Some(Ran { fact, took }) = ran else { return carried.ready() };
        let Some(unit) = unit(further, fact, took) else { return carried.ready() };
        let at = after_work(&carried.job, carried.job.seq(), unit.took_ms());
        if !carried.job.take_further(at, &unit) {
            return carried.ready();
        }
        carried.bytes = carried.bytes.saturating_add(size(&unit));
        carried.took = carried.took.saturating_add(took);
        carried.done.then.push(unit);
        carried.further()
    }
}

impl Carried {
    fn ready(self) -> Units {
        Units::Ready(Box::new(self.done))
    }

    /// Looks for a command that can join the record: one without timers and messages, which must
    /// precede the write. A turn begins a record of its own, because it reads the log, and later turns
    /// find it by its position.
    fn further(self) -> Units {
        let is_full = 1 + self.done.then.len() >= UNITS_MAX
            || self.bytes >= BYTES_MAX
            || self.took >= TOOK_MAX;
        let further = if is_full { None } else { self.job.decide() };
        let is_alone =
            |next: &Next| next.arm.is_empty() && next.tell.is_empty() && next.disarm.is_empty();
        match further.filter(is_alone).map(|next| next.decision) {
            Some(further) if may_join(&further) => {
                let compared = !matches!(further, Decision::Call(_));
                Units::Open(Box::new(Batch { carried: self, further, compared }))
            }
            Some(_) | None => self.ready(),
        }
    }
}

fn may_join(further: &Decision) -> bool {
    further.may_be_done_here() && !matches!(further, Decision::Turn(_))
}

/// Joins a command and the fact that answers it.
fn unit(command: Decision, fact: Fact, took: Duration) -> Option<DoneUnit> {
    DoneUnit::of(command, fact, u64::try_from(took.as_millis()).unwrap_or(u64::MAX)).ok()
}

/// Returns the size of a unit in bytes.
fn size(unit: &DoneUnit) -> usize {
    // A unit without a JSON form cannot be stored either, and its write says so.
    serde_json::to_vec(unit).map_or(0, |json| json.len())
}
