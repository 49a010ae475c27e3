//! Prices of the models that a job may use. They are written into its policies at submission, so
//! that the job keeps them and its log is folded without any configuration. Pure.
//!
//! A limit on money with an unknown price is always refused. Without a limit, the known prices tell
//! the cost of the job, and the tokens of other models have no price.

use std::collections::BTreeSet;

use agents::price::ByModel;
use proto::{
    agent::{Agent, PlanWhen},
    budget::{Budget, Price},
    error::{Code, Failure},
    family::{Callee, Callees},
    id::AgentName,
    lang::Words,
    policy::Detector,
    price::ModelPrice,
    refusal::Text,
};

/// Writes current prices into the agent of a job. With a limit on money, every model needs one.
pub(super) fn of_job(agent: &mut Agent, known: &ByModel<Price>) -> Result<(), Failure> {
    let priced = priced(agent, known, &Budget::default());
    if agent.budget.money.is_none() { Ok(()) } else { priced }
}

/// Does the same for a sub-agent, and fails if one of its models has no known price. A price in the
/// job's own agent precedes a configured one.
pub(super) fn of_sub_agent(
    agent: &mut Agent,
    above: &Agent,
    known: &ByModel<Price>,
) -> Result<(), Failure> {
    let mut said = above.budget.clone();
    match &above.model {
        // This price belongs to the model that the job's agent names. A sub-agent without a model
        // uses the configured one.
        Some(model) => {
            said.prices.extend(said.price.map(|price| ModelPrice::new(model, price)));
            said.price = None;
        }
        None => said.price = said.price.filter(|_| agent.model.is_none()),
    }
    priced(agent, known, &said)
}

/// Returns the warning that jobs of an agent would be refused, because a price is unknown. The
/// configuration may name the price before a job is submitted.
#[must_use]
pub fn doubt(agent: &Agent, known: &ByModel<Price>) -> Option<Words> {
    let failure = of_job(&mut agent.clone(), known).err()?;
    let reason = failure.reason?;
    Some(Words::new(|language| {
        let why = reason.text(language).unwrap_or_default();
        Text::MoneyUnpriced { name: &agent.name, why: &why }.text(language)
    }))
}

/// Returns the sub-agents to which a limit on money applies: their own, or that of any agent above
/// them.
pub(super) fn limited(agent: &Agent, callees: &Callees) -> BTreeSet<AgentName> {
    let own = |callee: &Callee| callee.agent.budget.money.is_some();
    let below = |agent: &Agent| agent.agents.iter().map(|sub| sub.name.clone()).collect::<Vec<_>>();
    let mut found: BTreeSet<AgentName> =
        callees.iter().filter(|(_, callee)| own(callee)).map(|(name, _)| name.clone()).collect();
    let mut wanted: Vec<AgentName> = found.iter().cloned().collect();
    if agent.budget.money.is_some() {
        wanted.extend(below(agent).into_iter().filter(|name| found.insert(name.clone())));
    }
    while let Some(name) = wanted.pop() {
        let next = callees.get(&name).map(|callee| below(&callee.agent)).unwrap_or_default();
        wanted.extend(next.into_iter().filter(|name| found.insert(name.clone())));
    }
    found
}

/// Adds the price of every model that the agent may use and that has none yet, and fails with the
/// first model whose price is not known.
fn priced(agent: &mut Agent, known: &ByModel<Price>, above: &Budget) -> Result<(), Failure> {
    let price_of = |own: &Budget, model: Option<&str>| match model {
        Some(model) => {
            let said = own.own_price(model).or_else(|| above.own_price(model));
            said.or_else(|| known.of(Some(model)))
        }
        None => above.price.or_else(|| known.of(None)),
    };
    // The price of the agent's own model also applies to models without a known price.
    let says = agent.budget.price.is_some();
    let mut failure = None;
    if !says {
        let model = agent.model.as_deref();
        agent.budget.price = price_of(&agent.budget, model);
        if agent.budget.price.is_none() {
            failure = Some(unknown("model", model, known));
        }
    }
    for (policy, model) in others(agent) {
        if agent.model.as_ref() == Some(&model) || agent.budget.own_price(&model).is_some() {
            continue;
        }
        match price_of(&agent.budget, Some(&model)) {
            Some(price) => agent.budget.prices.push(ModelPrice::new(model, price)),
            None if says => {}
            None => failure = failure.or_else(|| Some(unknown(policy, Some(&model), known))),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Returns the models that the agent may use in addition to its own, each with the policy that
/// names it.
fn others(agent: &Agent) -> Vec<(&'static str, String)> {
    let plan = &agent.plan;
    let plans = match plan.when {
        PlanWhen::Never => false,
        PlanWhen::Always => agent.has_planner(),
        PlanWhen::Auto => true,
    };
    let detects = plan.when == PlanWhen::Auto && plan.detect == Detector::Model;
    let planner = plan.model.clone().filter(|_| plans);
    let detector = plan.detect_model.clone().filter(|_| detects);
    let named = [("plan.model", planner), ("plan.detect_model", detector)];
    let named = named.into_iter().filter_map(|(policy, model)| Some((policy, model?)));
    named.chain(agent.fallback.iter().map(|one| ("fallback", one.model.clone()))).collect()
}

fn unknown(policy: &str, model: Option<&str>, known: &ByModel<Price>) -> Failure {
    let named = model.or_else(|| known.usual_name()).map(|name| proto::excerpt::ends(name, 80));
    let named = named.map(|name| format!("{name:?}"));
    let why = match (&named, model) {
        (Some(name), Some(_)) => Text::PriceOfPolicy { name, policy: &policy },
        (Some(name), None) => Text::PriceOfSetting { name },
        (None, _) => Text::PriceOfModel,
    };
    let failure = Failure::about(Code::UnknownPrice, "agent.budget.money", why);
    failure.next(match &named {
        Some(name) => Text::SetPriceOf { name },
        None => Text::SetPrice,
    })
}

#[cfg(test)]
mod tests;
