use crate::options::{Keep, Options};
use punctual_model::Alignment;
use punctual_proof::{Trace, When};
use punctual_units::Nanos;
use std::path::Path;

pub fn options(out: &Path) -> Options {
    Options {
        out: out.to_owned(),
        command: vec!["test".into()],
        policy: None,
        priority: None,
        period: Nanos::from_millis(10),
        cpus: None,
        alignment: Alignment::Staggered,
        segment: Nanos::from_secs(2),
        block: Nanos::from_secs(1),
        keep: Keep::Count(100),
        trace: Trace { when: When::Never, full: false, stacks: false, buffer_kb: None },
        trace_above: Nanos::from_micros(100),
        textfile: None,
        textfile_every: Nanos::from_secs(60),
        duration: Some(Nanos::from_secs(5)),
        bytes_a_cpu_and_day: 1 << 20,
        sync: false,
        app: None,
        notify_socket: None,
        started_mono: Nanos::ZERO,
    }
}
