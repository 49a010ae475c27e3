//! The environment of a world: the broker, the clock, the model, chance and the fault rates.

use broker::memory::{Memory, MemoryOptions, VirtualClock};
use jiff::Timestamp;
use model::script::ScriptModel;
use proto::{id::WorkerId, subject::Subjects};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

use crate::{
    bound::Bound,
    chance::Chance,
    fault_rates::{FaultRates, Rough, draw_outage},
    flaky_model,
    ledger::Ledger,
    link::{Link, Pace},
    mutation::Mutation,
    props::Props,
    story::Story,
};

/// The number of shards of a world. It is small, so that jobs share shards and supervisors compete
/// for them.
const SHARDS: u16 = 2;

/// The time at which every world begins, in seconds since the epoch. Its value is arbitrary.
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
    pub(crate) mutation: Option<Mutation>,
    /// The replacements of models, tools and people when a recorded job is replayed.
    pub(crate) props: Option<Arc<dyn Props>>,
    pub(crate) bound: Bound,
    pace: Pace,
    /// The generator of faults on links.
    pub(crate) wires: Chance,
    /// The generator of the behaviour of models and tools.
    pub(crate) outside: Chance,
}

impl Environment {
    /// Creates the environment of a seed's world. Must be called in the world's runtime.
    pub(crate) fn lay(seed: u64, mutation: Option<Mutation>, story: Story) -> Self {
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
            fault_rates: FaultRates::new(Rough::draw(&chance).or_quick(seed))
                .with_outage(draw_outage(seed, Instant::now())),
            story,
            mutation,
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

    /// Creates an environment whose model cannot be reached for `outage` from now on. It has no
    /// other fault, no latency, and room for the messages of hundreds of jobs.
    pub(crate) fn dark(outage: Duration, story: Story) -> Self {
        let now = Instant::now();
        Self {
            fault_rates: FaultRates::new(Rough::default()).with_outage(Some(now..now + outage)),
            pace: Pace { usual_ms: 0, slow_percent: 0, slow_ms: 0 },
            bound: Bound::of(u64::MAX),
            ..Self::lay(0, None, story)
        }
    }

    /// Creates the environment of a test of an agent. With a seed it has the faults of that seed,
    /// otherwise neither faults nor latency.
    pub(crate) fn cast(
        seed: Option<u64>,
        mind: ScriptModel,
        props: Arc<dyn Props>,
        story: Story,
    ) -> Self {
        let drawn = Self::lay(seed.unwrap_or_default(), None, story);
        let drawn = Self { mind, props: Some(props), ..drawn };
        if seed.is_some() {
            return drawn;
        }
        Self {
            fault_rates: FaultRates::new(Rough::default()),
            pace: Pace { usual_ms: 0, slow_percent: 0, slow_ms: 0 },
            ..drawn
        }
    }

    /// Creates the environment of a recorded job that began at `origin`. It has no random faults
    /// and no latency.
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

    /// Returns the longest time that a message and its reply may travel.
    pub(crate) fn travel(&self) -> Duration {
        Duration::from_millis(2 * self.pace.usual_ms.max(self.pace.slow_ms))
    }

    /// Creates a link without faults.
    pub(crate) fn link(&self) -> Link {
        Link::new(self.wires.clone(), self.pace, self.bound.clone())
    }
}
