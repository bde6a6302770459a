//! Tests that communication between threads allocates nothing after set-up. They are in this crate because a counting
//! allocator needs `unsafe`; most of the tested code is in `punctual-rt`.

use punctual_rt::{
    Condvar, EventFlags, Level, Line, Log, Mailbox, Match, Mutex, Overflow, Pool, Rendezvous, Semaphore, Shared,
    monotonic, pipe_out, queue,
};
use punctual_units::Nanos;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

fn note() {
    COUNT.fetch_add(u64::from(WATCHED.get()), Relaxed);
}

// SAFETY: every call is passed unchanged to the system's allocator; counting accesses no other memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        note();
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as above.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: u64 = 2_000;

/// Runs `body` [`ROUNDS`] times and counts the allocations of the calling thread.
fn watched(mut body: impl FnMut(u64)) {
    WATCHED.set(true);
    (0..ROUNDS).for_each(&mut body);
    WATCHED.set(false);
}

fn locks_and_waits() {
    let (turn, changed) = (Mutex::new(0u64), Condvar::new());
    let (ping, pong, flags) = (Semaphore::new(0), Semaphore::new(0), EventFlags::new(0));
    let take_turns = |me: u64| {
        watched(|_| {
            let mut now = turn.lock().unwrap();
            while *now % 2 != me {
                now = changed.wait(now).unwrap();
            }
            *now += 1;
            changed.notify_all(&now).unwrap();
        });
    };
    std::thread::scope(|s| {
        s.spawn(|| {
            take_turns(1);
            watched(|_| {
                ping.wait();
                flags.set(1);
                pong.post().unwrap();
            });
        });
        take_turns(0);
        watched(|_| {
            ping.post().unwrap();
            flags.take(1, Match::Any);
            pong.wait_until(monotonic() + Nanos::from_secs(60)).unwrap();
        });
    });
}

fn values() {
    static POOL: Pool<[u64; 8], 4> = Pool::new();
    let (mut sender, mut receiver) = queue::<[u64; 8]>(4, Overflow::DropNewest).unwrap();
    let mailbox = Mailbox::new(4, Overflow::DropOldest).unwrap();
    let (shared, _fd) = Shared::<[u64; 8]>::create("test").unwrap();
    let mut writer = shared.writer().unwrap();
    watched(|n| {
        sender.send([n; 8]).unwrap();
        mailbox.send(POOL.alloc([n; 8]).ok()).unwrap();
        writer.write(&[n; 8]);
        shared.read().unwrap();
        if n % 3 == 0 {
            receiver.receive();
            mailbox.receive().unwrap();
        }
    });
    assert!(
        receiver.counts().dropped > 0 && mailbox.counts().unwrap().dropped_oldest > 0 && POOL.counts().exhausted > 0
    );
}

fn messages() {
    let rendezvous = Rendezvous::<u64, u64>::new(2);
    let serves = Semaphore::new(0);
    std::thread::scope(|s| {
        s.spawn(|| {
            let server = rendezvous.serve().unwrap();
            serves.post().unwrap();
            watched(|_| {
                let (message, request) = server.receive().unwrap();
                request.reply(message + 1);
            });
        });
        serves.wait();
        watched(|n| assert_eq!(rendezvous.send(n), Ok(n + 1)));
    });
}

fn text() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::start(std::io::sink()).unwrap();
    let mut recorder = log.recorder("task", 16).unwrap();
    let (mut end, _bridge) = pipe_out::<Line, 16>(&*folder.path().join("rtp1"), Overflow::DropNewest).unwrap();
    watched(|n| {
        recorder.record(Level::Info, "cycle {}", &[n.into()]);
        end.send(Line::new("421").unwrap()).unwrap();
    });
}

#[test]
fn nothing_allocates_once_it_is_made() {
    // The first call of a process may allocate, because it looks up the vDSO.
    monotonic();
    watched(|_| drop(std::hint::black_box(Box::new(0))));
    assert_eq!(COUNT.swap(0, Relaxed), 2 * ROUNDS, "the count counts");
    for (name, part) in [("locks", locks_and_waits as fn()), ("values", values), ("messages", messages), ("text", text)]
    {
        part();
        assert_eq!(COUNT.swap(0, Relaxed), 0, "{name}");
    }
}
