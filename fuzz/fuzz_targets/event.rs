#![no_main]

libfuzzer_sys::fuzz_target!(init: lifecycle_fuzz::report_panics(), |input: &[u8]| lifecycle_fuzz::event(input));
