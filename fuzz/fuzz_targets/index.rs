#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| binarrow_fuzz::run("index", data));
