//! What a file is where its lines do not tell.

use crate::raw;

pub(crate) const HEAD: usize = 64 << 10;

/// Is it `samples.raw` of jitterdebugger: bytes that are no text, and plausible records?
pub(crate) fn is_raw(head: &[u8]) -> bool {
    head.iter().take(4_096).filter(|&&b| b == 0).count() > 8 && raw::plausible(head)
}

/// What a line shows of a file that holds no figures this crate reads, and the next command.
pub(crate) fn likely(line: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 14] = [
        ("# tracer:", "it seems to be a kernel trace: `punctual explain FILE`"),
        ("TRACE-CMD", "it seems to be a kernel trace: `punctual explain FILE`"),
        ("perf version", "it seems to be output of perf: import that of `perf sched latency`"),
        ("CONFIG_PREEMPT", "it seems to be a kernel configuration: `punctual kernel plan --config FILE`"),
        ("BOOT_IMAGE=", "it seems to be a kernel command line: `punctual audit` on that machine"),
        ("fio-", "it seems to be output of fio, which measures storage: no latency of wakeups is in it"),
        ("iperf", "it seems to be output of iperf, which measures a network: no latency of wakeups is in it"),
        ("hackbench", "it seems to be output of hackbench, a load: import what was measured beside it"),
        ("sysbench", "it seems to be output of sysbench: no latency of wakeups is in it"),
        ("PREEMPT_RT", "it tells of a real-time kernel without figures: import the measuring tool's whole output"),
        (
            "cyclictest",
            "it tells of cyclictest without its rows: import its whole output, best of `cyclictest -q --json=FILE`",
        ),
        ("rtla", "it tells of rtla without its tables: import the whole output of `rtla timerlat hist`"),
        ("<html", "it seems to be a web page: save the text of the result alone"),
        ("%PDF", "it is a PDF: copy the text of the result"),
    ];
    KNOWN.iter().find(|(key, _)| line.contains(key)).map(|(_, advice)| *advice)
}
