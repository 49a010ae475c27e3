//! The values of all enumerated policies, and the agents that they combine to. Tests try them all,
//! and a new value must be added here.

use proto::{
    agent::{
        Agent, Dispatch, Listed, OnBlocked, OnFailure, OnGivenUp, OnUnparseable, OnUnsuccessful,
        PlanWhen, ReplanApply, ReplanWhen, StepExec,
    },
    budget::AtLimit,
    observe::Summarise,
    policy::{AskLimit, AskWhen, Detector, PlanOutput, PlanProtocol},
};

/// A function that sets one policy to one value.
pub type Word = fn(&mut Agent);

macro_rules! words {
    ($($axis:ident.$field:ident: $($word:expr),+;)+) => {
        &[$(&[$(|a: &mut Agent| a.$axis.$field = $word),+]),+]
    };
}

/// The values of the policies that may conflict. Policies that are not fields of a group
/// (`dispatch`, `confirm`) are below.
const AXES: &[&[Word]] = words![
    plan.when: PlanWhen::Always, PlanWhen::Never, PlanWhen::Auto;
    plan.protocol: PlanProtocol::Steps, PlanProtocol::TaskSteps, PlanProtocol::TitleSteps,
        PlanProtocol::ActionSteps, PlanProtocol::Decision, PlanProtocol::Phased, PlanProtocol::InlineTools;
    step.exec: StepExec::AsPlanned, StepExec::DirectTool, StepExec::MasterLoop, StepExec::SingleAction;
    step.on_failure: OnFailure::Stop, OnFailure::Continue, OnFailure::Replan, OnFailure::FailRun;
    step.on_blocked: OnBlocked::Error, OnBlocked::Skip;
    step.on_unsuccessful: OnUnsuccessful::Fail, OnUnsuccessful::Complete;
    replan.when: None, Some(ReplanWhen::Never), Some(ReplanWhen::OnFailure), Some(ReplanWhen::AfterListed),
        Some(ReplanWhen::AfterEachStep), Some(ReplanWhen::AfterEachItem), Some(ReplanWhen::EveryTurn);
    replan.apply: ReplanApply::ReplaceAll, ReplanApply::ReplacePending, ReplanApply::Append;
];

const TOP: &[&[Word]] = &[
    &[
        |a| a.dispatch = Dispatch::Parallel,
        |a| a.dispatch = Dispatch::Sequential,
        |a| a.dispatch = Dispatch::Levels,
    ],
    &[|a| a.confirm = false, |a| a.confirm = true],
];

/// The values of all other policies.
const OTHERS: &[&[Word]] = words![
    plan.output: PlanOutput::Text, PlanOutput::Tool;
    plan.detect: Detector::Patterns, Detector::Model;
    plan.on_unparseable: OnUnparseable::Fail, OnUnparseable::Ask;
    plan.allow_empty: false, true;
    replan.listed: Listed::Each, Listed::All;
    tool.on_given_up: OnGivenUp::Fail, OnGivenUp::Park;
    budget.at_limit: AtLimit::LetEnd, AtLimit::Abandon;
    approval.four_eyes: false, true;
    ask.limit: AskLimit::AtMost(3), AskLimit::AtMost(0), AskLimit::Unlimited;
    ask.prefix: false, true;
    ask.when: AskWhen::Both, AskWhen::Planning, AskWhen::Steps;
    observe.summarise: Summarise::Nothing, Summarise::Exchanges, Summarise::All;
];

fn axes() -> Vec<&'static [Word]> {
    AXES.iter().chain(TOP).copied().collect()
}

fn all_axes() -> Vec<&'static [Word]> {
    AXES.iter().chain(TOP).chain(OTHERS).copied().collect()
}

fn size(axes: &[&[Word]]) -> usize {
    axes.iter().map(|axis| axis.len()).product()
}

/// Returns the agent of a number below the product of the axes' sizes.
fn numbered(axes: &[&[Word]], number: usize) -> Agent {
    let (mut agent, mut rest) = (Agent::default(), number);
    for axis in axes {
        if let Some(word) = axis.get(rest % axis.len()) {
            word(&mut agent);
        }
        rest /= axis.len();
    }
    agent
}

/// Returns every combination of the values that may conflict; tens of thousands.
pub fn combinations() -> impl Iterator<Item = Agent> {
    let axes = axes();
    (0..size(&axes)).map(move |number| numbered(&axes, number))
}

/// Returns `count` of the tens of millions of combinations of all values. The sample is spread
/// evenly and is always the same.
pub fn sample(count: usize) -> impl Iterator<Item = Agent> {
    let axes = all_axes();
    numbers(size(&axes), count).map(move |number| numbered(&axes, number))
}

/// Returns distinct numbers below `all`, spread evenly for any `count`. The step is a golden ratio
/// of `all`.
fn numbers(all: usize, count: usize) -> impl Iterator<Item = usize> {
    let golden = all / 1000 * 618;
    // A step without a common factor with `all` visits every number before it repeats one. The axes
    // have two, three, four and seven values.
    let step = (golden..).find(|n| [2, 3, 7].iter().all(|factor| n % factor != 0)).unwrap_or(1);
    (0..count.min(all)).map(move |n| n.wrapping_mul(step) % all)
}

/// Returns an agent for every two values of different policies, with defaults elsewhere; more than
/// a thousand.
pub fn pairs() -> impl Iterator<Item = Agent> {
    let axes = all_axes();
    let mut agents = Vec::new();
    for (number, one) in axes.iter().enumerate() {
        for other in axes.iter().skip(number + 1) {
            for (first, second) in one.iter().flat_map(|a| other.iter().map(move |b| (a, b))) {
                let mut agent = Agent { confirm: false, ..Agent::default() };
                first(&mut agent);
                second(&mut agent);
                agents.push(agent);
            }
        }
    }
    agents.into_iter()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_sample_has_every_two_words_and_no_agent_twice() {
        let axes = all_axes();
        let picked: BTreeSet<usize> = numbers(size(&axes), 10_000).collect();
        assert_eq!(picked.len(), 10_000);
        let words = |mut number: usize| -> Vec<usize> {
            let word = |axis: &&[Word]| {
                let word = number % axis.len();
                number /= axis.len();
                word
            };
            axes.iter().map(word).collect()
        };
        let picked: Vec<Vec<usize>> = picked.into_iter().map(words).collect();
        for one in 0..axes.len() {
            for other in one + 1..axes.len() {
                let both: BTreeSet<_> = picked.iter().map(|w| (w[one], w[other])).collect();
                assert_eq!(both.len(), axes[one].len() * axes[other].len(), "{one} and {other}");
            }
        }
    }
}
