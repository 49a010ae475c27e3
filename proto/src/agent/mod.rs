//! An agent: the policies by which one engine behaves like many. A job carries the agent it was
//! submitted with, so that editing an agent never changes a job that runs.
//!
//! One file for each axis; [`clash`] has the table of what does not go together. A word stands here
//! together with what it does elsewhere: none is accepted and ignored.

mod ask;
pub mod catalogue;
mod checked;
pub mod clash;
mod delegation;
mod plan;
mod policies;
mod replan;
pub mod source;
mod step;
mod sub;
mod tool;
pub mod words;

pub use self::{
    ask::Asking,
    checked::InvalidAgent,
    delegation::called_like_a_tool,
    plan::{OnUnparseable, PlanWhen, Planning},
    policies::Agent,
    replan::{Listed, ReplanApply, ReplanWhen, Replanning},
    step::{Dispatch, OnBlocked, OnFailure, OnUnsuccessful, StepExec, Stepping},
    sub::SubAgent,
    tool::{Calling, OnGivenUp},
};

#[cfg(test)]
mod tests;
