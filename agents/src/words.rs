//! Every word of the axes that are words, and the agents they make: so that tests can try all of
//! them, and none is forgotten when one is added.

use proto::{
    agent::{
        Agent, Dispatch, Listed, OnBlocked, OnFailure, OnGivenUp, OnUnparseable, OnUnsuccessful,
        PlanWhen, ReplanApply, ReplanWhen, StepExec,
    },
    budget::AtLimit,
    observe::Summarise,
    policy::{AskLimit, AskWhen, Detector, PlanOutput, PlanProtocol},
};

/// Sets one word of one axis.
pub type Word = fn(&mut Agent);

macro_rules! words {
    ($($axis:ident.$field:ident: $($word:expr),+;)+) => {
        &[$(&[$(|a: &mut Agent| a.$axis.$field = $word),+]),+]
    };
}

/// The words of the axes that decide what goes together. An axis that is not a word of a policy
/// (`dispatch`, `confirm`) is below.
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

/// The words of all other axes.
const OTHERS: &[&[Word]] = words![
    plan.output: PlanOutput::Text, PlanOutput::Tool;
    plan.detect: Detector::Patterns, Detector::Model;
    plan.on_unparseable: OnUnparseable::Fail, OnUnparseable::Ask;
    plan.allow_empty: false, true;
    replan.listed: Listed::Each, Listed::All;
    tool.on_given_up: OnGivenUp::Fail, OnGivenUp::Park;
    budget.at_limit: AtLimit::LetEnd, AtLimit::Abandon;
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

/// The agent of a number below the size of the axes.
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

/// Every agent that the words of the axes make that decide what goes together; tens of thousands.
pub fn combinations() -> impl Iterator<Item = Agent> {
    let axes = axes();
    (0..size(&axes)).map(move |number| numbered(&axes, number))
}

/// `count` agents out of all that the words of all axes make, tens of millions: far from each other
/// and always the same ones.
pub fn sample(count: usize) -> impl Iterator<Item = Agent> {
    let axes = all_axes();
    numbers(size(&axes), count).map(move |number| numbered(&axes, number))
}

/// Numbers below `all`, none twice, spread evenly however many are taken: steps of the golden ratio.
fn numbers(all: usize, count: usize) -> impl Iterator<Item = usize> {
    let golden = all / 1000 * 618;
    // A step that shares no factor with `all` visits every number before it repeats one.
    // The axes have two, three, four and seven words.
    let step = (golden..).find(|n| [2, 3, 7].iter().all(|factor| n % factor != 0)).unwrap_or(1);
    (0..count.min(all)).map(move |n| n.wrapping_mul(step) % all)
}

/// For every two words of different axes an agent that has both, everything else being the default;
/// more than a thousand.
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
