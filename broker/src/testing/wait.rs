//! Waits for tests. A test waits for an event and asserts no wall-clock time, so a slow machine
//! makes a test slow but never red. [`PATIENCE`] only ends a test that would wait for ever.

use std::{
    fmt::{Debug, Display},
    time::{Duration, Instant},
};

/// Longest wait of any test.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Interval of polls where no event is available.
const LOOK: Duration = Duration::from_millis(20);

/// Awaits a future for at most [`PATIENCE`]; `None` on timeout.
pub async fn patiently<F: Future>(future: F) -> Option<F::Output> {
    tokio::time::timeout(PATIENCE, future).await.ok()
}

/// Awaits a future for at most [`PATIENCE`].
///
/// # Panics
/// On timeout; the message contains `what`.
pub async fn soon<F: Future>(what: impl Display, future: F) -> F::Output {
    let Some(output) = patiently(future).await else { in_vain(&what, &"") };
    output
}

/// Polls something that gives no event, such as another process's output. Polls for ever: callers
/// bound it with [`patiently`].
pub async fn repeatedly<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Polls with [`repeatedly`] for at most [`PATIENCE`]. An error of `look` describes its last
/// observation.
///
/// # Panics
/// On timeout, with the last error of `look`.
pub async fn eventually<T, E: Debug>(
    what: impl Display,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let mut last = None;
    let looking = repeatedly(async || match look().await {
        Ok(found) => Some(found),
        Err(seen) => {
            last = Some(seen);
            None
        }
    });
    match patiently(looking).await {
        Some(found) => found,
        None => in_vain(&what, &last),
    }
}

/// Polls a condition with [`eventually`].
///
/// # Panics
/// If the condition does not hold within [`PATIENCE`].
pub async fn until(what: impl Display, mut holds: impl AsyncFnMut() -> bool) {
    eventually(what, async || if holds().await { Ok(()) } else { Err("not yet") }).await;
}

/// [`eventually`], for a test that has a thread for itself and blocks it.
///
/// # Panics
/// On timeout, with the last error of `look`.
#[expect(clippy::disallowed_methods, reason = "the caller has this thread for itself")]
pub fn eventually_blocking<T, E: Debug>(
    what: impl Display,
    mut look: impl FnMut() -> Result<T, E>,
) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if Instant::now() > end => in_vain(&what, &seen),
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

#[expect(clippy::panic, reason = "a test that waits in vain fails, and says for what")]
fn in_vain(what: &dyn Display, seen: &dyn Debug) -> ! {
    panic!("{PATIENCE:?} were not enough for {what}; seen last: {seen:#?}")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_is_repeated_until_it_finds_something() {
        let looks = Cell::new(0);
        let found = eventually("the third look", async || {
            looks.set(looks.get() + 1);
            if looks.get() == 3 { Ok(looks.get()) } else { Err("nothing") }
        });
        assert_eq!(found.await, 3);
        assert!(patiently(std::future::pending::<()>()).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    #[should_panic = "enough for a wonder; seen last: Some"]
    async fn a_wait_in_vain_says_what_for_and_what_it_saw() {
        eventually::<(), _>("a wonder", async || Err(7)).await;
    }
}
