//! An agent: the policies by which one engine behaves like many. A job carries the agent it was
//! submitted with, so that editing an agent never changes a job that runs.
//!
//! One file for each axis. A word stands here together with what it does elsewhere: none is accepted
//! and ignored.

mod ask;
mod checked;
mod delegation;
mod layer;
mod plan;
mod policies;
mod replan;
mod step;
mod sub;
mod tool;

pub use self::{
    ask::Asking,
    checked::InvalidAgent,
    delegation::called_like_a_tool,
    layer::Layer,
    plan::{OnUnparseable, PlanWhen, Planning},
    policies::Agent,
    replan::{Listed, ReplanApply, ReplanWhen, Replanning},
    step::{Dispatch, OnBlocked, OnFailure, OnUnsuccessful, StepExec, Stepping},
    sub::SubAgent,
    tool::{Calling, OnGivenUp},
};

#[cfg(test)]
mod tests;
