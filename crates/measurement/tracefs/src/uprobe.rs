//! Defines uprobes: Documentation/trace/uprobetracer.rst.

use crate::error::TracefsError;
use crate::mount::Tracefs;
use punctual_journal::{Journal, Lease, Undo};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The group of all uprobes that this program defines.
pub const UPROBE_GROUP: &str = "punctual";

/// Maximum length of [`Place::label`] in the name of an event, of which the kernel permits 63 characters.
const LABEL: usize = 32;

/// Where a uprobe is set, and what its records contain.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// An executable or library.
    pub file: &'a Path,
    /// Offset of the instruction in the file.
    pub offset: u64,
    /// Offset in the file of a 16-bit counter that the kernel increments, in every process that maps the file, while
    /// the uprobe's event is enabled: the semaphore of a USDT probe.
    pub counter: Option<u64>,
    /// The values that the records contain in addition to the address, for example `state=%di:u64`; may be empty.
    pub arguments: &'a str,
    /// Begins the name of the event.
    pub label: &'a str,
}

impl<'a> Place<'a> {
    /// A place without a counter, whose records have no values.
    pub fn new(file: &'a Path, offset: u64) -> Place<'a> {
        Place { file, offset, counter: None, arguments: "", label: "p" }
    }

    /// Returns the line that defines the event `name` here. `file` is a path without spaces and colons, which the
    /// syntax does not allow.
    fn definition(&self, name: &str, file: &str) -> String {
        let Place { offset, arguments, .. } = self;
        let counter = self.counter.map(|counter| format!("({counter:#x})")).unwrap_or_default();
        format!("p:{name} {file}:{offset:#x}{counter} {arguments}\n")
    }
}

/// A uprobe definition. It has no effect until one of its events is opened. It is removed on drop, which must happen
/// after its events are closed, or after kill -9 when the program is started again.
#[derive(Debug)]
pub struct Uprobe {
    id: u64,
    event: String,
    lease: Option<Lease>,
}

impl Uprobe {
    /// Defines a uprobe.
    ///
    /// # Errors
    /// The kernel has no uprobes (CONFIG_UPROBE_EVENTS) or no counters (before Linux 4.20), or refuses this place.
    pub fn define(tracefs: &Tracefs, journal: &Journal, place: &Place) -> Result<Uprobe, TracefsError> {
        let event = event(place.label);
        let name = format!("{UPROBE_GROUP}/{event}");
        let events = tracefs.root().join("uprobe_events");
        if !events.exists() {
            return Err(TracefsError::NoUprobes);
        }
        let opened = File::open(place.file).map_err(TracefsError::on(place.file))?;
        let line = place.definition(&name, &format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let lease = journal.lease(vec![Undo::RemoveUprobe { name: name.clone() }])?;
        let written = File::options().append(true).open(&events).and_then(|mut to| to.write_all(line.as_bytes()));
        // If a later step fails, dropping the lease removes the definition.
        written.map_err(|source| match (source.kind(), place.counter) {
            (io::ErrorKind::InvalidInput, Some(_)) => TracefsError::Counter { file: place.file.to_owned(), source },
            _ => TracefsError::on(&events)(source),
        })?;
        let path = tracefs.root().join("events").join(&name).join("id");
        let text = fs::read_to_string(&path).map_err(TracefsError::on(&path))?;
        let id = text.trim().parse().map_err(|_| TracefsError::NoEvent(name))?;
        Ok(Uprobe { id, event, lease: Some(lease) })
    }

    /// Returns the ID of the tracepoint.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the uprobe's name in [`UPROBE_GROUP`].
    pub fn event(&self) -> &str {
        &self.event
    }

    /// Removes the definition.
    ///
    /// # Errors
    /// Descriptions of failures. The program tries again when it is started again.
    pub fn remove(mut self) -> Result<(), Vec<String>> {
        self.lease.take().map_or(Ok(()), Lease::give_back)
    }
}

/// Returns a name for an event that no other event has.
fn event(label: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let label: String = label.chars().take(LABEL).map(word).collect();
    format!("{label}_{}_{}", std::process::id(), COUNT.fetch_add(1, Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_one_line_as_the_kernel_reads_it() {
        let plain = Place::new(Path::new("/bin/a b"), 0x1234);
        assert_eq!(plain.definition("punctual/p7_0", "/proc/self/fd/5"), "p:punctual/p7_0 /proc/self/fd/5:0x1234 \n");
        let whole = Place { counter: Some(0x20), arguments: "value=%di:u64", ..plain };
        assert_eq!(whole.definition("punctual/p7_1", "/f"), "p:punctual/p7_1 /f:0x1234(0x20) value=%di:u64\n");
    }

    #[test]
    fn names_of_events_are_words_of_at_most_63_characters_and_different() {
        let (one, other) = (event("usdt:a b/\u{e4}"), event("usdt:a b/\u{e4}"));
        assert!(one.starts_with("usdt_a_b__") && one != other, "{one}");
        let long = event(&"x".repeat(500));
        assert!(long.len() <= 63 && long.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{long}");
    }

    #[test]
    fn a_kernel_without_uprobes_is_told_and_nothing_is_written_down() {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::at(home.path().join("j"));
        let place = Place::new(Path::new("/proc/self/exe"), 0);
        let error = Uprobe::define(&Tracefs::at(home.path()), &journal, &place).unwrap_err();
        assert!(error.to_string().contains("CONFIG_UPROBE_EVENTS"), "{error}");
        assert!(!home.path().join("j").exists());
    }
}
