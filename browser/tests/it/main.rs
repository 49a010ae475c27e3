//! Tests of the console in a real Chromium.

mod access;
mod flows;
mod kills;
mod pictures;
mod stage;
mod units;
