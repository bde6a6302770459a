//! Converts the settings of TuneD's plugins to requests (tuned/plugins/plugin_*.py).

use super::ini::Entry;
use super::variables::is_open;
use super::{Found, Unit};
use crate::import::request::{Origin, Request, Want, every, one};
use crate::sight::mask;
use serde_json::json;

/// Options common to all plugins, which request nothing.
const COMMON: &[&str] =
    &["type", "priority", "enabled", "replace", "devices", "devices_udev_regex", "uname_regex", "cpuinfo_regex"];

pub(super) fn requests(unit: &Unit, found: &mut Found) {
    for entry in unit.entries.iter().filter(|entry| !COMMON.contains(&entry.key.as_str())) {
        let value = found.variables.expand(&entry.value);
        let value = unquoted(&value).to_owned();
        let context = Context { unit, entry, value };
        if is_open(&context.value) {
            context.note(found, &format!("only TuneD on that machine can evaluate {}", context.value));
        } else if let Some(why) = context.limits() {
            context.note(found, why);
        } else {
            match context.request() {
                Ok(request) => found.requests.push(request),
                Err(why) => context.note(found, why),
            }
        }
    }
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

struct Context<'u> {
    unit: &'u Unit,
    entry: &'u Entry,
    value: String,
}

impl Context<'_> {
    fn note(&self, found: &mut Found, why: &str) {
        let Entry { key, value, whence } = self.entry;
        found.notes.push(format!("[{}] {key} = {value} ({whence}): {why}", self.unit.name));
    }

    fn limits(&self) -> Option<&'static str> {
        let is_limited = |key: &str| {
            let entry = self.unit.entries.iter().find(|entry| entry.key == key);
            entry.is_some_and(|entry| !matches!(entry.value.as_str(), "" | "*"))
        };
        let by_device = ["devices", "devices_udev_regex"].iter().any(|key| is_limited(key));
        let by_machine = ["uname_regex", "cpuinfo_regex"].iter().any(|key| is_limited(key));
        match (by_device, by_machine) {
            (true, _) => Some("it applies to some devices only"),
            (_, true) => Some("it applies to some machines only"),
            _ => None,
        }
    }

    fn request(&self) -> Result<Request, &'static str> {
        match self.unit.plugin.as_str() {
            "sysctl" => self.sysctl(&self.entry.key),
            "sysfs" => self.sysfs(),
            "cpu" => self.cpu(),
            "vm" => self.vm(),
            "video" | "disk" | "net" | "usb" | "audio" | "scsi_host" | "acpi" => Err("devices are not checked"),
            "script" => Err("scripts are not run"),
            "systemd" => Err("systemd's own CPU affinity is not checked"),
            "irqbalance" => Err("irqbalance's settings are not checked"),
            "scheduler" => Err("tasks are not checked individually: see the rules iso-foreign-tasks and rogue-rt-task"),
            _ => Err("this plugin's options are not supported"),
        }
    }

    fn origin(&self, id: String, group: &'static str) -> Origin {
        let what = format!("{} = {}", self.entry.key, self.value);
        Origin { id, group, what, whence: self.entry.whence.clone() }
    }

    /// Parses TuneD's `>N` and `<N`, which set a value only if that raises or lowers it.
    fn want(&self) -> Result<Want, &'static str> {
        let number = |text: &str| text.trim().parse::<i64>().map_err(|_| "the limit is not a number");
        let value = self.value.as_str();
        match (value.strip_prefix('>'), value.strip_prefix('<')) {
            (Some(least), _) => number(least).map(Want::AtLeast),
            (_, Some(most)) => number(most).map(Want::AtMost),
            _ if value.is_empty() => Err("it has no value"),
            _ => Ok(Want::OneOf(spaced(value))),
        }
    }

    /// Interprets the key as in sysctl.d(5): dots separate its parts and slashes represent dots, unless the first
    /// separator is a slash.
    fn sysctl(&self, key: &str) -> Result<Request, &'static str> {
        let fine = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
        if !key.chars().all(fine) || key.contains("..") || key.is_empty() {
            return Err("the name is not a sysctl that can be looked up");
        }
        let is_slashed = key.find(['.', '/']).is_some_and(|at| key.get(at..).is_some_and(|rest| rest.starts_with('/')));
        let swap = |c: char| match c {
            '.' => '/',
            '/' => '.',
            c => c,
        };
        let path: String = if is_slashed { key.to_owned() } else { key.chars().map(swap).collect() };
        let origin = self.origin(format!("sysctl-{key}"), sysctl_group(key));
        let absent = ("WARN", format!("the profile sets {}, but this kernel has no {key}", origin.what));
        let want = self.want()?;
        let value = want.show();
        let read = json!({ "file": format!("/proc/sys/{path}") });
        let fix = json!({ "sysctl": { "key": key, "value": value } });
        Ok(one(origin, read, &want, absent).fix(&value, "now", fix))
    }

    fn sysfs(&self) -> Result<Request, &'static str> {
        let path = self.entry.key.as_str();
        let inside = ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|start| path.starts_with(start));
        if !inside || path.contains("..") || path.contains(['@', '{', '}']) {
            return Err("only files under /sys and /proc/sys are checked");
        }
        self.path(path, format!("sysfs{path}"), "power", self.want()?)
    }

    fn path(&self, path: &str, id: String, group: &'static str, want: Want) -> Result<Request, &'static str> {
        let (key, value) = (&self.entry.key, &self.value);
        let absent = format!("the profile sets {key} = {value}, but this machine has no {path}");
        self.path_or(path, id, group, want, ("WARN", absent))
    }

    /// Returns a request to check the value in a file; `absent` is the state and the sentence if the file does not
    /// exist.
    fn path_or(
        &self,
        path: &str,
        id: String,
        group: &'static str,
        want: Want,
        absent: (&str, String),
    ) -> Result<Request, &'static str> {
        let stars_end_parts =
            path.split('/').all(|part| !part.trim_end_matches('*').contains('*') && !part.ends_with("**"));
        if path.contains(['?', '[']) || !stars_end_parts {
            return Err("this kind of pattern is not supported");
        }
        let (mut want, is_mask) = (want, path.ends_with("cpumask") || path.ends_with("affinity"));
        let value = want.show();
        if is_mask {
            let cpus = mask(&value).ok_or("the value is not a CPU mask")?;
            want = Want::is(if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() });
        }
        let origin = self.origin(id, group);
        let form = match want {
            _ if is_mask => "mask",
            Want::OneOf(_) => "word",
            _ => "integer",
        };
        let fix = json!({ "write": { "file": path, "value": value } });
        let request = match path.contains('*') {
            true => every(origin, json!({ "files": path, "as": form, "sparse": true }), &want, absent),
            false => one(origin, json!({ "file": path, "as": form }), &want, absent),
        };
        Ok(request.fix(&value, "now", fix))
    }

    fn cpu(&self) -> Result<Request, &'static str> {
        let choices = || Want::OneOf(self.value.split('|').map(|word| word.trim().to_owned()).collect());
        const CPUS: &str = "/sys/devices/system/cpu";
        let policy = |file: &str| format!("{CPUS}/cpufreq/policy*/{file}");
        let key = self.entry.key.as_str();
        // TuneD sets only what the processor and its driver support (plugin_cpu.py).
        let of = |path: String, want: Want| {
            let absent = format!("{path} does not exist, in which case TuneD changes nothing");
            self.path_or(&path, format!("cpu-{key}"), "cpu", want, ("SKIP", absent))
        };
        match key {
            "governor" => {
                let request = self.path(&policy("scaling_governor"), "governor".to_owned(), "cpu", choices())?;
                Ok(request.only_if("cpufreq"))
            }
            "energy_performance_preference" => of(policy("energy_performance_preference"), choices()),
            "energy_perf_bias" => of(format!("{CPUS}/cpu*/power/energy_perf_bias"), bias(&self.value)),
            "boost" => of(format!("{CPUS}/cpufreq/boost"), self.want()?),
            "min_perf_pct" | "max_perf_pct" | "no_turbo" => of(format!("{CPUS}/intel_pstate/{key}"), self.want()?),
            "pm_qos_resume_latency_us" => of(format!("{CPUS}/cpu*/power/pm_qos_resume_latency_us"), self.want()?),
            "force_latency" => self.latency(),
            _ => Err("the option controls TuneD's internal adaptation, so there is no setting to check"),
        }
    }

    /// Checks the limit of all holders of /dev/cpu_dma_latency together, µs.
    fn latency(&self) -> Result<Request, &'static str> {
        let most = self.value.parse::<i64>().map_err(|_| "the value depends on the machine's idle states")?;
        let origin = self.origin("cpu-force_latency".to_owned(), "cpu");
        let absent = ("WARN", "this kernel has no /dev/cpu_dma_latency".to_owned());
        let request = one(origin, json!({ "probe": "latency-request" }), &Want::AtMost(most), absent);
        Ok(request
            .by_hand(&format!("hold /dev/cpu_dma_latency open with {most} written to it, as TuneD does while it runs")))
    }

    fn vm(&self) -> Result<Request, &'static str> {
        const THP: &str = "/sys/kernel/mm/transparent_hugepage";
        match self.entry.key.as_str() {
            "transparent_hugepages" | "transparent_hugepage" => {
                self.path(&format!("{THP}/enabled"), "thp".to_owned(), "memory", self.want()?)
            }
            "transparent_hugepage.defrag" => {
                self.path(&format!("{THP}/defrag"), "thp-defrag".to_owned(), "memory", self.want()?)
            }
            key if key.starts_with("dirty_") && !self.value.contains('%') => self.sysctl(&format!("vm.{key}")),
            _ => Err("this option is not supported"),
        }
    }
}

/// Returns the ways to write several words: the kernel separates them by a tab or a blank.
fn spaced(value: &str) -> Vec<String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    if words.len() > 1 { vec![words.join("\t"), words.join(" ")] } else { vec![value.to_owned()] }
}

/// Accepts a preference by its name in arch/x86/kernel/cpu/intel_epb.c, or by the number that the kernel prints.
fn bias(value: &str) -> Want {
    let names = [
        ("performance", "0"),
        ("balance-performance", "4"),
        ("normal", "6"),
        ("balance-power", "8"),
        ("power", "15"),
        ("powersave", "15"),
    ];
    let number =
        |word: &str| names.iter().find(|(name, _)| *name == word).map_or(word, |(_, number)| number).to_owned();
    Want::OneOf(value.split('|').map(|word| number(word.trim())).collect())
}

fn sysctl_group(key: &str) -> &'static str {
    let has = |part: &str| key.contains(part);
    if key.starts_with("vm") {
        "memory"
    } else if key.starts_with("net") || key.starts_with("fs") {
        "io"
    } else if has("watchdog") || has("hung_task") || has("panic") {
        "watchdog"
    } else if has("sched") {
        "sched"
    } else {
        "kernel"
    }
}
