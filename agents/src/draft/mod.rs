//! From JSON that is meant as a plan to a [`proto::plan::Plan`]: what a model wrote, or a person who
//! changes the plan that is shown to them. Both are held to the same rules, and a plan that is not
//! whole is refused as a whole.

mod mistakes;
mod shape;
mod whole;

pub use self::{
    mistakes::mistakes,
    shape::{Draft, DraftStep, Misshapen, of},
    whole::{CheckArgs, Frame, Unsound, plan},
};
