//! `config show`: prints every setting with its source; secrets are masked.

use crate::{
    args::Global,
    connect,
    failure::Outcome,
    output::Output,
    render::settings::{self, Shown},
};

pub(super) fn show(global: &Global, output: Output) -> Outcome {
    let config = connect::config(global)?;
    let shown: Vec<Shown> = config.explain().iter().map(Shown::from).collect();
    output.list(&shown, &shown, |s| s.key.clone(), |style| settings::list(style, config.explain()))
}
