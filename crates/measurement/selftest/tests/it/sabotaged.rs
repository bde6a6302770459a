//! The self-test on this machine, and with an engine that drops late wakeups (`--features sabotage`), where it must
//! fail.

use punctual_selftest::selftest;

/// A host that takes the CPU away adds milliseconds to injected delays, and the test rightly fails: three tries. A
/// blind engine may pass none of them.
#[test]
#[ignore = "live: timing"]
fn it_passes_where_the_engine_is_whole_and_fails_where_it_is_not() {
    let mut said = Vec::new();
    for _ in 0..3 {
        match selftest(None) {
            Ok(tested) if tested.passed() && !cfg!(feature = "sabotage") => return,
            Ok(tested) => said.push((tested.passed(), tested.checks)),
            // Not permitted here, or one CPU: the command says so and ends with 4.
            Err(error) => return println!("nothing was planted: {error}"),
        }
    }
    let is_blind = cfg!(feature = "sabotage") && said.iter().all(|(passed, _)| !passed);
    assert!(is_blind, "{said:#?}");
}
