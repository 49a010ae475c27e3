//! The bill of a job: its cost by model and by tool.

use proptest::prelude::*;
use proto::{
    budget::Price,
    cost::Cost,
    event::Happened,
    fact::{PlanReply, TurnReply},
    fallback::Fallback,
    id::Seq,
    job::{FailReason, Outcome},
    message::Usage,
    plan::Action,
    price::ModelPrice,
    tool::ToolResult,
};
use serde_json::json;

use super::play::*;
use crate::{Job, events::Projection};

const CHEAP: Price = Price::new(1.0, 1.0);
const DEAR: Price = Price::new(10.0, 10.0);

/// Checks the bill after a record, and returns the number of its tokens. It is the spending that
/// the view shows, unless a rollback, a fork or a child makes them differ, and never becomes
/// smaller.
pub(super) fn check(job: &Job, before: u64) -> u64 {
    let (Some(view), Some(open)) = (job.view(), &job.open) else { return before };
    let paid = job.costs().total();
    if view.generation.is_first() && view.children.is_empty() {
        assert_eq!(paid.usage, view.usage, "the bill differs from the view");
        if let Some(price) = open.brief.agent.budget.price {
            let money = open.spending.cost(&price);
            let told = paid.money.unwrap_or_default();
            assert!((money - told).abs() < 1e-9, "{money} differs from {paid:?}");
            assert!(paid.unpriced.is_nothing(), "{paid:?}");
        }
    }
    assert!(paid.tokens() >= before, "a part of the bill was lost: {paid:?}");
    paid.tokens()
}

/// Returns a job that has paid a planner, a tool and a model turn, with the position before the
/// turn's reply. Without a price, only the planner's model has one.
fn paid(price: Option<Price>) -> (Play, Seq) {
    let mut p = Play::submit(agent(|a| {
        a.plan.model = Some("planner".into());
        a.budget.price = price;
        a.budget.prices = vec![ModelPrice::new("planner", DEAR)];
    }));
    p.drive();
    let plan = plan_with("a b", |id| match id {
        "a" => plan("a").steps[0].action.clone(),
        _ => Action::Agent,
    });
    p.planned_with(1, PlanReply::Plan { plan }, |planned| planned.usage = Usage::reported(100, 0));
    p.drive();
    let cost = Cost { usage: Usage::reported(7, 0), money: Some(0.25) };
    p.result_at("g0.r0.a", 1, ToolResult::ok(json!(1)), None, cost);
    let before = p.last();
    let done = TurnReply::Done {
        success: true,
        response: "b".into(),
        attachments: Vec::new(),
        value: serde_json::Value::Null,
    };
    p.turn("g0.r0.b.n1.t1", done);
    (p, before)
}

/// Returns tokens and money by model, and by tool, to the billionth of a dollar.
fn bill(p: &Play) -> Vec<(String, u64, Option<f64>)> {
    let costs = p.job.costs();
    let models = costs.models.iter().map(|(name, spent)| (name.clone(), spent));
    let tools = costs.tools.iter().map(|(name, spent)| (name.to_string(), spent));
    let all = models.chain(tools);
    let rounded = |money: f64| (money * 1e9).round() / 1e9;
    all.map(|(name, spent)| (name, spent.tokens(), spent.money.map(rounded))).collect()
}

#[test]
fn each_model_has_its_price_and_each_tool_what_it_reported() {
    let (p, _) = paid(Some(CHEAP));
    let expected = [("default", 11, 11.0 / 1e6), ("planner", 100, 0.001), ("echo", 7, 0.25)];
    assert_eq!(bill(&p), expected.map(|(name, n, money)| (name.to_owned(), n, Some(money))));
    let row = p.job.summary().unwrap().spent;
    assert_eq!((row, row.unpriced), (p.job.costs().total(), Usage::default()));
    assert_eq!(p.view().spent, row, "the view has the whole bill, too");
}

#[test]
fn a_turn_has_the_price_of_the_model_that_answered() {
    let mut p = Play::planned(
        agent(|a| {
            a.fallback = vec![Fallback { model: "dear".into(), on: Vec::new() }];
            a.budget.money = Some(0.0001);
            a.budget.price = Some(CHEAP);
            a.budget.prices = vec![ModelPrice::new("dear", DEAR)];
        }),
        plan_with("a b<a", |_| Action::Agent),
    );
    p.drive();
    p.done_by("g0.r0.a.n1.t1", "dear");
    let cost = DEAR.of(Usage::reported(10, 1));
    assert_eq!(bill(&p), [("dear".to_owned(), 11, Some((cost * 1e9).round() / 1e9))]);
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::BudgetExceeded);
}

#[test]
fn a_price_that_is_not_known_is_unknown_and_not_zero() {
    let (p, _) = paid(None);
    assert_eq!(bill(&p)[0], ("default".to_owned(), 11, None));
    let total = p.job.costs().total();
    assert_eq!((total.money, total.unpriced), (Some(0.001 + 0.25), Usage::reported(10, 1)));
    assert_eq!(p.view().spent, total);
}

#[test]
fn work_that_a_rollback_took_out_stays_on_the_bill_and_its_repetition_is_added() {
    let (mut p, before) = paid(Some(CHEAP));
    let once = bill(&p);
    assert!(p.back(before));
    assert_eq!(bill(&p), once);
    p.drive();
    let done = TurnReply::Done {
        success: true,
        response: "b".into(),
        attachments: Vec::new(),
        value: serde_json::Value::Null,
    };
    p.turn("g1.r0.b.n1.t1", done);
    assert_eq!((bill(&p)[0].1, bill(&p)[1].1, bill(&p)[2].1), (22, 100, 7));
    assert_eq!(p.view().usage.input_tokens, 117, "the budget counts the repetition alone");
    // A second rollback, to the same position, loses nothing either.
    assert!(p.back(before));
    assert_eq!(bill(&p)[0].1, 22);
}

#[test]
fn a_fork_does_not_pay_for_the_work_of_its_source() {
    let (p, _) = paid(Some(CHEAP));
    let fork = p.job.clone().into_fork();
    assert_eq!(fork.costs(), Default::default());
    assert_eq!(fork.usage(), p.job.usage(), "its budget counts that work");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The events of a job tell every part of its bill, once.
    #[test]
    fn the_bill_is_the_sum_of_the_usage_events(
        costs in prop::collection::vec((0_u64..50, 0_u64..50, prop::option::of(0.0..1.0)), 1..6),
    ) {
        let names: Vec<String> = (0..costs.len()).map(|n| format!("s{n}")).collect();
        let mut p = Play::planned(agent(|_| {}), plan(&names.join(" ")));
        p.drive();
        for (name, (input, output, money)) in names.iter().zip(&costs) {
            let cost = Cost { usage: Usage::reported(*input, *output), money: *money };
            let work = format!("g0.r0.{name}");
            p.result_at(&work, 1, ToolResult::ok(json!(1)), None, cost);
            // The second result of an attempt does not count.
            p.result_at(&work, 1, ToolResult::ok(json!(1)), None, cost);
        }
        let (mut usage, mut money) = (Usage::default(), 0.0);
        let (mut job, mut events) = (Job::new(p.job.id().clone()), Projection::default());
        for (at, family, record) in &p.log {
            job.apply(*at, family, record.as_ref());
            for event in events.take(at.seq, at.time, record.as_ref().ok(), &job) {
                if let Happened::Usage(told) = event.happened {
                    usage += told.spent;
                    money += told.paid.unwrap_or_default();
                }
            }
        }
        let total = p.job.costs().total();
        prop_assert_eq!(total.usage, usage);
        prop_assert!((total.money.unwrap_or_default() - money).abs() < 1e-9);
    }
}
