//! The list of a server's tools, page by page, with bounds.

use std::{collections::BTreeSet, time::Duration};

use rmcp::{
    RoleClient,
    model::{PaginatedRequestParams, Tool},
    service::{Peer, ServiceError},
};

/// Largest number of pages of a server's list.
pub(crate) const LIST_PAGES_MAX: usize = 50;
/// Largest number of tools of a server.
pub(crate) const LIST_TOOLS_MAX: usize = 1_000;
/// Largest list of a server, in bytes of JSON.
pub(crate) const LIST_BYTES_MAX: usize = 5 * 1024 * 1024;
/// Time for the whole list.
pub(crate) const LIST_WITHIN: Duration = Duration::from_secs(60);

/// The reason why a list cannot be used. A part of a list is never used: the rest might hide a tool
/// of the same name.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The server answered with an error, or closed the connection.
    #[error("the tools cannot be listed: {0}")]
    Failed(#[from] ServiceError),
    /// The list took too long.
    #[error("the list of tools did not end within {LIST_WITHIN:?}")]
    Late,
    /// The list has too many pages.
    #[error("the list of tools has more than {LIST_PAGES_MAX} pages")]
    Pages,
    /// A page names itself or an earlier one as the next.
    #[error("the list of tools repeats a page")]
    Repeats,
    /// The list has too many tools.
    #[error("there are more than {LIST_TOOLS_MAX} tools")]
    Tools,
    /// The list is too large.
    #[error("the list of tools has more than {LIST_BYTES_MAX} bytes")]
    Bytes,
}

/// Lists all tools of a server.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ListError> {
    tokio::time::timeout(LIST_WITHIN, pages(peer)).await.unwrap_or(Err(ListError::Late))
}

async fn pages(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ListError> {
    let (mut tools, mut bytes) = (Vec::new(), 0);
    let (mut cursor, mut seen) = (None::<String>, BTreeSet::new());
    for _ in 0..LIST_PAGES_MAX {
        let page = cursor.map(|it| PaginatedRequestParams::default().with_cursor(Some(it)));
        let page = peer.list_tools(page).await?;
        bytes += page.tools.iter().map(size).sum::<usize>();
        tools.extend(page.tools);
        if bytes > LIST_BYTES_MAX {
            return Err(ListError::Bytes);
        }
        if tools.len() > LIST_TOOLS_MAX {
            return Err(ListError::Tools);
        }
        let Some(next) = page.next_cursor.filter(|next| !next.is_empty()) else { return Ok(tools) };
        if !seen.insert(next.clone()) {
            return Err(ListError::Repeats);
        }
        cursor = Some(next);
    }
    Err(ListError::Pages)
}

fn size(tool: &Tool) -> usize {
    serde_json::to_string(tool).map_or(usize::MAX / (2 * LIST_TOOLS_MAX), |text| text.len())
}
