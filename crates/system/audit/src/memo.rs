//! A machine that caches its files for one audit.

use punctual_machine::{Listing, Machine, Read};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Maximum size of a cached file in bytes, and of a listing in names: files that many rules read are short; longer ones
/// are read again each time.
const LONGEST: usize = 4096;
const MAX_NAMES: usize = 64;

/// Caches short files and listings, so that all rules see the same content, which is read only once: about 500 of the
/// 1,500 reads of an audit are repeats.
pub(crate) struct Memo<'m> {
    machine: &'m dyn Machine,
    reads: RefCell<BTreeMap<String, Read>>,
    lists: RefCell<BTreeMap<String, Listing>>,
}

impl<'m> Memo<'m> {
    pub fn new(machine: &'m dyn Machine) -> Memo<'m> {
        Memo { machine, reads: RefCell::default(), lists: RefCell::default() }
    }
}

impl Machine for Memo<'_> {
    fn read(&self, path: &str) -> Read {
        if let Some(known) = self.reads.borrow().get(path) {
            return known.clone();
        }
        let read = self.machine.read(path);
        if read.bytes().is_none_or(|bytes| bytes.len() <= LONGEST) {
            self.reads.borrow_mut().insert(path.to_owned(), read.clone());
        }
        read
    }

    fn list(&self, folder: &str) -> Listing {
        if let Some(known) = self.lists.borrow().get(folder) {
            return known.clone();
        }
        let listing = self.machine.list(folder);
        if listing.names().is_none_or(|names| names.len() <= MAX_NAMES) {
            self.lists.borrow_mut().insert(folder.to_owned(), listing.clone());
        }
        listing
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        self.machine.read_part(path, offset, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Counted(Cell<usize>);

    impl Machine for Counted {
        fn read(&self, path: &str) -> Read {
            self.0.set(self.0.get() + 1);
            match path {
                "/long" => Read::Known(vec![b'x'; LONGEST + 1]),
                "/denied" => Read::Denied,
                _ => Read::Known(b"x".to_vec()),
            }
        }

        fn list(&self, _: &str) -> Listing {
            self.0.set(self.0.get() + 1);
            Listing::Absent
        }

        fn read_part(&self, path: &str, _: u64, _: usize) -> Read {
            self.read(path)
        }
    }

    #[test]
    fn what_is_short_is_read_once() {
        let counted = Counted(Cell::new(0));
        let memo = Memo::new(&counted);
        for (path, times) in [("/short", 1), ("/denied", 1), ("/long", 2)] {
            counted.0.set(0);
            assert_eq!(memo.read(path), memo.read(path));
            assert_eq!(counted.0.get(), times, "{path}");
        }
        counted.0.set(0);
        assert_eq!((memo.list("/"), memo.list("/")), (Listing::Absent, Listing::Absent));
        assert_eq!(counted.0.get(), 1);
    }
}
