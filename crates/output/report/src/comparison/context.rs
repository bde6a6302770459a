//! Context of a comparison: other differences, causes from traces, limits.

use super::finding::name;
use crate::clean;
use crate::number::plural;
use crate::words::and;
use punctual_model::{CauseShare, Comparison, Conclusion, Unlike, UnlikeKind};
use punctual_units::Nanos;

/// One sentence per difference besides what is compared.
pub fn unlike(comparison: &Comparison) -> Vec<String> {
    let mut all: Vec<String> = comparison.unlike.iter().map(|u| one(comparison, u)).collect();
    if !comparison.left_out.is_empty() {
        let loads: Vec<String> = comparison.left_out.iter().map(|l| format!("`{}`", clean::clip(l, 48))).collect();
        all.push(format!("Not every run has {}: not compared.", and(&loads)));
    }
    all
}

fn one(comparison: &Comparison, unlike: &Unlike) -> String {
    let each: Vec<String> = unlike
        .values
        .iter()
        .enumerate()
        .map(|(n, value)| {
            let value = value.as_ref().map_or_else(|| "not known".into(), |v| clean::clip(v, 120));
            format!("{value} ({})", name(comparison, n))
        })
        .collect();
    format!("{}: {}. {}", title(unlike.what), each.join(", "), so(unlike.what))
}

fn title(what: UnlikeKind) -> &'static str {
    match what {
        UnlikeKind::Machine => "Different machines",
        UnlikeKind::Cpus => "Different numbers of CPUs",
        UnlikeKind::Period => "Different periods",
        UnlikeKind::Scheduling => "Different policies or priorities",
        UnlikeKind::Way => "Different wakeup sources",
        UnlikeKind::Alignment => "Different alignment of the releases",
        UnlikeKind::DmaLatency => "Different limits on idle states (/dev/cpu_dma_latency)",
        UnlikeKind::Tool => "Different tools",
        UnlikeKind::Resolution => "Different resolutions",
        UnlikeKind::Length => "Runs of different lengths, in periods",
        UnlikeKind::Tracing => "Tracing on in one and off in the other",
        UnlikeKind::Governor => "Different frequency governors",
        UnlikeKind::Virtualisation => "Different virtualisation",
        UnlikeKind::Parameters => "Different kernel parameters",
        UnlikeKind::Frequency => "Different frequencies, medians",
        UnlikeKind::Temperature => "Different temperatures, medians",
        UnlikeKind::Throttling => "Different numbers of throttling events",
    }
}

fn so(what: UnlikeKind) -> &'static str {
    match what {
        UnlikeKind::Machine | UnlikeKind::Virtualisation => {
            "A difference can come from the machine rather than from the kernel."
        }
        UnlikeKind::Cpus => "With more CPUs the worst wakeup is later by chance alone.",
        UnlikeKind::Period | UnlikeKind::Alignment => {
            "Timers that expire more often, or at the same time, have other latencies."
        }
        UnlikeKind::Scheduling => "Different threads can preempt the measuring thread.",
        UnlikeKind::Way | UnlikeKind::Tool => "What counts as latency may not be the same.",
        UnlikeKind::DmaLatency => {
            "Only one of them includes the exit from idle states: measure both with the same limit."
        }
        UnlikeKind::Resolution => "A difference smaller than a step means nothing.",
        UnlikeKind::Length => {
            "The longer run has the later worst wakeup by chance alone: compare quantiles, or runs of one length."
        }
        UnlikeKind::Tracing => "Tracing adds some microseconds to each wakeup on slow machines.",
        UnlikeKind::Governor | UnlikeKind::Parameters => {
            "A difference can come from this rather than from what is compared."
        }
        UnlikeKind::Frequency => "A lower frequency makes everything slower: set a fixed frequency.",
        UnlikeKind::Temperature => "A warm processor may be throttled: measure both at the same temperature, in turns.",
        UnlikeKind::Throttling => {
            "The throttled machine was slowed by heat or its power supply: speeds are not comparable."
        }
    }
}

/// Causes from the traces, one sentence per group that has any.
pub fn causes(comparison: &Comparison) -> Vec<String> {
    let said = |(n, shares): (usize, &Vec<CauseShare>)| {
        let of = shares.first()?.of;
        let one = |c: &CauseShare| {
            let who = c.who.as_ref().map(|w| format!(" `{}`", clean::clip(w, 32))).unwrap_or_default();
            format!("{} by {}{who} (at most {})", c.wakeups, class(c), Nanos(c.longest_ns))
        };
        let all: Vec<String> = shares.iter().map(one).collect();
        Some(format!(
            "{}: of {}, {}.",
            name(comparison, n),
            plural(of, "late wakeup traced", "late wakeups traced"),
            and(&all)
        ))
    };
    comparison.causes.iter().enumerate().filter_map(said).collect()
}

fn class(share: &CauseShare) -> String {
    let text = serde_json::to_value(share.class).ok().and_then(|v| v.as_str().map(str::to_owned));
    text.unwrap_or_default().replace('_', " ")
}

pub fn cannot_say(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(model) = &comparison.virtual_time {
        all.push(format!(
            "How late either kernel is on a board: in {}'s model of `{}` every instruction takes {}, without caches, \
             buses, idle states, firmware or real devices.",
            model.emulator,
            model.machine,
            Nanos(u64::from(model.instruction_ns))
        ));
    }
    if let Some(row) = comparison.rows.iter().find(|r| r.figure == "max") {
        let boots = row.groups.iter().map(|g| g.n).min().unwrap_or(0);
        all.push(format!(
            "How late a wakeup can be at worst: the figures are the worst of {} each, and the next may be worse.",
            match comparison.unknown_boots.is_empty() {
                true => plural(boots, "boot", "boots"),
                false => plural(boots, "run", "runs"),
            }
        ));
    }
    all.extend(
        comparison.not_known.iter().map(|text| format!("What the data do not contain: {}.", clean::clip(text, 300))),
    );
    all.extend(unknown_boots(comparison));
    all.extend(more_boots(comparison));
    if comparison.rows.iter().any(|r| r.against.iter().any(|a| a.covariate.is_some())) {
        all.push(
            "How both compare at the same temperature: cool them (or cap the frequency), boot both in turns, and compare again."
                .into(),
        );
    }
    all
}

fn unknown_boots(comparison: &Comparison) -> Option<String> {
    let first = comparison.unknown_boots.first()?;
    let others = match comparison.unknown_boots.len() {
        1 => String::new(),
        n => format!(" and {}", plural(n as u64 - 1, "other", "others")),
    };
    Some(format!(
        "Which runs share a boot: not recorded for {}{others}, and runs of one boot count as one sample. `--own-boots` states that \
         each run had its own.",
        clean::clip(first, 60)
    ))
}

fn more_boots(comparison: &Comparison) -> Option<String> {
    let mut reported = comparison.rows.iter().flat_map(|r| &r.against);
    reported.any(|a| a.conclusion == Conclusion::TooFew).then(|| {
        "Whether they differ: this takes four boots of each, in turns (A B B A …); `punctual compare --experiment` plans them.".into()
    })
}
