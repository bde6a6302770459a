//! Published wakeup latencies by board and kernel, to compare a measurement with: is 93 µs usual for a Raspberry Pi 4?
//!
//! The data is in `boards/*.toml`, one file a board. An entry is a measurement by someone else, under their own
//! conditions, with its source; it is not a limit, and nothing is judged by it. [`check`] validates a file of this form.
//!
//! Architecture invariant: pure; this crate uses no other crate of the workspace.

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

// A test parses every file, so none is ever left out.
static ALL: LazyLock<Vec<Board>> = LazyLock::new(|| files::FILES.iter().filter_map(|text| read(text).ok()).collect());

/// The bundled boards, ordered by key.
pub fn boards() -> &'static [Board] {
    &ALL
}

/// Looks up a board by its key or name, or by its model as in the device tree or an imported file.
pub fn board(named: &str) -> Option<&'static Board> {
    let exact = boards().iter().find(|b| b.key == named || b.name == named);
    exact.or_else(|| {
        let models = boards().iter().flat_map(|b| b.models.iter().map(move |model| (b, model)));
        let found = models.filter(|(_, model)| begins(named, model));
        found.max_by_key(|(_, model)| model.len()).map(|(board, _)| board)
    })
}

/// Whether the text begins with these words: `Raspberry Pi 5` is not the beginning of `Raspberry Pi 500`.
fn begins(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
