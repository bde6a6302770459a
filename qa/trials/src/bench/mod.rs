//! `cargo trials bench`: measures the cost of measuring, explaining and tracing, compared with other programs.

mod bare;
mod cycle;
mod explain;
mod overhead;
mod tracing;

/// Measure the cost of the tool, compared with other programs; needs root
///
/// Build first: cargo build --release
#[derive(Debug, clap::Subcommand)]
pub enum Wanted {
    Overhead(overhead::Wanted),
    Explain(explain::Wanted),
    Tracing(tracing::Wanted),
    /// Count user instructions and system calls per cycle of a punctual-rt task, compared with bare loops in C; and of
    /// a task in C++, compared with the same task in C
    Cycle,
    #[command(hide = true)]
    Bare(bare::Wanted),
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    match wanted {
        Wanted::Overhead(wanted) => overhead::run(wanted.pairs),
        Wanted::Explain(wanted) => explain::run(wanted),
        Wanted::Tracing(wanted) => tracing::run(wanted.rounds),
        Wanted::Cycle => cycle::run(),
        Wanted::Bare(wanted) => bare::run(wanted),
    }
}
