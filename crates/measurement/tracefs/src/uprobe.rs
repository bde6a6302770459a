//! Defines uprobes: Documentation/trace/uprobetracer.rst.

use crate::error::TracefsError;
use crate::mount::Tracefs;
use punctual_journal::{Journal, Lease, Undo};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The group of all uprobes that this program defines.
pub const UPROBE_GROUP: &str = "punctual";

/// A uprobe definition. It has no effect until one of its events is opened. It is removed on drop, which must happen
/// after its events are closed, or after kill -9 when the program is started again.
#[derive(Debug)]
pub struct Uprobe {
    id: u64,
    event: String,
    lease: Option<Lease>,
}

impl Uprobe {
    /// Defines a uprobe at an offset of an executable file. `arguments` names the values that its records contain in
    /// addition to the address, for example `state=%di:u64`; it may be empty.
    ///
    /// # Errors
    /// The kernel has no uprobes (CONFIG_UPROBE_EVENTS), or refuses this offset.
    pub fn define(
        tracefs: &Tracefs,
        journal: &Journal,
        file: &Path,
        offset: u64,
        arguments: &str,
    ) -> Result<Uprobe, TracefsError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let event = format!("p{}_{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let name = format!("{UPROBE_GROUP}/{event}");
        let events = tracefs.root().join("uprobe_events");
        if !events.exists() {
            return Err(TracefsError::NoEvent("uprobe_events".into()));
        }
        // The path of a descriptor is used, because the syntax does not allow paths with spaces or colons.
        let opened = File::open(file).map_err(TracefsError::on(file))?;
        let line = format!("p:{name} /proc/self/fd/{}:{offset:#x} {arguments}\n", opened.as_raw_fd());
        let lease = journal.lease(vec![Undo::RemoveUprobe { name: name.clone() }])?;
        let written = File::options().append(true).open(&events).and_then(|mut to| to.write_all(line.as_bytes()));
        // If a later step fails, dropping the lease removes the definition.
        written.map_err(TracefsError::on(&events))?;
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
