//! `crew ls`: lists the running processes.

use crate::{args::Global, connect, failure::Outcome, output::Output, render::crew};

pub(super) async fn ls(global: &Global, output: Output) -> Outcome {
    let found = connect::client(global, output).await?.crew().await?;
    output.list(&found, &found.workers, |w| w.worker.to_string(), |style| crew::list(style, &found))
}
