//! The fuzz target `callboard_fuzz::subjects`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| callboard_fuzz::subjects(data));
