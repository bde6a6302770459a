//! Published wakeup latencies by board and kernel, for comparison with a measurement: is 93 µs typical of a Raspberry
//! Pi 4?
//!
//! The data is in `boards/*.toml`, with one file per board. An entry is a measurement by others, under their own
//! conditions, with its source. It is not a limit, and no verdict depends on it. [`check`] validates a file in this
//! format.
//!
//! Architecture invariant: pure; depends on no other crate of the workspace.

#![forbid(unsafe_code)]

mod check;
mod compare;
mod fields;
mod files;
mod types;

pub use check::{LARGEST, Problem, check, read};
pub use compare::{Comparable, Scope, comparable, core_of};
pub use types::{Board, EpisodeCount, Flavour, LoadClass, Note, NoteAbout, Published, Quantile, Quantity, ReadFrom};

use std::sync::LazyLock;

// A test parses every file, so the filter never drops one.
static ALL: LazyLock<Vec<Board>> = LazyLock::new(|| files::FILES.iter().filter_map(|text| read(text).ok()).collect());

/// Returns the built-in boards, ordered by key.
pub fn boards() -> &'static [Board] {
    &ALL
}

/// Looks up a board by its key, by its name, or by the model in the device tree or in an imported file.
pub fn board(named: &str) -> Option<&'static Board> {
    let exact = boards().iter().find(|b| b.key == named || b.name == named);
    exact.or_else(|| {
        let models = boards().iter().flat_map(|b| b.models.iter().map(move |model| (b, model)));
        let found = models.filter(|(_, model)| begins(named, model));
        found.max_by_key(|(_, model)| model.len()).map(|(board, _)| board)
    })
}

/// Returns true if the text begins with these whole words: `Raspberry Pi 500` does not begin with `Raspberry Pi 5`.
fn begins(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
