//! Interprets the individual records of the observed threads' events.

use super::{KEY_FRAMES, Key, MOST, MOST_FRAMES, Open, Recorder, Running, Seen};
use crate::calls::{Meaning, What, name};
use crate::file::File;
use crate::locks;
use crate::recording::{Asked, Occurrence, Place, Taker, Waited, Waker};
use crate::sources::{IN_INTERRUPT, Kind, SMALL_STACK};
use crate::system::{System, urgency};
use punctual_cycles::{Release, Wait};
use punctual_perf::Sample;
use punctual_stacks::{Process, Registers};
use punctual_units::{Nanos, Scheduling};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Kernel priorities from this value (MAX_RT_PRIO) on belong to ordinary threads.
const ORDINARY: i32 = 100;

impl<S: System> Recorder<S> {
    pub(super) fn sampled(&mut self, tag: u32, sample: &Sample) {
        match self.tags.kind(tag) {
            Kind::Enter => self.entered(tag, sample),
            Kind::Exit => self.returned(sample),
            Kind::Fault => {
                if let Some(running) = self.threads.get_mut(&sample.meta.tid) {
                    running.fault_since = Some(sample.meta.time);
                }
            }
            Kind::Minor => self.faulted(tag, What::PageFault, sample),
            Kind::Major => self.faulted(tag, What::MajorFault, sample),
            Kind::Waking => self.woken(sample),
            Kind::Timer => self.timer_set(sample),
            Kind::Lock => self.lock_taken(tag, sample),
            Kind::Probe => self.probe_hit(tag, sample),
        }
    }

    fn entered(&mut self, tag: u32, sample: &Sample) {
        let Some(call) = self.tags.call(sample.raw) else { return };
        let (tid, pid, time) = (sample.meta.tid, sample.meta.pid, sample.meta.time);
        let Some(running) = self.threads.get(&tid) else { return };
        let is_real_time = running.is_real_time();
        let (system, files, opened) = (&self.system, &mut self.files, &self.opened);
        // /proc is read later than the call happened, so an observed open(2) takes precedence.
        let look = |descriptor: i32| {
            let now = system.file(pid, descriptor);
            match opened.get(&(pid, descriptor)) {
                Some(kind) => now.filter(|file| file.may_be(*kind)).or_else(|| Some(File::opened(*kind))),
                None => now,
            }
        };
        // Only the calls of real-time threads matter.
        let (names, mut named) = (&mut self.names, Vec::new());
        let mut file = |descriptor: i32| match is_real_time {
            true => {
                let known = files.entry((pid, descriptor)).or_insert_with(|| {
                    let file = look(descriptor)?;
                    names.push((system.now(), Some(file.name.clone()).filter(|name| !name.is_empty())));
                    Some((file, names.len() as u32 - 1))
                });
                let known = known.as_ref()?;
                // If a call has two descriptors, the meaning selects one.
                named.push(known.1);
                Some(known.0.clone())
            }
            false => None,
        };
        let meaning = Meaning::of(&call, &mut file);
        let is_it = |name: &u32| self.names.get(*name as usize).is_some_and(|(_, name)| *name == meaning.file);
        let file = named.into_iter().find(is_it).filter(|_| meaning.file.is_some());
        if let Some(closed) = meaning.closes {
            self.closed(pid, closed, time);
        }
        if call.number == crate::calls::EXIT_GROUP {
            self.exits.insert(pid, call.arguments[0] as i32 & 0xff);
        }
        let place = match is_real_time || meaning.sets_policy_of.is_some() {
            true => self.place(tag, call.number, sample, || Some(name(call.number))),
            false => u32::MAX,
        };
        let Some(running) = self.threads.get_mut(&tid) else { return };
        // poll(2), followed by read(2) of a timerfd: the thread waited for that timer.
        if meaning.release == Release::Timerfd
            && let Some(last) = running.thread.waits.last_mut().filter(|w| w.wait.release == Release::Descriptors)
        {
            last.wait.release = Release::Timerfd;
        }
        let cpu = running.cpu_at(time);
        // A page fault that failed ends without a record.
        running.fault_since = None;
        running.woken = None;
        running.open = Some(Open { time, place, meaning, file, slept: false, cpu, timeout: None, timer: None });
    }

    fn returned(&mut self, sample: &Sample) {
        let (tid, time) = (sample.meta.tid, sample.meta.time);
        let result = self.tags.result(sample.raw);
        let Some(open) = self.threads.get_mut(&tid).and_then(|running| running.open.take()) else { return };
        if let (Some(kind), Some(descriptor)) =
            (open.meaning.opens, result.and_then(|number| i32::try_from(number).ok()))
            && descriptor >= 0
        {
            self.closed(sample.meta.pid, descriptor, time);
            self.opened.insert((sample.meta.pid, descriptor), kind);
        }
        if let Some(target) = open.meaning.sets_policy_of {
            if result == Some(0) {
                self.policy_set(tid, target, time, open.place);
            }
            return;
        }
        let Some(running) = self.threads.get_mut(&tid) else { return };
        if !running.is_real_time() || open.place == u32::MAX {
            return;
        }
        let is_deadline = matches!(running.thread.scheduling, Some(Scheduling::Deadline { .. }));
        let always = open.meaning.always.filter(|what| !(is_deadline && *what == What::Yield));
        let woken = running.woken.take().filter(|_| open.slept);
        let until = woken.map_or(time, |(at, _)| at);
        let timeout = open.meaning.timeout.filter(|(code, _)| open.slept && result == Some(*code));
        let uring = running.uring.take_if(|(set, _)| open.meaning.release == Release::Uring && set.due <= until);
        let (set, release) = match open.timer.or(uring).filter(|(set, _)| set.due <= until) {
            Some((set, release)) => (Some(set), release),
            None => {
                let is_over = timeout.is_some() || open.meaning.timeout.is_none();
                let set = open.timeout.filter(|set| is_over && set.due <= until);
                (set, timeout.map_or(open.meaning.release, |(_, release)| release))
            }
        };
        // A thread that sleeps until a time that it chose itself does not wait for anybody.
        let is_own_timer = matches!(release, Release::Timerfd | Release::PosixTimer)
            || release == Release::AbsoluteSleep && open.meaning.release == release;
        let if_slept = match open.meaning.if_slept {
            _ if release == Release::RelativeSleep && open.meaning.release != release => What::Timeout,
            What::Blocking if is_own_timer => What::Allowed,
            what => what,
        };
        let what = always.or(open.slept.then_some(if_slept)).filter(|what| !(is_deadline && *what == What::Yield));
        let cpu_after = running.cpu_at(time);
        let waited = Waited {
            wait: Wait {
                place: open.place,
                release,
                begin: Nanos(open.time),
                due: set.map(|set| Nanos(set.due)),
                set: set.map(|set| Nanos(set.at)),
                woken: woken.map(|(at, _)| Nanos(at)).or(open.slept.then_some(Nanos(time))),
                end: Nanos(time),
            },
            waker: woken.map(|(_, waker)| waker),
            has_slack: open.meaning.has_slack,
            cpu_before: open.cpu,
            cpu_after,
        };
        if let Some(what) = what {
            let duration = Some(time.saturating_sub(open.time));
            self.occurred(tid, Occurrence { time: open.time, what, place: open.place, duration, file: open.file });
        }
        if (open.slept || open.meaning.is_wait)
            && let Some(thread) = self.keeping(tid)
        {
            thread.waits.push(waited);
        }
    }

    /// Handles a policy that thread `by` set; `target` is the ID that it passed to the kernel.
    fn policy_set(&mut self, by: i32, target: i32, time: u64, place: u32) {
        let pid = self.threads.get(&by).map_or(by, |running| running.thread.pid);
        let target = if target == 0 { Some(by) } else { self.named(pid, target) };
        let Some(target) = target else {
            self.unread_policies += 1;
            return;
        };
        if let Some(running) = self.threads.get_mut(&target) {
            running.thread.asked = Asked::At(place);
        }
        let is_open = |running: &Running| running.thread.real_time_since.is_none();
        if self.threads.get(&target).is_some_and(is_open) && self.system.scheduling(target).is_none() {
            self.unread_policies += 1;
        }
        self.sample(target, time);
    }

    /// Returns the thread to which a process refers by this ID.
    fn named(&mut self, pid: i32, id: i32) -> Option<i32> {
        if let Some(tid) = self.named.get(&(pid, id)) {
            return Some(*tid);
        }
        let known: Vec<i32> = self.threads.keys().copied().collect();
        let tid = self.system.thread_of(pid, id, &known)?;
        self.named.insert((pid, id), tid);
        Some(tid)
    }

    fn faulted(&mut self, tag: u32, what: What, sample: &Sample) {
        let (tid, pid, time) = (sample.meta.tid, sample.meta.pid, sample.meta.time);
        let Some(running) = self.threads.get_mut(&tid) else { return };
        let since = running.fault_since.take();
        if !running.is_real_time() || self.probed_pages.contains(&(pid, sample.address & !0xfff)) {
            return;
        }
        if sample.regs.is_some_and(|regs| regs.ip & !0xfff == sample.address & !0xfff)
            && self.system.is_of_probes(pid, sample.address)
        {
            self.probed_pages.insert((pid, sample.address & !0xfff));
            return;
        }
        let place = self.place(tag, 0, sample, || None);
        let duration = since.map(|since| time.saturating_sub(since));
        self.occurred(tid, Occurrence { time: since.unwrap_or(time), what, place, duration, file: None });
    }

    fn probe_hit(&mut self, tag: u32, sample: &Sample) {
        let tid = sample.meta.tid;
        let Some(running) = self.threads.get_mut(&tid) else { return };
        running.probes += 1;
        if !running.is_real_time() {
            return;
        }
        let name = self.tags.probe_name(tag);
        let place = self.place(tag, 0, sample, || name);
        let time = sample.meta.time;
        self.occurred(tid, Occurrence { time, what: What::Allocation, place, duration: None, file: None });
    }

    fn lock_taken(&mut self, tag: u32, sample: &Sample) {
        let (tid, pid) = (sample.meta.tid, sample.meta.pid);
        self.lock_hits += 1;
        let Some(mutex) = locks::taken(&self.tags, sample.raw) else { return };
        let Some(running) = self.threads.get(&tid) else { return };
        let Some(scheduling) = running.thread.scheduling else { return };
        let is_real_time = running.is_real_time();
        let place = is_real_time.then(|| self.place(tag, 0, sample, || Some(locks::FUNCTION.to_owned())));
        let urgency = if is_real_time { urgency(scheduling) } else { 0 };
        let takers = self.locks.entry((pid, mutex)).or_default();
        let at = takers.iter().position(|taker| taker.tid == tid && taker.place == place && taker.urgency == urgency);
        let at = at.unwrap_or_else(|| {
            takers.push(Taker { tid, urgency, place, times: Vec::new() });
            takers.len() - 1
        });
        if is_real_time && self.kept < MOST {
            self.kept += 1;
            takers[at].times.push(sample.meta.time);
        }
    }

    fn woken(&mut self, sample: &Sample) {
        let Some((tid, priority, flags)) = self.tags.waking(sample.raw) else { return };
        let Some(running) = self.threads.get(&tid) else { return };
        if priority < ORDINARY && !running.is_real_time() {
            // The priority may also be a temporarily inherited one.
            self.sample(tid, sample.meta.time);
        }
        let waker = match flags & IN_INTERRUPT {
            0 => {
                let by = sample.meta.tid;
                let (urgency, is_kernel) = self.urgency_of(by);
                Waker::Thread { tid: by, urgency, is_kernel }
            }
            _ => Waker::Interrupt,
        };
        if let Some(running) = self.threads.get_mut(&tid) {
            running.woken = Some((sample.meta.time, waker));
        }
    }

    fn urgency_of(&mut self, tid: i32) -> (u8, bool) {
        if let Some(running) = self.threads.get(&tid)
            && let Some(scheduling) = running.thread.scheduling
        {
            return (urgency(scheduling), false);
        }
        let system = &self.system;
        *self.strangers.entry(tid).or_insert_with(|| {
            let urgent = system.scheduling(tid).map_or(0, |(scheduling, _)| urgency(scheduling));
            (urgent, system.who(tid).is_none_or(|(_, is_kernel)| is_kernel))
        })
    }

    /// Returns the place of a sample; `call` names the call of a new place.
    fn place(&mut self, tag: u32, number: i64, sample: &Sample, call: impl FnOnce() -> Option<String>) -> u32 {
        let (key, registers) = self.key(tag, number, sample);
        if let Some(place) = self.index.get(&key) {
            return *place;
        }
        let pid = sample.meta.pid;
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        let stack = process.unwind(registers, sample.stack, MOST_FRAMES);
        let call = call();
        let wants_deep = stack.is_cut && sample.stack.len() >= SMALL_STACK as usize;
        let place = Place { call, stack: Vec::new(), is_cut: stack.is_cut, is_whole: stack.is_whole };
        let number = self.places.len() as u32;
        self.places.push(Seen { pid, kind: tag, place, stack, wants_deep });
        self.index.insert(key, number);
        number
    }

    fn key(&mut self, tag: u32, number: i64, sample: &Sample) -> (Key, Registers) {
        // Copies of any size have the same key.
        let copy = &sample.stack[..sample.stack.len().min(SMALL_STACK as usize)];
        let regs = sample.regs.unwrap_or_default();
        let registers = Registers { ip: regs.ip, sp: regs.sp, fp: regs.fp, lr: regs.lr };
        let pid = sample.meta.pid;
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(pid));
        let mut hasher = DefaultHasher::new();
        process.unwind(registers, copy, KEY_FRAMES).addresses.hash(&mut hasher);
        ((pid, tag, number, hasher.finish()), registers)
    }

    /// Handles a larger copy of a stack that is already known.
    pub(super) fn deep(&mut self, tag: u32, sample: &Sample) {
        let number = match self.tags.kind(tag) {
            Kind::Enter => self.tags.call(sample.raw).map_or(0, |call| call.number),
            _ => 0,
        };
        let (key, registers) = self.key(tag, number, sample);
        let Some(seen) = self.index.get(&key).and_then(|place| self.places.get_mut(*place as usize)) else { return };
        if !seen.wants_deep {
            return;
        }
        if let Some(process) = self.processes.get_mut(&sample.meta.pid) {
            let stack = process.unwind(registers, sample.stack, MOST_FRAMES);
            if stack.addresses.len() >= seen.stack.addresses.len() {
                (seen.place.is_cut, seen.place.is_whole) = (stack.is_cut, stack.is_whole);
                seen.stack = stack;
            }
            seen.wants_deep = false;
        }
    }
}
