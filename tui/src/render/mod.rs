//! Rendering that the command line and the terminal user interface share: pure functions from the
//! protocol's types to lines with tones. Every text from a model, a tool or a person is escaped
//! here.

pub mod children;
pub mod diff;
pub mod event;
pub mod line;
pub mod marks;
pub mod plan_text;
pub mod question;
pub mod style;
pub mod text;
pub mod tree;
mod words;
pub mod workflow;
