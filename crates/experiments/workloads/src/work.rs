use crate::{Busy, Canny, CannyIo, Image, ImageError, Queens};
use std::fmt;
use std::fs::File;
use std::io;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Edge detection ([`Canny`]), which uses caches and memory.
    Canny,
    /// Edge detection that writes its result to a file ([`CannyIo`]), and therefore blocks.
    CannyIo,
    /// Arithmetic ([`Busy`]), which uses only the CPU.
    Busy,
    /// N queens ([`Queens`]), with many branches.
    Nqueens,
    /// No work: the thread sleeps for as long as the work would take.
    Sleep,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Canny, Kind::CannyIo, Kind::Busy, Kind::Nqueens, Kind::Sleep];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Canny => "canny",
            Kind::CannyIo => "canny+io",
            Kind::Busy => "busy",
            Kind::Nqueens => "nqueens",
            Kind::Sleep => "sleep",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a workload: use canny, canny+io, busy, nqueens or sleep")]
pub struct KindError(String);

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Kind, KindError> {
        Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| KindError(text.into()))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The workload `canny+io` has no file to write to.
    #[error("the workload canny+io writes to a file: give a run directory on a disk with --out")]
    NoFile,
}

/// Board size for N queens. A pass takes a few tens of milliseconds.
const BOARD: u32 = 11;

/// The workload of a thread; large states are boxed.
#[derive(Debug)]
pub enum Work {
    Canny(Box<Canny>),
    CannyIo(Box<CannyIo>),
    Busy(Busy),
    Nqueens(Box<Queens>),
    Sleep,
}

impl Work {
    /// Allocates all memory of the workload. Edges are detected in `image`; `canny+io` writes to `file`.
    ///
    /// # Errors
    /// [`WorkError::NoFile`] for `canny+io` without a file.
    pub fn new(kind: Kind, image: &Image, file: Option<File>) -> Result<Work, WorkError> {
        let canny = || Canny::new(image.clone());
        Ok(match kind {
            Kind::Canny => Work::Canny(Box::new(canny())),
            Kind::CannyIo => Work::CannyIo(Box::new(CannyIo::new(canny(), file.ok_or(WorkError::NoFile)?))),
            Kind::Busy => Work::Busy(Busy::new()),
            Kind::Nqueens => Work::Nqueens(Box::new(Queens::new(BOARD))),
            Kind::Sleep => Work::Sleep,
        })
    }

    /// Runs one step without allocating.
    ///
    /// # Errors
    /// An I/O error if writing failed (`canny+io` only).
    pub fn step(&mut self) -> io::Result<()> {
        match self {
            Work::Canny(canny) => canny.step(),
            Work::CannyIo(io) => return io.step(),
            Work::Busy(busy) => busy.step(),
            Work::Nqueens(queens) => queens.step(),
            Work::Sleep => {}
        }
        Ok(())
    }

    /// Ends a warm-up by restarting the frame count of `canny+io`.
    pub fn begin_anew(&mut self) {
        if let Work::CannyIo(io) = self {
            io.begin_anew();
        }
    }

    /// Returns the number of steps after which the work repeats, which is one frame for edge detection. Amounts of work
    /// are multiples of it, so that equal amounts are equal work.
    pub fn unit(&self) -> u64 {
        match self {
            Work::Canny(canny) => canny.steps_a_frame(),
            Work::CannyIo(io) => io.canny().steps_a_frame(),
            Work::Busy(_) | Work::Nqueens(_) | Work::Sleep => 1,
        }
    }

    /// Returns the most recent edges; `None` for workloads that do not detect edges.
    pub fn edges(&self) -> Option<&Image> {
        match self {
            Work::Canny(canny) => Some(canny.edges()),
            Work::CannyIo(io) => Some(io.canny().edges()),
            Work::Busy(_) | Work::Nqueens(_) | Work::Sleep => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("Canny".parse::<Kind>().unwrap_err().to_string().contains("canny+io"));
    }

    #[test]
    fn what_writes_needs_a_file() {
        let image = Image::scene(16, 16, 1).unwrap();
        assert!(Work::new(Kind::CannyIo, &image, None).unwrap_err().to_string().contains("--out"));
        assert!(Work::new(Kind::Canny, &image, None).unwrap().edges().is_some());
    }
}
