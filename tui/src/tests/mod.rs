//! Tests of the whole interface without a terminal: its screens, and what keys lead to.

mod keys;
mod samples;
mod screens;
mod time;
