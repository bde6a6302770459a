use crate::error::Error;
use crate::listener::{Heard, Listener};
use crate::plan::{Beats, Measured, Plan};
use crate::toggler::Toggler;
use punctual_loads::{Load, LoadSettings};
use punctual_model::{Problem, ProblemKind};
use punctual_record::Taken;
use punctual_rt::{CpuId, End, Finished, Miss, Rt, Task};
use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use punctual_units::Nanos;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};

pub(crate) struct Bench<'a> {
    pub(crate) rt: &'a Rt,
    pub(crate) cpu: Option<CpuId>,
    pub(crate) loads: LoadSettings,
    pub(crate) duration: Nanos,
    pub(crate) settle: Nanos,
}

/// The line and the source of edges, which each measurement uses and returns.
pub(crate) struct Instruments {
    pub(crate) toggler: Toggler,
    pub(crate) heard: Heard,
}

/// Holds the toggler during a measurement, and returns it when the task that uses it ends.
struct Lent {
    toggler: Option<Toggler>,
    back: Sender<Toggler>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(toggler) = self.toggler.take() {
            let _ = self.back.send(toggler);
        }
    }
}

pub(crate) fn measure(bench: &Bench, plan: &Plan, instruments: Instruments) -> Result<(Measured, Instruments), Error> {
    let Instruments { toggler, heard } = instruments;
    let (made_before, unreported_before) = (toggler.beats(), toggler.unreported());
    let failure = toggler.failure();
    let mut load = Load::start(&plan.load, &bench.loads)?;
    let early = wait(bench.settle);
    let listener = Listener::start(heard)?;
    load.start_recording();
    let (task, back) = spawn(bench, plan, toggler)?;
    let taken = Taken::of(&task);
    let ended_by = early.or_else(|| attend(&task, bench.duration));
    let finished = task.stop();
    let report = load.stop();
    let (heard, listened) = listener.end()?;
    if let Some(source) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(Error::Line { what: "--line", source });
    }
    let toggler = back.recv().map_err(|_| Error::Ended(how(&finished)))?;
    if !matches!(finished.end, End::Stopped) {
        return Err(Error::Ended(how(&finished)));
    }
    let (made, unreported) = (toggler.beats() - made_before, toggler.unreported() - unreported_before);
    let beats = Beats { made, reported: listened.beats, unreported };
    let mut run = taken.ended(&finished).under(&plan.load.to_string(), report.clone());
    if let Some(signal) = ended_by {
        run =
            run.problem(Problem { kind: ProblemKind::Interrupted, text: format!("ended early by {}", signal.name()) });
    }
    let (stats, edges) = (finished.stats, listened.edges);
    let plan = plan.clone();
    let measured = Measured { plan, stats, edges, beats, load: report, ended_by, run };
    Ok((measured, Instruments { toggler, heard }))
}

fn how(finished: &Finished) -> String {
    match &finished.end {
        End::Panicked(message) => message.clone(),
        other => format!("{other:?}"),
    }
}

fn spawn(bench: &Bench, plan: &Plan, toggler: Toggler) -> Result<(Task, Receiver<Toggler>), Error> {
    let (send, back) = channel();
    let mut lent = Lent { toggler: Some(toggler), back: send };
    let task = bench.rt.periodic("metronome", plan.scheduling, plan.period).on_miss(Miss::Skip);
    let task = match bench.cpu {
        Some(cpu) => task.cpu(cpu),
        None => task,
    };
    let task = task.spawn(move |cycle| match &mut lent.toggler {
        Some(toggler) => toggler.beat(cycle),
        None => punctual_rt::Next::Stop,
    })?;
    Ok((task, back))
}

/// Waits until the duration has passed, a signal arrives, or the task has ended. Returns the signal, if any.
fn attend(task: &Task, duration: Nanos) -> Option<Sig> {
    let end = punctual_rt::monotonic().0.saturating_add(duration.0);
    loop {
        let left = Nanos(end).saturating_sub(punctual_rt::monotonic());
        if left == Nanos::ZERO || task.is_finished() {
            return None;
        }
        if let Some(signal) = wait(left.min(Nanos::from_millis(200))) {
            return Some(signal);
        }
    }
}

/// Sleeps for `time`. Returns early, with the signal, if a termination signal arrives.
fn wait(time: Nanos) -> Option<Sig> {
    match uapi::wait(&SignalSet::new(&[Sig::Int, Sig::Term, Sig::Hup]), Some(time)) {
        Waited::Signal(signal) => Some(signal),
        Waited::TimedOut => None,
    }
}
