//! The fuzz target `callboard_fuzz::answers`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| callboard_fuzz::answers(data));
