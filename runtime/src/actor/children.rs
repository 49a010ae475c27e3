//! The end of an actor's children, in the order of their start. By itself ractor ends them in the
//! order of a hash map, which differs between runs. The child that is messaged first runs first, so
//! a run of the simulation could not be replayed.
//!
//! Only the children of the given actor are ended.

use std::time::Duration;

use ractor::ActorCell;

/// Stops every child after its current message, and waits until all have stopped. A child that
/// takes longer than `within` is left behind.
pub async fn stop_children(parent: &ActorCell, within: Duration) {
    let stops = in_order(parent).into_iter().map(|child| async move {
        if let Err(error) = child.stop_and_wait(None, Some(within)).await {
            tracing::debug!(child = %child.get_id(), %error, "a child did not stop in time");
        }
    });
    futures::future::join_all(stops).await;
}

/// Kills an actor and all actors below it. Each ends at its next await point.
pub fn kill(root: &ActorCell) {
    root.kill();
    kill_children(root);
}

/// Kills all actors below one. They would be killed anyway when the parent fails.
pub fn kill_children(parent: &ActorCell) {
    in_order(parent).iter().for_each(kill);
}

fn in_order(parent: &ActorCell) -> Vec<ActorCell> {
    let mut children = parent.get_children();
    children.sort_unstable_by_key(|child| child.get_id().pid());
    children
}
