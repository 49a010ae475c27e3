//! The walks: through everything that can happen to a family, and past every planted bug.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use stateright::{Checker, Expectation, HasDiscoveries, Model};

use super::{
    Game, Plant, claims,
    script::Script,
    steps::{Move, Trouble},
};

const SILENT: Script = Script { asks: false };
const ASKING: Script = Script { asks: true };

struct Walked {
    /// Claims that do not hold, each with the way to a world in which it does not.
    broken: BTreeMap<&'static str, Vec<Move>>,
    happened: BTreeSet<&'static str>,
}

/// The worlds that a family can get into, and what came to pass in them.
fn walk(game: Game) -> Walked {
    let checker = game.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let game = checker.model();
    let is_claim = |name: &'static str| game.property(name).expectation == Expectation::Always;
    let found = checker.discoveries();
    let (claims, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(name, _)| is_claim(name));
    let broken = claims.into_iter().map(|(name, path)| (name, path.into_actions())).collect();
    let happened = found.into_iter().map(|(name, _)| name).collect();
    println!("{} worlds, {} steps", checker.unique_state_count(), checker.state_count());
    Walked { broken, happened }
}

#[test]
fn a_family_to_which_nothing_happens_completes() {
    let walked = walk(Game { cancels: false, ..Game::new(ASKING, 0, &[]) });
    assert!(walked.broken.is_empty(), "{:#?}", walked.broken);
    assert!(walked.happened.contains(claims::ANSWERED), "{:?}", walked.happened);
}

/// One trouble at any moment, and a cancel at any other.
#[rstest]
#[case::pins(&[Trouble::Pins], &[claims::HEARD_TWICE])]
#[case::supervisors(&[Trouble::Supervisors], &[claims::HEARD_TWICE])]
#[case::deliveries(&[Trouble::Deliveries], &[])]
fn a_small_family_keeps_every_claim_whatever_goes_wrong(
    #[case] of: &'static [Trouble],
    #[case] besides: &[&'static str],
) {
    let walked = walk(Game::new(SILENT, 1, of));
    assert!(walked.broken.is_empty(), "{:#?}", walked.broken);
    let usual = claims::sometimes().into_iter().map(|claim| claim.name);
    let all = usual.chain(besides.iter().copied());
    let never: Vec<_> = all.filter(|name| !walked.happened.contains(name)).collect();
    assert!(never.is_empty(), "never happened: {never:?}");
}

#[rstest]
#[case(Plant::SubmitFirst, &[], claims::BEGUN_WHEN_DECIDED)]
#[case(Plant::TellAfterStoring, &[Trouble::Supervisors], claims::WAITS_ARE_TRUE)]
#[case(Plant::SubmitUnguarded, &[Trouble::Supervisors], claims::BEGUN_ONCE)]
#[case(Plant::ForgetChildren, &[], claims::NOBODY_IS_LEFT)]
#[case(Plant::ForgetParent, &[], claims::WAITS_ARE_TRUE)]
#[case(Plant::NoCompareAndSet, &[Trouble::Pins], claims::ONE_DECISION_PER_POSITION)]
#[case(Plant::TellAnotherEnd, &[], claims::COUNTED_TRULY)]
fn a_planted_bug_of_families_is_found(
    #[case] plant: Plant,
    #[case] of: &'static [Trouble],
    #[case] claim: &'static str,
) {
    let walked = walk(Game { plant: Some(plant), ..Game::new(SILENT, 1, of) });
    let way = walked.broken.get(claim);
    assert!(way.is_some_and(|way| way.len() > 1), "found is only {:#?}", walked.broken);
}
