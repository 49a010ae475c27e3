//! `doctor`.
use crate::{args::Global, exit::Exit, failure::Outcome, output::Output};
pub(super) async fn run(_global: &Global, _output: Output) -> Outcome {
    Ok(Exit::Success)
}
