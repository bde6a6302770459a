//! Runs and times the cases of a trial, and prints their outcomes.

use std::time::Instant;

/// Runs a case and prints its result, or the reason why it failed. Returns the result; `None` if it failed.
pub fn tried(name: &str, try_it: impl FnOnce() -> Result<String, String>) -> Option<String> {
    let begun = Instant::now();
    let result = try_it();
    let seconds = begun.elapsed().as_secs_f64();
    match result {
        Ok(figures) => {
            println!("ok      {name:14} {seconds:6.1} s  {figures}");
            Some(figures)
        }
        Err(why) => {
            println!("FAILED  {name:14} {seconds:6.1} s  {why}");
            None
        }
    }
}
