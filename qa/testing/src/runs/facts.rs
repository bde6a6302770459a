use super::build::{RunPlan, START};
use punctual_model::{
    Alignment, Evidence, Finding, Kind, LoadReport, MachineFacts, OwnCost, Proof, Rate, Run, Settings, Severity, Stamp,
    State, Suspicion, SuspicionClass, Tool,
};
use punctual_units::{CpuId, Nanos};

pub fn run(plan: &RunPlan) -> Run {
    let total = Nanos(plan.seconds * 1_000_000_000 * plan.phases.len() as u64);
    let ended = START + total.0 + 1_000_000_000;
    Run {
        schema_version: "1.0".into(),
        complete: true,
        ended_by: Some(punctual_model::EndedBy::Duration),
        started: Some(Stamp { mono_ns: START, boot_ns: START, real_ns: 1_767_323_045_000_000_000 }),
        ended: Some(Stamp { mono_ns: ended, boot_ns: ended, real_ns: 1_767_323_045_000_000_000 + ended - START }),
        host: Some("pi4-press-07".into()),
        command: ["punctual", "prove", "--duration", "2m"].map(String::from).to_vec(),
        settings: settings(plan, total),
        machine: machine(plan),
        notes: vec!["CPUs 0-3 are measured and also run the sampler: no CPU was left for it.".into()],
        cost: Some(cost()),
        ..Run::new(Tool { name: "punctual".into(), version: Some("0.0.0-test".into()) }, Kind::Latency)
    }
}

fn settings(plan: &RunPlan, total: Nanos) -> Settings {
    Settings {
        clock: Some("CLOCK_MONOTONIC, clock_nanosleep absolute".into()),
        scheduling: Some(plan.got),
        period_ns: Some(Nanos(plan.period_ns)),
        cpus: (0..plan.cpus).map(CpuId).collect(),
        alignment: Some(Alignment::Staggered),
        duration_ns: Some(total),
        warmup_ns: Some(Nanos::from_millis(500)),
        loads: plan.phases.iter().map(|p| p.load.to_owned()).collect(),
        context: true,
        worst_kept: 20,
        ..Settings::default()
    }
}

fn machine(plan: &RunPlan) -> MachineFacts {
    MachineFacts {
        kernel_release: Some("6.12.34+rpt-rpi-v8-rt".into()),
        kernel_version: Some("#1 SMP PREEMPT_RT Debian 1:6.12.34-1+rpt1 (2025-06-26)".into()),
        architecture: Some("aarch64".into()),
        preempt_rt: Some(true),
        preemption: Some("rt".into()),
        board: Some("Raspberry Pi 4 Model B Rev 1.4".into()),
        cpu_model: Some("Cortex-A72".into()),
        cpus_online: Some((0..plan.cpus).map(CpuId).collect()),
        cpus_isolated: Some(Default::default()),
        smt_active: Some(false),
        governors: Some(vec!["performance".into()]),
        clocksource: Some("arch_sys_counter".into()),
        virtualisation: Some("none".into()),
        cmdline: Some("console=serial0,115200 console=tty1 root=PARTUUID=… rootwait".into()),
        memory_bytes: Some(4_000_000_000),
        rt_throttling: Some("950000/1000000 µs".into()),
        clock_read_ns: Some(51.2),
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
    }
}

fn cost() -> OwnCost {
    OwnCost {
        measuring_cpu_ns: Some(4_120_000_000),
        context_wakeups: 122,
        context_cpu_ns: Some(38_000_000),
        context_cpus: "shared with the measured CPUs".into(),
        rss_bytes: Some(5_400_000),
        locked_bytes: Some(2_100_000),
        start_to_first_sample_ns: Some(1_900_000),
    }
}

pub fn suspicions(latency_ns: u64, cpu: CpuId) -> Vec<Suspicion> {
    if latency_ns < 1_000_000 {
        let text = "no counter moved unusually in that second; nothing can be said".into();
        return vec![Suspicion { class: SuspicionClass::Unknown, text }];
    }
    let text = format!(
        "the thread was runnable but waited 15.9 ms in that second (usually 1.02 ms); another task held CPU {cpu}: \
         rogue99 (FIFO 99, pid 144) ran 20.1 ms in that second"
    );
    let irq = "interrupt burst on CPU 1: virtio0-req.0, 9,140 times in that second (usually 50)".into();
    vec![Suspicion { class: SuspicionClass::OtherTask, text }, Suspicion { class: SuspicionClass::Irq, text: irq }]
}

pub fn findings() -> Vec<Finding> {
    let finding = |id: &str, severity, state, summary: &str, fix: Option<&str>| Finding {
        id: id.into(),
        group: "Kernel build and identity".into(),
        severity,
        state,
        summary: summary.into(),
        evidence: vec![Evidence { source: "/proc/version".into(), value: "#1 SMP PREEMPT_RT".into() }],
        why: "Raspberry Pi 4 under stress: max 717 µs without, 279 µs with.".into(),
        fix: fix.map(String::from),
    };
    vec![
        finding("kernel-preempt-rt", Severity::Fatal, State::Pass, "The kernel is PREEMPT_RT.", None),
        finding("cpu-governor", Severity::High, State::Pass, "Every policy uses `performance`.", None),
        finding(
            "rt-throttling",
            Severity::High,
            State::Fail,
            "RT tasks are stopped for 50 ms in every second once they use 950 ms.",
            Some("sysctl -w kernel.sched_rt_runtime_us=-1"),
        ),
        finding("rt-foreign-tasks", Severity::High, State::Warn, "rogue99 runs at FIFO 99, above 90.", None),
        finding("cpu-idle-latency", Severity::Medium, State::Info, "The deepest idle state takes 60 µs.", None),
        finding("cpu-smt", Severity::High, State::Skip, "This processor has no SMT.", None),
        finding("kconfig-readable", Severity::Low, State::Blocked, "/proc/config.gz: permission denied.", None),
    ]
}

pub fn load(name: &str) -> LoadReport {
    LoadReport {
        load: name.into(),
        ran: true,
        why_not: None,
        workers: 4,
        beats: 12_345,
        longest_silence_ns: 104_000_000,
        rates: vec![
            Rate { what: "written".into(), value: 41.25, unit: "MiB/s".into() },
            Rate { what: "fsync".into(), value: 1_240.0, unit: "1/s".into() },
        ],
        proofs: vec![Proof {
            what: "/proc/diskstats mmcblk0 sectors written".into(),
            before: 1_204_332,
            after: 3_738_620,
            needed: 2_048,
        }],
        written_bytes: 1_297_555_456,
        notes: vec!["scratch file on /var/tmp, 256 MiB".into()],
    }
}
