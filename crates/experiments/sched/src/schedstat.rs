//! Reads /proc/thread-self/schedstat: CPU time, time runnable without a CPU, and number of slices of the calling thread
//! (Documentation/scheduler/sched-stats.rst).

use punctual_units::Nanos;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The file of the thread that opened it. Reading allocates nothing.
#[derive(Debug)]
pub(crate) struct Schedstat(File);

impl Schedstat {
    /// # Errors
    /// An I/O error on a kernel without CONFIG_SCHED_INFO.
    pub fn open() -> io::Result<Schedstat> {
        File::open("/proc/thread-self/schedstat").map(Schedstat)
    }

    /// Returns the time for which the thread was runnable while another one had the CPU. `None` if not readable.
    pub fn wait(&self) -> Option<Nanos> {
        let mut buffer = [0u8; 96];
        let length = self.0.read_at(&mut buffer, 0).ok()?;
        parse(std::str::from_utf8(buffer.get(..length)?).ok()?).map(|(_, wait)| wait)
    }
}

/// Parses CPU time and wait time.
pub(crate) fn parse(text: &str) -> Option<(Nanos, Nanos)> {
    let mut words = text.split_ascii_whitespace();
    let mut next = || Some(Nanos(words.next()?.parse().ok()?));
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_figure_is_the_wait() {
        assert_eq!(parse("5 7 9\n"), Some((Nanos(5), Nanos(7))));
        assert_eq!(parse("5"), None);
        assert_eq!(parse("a b c"), None);
    }
}
