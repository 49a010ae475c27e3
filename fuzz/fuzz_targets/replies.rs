//! The fuzz target of replies to a planner.

#![no_main]

#[path = "../src/replies.rs"]
mod replies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| replies::replies(data));
