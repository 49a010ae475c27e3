//! The language of workflows: graphs in YAML in two spellings, their checks, and the expressions and
//! templates in them.
//!

pub mod evaluate;
pub mod expression;
pub mod schema;
mod template;
