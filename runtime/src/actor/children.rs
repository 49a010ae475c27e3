//! Ends the children of an actor in the order in which they were started. By itself ractor does so in
//! the order of a hash map, which differs every time. The child that is messaged first runs first, so
//! a run of the simulation could not be replayed.
//!
//! It must not end anybody but the children of the actor it was given.

use std::time::Duration;

use ractor::ActorCell;

/// Asks every child to stop once it has handled the message it is at, and waits until all have, each
/// for no longer than `within`.
pub async fn stop_children(parent: &ActorCell, within: Duration) {
    let stops = in_order(parent).into_iter().map(|child| async move {
        if let Err(error) = child.stop_and_wait(None, Some(within)).await {
            tracing::debug!(child = %child.get_id(), %error, "a child did not stop in time");
        }
    });
    futures::future::join_all(stops).await;
}

/// Kills an actor and all actors below it: each stops wherever it waits next.
pub fn kill(root: &ActorCell) {
    root.kill();
    kill_children(root);
}

/// Kills all actors below one, as happens to them anyhow when it fails.
pub fn kill_children(parent: &ActorCell) {
    in_order(parent).iter().for_each(kill);
}

fn in_order(parent: &ActorCell) -> Vec<ActorCell> {
    let mut children = parent.get_children();
    children.sort_unstable_by_key(|child| child.get_id().pid());
    children
}
