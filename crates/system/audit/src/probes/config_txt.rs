//! What a Raspberry Pi's config.txt sets.

use super::raspberry::first;
use super::{Probe, With};
use crate::cmdline::names::is_tuning;
use crate::config_txt::{Line, Settings};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};

const MODEL: &str = "/proc/device-tree/model";
/// The firmware reads the first since Raspberry Pi OS 12 and on Ubuntu, the second before.
const CONFIGS: &[&str] = &["/boot/firmware/config.txt", "/boot/config.txt"];
/// Files that config.txt includes lie beside it.
const READS: &[&[&str]] = &[CONFIGS, &[MODEL, "/boot/firmware/*.txt", "/boot/*.txt"]];

pub(super) const PROBES: &[Probe] = &[
    // The lines of config.txt that apply to this board.
    Probe { name: "pi-config", with: &[], reads: READS, run: |sight, _, notes| some(sight, notes, |_| true) },
    // Clocks above or below the stock ones, voltages above.
    Probe { name: "pi-clocks", with: &[], reads: READS, run: |sight, _, notes| some(sight, notes, is_clock) },
    Probe {
        name: "pi-overvoltage",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_overvoltage),
    },
    // Kernel parameters, which the firmware does not know.
    Probe {
        name: "pi-kernel-words",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_kernel_word),
    },
    // Kernels that config.txt names and that do not exist.
    Probe {
        name: "pi-kernel-missing",
        with: &[],
        reads: &[CONFIGS, &[MODEL, "/boot/firmware/*.txt", "/boot/*.txt", "/boot/firmware", "/boot"]],
        run: missing,
    },
];

struct Found {
    path: &'static str,
    lines: Vec<Line>,
    /// An included file that cannot be read.
    missing: Option<Gap>,
}

fn read(sight: &Sight, notes: &mut Notes) -> Result<Found, Gap> {
    let (path, text) = first(sight, CONFIGS).inspect_err(|gap| notes.add(&gap.source, gap.cause.describe()))?;
    let model = sight.text(MODEL, &mut Notes::default()).map_err(Gap::expected);
    let model = model.inspect_err(|gap| notes.add(&gap.source, gap.cause.describe()))?;
    let folder = crate::glob::folder_of(path);
    let mut missing = None;
    let mut settings = Settings::default();
    // False if only config.txt is given: see `punctual_machine::Given`.
    let model = (model != punctual_machine::Given::SOME_PI).then_some(model.as_str());
    settings.read(&text, model, &mut |name| match included(sight, &folder, name) {
        Ok(text) => Some(text),
        Err(gap) => {
            if gap.cause != Cause::Absent {
                missing.get_or_insert(gap);
            }
            None
        }
    });
    let shown: Vec<&str> = settings.lines.iter().map(|line| line.text.as_str()).collect();
    notes.add(path, shown.join("; "));
    Ok(Found { path, lines: settings.lines, missing })
}

fn included(sight: &Sight, folder: &str, name: &str) -> Result<String, Gap> {
    let path = format!("{folder}/{name}");
    if name.contains('/') || name.starts_with('.') || !name.ends_with(".txt") {
        return Err(Gap::new(path, Cause::Garbled("name of a text file beside config.txt")));
    }
    sight.text(&path, &mut Notes::default())
}

/// For lines that may apply, the label has the text and the value the reason why it is unknown whether they do.
fn listed(lines: impl IntoIterator<Item = Line>, missing: Option<Gap>) -> Reading {
    let mut many = Many { items: Vec::new(), missing };
    for Line { text, unless } in lines {
        match unless.as_str() {
            "" => many.push("", Ok(Value::Text(text))),
            filters => many.push(text, Err(Gap::new(format!("whether {filters} holds"), Cause::NotGiven))),
        }
    }
    Reading::Many(many)
}

fn some(sight: &Sight, notes: &mut Notes, is_one: fn(&Line) -> bool) -> Reading {
    match read(sight, notes) {
        Ok(found) => listed(found.lines.into_iter().filter(is_one), found.missing),
        Err(gap) => Reading::Many(Many::unknown(gap)),
    }
}

/// raspberrypi/documentation, config_txt/overclocking.adoc. `…_min` is no overclocking.
fn is_clock(line: &Line) -> bool {
    const CLOCKS: &[&str] =
        &["arm_freq", "gpu_freq", "core_freq", "h264_freq", "isp_freq", "v3d_freq", "hevc_freq", "sdram_freq"];
    CLOCKS.contains(&line.key()) || is_overvoltage(line)
}

fn is_overvoltage(line: &Line) -> bool {
    let is_voltage = line.key().starts_with("over_voltage") && !line.key().ends_with("_min");
    is_voltage && line.value().parse::<i64>().is_ok_and(|steps| steps > 0)
}

fn is_kernel_word(line: &Line) -> bool {
    const WORDS: &[&str] = &["console", "root", "rootwait", "rootfstype", "quiet", "loglevel", "cgroup_enable"];
    WORDS.contains(&line.key()) || line.key().starts_with("dwc_otg.") || is_tuning(line.key())
}

fn missing(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = read(sight, notes).and_then(|found| {
        let folder = crate::glob::folder_of(found.path);
        let there = sight.names(&folder)?;
        let is_gone = |line: &Line| {
            line.key() == "kernel" && !line.value().contains('/') && !there.iter().any(|file| file == line.value())
        };
        let gone = found.lines.into_iter().filter(is_gone);
        let gone = gone.map(|line| Line { text: format!("{folder}/{}", line.value()), unless: line.unless });
        Ok(listed(gone.collect::<Vec<_>>(), found.missing))
    });
    found.unwrap_or_else(|gap| Reading::Many(Many::unknown(gap)))
}
