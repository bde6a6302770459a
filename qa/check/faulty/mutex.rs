// expect: lock-without-pi control step
//! A control loop in Rust, without crates.
use std::time::Duration;

#[repr(C)]
struct Param {
    priority: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Timespec {
    seconds: i64,
    nanos: i64,
}

unsafe extern "C" {
    fn sched_setscheduler(pid: i32, policy: i32, param: *const Param) -> i32;
    fn sched_setaffinity(pid: i32, size: usize, mask: *const u64) -> i32;
    fn mlockall(flags: i32) -> i32;
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn clock_nanosleep(clock: i32, flags: i32, time: *const Timespec, left: *mut Timespec) -> i32;
}

const FIFO: i32 = 1;
const MONOTONIC: i32 = 1;
const ABSOLUTE: i32 = 1;

fn become_real_time() {
    let mask = 1u64;
    // SAFETY: plain system calls with pointers to live values.
    let refused = unsafe {
        mlockall(3) | sched_setaffinity(0, 8, &mask) | sched_setscheduler(0, FIFO, &Param { priority: 92 })
    };
    assert_eq!(refused, 0);
}

struct Periodic(Timespec);

impl Periodic {
    fn new() -> Periodic {
        let mut now = Timespec { seconds: 0, nanos: 0 };
        // SAFETY: as above.
        unsafe { clock_gettime(MONOTONIC, &mut now) };
        Periodic(now)
    }

    fn wait(&mut self, period: Duration) {
        self.0.nanos += period.as_nanos() as i64;
        while self.0.nanos >= 1_000_000_000 {
            self.0.nanos -= 1_000_000_000;
            self.0.seconds += 1;
        }
        // SAFETY: as above.
        unsafe { clock_nanosleep(MONOTONIC, ABSOLUTE, &self.0, std::ptr::null_mut()) };
    }
}

use std::sync::Mutex;
static STATE: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn step(n: u64) {
    *STATE.lock().unwrap() += n; // fault
}

fn control() {
    become_real_time();
    let mut periodic = Periodic::new();
    
    for n in 0..600 {
        periodic.wait(Duration::from_millis(2));
        step(n);
    }
}

fn main() {
    std::thread::spawn(|| {
        loop {
            let guard = STATE.lock().unwrap();
            std::thread::sleep(Duration::from_micros(1500));
            drop(guard);
            std::thread::sleep(Duration::from_micros(1700));
        }
    });
    let thread = std::thread::Builder::new().name("control".into()).spawn(control).unwrap();
    thread.join().unwrap();
}
