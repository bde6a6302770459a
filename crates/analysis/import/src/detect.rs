//! Recognizes binary files, and gives advice about texts in which no results can be read.

use crate::raw;

pub(crate) const HEAD: usize = 64 << 10;

/// Returns true for `samples.raw` of jitterdebugger: bytes that are not text and form plausible records.
pub(crate) fn is_raw(head: &[u8]) -> bool {
    head.iter().take(4_096).filter(|&&b| b == 0).count() > 8 && raw::plausible(head)
}

/// Returns advice derived from a line of a file in which no results can be read.
pub(crate) fn likely(line: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 14] = [
        ("# tracer:", "it seems to be a kernel trace: use `punctual explain FILE`"),
        ("TRACE-CMD", "it seems to be a kernel trace: use `punctual explain FILE`"),
        ("perf version", "it seems to be output of perf: import the output of `perf sched latency`"),
        ("CONFIG_PREEMPT", "it seems to be a kernel configuration: use `punctual kernel plan --config FILE`"),
        ("BOOT_IMAGE=", "it seems to be a kernel command line: run `punctual audit` on that machine"),
        ("fio-", "it seems to be output of fio, which measures storage: it has no wakeup latencies"),
        ("iperf", "it seems to be output of iperf, which measures a network: it has no wakeup latencies"),
        (
            "hackbench",
            "it seems to be output of hackbench, which generates load: import the output of the tool that measured under this load",
        ),
        ("sysbench", "it seems to be output of sysbench: it has no wakeup latencies"),
        ("PREEMPT_RT", "it mentions a real-time kernel but has no results: import the measuring tool's whole output"),
        (
            "cyclictest",
            "it mentions cyclictest but has none of its rows: import the whole output, preferably that of `cyclictest -q --json=FILE`",
        ),
        ("rtla", "it mentions rtla but has none of its tables: import the whole output of `rtla timerlat hist`"),
        ("<html", "it seems to be a web page: save only the text of the result"),
        ("%PDF", "it is a PDF: copy the text of the result"),
    ];
    KNOWN.iter().find(|(key, _)| line.contains(key)).map(|(_, advice)| *advice)
}
