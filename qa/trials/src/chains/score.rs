//! Compares the links that `explain` reports with the log of which thread waited for which.
//!
//! A link is right if it names the thread that waited, with the logged duration within a tenth, and the thread that ran
//! in the meantime, owned the lock, sent the interrupt or queued the work. It is missing if it is not reported, or if
//! the other thread is reported as unknown. Any other reported link is wrong.

use crate::guests::{folders, name_of};
use crate::injected::score::{facts, read};
use punctual_explain::{ExplainOptions, Facts, Victim, Victims, explain};
use punctual_inject::{Awaited, Chain, Surroundings, Waited};
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::{self, File};
use std::path::Path;

/// Two durations of the same wait may differ by this many ns, or by a tenth.
const SAME_NS: u64 = 100_000;

#[derive(Default)]
struct Row {
    chains: u32,
    right: u32,
    missing: u32,
    wrong: u32,
    notes: Vec<String>,
}

pub fn folder(out: &Path) -> Result<(), String> {
    println!("| kernel | chain | chains | links right | missing | wrong |\n|---|---|---|---|---|---|");
    let (mut sum, mut notes) = (Row::default(), Vec::new());
    for kernel in folders(out)? {
        for kind in folders(&kernel)? {
            let title = format!("{} | {}", name_of(&kernel), name_of(&kind));
            let absent = ["impossible.txt", "failed.txt"].iter().find_map(|n| fs::read_to_string(kind.join(n)).ok());
            if let Some(why) = absent {
                println!("| {title} | {why} | | | |");
                continue;
            }
            let row = score(&kind)?;
            println!("| {title} | {} | {} | {} | {} |", row.chains, row.right, row.missing, row.wrong);
            (sum.right, sum.missing, sum.wrong) =
                (sum.right + row.right, sum.missing + row.missing, sum.wrong + row.wrong);
            notes.extend(row.notes.into_iter().map(|note| format!("{title}: {note}")));
        }
    }
    for note in notes {
        println!("{note}");
    }
    let Row { right, missing, wrong, .. } = sum;
    let all = right + missing + wrong;
    println!("{:.1} % right of {all}, {wrong} wrong", 100.0 * f64::from(right) / f64::from(all.max(1)));
    if wrong > 0 { Err(format!("{wrong} links are wrong")) } else { Ok(()) }
}

fn score(folder: &Path) -> Result<Row, String> {
    let chains: Vec<Chain> = read(folder, "chains.json")?;
    let surroundings: Surroundings = read(folder, "facts.json")?;
    let mut all: BTreeMap<i32, Vec<Victim>> = BTreeMap::new();
    let mut row = Row { chains: u32::try_from(chains.len()).unwrap_or(u32::MAX), ..Row::default() };
    for chain in &chains {
        let victims = match all.entry(chain.tid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(empty) => empty.insert(victims(folder, chain.tid, facts(&surroundings))?),
        };
        let inside = |victim: &&Victim| {
            victim.moments.is_some_and(|m| m.t2_ns + SAME_NS >= chain.after_ns && m.t3_ns <= chain.until_ns + SAME_NS)
        };
        let victim = victims.iter().filter(inside).max_by_key(|victim| victim.moments.map(|m| m.t3_ns));
        judge(&mut row, chain, victim);
    }
    Ok(row)
}

fn victims(folder: &Path, tid: i32, facts: Facts) -> Result<Vec<Victim>, String> {
    let path = folder.join("trace.txt");
    let failed = |e: String| format!("{}: {e}", path.display());
    let file = File::open(&path).map_err(|e| failed(e.to_string()))?;
    let mut source =
        punctual_trace::open(file, punctual_trace::Options::default()).map_err(|e| failed(e.to_string()))?;
    let options = ExplainOptions { victims: Victims::Tid(tid), most: 100_000, facts, ..ExplainOptions::default() };
    Ok(explain(source.as_mut(), options).victims)
}

/// A reported link: which thread waited, for how long, and the text.
struct Named {
    tid: Option<i32>,
    ns: u64,
    text: String,
}

fn judge(row: &mut Row, chain: &Chain, victim: Option<&Victim>) {
    let mut named: Vec<Named> = victim.map(named).unwrap_or_default();
    for wait in &chain.waits {
        let ns = wait.to_ns.saturating_sub(wait.from_ns);
        let Some(at) = named.iter().position(|named| is_that(wait, named)) else {
            row.missing += 1;
            row.notes.push(format!("missing: {wait:?}"));
            continue;
        };
        let Named { ns: said, text, .. } = named.remove(at);
        let by = text.contains(&format!("pid {})", wait.by));
        match (by, said.abs_diff(ns) <= SAME_NS.max(ns / 10)) {
            (true, true) => row.right += 1,
            (false, _) if text.contains("is not recorded") || text.contains("is unknown") => {
                row.missing += 1;
                row.notes.push(format!("unknown: {wait:?}: {text}"));
            }
            _ => {
                row.wrong += 1;
                row.notes.push(format!("WRONG, {ns} ns: {wait:?}: {text}"));
            }
        }
    }
    for Named { text, .. } in named {
        row.wrong += 1;
        row.notes.push(format!("WRONG, not in the log: {text}"));
    }
}

/// Returns the reported links, and the causes that name another thread. Causes shorter than [`SAME_NS`] are omitted:
/// they are the interrupts that wake the thread.
fn named(victim: &Victim) -> Vec<Named> {
    let links = victim.chain.iter().map(|link| Named { tid: link.tid, ns: link.ns, text: link.sentence.clone() });
    let places = victim.causes.iter().filter_map(|cause| {
        let place = cause.place.as_ref().filter(|_| cause.ns >= SAME_NS)?;
        (place.starts_with("sent by ") || place.starts_with("queued by ")).then(|| Named {
            tid: victim.tid,
            ns: cause.ns,
            text: place.clone(),
        })
    });
    links.chain(places).collect()
}

fn is_that(wait: &Waited, named: &Named) -> bool {
    let word = match wait.what {
        Awaited::Cpu => " was itself ",
        Awaited::CpuAgain => " lost its CPU for ",
        Awaited::Lock => " waited ",
        Awaited::Ipi => "sent by ",
        Awaited::Stopper => "queued by ",
    };
    named.tid == Some(wait.tid) && named.text.contains(word)
}
