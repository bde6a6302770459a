//! The backend for Linux with or without PREEMPT_RT. It uses tasks of punctual-rt and event sources of the kernel.

mod alone;
mod deliver;
mod inversion;
mod order;
mod rtc;
mod sources;
mod takers;
mod wires;

pub use wires::{GpioWire, Wires, WiresError};

use crate::backend::{Answer, Backend, Channel, NotRun, Order, Plan, Source};
use punctual_rt::{Rt, granted_nice, try_scheduling};
use punctual_uapi::{Sig, SignalSet};
use punctual_units::{CpuId, Priority, Scheduling};
use std::collections::BTreeMap;

pub struct Posix {
    rt: Rt,
    /// Reason why real-time priority is not available; `None` if it is available.
    refused: Option<String>,
    wires: Wires,
}

impl Posix {
    /// Locks the program's memory if permitted, and blocks SIGRTMIN and SIGUSR2, which the signal tests receive. It
    /// must be called before threads are started that could receive these signals.
    ///
    /// # Errors
    /// [`NotRun`] if the signals cannot be blocked, or punctual-rt cannot be started; neither happens on Linux.
    /// [`Backend::facts`] says whether memory is locked.
    pub fn new(priority: Priority, wires: Wires) -> Result<Posix, NotRun> {
        let failed = |e: &dyn std::fmt::Display| NotRun::Failed(e.to_string());
        punctual_uapi::block(&SignalSet::new(&[Sig::RtMin, Sig::Usr2])).map_err(|e| failed(&e))?;
        let rt = match Rt::builder().lock_memory().start() {
            Ok(rt) => rt,
            Err(_) => Rt::builder().start().map_err(|e| failed(&e))?,
        };
        let refused = try_scheduling(Scheduling::Fifo { priority }).err().map(|e| e.advised());
        Ok(Posix { rt, refused, wires })
    }

    /// Returns SCHED_FIFO with the plan's priority plus `above`, or SCHED_OTHER if real-time priority is not permitted.
    fn scheduling(&self, plan: &Plan<'_>, above: i8) -> Scheduling {
        match self.refused {
            None => Scheduling::Fifo { priority: near(plan.priority, above) },
            Some(_) => granted_nice(Scheduling::Other { nice: 0 }),
        }
    }

    /// Returns a note if the tests had no real-time priority, otherwise an empty list.
    fn narrowed(&self) -> Vec<String> {
        let note = |why: &String| format!("ran under SCHED_OTHER, so the timing is that of an ordinary thread: {why}");
        self.refused.iter().map(note).collect()
    }

    /// Fails if a test needs real-time priority and it is not available.
    ///
    /// # Errors
    /// [`NotRun::Unsupported`] if real-time priority is not available.
    fn need_priority(&self) -> Result<(), NotRun> {
        match &self.refused {
            None => Ok(()),
            Some(why) => Err(NotRun::Unsupported(format!("real-time priority is needed: {why}"))),
        }
    }

    /// Returns the plan's CPU, or the last CPU that this process may use.
    fn one_cpu(plan: &Plan<'_>) -> Result<CpuId, NotRun> {
        let allowed = punctual_uapi::affinity(0).map_err(|e| NotRun::Failed(e.to_string()))?;
        let none = || NotRun::Failed("this process is not allowed to run on any CPU (taskset -cp $$)".into());
        plan.cpu.or_else(|| allowed.iter().last()).ok_or_else(none)
    }
}

/// Returns the priority plus `above`, clamped to the range 1 to 99.
fn near(priority: Priority, above: i8) -> Priority {
    let wanted = (i16::from(priority.get()) + i16::from(above)).clamp(1, 99);
    u8::try_from(wanted).ok().and_then(|n| Priority::try_from(n).ok()).unwrap_or(priority)
}

impl Backend for Posix {
    fn name(&self) -> &str {
        "posix"
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let name = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let realtime = std::fs::read_to_string("/sys/kernel/realtime").is_ok_and(|text| text.trim() == "1");
        let locked = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let locked = locked.lines().find_map(|line| line.strip_prefix("VmLck:")).map_or("unknown", str::trim);
        let policy = self.refused.as_ref().map_or_else(|| "SCHED_FIFO".into(), |why| format!("SCHED_OTHER: {why}"));
        let facts = [
            ("kernel", format!("{} {}", text(name.release()), text(name.version()))),
            ("machine", text(name.machine())),
            ("preempt_rt", realtime.to_string()),
            ("memory_locked", locked.to_owned()),
            ("policy", policy),
        ];
        facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn periodic(&mut self, plan: &Plan<'_>) -> Answer {
        self.wait_periodically(plan)
    }

    fn alarms(&mut self, plan: &Plan<'_>) -> Answer {
        self.set_alarms(plan)
    }

    fn inversion(&mut self, plan: &Plan<'_>) -> Answer {
        self.need_priority()?;
        inversion::rounds(plan, Self::one_cpu(plan)?)
    }

    fn order(&mut self, order: Order, plan: &Plan<'_>) -> Answer {
        self.need_priority()?;
        order::rounds(order, plan, Self::one_cpu(plan)?)
    }

    fn channel(&mut self, channel: Channel, plan: &Plan<'_>) -> Answer {
        match channel {
            Channel::Queue => self.queue(plan),
            Channel::Pipe => self.pipe_out(plan),
        }
    }

    fn source(&mut self, source: Source, plan: &Plan<'_>) -> Answer {
        match source {
            Source::Timer => self.timer(plan),
            Source::Eventfd => self.eventfd(plan),
            Source::Pipe => self.pipe(plan),
            Source::Pty => self.pty(plan),
            Source::RtSignal => self.signals(plan, Sig::RtMin),
            Source::Signal => self.signals(plan, Sig::Usr2),
            Source::Udp => self.udp(plan),
            Source::Gpio => self.gpio(plan),
            Source::Serial => self.serial(plan),
            Source::Rtc => self.rtc(plan),
        }
    }
}
