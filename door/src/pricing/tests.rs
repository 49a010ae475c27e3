//! Tests of prices: the price of each model of a job, and refused jobs.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn price(each: f64) -> Price {
    Price::new(each, each)
}

fn agent(policies: Value) -> Agent {
    serde_json::from_value(policies).unwrap()
}

/// Returns the prices of an installation whose default model is `usual`, and which knows `small`
/// and `org/large.v1`.
fn known() -> ByModel<Price> {
    let usual = ByModel::usual(Some("usual".to_owned()), Some(price(1.0)));
    usual.with("small", price(0.1)).with("org/large.v1", price(20.0))
}

/// Price of the agent's own model, and prices of its other models.
type Booked<'a> = (Option<f64>, Vec<(&'a str, f64)>);

fn booked(agent: &Agent) -> Booked<'_> {
    let others = agent.budget.prices.iter().map(|p| (p.model.as_str(), p.input_per_million));
    (agent.budget.price.map(|price| price.input_per_million), others.collect())
}

#[rstest]
#[case::the_usual_one(json!({"budget": {"money": 1.0}}), Some(1.0), &[])]
#[case::by_its_name(json!({"model": "usual", "budget": {"money": 1.0}}), Some(1.0), &[])]
#[case::another_one(json!({"model": "org/large.v1", "budget": {"money": 1.0}}), Some(20.0), &[])]
#[case::another_one_plans(json!({"plan": {"model": "org/large.v1"}, "budget": {"money": 1.0}}), Some(1.0), &[("org/large.v1", 20.0)])]
#[case::the_usual_one_plans(json!({"model": "small", "plan": {"model": "usual"}, "budget": {"money": 1.0}}), Some(0.1), &[("usual", 1.0)])]
#[case::the_same_one_plans(json!({"model": "small", "plan": {"model": "small"}, "budget": {"money": 1.0}}), Some(0.1), &[])]
#[case::nobody_plans(json!({"plan": {"when": "never", "model": "secret"}, "budget": {"money": 1.0}}), Some(1.0), &[])]
#[case::a_third_one_finds_out(
    json!({"model": "small", "plan": {"when": "auto", "detect": "model", "detect_model": "usual", "model": "org/large.v1"}, "budget": {"money": 1.0}}),
    Some(0.1), &[("org/large.v1", 20.0), ("usual", 1.0)]
)]
#[case::patterns_find_out(
    json!({"plan": {"when": "auto", "detect_model": "secret"}, "budget": {"money": 1.0}}), Some(1.0), &[]
)]
#[case::the_agent_says_so(
    json!({"model": "secret", "plan": {"model": "small"}, "budget": {"money": 1.0, "price": price(7.0)}}), Some(7.0), &[("small", 0.1)]
)]
#[case::its_price_is_that_of_models_nobody_knows(
    json!({"plan": {"model": "secret"}, "budget": {"money": 1.0, "price": price(7.0)}}), Some(7.0), &[]
)]
#[case::it_says_so_of_each(
    json!({"model": "secret", "plan": {"model": "small"}, "budget": {"money": 1.0, "prices": [ModelPrice::new("secret", price(3.0)), ModelPrice::new("small", price(4.0))]}}),
    Some(3.0), &[("secret", 3.0), ("small", 4.0)]
)]
fn every_model_that_may_be_asked_has_its_price(
    #[case] policies: Value,
    #[case] own: Option<f64>,
    #[case] others: &[(&str, f64)],
) {
    let mut agent = agent(policies);
    of_job(&mut agent, &known()).unwrap();
    assert_eq!(booked(&agent), (own, others.to_vec()));
}

#[rstest]
#[case::its_own(json!({"model": "secret"}), known(), "\"secret\" (agent.model)")]
#[case::the_planner(json!({"plan": {"model": "secret"}}), known(), "\"secret\" (agent.plan.model)")]
#[case::the_one_that_finds_out(
    json!({"plan": {"when": "auto", "detect": "model", "detect_model": "secret"}}), known(), "\"secret\" (agent.plan.detect_model)"
)]
#[case::the_usual_one(json!({}), ByModel::usual(Some("m".to_owned()), None), "\"m\" (model.name of the configuration)")]
#[case::one_without_a_name(json!({}), ByModel::default(), "the price of the configured model is unknown")]
fn a_model_whose_price_nobody_knows_is_named_with_what_to_do(
    #[case] policies: Value,
    #[case] known: ByModel<Price>,
    #[case] named: &str,
) {
    let mut agent = agent(policies);
    agent.budget.money = Some(1.0);
    let failure = of_job(&mut agent, &known).unwrap_err();
    assert_eq!(failure.code, Code::UnknownPrice);
    assert!(failure.message.contains(named), "{failure}");
    assert!(failure.hint.contains("configuration"), "{}", failure.hint);
}

#[rstest]
#[case::the_limit_of_the_job_holds_for_it(
    json!({"budget": {"money": 1.0}}), json!({"model": "small", "plan": {"model": "org/large.v1"}}), Ok((Some(0.1), vec![("org/large.v1", 20.0)]))
)]
#[case::its_own_limit(json!({}), json!({"budget": {"money": 1.0}}), Ok((Some(1.0), vec![])))]
#[case::what_the_job_says_of_the_same_model(
    json!({"model": "secret", "budget": {"money": 1.0, "price": price(9.0)}}), json!({"model": "secret"}), Ok((Some(9.0), vec![]))
)]
#[case::both_ask_the_usual_one(
    json!({"budget": {"money": 1.0, "price": price(9.0)}}), json!({}), Ok((Some(9.0), vec![]))
)]
#[case::what_the_job_says_is_not_of_another_model(
    json!({"budget": {"money": 1.0, "price": price(9.0)}}), json!({"model": "secret"}), Err(Code::UnknownPrice)
)]
fn a_sub_agent_pays_the_price_of_its_own_models(
    #[case] above: Value,
    #[case] policies: Value,
    #[case] expected: Result<Booked<'static>, Code>,
) {
    let (mut above, mut agent) = (agent(above), agent(policies));
    of_job(&mut above, &known()).unwrap();
    let found = of_sub_agent(&mut agent, &above, &known()).map_err(|failure| failure.code);
    assert_eq!(found.map(|()| booked(&agent)), expected);
}

/// A limit applies to every agent below the one that has it, and to no other.
#[test]
fn a_limit_holds_for_everybody_below_it() {
    let callee =
        |policies: Value| Callee { about: String::new(), agent: agent(policies), workflow: None };
    let sub =
        |names: &[&str]| json!(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>());
    let name = |name: &str| AgentName::new(name).unwrap();
    let callees = Callees::from_iter([
        (name("free"), callee(json!({"agents": sub(&["leaf", "other"])}))),
        (name("limited"), callee(json!({"budget": {"money": 0.5}, "agents": sub(&["middle"])}))),
        (name("middle"), callee(json!({"agents": sub(&["leaf", "limited"])}))),
        (name("leaf"), callee(json!({}))),
        (name("other"), callee(json!({}))),
    ]);
    let root = agent(json!({"agents": sub(&["free", "limited"])}));
    let found = limited(&root, &callees);
    assert_eq!(found, BTreeSet::from(["limited", "middle", "leaf"].map(name)));
    let root = agent(json!({"budget": {"money": 9.0}, "agents": sub(&["free", "limited"])}));
    assert_eq!(limited(&root, &callees).len(), 5);
}

#[test]
fn without_a_limit_the_known_prices_are_written_and_no_job_is_refused() {
    let mut all = agent(json!({"plan": {"model": "small"}}));
    of_job(&mut all, &known()).unwrap();
    assert_eq!(booked(&all), (Some(1.0), vec![("small", 0.1)]));
    let mut one = agent(json!({"model": "secret", "plan": {"model": "small"}}));
    of_job(&mut one, &known()).unwrap();
    assert_eq!(booked(&one), (None, vec![("small", 0.1)]));
    let mut none = agent(json!({"plan": {"model": "secret"}}));
    of_job(&mut none, &ByModel::default()).unwrap();
    assert_eq!(booked(&none), (None, vec![]));
    let mut below = agent(json!({"model": "secret"}));
    assert!(of_sub_agent(&mut below, &all, &known()).is_err());
    assert_eq!(booked(&below), (None, vec![]));
}
