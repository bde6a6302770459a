//! `cargo trials bench`: what measuring, explaining and tracing cost, compared with other programs.

mod bare;
mod cycle;
mod explain;
mod overhead;
mod tracing;

/// Measure what the tool costs, beside other programs; as root
///
/// Before: cargo build --release
#[derive(Debug, clap::Subcommand)]
pub enum Wanted {
    Overhead(overhead::Wanted),
    Explain(explain::Wanted),
    Tracing(tracing::Wanted),
    /// User instructions and system calls a cycle of a punctual-rt task, against bare loops in C
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
