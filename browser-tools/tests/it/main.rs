//! The browser on a real Chromium, against servers of this machine.

mod flows;
mod isolation;
mod lifecycle;
mod site;
mod stage;
