//! The terminal user interface of Callboard: a pure model, its drawing, and a thin shell over the
//! client of the front door; and the rendering that the command line shares.
//!
//! Architecture invariant: the model performs no I/O. A request that changes something leaves it
//! only after a person confirmed it in a dialog.

mod draw;
pub mod model;
pub mod render;
mod shell;
mod words;

pub use self::shell::{Options, ShellError, run};

#[cfg(test)]
mod tests;
