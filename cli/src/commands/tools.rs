//! `tools ls`: lists the registered tools.

use crate::{args::Global, connect, failure::Outcome, output::Output, render::tools};

pub(super) async fn ls(global: &Global, output: Output) -> Outcome {
    let found = connect::client(global, output).await?.tools().await?;
    output.list(&found, &found.tools, |t| t.name.to_string(), |style| tools::list(style, &found))
}
