use crate::account::{Accounts, Watched, account};
use punctual_directory::Dir;
use punctual_journal::Journal;
use punctual_trace::{Damage, Options};
use punctual_tracefs::{Config, Cut, EventSet, Flight, Instance, Tracefs};

const EVENTS: &EventSet = &[("sched", "sched_switch"), ("sched", "sched_waking"), ("sched", "sched_migrate_task")];
const EXPIRY: (&str, &str) = ("timer", "hrtimer_expire_entry");
const WITH_EXPIRY: &EventSet = &[EVENTS[0], EVENTS[1], EVENTS[2], EXPIRY];
/// Handler of the timer that starts each period of RT throttling (kernel/sched/rt.c). Kernels without RT throttling lack
/// it.
const PERIOD_TIMER: &str = "sched_rt_period_timer";
/// Size of the trace buffers of all CPUs in KiB. A CPU with 1000 wakeups per second fills about 200 KiB in that time.
const BUFFERS_KB: u64 = 32 << 10;
/// Minimum size of the buffer of a CPU in KiB.
const BUFFER_KB: u64 = 4 << 10;

pub(crate) struct Tracing {
    flight: Flight,
}

impl Tracing {
    /// Records the switches and wakeups of all tasks, since all compete for the CPUs of the experiment, and the starts
    /// of the periods of RT throttling. `cpus` is the number of CPUs.
    ///
    /// # Errors
    /// The reason why tracing is not possible, with advice.
    pub fn start(cpus: usize) -> Result<Tracing, String> {
        let said = |e: punctual_tracefs::TracefsError| e.to_string();
        let tracefs = Tracefs::of_threads().map_err(said)?;
        let buffer_kb = (BUFFERS_KB / u64::try_from(cpus.max(1)).unwrap_or(1)).max(BUFFER_KB);
        let [period_timer] = punctual_tracefs::addresses([PERIOD_TIMER]);
        let create = |events| {
            let config = Config { events, buffer_kb: Some(buffer_kb), tracer: None, stacks: None };
            Instance::create(&tracefs, &Journal::of_user(), &config)
        };
        let with_expiry = |function: u64| {
            let instance = create(WITH_EXPIRY).ok()?;
            instance.filter(EXPIRY.0, EXPIRY.1, &format!("function == {function:#x}")).ok()?;
            Some(instance)
        };
        let instance = period_timer.and_then(with_expiry).map_or_else(|| create(EVENTS), Ok).map_err(said)?;
        Ok(Tracing { flight: Flight::new(instance).map_err(said)? })
    }

    /// Ends the trace, saves it as a trace.dat file and accounts for the time of the threads, which `releaser` released.
    ///
    /// # Errors
    /// Description of the missing data. The trace then supports no conclusion.
    pub fn end(
        mut self,
        dir: &Dir,
        name: &str,
        threads: &[Watched],
        releaser: i32,
        start: u64,
    ) -> Result<Accounts, String> {
        let to = threads.iter().map(|watched| watched.to).max().unwrap_or(start);
        let cut = Cut { from_ns: start, to_ns: to, name: name.into() };
        let kept = self.flight.cut(dir, std::slice::from_ref(&cut)).map_err(|e| format!("{name}: {e}"))?;
        self.flight.end().map_err(|left| left.join(", "))?;
        if let Some(cpu) = kept.iter().flat_map(|kept| &kept.overwritten).next() {
            return Err(format!("the trace of CPU {cpu} was overwritten: the run was too long for the buffer"));
        }
        let file = dir.file(name).map_err(|e| e.to_string())?;
        let mut source = punctual_trace::open(file, Options::default()).map_err(|e| e.to_string())?;
        let accounts = account(source.by_ref(), threads, Some(releaser), start);
        let lost = |damage: &Damage| matches!(damage, Damage::Lost { .. } | Damage::Truncated { .. });
        if source.info().notes.iter().any(|note| lost(&note.what)) {
            return Err("the trace lost events".into());
        }
        if accounts.switches == 0 {
            return Err("the trace contains no context switch of the threads".into());
        }
        match accounts.missing {
            0 => Ok(accounts),
            missing => Err(format!("{missing} of {} switches are missing from the trace", accounts.switches + missing)),
        }
    }
}
