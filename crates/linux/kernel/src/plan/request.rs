use super::PlanError;
use crate::config::{Options, of_config};
use crate::{Arch, Patched, Series};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::str::FromStr;

/// Tracers of Documentation/trace/ftrace.rst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tracer {
    /// Measures the latency of timer interrupt and thread.
    Timerlat,
    /// Measures operating system noise.
    Osnoise,
    /// Measures hardware and firmware latency.
    Hwlat,
    /// Records the worst wakeup of a real-time task.
    WakeupRt,
    /// Records the longest time with interrupts disabled.
    Irqsoff,
    /// Records the longest time with preemption disabled.
    Preemptoff,
    Function,
}

impl Tracer {
    /// The tracers, each with its name in `available_tracers` and the option that enables it (kernel/trace/Kconfig).
    pub const ALL: [(Tracer, &'static str, &'static str); 7] = [
        (Tracer::Timerlat, "timerlat", "TIMERLAT_TRACER"),
        (Tracer::Osnoise, "osnoise", "OSNOISE_TRACER"),
        (Tracer::Hwlat, "hwlat", "HWLAT_TRACER"),
        (Tracer::WakeupRt, "wakeup_rt", "SCHED_TRACER"),
        (Tracer::Irqsoff, "irqsoff", "IRQSOFF_TRACER"),
        (Tracer::Preemptoff, "preemptoff", "PREEMPT_TRACER"),
        (Tracer::Function, "function", "FUNCTION_TRACER"),
    ];

    pub fn name(self) -> &'static str {
        Tracer::ALL.iter().find(|(tracer, ..)| *tracer == self).map_or("", |(_, name, _)| name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tracer: use one of {names}", names = Tracer::ALL.map(|(_, name, _)| name).join(", "))]
pub struct UnknownTracer(String);

impl FromStr for Tracer {
    type Err = UnknownTracer;

    fn from_str(text: &str) -> Result<Tracer, UnknownTracer> {
        let known = Tracer::ALL.iter().find(|(_, name, _)| *name == text);
        known.map(|(tracer, ..)| *tracer).ok_or_else(|| UnknownTracer(text.to_owned()))
    }
}

/// Requested properties of a kernel in addition to PREEMPT_RT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub series: Option<Series>,
    pub hz: Option<u32>,
    pub tracers: Vec<Tracer>,
    /// Further options: name and text of files. With any of them, a kernel has to be built.
    pub fragments: Vec<String>,
    /// The newest patched release of a published index, used instead of the one in the table.
    pub newest_rt: Option<Patched>,
}

/// Values of CONFIG_HZ (kernel/Kconfig.hz).
const FREQUENCIES: [u32; 4] = [100, 250, 300, 1000];
/// Values of CONFIG_HZ on ARM, which differ (arch/arm/Kconfig).
const ARM_FREQUENCIES: [u32; 5] = [100, 200, 250, 500, 1000];

impl Request {
    pub(super) fn check(&self, arch: Arch) -> Result<(), PlanError> {
        let offered: &[u32] = if arch == Arch::Arm { &ARM_FREQUENCIES } else { &FREQUENCIES };
        match self.hz.filter(|hz| !offered.contains(hz)) {
            Some(hz) => Err(PlanError::BadHz(hz)),
            None => Ok(()),
        }
    }

    /// Returns a requested tracer that a series does not have yet, and the first series with it. timerlat and osnoise
    /// were added in v5.14 (Documentation/trace).
    pub(super) fn late_tracer(&self, series: Series) -> Option<(Tracer, Series)> {
        let since = Series { major: 5, minor: 14 };
        let late = self.tracers.iter().find(|t| matches!(t, Tracer::Timerlat | Tracer::Osnoise));
        late.filter(|_| series < since).map(|tracer| (*tracer, since))
    }

    /// Returns a fragment for `scripts/kconfig/merge_config.sh` and `punctual kernel configure`.
    pub fn fragment(&self, arch: Arch, series: Series) -> String {
        let mut text = String::from("# PREEMPT_RT needs EXPERT (kernel/Kconfig.preempt).\n");
        let mut put = |symbol: &str| {
            let _ = writeln!(text, "CONFIG_{symbol}=y");
        };
        ["EXPERT", series.rt_option(), "HIGH_RES_TIMERS", "DEVTMPFS", "DEVTMPFS_MOUNT"].into_iter().for_each(&mut put);
        if let Some(hz) = self.hz {
            put(&format!("HZ_{hz}"));
        }
        if !self.tracers.is_empty() {
            put("FTRACE");
        }
        let asked = Tracer::ALL.iter().filter(|(tracer, ..)| self.tracers.contains(tracer));
        asked.for_each(|(.., symbol)| put(symbol));
        text.push_str("# A distinct name, so that modules of another kernel are never mixed in.\nCONFIG_LOCALVERSION=\"-punctual-rt\"\n");
        if matches!(arch, Arch::X86 | Arch::I386) {
            text.push_str(
                "# Distributions refer to a certificate that is not in the source.\nCONFIG_SYSTEM_TRUSTED_KEYS=\"\"\n",
            );
        }
        text
    }
}

/// Debugging options that lengthen the sections measured by a diagnostic kernel, as in the rules kconfig-lockdep and
/// kconfig-debug-heavy.
const DEBUGGING: [&str; 23] = [
    "PROVE_LOCKING",
    "LOCKDEP",
    "DEBUG_LOCK_ALLOC",
    "LOCK_STAT",
    "DEBUG_LOCKDEP",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_WW_MUTEX_SLOWPATH",
    "DEBUG_PREEMPT",
    "DEBUG_OBJECTS",
    "DEBUG_VM",
    "DEBUG_ENTRY",
    "DEBUG_PER_CPU_MAPS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "DEBUG_KMEMLEAK",
    "FAULT_INJECTION",
    "SLUB_DEBUG_ON",
    "DEBUG_HARD_LOCKS",
];

/// Returns the options of a PREEMPT_RT kernel that can identify sections with interrupts or preemption disabled: the
/// tracers for them and what they record, without debugging options that lengthen such sections, and without a local
/// version.
pub fn diagnostic(arch: Arch, series: Series) -> Options {
    use Tracer::{Hwlat, Irqsoff, Osnoise, Preemptoff, Timerlat};
    let mut request = Request { tracers: vec![Irqsoff, Preemptoff, Hwlat, Osnoise, Timerlat], ..Request::default() };
    while let Some((late, _)) = request.late_tracer(series) {
        request.tracers.retain(|tracer| *tracer != late);
    }
    let mut text = request.fragment(arch, series) + "CONFIG_PREEMPTIRQ_TRACEPOINTS=y\n";
    for symbol in DEBUGGING {
        let _ = writeln!(text, "# CONFIG_{symbol} is not set");
    }
    let mut options = of_config(&text);
    options.remove("LOCALVERSION");
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_kernel_has_the_tracers_of_its_series_and_no_lock_debugging() {
        let of = |series: &str| {
            let options = diagnostic(Arch::X86, series.parse().unwrap());
            move |symbol: &str| options.get(symbol).map(|value| value.text().to_owned())
        };
        let (new, old) = (of("6.12"), of("5.10"));
        for symbol in [
            "PREEMPT_RT",
            "IRQSOFF_TRACER",
            "PREEMPT_TRACER",
            "PREEMPTIRQ_TRACEPOINTS",
            "OSNOISE_TRACER",
            "TIMERLAT_TRACER",
            "HWLAT_TRACER",
        ] {
            assert_eq!(new(symbol).as_deref(), Some("y"), "{symbol}");
        }
        assert_eq!((new("PROVE_LOCKING").as_deref(), new("DEBUG_PREEMPT").as_deref()), (Some("n"), Some("n")));
        assert_eq!((new("LOCALVERSION"), old("TIMERLAT_TRACER"), old("OSNOISE_TRACER")), (None, None, None));
        assert_eq!(old("IRQSOFF_TRACER").as_deref(), Some("y"));
    }

    #[test]
    fn tracers_are_named_as_the_kernel_names_them() {
        for (tracer, name, _) in Tracer::ALL {
            assert_eq!((name.parse(), tracer.name()), (Ok(tracer), name));
            assert_eq!(serde_json::to_value(tracer).unwrap(), name);
        }
        assert!("irqs".parse::<Tracer>().unwrap_err().to_string().contains("timerlat, osnoise"));
    }

    #[test]
    fn a_frequency_the_kernel_does_not_offer_is_refused() {
        let request = Request { hz: Some(300), ..Request::default() };
        assert!(request.check(Arch::Arm64).is_ok());
        assert_eq!(request.check(Arch::Arm), Err(PlanError::BadHz(300)));
    }

    #[test]
    fn the_fragment_has_each_option_once() {
        let tracers = vec![Tracer::Irqsoff, Tracer::Timerlat, Tracer::Irqsoff];
        let text =
            Request { hz: Some(1000), tracers, ..Request::default() }.fragment(Arch::Arm64, "6.12".parse().unwrap());
        for line in ["CONFIG_HZ_1000=y", "CONFIG_IRQSOFF_TRACER=y", "CONFIG_TIMERLAT_TRACER=y", "CONFIG_PREEMPT_RT=y"] {
            assert_eq!(text.lines().filter(|l| *l == line).count(), 1, "{line}");
        }
        assert!(!text.contains("TRUSTED"));
        let old = Request::default().fragment(Arch::Arm, "4.19".parse().unwrap());
        assert!(old.contains("CONFIG_PREEMPT_RT_FULL=y\n") && !old.contains("CONFIG_PREEMPT_RT=y"));
    }
}
