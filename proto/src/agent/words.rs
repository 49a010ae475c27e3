//! Every word of the axes that are words, and the agents they make: so that tests can try all of
//! them, and none is forgotten when one is added.

use super::{
    Agent, Dispatch, OnBlocked, OnFailure, OnUnsuccessful, PlanWhen, ReplanApply, ReplanWhen,
    StepExec,
};
use crate::policy::PlanProtocol;

/// Sets one word of one axis.
pub type Word = fn(&mut Agent);

macro_rules! words {
    ($($axis:ident.$field:ident: $($word:expr),+;)+) => {
        &[$(&[$(|a: &mut Agent| a.$axis.$field = $word),+]),+]
    };
}

/// The words of each axis. An axis that is not a word of a policy (`dispatch`, `confirm`) is below.
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

fn axes() -> Vec<&'static [Word]> {
    AXES.iter().chain(TOP).copied().collect()
}

/// Every agent that the words make; tens of thousands.
pub fn combinations() -> impl Iterator<Item = Agent> {
    let axes = axes();
    let all: usize = axes.iter().map(|axis| axis.len()).product();
    (0..all).map(move |number| {
        let (mut agent, mut rest) = (Agent::default(), number);
        for axis in &axes {
            if let Some(word) = axis.get(rest % axis.len()) {
                word(&mut agent);
            }
            rest /= axis.len();
        }
        agent
    })
}

/// For every two words of different axes an agent that has both, everything else being the default;
/// some hundreds.
pub fn pairs() -> impl Iterator<Item = Agent> {
    let axes = axes();
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
