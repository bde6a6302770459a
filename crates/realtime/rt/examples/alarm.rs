//! Measures how late a SCHED_FIFO 80 task wakes by a [`Timer`] and by a [`Timerfd`], which is a soft timer on
//! PREEMPT_RT, while datagrams on the loopback interface keep the softirqs of its CPU busy. As root:
//!
//! `cargo run --release -p punctual-rt --example alarm [CPU [SECONDS]]`

use punctual_rt::{Attributes, CpuId, Histogram, Nanos, Next, Rt, Scheduling, Timer, Timerfd, Wait, monotonic};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const PERIOD: Nanos = Nanos::from_millis(1);

fn attributes(cpu: CpuId, scheduling: Scheduling) -> Attributes {
    Attributes { scheduling, cpu: Some(cpu), lock_stack: false }
}

/// Sends and receives datagrams on this CPU until `stop` is set.
fn flood(cpu: CpuId, stop: &AtomicBool) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    attributes(cpu, Scheduling::Other { nice: 0 }).apply().map_err(|error| error.to_string())?;
    let (out, into) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    into.set_nonblocking(true)?;
    let (to, mut block) = (into.local_addr()?, [0; 8192]);
    while !stop.load(Relaxed) {
        for _ in 0..64 {
            out.send_to(&block, to)?;
        }
        while into.recv(&mut block).is_ok() {}
    }
    Ok(())
}

fn show(what: &str, latency: &Histogram) {
    let at = |q| latency.quantile(q).map_or("?".into(), |ns| Nanos(ns).to_string());
    let most = Nanos(latency.max().unwrap_or(0));
    println!(
        "{what:<10} {:>9} {:>9} {:>9} {:>9} {:>9}",
        latency.count(),
        at(0.5),
        at(0.99),
        at(0.999),
        most.to_string()
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |n: usize, default: u64| std::env::args().nth(n).map_or(Ok(default), |word| word.parse());
    let (cpu, seconds) = (CpuId(number(1, 0)? as u32), Nanos::from_secs(number(2, 10)?));
    let scheduling = Scheduling::Fifo { priority: 80.try_into()? };
    let rt = Rt::builder().lock_memory().start()?;
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = stop.clone();
    let load = std::thread::Builder::new().spawn(move || flood(cpu, &theirs))?;
    println!("{:<10} {:>9} {:>9} {:>9} {:>9} {:>9}", "", "wakeups", "p50", "p99", "p99.9", "max");

    let (timer, handle) = Timer::new();
    let task = rt.interrupt("timer", scheduling, timer).cpu(cpu).spawn(|_| Next::Continue)?;
    handle.set(monotonic() + PERIOD, PERIOD)?;
    std::thread::sleep(seconds.into());
    show("Timer", &task.stop().1.latency);

    let reader = std::thread::Builder::new().spawn(move || -> Result<Histogram, String> {
        attributes(cpu, scheduling).apply().map_err(|error| error.to_string())?;
        let (mut timerfd, mut latency) = (Timerfd::new(PERIOD).map_err(|error| error.to_string())?, Histogram::new());
        let start = monotonic() + PERIOD;
        timerfd.begin(start, start + seconds);
        while let Some(wakeup) = timerfd.wait(&AtomicBool::new(false)) {
            latency.record(wakeup.latency());
        }
        Ok(latency)
    })?;
    show("Timerfd", &reader.join().map_err(|_| "the reader panicked")??);
    stop.store(true, Relaxed);
    load.join().map_err(|_| "the load panicked")?.map_err(|error| error.to_string())?;
    Ok(())
}
