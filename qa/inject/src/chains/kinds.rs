use super::{Awaited, Chain, Waited};
use crate::InjectError;
use crate::child::begin;
use crate::config::{Config, Slot};
use crate::thread::{ORDINARY, SETTLING, become_thread, fifo, joined, now, sleep_until, spin_until, tid};
use punctual_units::Scheduling;
use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::futex::{Flags, lock_pi, unlock_pi};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;
use std::thread::{Scope, ScopedJoinHandle};

/// The ID of a thread, and the two times that it recorded in each slot.
type Times = (i32, Vec<(u64, u64)>);
type Handle<'s> = ScopedJoinHandle<'s, Result<Times, InjectError>>;

/// Starts a thread that calls `each` in each slot.
fn thread<'s, 'e>(
    scope: &'s Scope<'s, 'e>,
    slots: &'e [Slot],
    (name, cpu, scheduling): (&'e str, u32, Scheduling),
    each: impl Fn(&Slot) -> Result<(u64, u64), InjectError> + Send + 'e,
) -> Handle<'s>
where
    'e: 's,
{
    scope.spawn(move || {
        become_thread(name, cpu, scheduling)?;
        let times: Result<Vec<_>, _> = slots.iter().map(each).collect();
        Ok((tid(), times?))
    })
}

/// Starts a thread that spins from one point of each slot to another; the points are given in per cent of the slot.
fn hog<'s, 'e>(
    scope: &'s Scope<'s, 'e>,
    slots: &'e [Slot],
    (name, cpu): (&'e str, u32),
    (from, to): (u64, u64),
) -> Result<Handle<'s>, InjectError>
where
    'e: 's,
{
    Ok(thread(scope, slots, (name, cpu, fifo(99)?), move |slot| {
        sleep_until(slot.at(from));
        let start = now();
        spin_until(slot.at(to));
        Ok((start, now()))
    }))
}

/// Wakes a thread through an eventfd.
struct Bell(OwnedFd);

impl Bell {
    fn new() -> Result<Bell, InjectError> {
        eventfd(0, EventfdFlags::empty()).map(Bell).map_err(InjectError::at("make an eventfd"))
    }

    /// Wakes the waiting thread. Returns the time just before the wakeup.
    fn ring(&self) -> Result<u64, InjectError> {
        let before = now();
        rustix::io::write(&self.0, &1u64.to_ne_bytes()).map_err(InjectError::at("write to an eventfd"))?;
        Ok(before)
    }

    /// Waits. Returns the time of the wakeup.
    fn wait(&self) -> Result<u64, InjectError> {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count).map_err(InjectError::at("read from an eventfd"))?;
        Ok(now())
    }
}

/// Injects a chain of two late threads: `reader` is woken late by its timer and wakes `server` on the other CPU, which
/// is also late and wakes `client`.
pub(super) fn wakers(config: &Config) -> Result<Vec<Chain>, InjectError> {
    let slots = config.slots(begin() + SETTLING);
    let (first, second) = (Bell::new()?, Bell::new()?);
    std::thread::scope(|scope| {
        let one = hog(scope, &slots, ("first hog", config.other_cpu), (0, 45))?;
        let two = hog(scope, &slots, ("second hog", config.cpu), (30, 90))?;
        let reader = thread(scope, &slots, ("reader", config.other_cpu, fifo(85)?), |slot| {
            sleep_until(slot.at(10));
            Ok((now(), first.ring()?))
        });
        let server = thread(scope, &slots, ("server", config.cpu, fifo(84)?), |_| Ok((first.wait()?, second.ring()?)));
        let client = thread(scope, &slots, ("client", config.cpu, fifo(83)?), |_| {
            let woke = second.wait()?;
            Ok((woke, woke))
        });
        let [one, two, reader, server, client] = all([one, two, reader, server, client])?;
        Ok(chains(&slots, |n, slot| {
            let (late, rang) = reader.1[n];
            let (woke, woken) = server.1[n];
            let cpu = |tid, from_ns, to_ns, by| Waited { tid, what: Awaited::Cpu, from_ns, to_ns, by };
            let waits = vec![cpu(server.0, rang, woke, two.0), cpu(reader.0, slot.at(10), late, one.0)];
            Chain { tid: client.0, after_ns: woken, until_ns: client.1[n].0, waits }
        }))
    })
}

/// Injects a preempted waker: `worker` works for a while and then wakes `client`; while it works, another thread takes
/// its CPU.
pub(super) fn preempted(config: &Config) -> Result<Vec<Chain>, InjectError> {
    let slots = config.slots(begin() + SETTLING);
    let bell = Bell::new()?;
    std::thread::scope(|scope| {
        let hog = hog(scope, &slots, ("hog", config.other_cpu), (30, 70))?;
        let worker = thread(scope, &slots, ("worker", config.other_cpu, fifo(50)?), |slot| {
            sleep_until(slot.from);
            spin_until(slot.at(80));
            let before = bell.ring()?;
            Ok((before, now()))
        });
        let client = thread(scope, &slots, ("client", config.cpu, fifo(83)?), |_| {
            let woke = bell.wait()?;
            Ok((woke, woke))
        });
        let [hog, worker, client] = all([hog, worker, client])?;
        Ok(chains(&slots, |n, _| {
            let (from_ns, to_ns) = hog.1[n];
            let waits = vec![Waited { tid: worker.0, what: Awaited::CpuAgain, from_ns, to_ns, by: hog.0 }];
            Chain { tid: client.0, after_ns: worker.1[n].0, until_ns: client.1[n].0, waits }
        }))
    })
}

/// Injects a chain of locks: `client` waits for a PI futex of `middle`, which waits for a PI futex of `owner`.
pub(super) fn owners(config: &Config) -> Result<Vec<Chain>, InjectError> {
    let slots = config.slots(begin() + SETTLING);
    let (first, second) = (AtomicU32::new(0), AtomicU32::new(0));
    let take = |lock: &AtomicU32| -> Result<(u64, u64), InjectError> {
        let asked = now();
        lock_pi(lock, Flags::PRIVATE, None).map_err(InjectError::at("take the lock"))?;
        Ok((asked, now()))
    };
    let give = |lock: &AtomicU32| unlock_pi(lock, Flags::PRIVATE).map_err(InjectError::at("release the lock"));
    std::thread::scope(|scope| {
        let owner = thread(scope, &slots, ("owner", config.other_cpu, ORDINARY), |slot| {
            sleep_until(slot.from);
            let (_, got) = take(&second)?;
            spin_until(slot.at(70));
            give(&second)?;
            Ok((got, now()))
        });
        let middle = thread(scope, &slots, ("middle", config.other_cpu, fifo(10)?), |slot| {
            sleep_until(slot.at(15));
            take(&first)?;
            let times = take(&second)?;
            spin_until(slot.at(80));
            give(&second)?;
            give(&first)?;
            Ok(times)
        });
        let client = thread(scope, &slots, ("client", config.cpu, fifo(80)?), |slot| {
            sleep_until(slot.at(30));
            let times = take(&first)?;
            give(&first)?;
            Ok(times)
        });
        let [owner, middle, client] = all([owner, middle, client])?;
        Ok(chains(&slots, |n, _| {
            let lock = |thread: &Times, by| {
                let (from_ns, to_ns) = thread.1[n];
                Waited { tid: thread.0, what: Awaited::Lock, from_ns, to_ns, by }
            };
            let waits = vec![lock(&client, middle.0), lock(&middle, owner.0)];
            Chain { tid: client.0, after_ns: middle.1[n].1, until_ns: client.1[n].1, waits }
        }))
    })
}

const MODULE: &str = "/dev/hold";

fn module() -> Result<File, InjectError> {
    match OpenOptions::new().write(true).open(MODULE) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Err(InjectError::Impossible("the module of `cargo trials sections` is not loaded".into()))
        }
        opened => opened.map_err(InjectError::at("open /dev/hold")),
    }
}

/// Writes a line to the module. Returns the times before and after the write.
fn asked(mut module: &File, line: &str) -> Result<(u64, u64), InjectError> {
    let before = now();
    module.write_all(line.as_bytes()).map_err(InjectError::at(format!("write {line} to /dev/hold")))?;
    Ok((before, now()))
}

/// Injects a held spinlock: `client` waits for a spinlock held by `owner`, a thread of lower priority on the same CPU.
pub(super) fn spinlock(config: &Config) -> Result<Vec<Chain>, InjectError> {
    if !std::fs::exists("/sys/kernel/realtime").unwrap_or(false) {
        return Err(InjectError::Impossible("spinlocks sleep only with PREEMPT_RT".into()));
    }
    let module = module()?;
    let slots = config.slots(begin() + SETTLING);
    std::thread::scope(|scope| {
        let owner = thread(scope, &slots, ("owner", config.cpu, ORDINARY), |slot| {
            sleep_until(slot.from);
            asked(&module, &format!("lock {}", (slot.to - slot.from) / 1000))
        });
        let client = thread(scope, &slots, ("client", config.cpu, fifo(80)?), |slot| {
            sleep_until(slot.at(20));
            asked(&module, "lock 0")
        });
        let [owner, client] = all([owner, client])?;
        Ok(chains(&slots, |n, _| {
            let (from_ns, to_ns) = client.1[n];
            let waits = vec![Waited { tid: client.0, what: Awaited::Lock, from_ns, to_ns, by: owner.0 }];
            Chain { tid: client.0, after_ns: from_ns, until_ns: to_ns, waits }
        }))
    })
}

pub(super) fn ipi(config: &Config) -> Result<Vec<Chain>, InjectError> {
    sent(config, "ipi", Awaited::Ipi)
}

pub(super) fn stopper(config: &Config) -> Result<Vec<Chain>, InjectError> {
    sent(config, "stop", Awaited::Stopper)
}

/// Makes the module occupy the CPU of `client` on behalf of `sender`; `client` is due to run during that time.
fn sent(config: &Config, kind: &str, what: Awaited) -> Result<Vec<Chain>, InjectError> {
    let module = module()?;
    let slots = config.slots(begin() + SETTLING);
    std::thread::scope(|scope| {
        let sender = thread(scope, &slots, ("sender", config.other_cpu, ORDINARY), |slot| {
            sleep_until(slot.from);
            asked(&module, &format!("{kind} {} {}", (slot.to - slot.from) / 1000, config.cpu))
        });
        let client = thread(scope, &slots, ("client", config.cpu, fifo(80)?), |slot| {
            sleep_until(slot.at(20));
            Ok((slot.at(20), now()))
        });
        let [sender, client] = all([sender, client])?;
        Ok(chains(&slots, |n, _| {
            let (from_ns, to_ns) = client.1[n];
            let waits = vec![Waited { tid: client.0, what, from_ns, to_ns, by: sender.0 }];
            Chain { tid: client.0, after_ns: from_ns, until_ns: to_ns, waits }
        }))
    })
}

fn all<const N: usize>(threads: [Handle<'_>; N]) -> Result<[Times; N], InjectError> {
    let mut times = Vec::with_capacity(N);
    for thread in threads {
        times.push(joined(thread.join())?);
    }
    times.try_into().map_err(|_| InjectError::Child("a thread of the injection is missing".into()))
}

fn chains(slots: &[Slot], chain: impl Fn(usize, &Slot) -> Chain) -> Vec<Chain> {
    slots.iter().enumerate().map(|(n, slot)| chain(n, slot)).collect()
}
