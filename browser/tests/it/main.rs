//! Tests of the console in a real Chromium.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails, and says where")]

mod access;
mod costs;
mod editor;
mod flow;
mod flows;
mod hostile;
mod job;
mod kills;
mod lists;
mod pictures;
mod rights;
mod signin;
mod stage;
mod units;
mod work;
