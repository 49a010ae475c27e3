//! The language of workflows: graphs in YAML in two spellings, their checks, and the expressions and
//! templates in them.
//!
//! [`read::read`] reads a file to the internal form [`proto::workflow::Workflow`] and reports all
//! mistakes at once; [`evaluate::Evaluator`] evaluates the expressions and templates of that form
//! when a job takes a decision; [`export`] draws it, [`import`] converts graphs of other programs,
//! [`spell`] writes a workflow as a file, and [`edit`] changes one while a job runs it.

pub mod edit;
pub mod evaluate;
pub mod export;
pub mod expression;
pub mod import;
pub mod read;
pub mod schema;
pub mod shelf;
pub mod shipped;
pub mod spell;
mod template;
pub mod testing;
