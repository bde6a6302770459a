//! `cargo trials bench`: what it costs, against rivals.

mod bare;
mod cycle;
mod explain;
mod overhead;
mod tracing;

pub use bare::{HIDDEN as BARE, run as bare};

use crate::number;

/// `bench [PAIRS] | explain [PAIRS] [FILE…] | tracing [ROUNDS] | cycle`.
pub fn run(words: &[String]) -> Result<(), String> {
    let others = words.get(1..).unwrap_or_default();
    match words.first().map(String::as_str) {
        Some("explain") => explain::run(others),
        Some("tracing") => tracing::run(number(others, 15)?),
        Some("cycle") => cycle::run(),
        _ => overhead::run(number(words, 20)?),
    }
}
