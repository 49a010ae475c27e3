//! The fuzz target `callboard_fuzz::records`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| callboard_fuzz::records(data));
