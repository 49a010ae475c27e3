//! Tests of the costs of jobs, on a log in memory and on a real nats-server.

use agents::price::ByModel;
use broker::{
    Broker,
    testing::jobs::{self, Jobs},
};
use callboard_tests::drive::{self, Timers};
use proto::{
    budget::Price,
    cost::Cost,
    error::Code,
    fact::{Called, Fact, Planned},
    id::{JobId, WorkId},
    message::Usage,
    tool::{Effect, ToolResult},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{hall::Setup, selecting::House};

/// Stores a fact and the decisions that follow.
async fn tell(broker: &Broker, job: &JobId, fact: Fact) {
    let jobs = Jobs { broker: broker.clone() };
    jobs.append(job, fact).await;
    drive::drive(&jobs, job, Timers::LeftOut).await;
}

/// The result of the only step, which cost money.
fn called(work: &str, money: f64) -> Fact {
    let cost = Cost { usage: Usage::default(), money: Some(money) };
    let work = WorkId::new(work).unwrap();
    let result = ToolResult::ok(json!("done"));
    Fact::Called(Called { work: work.clone(), result, cost, ..jobs::called("g0.r0.one") })
}

/// Carries out a job whose plan cost 1,000 tokens in and 100 out, and whose tool cost money.
async fn carry_out(house: &House, id: &str, agent: Value, money: f64) -> JobId {
    house.ask("submit", &json!({"id": id, "goal": "look", "agent": agent})).await;
    let job = JobId::new(id).unwrap();
    drive::drive(&Jobs { broker: house.broker.clone() }, &job, Timers::LeftOut).await;
    let step = jobs::step("one", "look", json!({}), jobs::binding(Effect::Pure));
    let usage = Usage { cached_tokens: 400, ..Usage::reported(1_000, 100) };
    let planned = Planned { usage, ..jobs::planned(vec![step]) };
    tell(&house.broker, &job, Fact::Planned(planned)).await;
    tell(&house.broker, &job, called("g0.r0.one", money)).await;
    job
}

/// Returns an amount of money in millionths of a dollar.
fn millionths(money: &Value) -> Option<f64> {
    money.as_f64().map(|money| (money * 1e6).round())
}

/// Returns the names of a part of a report, each with its jobs and its money.
fn named(part: &Value) -> Vec<(String, u64, Option<f64>)> {
    let one = |one: &Value| {
        let name = one["name"].as_str().or(one["job"].as_str()).unwrap().to_owned();
        (name, one["jobs"].as_u64().unwrap_or_default(), millionths(&one["money"]))
    };
    part.as_array().unwrap().iter().map(one).collect()
}

fn rows<const N: usize>(rows: [(&str, u64, Option<f64>); N]) -> Vec<(String, u64, Option<f64>)> {
    rows.map(|(name, jobs, money)| (name.to_owned(), jobs, money)).to_vec()
}

#[rstest]
#[tokio::test]
async fn costs_are_summed_and_a_rollback_takes_nothing_back(#[values(false, true)] server: bool) {
    let price = Price::new(1.0, 2.0);
    let prices = ByModel::usual(Some("usual".to_owned()), Some(price));
    let house = House::with(server, Setup { prices, ..Setup::default() }).await;
    let empty = house.ask("usage", &json!({})).await;
    assert_eq!(
        (&empty["jobs"], &empty["more"], &empty["money"]),
        (&json!(0), &json!(false), &Value::Null)
    );

    let first = carry_out(&house, "first", json!("unattended"), 0.25).await;
    carry_out(&house, "second", json!("default"), 0.5).await;
    carry_out(&house, "third", json!({"confirm": false, "model": "secret"}), 0.0).await;
    // `second` waits for its plan to be confirmed, so its tool was never called.
    let report = house.ask("usage", &json!({})).await;
    let usage = json!({"input_tokens": 3_000, "cached_tokens": 1_200, "output_tokens": 300});
    let unpriced = json!({"input_tokens": 1_000, "cached_tokens": 400, "output_tokens": 100});
    assert_eq!((&report["jobs"], &report["usage"]), (&json!(3), &usage), "{report}");
    assert_eq!((&report["unpriced"], millionths(&report["money"])), (&unpriced, Some(252_400.0)));
    assert_eq!(report["days"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(
        named(&report["models"]),
        rows([("default", 2, Some(2_400.0)), ("secret", 1, None)])
    );
    assert_eq!(named(&report["tools"]), rows([("look", 2, Some(250_000.0))]));
    let dearest =
        [("first", 0, Some(251_200.0)), ("second", 0, Some(1_200.0)), ("third", 0, Some(0.0))];
    assert_eq!(named(&report["dearest"]), rows(dearest));
    let mine = house.ask("usage", &json!({"agent": "unattended"})).await;
    assert_eq!(named(&mine["agents"]), rows([("unattended", 1, Some(251_200.0))]));
    let since = house.ask("get", &json!({"job": "second"})).await["created"].clone();
    let late = house.ask("usage", &json!({"since": since})).await;
    assert_eq!((&late["since"], &late["jobs"]), (&since, &json!(2)), "{late}");

    // Twice, because the second time the rows of ended jobs are in memory.
    for _ in 0..2 {
        let listed = house.ask("list", &json!({"agent": "unattended"})).await;
        let spent = &listed["jobs"][0]["spent"];
        assert_eq!(
            (&spent["usage"]["input_tokens"], millionths(&spent["money"])),
            (&json!(1_000), Some(251_200.0)),
            "{listed}"
        );
    }
    let restart = json!({"job": "first", "signal": {"restart": {"step": "one"}}});
    house.ask("signal", &restart).await;
    let again = house.ask("usage", &json!({"agent": "unattended"})).await;
    assert_eq!(millionths(&again["money"]), Some(251_200.0), "what was paid stays paid: {again}");
    drive::drive(&Jobs { broker: house.broker.clone() }, &first, Timers::LeftOut).await;
    tell(&house.broker, &first, called("g1.r0.one", 0.25)).await;
    let twice = house.ask("usage", &json!({"agent": "unattended"})).await;
    assert_eq!(named(&twice["tools"]), rows([("look", 1, Some(500_000.0))]));
    // A fork begins with the tokens of its source, which its own cost does not repeat.
    let jobs = Jobs { broker: house.broker.clone() };
    let at = jobs.positions(&first, "called").await[0];
    house.ask("submit", &json!({"id": "fork", "fork": {"job": "first", "at": at}})).await;
    let forked = house.ask("usage", &json!({"agent": "unattended"})).await;
    assert_eq!((&forked["jobs"], &forked["money"]), (&json!(2), &twice["money"]), "{forked}");
    let wrong = house.refused("usage", &json!({"since": "yesterday"})).await;
    assert_eq!(wrong, (Code::InvalidRequest, "since".to_owned()));
}
