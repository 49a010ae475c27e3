//! The parser of plans: from the JSON of a model, or of a user who edits a proposed plan, to a
//! [`proto::plan::Plan`]. Both authors follow the same rules. A plan with one invalid step is
//! refused as a whole.

mod mistakes;
mod shape;
mod whole;
mod written;

pub use self::{
    mistakes::mistakes,
    shape::{Draft, DraftStep, Misshapen, of},
    whole::{CheckArgs, Frame, Unsound, plan},
    written::{Mistakes, Rules, written},
};
