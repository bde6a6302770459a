//! The stacks in saved windows: names of their functions, and which of them end a section with interrupts off.

use super::kernel_text::KernelText;
use punctual_directory::Dir;
use punctual_model::Capture;
use punctual_trace::{DatHead, Kind, Symbol, functions_at};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Addresses named in the windows of a phase.
const MOST: usize = 4096;

/// What a window refers to by address.
#[derive(Default)]
struct Seen {
    addresses: BTreeSet<u64>,
    /// Stacks of timer interrupts: when, and the addresses, innermost first.
    expiries: Vec<(u64, Vec<u64>)>,
}

/// Writes the functions into the space that each file keeps for them, and the times of [`Capture::released`].
pub(super) fn name(dir: &Dir, head: &DatHead, captures: &mut [Capture]) -> io::Result<()> {
    let seen: Vec<Seen> = captures.iter().map(|capture| seen(dir, capture)).collect::<io::Result<_>>()?;
    let addresses: BTreeSet<u64> = seen.iter().flat_map(|seen| &seen.addresses).copied().take(MOST).collect();
    let addresses: Vec<u64> = addresses.into_iter().collect();
    if addresses.is_empty() {
        return Ok(());
    }
    let found = functions_at(File::open("/proc/kallsyms")?, &addresses);
    let functions: BTreeMap<u64, (u64, String)> =
        addresses.into_iter().zip(found).filter_map(|(address, function)| Some((address, function?))).collect();
    let mut text = KernelText::open();
    for (capture, seen) in captures.iter_mut().zip(seen) {
        let mut used: Vec<(u64, String)> = seen.addresses.iter().filter_map(|at| functions.get(at).cloned()).collect();
        used.dedup();
        dir.update(&capture.file)?.write_all_at(&punctual_trace::symbols(&used), head.symbols_at())?;
        let released = |(_, frames): &&(u64, Vec<u64>)| {
            interrupted(frames, &functions)
                .is_some_and(|at| text.as_mut().is_some_and(|text| text.lets_interrupts_in(at)))
        };
        capture.released = seen.expiries.iter().filter(released).map(|(t, _)| *t).collect();
    }
    Ok(())
}

fn seen(dir: &Dir, capture: &Capture) -> io::Result<Seen> {
    let source = punctual_trace::open(dir.file(&capture.file)?, punctual_trace::Options::default());
    let source = source.map_err(io::Error::other)?;
    let mut seen = Seen::default();
    let mut expired: BTreeSet<u32> = BTreeSet::new();
    let mut keep = |symbol: &Option<Symbol>| {
        if let Some(Symbol::Address(address)) = symbol {
            seen.addresses.insert(*address);
        }
    };
    for event in source {
        match &event.kind {
            Kind::HrtimerStart { function, .. } => keep(function),
            Kind::HrtimerExpireEntry { function, .. } => keep(function),
            Kind::IpiSend { what, .. } => keep(what),
            Kind::Stack { frames } => {
                frames.iter().for_each(|frame| keep(&Some(frame.clone())));
                if expired.contains(&event.cpu) {
                    seen.expiries.push((event.t_ns, frames.iter().filter_map(address).collect()));
                }
            }
            _ => {}
        }
        match event.kind {
            Kind::HrtimerExpireEntry { .. } => expired.insert(event.cpu),
            _ => expired.remove(&event.cpu),
        };
    }
    Ok(seen)
}

fn address(symbol: &Symbol) -> Option<u64> {
    match symbol {
        Symbol::Address(address) => Some(*address),
        Symbol::Name(_) => None,
    }
}

/// The address that the interrupt returns to.
fn interrupted(frames: &[u64], functions: &BTreeMap<u64, (u64, String)>) -> Option<u64> {
    let names: Vec<Option<&str>> = frames.iter().map(|at| functions.get(at).map(|(_, name)| name.as_str())).collect();
    frames.get(punctual_trace::interrupted(&names)?).copied()
}
