//! What a world's people and agents do beside their work: hand tasks to other agents, take jobs back
//! and go on from them elsewhere. Most worlds know neither, some one of the two, and few both, so that
//! each also happens alone. All of it is drawn from sequences of its own: the other worlds stay what
//! they were.

use std::time::Duration;

use proto::{fact::Signal, id::SnapshotName};

use crate::{agents::Agents, chance::Chance, sub_agents, workload::Workload};

/// Of a hundred worlds, in how many tasks are handed on.
const KIN_PERCENT: u64 = 18;
/// Of a hundred worlds with or without kin, in how many jobs go back.
const BACK_PERCENT: u64 = 18;
/// Errands of a world that hand tasks on at most: each is several jobs.
const HANDING_MAX: usize = 2;

/// Something that people do with a job that is neither a signal that every job hears nor an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deed {
    /// How long after the one before.
    pub(crate) after: Duration,
    /// Whether it is done to a job that works for the job, if there is one.
    pub(crate) below: bool,
    /// What.
    pub(crate) what: What,
}

/// What people do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// They give the point where it is a name.
    Name(SnapshotName),
    /// They take it back.
    Back { to: Where, again: bool },
    /// They take it back to right before a step: the n-th of so many as there are.
    Restart { step: u64, again: bool },
    /// They go on from it elsewhere.
    Fork { at: Where, again: bool },
    /// They say something to it that every job hears.
    Say(Signal),
}

/// A point of a job's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    /// That was given this name.
    Named(SnapshotName),
    /// So far, of a hundred, into its log.
    Into(u64),
}

/// Adds to the workloads of a seed's world what it has beside them.
pub(crate) fn add(seed: u64, workloads: &mut [Workload]) {
    let chance = Chance::new(seed, "customs");
    let (kin, back) = (chance.percent(KIN_PERCENT), chance.percent(BACK_PERCENT));
    if kin {
        let (chance, agents) = (Chance::new(seed, "kin"), Agents::new());
        for workload in workloads.iter_mut().take(HANDING_MAX) {
            sub_agents::hand_on(&chance, &agents, workload);
        }
    }
    let chance = Chance::new(seed, "deeds");
    for workload in workloads.iter_mut() {
        if back {
            workload.deeds = going_back(&chance, kin);
        } else if kin {
            workload.deeds = speaking_below(&chance);
        }
    }
}

fn name(chance: &Chance) -> SnapshotName {
    let names = ["before", "after", "here"];
    SnapshotName::new(*chance.pick(&names)).expect("plain words are names")
}

fn point(chance: &Chance) -> Where {
    if chance.percent(40) { Where::Named(name(chance)) } else { Where::Into(chance.number(0..=99)) }
}

fn going_back(chance: &Chance, kin: bool) -> Vec<Deed> {
    let many = chance.number(0..=5);
    let mut deeds: Vec<Deed> = (0..many)
        .map(|_| {
            let again = chance.percent(40);
            let what = match chance.number(0..=9) {
                0..=2 => What::Name(name(chance)),
                3..=5 => What::Back { to: point(chance), again },
                6 | 7 => What::Restart { step: chance.number(0..=9), again },
                _ => What::Fork { at: point(chance), again },
            };
            let below = kin && chance.percent(25);
            Deed { after: chance.millis(0..=25_000), below, what }
        })
        .collect();
    if kin && chance.percent(30) {
        deeds.extend(speaking_below(chance));
    }
    deeds
}

/// What is said to a job below, past the one that it works for.
fn speaking_below(chance: &Chance) -> Vec<Deed> {
    if !chance.percent(25) {
        return Vec::new();
    }
    let say = |after, signal| Deed { after, below: true, what: What::Say(signal) };
    let after = chance.millis(0..=25_000);
    match chance.number(0..=3) {
        0 => vec![say(after, Signal::Pause), say(chance.millis(1_000..=20_000), Signal::Resume)],
        1 => vec![say(after, Signal::Steer { text: "mind the gap below".to_owned() })],
        2 => vec![say(after, Signal::Retry)],
        _ => vec![say(after, Signal::Cancel)],
    }
}
