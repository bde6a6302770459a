//! Counts the solutions of one board: `queens N [--threads T] [--kernel avx512|avx2|neon|portable] [--published]`.
//! Exits with 1 if the count differs from the known count.

use std::error::Error;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use punctual_queens::{Board, Kernel, Published, Runner, known};

struct Options {
    n: u32,
    threads: NonZeroU32,
    kernel: Kernel,
    published: bool,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options { n: 0, threads: NonZeroU32::MIN, kernel: Kernel::detect(), published: false };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--threads" => options.threads = value()?.parse()?,
            "--kernel" => options.kernel = value()?.parse()?,
            "--published" => options.published = true,
            number => {
                options.n = number.parse().map_err(|_| format!("{number:?} is neither an option nor a board size"))?
            }
        }
    }
    Ok(options)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = options(std::env::args().skip(1))?;
    let board = Board::new(options.n)?;
    let total = if options.published {
        Published::new(options.n, options.threads)?.count()?
    } else {
        let runner = Runner::new(NonZeroUsize::try_from(options.threads)?, options.kernel)?;
        runner.run(&board.units(), &AtomicBool::new(false), |_, _| {})?.total
    };
    let right = known::solutions(options.n) == Some(total);
    println!("{} queens: {total} solutions{}", options.n, if right { "" } else { ": WRONG" });
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
