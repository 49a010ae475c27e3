//! `crew ls`.

use crate::{args::Global, connect, failure::Outcome, output::Output, render::crew};

/// Lists the processes that are alive.
pub(super) async fn ls(global: &Global, output: Output) -> Outcome {
    let found = connect::client(global, output).await?.crew().await?;
    output.list(&found, &found.workers, |w| w.worker.to_string(), |look| crew::list(look, &found))
}
