//! Options that rt-tests 2.0 removed from cyclictest, and their replacements.
//!
//! Source: src/cyclictest/cyclictest.c of rt-tests 0.84 and 1.0, `process_options`.

const TRACER: &str = "cyclictest has not set a tracer since 2.0: `punctual explain --live` finds the cause of a late wakeup; or set one \
                      with trace-cmd(1), and stop it with -b USEC --tracemark";

/// Letter, name and replacement of each removed option.
const GONE: [(Option<char>, &str, &str); 17] = [
    (Some('B'), "preemptirqs", TRACER),
    (Some('C'), "context", TRACER),
    (Some('E'), "event", TRACER),
    (Some('f'), "ftrace", TRACER),
    (Some('I'), "irqsoff", TRACER),
    (Some('O'), "traceopt", TRACER),
    (Some('P'), "preemptoff", TRACER),
    (Some('T'), "tracer", TRACER),
    (Some('w'), "wakeup", TRACER),
    (Some('W'), "wakeuprt", TRACER),
    (None, "notrace", "no tracer is started, so omit it; -b USEC --tracemark marks and stops a running one"),
    (Some('e'), "latency", "write --latency=USEC"),
    (Some('g'), "of_max", "use -h BINS: the largest latency is always printed, even if it is beyond the histogram"),
    (Some('Q'), "priospread", "write --priospread"),
    (Some('U'), "numa", "memory is always local to the thread's node: use -S, or -a -t"),
    (Some('X'), "dbg_cyclictest", "write --dbg_cyclictest"),
    (Some('y'), "policy", "write --policy=NAME"),
];

/// Returns advice for a removed option letter.
pub(super) fn letter(letter: char) -> Option<&'static str> {
    GONE.iter().find(|(known, ..)| *known == Some(letter)).map(|(.., advice)| *advice)
}

/// Returns advice for a removed long option or a prefix of its name.
pub(super) fn name(name: &str) -> Option<&'static str> {
    let fits = |known: &str| name.len() > 2 && known.starts_with(name);
    GONE.iter().find(|(_, known, _)| fits(known)).map(|(.., advice)| *advice)
}

#[cfg(test)]
pub(super) const LETTERS: &str = "BCEfIOPTwWegQUXy";
