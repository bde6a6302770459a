use super::format::{EventFormat, Slot};
use super::kinds::Plan;
use super::page::Layout;
use super::symbols::Symbols;
use crate::Options;
use crate::event::{Event, Kind};
use crate::flags::{Dialect, Flags};
use crate::text::Names;
use crate::words::{Comm, Name};
use std::collections::HashMap;

const COMMS: usize = 1 << 18;

/// Decodes the records of all CPUs of a trace by the event formats it was given.
pub struct Decoder {
    layout: Layout,
    options: Options,
    /// Formats by event ID.
    events: Vec<Option<Entry>>,
    common: Option<Common>,
    release: Option<String>,
    dialect: Dialect,
    names: Names,
    symbols: Symbols,
    comms: HashMap<i32, Comm>,
    /// For each CPU: the task to which its last sched_switch switched.
    current: Vec<Option<(i32, Comm)>>,
}

struct Entry {
    name: Name,
    plan: Option<Plan>,
    format: Option<EventFormat>,
}

#[derive(Clone, Copy)]
struct Common {
    kind: Slot,
    flags: Slot,
    preempt: Slot,
    pid: Slot,
    migrate: Slot,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undecoded {
    /// The format of this ID is unknown.
    NoFormat(u16),
    /// The fields exceed the record.
    Short(Name),
    /// The record is shorter than the common fields.
    Empty,
}

impl Decoder {
    pub fn new(layout: Layout, options: Options) -> Decoder {
        Decoder {
            layout,
            options,
            events: Vec::new(),
            common: None,
            release: None,
            dialect: Dialect::default(),
            names: Names::new(),
            symbols: Symbols::default(),
            comms: HashMap::new(),
            current: Vec::new(),
        }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Adds a format (`events/SYSTEM/EVENT/format`); returns `false` if it cannot be parsed.
    pub fn add_format(&mut self, text: &[u8]) -> bool {
        let Some(format) = EventFormat::parse(text) else { return false };
        if self.common.is_none() {
            let slot = |name| format.slot(name);
            let common = Common {
                kind: slot("common_type"),
                flags: slot("common_flags"),
                preempt: slot("common_preempt_count"),
                pid: slot("common_pid"),
                migrate: slot("common_migrate_disable"),
            };
            self.common = common.kind.present().then_some(common);
            self.set_dialect();
        }
        let id = usize::from(format.id);
        if self.events.len() <= id {
            self.events.resize_with(id + 1, || None);
        }
        let plan = Plan::new(&format, &mut self.names);
        let name = self.names.get(format.name.as_bytes());
        let keep = plan.is_none() && self.options.bodies;
        if let Some(entry) = self.events.get_mut(id) {
            *entry = Some(Entry { name, plan, format: keep.then_some(format) });
        }
        true
    }

    /// Sets the kernel's release, which determines the meaning of some flag bits.
    pub fn set_release(&mut self, release: &str) {
        self.release = Some(release.to_owned());
        self.set_dialect();
    }

    fn set_dialect(&mut self) {
        let own_migrate = self.common.is_some_and(|common| common.migrate.present());
        self.dialect = Dialect::of(self.release.as_deref(), own_migrate);
    }

    /// Adds task names in the format of `saved_cmdlines`: one `PID COMM` per line.
    pub fn add_comms(&mut self, text: &[u8]) {
        for line in text.split(|b| *b == b'\n' || *b == 0) {
            let Some(space) = memchr::memchr(b' ', line) else { continue };
            let (pid, comm) = line.split_at(space);
            let Some(pid) = std::str::from_utf8(pid).ok().and_then(|p| p.parse().ok()) else { continue };
            if self.comms.len() < COMMS {
                self.comms.insert(pid, Comm::new(comm.get(1..).unwrap_or_default()));
            }
        }
    }

    pub(crate) fn add_comm(&mut self, tid: i32, comm: Comm) {
        if self.comms.len() < COMMS || self.comms.contains_key(&tid) {
            self.comms.insert(tid, comm);
        }
    }

    pub(crate) fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    pub(crate) fn decode(&mut self, cpu: u32, t_ns: u64, record: &[u8]) -> Result<Event, Undecoded> {
        let Some(common) = self.common else { return Err(Undecoded::Empty) };
        let layout = &self.layout;
        let id = common.kind.unsigned(record, layout).ok_or(Undecoded::Empty)? as u16;
        let Some(Some(entry)) = self.events.get(usize::from(id)) else { return Err(Undecoded::NoFormat(id)) };
        let tid = common.pid.signed(record, layout).and_then(|tid| i32::try_from(tid).ok());
        let flags = self.flags(common, record);
        let kind = match &entry.plan {
            Some(plan) => {
                let kind = plan.make(record, layout, &mut self.names, &mut self.symbols);
                kind.ok_or_else(|| Undecoded::Short(entry.name.clone()))?
            }
            None => {
                let body = entry.format.as_ref().map(|format| body(format, record, layout));
                Kind::Other { name: entry.name.clone(), body }
            }
        };
        let comm = tid.and_then(|tid| self.comm(cpu, tid));
        let comm = self.learn(cpu, &kind).or(comm);
        Ok(Event { t_ns, cpu, tid, comm, flags, kind })
    }

    fn flags(&self, common: Common, record: &[u8]) -> Option<Flags> {
        let byte = |slot: Slot| slot.unsigned(record, &self.layout).map(|v| v as u8);
        Some(Flags::from_bits(byte(common.flags)?, byte(common.preempt)?, byte(common.migrate), self.dialect))
    }

    /// Returns the name of a current task. A name from sched_switch takes precedence over the list, which may have been
    /// recorded at another time.
    fn comm(&self, cpu: u32, tid: i32) -> Option<Comm> {
        if tid == 0 {
            return Some(Comm::new(b"<idle>"));
        }
        match self.current.get(cpu as usize) {
            Some(Some((current, comm))) if *current == tid => Some(*comm),
            _ => self.comms.get(&tid).copied(),
        }
    }

    /// Records the next task of a sched_switch; returns the name of the previous one.
    fn learn(&mut self, cpu: u32, kind: &Kind) -> Option<Comm> {
        let Kind::SchedSwitch { prev, next, .. } = kind else { return None };
        let cpu = cpu as usize;
        if cpu < 8192 {
            if self.current.len() <= cpu {
                self.current.resize(cpu + 1, None);
            }
            if let Some(current) = self.current.get_mut(cpu) {
                *current = next.comm.map(|comm| (next.tid, comm));
            }
        }
        prev.comm.filter(|_| prev.tid != 0)
    }
}

/// Formats `field=value` for the numeric and string fields.
fn body(format: &EventFormat, record: &[u8], layout: &Layout) -> Box<str> {
    let mut text = String::new();
    for field in format.fields.iter().filter(|f| !f.name.starts_with("common_")).take(32) {
        let value = match (field.slot.signed(record, layout), field.slot.bytes(record, layout)) {
            (Some(number), _) => number.to_string(),
            (_, Some(bytes)) => {
                let bytes = bytes.split(|b| *b == 0).next().unwrap_or_default();
                String::from_utf8_lossy(bytes.get(..bytes.len().min(128)).unwrap_or_default()).into_owned()
            }
            _ => continue,
        };
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&field.name);
        text.push('=');
        text.push_str(&value);
    }
    text.into()
}
