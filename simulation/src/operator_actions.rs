//! Operations of a world's people and agents beside their ordinary work: sub-agents, snapshots,
//! rollbacks and forks. Most worlds have none, some have one kind, and few have both, so that each
//! kind also occurs alone. They are drawn from sequences of their own, so that other worlds are
//! unaffected.

use std::time::Duration;

use proto::{fact::Signal, id::SnapshotName, workflow::GraphEdit};

use crate::{agents::Agents, chance::Chance, sub_agents, workload::Workload};

/// The percentage of worlds with sub-agents.
const KIN_PERCENT: u64 = 18;
/// The percentage of worlds with rollbacks, independent of sub-agents.
const BACK_PERCENT: u64 = 18;
/// The maximum number of jobs of a world that use sub-agents. Each of them is several jobs.
const HANDING_MAX: usize = 2;

/// An operation on a job, other than an ordinary signal or an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deed {
    /// The wait after the previous operation.
    pub(crate) after: Duration,
    /// `true` if the target is a child of the job, when there is one.
    pub(crate) below: bool,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// Gives a name to the job's current position.
    Name(SnapshotName),
    /// Rolls the job back. `again` allows repeated effects.
    Back { to: Where, again: bool },
    /// Rolls the job back to the position before a step, chosen modulo the number of steps.
    Restart { step: u64, again: bool },
    /// Forks the job at a position.
    Fork { at: Where, again: bool },
    /// Sends the job a signal.
    Say(Signal),
    /// Changes the graph of the job's workflow.
    EditGraph(Vec<GraphEdit>),
}

/// A position in a job's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    /// The position with this name.
    Named(SnapshotName),
    /// The position at this percentage of the log.
    Into(u64),
}

/// Adds operations to the workloads of a seed's world.
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

/// Draws signals to a child, sent past its parent.
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
