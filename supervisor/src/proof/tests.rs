//! The walks through every world, and those that must find a planted bug.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use stateright::{Checker, Expectation, HasDiscoveries, Model};

use super::{
    Exploration, Fault, Move, Mutation, Script,
    claims::{self, Sight},
    script::Local,
};

/// One job with two parallel steps.
const PARALLEL: Script =
    Script::Alone { in_order: false, confirm: false, deadline: false, local: Local::Nothing };
/// One job with two steps in sequence.
const IN_ORDER: Script =
    Script::Alone { in_order: true, confirm: false, deadline: false, local: Local::Nothing };
/// One job with a plan that a person confirms, two steps in sequence, and a deadline of an hour.
const CONFIRMED: Script =
    Script::Alone { in_order: true, confirm: true, deadline: true, local: Local::Nothing };
/// One job with two parallel steps without effects, which supervisors may carry out themselves.
const LOCAL: Script =
    Script::Alone { in_order: false, confirm: false, deadline: false, local: Local::All };
/// One such job with a plan that a person confirms, two steps in sequence, and a deadline of an hour.
const LOCAL_CONFIRMED: Script =
    Script::Alone { in_order: true, confirm: true, deadline: true, local: Local::All };
/// One such job with two steps in sequence.
const LOCAL_IN_ORDER: Script =
    Script::Alone { in_order: true, confirm: false, deadline: false, local: Local::All };
/// One such job whose second step has an effect.
const LOCAL_WITH_EFFECT: Script =
    Script::Alone { in_order: false, confirm: false, deadline: false, local: Local::Pure };
/// A family whose child asks no question.
const SILENT: Script = Script::Family { asks: false };
/// A family whose child asks a person.
const ASKING: Script = Script::Family { asks: true };

/// A workflow of three nodes, whose two branches join and run again in a loop.
const WORKFLOW: Script = Script::Workflow;

/// The result of a walk, which is complete or has found a broken claim.
struct Walked {
    worlds: usize,
    /// Broken claims, each with a path to a world in which it does not hold.
    broken: BTreeMap<&'static str, Vec<Move>>,
    happened: BTreeSet<&'static str>,
    seen: BTreeSet<Sight>,
}

fn walk(exploration: Exploration) -> Walked {
    let checker = exploration.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let model = checker.model();
    let is_claim = |name: &'static str| model.property(name).expectation == Expectation::Always;
    let found = checker.discoveries();
    let (claims, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(name, _)| is_claim(name));
    let broken = claims.into_iter().map(|(name, path)| (name, path.into_actions())).collect();
    let happened = found.into_iter().map(|(name, _)| name).collect();
    let seen = model.seen.lock().unwrap().clone();
    let worlds = checker.unique_state_count();
    let nodes = model.with(|memory| memory.nodes.len());
    println!("{worlds} worlds, {} steps, {nodes} activations", checker.state_count());
    Walked { worlds, broken, happened, seen }
}

impl Walked {
    /// Asserts that every claim holds, that `happened` holds in some world, and that the walk has
    /// at least `worlds` worlds.
    fn keeps_every_claim(&self, happened: &[&'static str], worlds: usize) {
        assert!(self.broken.is_empty(), "{:#?}", self.broken);
        let never: Vec<_> = happened.iter().filter(|name| !self.happened.contains(*name)).collect();
        assert!(never.is_empty(), "never happened: {never:?}");
        assert!(self.worlds >= worlds, "{} worlds are fewer than {worlds}", self.worlds);
    }

    fn finds(&self, claim: &'static str) {
        let way = self.broken.get(claim);
        assert!(way.is_some_and(|way| way.len() > 1), "found is only {:#?}", self.broken);
    }
}

fn names(claims: Vec<stateright::Property<Exploration>>) -> Vec<&'static str> {
    claims.into_iter().map(|claim| claim.name).collect()
}

/// One fault of any kind, and a cancellation, each at any moment.
#[rstest]
#[case::parallel(PARALLEL, 189_794)]
#[case::confirmed(CONFIRMED, 744_207)]
fn a_small_job_keeps_every_claim_whatever_goes_wrong(
    #[case] script: Script,
    #[case] worlds: usize,
) {
    let walked = walk(Exploration::new(script, 1, Fault::ALL));
    walked.keeps_every_claim(&names(claims::of_jobs()), worlds);
    assert_eq!(walked.seen, Sight::ALL.into(), "something never happened");
}

/// Work that a supervisor may carry out itself or leave to a worker; one fault of any kind, and a
/// cancellation.
#[test]
fn local_work_keeps_every_claim_whatever_goes_wrong() {
    let walked = walk(Exploration::new(LOCAL, 1, Fault::ALL));
    walked.keeps_every_claim(&names(claims::of_local_work()), 600_000);
}

/// The same with a confirmed plan and a deadline.
#[test]
#[ignore = "takes minutes: make proof"]
fn local_work_after_a_confirmation_keeps_every_claim_whatever_goes_wrong() {
    let walked = walk(Exploration::new(LOCAL_CONFIRMED, 1, Fault::ALL));
    walked.keeps_every_claim(&names(claims::of_local_work()), 1_700_000);
}

/// A job whose second step has an effect, which a worker must carry out.
#[test]
fn work_with_an_effect_is_never_carried_out_by_supervisors() {
    let walked = walk(Exploration::new(LOCAL_WITH_EFFECT, 0, &[]));
    walked.keeps_every_claim(&["it completes", "it is canceled"], 1_488);
}

#[test]
#[ignore = "takes minutes: make proof"]
fn work_with_an_effect_is_never_carried_out_by_supervisors_whatever_goes_wrong() {
    let walked = walk(Exploration::new(LOCAL_WITH_EFFECT, 1, Fault::ALL));
    walked.keeps_every_claim(&["it completes", "it is canceled"], 500_350);
}

/// Two faults of one kind, while supervisors may carry work out themselves.
#[rstest]
#[case::pins(&[Fault::Pins], 550_000)]
#[case::supervisors(&[Fault::Supervisors], 130_000)]
#[case::writes(&[Fault::Lies, Fault::Delays], 16_000)]
#[case::deliveries(&[Fault::Deliveries], 80_000)]
fn local_work_keeps_every_claim_with_two_faults(
    #[case] of: &'static [Fault],
    #[case] worlds: usize,
) {
    let walked = walk(Exploration { cancels: false, ..Exploration::new(LOCAL, 2, of) });
    walked.keeps_every_claim(&["it completes"], worlds);
}

/// A rollback to the plan, and one fault, while supervisors may carry work out themselves.
#[test]
fn local_work_that_is_rolled_back_keeps_every_claim_when_supervisors_fail() {
    rolled_back(&[Fault::Supervisors], 610_000);
}

#[test]
#[ignore = "takes minutes: make proof"]
fn local_work_that_is_rolled_back_keeps_every_claim_when_shards_move() {
    rolled_back(&[Fault::Pins], 1_180_000);
}

fn rolled_back(of: &'static [Fault], worlds: usize) {
    let exploration = Exploration::new(LOCAL_IN_ORDER, 1, of);
    let walked = walk(Exploration { cancels: false, rolls_back: true, ..exploration });
    walked.keeps_every_claim(&["it is rolled back and completes"], worlds);
}

#[rstest]
#[case(Mutation::NoCompareAndSet, &[Fault::Pins], claims::ONE_DECISION_PER_POSITION)]
#[case(Mutation::RunAgain, &[Fault::Supervisors], claims::LOST_IS_QUEUED)]
#[case(Mutation::AckBeforeDeciding, &[Fault::Supervisors], claims::ENDS)]
#[case(Mutation::BelieveTheOccupant, &[Fault::Pins], claims::FOLDS_ARE_TRUE)]
#[case(Mutation::RepeatUnit, &[], claims::UNITS_FOLLOW)]
fn a_planted_bug_of_local_work_is_found(
    #[case] mutation: Mutation,
    #[case] of: &'static [Fault],
    #[case] claim: &'static str,
) {
    let exploration = Exploration::new(LOCAL, 1, of).mutated(mutation);
    walk(Exploration { cancels: false, ..exploration }).finds(claim);
}

#[rstest]
#[case::effect(Mutation::RunEffects, claims::EFFECTS_ARE_QUEUED)]
#[case::cancel(Mutation::DeafToCancels, claims::FOLDS_ARE_TRUE)]
fn a_planted_bug_of_local_work_is_found_without_a_fault(
    #[case] mutation: Mutation,
    #[case] claim: &'static str,
) {
    walk(Exploration::new(LOCAL_WITH_EFFECT, 0, &[]).mutated(mutation)).finds(claim);
}

/// A workflow with a loop and a join; one fault of a kind, and in one walk a cancellation.
#[rstest]
#[case::supervisors(&[Fault::Supervisors], false, 320_000)]
#[case::cancel(&[], true, 7_095)]
fn a_small_workflow_keeps_every_claim_whatever_goes_wrong(
    #[case] of: &'static [Fault],
    #[case] cancels: bool,
    #[case] worlds: usize,
) {
    let faults = u8::from(!of.is_empty());
    let walked = walk(Exploration { cancels, ..Exploration::new(WORKFLOW, faults, of) });
    walked.keeps_every_claim(&names(claims::of_workflows()), worlds);
}

/// The same with one fault of any kind.
#[test]
#[ignore = "takes minutes: make proof"]
fn a_small_workflow_keeps_every_claim_with_a_fault_of_any_kind() {
    let walked = walk(Exploration { cancels: false, ..Exploration::new(WORKFLOW, 1, Fault::ALL) });
    walked.keeps_every_claim(&names(claims::of_workflows()), 1_035_956);
}

/// An edit of the graph, at any moment.
#[test]
fn a_workflow_that_is_edited_keeps_every_claim() {
    let exploration = Exploration::new(WORKFLOW, 0, &[]);
    let walked = walk(Exploration { cancels: false, edits: true, ..exploration });
    walked.keeps_every_claim(&names(claims::of_edits()), 13_000);
}

#[rstest]
#[case(Mutation::JoinEarly, claims::JOINED)]
#[case(Mutation::AdvanceTwice, claims::UNREADABLE)]
fn a_planted_bug_of_workflows_is_found(#[case] mutation: Mutation, #[case] claim: &'static str) {
    let exploration = Exploration::new(WORKFLOW, 0, &[]).mutated(mutation);
    walk(Exploration { cancels: false, ..exploration }).finds(claim);
}

#[rstest]
#[case::alone(PARALLEL, &["it completes"])]
#[case::family(ASKING, &[claims::FAMILY_COMPLETES, claims::ANSWERED])]
fn without_a_cancel_and_a_fault_every_job_completes(
    #[case] script: Script,
    #[case] happens: &[&'static str],
) {
    let walked = walk(Exploration { cancels: false, ..Exploration::new(script, 0, &[]) });
    walked.keeps_every_claim(happens, 1);
    assert_eq!(walked.happened, happens.iter().copied().collect());
}

/// A rollback to the plan, and one fault, each at any moment.
#[rstest]
#[case::pins(&[Fault::Pins], 196_582)]
#[case::supervisors(&[Fault::Supervisors], 110_994)]
#[case::writes(&[Fault::Lies, Fault::Delays], 11_132)]
#[case::deliveries(&[Fault::Deliveries], 62_042)]
#[case::workers(&[Fault::Workers], 67_991)]
fn a_job_that_is_rolled_back_keeps_every_claim_whatever_goes_wrong(
    #[case] of: &'static [Fault],
    #[case] worlds: usize,
) {
    let exploration = Exploration::new(IN_ORDER, 1, of);
    let walked = walk(Exploration { cancels: false, rolls_back: true, ..exploration });
    walked.keeps_every_claim(&names(claims::of_rollbacks()), worlds);
}

/// Two faults of one kind, each at any moment.
#[rstest]
#[case::pins(&[Fault::Pins], 184_556)]
#[case::supervisors(&[Fault::Supervisors], 19_070)]
#[case::lies(&[Fault::Lies], 1_003)]
#[case::delays(&[Fault::Delays], 4_105)]
#[case::deliveries(&[Fault::Deliveries], 35_507)]
#[case::workers(&[Fault::Workers], 124_465)]
fn two_faults_of_a_kind_break_no_claim(#[case] of: &'static [Fault], #[case] worlds: usize) {
    let walked = walk(Exploration { cancels: false, ..Exploration::new(PARALLEL, 2, of) });
    walked.keeps_every_claim(&["it completes"], worlds);
}

/// One fault, and a cancellation, each at any moment.
#[rstest]
#[case::pins(&[Fault::Pins], &[claims::HEARD_TWICE], 502_756)]
#[case::supervisors(&[Fault::Supervisors], &[claims::HEARD_TWICE], 479_449)]
#[case::deliveries(&[Fault::Deliveries], &[], 20_368)]
fn a_small_family_keeps_every_claim_whatever_goes_wrong(
    #[case] of: &'static [Fault],
    #[case] besides: &[&'static str],
    #[case] worlds: usize,
) {
    let walked = walk(Exploration::new(SILENT, 1, of));
    let usual = names(claims::of_families()).into_iter().take(5);
    let all: Vec<_> = usual.chain(besides.iter().copied()).collect();
    walked.keeps_every_claim(&all, worlds);
}

#[rstest]
#[case(Mutation::NoCompareAndSet, &[Fault::Pins], claims::ONE_DECISION_PER_POSITION)]
#[case(Mutation::AcceptAnyResult, &[Fault::Workers], claims::COUNTED_ONCE)]
#[case(Mutation::DecideBeforeReading, &[Fault::Supervisors], claims::ENDS)]
#[case(Mutation::DropTimers, &[Fault::Workers], claims::WAITS_ARE_TRUE)]
#[case(Mutation::NoResets, &[Fault::Pins], claims::WAITS_ARE_TRUE)]
#[case(Mutation::BelieveTheOccupant, &[Fault::Pins], claims::FOLDS_ARE_TRUE)]
#[case(Mutation::AckBeforeDeciding, &[Fault::Supervisors], claims::ENDS)]
#[case(Mutation::AckBeforeWork, &[Fault::Workers], claims::WAITS_ARE_TRUE)]
#[case(Mutation::NeverCheck, &[], claims::NO_TOOL_AFTER_THE_END)]
fn a_planted_bug_is_found(
    #[case] mutation: Mutation,
    #[case] of: &'static [Fault],
    #[case] claim: &'static str,
) {
    let cancels = mutation == Mutation::NeverCheck;
    let exploration = Exploration::new(PARALLEL, 2, of).mutated(mutation);
    walk(Exploration { cancels, ..exploration }).finds(claim);
}

#[rstest]
#[case(Mutation::CountOldResults, claims::COUNTS_IN_ITS_GENERATION)]
#[case(Mutation::DeafToRollbacks, claims::FOLDS_ARE_TRUE)]
fn a_planted_bug_of_rollbacks_is_found(#[case] mutation: Mutation, #[case] claim: &'static str) {
    let exploration = Exploration::new(IN_ORDER, 0, &[]).mutated(mutation);
    walk(Exploration { cancels: false, rolls_back: true, ..exploration }).finds(claim);
}

#[rstest]
#[case(Mutation::SubmitFirst, &[], claims::BEGUN_WHEN_DECIDED)]
#[case(Mutation::SubmitUnguarded, &[Fault::Supervisors], claims::BEGUN_ONCE)]
#[case(Mutation::ForgetChildren, &[], claims::NOBODY_IS_LEFT)]
#[case(Mutation::ForgetParent, &[], claims::WAITS_ARE_TRUE)]
#[case(Mutation::NoCompareAndSet, &[Fault::Pins], claims::ONE_DECISION_PER_POSITION)]
#[case(Mutation::TellAnotherEnd, &[], claims::COUNTED_TRULY)]
fn a_planted_bug_of_families_is_found(
    #[case] mutation: Mutation,
    #[case] of: &'static [Fault],
    #[case] claim: &'static str,
) {
    walk(Exploration::new(SILENT, 1, of).mutated(mutation)).finds(claim);
}

/// A driver that carries out effects in another order than the activation names them.
#[rstest]
#[case::acknowledges_first(Mutation::AckBeforeDeciding, PARALLEL, claims::ENDS)]
#[case::acknowledges_first_in_a_family(Mutation::AckBeforeDeciding, SILENT, claims::WAITS_ARE_TRUE)]
#[case::arms_last(Mutation::ArmAfterStoring, CONFIRMED, claims::WAITS_ARE_TRUE)]
#[case::tells_last(Mutation::TellAfterStoring, SILENT, claims::WAITS_ARE_TRUE)]
fn another_order_of_effects_is_found(
    #[case] mutation: Mutation,
    #[case] script: Script,
    #[case] claim: &'static str,
) {
    let exploration = Exploration::new(script, 1, &[Fault::Supervisors]).mutated(mutation);
    walk(Exploration { cancels: false, ..exploration }).finds(claim);
}
