//! Measures what it costs to pass a value to another thread: `queue` compared with rtrb's ring, `Mailbox` with
//! crossbeam-channel.
//!
//! `cargo run --release -p punctual-rt --example handover [COUNT]`. A handover is one send and one receive in the same
//! thread (without scheduling). Prints p50 and p99.9 over batches of 64 handovers, in ns per handover. Then measures a
//! wakeup: the time from a send to a thread that sleeps in receive until that thread's answer.

use punctual_rt::{Mailbox, Overflow, monotonic, queue};

const BATCH: u64 = 64;

/// Returns p50 and p99.9 of the time of one handover, ns. `round` does the handover with the given number.
fn percentiles(batches: usize, mut round: impl FnMut(u64)) -> (f64, f64) {
    let mut times: Vec<f64> = (0..batches)
        .map(|_| {
            let begun = monotonic();
            (0..BATCH).for_each(&mut round);
            (monotonic() - begun).0 as f64 / BATCH as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[batches / 2], times[batches * 999 / 1000])
}

fn print(what: &str, ours: (f64, f64), theirs: (f64, f64)) {
    let ratio = |a: f64, b: f64| a / b.max(0.01);
    println!(
        "{what:<42} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>6.2} {:>6.2}",
        ours.0,
        theirs.0,
        ours.1,
        theirs.1,
        ratio(ours.0, theirs.0),
        ratio(ours.1, theirs.1)
    );
}

fn handovers(batches: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (mut sender, mut receiver) = queue::<[u64; 4]>(128, Overflow::Refuse)?;
    let ours = percentiles(batches, |n| {
        let _ = std::hint::black_box(sender.send([n; 4]));
        std::hint::black_box(receiver.receive());
    });
    let (mut producer, mut consumer) = rtrb::RingBuffer::<[u64; 4]>::new(128);
    let theirs = percentiles(batches, |n| {
        let _ = std::hint::black_box(producer.push([n; 4]));
        let _ = std::hint::black_box(consumer.pop());
    });
    print("queue / rtrb", ours, theirs);
    let mailbox = Mailbox::<[u64; 4]>::new(128, Overflow::Refuse)?;
    let ours = percentiles(batches, |n| {
        let _ = std::hint::black_box(mailbox.send([n; 4]));
        let _ = std::hint::black_box(mailbox.try_receive());
    });
    let (sender, receiver) = crossbeam_channel::bounded::<[u64; 4]>(128);
    let theirs = percentiles(batches, |n| {
        let _ = std::hint::black_box(sender.try_send([n; 4]));
        let _ = std::hint::black_box(receiver.try_recv());
    });
    print("mailbox / crossbeam-channel bounded", ours, theirs);
    Ok(())
}

/// Discards a value. The other end stays open during the test, so no error can occur.
fn ignore<T>(_: T) {}

fn wakeups(batches: usize) -> Result<(), Box<dyn std::error::Error>> {
    let total = batches as u64 * BATCH;
    let (there, back) = (Mailbox::<u64>::new(8, Overflow::Refuse)?, Mailbox::<u64>::new(8, Overflow::Refuse)?);
    let ours = std::thread::scope(|s| {
        s.spawn(|| (0..total).for_each(|_| ignore(there.receive().map(|n| back.send(n)))));
        percentiles(batches, |n| ignore(there.send(n).map(|()| back.receive())))
    });
    let (there, at_there) = crossbeam_channel::bounded::<u64>(8);
    let (back, at_back) = crossbeam_channel::bounded::<u64>(8);
    let theirs = std::thread::scope(|s| {
        s.spawn(|| (0..total).for_each(|_| ignore(at_there.recv().map(|n| back.send(n)))));
        percentiles(batches, |n| ignore(there.send(n).map(|()| at_back.recv())))
    });
    print("round trip, receiver asleep: mailbox", ours, theirs);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let batches = std::env::args().nth(1).map_or(Ok(20_000), |n| n.parse::<usize>())?.max(1);
    println!("{:<42} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6}", "ns", "p50", "theirs", "p99.9", "theirs", "ratio", "ratio");
    handovers(batches)?;
    wakeups(batches / 20 + 1)
}
