//! The fuzz target `callboard_fuzz::plans`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| callboard_fuzz::plans(data));
