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
        UnlikeKind::Machine => "Other machines",
        UnlikeKind::Cpus => "Another number of CPUs",
        UnlikeKind::Period => "Other periods",
        UnlikeKind::Scheduling => "Other policies or priorities",
        UnlikeKind::Way => "Woken in another way",
        UnlikeKind::Alignment => "Releases lie otherwise to each other",
        UnlikeKind::DmaLatency => "Another limit on idle states while measuring",
        UnlikeKind::Tool => "Other tools",
        UnlikeKind::Resolution => "Values told in other steps",
        UnlikeKind::Length => "Runs of other lengths, in periods",
        UnlikeKind::Tracing => "Traced or not",
        UnlikeKind::Governor => "Other frequency governors",
        UnlikeKind::Virtualisation => "Other virtualisation",
        UnlikeKind::Parameters => "Other kernel parameters",
        UnlikeKind::Frequency => "Other frequencies, medians",
        UnlikeKind::Temperature => "Other temperatures, medians",
        UnlikeKind::Throttling => "Throttled or not, events",
    }
}

fn so(what: UnlikeKind) -> &'static str {
    match what {
        UnlikeKind::Machine | UnlikeKind::Virtualisation => {
            "What the kernel does cannot be told from what the machine does."
        }
        UnlikeKind::Cpus => "The worst of more CPUs is later.",
        UnlikeKind::Period | UnlikeKind::Alignment => {
            "Timers that are due more often, or together, are late otherwise."
        }
        UnlikeKind::Scheduling => "Who may run before the thread is not the same.",
        UnlikeKind::Way | UnlikeKind::Tool => "What counts as latency may not be the same.",
        UnlikeKind::DmaLatency => "Leaving idle is part of one and not of the other: measure both with the same.",
        UnlikeKind::Resolution => "Differences below a step mean nothing.",
        UnlikeKind::Length => "The worst of more periods is later: compare quantiles, or measure equally long.",
        UnlikeKind::Tracing => "A trace costs each wakeup some microseconds on slow machines.",
        UnlikeKind::Governor | UnlikeKind::Parameters => {
            "It may be that, and not what is compared, that makes a difference."
        }
        UnlikeKind::Frequency => "A processor that runs slower is later and slower in everything: fix the frequency.",
        UnlikeKind::Temperature => "A warm processor may be throttled: measure both at one temperature, in turns.",
        UnlikeKind::Throttling => "The throttled one was slower for its heat or power supply: not comparable in speed.",
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
            "How late either kernel is on a board: in {}'s model of `{}` every instruction takes {}, and there are no caches, \
             buses, idle states, firmware or real devices. It compares what the kernels do.",
            model.emulator,
            model.machine,
            Nanos(u64::from(model.instruction_ns))
        ));
    }
    if let Some(row) = comparison.rows.iter().find(|r| r.figure == "max") {
        let boots = row.groups.iter().map(|g| g.n).min().unwrap_or(0);
        all.push(format!(
            "How late a wakeup can be at worst: the figures are the latest of {} each, and the next may be later.",
            plural(boots, "boot", "boots")
        ));
    }
    all.extend(
        comparison.not_known.iter().map(|text| format!("What the data do not tell: {}.", clean::clip(text, 300))),
    );
    all.extend(unknown_boots(comparison));
    all.extend(more_boots(comparison));
    if comparison.rows.iter().any(|r| r.against.iter().any(|a| a.covariate.is_some())) {
        all.push(
            "What both would take at one temperature: cool them (or cap the frequency), boot both in turns, and compare again."
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
        "Whether {}{others} had a boot of its own: the files do not tell, and runs of one boot are one sample. `--own-boots` says \
         that each has.",
        clean::clip(first, 60)
    ))
}

fn more_boots(comparison: &Comparison) -> Option<String> {
    let mut told = comparison.rows.iter().flat_map(|r| &r.against);
    told.any(|a| a.told == Conclusion::TooFew).then(|| {
        "Whether they differ: that takes four boots of each, in turns (A B B A …); `punctual compare --experiment` plans them.".into()
    })
}
