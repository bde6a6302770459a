//! The libFuzzer program for all of `punctual_fuzz::READERS`: PUNCTUAL_FUZZ_READER selects the reader
//! (`cargo trials fuzz guided` sets it).
#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_fuzz::{Executor, READERS, Reader};

thread_local! {
    // libFuzzer calls a C function with only the input, so the executor has to be found here.
    static EXECUTOR: Executor = Executor::new(wanted());
}

/// Returns the reader that the environment selects. Reports an error and exits if it selects none.
fn wanted() -> Reader {
    let name = std::env::var("PUNCTUAL_FUZZ_READER").unwrap_or_default();
    Reader::named(&name).unwrap_or_else(|| {
        let names = READERS.map(|(name, _)| name).join(", ");
        eprintln!("PUNCTUAL_FUZZ_READER is `{name}`; set it to one of {names}");
        std::process::exit(2)
    })
}

fuzz_target!(|bytes: &[u8]| {
    EXECUTOR.with(|executor| executor.run(bytes));
});
