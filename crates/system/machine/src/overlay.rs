use crate::{Listing, Machine, Read};
use std::collections::BTreeMap;

/// Files that replace those of the underlying machine, for example the files of another process under `/proc/self`.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    files: BTreeMap<String, Read>,
}

impl Overlay {
    pub fn new(files: BTreeMap<String, Read>) -> Overlay {
        Overlay { files }
    }

    pub fn over<'a>(&'a self, below: &'a dyn Machine) -> impl Machine + 'a {
        Over { files: &self.files, below }
    }

    /// Like [`Overlay::over`], but owns the underlying machine.
    pub fn above<M: Machine>(self, below: M) -> impl Machine {
        Above { overlay: self, below }
    }
}

struct Above<M> {
    overlay: Overlay,
    below: M,
}

impl<M: Machine> Machine for Above<M> {
    fn read(&self, path: &str) -> Read {
        self.overlay.over(&self.below).read(path)
    }

    fn list(&self, folder: &str) -> Listing {
        self.below.list(folder)
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        self.overlay.over(&self.below).read_part(path, offset, length)
    }
}

struct Over<'a> {
    files: &'a BTreeMap<String, Read>,
    below: &'a dyn Machine,
}

impl Machine for Over<'_> {
    fn read(&self, path: &str) -> Read {
        self.files.get(path).cloned().unwrap_or_else(|| self.below.read(path))
    }

    fn list(&self, folder: &str) -> Listing {
        self.below.list(folder)
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        let Some(read) = self.files.get(path) else { return self.below.read_part(path, offset, length) };
        match read {
            Read::Known(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
                Read::Known(rest.iter().take(length).copied().collect())
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorded;

    #[test]
    fn files_stand_over_those_below() {
        let mut below = Recorded::default();
        below.set("/proc/self/limits", Read::Known(b"below".to_vec()));
        below.set("/proc/cmdline", Read::Known(b"quiet".to_vec()));
        let overlay = Overlay::new([("/proc/self/limits".to_owned(), Read::Known(b"over".to_vec()))].into());
        let machine = overlay.over(&below);
        assert_eq!(machine.read("/proc/self/limits").text(), Some("over"));
        assert_eq!(machine.read("/proc/cmdline").text(), Some("quiet"));
        assert_eq!(machine.read_part("/proc/self/limits", 2, 9), Read::Known(b"er".to_vec()));
        let machine = overlay.clone().above(below.clone());
        assert_eq!(machine.read("/proc/self/limits").text(), Some("over"));
        assert_eq!(machine.read("/proc/cmdline").text(), Some("quiet"));
        assert_eq!(machine.read_part("/proc/self/limits", 9, 9), Read::Known(Vec::new()));
    }
}
