use super::{alone_misses, share};
use crate::clean::line;
use crate::number::plural;
use punctual_model::{ACCOUNTED, Experiment, Outcome, PlannedThread, RanThread, Repetition};
use punctual_units::Nanos;

/// Share of a thread's time above which a difference is reported.
const TELLS: f64 = 0.01;
const OTHERS: usize = 3;

pub fn residuals(experiment: &Experiment, repetition: &Repetition) -> Vec<String> {
    let pairs = experiment.threads.iter().zip(&repetition.threads);
    let mut out: Vec<String> = pairs.filter_map(|(planned, ran)| of_thread(planned, ran)).collect();
    out.extend(held(experiment, repetition));
    out.extend(others(repetition));
    out.extend(repetition.problems.iter().map(|problem| line(problem)));
    out
}

/// Returns the outcome as a sentence; if the end of a thread was not predicted from its work alone, says so.
pub fn experiment_verdict(experiment: &Experiment, outcome: Outcome) -> String {
    let pairs = experiment.repetitions.iter().flat_map(|one| experiment.threads.iter().zip(&one.threads));
    let misses = pairs.filter_map(|(planned, ran)| alone_misses(planned.predicted, ran));
    let most = misses.max_by(|a, b| a.abs().total_cmp(&b.abs())).filter(|miss| miss.abs() > TELLS);
    match (outcome, most) {
        (Outcome::Pass | Outcome::Held, None) => {
            "PASS: every thread ended as predicted, and all time is accounted for".to_owned()
        }
        (Outcome::Pass | Outcome::Held, Some(miss)) => format!(
            "PASS: the end of every thread follows from the CPU time that its work took (\"as charged\"), and all time is accounted \
             for; the prediction from the work alone (\"predicted\") was off by up to {}",
            share(Some(miss))
        ),
        (Outcome::Fail, _) => {
            "FAIL: the end of a thread does not follow from the CPU time that its work took, or time is missing"
                .to_owned()
        }
        (Outcome::Inconclusive, _) => "INCONCLUSIVE: not all that is needed could be measured here".to_owned(),
    }
}

fn of_thread(planned: &PlannedThread, ran: &RanThread) -> Option<String> {
    let mut causes = Vec::new();
    let of_elapsed = |ns: f64| ns / ran.elapsed_ns.0.max(1) as f64;
    if let Some(alone) = planned.alone_ns {
        let more = ran.charged_ns.0 as f64 - alone.0 as f64;
        if (more / alone.0.max(1) as f64).abs() > TELLS {
            let word = if more > 0.0 { "more" } else { "less" };
            causes.push(format!("its work took {} {word} CPU time than when it ran alone", Nanos(more.abs() as u64)));
        }
    }
    if let Some(taken) = ran.taken {
        if of_elapsed(taken.steal_ns.0 as f64) > TELLS {
            causes.push(format!("the hypervisor took {}", taken.steal_ns));
        }
        if of_elapsed(taken.others_ns.0 as f64) > TELLS {
            causes.push(format!("tasks outside the experiment took {}", taken.others_ns));
        }
    }
    if let Some((earliest, latest)) = ran.as_charged.bounds().filter(|_| ran.as_charged.width() > Some(TELLS)) {
        causes.push(format!(
            "from the charged CPU time, its end can be predicted only to lie between {earliest} and {latest}"
        ));
    }
    if ran.is_explained() == Some(false) {
        causes.push(format!("{} of its time is unexplained", share(ran.rest())));
    }
    if let Some(missing) = ran.unaccounted().filter(|missing| *missing > ACCOUNTED) {
        causes.push(format!(
            "the sum of run, wait, sleep and steal differs from its elapsed time by {:.1} %",
            missing * 100.0
        ));
    }
    if let (Some(bound), Some(worst)) = (planned.bound_ns, ran.worst_response_ns) {
        let kept = if worst <= bound { "within" } else { "BEYOND" };
        causes.push(format!(
            "its longest response was {worst}, {kept} the bound of {bound} from response-time analysis with the mean execution time that was measured alone"
        ));
    }
    let reported = alone_misses(planned.predicted, ran).filter(|miss| miss.abs() > TELLS);
    let off = reported.map_or(String::new(), |miss| format!(" ended {} from its predicted time", share(Some(miss))));
    (!causes.is_empty()).then(|| format!("{}{off}: {}", line(&planned.name), causes.join("; ")))
}

/// Reports how often and for how long ordinary tasks ran while a real-time thread waited. The ends, or else the durations,
/// identify the mechanism.
fn held(experiment: &Experiment, repetition: &Repetition) -> Option<String> {
    let (first, count) = (repetition.held.first()?, repetition.held.len() as u64);
    let sum = repetition.held.iter().map(|held| held.lasted_ns.0).fold(0, u64::saturating_add);
    let longest = repetition.held.iter().map(|held| held.lasted_ns).max().unwrap_or(first.lasted_ns);
    let by = experiment.system.limit.as_ref();
    let aside = by.map(|limit| limit.period_ns.saturating_sub(limit.runtime_ns));
    let quanta = aside.map_or(0, |aside| {
        let like = |held: &&punctual_model::Held| held.lasted_ns.0.abs_diff(aside.0) <= aside.0 / 10;
        repetition.held.iter().filter(like).count()
    });
    let times = plural(count, "time", "times");
    let ended = repetition.held.iter().filter(|held| held.ends_at_period).count();
    let named = match (by, aside) {
        (Some(by), _) if by.always && ended > 0 && ended >= quanta => {
            format!("; {ended} of these times ended when a new period of {} began", line(&by.by))
        }
        (Some(by), Some(aside)) if quanta > 0 => {
            format!("; {quanta} of these times were {aside} long, as caused by {}", line(&by.by))
        }
        _ => "; no readable setting explains that".into(),
    };
    Some(format!(
        "ordinary tasks ran {times} while a real-time thread waited for the CPU, {} in all, {longest} at most, first after {}{named}",
        Nanos(sum),
        first.from_ns
    ))
}

fn others(repetition: &Repetition) -> Option<String> {
    let named: Vec<String> = repetition
        .others
        .iter()
        .filter(|other| other.took_ns.0 >= 1_000_000)
        .take(OTHERS)
        .map(|other| format!("{} ({})", line(&other.comm), other.took_ns))
        .collect();
    (!named.is_empty()).then(|| format!("a thread waited while others ran: {}", named.join(", ")))
}

pub fn remarks(experiment: &Experiment) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(why) = &experiment.untraced {
        out.push(format!(
            "not traced: {}; wait times are from /proc/thread-self/schedstat; sleep, steal and others cannot be distinguished, so no conclusion is drawn",
            line(why)
        ));
    }
    out.extend(experiment.notes.iter().map(|note| line(note)));
    if experiment.interrupted {
        out.push("interrupted: repetitions are missing".into());
    }
    out
}
