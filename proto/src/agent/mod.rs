//! Agents: the policies by which one engine covers many designs. A job carries the agent of its
//! submission, so editing an agent never changes a running job.
//!
//! There is one file for each group of policies. Every accepted value of a policy has an effect.

mod approving;
mod ask;
mod checked;
mod delegation;
mod hosts;
mod layer;
mod plan;
mod policies;
mod replan;
mod step;
mod sub;
mod summary;
mod tool;

pub use self::{
    approving::{After, Approving, CallRule, Consequence, Inherited, Narrowing, UntrustedPolicy},
    ask::Asking,
    checked::InvalidAgent,
    hosts::Hosts,
    layer::Layer,
    plan::{OnUnparseable, PlanWhen, Planning},
    policies::Agent,
    replan::{Listed, ReplanApply, ReplanWhen, Replanning},
    step::{Dispatch, OnBlocked, OnFailure, OnUnsuccessful, StepExec, Stepping},
    sub::SubAgent,
    summary::{Policy, summary},
    tool::{Calling, OnGivenUp},
};

#[cfg(test)]
mod tests;
