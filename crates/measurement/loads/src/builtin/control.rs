//! `control`: a busy loop on the last CPU only. A thread that only computes does not delay wakeups on other CPUs. If
//! these become later nevertheless, the cause is below the kernel: an emulator that runs CPUs in turns, or a hypervisor
//! with too few CPUs.

use super::{Builtin, Plan, RunsAs, own_pid};
use crate::LoadError;
use crate::beat::Beat;
use crate::counter::{Counter, Source};
use crate::message::Unit;
use crate::settings::ChildConfig;
use std::hint::black_box;

pub(super) const LOAD: Builtin = Builtin {
    name: "control",
    about: "a busy loop on the last CPU only: it shows delays that are not caused by the kernel",
    comm: "load-control",
    runs_as: RunsAs::Nobody,
    in_all: false,
    prepare,
};

/// CPU time per second, in clock ticks, that proves that the load runs.
const TICKS: f64 = 5.0;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let mut plan = plan();
    plan.worker(config.cpus.iter().last(), spin);
    Ok(plan)
}

/// Returns a plan that has no workers yet; the CPU time of the load shows that it runs.
pub(super) fn plan() -> Plan {
    let time = Counter::new("CPU time of the load, ticks", Source::CpuTicks(own_pid())).per_second(TICKS);
    Plan::new(vec![Unit::each("loops")], vec![time])
}

pub(super) fn spin(beat: &mut Beat) -> Result<(), LoadError> {
    let mut x = 1u64;
    loop {
        for _ in 0..100_000 {
            x = black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7));
        }
        beat.count(0, 1);
        beat.beat_and_rest();
    }
}
