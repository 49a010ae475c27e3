//! The panic hook, which logs each panic as one line. A formatted message may contain content of
//! users and is logged at debug only. A literal message is part of the program and is shown.

use std::panic::{self, PanicHookInfo};

/// Installs the hook.
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

/// Returns the message of the panic if it is a literal of the program.
fn fixed(info: &PanicHookInfo<'_>) -> Option<&'static str> {
    info.payload().downcast_ref::<&'static str>().copied()
}
