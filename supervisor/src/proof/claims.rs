//! The claims that must hold in every world, and those that must hold in some world. Without the
//! latter the model would prove nothing.

use proto::{id::Unit, job::Outcome};
use stateright::Property;

use super::{
    Exploration,
    log::Log,
    memory::Memory,
    moves::Move,
    script::Saying,
    world::{FIRST, Side, World},
};

pub(super) const ONE_DECISION_PER_POSITION: &str = "each position of a log has one decision";
pub(super) const DECIDED_ONCE: &str = "no decision is made twice";
pub(super) const COMMAND_WAS_DECIDED: &str = "no result exists without a command";
pub(super) const COUNTED_ONCE: &str = "a result counts once";
pub(super) const COUNTS_FOR_ITS_OWN: &str = "a result counts for its own attempt only";
pub(super) const COUNTS_IN_ITS_GENERATION: &str =
    "a result of work that a rollback took out does not count";
pub(super) const NOTHING_AFTER_THE_END: &str = "no decision follows the end";
pub(super) const UNREADABLE: &str = "every decision can follow those before it";
pub(super) const BEGUN_ONCE: &str = "a child is submitted once";
pub(super) const END_COUNTED_ONCE: &str = "the end of a child counts once";
pub(super) const WAITS_OR_CALLS_OFF: &str =
    "a parent ends when its child has ended, or when it has noted that it canceled the child";
pub(super) const JOINED: &str = "a join of a workflow waits for the work of all its branches";
pub(super) const EFFECTS_ARE_QUEUED: &str =
    "no supervisor carries out a call with an effect itself";
pub(super) const UNITS_FOLLOW: &str =
    "each unit of a record counts, if its supervisor had folded every fact before the record";
pub(super) const NO_TOOL_AFTER_THE_END: &str = "no tool begins after a cancel is acknowledged";
pub(super) const LOST_IS_QUEUED: &str =
    "no supervisor carries out work again that was lost in a crash";
pub(super) const FOLDS_ARE_TRUE: &str = "a kept fold equals a replay of the same records";
pub(super) const BEGUN_WHEN_DECIDED: &str =
    "a child is submitted only after the decision to have it is stored";
pub(super) const COUNTED_TRULY: &str = "a child ended as its parent counted it";
pub(super) const NOBODY_IS_LEFT: &str =
    "when a parent has ended and all is quiet, so has its child";
pub(super) const WAITS_ARE_TRUE: &str = "a resting job waits for something that is on its way";
pub(super) const ENDS: &str = "in a world without a further step every job has ended";

/// Claims about the records of a log.
const OF_LOGS: [&str; 13] = [
    ONE_DECISION_PER_POSITION,
    DECIDED_ONCE,
    COMMAND_WAS_DECIDED,
    COUNTED_ONCE,
    COUNTS_FOR_ITS_OWN,
    COUNTS_IN_ITS_GENERATION,
    NOTHING_AFTER_THE_END,
    UNREADABLE,
    BEGUN_ONCE,
    END_COUNTED_ONCE,
    WAITS_OR_CALLS_OFF,
    JOINED,
    EFFECTS_ARE_QUEUED,
];

/// An event between two worlds that must be observed at least once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// A supervisor stored a decision while the other one was deciding as well.
    BothAtIt,
    /// A write failed because the other supervisor had decided.
    Conflict,
    /// A write that was reported as a conflict, or had no reply, was stored.
    StoredAllTheSame,
    /// A supervisor found the other one's decision at the position of its write.
    SomebodyElse,
    /// A write that no supervisor awaited any more was stored.
    LateWrite,
    /// A worker did not start a command of a job that had ended.
    Unwanted,
    /// A worker did not start a command that another one had answered.
    AnsweredAlready,
}

impl Sight {
    pub(super) const ALL: [Self; 7] = [
        Self::BothAtIt,
        Self::Conflict,
        Self::StoredAllTheSame,
        Self::SomebodyElse,
        Self::LateWrite,
        Self::Unwanted,
        Self::AnsweredAlready,
    ];
}

impl Exploration {
    /// Returns `true` if no log breaks the claim.
    fn is_right<const CLAIM: usize>(&self, world: &World) -> bool {
        self.with(|memory| {
            let is_right = |side: &Side| !memory.log(side.log).wrong.contains(OF_LOGS[CLAIM]);
            world.jobs.iter().all(is_right)
        })
    }

    fn first(&self, world: &World, says: impl FnOnce(&Log) -> bool) -> bool {
        self.with(|memory| says(memory.log(world.log(FIRST))))
    }

    fn family(&self, world: &World, says: impl FnOnce(&Log, &Log) -> bool) -> bool {
        self.with(|memory| match world.jobs[..] {
            [parent, child] => says(memory.log(parent.log), memory.log(child.log)),
            _ => false,
        })
    }
}

fn of_logs() -> [Property<Exploration>; 13] {
    let holds: [fn(&Exploration, &World) -> bool; 13] = [
        Exploration::is_right::<0>,
        Exploration::is_right::<1>,
        Exploration::is_right::<2>,
        Exploration::is_right::<3>,
        Exploration::is_right::<4>,
        Exploration::is_right::<5>,
        Exploration::is_right::<6>,
        Exploration::is_right::<7>,
        Exploration::is_right::<8>,
        Exploration::is_right::<9>,
        Exploration::is_right::<10>,
        Exploration::is_right::<11>,
        Exploration::is_right::<12>,
    ];
    std::array::from_fn(|claim| Property::always(OF_LOGS[claim], holds[claim]))
}

/// Returns the claims that must hold in every world.
pub(super) fn always() -> Vec<Property<Exploration>> {
    let mut all = vec![
        Property::always(NO_TOOL_AFTER_THE_END, |_, world: &World| !world.began_late),
        Property::always(UNITS_FOLLOW, |_, world: &World| !world.dropped_units),
        Property::always(LOST_IS_QUEUED, |_, world: &World| !world.ran_lost),
        Property::always(BEGUN_WHEN_DECIDED, |_, world: &World| !world.submitted_early),
        Property::always(FOLDS_ARE_TRUE, |model: &Exploration, world: &World| {
            let mut actors = world.jobs.iter().flat_map(|side| side.actors);
            model.with(|memory| actors.all(|actor| memory.node(actor.node).is_true))
        }),
        Property::always(COUNTED_TRULY, |model: &Exploration, world: &World| {
            let is_true = |parent: &Log, child: &Log| {
                // The parent is told of the end before the child stores it.
                let (said, ended) = (parent.child_ended.as_ref(), child.job.outcome());
                said == ended || ended.is_none()
            };
            world.jobs.len() == 1 || model.family(world, is_true)
        }),
        Property::always(NOBODY_IS_LEFT, |model: &Exploration, world: &World| {
            !world.is_quiet()
                || world.jobs.len() == 1
                || model.family(world, |parent, child| !parent.ended || child.is_over())
        }),
        Property::always(WAITS_ARE_TRUE, |model: &Exploration, world: &World| {
            let waits = |memory: &mut Memory| {
                world.all_jobs().all(|job| waits_for_what_comes(world, memory, job))
            };
            !world.is_quiet() || model.with(waits)
        }),
        Property::always(ENDS, |model: &Exploration, world: &World| {
            let ends = |memory: &mut Memory| {
                world.jobs.iter().all(|side| memory.log(side.log).is_over())
                    || model.moves(world, memory).into_iter().any(Move::goes_on)
            };
            !world.is_quiet() || model.with(ends)
        }),
    ];
    all.extend(of_logs());
    all
}

/// Returns the claims that must hold in some world of a lone job.
pub(super) fn of_jobs() -> Vec<Property<Exploration>> {
    vec![
        Property::sometimes("it completes", |m: &Exploration, w: &World| m.first(w, completed)),
        Property::sometimes("it is canceled", |m: &Exploration, w: &World| m.first(w, canceled)),
        Property::sometimes("it is canceled while a tool runs", |m: &Exploration, w: &World| {
            m.first(w, |log| canceled(log) && log.lacks_results())
        }),
        Property::sometimes(
            "it completes although a cancel was on its way",
            |m: &Exploration, w: &World| {
                m.first(w, |log| completed(log) && log.has(Saying::Cancel))
            },
        ),
        Property::sometimes(
            "a late or second result changes nothing",
            |m: &Exploration, w: &World| m.first(w, |log| completed(log) && log.job.ignored() > 0),
        ),
        Property::sometimes("failed work is retried and succeeds", |m: &Exploration, w: &World| {
            m.first(w, |log| completed(log) && log.attempts() > 1)
        }),
        Property::sometimes(
            "a timer fires before its decision is stored",
            |m: &Exploration, w: &World| {
                m.with(|memory| memory.log(w.log(FIRST)).fired_early(&memory.nexts))
            },
        ),
    ]
}

/// Returns the claims that must hold in some world in which supervisors carry work out themselves.
pub(super) fn of_local_work() -> Vec<Property<Exploration>> {
    vec![
        Property::sometimes("no worker is needed", |m: &Exploration, w: &World| {
            m.first(w, |log| completed(log) && log.done == 3)
        }),
        Property::sometimes(
            "a supervisor and a worker share the work",
            |m: &Exploration, w: &World| {
                m.first(w, |log| completed(log) && (1..3).contains(&log.done))
            },
        ),
        Property::sometimes("one record has several units", |m: &Exploration, w: &World| {
            m.first(w, |log| completed(log) && log.joined)
        }),
        Property::sometimes(
            "work is lost, and a worker does it again",
            |m: &Exploration, w: &World| m.first(w, |log| completed(log) && w.lost != 0),
        ),
    ]
}

/// Returns the claims that must hold in some world with a rollback.
pub(super) fn of_rollbacks() -> Vec<Property<Exploration>> {
    vec![
        Property::sometimes("it is rolled back and completes", |m: &Exploration, w: &World| {
            m.first(w, |log| completed(log) && log.has(Saying::RollBack))
        }),
        Property::sometimes(
            "a result of earlier work comes after the rollback, and changes nothing",
            |m: &Exploration, w: &World| {
                m.first(w, |log| completed(log) && log.heard_of_before > 0)
            },
        ),
        Property::sometimes(
            "a supervisor that does not know of the rollback decides, and is fenced",
            |m: &Exploration, w: &World| m.first(w, |log| completed(log) && log.fenced > 0),
        ),
    ]
}

/// Returns the claims that must hold in some world of a workflow that is edited.
pub(super) fn of_edits() -> Vec<Property<Exploration>> {
    vec![
        Property::sometimes("it is edited and completes", |m: &Exploration, w: &World| {
            m.first(w, |log| completed(log) && log.revision() == 1)
        }),
        Property::sometimes(
            "an edit that would strand a path changes nothing",
            |m: &Exploration, w: &World| {
                m.first(w, |log| completed(log) && log.has(Saying::Edit) && log.revision() == 0)
            },
        ),
        Property::sometimes(
            "a supervisor that does not know of the edit goes on, and the edit no longer fits",
            |m: &Exploration, w: &World| {
                m.first(w, |log| completed(log) && log.overtaken > 0 && log.revision() == 0)
            },
        ),
    ]
}

/// Returns the claims that must hold in some world of a workflow.
pub(super) fn of_workflows() -> Vec<Property<Exploration>> {
    vec![
        Property::sometimes("it loops and completes", |m: &Exploration, w: &World| {
            m.first(w, |log| completed(log) && log.joins == 2)
        }),
        Property::sometimes("both branches arrive in one advance", |m: &Exploration, w: &World| {
            m.first(w, |log| log.arrivals.contains(&2))
        }),
        Property::sometimes("a branch arrives before the other", |m: &Exploration, w: &World| {
            m.first(w, |log| log.arrivals.contains(&1))
        }),
    ]
}

/// Holds in some world if the child asks a question.
pub(super) const ANSWERED: &str = "the question of a child is answered";
/// Holds in some world if a fault is possible.
pub(super) const HEARD_TWICE: &str = "the end of a child is told twice";
/// Holds in some world without a fault.
pub(super) const FAMILY_COMPLETES: &str = "the family completes";

/// Returns the claims that must hold in some world of a family. The first five need no fault, only
/// a cancellation.
pub(super) fn of_families() -> Vec<Property<Exploration>> {
    vec![
        Property::sometimes(FAMILY_COMPLETES, |m: &Exploration, w: &World| {
            m.family(w, |parent, child| completed(parent) && completed(child))
        }),
        Property::sometimes("both are canceled", |m: &Exploration, w: &World| {
            m.family(w, |parent, child| canceled(parent) && canceled(child))
        }),
        Property::sometimes(
            "it is canceled before it has a child",
            |m: &Exploration, w: &World| {
                m.family(w, |parent, child| canceled(parent) && !child.is_there())
            },
        ),
        Property::sometimes(
            "the child completes, and its parent is canceled",
            |m: &Exploration, w: &World| {
                m.family(w, |parent, child| canceled(parent) && completed(child))
            },
        ),
        Property::sometimes(
            "the child works although its parent has ended",
            |m: &Exploration, w: &World| {
                let works = w.jobs.last().is_some_and(|child| child.commands.open != 0);
                works && m.family(w, |parent, child| parent.ended && !child.ended)
            },
        ),
        Property::sometimes(ANSWERED, |m: &Exploration, w: &World| {
            m.family(w, |parent, child| completed(parent) && child.answers > 0)
        }),
        Property::sometimes(HEARD_TWICE, |m: &Exploration, w: &World| {
            m.family(w, |parent, _| completed(parent) && parent.ends_heard > 1)
        }),
    ]
}

fn completed(log: &Log) -> bool {
    matches!(log.job.outcome(), Some(Outcome::Completed { .. }))
}

fn canceled(log: &Log) -> bool {
    matches!(log.job.outcome(), Some(Outcome::Canceled { .. }))
}

/// Returns `true` if the job waits for events that can happen. It is called when no supervisor is
/// busy and no fact is undelivered: then no decision may be missing.
fn waits_for_what_comes(world: &World, memory: &mut Memory, job: u8) -> bool {
    let side = world.side(job);
    let log = memory.log(side.log);
    if log.lacks_decision {
        return false;
    }
    if log.is_over() {
        return true;
    }
    let waits = log.job.waits();
    let lives = |child| !memory.log(world.log(memory.index(child))).is_over();
    let queued = side.commands.open | world.running(job);
    let is_on_its_way = |unit: &Unit| {
        log.written.iter().enumerate().any(|(at, record)| {
            record.attempt.as_ref() == Some(unit)
                && record.child().map_or(queued & (1 << at) != 0, lives)
        })
    };
    if !waits.commands.iter().all(is_on_its_way) || !waits.children.iter().all(lives) {
        return false;
    }
    if !waits.timers.iter().all(|arm| side.timers & (1 << memory.timer(&arm.timer)) != 0) {
        return false;
    }
    let waits_for_work = !waits.commands.is_empty() || !waits.children.is_empty();
    waits_for_work || !waits.questions.is_empty() || waits.backing_off
}
