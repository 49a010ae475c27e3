//! The walks: through everything, and past every planted bug.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use stateright::{Checker, Expectation, HasDiscoveries, Model};

use super::{
    Game, Move, Plant, Script, Trouble,
    claims::{self, Sight},
};

/// Two steps that need nothing of each other.
const SIDE_BY_SIDE: Script = Script { in_order: false, confirm: false, deadline: false };
/// One step after the other.
const IN_ORDER: Script = Script { in_order: true, confirm: false, deadline: false };
/// A plan that a person confirms, one step after the other, and an hour for all of it.
const CHECKED_IN_ORDER: Script = Script { in_order: true, confirm: true, deadline: true };

/// The worlds that a game can get into, and what came to pass in them.
fn walk(game: Game) -> Walked {
    let checker = game.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let game = checker.model();
    let found = checker.discoveries();
    let is_claim = |name: &'static str| game.property(name).expectation == Expectation::Always;
    let (claims, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(name, _)| is_claim(name));
    let broken = claims.into_iter().map(|(name, path)| (name, path.into_actions())).collect();
    let happened = found.into_iter().map(|(name, _)| name).collect();
    let seen = game.seen.lock().unwrap().clone();
    println!("{} worlds, {} steps", checker.unique_state_count(), checker.state_count());
    Walked { broken, happened, seen }
}

struct Walked {
    /// Claims that do not hold, each with the way to a world in which it does not.
    broken: BTreeMap<&'static str, Vec<Move>>,
    happened: BTreeSet<&'static str>,
    seen: BTreeSet<Sight>,
}

/// One trouble of any kind at any moment, and a cancel at any other.
#[rstest]
#[case::side_by_side(SIDE_BY_SIDE)]
#[case::checked_in_order(CHECKED_IN_ORDER)]
fn a_small_job_keeps_every_claim_whatever_goes_wrong(#[case] script: Script) {
    let walked = walk(Game::new(script, 1, Trouble::ALL));
    assert!(walked.broken.is_empty(), "{:#?}", walked.broken);
    let never = claims::sometimes().into_iter().map(|claim| claim.name);
    let never: Vec<_> = never.filter(|name| !walked.happened.contains(name)).collect();
    assert!(never.is_empty(), "never happened: {never:?}");
    assert_eq!(walked.seen, Sight::ALL.into(), "something never happened");
}

#[test]
fn nothing_but_a_cancel_keeps_a_healthy_world_from_completing() {
    let walked = walk(Game { cancels: false, ..Game::new(SIDE_BY_SIDE, 0, &[]) });
    assert!(walked.broken.is_empty(), "{:#?}", walked.broken);
    assert_eq!(walked.happened, BTreeSet::from(["it completes"]));
}

/// Somebody takes the job back to its plan, at any moment, and one thing goes wrong at any other.
#[rstest]
fn a_job_that_is_taken_back_keeps_every_claim_whatever_goes_wrong(
    #[values(
        &[Trouble::Pins],
        &[Trouble::Supervisors],
        &[Trouble::Lies, Trouble::Delays],
        &[Trouble::Deliveries],
        &[Trouble::Workers],
    )]
    of: &'static [Trouble],
) {
    let game = Game { cancels: false, goes_back: true, ..Game::new(IN_ORDER, 1, of) };
    let walked = walk(game);
    assert!(walked.broken.is_empty(), "{:#?}", walked.broken);
    let never = claims::sometimes_back().into_iter().map(|claim| claim.name);
    let never: Vec<_> = never.filter(|name| !walked.happened.contains(name)).collect();
    assert!(never.is_empty(), "never happened: {never:?}");
}

#[rstest]
#[case(Plant::CountOldResults, claims::COUNTS_IN_ITS_GENERATION)]
#[case(Plant::DeafToRollBacks, claims::FOLDS_ARE_TRUE)]
fn a_planted_bug_of_going_back_is_found(#[case] plant: Plant, #[case] claim: &'static str) {
    let game = Game { cancels: false, goes_back: true, ..Game::new(IN_ORDER, 0, &[]) };
    game.with(|memory| memory.deaf = plant == Plant::DeafToRollBacks);
    let walked = walk(Game { plant: Some(plant), ..game });
    let way = walked.broken.get(claim);
    assert!(way.is_some_and(|way| way.len() > 3), "found is only {:#?}", walked.broken);
}

/// Two troubles, one after the other or one within the other.
#[rstest]
fn two_troubles_of_a_kind_break_no_claim(
    #[values(
        &[Trouble::Pins],
        &[Trouble::Supervisors],
        &[Trouble::Lies],
        &[Trouble::Delays],
        &[Trouble::Deliveries],
        &[Trouble::Workers],
    )]
    of: &'static [Trouble],
) {
    let walked = walk(Game { cancels: false, ..Game::new(SIDE_BY_SIDE, 2, of) });
    assert!(walked.broken.is_empty(), "{:#?}", walked.broken);
    assert!(walked.happened.contains("it completes"));
}

#[rstest]
#[case(Plant::NoCompareAndSet, &[Trouble::Pins], claims::ONE_DECISION_PER_POSITION)]
#[case(Plant::AcceptAnyResult, &[Trouble::Workers], claims::COUNTED_ONCE)]
#[case(Plant::DecideBeforeReading, &[Trouble::Supervisors], claims::ENDS)]
#[case(Plant::DropTimers, &[Trouble::Workers], claims::WAITS_ARE_TRUE)]
#[case(Plant::NoResets, &[Trouble::Pins], claims::WAITS_ARE_TRUE)]
#[case(Plant::BelieveTheOccupant, &[Trouble::Pins], claims::FOLDS_ARE_TRUE)]
#[case(Plant::AckBeforeDeciding, &[Trouble::Supervisors], claims::ENDS)]
#[case(Plant::AckBeforeWork, &[Trouble::Workers], claims::WAITS_ARE_TRUE)]
#[case(Plant::NeverLook, &[], claims::NO_TOOL_AFTER_THE_END)]
fn a_planted_bug_is_found(
    #[case] plant: Plant,
    #[case] of: &'static [Trouble],
    #[case] claim: &'static str,
) {
    let cancels = plant == Plant::NeverLook;
    let walked = walk(Game { plant: Some(plant), cancels, ..Game::new(SIDE_BY_SIDE, 2, of) });
    let way = walked.broken.get(claim);
    assert!(way.is_some_and(|way| way.len() > 3), "found is only {:#?}", walked.broken);
}
