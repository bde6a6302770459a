//! A simulated CPU that runs random programs under random interrupts and emits the events that the kernel emits. The
//! latency of each wakeup is known, from the interrupt's arrival in hardware, and none may be above the bound.

use crate::events::{State, event, irq_off, irq_on, preempt_off, preempt_on, source, switch, task, timer};
use punctual_trace::{Event, Kind, Vector};

const IDLE: i32 = 0;
const LOW: i32 = 10;
const HIGH: i32 = 99;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// A duration: mostly short, rarely long.
    fn duration(&mut self, typical: u64) -> u64 {
        let most = if self.below(20) == 0 { typical * 20 } else { typical };
        1 + self.below(most)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrival {
    /// Wakes HIGH.
    Timer,
    Device,
    Nmi,
}

struct Machine {
    random: Random,
    t: u64,
    state: State,
    /// Arrivals in ascending order of time.
    arrivals: Vec<(u64, Arrival)>,
    events: Vec<Event>,
    /// HIGH is runnable since this time.
    ready: Option<u64>,
    high_runs: bool,
    latencies: Vec<u64>,
    waits: bool,
}

impl Machine {
    fn emit(&mut self, kind: Kind) {
        self.events.push(event(self.t, self.state, kind));
    }

    /// Passes a little time in which interrupts, if enabled, arrive.
    fn step(&mut self) {
        let ns = self.random.duration(40);
        self.run(ns);
    }

    fn run(&mut self, mut ns: u64) {
        loop {
            let masked = self.state.irqs_off;
            let next = self.arrivals.iter().position(|(_, kind)| !masked || *kind == Arrival::Nmi);
            match next.map(|n| (n, self.arrivals[n])) {
                Some((n, (at, kind))) if at < self.t + ns && !(kind == Arrival::Nmi && self.state.nmi) => {
                    self.arrivals.remove(n);
                    let waited = at.saturating_sub(self.t);
                    ns -= waited;
                    self.t += waited;
                    match kind {
                        Arrival::Nmi => self.nmi(),
                        kind => self.interrupt(at, kind),
                    }
                }
                _ => {
                    self.t += ns;
                    return;
                }
            }
        }
    }

    fn nmi(&mut self) {
        let before = self.state;
        self.t += 1;
        self.state.nmi = true;
        self.state.irqs_off = true;
        if !before.irqs_off {
            self.emit(irq_off("irqentry_nmi_enter"));
        }
        self.t += self.random.duration(300);
        self.emit(Kind::NmiHandler { handler: None, delta_ns: 10, handled: Some(1) });
        self.t += self.random.duration(20);
        if !before.irqs_off {
            self.emit(irq_on("irqentry_nmi_exit"));
        }
        self.state = before;
        self.t += 1;
    }

    fn interrupt(&mut self, arrived: u64, kind: Arrival) {
        // An interrupt that was pending is taken after a moment that counts; another one begins with its first event.
        let was_pending = arrived < self.t;
        self.t += 1 + self.random.below(30);
        let arrived = if was_pending { arrived } else { self.t };
        let in_section = self.state.depth > 0;
        self.state.irqs_off = true;
        self.emit(irq_off("irqentry_enter"));
        self.step();
        self.state.hard = true;
        if !in_section {
            self.emit(preempt_off("irq_enter_rcu"));
        }
        self.step();
        match kind {
            Arrival::Timer => self.emit(timer()),
            _ => self.emit(Kind::VectorEntry { vector: Vector::IrqWork, number: Some(246) }),
        }
        let ns = self.random.duration(300);
        self.run(ns);
        if kind == Arrival::Timer && self.ready.is_none() && !self.high_runs {
            self.emit(Kind::SchedWaking { task: task(HIGH), target_cpu: Some(0) });
            self.ready = Some(arrived);
            self.state.resched = true;
            self.step();
        }
        if !in_section {
            self.emit(preempt_on("irq_exit_rcu"));
        }
        self.state.hard = false;
        self.step();
        while !in_section && self.state.resched {
            self.state.depth = 1;
            self.emit(preempt_off("preempt_schedule_irq"));
            self.step();
            self.emit(irq_on("preempt_schedule_irq"));
            self.state.irqs_off = false;
            self.schedule(LOW);
            self.state.irqs_off = true;
            self.emit(irq_off("preempt_schedule_irq"));
            self.step();
            self.emit(preempt_on("preempt_schedule_irq"));
            self.state.depth = 0;
            self.step();
        }
        self.emit(irq_on("irqentry_exit"));
        self.state.irqs_off = false;
    }

    /// __schedule() of a thread that stays runnable, with preemption disabled: HIGH runs if it is ready.
    fn schedule(&mut self, current: i32) {
        self.step();
        self.state.irqs_off = true;
        self.emit(irq_off("__schedule"));
        self.step();
        self.state.resched = false;
        let picks_high = self.ready.is_some();
        self.step();
        if picks_high {
            self.emit(switch(current, HIGH));
            self.state.tid = HIGH;
            self.step();
            self.high();
            // Its own call of __schedule() leads back here.
            self.emit(switch(HIGH, current));
            self.state.tid = current;
        }
        self.step();
        self.emit(irq_on("finish_task_switch"));
        self.state.irqs_off = false;
        self.step();
    }

    /// HIGH from its switch to its next one, both with interrupts and preemption disabled.
    fn high(&mut self) {
        self.emit(irq_on("finish_task_switch"));
        self.state.irqs_off = false;
        self.step();
        loop {
            self.emit(preempt_on("schedule"));
            self.state.depth = 0;
            let since = self.ready.take().expect("HIGH runs only if it is ready");
            self.latencies.push(self.t - since);
            self.high_runs = true;
            let ns = self.random.duration(500);
            self.run(ns);
            self.state.depth = 1;
            self.emit(preempt_off("schedule"));
            // It sleeps from here on.
            self.high_runs = false;
            self.step();
            self.state.irqs_off = true;
            self.emit(irq_off("__schedule"));
            self.step();
            self.state.resched = false;
            if self.ready.is_none() {
                self.step();
                return;
            }
            self.emit(irq_on("__schedule"));
            self.state.irqs_off = false;
            self.step();
        }
    }

    /// Ends a section of LOW: with a reschedule pending, it calls the scheduler.
    fn preempt_enable(&mut self) {
        self.emit(preempt_on("unlock"));
        self.state.depth = 0;
        self.step();
        while self.state.resched {
            self.state.depth = 1;
            self.emit(preempt_off("preempt_schedule"));
            self.schedule(LOW);
            self.emit(preempt_on("preempt_schedule"));
            self.state.depth = 0;
            self.step();
        }
    }

    fn low(&mut self) {
        match self.random.below(7) {
            0 => {
                let ns = self.random.duration(2000);
                self.run(ns);
            }
            1 => {
                self.state.irqs_off = true;
                self.emit(irq_off("work"));
                let ns = self.random.duration(400);
                self.run(ns);
                self.emit(irq_on("work"));
                self.state.irqs_off = false;
            }
            2 | 3 => {
                self.state.depth = 1;
                self.emit(preempt_off("lock"));
                let ns = self.random.duration(400);
                self.run(ns);
                if self.random.below(2) == 0 {
                    self.state.irqs_off = true;
                    self.emit(irq_off("inner"));
                    let ns = self.random.duration(300);
                    self.run(ns);
                    if self.random.below(3) == 0 && self.ready.is_none() {
                        self.emit(Kind::SchedWaking { task: task(HIGH), target_cpu: Some(0) });
                        self.ready = Some(self.t);
                        self.state.resched = true;
                    }
                    self.step();
                    self.emit(irq_on("inner"));
                    self.state.irqs_off = false;
                    self.step();
                }
                self.preempt_enable();
            }
            4 => {
                // A voluntary call of the scheduler.
                self.state.depth = 1;
                self.emit(preempt_off("schedule"));
                self.schedule(LOW);
                self.preempt_enable();
            }
            _ if self.waits => self.idle(),
            _ => self.step(),
        }
    }

    /// LOW sleeps, and the idle task waits a few times.
    fn idle(&mut self) {
        self.state.depth = 1;
        self.emit(preempt_off("schedule"));
        self.step();
        self.state.irqs_off = true;
        self.emit(irq_off("__schedule"));
        self.step();
        self.state.resched = false;
        if self.ready.is_some() {
            // HIGH goes first.
            self.emit(switch(LOW, HIGH));
            self.state.tid = HIGH;
            self.step();
            self.high();
            self.emit(switch(HIGH, IDLE));
        } else {
            self.emit(switch(LOW, IDLE));
        }
        self.state.tid = IDLE;
        self.step();
        self.emit(irq_on("finish_task_switch"));
        self.state.irqs_off = false;
        for _ in 0..1 + self.random.below(3) {
            self.wait();
        }
        self.state.irqs_off = true;
        self.emit(irq_off("__schedule"));
        self.step();
        self.state.resched = false;
        if self.ready.is_some() {
            self.emit(switch(IDLE, HIGH));
            self.state.tid = HIGH;
            self.step();
            self.high();
            self.emit(switch(HIGH, LOW));
        } else {
            self.emit(switch(IDLE, LOW));
        }
        self.state.tid = LOW;
        self.step();
        self.emit(irq_on("finish_task_switch"));
        self.state.irqs_off = false;
        self.step();
        self.preempt_enable();
    }

    fn wait(&mut self) {
        self.step();
        self.state.irqs_off = true;
        self.emit(irq_off("do_idle"));
        self.step();
        if !self.state.resched {
            self.emit(Kind::CpuIdle { state: Some(1), cpu: 0 });
            self.step();
            self.emit(irq_on("ct_cpuidle_enter"));
            self.state.irqs_off = false;
            // The processor waits for the next interrupt, which ends the waiting.
            let next = self.arrivals.first().map_or(self.t, |(at, _)| *at + 1);
            let ns = next.saturating_sub(self.t).max(1);
            self.run(ns);
            self.state.irqs_off = true;
            self.emit(Kind::CpuIdle { state: None, cpu: 0 });
            self.t += 3;
            self.state.irqs_off = false;
        } else {
            self.emit(irq_on("do_idle"));
            self.state.irqs_off = false;
        }
        while self.state.resched {
            self.step();
            self.schedule(IDLE);
        }
    }
}

/// Runs a random program; returns its events and the latency of each wakeup.
fn execution(seed: u64) -> (Vec<Event>, Vec<u64>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut at = 0;
    let mut arrivals = Vec::new();
    let spread = 500 + random.below(20_000);
    for _ in 0..200 {
        at += random.duration(spread);
        let kind = match random.below(10) {
            0 => Arrival::Nmi,
            1..=3 => Arrival::Device,
            _ => Arrival::Timer,
        };
        arrivals.push((at, kind));
    }
    let waits = random.below(2) == 0;
    let state = State { tid: LOW, ..State::default() };
    let mut machine = Machine {
        random,
        t: 0,
        state,
        arrivals,
        events: Vec::new(),
        ready: None,
        high_runs: false,
        latencies: Vec::new(),
        waits,
    };
    while !machine.arrivals.is_empty() && machine.events.len() < 20_000 {
        machine.low();
    }
    (machine.events, machine.latencies)
}

#[test]
fn no_wakeup_is_later_than_the_bound() {
    let (mut bounds, mut wakeups, mut ratios) = (0, 0, Vec::new());
    for seed in 1..=400 {
        let (events, latencies) = execution(seed);
        let bound = punctual_bound::bound(&mut source(&events), None);
        let Some(of_cpu) = bound.cpus.first() else { continue };
        let Some(limit) = of_cpu.bound_ns else { continue };
        assert!(bound.problems.is_empty(), "seed {seed}: {:?}", bound.problems);
        assert_eq!(of_cpu.uncertain, 0, "seed {seed}");
        let worst = latencies.iter().copied().max().unwrap_or(0);
        assert!(worst <= limit.0, "seed {seed}: {worst} ns is above the bound of {limit:?}: {of_cpu:#?}");
        let seen = of_cpu.seen.as_ref().map_or(0, |seen| seen.latency_ns.0);
        assert!(seen <= worst, "seed {seed}: {seen} ns seen, {worst} ns in fact");
        bounds += 1;
        wakeups += latencies.len();
        if worst > 0 {
            ratios.push(limit.0 as f64 / worst as f64);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    assert!(bounds > 300 && wakeups > 10_000, "{bounds} bounds, {wakeups} wakeups");
    // A bound of any length would pass otherwise. The programs are random, so that the longest sections rarely meet.
    assert!(median < 6.0, "the median bound is {median:.2} times the worst wakeup");
}
