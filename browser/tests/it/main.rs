//! Tests of the console in a real Chromium.

mod access;
mod flows;
mod hostile;
mod kills;
mod pictures;
mod stage;
mod units;
