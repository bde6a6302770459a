use crate::error::TracefsError;
use crate::events::{EventSet, NEEDED, NOISE};
use crate::marks;
use crate::mount::Tracefs;
use crate::uprobe::{UPROBE_GROUP, Uprobe};
use punctual_journal::{Journal, Lease, Undo};
use punctual_trace::DatHead;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Config {
    /// Events to enable. Those that this kernel lacks are skipped and reported.
    pub events: &'static EventSet,
    /// Size of each CPU's buffer, KiB; `None` derives it from the machine's memory.
    pub buffer_kb: Option<u64>,
    /// Tracer to enable in addition, such as `timerlat`.
    pub tracer: Option<String>,
    /// Filter on sched_switch events (`next_prio < 100`). If set, kernel stacks are recorded that show where sections
    /// with disabled interrupts or preemption end: at each timer interrupt of a busy CPU, and when a thread selected by
    /// the filter preempts another one. Requires CONFIG_STACKTRACE (Documentation/trace/events.rst, "Event triggers").
    pub stacks: Option<String>,
}

/// A private trace instance with enabled events. It is removed on drop.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    /// Description of the tracefs used; see [`Tracefs::place`].
    place: String,
    /// System and name of the enabled events.
    enabled: Vec<(String, String)>,
    /// Requested events that this kernel lacks.
    missing: Vec<String>,
    buffer_kb: u64,
    tracer: Option<String>,
    lease: Option<Lease>,
}

/// Event counts of the buffers, from `per_cpu/cpuN/stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub entries: u64,
    pub overrun: u64,
    /// Number of events lost because they occurred while an interrupted event was being moved to the next page.
    pub commit_overrun: u64,
    pub read: u64,
    pub dropped: u64,
}

impl Statistics {
    pub fn recorded(&self) -> u64 {
        self.entries + self.overrun + self.read
    }
}

impl Instance {
    /// Creates an instance on CLOCK_MONOTONIC and enables its events; recording starts immediately.
    ///
    /// Each write to tracefs takes a few milliseconds and interrupts all CPUs, so do not call this during a
    /// measurement.
    ///
    /// # Errors
    /// The instance could not be created. Nothing is left behind.
    pub fn create(tracefs: &Tracefs, journal: &Journal, config: &Config) -> Result<Instance, TracefsError> {
        if let Some(tracer) = &config.tracer {
            let available = tracefs.tracers()?;
            if !available.contains(tracer) {
                return Err(TracefsError::NoTracer { tracer: tracer.clone(), available: available.join(" ") });
            }
        }
        let instances = tracefs.root().join("instances");
        let folder = unused(&instances);
        let lease = journal.lease(vec![Undo::RemoveFolder { path: folder.clone() }])?;
        // If a later step fails, dropping the lease removes the directory.
        let on = |name: &str| TracefsError::on(folder.join(name));
        #[expect(clippy::disallowed_methods, reason = "tracefs")]
        fs::create_dir(&folder).map_err(TracefsError::on(&folder))?;
        let write = |name: &str, text: &str| write(&folder.join(name), text).map_err(on(name));
        write("trace_clock", "mono")?;
        // The events contain the thread names. Recording names by thread as well would slow down every context switch.
        let _ = write("options/record-cmd", "0");
        let wanted = config.buffer_kb.unwrap_or_else(default_kb);
        if let Err(e) = write("buffer_size_kb", &wanted.to_string())
            && config.buffer_kb.is_some()
        {
            return Err(e);
        }
        let buffer_kb = number(&folder.join("per_cpu/cpu0/buffer_size_kb")).unwrap_or(wanted);
        let mut instance = Instance {
            folder: folder.clone(),
            place: tracefs.place(),
            enabled: Vec::new(),
            missing: Vec::new(),
            buffer_kb,
            tracer: None,
            lease: Some(lease),
        };
        let noise = config.tracer.iter().filter(|t| matches!(t.as_str(), "osnoise" | "timerlat")).flat_map(|_| NOISE);
        for &(system, name) in config.events.iter().chain(noise) {
            instance.enable(system, name)?;
        }
        if let Some(next) = &config.stacks {
            let taken = format!("stacktrace if prev_pid != 0 && {next}");
            let interrupted = "stacktrace if common_pid != 0".to_owned();
            for (event, trigger) in [("timer/hrtimer_expire_entry", interrupted), ("sched/sched_switch", taken)] {
                if write(&format!("events/{event}/trigger"), &trigger).is_err() {
                    instance.missing.push(format!("stacks at {}", event.replace('/', ":")));
                }
            }
        }
        if let Some(tracer) = &config.tracer {
            write("current_tracer", tracer)?;
            instance.tracer = Some(tracer.clone());
        }
        Ok(instance)
    }

    fn enable(&mut self, system: &'static str, name: &'static str) -> Result<(), TracefsError> {
        let path = self.folder.join("events").join(system).join(name).join("enable");
        match write(&path, "1") {
            Ok(()) => self.enabled.push((system.into(), name.into())),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !NEEDED.contains(&name) => {
                self.missing.push(format!("{system}:{name}"));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(TracefsError::NoEvent(name.into())),
            Err(e) => return Err(TracefsError::on(path)(e)),
        }
        Ok(())
    }

    /// Records the events of a uprobe, which must be removed after the instance.
    ///
    /// # Errors
    /// The kernel cannot set a breakpoint there.
    pub fn enable_probe(&mut self, probe: &Uprobe) -> Result<(), TracefsError> {
        self.switch_event(UPROBE_GROUP, probe.event(), true)?;
        self.enabled.push((UPROBE_GROUP.into(), probe.event().into()));
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a description of the tracefs used, see [`Tracefs::place`].
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the requested events that this kernel lacks.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the recorded events as `system:name`.
    pub fn events(&self) -> Vec<String> {
        self.enabled.iter().map(|(system, name)| format!("{system}:{name}")).collect()
    }

    pub fn buffer_kb(&self) -> u64 {
        self.buffer_kb
    }

    pub fn record(&self, on: bool) -> Result<(), TracefsError> {
        let path = self.folder.join("tracing_on");
        write(&path, if on { "1" } else { "0" }).map_err(TracefsError::on(path))
    }

    /// Records events of this name only if they pass a filter (Documentation/trace/events.rst, "Event filtering"), and
    /// clears the buffer.
    ///
    /// # Errors
    /// The filter is refused, or the file cannot be written.
    pub fn filter(&self, system: &str, name: &str, filter: &str) -> Result<(), TracefsError> {
        let path = self.folder.join("events").join(system).join(name).join("filter");
        write(&path, filter).map_err(TracefsError::on(path))?;
        let buffer = self.folder.join("trace");
        File::options().write(true).truncate(true).open(&buffer).map(drop).map_err(TracefsError::on(buffer))
    }

    /// Enables the copying of text that programs write to the main trace_marker to this instance
    /// (options/copy_trace_marker, Linux 6.16). Returns false if the kernel cannot do that, or cannot do it safely
    /// (before Linux 7.0, 6.19.11, 6.18.21).
    ///
    /// # Errors
    /// The option cannot be set.
    pub fn copy_marks(&self) -> Result<bool, TracefsError> {
        if !marks::are_safe(&rustix::system::uname().release().to_string_lossy()) {
            return Ok(false);
        }
        let path = self.folder.join("options/copy_trace_marker");
        match write(&path, "1") {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            written => written.map(|()| true).map_err(TracefsError::on(path)),
        }
    }

    /// Returns true if the main trace refuses marks: write(2) to trace_marker fails while options/markers is 0.
    pub fn marks_are_off(&self) -> bool {
        let main = self.folder.ancestors().nth(2);
        main.and_then(|main| number(&main.join("options/markers"))) == Some(0)
    }

    /// Enables or disables one of the instance's events.
    pub fn switch_event(&self, system: &str, name: &str, on: bool) -> Result<(), TracefsError> {
        let path = self.folder.join("events").join(system).join(name).join("enable");
        write(&path, if on { "1" } else { "0" }).map_err(TracefsError::on(path))
    }

    /// Records events on these CPUs only. The threads of a tracer (hwlat) also stay on these CPUs.
    ///
    /// # Errors
    /// The file cannot be written, for example because the CPU does not exist.
    pub fn limit(&self, cpus: impl IntoIterator<Item = u32>) -> Result<(), TracefsError> {
        let path = self.folder.join("tracing_cpumask");
        write(&path, &mask(cpus)).map_err(TracefsError::on(path))
    }

    /// Enables a tracer (`hwlat`), or disables the current one (`nop`). The kernel then clears the buffer.
    ///
    /// # Errors
    /// The kernel lacks the tracer, or another instance uses it (EBUSY).
    pub fn tracer(&self, name: &str) -> Result<(), TracefsError> {
        let path = self.folder.join("current_tracer");
        write(&path, name).map_err(TracefsError::on(path))
    }

    /// Enables a tracer whose output is read from the pages. Unlike [`Config::tracer`], it enables no further events.
    /// Settings that the tracer reads when it starts must be made before this call.
    pub fn start_tracer(&mut self, name: &str) -> Result<(), TracefsError> {
        self.tracer(name)?;
        self.tracer = Some(name.to_owned());
        Ok(())
    }

    /// Opens the recording as text. Reading it does not consume events.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn text(&self) -> Result<File, TracefsError> {
        let path = self.folder.join("trace");
        File::open(&path).map_err(TracefsError::on(path))
    }

    /// Returns the CPUs that have a buffer, in ascending order.
    pub fn cpus(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        let number = |name: &str| name.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
        cpus.sort_unstable();
        cpus
    }

    pub fn statistics(&self, cpu: u32) -> Option<Statistics> {
        let text = fs::read_to_string(self.folder.join(format!("per_cpu/cpu{cpu}/stats"))).ok()?;
        Some(statistics(&text))
    }

    /// Opens the raw pages of a CPU for non-blocking reads.
    ///
    /// # Errors
    /// The file cannot be opened; EBUSY if another process reads it.
    pub fn raw_pipe(&self, cpu: u32) -> Result<File, TracefsError> {
        let path = self.folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        File::options().read(true).custom_flags(flags).open(&path).map_err(TracefsError::on(path))
    }

    /// Returns everything that a trace.dat needs to be read on another kernel. It reads fewer than 30 files, each once.
    ///
    /// # Errors
    /// An event format cannot be read.
    pub fn head(&self) -> Result<DatHead, TracefsError> {
        let read = |path: PathBuf| read_at_once(&path).map_err(TracefsError::on(path));
        let events = self.folder.join("events");
        let mut systems: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
        for (system, name) in &self.enabled {
            let format = read(events.join(system).join(name).join("format"))?;
            match systems.iter_mut().find(|(known, _)| known == system) {
                Some((_, formats)) => formats.push(format),
                None => systems.push((system.clone(), vec![format])),
            }
        }
        // The output of a tracer consists of events of the system ftrace.
        let own = fs::read_dir(events.join("ftrace")).into_iter().flatten().flatten().map(|entry| entry.path());
        let own = own.filter(|path| self.tracer.is_some() || path.ends_with("print") || path.ends_with("kernel_stack"));
        let uname = rustix::system::uname();
        let (release, machine) = (uname.release().to_string_lossy(), uname.machine().to_string_lossy());
        Ok(DatHead {
            header_page: read(events.join("header_page"))?,
            header_event: read(events.join("header_event"))?,
            ftrace: own.filter_map(|path| read_at_once(&path.join("format")).ok()).collect(),
            systems,
            // The host name is omitted for privacy.
            uname: format!("Linux host {release} {machine}"),
            clock: "[mono]".into(),
        })
    }

    /// Returns the current tracer of the top-level instance, which another program may have left enabled; `nop` means
    /// none.
    pub fn main_tracer(&self) -> Option<String> {
        let main = self.folder.parent()?.parent()?;
        Some(fs::read_to_string(main.join("current_tracer")).ok()?.trim().to_owned())
    }

    /// Returns the longest latency recorded by a latency tracer, as text with its header; `None` without a latency
    /// tracer.
    pub fn longest(&self) -> Option<Vec<u8>> {
        let tracer = self.tracer.as_deref()?;
        let latency = tracer.starts_with("wakeup") || tracer.ends_with("off");
        latency.then(|| fs::read(self.folder.join("trace")).ok())?
    }

    /// Removes the instance.
    ///
    /// # Errors
    /// Descriptions of what could not be removed, because another process holds a file open.
    pub fn remove(mut self) -> Result<(), Vec<String>> {
        self.lease.take().map_or(Ok(()), Lease::give_back)
    }
}

fn unused(instances: &Path) -> PathBuf {
    let pid = std::process::id();
    let names = std::iter::once(format!("punctual-{pid}")).chain((2..).map(|n| format!("punctual-{pid}-{n}")));
    names
        .map(|name| instances.join(name))
        .find(|path| path.symlink_metadata().is_err())
        .unwrap_or_else(|| instances.into())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    // tracefs requires the whole text in a single write. The file must already exist.
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

/// Formats a tracing_cpumask: hexadecimal words of 32 bits, highest first, separated by commas.
fn mask(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut words = vec![0u32];
    for cpu in cpus.into_iter().filter(|cpu| *cpu < 8192) {
        let at = cpu as usize / 32;
        words.resize(words.len().max(at + 1), 0);
        words[at] |= 1 << (cpu % 32);
    }
    let words: Vec<String> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
    words.join(",")
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

/// Returns the default buffer size per CPU, KiB: 1/256 of the machine's memory divided by the number of CPUs, but at
/// least 512 and at most 4096. The buffer holds at least half a second of events of a busy CPU.
fn default_kb() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = info.lines().find_map(|l| l.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    (total.unwrap_or(0) / 256 / cpus).clamp(512, 4096)
}

fn statistics(text: &str) -> Statistics {
    let value = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)?.trim().parse().ok()).unwrap_or(0);
    Statistics {
        entries: value("entries:"),
        overrun: value("overrun:"),
        commit_overrun: value("commit overrun:"),
        read: value("read events:"),
        dropped: value("dropped events:"),
    }
}

/// Reads a file in one read(2): the first read(2) of `header_page` and `header_event` returns all content and later
/// ones return nothing (kernel/trace/trace_events.c, show_header). [`fs::read`] starts with 32 bytes and would return a
/// truncated description of the pages, without their size.
fn read_at_once(path: &Path) -> io::Result<Vec<u8>> {
    const ROOM: usize = 1 << 16;
    let mut file = File::open(path)?;
    let (mut all, mut length) = (vec![0; ROOM], 0);
    loop {
        match file.read(&mut all[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        if all.len() - length < ROOM / 2 {
            all.resize(all.len() + ROOM, 0);
        }
    }
    all.truncate(length);
    all.shrink_to_fit();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_as_the_kernel_prints_them() {
        let text = "entries: 59\noverrun: 3\ncommit overrun: 1\nbytes: 3116\noldest event ts: 22784.505938\nnow ts: 22784.561858\n\
                    dropped events: 2\nread events: 7\n";
        let s = statistics(text);
        assert_eq!((s.entries, s.overrun, s.commit_overrun, s.dropped, s.read, s.recorded()), (59, 3, 1, 2, 7, 69));
        assert_eq!(statistics("nonsense"), Statistics::default());
    }

    #[test]
    fn masks_as_the_kernel_reads_them() {
        assert_eq!(mask([]), "00000000");
        assert_eq!(mask([0, 3]), "00000009");
        assert_eq!(mask([33, 1]), "00000002,00000002");
        assert_eq!(mask([u32::MAX]), "00000000");
    }

    #[test]
    fn sizes_stay_within_bounds() {
        assert!((512..=4096).contains(&default_kb()));
    }
}
