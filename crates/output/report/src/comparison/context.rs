//! Formats the context of a comparison: other differences, causes from traces, limits.

use super::finding::name;
use crate::clean;
use crate::number::plural;
use crate::words::and;
use punctual_model::{CauseShare, Comparison, Conclusion, Unlike, UnlikeKind};
use punctual_units::Nanos;

/// Returns one sentence for each difference between the groups other than the compared one.
pub fn unlike(comparison: &Comparison) -> Vec<String> {
    let mut all: Vec<String> = comparison.unlike.iter().map(|u| one(comparison, u)).collect();
    if !comparison.left_out.is_empty() {
        let loads: Vec<String> = comparison.left_out.iter().map(|l| format!("`{}`", clean::clip(l, 48))).collect();
        all.push(format!("Some runs lack {}: not compared.", and(&loads)));
    }
    all
}

fn one(comparison: &Comparison, unlike: &Unlike) -> String {
    let each: Vec<String> = unlike
        .values
        .iter()
        .enumerate()
        .map(|(n, value)| {
            let value = value.as_ref().map_or_else(|| "unknown".into(), |v| clean::clip(v, 120));
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
        UnlikeKind::Tracing => "Tracing enabled in only one group",
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
            "A difference may be caused by the machine, not by the kernel."
        }
        UnlikeKind::Cpus => "With more CPUs the worst wakeup tends to be later by chance.",
        UnlikeKind::Period | UnlikeKind::Alignment => {
            "Timers with another period or alignment have different latencies."
        }
        UnlikeKind::Scheduling => "Different threads can preempt the measuring thread.",
        UnlikeKind::Way | UnlikeKind::Tool => "They may define latency differently.",
        UnlikeKind::DmaLatency => {
            "Only one of them includes the exit from idle states: measure both with the same limit."
        }
        UnlikeKind::Resolution => "Differences smaller than the resolution are not meaningful.",
        UnlikeKind::Length => {
            "The worst wakeup of the longer run tends to be later by chance: compare quantiles, or runs of equal length."
        }
        UnlikeKind::Tracing => "Tracing adds some microseconds to each wakeup on slow machines.",
        UnlikeKind::Governor | UnlikeKind::Parameters => {
            "A difference may be caused by this, not by the compared change."
        }
        UnlikeKind::Frequency => "A lower frequency makes everything slower: set a fixed frequency.",
        UnlikeKind::Temperature => {
            "A warm processor may be throttled: measure both at the same temperature, alternately."
        }
        UnlikeKind::Throttling => {
            "The throttled machine was slowed because of its temperature or its power supply: speeds are not comparable."
        }
    }
}

/// Returns the causes from the traces, one sentence per group that has any.
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
            "The latency of either kernel on a board: in {}'s model of `{}` every instruction takes {}, without caches, \
             buses, idle states, firmware or real devices.",
            model.emulator,
            model.machine,
            Nanos(u64::from(model.instruction_ns))
        ));
    }
    if let Some(row) = comparison.rows.iter().find(|r| r.figure == "max") {
        let boots = row.groups.iter().map(|g| g.n).min().unwrap_or(0);
        all.push(format!(
            "The worst possible latency: the figures are the worst of {} each, and the next may be worse.",
            match comparison.unknown_boots.is_empty() {
                true => plural(boots, "boot", "boots"),
                false => plural(boots, "run", "runs"),
            }
        ));
    }
    all.extend(comparison.not_known.iter().map(|text| format!("Missing from the data: {}.", clean::clip(text, 300))));
    all.extend(unknown_boots(comparison));
    all.extend(more_boots(comparison));
    if comparison.rows.iter().any(|r| r.against.iter().any(|a| a.covariate.is_some())) {
        all.push(
            "The difference at the same temperature: cool both (or cap the frequency), boot them alternately, and compare again."
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
        "The boots of {}{others}: not recorded, and all runs of one boot count as one sample. `--own-boots` states that \
         each run had its own boot.",
        clean::clip(first, 60)
    ))
}

fn more_boots(comparison: &Comparison) -> Option<String> {
    let mut reported = comparison.rows.iter().flat_map(|r| &r.against);
    reported.any(|a| a.conclusion == Conclusion::TooFew).then(|| {
        let one_boot = if comparison.one_boot { " All of these runs are of one boot." } else { "" };
        format!(
            "Whether the groups differ: this requires four boots of each, booted alternately (A B B A …); `punctual compare \
             --experiment` plans them.{one_boot} Whether one run is worse than a limit: `punctual report RUN --claim 'max < \
             LIMIT'`; than at least four earlier runs: `punctual history gate RUN`."
        )
    })
}
