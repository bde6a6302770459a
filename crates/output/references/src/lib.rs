//! Published wakeup latencies by board and kernel, to compare a measurement with: is 93 µs usual for a Raspberry Pi 4?
//!
//! The data is in `references.toml`. An entry is a measurement by someone else, under their own conditions, with its
//! source; it is not a limit, and nothing is judged by it.
//!
//! Architecture invariant: pure; this crate uses no other crate of the workspace.

#![forbid(unsafe_code)]

use serde::Deserialize;
use std::sync::LazyLock;

const DATA: &str = include_str!("../references.toml");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// A kernel shipped by a distribution, with any preemption model except PREEMPT_RT.
    Stock,
    PreemptRt,
    Xenomai,
}

impl Kernel {
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Stock => "stock",
            Kernel::PreemptRt => "PREEMPT_RT",
            Kernel::Xenomai => "Xenomai",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Name on command lines, for example `raspberry-pi-4b`.
    pub key: String,
    pub name: String,
    /// Prefixes of `/proc/device-tree/model`.
    pub models: Vec<String>,
}

/// A published worst latency; what its source does not state is `None`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// See [`Board::key`].
    pub board: String,
    pub kernel: Kernel,
    /// Output of `uname -r`.
    pub release: Option<String>,
    /// Worst wakeup latency of all threads.
    pub worst_us: f64,
    /// The load during the measurement.
    pub load: Option<String>,
    pub duration_s: Option<u64>,
    /// Number of wakeups per thread.
    pub samples: Option<u64>,
    /// Number of measuring threads.
    pub threads: Option<u64>,
    pub tool: String,
    /// Options given to the tool.
    pub options: Option<String>,
    /// Title of the page, paper or repository.
    pub source: String,
    pub url: Option<String>,
    pub year: Option<u16>,
    /// Further conditions stated by the source.
    pub note: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    board: Vec<Board>,
    published: Vec<Published>,
}

// A test parses the data too, so this never yields the default.
static ALL: LazyLock<Data> = LazyLock::new(|| toml::from_str(DATA).unwrap_or_default());

pub fn boards() -> &'static [Board] {
    &ALL.board
}

/// In the order of the file.
pub fn published() -> &'static [Published] {
    &ALL.published
}

/// Looks up a board by its key or name, or by its model as in the device tree or an imported file.
pub fn board(named: &str) -> Option<&'static Board> {
    boards()
        .iter()
        .find(|b| b.key == named || b.name == named || b.models.iter().any(|m| named.starts_with(m.as_str())))
}

/// The figures for a board, of one kind of kernel or of any.
pub fn of(board: &Board, kernel: Option<Kernel>) -> Vec<&'static Published> {
    let wanted = |p: &&Published| p.board == board.key && kernel.is_none_or(|k| k == p.kernel);
    published().iter().filter(wanted).collect()
}
