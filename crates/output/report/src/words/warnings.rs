//! Reports what a reader must know before any figure.

use super::headline::{distinct, gravest, problem_sentence};
use super::{capital, imported, stopped};
use crate::figures::recorded_ns;
use crate::number::{percent, plural};
use punctual_model::{EndedBy, Outcome, Problem, ProblemKind, Recording, Verdict, VirtualControl};
use punctual_units::{Nanos, Policy};

/// Returns what may make the figures misleading: no real-time scheduling, an incomplete run, damaged files, problems of
/// single phases.
pub fn warnings(recording: &Recording, verdict: &Verdict) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(virtual_time(recording));
    all.extend(control(verdict));
    all.extend(imported::whence(recording));
    all.extend(imported::grave(recording));
    all.extend(ordinary_threads(recording));
    all.extend(incomplete(recording));
    all.extend(not_idle(recording));
    all.extend(
        recording.application.iter().flat_map(|application| &application.notes).map(|note| stopped(&capital(note))),
    );
    // Two problems are reported elsewhere: the gravest one in the headline of an inconclusive verdict, and that the run
    // was interrupted.
    let reported = (verdict.outcome == Outcome::Inconclusive).then(|| gravest(verdict)).flatten();
    let is_reported = |(phase, p): &(Option<String>, Problem)| {
        phase.is_none() && p.kind == ProblemKind::Interrupted && !recording.run.complete
    };
    let problems =
        distinct(recording, verdict).into_iter().filter(|p| !reported.is_some_and(|t| t == *p) && !is_reported(p));
    all.extend(problems.map(|(phase, p)| stopped(&capital(&problem_sentence(recording, phase.as_deref(), p)))));
    // The judge lists damage among the problems, but a verdict of another origin may not.
    let known = |d: &&String| verdict.problems.iter().any(|(_, p)| p.text == **d);
    let damage = recording.damage.iter().filter(|d| !known(d));
    all.extend(damage.map(|d| stopped(&format!("The run's files are damaged: {d}"))));
    shortened(all)
}

/// Limits the number of problems: a run that lost every CPU has one per CPU.
fn shortened(mut all: Vec<String>) -> Vec<String> {
    const MOST: usize = 10;
    let more = all.len().saturating_sub(MOST) as u64;
    if more > 1 {
        all.truncate(MOST);
        all.push(format!("And {}; the JSON result lists all.", plural(more, "more problem", "more problems")));
    }
    all
}

fn virtual_time(recording: &Recording) -> Option<String> {
    let model = recording.run.virtual_time.as_ref()?;
    let speed = match model.instruction_ns {
        1 => "every instruction takes 1 ns".to_owned(),
        ns => format!("every instruction takes {ns} ns"),
    };
    Some(format!(
        "Virtual time: the machine `{}` is emulated by {}, and {speed}, with no caches, no firmware and no other cost. The \
         figures show what the kernel {} does; they are not those of a board.",
        model.machine, model.emulator, model.kernel
    ))
}

/// Reports that the control of virtual time passed. A failed control is reported as a problem.
fn control(verdict: &Verdict) -> Option<String> {
    let control = verdict.virtual_control.as_ref().filter(|c| c.passed())?;
    Some(format!(
        "The control passed: spinners (`{}`) made the worst idle wakeup of CPU {} {:.2} times as long ({} instead of {}); from {} \
         times on these figures would be invalid.",
        control.control,
        control.cpu,
        control.ratio(),
        Nanos(control.beside_spinner_ns),
        Nanos(control.idle_ns),
        VirtualControl::LIMIT
    ))
}

fn ordinary_threads(recording: &Recording) -> Option<String> {
    let results = || recording.run.phases.iter().flat_map(|p| &p.cpus);
    let policies = || results().filter_map(|c| Some(c.got?.policy())).filter(|p| !p.is_real_time());
    let ordinary = policies().count();
    let policy: Policy = policies().next()?;
    let which = if ordinary == results().count() { "Every" } else { "At least one" };
    Some(format!(
        "{which} measured thread was an ordinary one ({policy}): it waits for other programs, and its latency says \
         little about a real-time thread's."
    ))
}

/// Reports that something else ran during the phase without a load.
fn not_idle(recording: &Recording) -> Option<String> {
    /// What services of an idle machine use is less.
    const MUCH: f64 = 0.1;
    let most = recording.run.phases.iter().filter_map(|phase| phase.busy_with_others).reduce(f64::max)?;
    (most >= MUCH).then(|| {
        format!("While idle, other programs used {} of the measured CPUs' time: `idle` was not idle.", percent(most))
    })
}

fn incomplete(recording: &Recording) -> Option<String> {
    let run = &recording.run;
    // Data missing from an imported file are reported with its losses.
    if run.complete || run.import.is_some() {
        return None;
    }
    let measured = run.phases.iter().fold(0u64, |sum, p| sum.saturating_add(recorded_ns(recording, p)));
    let how_far = match measured {
        0 => "before anything was measured".to_owned(),
        ns => match run.settings.until_decided.map_or(run.settings.duration_ns, |until| Some(until.max_ns)) {
            Some(planned) => format!("after {} of {planned} of measuring", Nanos(ns)),
            None => format!("after {} of measuring", Nanos(ns)),
        },
    };
    Some(match &run.ended_by {
        Some(EndedBy::Signal { name, .. }) => {
            format!("The run was ended by {name} {how_far}; results up to then are complete.")
        }
        Some(EndedBy::Error { text }) => stopped(&format!("The run was ended by an error {how_far}: {text}")),
        Some(EndedBy::Unknown) => stopped(&format!("The run ended {how_far}, for a reason unknown to this version.")),
        Some(EndedBy::Killed) | None => {
            let unfinished = run.phases.iter().filter(|p| p.end_mono_ns.is_none()).count() as u64;
            let open = match unfinished {
                0 => String::new(),
                n => format!("; {} no end", plural(n, "phase has", "phases have")),
            };
            format!(
                "The run has no end record: it was killed, power was cut, or it is still running{open}. The last seconds may be missing."
            )
        }
        Some(EndedBy::Duration) => format!("The run ended {how_far}, not as planned."),
    })
}
