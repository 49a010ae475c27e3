//! The expressions of workflows: a part of Jinja's language, read to a tree with the position of
//! every part, so that names, filters and types are checked before a job runs.
//!
//! minijinja evaluates the same text. This module accepts less than minijinja: no statements, no
//! calls, no `*` and `**` (which repeat texts), and the vetted filters and tests alone.

mod lexer;
mod parser;
mod tree;
mod vetted;

pub(crate) use self::{
    lexer::{Misread, Problem},
    parser::parse,
    tree::{Binary, Expr, Part, Step},
    vetted::{FILTERS, TESTS},
};

/// Maximum length of the source of one expression, in bytes.
pub const SOURCE_BYTES_MAX: usize = 4 * 1024;

/// Maximum number of `+` and `~` in one expression. Each copies the text before it.
pub const JOINS_MAX: usize = 64;

/// Maximum number of filters in one expression. Each may read the whole value before it, which fuel
/// does not count.
pub const FILTERS_MAX: usize = 16;

/// Maximum nesting of one expression.
pub const DEPTH_MAX: usize = 32;

#[cfg(test)]
mod tests;
