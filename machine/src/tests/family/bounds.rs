//! The bounds of a family: its depth, the number of children, and their shared budget.

use proto::agent::Hosts;

use super::*;

#[rstest]
#[case::depth(json!({"depth": 0}), 0, Axis::Depth)]
#[case::in_all(json!({"fan_out": {"total": 2}}), 2, Axis::Children)]
fn a_job_that_may_have_no_more_children_fails_before_it_has_one(
    #[case] budget: Value,
    #[case] children: usize,
    #[case] axis: Axis,
) {
    let mut kin = Kin::planned("a:helper b:helper c:helper", |a| {
        a.budget = serde_json::from_value(budget).unwrap();
    });
    assert_eq!(kin.jobs.len(), 1 + children);
    assert!(kin.view().budget.iter().any(|gauge| gauge.axis == axis && gauge.is_used_up()));
    for unit in ["g0.r0.a", "g0.r0.b"].into_iter().take(children) {
        kin.ends(unit, 1, true, "done");
    }
    let Outcome::Failed { reason, message, .. } = kin.root().outcome() else { panic!() };
    assert_eq!(reason, FailReason::BudgetExceeded);
    assert!(message.contains("\nNot done:") && message.contains("do c"), "{message}");
}

#[test]
fn levels_run_out_for_those_below() {
    let mut kin = Kin::planned("a:helper", |a| a.budget.depth = 2);
    let deeper = || calls(vec![agent_call("c1", "helper", json!({"goal": "deeper"}))]);
    kin.child("g0.r0.a", 1).turn("g0.r0.goal.n1.t1", deeper());
    kin.run();
    let deepest = kin.jobs.values_mut().find(|p| p.view().parent.is_some_and(|p| p.depth == 2));
    deepest.unwrap().turn("g0.r0.goal.n1.t1", deeper());
    kin.run();
    assert_eq!(kin.jobs.len(), 3, "nobody is below");
    let deepest =
        kin.jobs.values().find(|p| p.view().parent.is_some_and(|p| p.depth == 2)).unwrap();
    let Some(Decision::Turn(next)) = deepest.decisions.first() else { panic!("it does not go on") };
    assert!(next.replies[0].text.contains("tasks cannot be delegated any further"));
}

#[test]
fn children_beyond_those_that_may_be_alive_at_once_wait_their_turn() {
    let mut kin = Kin::planned("a:helper b:helper c:helper", |a| a.budget.fan_out.alive = 1);
    assert_eq!(kin.jobs.len(), 2);
    kin.ends("g0.r0.a", 1, true, "A");
    assert_eq!(kin.jobs.len(), 3);
    kin.ends("g0.r0.b", 1, true, "B");
    kin.ends("g0.r0.c", 1, true, "C");
    assert_eq!(kin.view().state, JobState::Completed);
}

#[test]
fn what_children_take_is_no_step_of_those_above_and_is_paid_at_their_own_price() {
    let price = |each| Some(Price::new(each, each));
    let below = |a: &mut Agent| a.budget.price = price(30.0);
    let mut kin = Kin::begin(
        |a| {
            (a.budget.money, a.budget.price) = (Some(1.0), price(0.5));
            (a.budget.steps, a.budget.counts) = (Some(5), [Spend::Turn].into());
            a.budget.turns = Some(9);
        },
        below,
    );
    kin.run();
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
    kin.run();
    kin.ends("g0.r0.a", 1, true, "A");
    let view = kin.view();
    let used = |axis| view.budget.iter().find(|g| g.axis == axis).unwrap().used;
    assert_eq!((used(Axis::Steps), used(Axis::Turns)), (0.0, 1.0));
    assert!((used(Axis::Money) - 11.0 * 30.0 / 1e6).abs() < 1e-12, "{}", used(Axis::Money));
}

#[test]
fn a_child_sends_requests_to_no_host_that_its_parent_may_not() {
    let hosts = |list: &[&str]| Some(Hosts::new(list.iter().map(|&host| host.into()).collect()));
    for (own, expected) in [
        (None, hosts(&["*.a.test"])),
        (hosts(&["x.a.test", "b.test"]), hosts(&["x.a.test"])),
        (hosts(&["b.test"]), hosts(&[])),
    ] {
        let parent = |a: &mut Agent| a.tool.hosts = hosts(&["*.a.test"]);
        let mut kin = Kin::begin(parent, |a| a.tool.hosts = own.clone());
        kin.run();
        kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
        kin.run();
        let spawned = kin.root().log.iter().find_map(|(_, _, record)| {
            let proto::record::Known::Decision(decision) = record.as_ref().ok()? else {
                return None;
            };
            let Decision::Spawn(work) = &**decision else { return None };
            Some(work.agent.tool.hosts.clone())
        });
        assert_eq!(spawned, Some(expected));
    }
}

#[test]
fn children_share_what_is_left_and_never_have_more_than_that_together() {
    let mut kin = Kin::planned("a:helper b:helper c:helper<a", |a| {
        a.budget.tokens = Some(1000);
        a.budget.turns = Some(10);
        a.deadline_ms = Some(60_000);
    });
    let caps = |kin: &mut Kin, unit: &str| {
        let view = kin.child(unit, 1).view();
        let of = |axis| view.budget.iter().find(|g| g.axis == axis).unwrap().limit;
        (of(Axis::Tokens), of(Axis::Turns), of(Axis::Time) < 60_000.0)
    };
    assert_eq!(caps(&mut kin, "g0.r0.a"), (500.0, 5.0, true));
    assert_eq!(caps(&mut kin, "g0.r0.b"), (500.0, 5.0, true));
    kin.ends("g0.r0.a", 1, true, "A");
    assert_eq!(
        caps(&mut kin, "g0.r0.c"),
        (489.0, 4.0, true),
        "11 tokens and a turn are spent, and b's are set aside"
    );
    kin.ends("g0.r0.b", 1, true, "B");
    kin.ends("g0.r0.c", 1, true, "C");
    let view = kin.view();
    let used = |axis| view.budget.iter().find(|g| g.axis == axis).unwrap().used;
    assert_eq!((used(Axis::Tokens), used(Axis::Turns)), (33.0, 3.0));
}

#[test]
fn an_agent_that_may_hand_nothing_over_is_offered_nobody_and_told_so() {
    for (change, why) in [
        ((|a| a.budget.depth = 0) as fn(&mut Agent), "delegated any further"),
        (|a| a.budget.fan_out.total = 1, "no more tasks"),
    ] {
        let mut kin = Kin::begin(change, |_| {});
        kin.run();
        let plan = plan_with("a", |_| Action::Agent);
        kin.root().reply(1, proto::fact::PlanReply::Plan { plan });
        kin.run();
        let has_one = kin
            .view()
            .budget
            .iter()
            .any(|gauge| gauge.axis == proto::budget::Axis::Children && gauge.limit == 1.0);
        let offered = |kin: &mut Kin| match kin.root().decisions.first() {
            Some(Decision::Turn(turn)) => turn.model.agents.len(),
            other => panic!("no turn: {other:?}"),
        };
        assert_eq!(offered(&mut kin) > 0, has_one);
        let both =
            ["x", "y"].map(|id| agent_call(id, "helper", json!({"goal": format!("do {id}")})));
        kin.root().turn("g0.r0.a.n1.t1", calls(both.to_vec()));
        kin.run();
        if has_one {
            kin.ends("g0.r0.a.n1.t1.c0", 1, true, "done");
        }
        let told = match kin.root().decisions.first() {
            Some(Decision::Turn(turn)) => turn.replies.clone(),
            other => panic!("no turn: {other:?}"),
        };
        let refused: Vec<bool> = told.iter().map(|reply| reply.text.contains(why)).collect();
        assert_eq!(refused, [!has_one, true], "{told:?}");
        assert_eq!(offered(&mut kin), 0);
        kin.root().done("g0.r0.a.n1.t2", true, "by myself");
        kin.run();
        assert_eq!(kin.view().state, JobState::Completed);
    }
}
