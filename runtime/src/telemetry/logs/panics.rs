//! Panics as lines of the log. What a panic says may hold what users wrote, unless it is a text that
//! stands in the program; so only such a text is shown, and anything else at debug.

use std::panic::{self, PanicHookInfo};

/// Has every panic from now on said in one line of the log.
pub(in crate::telemetry) fn tell() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or_default();
        match fixed(info) {
            Some(why) => tracing::error!(place, thread, why, "a panic"),
            None => {
                tracing::error!(place, thread, "a panic");
                tracing::debug!(place, why = info.payload_as_str(), "the message of the panic");
            }
        }
    }));
}

/// What the panic says, when that stands in the program.
fn fixed(info: &PanicHookInfo<'_>) -> Option<&'static str> {
    info.payload().downcast_ref::<&'static str>().copied()
}
