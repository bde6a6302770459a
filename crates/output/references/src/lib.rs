//! Published wakeup latencies by board and kernel: is 93 µs usual for a Raspberry Pi 4?
//!
//! Data in `references.toml`, and a look-up. An entry is what somebody measured under conditions of their own, told with where it
//! was read; it is no limit, and nothing is judged by it.
//!
//! Architecture invariant: pure, and nothing else of this workspace is used here.

#![forbid(unsafe_code)]

use serde::Deserialize;
use std::sync::LazyLock;

const DATA: &str = include_str!("../references.toml");

/// The kind of kernel that figures are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// As distributions ship it, with any preemption model but the next.
    Stock,
    /// Fully preemptible (PREEMPT_RT).
    PreemptRt,
    /// With Xenomai's co-kernel.
    Xenomai,
}

impl Kernel {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Stock => "stock",
            Kernel::PreemptRt => "PREEMPT_RT",
            Kernel::Xenomai => "Xenomai",
        }
    }
}

/// A board with published figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its key on command lines, for example `raspberry-pi-4b`.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// What `/proc/device-tree/model` begins with on it.
    pub models: Vec<String>,
}

/// One published worst latency; what its source does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The board's key.
    pub board: String,
    /// The kind of kernel.
    pub kernel: Kernel,
    /// Its release, as `uname -r` tells it.
    pub release: Option<String>,
    /// The worst wakeup latency of all threads, µs.
    pub worst_us: f64,
    /// What ran beside it.
    pub load: Option<String>,
    /// How long it took, seconds.
    pub duration_s: Option<u64>,
    /// Wakeups of each thread.
    pub samples: Option<u64>,
    /// Measuring threads.
    pub threads: Option<u64>,
    /// The tool.
    pub tool: String,
    /// Its options.
    pub options: Option<String>,
    /// Title of the page, paper or repository.
    pub source: String,
    /// Its address, where the source was read there.
    pub url: Option<String>,
    /// Its year.
    pub year: Option<u16>,
    /// What else its source says of the conditions.
    pub note: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    board: Vec<Board>,
    published: Vec<Published>,
}

// The tests read it too: what is bundled is never broken.
static ALL: LazyLock<Data> = LazyLock::new(|| toml::from_str(DATA).unwrap_or_default());

/// All boards.
pub fn boards() -> &'static [Board] {
    &ALL.board
}

/// All figures, in the order of the file.
pub fn published() -> &'static [Published] {
    &ALL.published
}

/// The board by its key, or by its model as the device tree, or whoever imported a file, names it.
pub fn board(named: &str) -> Option<&'static Board> {
    boards()
        .iter()
        .find(|b| b.key == named || b.name == named || b.models.iter().any(|m| named.starts_with(m.as_str())))
}

/// What was published of a board, with one kind of kernel or, where that is not known, with any.
pub fn of(board: &Board, kernel: Option<Kernel>) -> Vec<&'static Published> {
    let wanted = |p: &&Published| p.board == board.key && kernel.is_none_or(|k| k == p.kernel);
    published().iter().filter(wanted).collect()
}
