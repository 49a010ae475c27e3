//! The environment of a world: the broker, the clock, the model, chance and the fault rates.

use broker::memory::{Memory, MemoryOptions, VirtualClock};
use jiff::Timestamp;
use model::script::ScriptModel;
use proto::{id::WorkerId, subject::Subjects};
use std::{sync::Arc, time::Duration};

use crate::{
    bound::Bound,
    chance::Chance,
    fault_rates::{FaultRates, Rough},
    flaky_model,
    ledger::Ledger,
    link::{Link, Pace},
    plant::Plant,
    props::Props,
    story::Story,
};

/// Shards of a world: few, so that jobs share them and supervisors fight for them.
const SHARDS: u16 = 2;

/// When every world begins. The time itself means nothing.
const ORIGIN_S: i64 = 1_800_000_000;

/// The shared parts of a world.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) memory: Memory,
    pub(crate) faults: Arc<broker::memory::Faults>,
    pub(crate) clock: VirtualClock,
    pub(crate) origin: Timestamp,
    pub(crate) mind: ScriptModel,
    pub(crate) ledger: Ledger,
    pub(crate) fault_rates: FaultRates,
    pub(crate) story: Story,
    pub(crate) plant: Option<Plant>,
    /// What stands in for models, tools and people when a recorded job is played.
    pub(crate) props: Option<Arc<dyn Props>>,
    pub(crate) bound: Bound,
    pace: Pace,
    /// Chance of what happens on links.
    pub(crate) wires: Chance,
    /// Chance of what models and tools do.
    pub(crate) outside: Chance,
}

impl Environment {
    /// The environment of a seed's world. Must be called where its time runs.
    pub(crate) fn lay(seed: u64, plant: Option<Plant>, story: Story) -> Self {
        let chance = Chance::new(seed, "ground");
        let origin = Timestamp::from_second(ORIGIN_S).unwrap_or(Timestamp::UNIX_EPOCH);
        let clock = VirtualClock::starting_at(origin);
        let faults = Arc::default();
        let options = MemoryOptions {
            ack_wait: Duration::from_secs(*chance.pick(&[3, 5, 10, 30])),
            facts_ack_wait: Duration::from_secs(*chance.pick(&[2, 5, 15])),
            objects_renewed_after: broker::objects::RENEWED_AFTER,
            records_max: None,
            writer: WorkerId::new("world").expect("a plain word is an id"),
            clock: Arc::new(clock),
            faults: Arc::clone(&faults),
        };
        let subjects = Subjects::new("cb", SHARDS).expect("the prefix is a plain word");
        Self {
            memory: Memory::new(subjects, options),
            faults,
            clock,
            origin,
            mind: flaky_model::scripted(),
            ledger: Ledger::default(),
            fault_rates: FaultRates::new(Rough::draw(&chance)),
            story,
            plant,
            props: None,
            bound: Bound::default(),
            pace: Pace {
                usual_ms: *chance.pick(&[0, 1, 5, 50]),
                slow_percent: *chance.pick(&[0, 0, 1, 5]),
                slow_ms: 2_000,
            },
            wires: Chance::new(seed, "wires"),
            outside: Chance::new(seed, "outside"),
        }
    }

    /// The environment of a recorded job that began at `origin`: nothing goes wrong by chance, and
    /// messages do not travel for long.
    #[cfg(test)]
    pub(crate) fn stage(
        origin: Timestamp,
        mind: ScriptModel,
        props: Arc<dyn Props>,
        story: Story,
    ) -> Self {
        let environment = Self::lay(0, None, story);
        let clock = VirtualClock::starting_at(origin);
        let faults = Arc::default();
        let options = MemoryOptions {
            ack_wait: Duration::from_secs(5),
            facts_ack_wait: Duration::from_secs(5),
            clock: Arc::new(clock),
            faults: Arc::clone(&faults),
            ..MemoryOptions::default()
        };
        let subjects = Subjects::new("cb", SHARDS).expect("the prefix is a plain word");
        Self {
            memory: Memory::new(subjects, options),
            faults,
            clock,
            origin,
            mind,
            fault_rates: FaultRates::new(Rough::default()),
            props: Some(props),
            pace: Pace { usual_ms: 0, slow_percent: 0, slow_ms: 0 },
            ..environment
        }
    }

    /// How long a message may travel there and back.
    pub(crate) fn travel(&self) -> Duration {
        Duration::from_millis(2 * self.pace.usual_ms.max(self.pace.slow_ms))
    }

    /// A link that works.
    pub(crate) fn link(&self) -> Link {
        Link::new(self.wires.clone(), self.pace, self.bound.clone())
    }
}
