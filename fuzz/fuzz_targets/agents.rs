//! The fuzz target `callboard_fuzz::agents`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| callboard_fuzz::agents(data));
