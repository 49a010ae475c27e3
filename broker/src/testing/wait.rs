//! The waits of tests. A test waits for an event, and asserts no time of the real clock: a slower
//! machine makes a test slower and never red. [`PATIENCE`] only ends a test that waits in vain.

use std::{
    fmt::{Debug, Display},
    time::{Duration, Instant},
};

/// The longest wait of any test.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// The interval of polls of something that gives no event.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for a future, with [`PATIENCE`]; `None` when it is not done by then.
pub async fn patiently<F: Future>(future: F) -> Option<F::Output> {
    tokio::time::timeout(PATIENCE, future).await.ok()
}

/// Waits for a future, with [`PATIENCE`].
///
/// # Panics
/// When it is not done by then; `what` says what was waited for.
pub async fn soon<F: Future>(what: impl Display, future: F) -> F::Output {
    let Some(output) = patiently(future).await else { in_vain(&what, &"") };
    output
}

/// Looks again and again at something that gives no event, such as the output of another process.
/// It never gives up: callers bound it with [`patiently`].
pub async fn repeatedly<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// [`repeatedly`], with [`PATIENCE`]. An error of `look` is what it saw instead.
///
/// # Panics
/// When [`PATIENCE`] is over, with what was seen last.
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

/// [`eventually`], for a condition.
///
/// # Panics
/// When it does not hold before [`PATIENCE`] is over.
pub async fn until(what: impl Display, mut holds: impl AsyncFnMut() -> bool) {
    eventually(what, async || if holds().await { Ok(()) } else { Err("not yet") }).await;
}

/// [`eventually`], for a test that has a thread for itself and blocks it.
///
/// # Panics
/// When [`PATIENCE`] is over, with what was seen last.
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
