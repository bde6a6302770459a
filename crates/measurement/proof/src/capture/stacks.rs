//! Names the functions on stacks in saved windows and in a live trace, and finds stacks that show where a section with
//! disabled interrupts ends.

use super::kernel_text::KernelText;
use punctual_directory::Dir;
use punctual_model::Capture;
use punctual_trace::{DatHead, Event, Kind, Symbol, Symbols, functions_at};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Maximum number of addresses that are named in the windows of a phase.
const MOST: usize = 4096;

/// Addresses found in a window.
#[derive(Default)]
struct Seen {
    addresses: BTreeSet<u64>,
    /// Stacks of timer interrupts: time, and return addresses, innermost first.
    expiries: Vec<(u64, Vec<u64>)>,
}

/// Writes function names into the space that each file reserves for them, and sets [`Capture::released`].
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
            let name = |at: u64| functions.get(&at).map(|(_, name)| name.as_str());
            interrupted(frames, name).is_some_and(|at| text.as_mut().is_some_and(|text| text.lets_interrupts_in(at)))
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
    for mut event in source {
        seen.addresses.extend(symbols_of(&mut event.kind).iter().filter_map(|symbol| address(symbol)));
        if let Kind::Stack { frames } = &event.kind
            && expired.contains(&event.cpu)
        {
            seen.expiries.push((event.t_ns, frames.iter().filter_map(address).collect()));
        }
        match event.kind {
            Kind::HrtimerExpireEntry { .. } => expired.insert(event.cpu),
            _ => expired.remove(&event.cpu),
        };
    }
    Ok(seen)
}

/// Returns the symbols of an event that have to be named.
fn symbols_of(kind: &mut Kind) -> Vec<&mut Symbol> {
    match kind {
        Kind::HrtimerStart { function, .. } | Kind::HrtimerExpireEntry { function, .. } => {
            function.iter_mut().collect()
        }
        Kind::IpiSend { what, .. } => what.iter_mut().collect(),
        Kind::Stack { frames } => frames.iter_mut().collect(),
        _ => Vec::new(),
    }
}

fn address(symbol: &Symbol) -> Option<u64> {
    match symbol {
        Symbol::Address(address) => Some(*address),
        Symbol::Name(_) => None,
    }
}

/// Returns the address at which the interrupt occurred; `None` if the stack does not show it.
fn interrupted<'n>(frames: &[u64], name: impl Fn(u64) -> Option<&'n str>) -> Option<u64> {
    let names: Vec<Option<&str>> = frames.iter().map(|at| name(*at)).collect();
    frames.get(punctual_trace::interrupted(&names)?).copied()
}

/// Names the functions in events as they arrive.
pub(crate) struct Namer {
    symbols: Symbols,
    text: Option<KernelText>,
    /// For each address, true if the instruction before it enables interrupts.
    lets_in: HashMap<u64, bool>,
    /// CPUs whose most recent event is hrtimer_expire_entry.
    expired: BTreeSet<u32>,
}

impl Namer {
    /// Reads /proc/kallsyms, which takes about 0.1 s.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open() -> io::Result<Namer> {
        let mut symbols = Symbols::default();
        symbols.load(File::open("/proc/kallsyms")?);
        Ok(Namer { symbols, text: KernelText::open(), lets_in: HashMap::new(), expired: BTreeSet::new() })
    }

    /// Names the functions in an event. Returns true if it is the stack of a timer interrupt that arrived just after an
    /// instruction that enables interrupts.
    pub fn name(&mut self, event: &mut Event) -> bool {
        let is_expiry = matches!(event.kind, Kind::HrtimerExpireEntry { .. });
        let expired = if is_expiry { !self.expired.insert(event.cpu) } else { self.expired.remove(&event.cpu) };
        let mut symbols = symbols_of(&mut event.kind);
        let addresses: Vec<u64> = symbols.iter().filter_map(|symbol| address(symbol)).collect();
        for symbol in &mut symbols {
            if let Symbol::Address(at) = **symbol {
                **symbol = self.symbols.get(at);
            }
        }
        let Kind::Stack { frames } = &event.kind else { return false };
        let named = |at: u64| match frames.get(addresses.iter().position(|other| *other == at)?)? {
            Symbol::Name(name) => Some(&**name),
            Symbol::Address(_) => None,
        };
        let Some(at) = interrupted(&addresses, named).filter(|_| expired) else { return false };
        if self.lets_in.len() >= MOST {
            self.lets_in.clear();
        }
        let text = &mut self.text;
        *self.lets_in.entry(at).or_insert_with(|| text.as_mut().is_some_and(|text| text.lets_interrupts_in(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_get_their_names_and_the_rest_keeps_its_addresses() {
        let mut symbols = Symbols::default();
        symbols.load(&b"ffffffff81000000 T asm_sysvec_apic_timer_interrupt\nffffffff81001000 T hold\n"[..]);
        let mut namer = Namer { symbols, text: None, lets_in: HashMap::new(), expired: BTreeSet::new() };
        let event = |kind| Event { t_ns: 1, cpu: 0, tid: None, comm: None, flags: None, kind };
        let at = |address| Symbol::Address(address);
        let mut expiry =
            event(Kind::HrtimerExpireEntry { timer: 1, function: Some(at(0xffff_ffff_8100_1000)), now_ns: None });
        assert!(!namer.name(&mut expiry));
        let Kind::HrtimerExpireEntry { function: Some(Symbol::Name(name)), .. } = &expiry.kind else { panic!() };
        assert_eq!(&**name, "hold");
        namer.lets_in.insert(0xffff_ffff_8100_1004, true);
        let frames = [at(0xffff_ffff_8100_0010), at(0xffff_ffff_8100_1004), at(7)];
        let mut stack = event(Kind::Stack { frames: frames.clone().into() });
        assert!(namer.name(&mut stack), "it follows the expiry");
        let Kind::Stack { frames: named } = &stack.kind else { panic!() };
        assert_eq!(named[1], Symbol::Name("hold".into()));
        assert_eq!(named[2], at(7));
        assert!(!namer.name(&mut event(Kind::Stack { frames: frames.into() })), "and this one no expiry");
    }
}
