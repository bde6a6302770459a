use std::fmt;
use std::time::Duration;

/// Progress since this make was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub objects: usize,
    /// Total number of objects according to a dry run, which may miss some; `None` if unknown.
    pub of: Option<usize>,
    /// Time spent building, excluding pauses.
    pub worked: Duration,
    /// Temperature at which the build is paused, in thousandths of a degree Celsius.
    pub paused_at: Option<i64>,
}

impl Progress {
    /// Returns true if more was compiled than the dry run counted: the dry run misses what make discovers only while
    /// building.
    fn is_beyond(&self) -> bool {
        self.of.is_some_and(|of| self.objects > of)
    }

    /// Returns the remaining time, extrapolated from the finished part; `None` if fewer than 20 objects are finished,
    /// or the total is unknown.
    pub fn eta(&self) -> Option<Duration> {
        let rest = self.of?.checked_sub(self.objects)?;
        (self.objects >= 20).then(|| self.worked.mul_f64(rest as f64 / self.objects as f64))
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s: {}", self.worked.as_secs(), self.objects)?;
        match self.of {
            Some(of) if self.is_beyond() => write!(f, " objects, more than the {of} counted by the dry run")?,
            Some(of) => write!(f, " of {of} objects")?,
            None => f.write_str(" objects")?,
        }
        match self.eta() {
            Some(eta) => write!(f, ", about {} s left", eta.as_secs())?,
            None if self.is_beyond() => f.write_str(", remaining time unknown")?,
            None => f.write_str(", remaining time not known yet")?,
        }
        match self.paused_at {
            Some(at) => write!(f, "; PAUSED at {:.1} °C", at as f64 / 1e3),
            None => Ok(()),
        }
    }
}

/// Counts the objects compiled so far, in make's log. The total comes from a dry run (`make -n … | grep -c ' -c -o '`).
pub fn compiled(log: &str) -> usize {
    log.lines().filter(|line| ["  CC ", "  AS ", "  CC [M] "].iter().any(|tag| line.starts_with(tag))).count()
}

pub fn planned(dry_run: &str) -> usize {
    dry_run.lines().filter(|line| line.contains(" -c -o ")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted_and_links_are_not() {
        assert_eq!(compiled("  CC      a.o\n  CC [M]  b.o\n  AS      c.o\n  LD      vmlinux\n  HOSTCC  d\n"), 3);
        assert_eq!(planned("gcc -Wp,-MMD -c -o a.o a.c\nld -o b\n"), 1);
    }

    #[test]
    fn the_rest_takes_as_long_as_what_is_done_did() {
        let at = |objects, of| Progress { objects, of, worked: Duration::from_secs(100), paused_at: None };
        assert_eq!(at(50, Some(200)).eta(), Some(Duration::from_secs(300)));
        assert_eq!((at(5, Some(200)).eta(), at(50, None).eta(), at(50, Some(40)).eta()), (None, None, None));
        assert_eq!(at(50, Some(200)).to_string(), "100 s: 50 of 200 objects, about 300 s left");
        assert_eq!(at(200, Some(200)).to_string(), "100 s: 200 of 200 objects, about 0 s left");
        let beyond = "100 s: 1318 objects, more than the 1287 counted by the dry run, remaining time unknown";
        assert_eq!(at(1318, Some(1287)).to_string(), beyond);
        let paused = Progress { paused_at: Some(81_250), ..at(5, None) };
        assert!(paused.to_string().ends_with("not known yet; PAUSED at 81.2 °C"), "{paused}");
    }
}
