//! What must hold in every world of a family, and what must happen in some: else the model would prove
//! nothing.

use proto::job::Outcome;
use stateright::Property;

use super::{
    Game,
    memory::{Log, Memory},
    steps::Move,
    world::{CHILD, PARENT, World, places},
};

pub(super) const ONE_DECISION_PER_POSITION: &str = "one decision for each position of each log";
pub(super) const DECIDED_ONCE: &str = "nothing is decided twice";
pub(super) const NOTHING_AFTER_THE_END: &str = "nothing is decided after the end";
pub(super) const UNREADABLE: &str = "every decision can follow those before it";
pub(super) const BEGUN_WHEN_DECIDED: &str =
    "a child is submitted only after the decision to have it is stored";
pub(super) const BEGUN_ONCE: &str = "a child is begun once";
pub(super) const COUNTED_ONCE: &str = "the end of a child is counted once";
pub(super) const COUNTED_TRULY: &str = "a child ended as the one above counted it";
pub(super) const WAITS_OR_CALLS_OFF: &str =
    "a job ends when its child has, or when it has noted that it was called off";
pub(super) const NOBODY_IS_LEFT: &str =
    "when the one above has ended and all is quiet, so has the child";
pub(super) const WAITS_ARE_TRUE: &str = "who rests waits for what is on its way";
pub(super) const ENDS: &str = "a world in which nothing can happen any more has ended the family";

const IN_A_LOG: [&str; 7] = [
    ONE_DECISION_PER_POSITION,
    DECIDED_ONCE,
    NOTHING_AFTER_THE_END,
    UNREADABLE,
    BEGUN_ONCE,
    COUNTED_ONCE,
    WAITS_OR_CALLS_OFF,
];

impl Game {
    fn says(&self, world: &World, what: impl FnOnce(&Log, &Log) -> bool) -> bool {
        self.with(|memory| what(memory.log(world.log(PARENT)), memory.log(world.log(CHILD))))
    }

    /// Whether neither log breaks this claim.
    fn is_right(&self, world: &World, claim: &'static str) -> bool {
        self.says(world, |parent, child| {
            !parent.wrong.contains(claim) && !child.wrong.contains(claim)
        })
    }
}

/// What must hold in every world.
pub(super) fn always() -> Vec<Property<Game>> {
    let mut all = vec![
        Property::always(BEGUN_WHEN_DECIDED, |_: &Game, world: &World| world.broken.is_none()),
        Property::always(COUNTED_TRULY, |game: &Game, world: &World| {
            game.says(world, |parent, child| {
                let (said, ended) = (parent.child_ended.as_ref(), child.outcome());
                // It is told before its end is stored.
                said == ended || ended.is_none()
            })
        }),
        Property::always(NOBODY_IS_LEFT, |game: &Game, world: &World| {
            !world.is_quiet()
                || game
                    .says(world, |parent, child| !parent.ended || child.ended || !child.is_there())
        }),
        Property::always(WAITS_ARE_TRUE, |game: &Game, world: &World| {
            !world.is_quiet() || game.with(|memory| waits_for_what_comes(world, memory))
        }),
        Property::always(ENDS, |game: &Game, world: &World| {
            let have_ended =
                |parent: &Log, child: &Log| parent.ended && (child.ended || !child.is_there());
            !world.is_quiet()
                || game.says(world, have_ended)
                || game.with(|memory| game.moves(world, memory).iter().any(Move::goes_on))
        }),
    ];
    let of_logs: [fn(&Game, &World) -> bool; 7] = [
        |game, world| game.is_right(world, IN_A_LOG[0]),
        |game, world| game.is_right(world, IN_A_LOG[1]),
        |game, world| game.is_right(world, IN_A_LOG[2]),
        |game, world| game.is_right(world, IN_A_LOG[3]),
        |game, world| game.is_right(world, IN_A_LOG[4]),
        |game, world| game.is_right(world, IN_A_LOG[5]),
        |game, world| game.is_right(world, IN_A_LOG[6]),
    ];
    all.extend(IN_A_LOG.iter().zip(of_logs).map(|(name, holds)| Property::always(name, holds)));
    all
}

/// What must happen in some world.
pub(super) fn sometimes() -> Vec<Property<Game>> {
    vec![
        Property::sometimes("the family completes", |game: &Game, world: &World| {
            game.says(world, |parent, child| completed(parent) && completed(child))
        }),
        Property::sometimes("both are canceled", |game: &Game, world: &World| {
            game.says(world, |parent, child| canceled(parent) && canceled(child))
        }),
        Property::sometimes(
            "it is canceled before it has a child",
            |game: &Game, world: &World| {
                game.says(world, |parent, child| canceled(parent) && !child.is_there())
            },
        ),
        Property::sometimes(
            "the child is done, and the one above canceled",
            |game: &Game, world: &World| {
                game.says(world, |parent, child| canceled(parent) && completed(child))
            },
        ),
        Property::sometimes(
            "the child works for one that has ended",
            |game: &Game, world: &World| {
                world.jobs[usize::from(CHILD)].commands != 0
                    && game.says(world, |parent, child| parent.ended && !child.ended)
            },
        ),
    ]
}

/// What happens in some world when a child asks.
pub(super) const ANSWERED: &str = "what the child asks is answered";
/// What happens in some world when something goes wrong.
pub(super) const HEARD_TWICE: &str = "the end of a child is told twice";
/// What happens in some world when what is said is late.
pub(super) const TOLD_LATE: &str = "something is told when all have ended";

/// What must happen in some world besides, by its name.
pub(super) fn further() -> Vec<Property<Game>> {
    vec![
        Property::sometimes(ANSWERED, |game: &Game, world: &World| {
            game.says(world, |parent, child| completed(parent) && child.questions_answered > 0)
        }),
        Property::sometimes(HEARD_TWICE, |game: &Game, world: &World| {
            game.says(world, |parent, _| completed(parent) && parent.ends_heard > 1)
        }),
        Property::sometimes(TOLD_LATE, |_: &Game, world: &World| world.told_late),
    ]
}

fn completed(log: &Log) -> bool {
    matches!(log.outcome(), Some(Outcome::Completed { .. }))
}

fn canceled(log: &Log) -> bool {
    matches!(log.outcome(), Some(Outcome::Canceled { .. }))
}

/// Nobody does anything, and nothing is handed out: then no decision may be missing, and whatever a
/// job says that it waits for must really be on its way.
fn waits_for_what_comes(world: &World, memory: &Memory) -> bool {
    let (parent, child) = (memory.log(world.log(PARENT)), memory.log(world.log(CHILD)));
    let is_queued = |unit: &_| {
        places(world.jobs[usize::from(CHILD)].commands)
            .any(|at| child.commands.get(&at) == Some(unit))
    };
    let rests = |log: &Log| log.ended || !log.is_there();
    let lives = !rests(child);
    // The only command of the parent is the child itself.
    let above = || {
        let waits = parent.job.waits();
        !parent.lacks_decision && !waits.children.is_empty() && lives
    };
    let below = || {
        let waits = child.job.waits();
        let waits_for_somebody = !waits.commands.is_empty() || !waits.questions.is_empty();
        !child.lacks_decision && waits.commands.iter().all(is_queued) && waits_for_somebody
    };
    (rests(parent) || above()) && (rests(child) || below())
}
