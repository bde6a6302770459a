//! An explanation for a terminal.

use super::args::ExplainArgs;
use super::found::Found;
use punctual_explain::Victim;
use punctual_units::Nanos;

/// The verdicts first, then what each is made of.
pub fn text(found: &Found, args: &ExplainArgs) -> String {
    let explanation = &found.explanation;
    let mut out = String::new();
    if explanation.victims.is_empty() {
        out.push_str("No late wakeup can be explained from this trace.\n");
    }
    for (n, victim) in explanation.victims.iter().enumerate() {
        let place = found.places.get(n).map(|place| format!("{place}: ")).unwrap_or_default();
        out.push_str(&format!("{place}{}\n", victim.verdict));
    }
    if let Some(worst) = explanation.victims.first() {
        out.push_str(&format!("\nThe worst, {} of which:\n{}", Nanos(worst.latency_ns), causes(worst)));
        worst.doubts.iter().for_each(|doubt| out.push_str(&format!("  doubt: {doubt}\n")));
    }
    let grouped: Vec<&str> = explanation.groups.iter().map(|g| g.sentence.as_str()).collect();
    list(&mut out, "By culprit", &grouped);
    if args.cycle {
        let cycles: Vec<&str> = explanation.cycles.iter().map(|c| c.verdict.as_str()).collect();
        list(&mut out, "Longest cycles", &cycles);
    }
    let tracers: Vec<&str> = explanation.tracers.iter().map(String::as_str).collect();
    list(&mut out, "What the tracer says", &tracers);
    let notes: Vec<&str> = explanation.notes.iter().map(String::as_str).collect();
    list(&mut out, "Notes", &notes);
    out.push_str(&format!("\n{} wakeups; followed: {}\n", explanation.wakeups, explanation.chosen));
    out
}

/// What each cause took.
fn causes(victim: &Victim) -> String {
    let line = |cause: &punctual_explain::Cause| {
        let who = match (&cause.comm, cause.tid, &cause.what) {
            (Some(comm), Some(tid), _) => format!("{comm} ({tid})"),
            (_, _, Some(what)) => what.clone(),
            _ => String::new(),
        };
        let class = cause.class.name().replace('_', " ");
        let sure = cause.confidence.name();
        let (ns, share) = (Nanos(cause.ns).to_string(), cause.share * 100.0);
        format!("  {ns:>9} {share:5.1} %  {class:<20} {who:<24} {sure}: {}\n", cause.evidence)
    };
    victim.causes.iter().map(line).collect()
}

fn list(out: &mut String, title: &str, lines: &[&str]) {
    if !lines.is_empty() {
        out.push_str(&format!("\n{title}\n"));
        lines.iter().for_each(|line| out.push_str(&format!("  - {line}\n")));
    }
}
