//! The longest sections of one kind, by place.

use punctual_trace::{Comm, Symbol};

/// Number of places kept: enough to tell what remains without the longest one.
const PLACES: usize = 16;

/// Where a section begins or ends: the function that changes preemption or interrupts, and its caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) function: Option<Symbol>,
    pub(crate) parent: Option<Symbol>,
}

/// The longest section of a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Longest {
    pub(crate) ns: u64,
    /// Time of its end.
    pub(crate) at: u64,
    pub(crate) tid: Option<i32>,
    pub(crate) comm: Option<Comm>,
    pub(crate) begins: Place,
    pub(crate) ends: Place,
}

/// The longest sections of one kind, the longest first, with one for each place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Vec<Longest>);

impl Places {
    /// Keeps a section of this length if it is one of the longest.
    pub(crate) fn offer(&mut self, ns: u64, section: impl FnOnce() -> Longest) {
        if self.0.len() == PLACES && self.0.last().is_some_and(|last| last.ns >= ns) {
            return;
        }
        let new = section();
        let same = self.0.iter_mut().find(|known| known.begins == new.begins && known.ends == new.ends);
        match same {
            Some(known) if known.ns >= ns => return,
            Some(known) => *known = new,
            None => self.0.push(new),
        }
        self.0.sort_by_key(|known| std::cmp::Reverse(known.ns));
        self.0.truncate(PLACES);
    }

    pub(crate) fn longest(&self) -> Option<&Longest> {
        self.0.first()
    }

    /// Length of the longest section, 0 if there is none.
    pub(crate) fn ns(&self) -> u64 {
        self.longest().map_or(0, |longest| longest.ns)
    }

    /// Length of the longest section at any place but the first one.
    pub(crate) fn next_ns(&self) -> u64 {
        self.0.get(1).map_or(0, |longest| longest.ns)
    }
}
