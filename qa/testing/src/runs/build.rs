use super::facts;
use punctual_model::{
    ContextSample, CpuContext, CpuResult, Distribution, Event, LoadReport, Phase, Reading, Recording, WindowMax, Worst,
};
use punctual_units::{CpuId, Histogram, Nanos, Scheduling};

pub const SECOND: u64 = 1_000_000_000;
/// Number of worst wakeups that are kept per CPU and phase.
const KEPT: usize = 4;
pub const START: u64 = 5_000 * SECOND;

/// Knuth's linear congruential generator, of which only the upper bits are used.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub base: u64,
    /// Width of the main part of the distribution, ns.
    pub body: u64,
    /// Step of the tail, ns: whenever the latency increases by this much, the number of samples halves.
    pub tail: u64,
}

impl Shape {
    pub fn sample(self, rng: &mut Rng) -> u64 {
        let body: u64 = (0..4).map(|_| rng.below(self.body / 2)).sum();
        let steps = u64::from(rng.next().trailing_zeros());
        let tail = if steps > 3 { rng.below(self.tail * (steps - 3)) } else { 0 };
        self.base + body + tail
    }
}

pub struct Plan {
    pub load: &'static str,
    pub shape: Shape,
    pub report: Option<LoadReport>,
    /// A stall, if there is one: CPU, second within the phase, length in ns.
    pub stall: Option<(u32, u64, u64)>,
}

pub struct RunPlan {
    pub cpus: u32,
    pub period_ns: u64,
    pub seconds: u64,
    pub phases: Vec<Plan>,
    pub got: Scheduling,
}

/// Creates a recording with consecutive phases, each after a pause of half a second.
pub fn recording(plan: RunPlan) -> Recording {
    let mut rng = Rng(42);
    let mut recording = Recording { findings: facts::findings(), ..Recording::new(facts::run(&plan)) };
    let mut start = START + SECOND / 2;
    for (n, phase) in plan.phases.iter().enumerate() {
        add_phase(&mut recording, &plan, &mut rng, (n, phase, start));
        start += plan.seconds * SECOND + SECOND / 2;
    }
    recording.worst.sort_by_key(|w| std::cmp::Reverse(w.latency_ns));
    recording
}

fn add_phase(recording: &mut Recording, plan: &RunPlan, rng: &mut Rng, (n, phase, start): (usize, &Plan, u64)) {
    let id = format!("{}-{}", n + 1, phase.load.split(':').next().unwrap());
    let end = start + plan.seconds * SECOND;
    recording.events.push(Event::PhaseStart { mono_ns: start, phase: id.clone() });
    recording.events.push(frequency(plan, start - 1_000_000));
    let mut windows = vec![vec![]; plan.seconds as usize];
    let mut cpus = vec![];
    for cpu in (0..plan.cpus).map(CpuId) {
        let track = track(plan, phase, cpu, rng);
        for (second, max) in track.windows.iter().enumerate() {
            windows[second].push((cpu, *max));
        }
        recording.worst.extend(track.worst.iter().map(|(latency_ns, cycle, skipped)| Worst {
            phase: id.clone(),
            cpu,
            release_mono_ns: start + cycle * plan.period_ns,
            latency_ns: *latency_ns,
            cycle: *cycle,
            skipped: *skipped,
            trace_offset: None,
            suspicions: facts::suspicions(*latency_ns, cpu),
        }));
        cpus.push(result(plan, cpu, &track.distribution));
        recording.distributions.insert((id.clone(), cpu), track.distribution);
    }
    add_seconds(recording, plan, rng, (n as u64, &id, start), windows);
    recording.events.push(Event::PhaseEnd { mono_ns: end, phase: id.clone() });
    recording.events.push(frequency(plan, end + 1_000_000));
    recording.run.phases.push(Phase {
        id,
        load: phase.load.into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(start),
        end_mono_ns: Some(end),
        planned_ns: Some(Nanos(plan.seconds * SECOND)),
        cpus,
        load_report: phase.report.clone(),
        busy_with_others: None,
        traced: None,
        rounds: Vec::new(),
        problems: vec![],
    });
}

fn add_seconds(
    recording: &mut Recording,
    plan: &RunPlan,
    rng: &mut Rng,
    (n, id, start): (u64, &str, u64),
    windows: Vec<Vec<(CpuId, u64)>>,
) {
    for (second, max_ns) in windows.into_iter().enumerate() {
        let mono_ns = start + (second as u64 + 1) * SECOND;
        recording.events.push(Event::Window(WindowMax { mono_ns, interval_ns: SECOND, phase: id.to_owned(), max_ns }));
        recording.events.push(Event::Context(context(plan, (n, second as u64), mono_ns, rng)));
    }
}

struct Track {
    distribution: Distribution,
    windows: Vec<u64>,
    /// Worst wakeups: latency in ns, cycle and number of skipped periods.
    worst: Vec<(u64, u64, u64)>,
}

fn track(plan: &RunPlan, phase: &Plan, cpu: CpuId, rng: &mut Rng) -> Track {
    let (mut raw, mut skipped) = (Histogram::new(), Histogram::new());
    let mut windows = vec![0u64; plan.seconds as usize];
    let mut worst = vec![];
    let cycles = plan.seconds * SECOND / plan.period_ns;
    let stall_at = phase.stall.filter(|s| s.0 == cpu.0).map(|s| (s.1 * SECOND / plan.period_ns, s.2));
    let mut cycle = 0;
    while cycle < cycles {
        let mut latency = phase.shape.sample(rng) + u64::from(cpu.0 % 5) * phase.shape.body / 10;
        let mut lost = 0;
        if let Some((_, ns)) = stall_at.filter(|(at, _)| *at == cycle) {
            latency = ns;
            lost = (ns / plan.period_ns).min(cycles - cycle - 1);
        }
        raw.record(latency);
        (1..=lost).for_each(|k| skipped.record(latency - k * plan.period_ns));
        let second = (cycle * plan.period_ns / SECOND) as usize;
        windows[second] = windows[second].max(latency);
        let at = worst.partition_point(|w: &(u64, u64, u64)| w.0 >= latency);
        if at < KEPT {
            worst.insert(at, (latency, cycle, lost));
            worst.truncate(KEPT);
        }
        cycle += 1 + lost;
    }
    Track { distribution: Distribution { raw, skipped }, windows, worst }
}

fn result(plan: &RunPlan, cpu: CpuId, d: &Distribution) -> CpuResult {
    CpuResult {
        cpu,
        tid: Some(1_000 + cpu.0 as i32),
        got: Some(plan.got),
        released: Some(d.raw.count() + d.skipped.count()),
        ran: d.raw.count(),
        skipped: Some(d.skipped.count()),
        min_ns: d.raw.min(),
        max_ns: d.raw.max(),
        mean_ns: d.raw.mean(),
        page_faults: Some(0),
        involuntary_switches: Some(0),
        run_delay_ns: Some(1_000_000),
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    }
}

fn frequency(plan: &RunPlan, mono_ns: u64) -> Event {
    let khz = |cpu: u32| {
        if (mono_ns / SECOND).is_multiple_of(2) { 1_500_000 } else { 1_300_000 + 50_000 * u64::from(cpu % 3) }
    };
    Event::Frequency { mono_ns, khz: (0..plan.cpus).map(|c| (CpuId(c), khz(c))).collect() }
}

fn context(plan: &RunPlan, (phase, second): (u64, u64), mono_ns: u64, rng: &mut Rng) -> ContextSample {
    let warm = 42_000 + 4_000 * phase + 150 * second.min(30) + rng.below(600);
    let cpu = |cpu: u32| CpuContext {
        cpu: CpuId(cpu),
        irqs: Some(1_000 + rng_like(second, cpu)),
        steal_ns: Some(0),
        run_delay_ns: Some(1_000_000),
        ..CpuContext::default()
    };
    ContextSample {
        mono_ns,
        interval_ns: SECOND,
        temperatures: vec![
            Reading { name: "thermal_zone0 cpu-thermal".into(), value: warm as i64 },
            Reading { name: "vcgencmd gpu".into(), value: warm as i64 - 1_400 },
        ],
        throttling: vec![],
        frequency_transitions: Some(0),
        context_switches: Some(4_000),
        page_faults: Some(12),
        major_faults: Some(0),
        cpus: (0..plan.cpus.min(4)).map(cpu).collect(),
    }
}

fn rng_like(second: u64, cpu: u32) -> u64 {
    (second * 7 + u64::from(cpu) * 3) % 11
}
