//! Adapters for co-kernels: programs that are linked with a co-kernel's libraries, and run one test at a time as
//! requested through a line protocol (docs/backends.md).

mod build;
mod line;

pub use build::{COKERNELS, Cokernel};

use crate::Ledger;
use crate::backend::{Answer, Backend, Channel, NotRun, Observed, Order, Plan, Source};
use line::{Line, parse};
use punctual_directory::Scratch;
use punctual_units::Nanos;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Time that an adapter may take in addition to the duration of its test.
const PATIENCE: Duration = Duration::from_secs(30);
const LONGEST: u64 = 4096;

/// A running adapter. Dropping it kills the program and removes the directory in which it was built.
pub struct Adapter {
    name: String,
    child: Child,
    requests: ChildStdin,
    lines: Receiver<Vec<u8>>,
    facts: BTreeMap<String, String>,
    patience: Duration,
    advice: String,
    /// Directory in which the adapter was built; `None` if this process did not build it.
    folder: Option<Scratch>,
}

impl Adapter {
    /// Starts a program that uses the protocol, and exchanges greetings with it. `patience` is the time that it may
    /// take in addition to the duration of a test.
    ///
    /// # Errors
    /// [`NotRun`] if the program cannot be started or does not answer the greeting.
    pub fn start(command: Command, patience: Duration) -> Result<Adapter, NotRun> {
        Adapter::advised(command, patience, "run it by hand and type `hello 1`".into())
    }

    fn advised(mut command: Command, patience: Duration, advice: String) -> Result<Adapter, NotRun> {
        let failed = |what: &str, e: &dyn std::fmt::Display| NotRun::Failed(format!("{what}: {e}"));
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| failed(&program, &e))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(NotRun::Failed(format!("{program}: its standard input and output are not pipes")));
        };
        let (send, lines) = sync_channel(1024);
        let read = move || {
            let mut answers = BufReader::new(answers);
            let mut line = Vec::new();
            while (&mut answers).take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        };
        let reader = std::thread::Builder::new().name("events-adapter".into()).spawn(read);
        let (name, facts) = (program, BTreeMap::new());
        let mut adapter = Adapter { name, child, requests, lines, facts, patience, advice, folder: None };
        reader.map_err(|e| failed("clone", &e))?;
        adapter.greet()?;
        Ok(adapter)
    }

    fn greet(&mut self) -> Result<(), NotRun> {
        self.ask("hello 1")?;
        let give_up = Instant::now() + self.patience;
        let mut name = None;
        loop {
            match self.next(give_up, &|| false)? {
                Line::Hello(1, given) => name = Some(given),
                Line::Fact(key, value) => drop(self.facts.insert(key, value)),
                Line::End => break,
                other => return Err(self.broken(&format!("its first line is {other:?}"))),
            }
        }
        self.name = name.ok_or_else(|| self.broken("its first line is not `hello 1 NAME`"))?;
        Ok(())
    }

    fn ask(&mut self, request: &str) -> Result<(), NotRun> {
        let asked = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        asked.map_err(|e| self.broken(&format!("cannot send it a request: {e}")))
    }

    fn broken(&self, why: &str) -> NotRun {
        NotRun::Failed(format!("adapter {}: {why}; {}", self.name, self.advice))
    }

    /// Reads the next line, which must arrive before `give_up` and before `stopped` returns true. After an error the
    /// adapter is killed, because later answers could belong to the earlier request.
    fn next(&mut self, give_up: Instant, stopped: &dyn Fn() -> bool) -> Result<Line, NotRun> {
        let why = loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => match parse(&line) {
                    Ok(line) => return Ok(line),
                    Err(why) => break why,
                },
                Err(RecvTimeoutError::Disconnected) => break "it has ended".into(),
                Err(RecvTimeoutError::Timeout) if stopped() => break "stopped by a signal".into(),
                Err(RecvTimeoutError::Timeout) if Instant::now() > give_up => break "it does not answer".into(),
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        // The process may already have ended.
        let _ = self.child.kill();
        Err(self.broken(&why))
    }

    fn run(&mut self, plan: &Plan<'_>) -> Answer {
        let cpu = plan.cpu.map_or_else(String::new, |cpu| format!(" cpu={cpu}"));
        self.ask(&format!(
            "run {} interval_ns={} events={} deadline_ns={} priority={}{cpu}",
            plan.test, plan.interval.0, plan.events, plan.deadline.0, plan.priority
        ))?;
        let lasts = Duration::from_nanos(plan.interval.0.saturating_mul(plan.events).saturating_mul(2));
        let give_up = Instant::now() + lasts + self.patience;
        let mut observed = Observed::new(plan.ledger(), 0);
        let (mut refused, mut sent) = (None, None);
        loop {
            match self.next(give_up, &|| plan.stop.load(Relaxed))? {
                Line::Arrival { number, count, lateness } => {
                    together(&mut observed.ledger, plan.interval, number, count, lateness)
                }
                Line::Overflowed(events) => observed.ledger.overflowed(events),
                Line::Sent(events) => sent = Some(events),
                Line::Faults(faults) => observed.page_faults = Some(faults),
                Line::Switches(switches) => observed.mode_switches = Some(switches),
                Line::Note(note) => observed.notes.push(note),
                Line::Unsupported(why) => refused = Some(NotRun::Unsupported(why)),
                Line::Failed(why) => refused = Some(NotRun::Failed(why)),
                Line::End => break,
                other => return Err(self.broken(&format!("it answers the request with {other:?}"))),
            }
        }
        match (refused, sent) {
            (Some(why), _) => Err(why),
            (None, Some(sent)) => Ok(Observed { sent, ..observed }),
            (None, None) => Err(self.broken("it does not report how many events it sent")),
        }
    }
}

/// Records events that arrived together. Each event is one interval less late than the one before it.
fn together(ledger: &mut Ledger, interval: Nanos, number: u64, count: u64, lateness: u64) {
    ledger.arrived_together(number, count, |n| Nanos(lateness.saturating_sub((n - number).saturating_mul(interval.0))));
}

impl Drop for Adapter {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = writeln!(self.requests, "quit");
        let _ = self.child.kill();
        let _ = punctual_watchdog::wait(&mut self.child, &self.name, punctual_watchdog::GRACE);
    }
}

impl Backend for Adapter {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.facts.clone()
    }

    fn periodic(&mut self, plan: &Plan<'_>) -> Answer {
        self.run(plan)
    }

    fn alarms(&mut self, plan: &Plan<'_>) -> Answer {
        self.run(plan)
    }

    fn inversion(&mut self, plan: &Plan<'_>) -> Answer {
        self.run(plan)
    }

    fn order(&mut self, _order: Order, plan: &Plan<'_>) -> Answer {
        self.run(plan)
    }

    fn channel(&mut self, _channel: Channel, plan: &Plan<'_>) -> Answer {
        self.run(plan)
    }

    fn source(&mut self, _source: Source, plan: &Plan<'_>) -> Answer {
        self.run(plan)
    }
}
