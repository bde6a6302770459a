//! Tests mutexes, queues and other shared objects with several threads. A lost wakeup makes a test hang.

use punctual_rt::{
    CapacityError, EventFlags, Level, LockError, Log, Mailbox, Match, NotSent, Overflow, Rendezvous, Semaphore,
    SendError, ServeError, Shared, TimedOut, monotonic, queue,
};
use punctual_units::Nanos;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::scope;

fn soon() -> Nanos {
    monotonic() + Nanos::from_millis(3)
}

#[test]
fn a_semaphore_loses_no_post() {
    const POSTS: u32 = 20_000;
    let (items, taken) = (Semaphore::new(0), AtomicU32::new(0));
    scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..POSTS {
                    items.wait();
                    taken.fetch_add(1, Relaxed);
                }
            });
            s.spawn(|| (0..POSTS).for_each(|_| items.post().unwrap()));
        }
    });
    assert_eq!((taken.load(Relaxed), items.count()), (3 * POSTS, 0));
    let until = soon();
    assert_eq!(items.wait_until(until), Err(TimedOut));
    assert!(monotonic() >= until);
    items.post().unwrap();
    assert_eq!(items.wait_until(Nanos::ZERO), Ok(()));
    assert!(Semaphore::new(u32::MAX).post().is_err());
}

#[test]
fn a_flag_is_taken_by_one_thread() {
    const ROUNDS: u32 = 5_000;
    const PING: u32 = 1;
    const PONG: u32 = 1 << 31;
    let flags = EventFlags::new(0);
    scope(|s| {
        s.spawn(|| {
            for _ in 0..ROUNDS {
                assert_eq!(flags.take(PING, Match::All), PING);
                flags.set(PONG);
            }
        });
        for _ in 0..ROUNDS {
            flags.set(PING);
            assert_eq!(flags.take(PONG, Match::Any), PONG);
        }
    });
    assert_eq!(flags.get(), 0);
}

#[test]
fn all_and_any_and_times() {
    let flags = EventFlags::new(0b01);
    assert_eq!(flags.wait_until(0b11, Match::All, soon()), Err(TimedOut));
    assert_eq!(flags.wait_until(0b11, Match::Any, soon()), Ok(0b01));
    assert_eq!(flags.try_take(0b11, Match::All), None);
    scope(|s| {
        s.spawn(|| flags.set(0b10));
        assert_eq!(flags.take(0b11, Match::All), 0b11);
    });
    assert_eq!((flags.get(), flags.clear(0b11)), (0, 0));
    assert_eq!(flags.take_until(0b1, Match::Any, soon()), Err(TimedOut));
    assert_eq!(flags.try_wait(0, Match::All), Some(0));
}

#[test]
fn a_queue_keeps_order_between_threads() {
    let (mut sender, mut receiver) = queue::<u64>(16, Overflow::Refuse).unwrap();
    // Fails if RLIMIT_MEMLOCK is used up; the order is the same.
    let _ = sender.lock_memory();
    scope(|s| {
        s.spawn(move || {
            for n in 0..50_000 {
                while sender.send(n).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        for n in 0..50_000 {
            let got = loop {
                match receiver.receive() {
                    Some(value) => break value,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(got, n);
        }
    });
    assert!(receiver.is_abandoned());
    assert_eq!(queue::<u8>(0, Overflow::Refuse).unwrap_err(), CapacityError::Zero);
    assert_eq!(queue::<u8>(1, Overflow::DropOldest).unwrap_err(), CapacityError::DropOldest);
}

/// A request for more memory than any machine has returns an error and does not end the program.
#[test]
fn memory_that_is_not_there_is_refused() {
    let capacity = usize::MAX / 4096;
    let memory = CapacityError::Memory(capacity * 4096);
    assert_eq!(queue::<[u8; 4096]>(capacity, Overflow::Refuse).unwrap_err(), memory);
    assert_eq!(Mailbox::<[u8; 4096]>::new(capacity, Overflow::Refuse).unwrap_err(), memory);
    let error = Log::start(std::io::sink()).unwrap().recorder("a", usize::MAX / 1024).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory, "{error}");
}

#[test]
fn a_mailbox_keeps_each_writers_order_and_wakes_its_reader() {
    const EACH: u64 = 10_000;
    let mut mailbox = Mailbox::<(usize, u64)>::new(8, Overflow::Refuse).unwrap();
    // Fails if RLIMIT_MEMLOCK is used up; the order is the same.
    let _ = mailbox.lock_memory();
    let mailbox = &mailbox;
    scope(|s| {
        for writer in 0..3 {
            s.spawn(move || {
                for n in 0..EACH {
                    while let Err(NotSent::Full(_)) = mailbox.send((writer, n)) {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut next = [0; 3];
        for _ in 0..3 * EACH {
            let (writer, n) = mailbox.receive().unwrap();
            assert_eq!(n, next[writer]);
            next[writer] += 1;
        }
    });
    assert_eq!(mailbox.receive_until(soon()), Err(LockError::TimedOut));
    let counts = mailbox.counts().unwrap();
    assert_eq!((counts.sent, counts.received, counts.dropped_oldest), (3 * EACH, 3 * EACH, 0));
}

#[test]
fn every_sender_gets_its_own_answer() {
    const EACH: u64 = 3_000;
    let rendezvous = Rendezvous::<u64, u64>::new(3);
    assert_eq!(rendezvous.send(1), Err(SendError::NobodyServes));
    scope(|s| {
        let server = rendezvous.serve().unwrap();
        assert_eq!(rendezvous.serve().unwrap_err(), ServeError::Taken);
        for sender in 0..3 {
            let rendezvous = &rendezvous;
            s.spawn(move || {
                for n in 0..EACH {
                    let message = n * 3 + sender;
                    assert_eq!(rendezvous.send(message), Ok(message * message));
                }
            });
        }
        for _ in 0..3 * EACH {
            let (message, request) = server.receive().unwrap();
            request.reply(message * message);
        }
    });
    assert_eq!(rendezvous.send(1), Err(SendError::NobodyServes));
}

#[test]
fn who_gets_no_answer_gets_the_reason() {
    let rendezvous = Rendezvous::<u8, u8>::new(2);
    let (go, may_go) = mpsc::channel::<()>();
    scope(|s| {
        let server = rendezvous.serve().unwrap();
        // A message from the receiver itself.
        assert_eq!(rendezvous.send(0), Err(SendError::Deadlock));
        // A message that is not received in time is withdrawn.
        let late = s.spawn(|| rendezvous.send_until(1, soon()));
        assert_eq!(late.join().unwrap(), Err(SendError::TimedOut));
        assert!(server.try_receive().unwrap().is_none());
        // A message that is received but answered too late is not an error, and its place is free again.
        let mut answered_late = 0;
        while answered_late < 3 {
            let late = s.spawn(|| rendezvous.send_until(2, soon()));
            let received = server.receive_until(soon());
            assert_eq!(late.join().unwrap(), Err(SendError::TimedOut));
            // On a busy machine the message may have been withdrawn before it was received.
            let Ok((message, request)) = received else { continue };
            assert_eq!(message, 2);
            request.reply(0);
            answered_late += 1;
        }
        // A request that is dropped without an answer.
        let dropped = s.spawn(|| rendezvous.send(3));
        drop(server.receive().unwrap());
        assert_eq!(dropped.join().unwrap(), Err(SendError::Unanswered));
        // A message that is never received.
        let left = s.spawn(|| (go.send(()), rendezvous.send(4)).1);
        may_go.recv().unwrap();
        drop(server);
        assert!(matches!(left.join().unwrap(), Err(SendError::Unanswered | SendError::NobodyServes)));
    });
    let server = rendezvous.serve().unwrap();
    assert_eq!(server.receive_until(soon()).unwrap_err(), LockError::TimedOut);
}

#[test]
fn a_server_that_ends_without_a_word_is_noticed() {
    let rendezvous = Rendezvous::<u8, u8>::new(1);
    let (received, is_received) = mpsc::channel();
    scope(|s| {
        let rendezvous = &rendezvous;
        s.spawn(move || {
            let server = std::mem::ManuallyDrop::new(rendezvous.serve().unwrap());
            received.send(()).unwrap();
            let (_, request) = server.receive().unwrap();
            std::mem::forget(request);
        });
        is_received.recv().unwrap();
        assert_eq!(rendezvous.send(1), Err(SendError::Unanswered));
    });
}

#[test]
fn a_reader_never_sees_half_a_change() {
    let (mine, fd) = Shared::<[u64; 8]>::create("test").unwrap();
    let (stop, read) = (AtomicBool::new(false), AtomicU64::new(0));
    scope(|s| {
        s.spawn(|| {
            let mut writer = mine.writer().unwrap();
            let mut n = 0;
            while !stop.load(Relaxed) {
                n += 1;
                writer.write(&[n; 8]);
            }
        });
        let theirs = Shared::<[u64; 8]>::from_fd(&fd).unwrap();
        let (mut last, mut torn) = (0, None);
        while torn.is_none() && read.load(Relaxed) < 50_000 {
            let Ok(value) = theirs.read() else { continue };
            if value.iter().any(|w| *w != value[0]) || value[0] < last {
                torn = Some((value, last));
            }
            last = value[0];
            read.fetch_add(1, Relaxed);
        }
        // The writer must also end if the test fails.
        stop.store(true, Relaxed);
        assert_eq!(torn, None);
    });
    assert!(Shared::<[u64; 60]>::from_fd(&fd).is_err());
}

#[derive(Clone, Default)]
struct Output(Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_record_is_written_or_counted() {
    let output = Output::default();
    let log = Log::start(output.clone()).unwrap();
    let mut recorders: Vec<_> = (0..2).map(|n| log.recorder(&format!("task {n}"), 32).unwrap()).collect();
    assert!(log.recorder("none", 0).is_err());
    scope(|s| {
        for recorder in &mut recorders {
            s.spawn(move || (0..1_000u64).for_each(|n| recorder.record(Level::Info, "cycle {}", &[n.into()])));
        }
    });
    let dropped = log.counts().dropped;
    drop(log);
    let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    let written = text.lines().filter(|l| l.contains("cycle ")).count() as u64;
    let reported: u64 =
        text.lines().filter_map(|l| l.split_once(" dropped ")?.1.split(' ').next()?.parse::<u64>().ok()).sum();
    assert_eq!((written + dropped, reported), (2_000, dropped));
}
