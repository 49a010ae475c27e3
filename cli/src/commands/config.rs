//! `config show`: every key that has a value, with its source; secrets masked.

use crate::{
    args::Global,
    connect,
    failure::Outcome,
    output::Output,
    render::settings::{self, Shown},
};

/// Prints the settings.
pub(super) fn show(global: &Global, output: Output) -> Outcome {
    let config = connect::config(global)?;
    let shown: Vec<Shown> = config.explain().iter().map(Shown::from).collect();
    output.list(&shown, &shown, |s| s.key.clone(), |look| settings::list(look, config.explain()))
}
