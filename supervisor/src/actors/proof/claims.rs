//! What must hold in every world, and what must happen in some: else the model would prove nothing.

use machine::Next;
use proto::{id::Unit, job::Outcome};
use stateright::Property;

use super::{
    Game,
    memory::{LogNode, Memory},
    script::Saying,
    world::{World, places},
};

pub(super) const ONE_DECISION_PER_POSITION: &str = "one decision for each position";
pub(super) const DECIDED_ONCE: &str = "nothing is decided twice";
pub(super) const COMMAND_WAS_DECIDED: &str = "no result without a command that was decided";
pub(super) const COUNTED_ONCE: &str = "a result counts once";
pub(super) const COUNTS_FOR_ITS_OWN: &str = "a result counts for its own attempt alone";
pub(super) const COUNTS_IN_ITS_GENERATION: &str =
    "a result of what a roll-back has taken out counts for nothing";
pub(super) const NOTHING_AFTER_THE_END: &str = "nothing is decided after the end";
pub(super) const UNREADABLE: &str = "every decision can follow those before it";
pub(super) const NO_TOOL_AFTER_THE_END: &str = "no tool begins once a cancel is acknowledged";
pub(super) const FOLDS_ARE_TRUE: &str = "what is kept folded is what the log folds to";
pub(super) const WAITS_ARE_TRUE: &str = "a job that rests waits for what is on its way";
pub(super) const ENDS: &str = "a world in which nothing can happen any more has ended its job";

/// Something that happened on the way between two worlds, seen as it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// One supervisor stored a decision while the other one was deciding too.
    BothAtIt,
    /// A write came too late: somebody else had decided.
    Conflict,
    /// A write that was said to be refused, or of which nothing was heard, was stored.
    StoredAllTheSame,
    /// Somebody else's decision was found where one's own should be.
    SomebodyElse,
    /// A write arrived that its writer had stopped waiting for, and was stored.
    LateWrite,
    /// A worker did not begin what belonged to a job that had ended.
    Unwanted,
    /// A worker did not begin what another one had answered.
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

/// What must hold in every world.
pub(super) fn always() -> Vec<Property<Game>> {
    vec![
        Property::always(ONE_DECISION_PER_POSITION, |g: &Game, w: &World| {
            g.is_right(w, ONE_DECISION_PER_POSITION)
        }),
        Property::always(DECIDED_ONCE, |g: &Game, w: &World| g.is_right(w, DECIDED_ONCE)),
        Property::always(COMMAND_WAS_DECIDED, |g: &Game, w: &World| {
            g.is_right(w, COMMAND_WAS_DECIDED)
        }),
        Property::always(COUNTED_ONCE, |g: &Game, w: &World| g.is_right(w, COUNTED_ONCE)),
        Property::always(COUNTS_FOR_ITS_OWN, |g: &Game, w: &World| {
            g.is_right(w, COUNTS_FOR_ITS_OWN)
        }),
        Property::always(COUNTS_IN_ITS_GENERATION, |g: &Game, w: &World| {
            g.is_right(w, COUNTS_IN_ITS_GENERATION)
        }),
        Property::always(NOTHING_AFTER_THE_END, |g: &Game, w: &World| {
            g.is_right(w, NOTHING_AFTER_THE_END)
        }),
        Property::always(UNREADABLE, |g: &Game, w: &World| g.is_right(w, UNREADABLE)),
        Property::always(NO_TOOL_AFTER_THE_END, |_, world: &World| !world.began_late),
        Property::always(FOLDS_ARE_TRUE, |game: &Game, world: &World| {
            let mut folds = world.supervisors.iter().filter_map(|who| who.fold);
            game.with(|memory| folds.all(|fold| memory.is_true(fold)))
        }),
        Property::always(WAITS_ARE_TRUE, |game: &Game, world: &World| {
            !world.is_quiet() || game.with(|memory| waits_for_what_comes(world, memory))
        }),
        Property::always(ENDS, |game: &Game, world: &World| {
            let ended = |memory: &mut Memory| memory.log(world.log).ended;
            !world.is_quiet()
                || game.with(|memory| ended(memory) || !game.moves(world, memory).is_empty())
        }),
    ]
}

/// What must happen in some world.
pub(super) fn sometimes() -> Vec<Property<Game>> {
    vec![
        Property::sometimes("it completes", |g: &Game, w: &World| g.says(w, completed)),
        Property::sometimes("it is canceled", |g: &Game, w: &World| g.says(w, canceled)),
        Property::sometimes("it is canceled while a tool runs", |game: &Game, world: &World| {
            game.says(world, |_, log| canceled(&[], log) && log.lacks_results())
        }),
        Property::sometimes(
            "it completes although a cancel was on its way",
            |game: &Game, world: &World| {
                game.says(world, |_, log| completed(&[], log) && log.has(Saying::Cancel))
            },
        ),
        Property::sometimes(
            "a result that came late or twice changes nothing",
            |game: &Game, world: &World| {
                game.says(world, |_, log| completed(&[], log) && log.job.ignored() > 0)
            },
        ),
        Property::sometimes(
            "what broke is tried again and succeeds",
            |game: &Game, world: &World| {
                game.says(world, |_, log| completed(&[], log) && log.tries() > 1)
            },
        ),
        Property::sometimes(
            "a timer fires before its decision is stored",
            |g: &Game, w: &World| g.says(w, |nexts, log| log.fired_early(nexts)),
        ),
    ]
}

/// What must happen in some world in which a job goes back.
pub(super) fn sometimes_back() -> Vec<Property<Game>> {
    vec![
        Property::sometimes("it goes back and completes", |g: &Game, w: &World| {
            g.says(w, |_, log| completed(&[], log) && log.has(Saying::Back))
        }),
        Property::sometimes(
            "what was sent before it went back is answered after, and changes nothing",
            |g: &Game, w: &World| {
                g.says(w, |_, log| completed(&[], log) && log.heard_of_before > 0)
            },
        ),
        Property::sometimes(
            "somebody decides who does not know that it went back, and is fenced",
            |g: &Game, w: &World| g.says(w, |_, log| completed(&[], log) && log.fenced > 0),
        ),
    ]
}

fn completed(_: &[Next], log: &LogNode) -> bool {
    matches!(log.job.outcome(), Some(Outcome::Completed { .. }))
}

fn canceled(_: &[Next], log: &LogNode) -> bool {
    matches!(log.job.outcome(), Some(Outcome::Canceled { .. }))
}

/// Nobody does anything, and nothing is handed out: then no decision may be missing, and whatever the
/// job says that it waits for must really be on its way.
fn waits_for_what_comes(world: &World, memory: &mut Memory) -> bool {
    if memory.wants_decision(world.log) {
        return false;
    }
    let job = &memory.log(world.log).job;
    if job.has_ended() {
        return true;
    }
    let waits = job.waits();
    let log = memory.log(world.log);
    let is_queued = |unit: &Unit| {
        places(world.commands.open | world.running())
            .any(|at| log.written[usize::from(at)].attempt.as_ref() == Some(unit))
    };
    if !waits.commands.iter().all(is_queued) {
        return false;
    }
    let is_armed = |timer: u8| world.armed & (1 << timer) != 0;
    if !waits.timers.iter().all(|timer| is_armed(memory.timer(timer))) {
        return false;
    }
    !waits.commands.is_empty() || !waits.questions.is_empty() || waits.backing_off
}
