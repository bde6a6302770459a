//! Settings of a Raspberry Pi's config.txt.

use super::raspberry::first;
use super::{Probe, With};
use crate::cmdline::names::is_tuning;
use crate::config_txt::{Line, Settings};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::Given;

const MODEL: &str = "/proc/device-tree/model";
/// Paths of config.txt: the firmware reads the first since Raspberry Pi OS 12 and on Ubuntu, the second in earlier
/// releases.
const CONFIGS: &[&str] = &["/boot/firmware/config.txt", "/boot/config.txt"];
/// Files that the probes read. Files that config.txt includes are in the same folder.
pub(super) const READS: &[&[&str]] = &[CONFIGS, &[MODEL, "/boot/firmware/*.txt", "/boot/*.txt"]];

pub(super) const PROBES: &[Probe] = &[
    // The lines of config.txt that apply to this board.
    Probe { name: "pi-config", with: &[], reads: READS, run: |sight, _, notes| some(sight, notes, |_| true) },
    // Clocks and voltages above the stock values, and clocks whose stock value is unknown.
    Probe { name: "pi-clocks", with: &[], reads: READS, run: clocks },
    // arm_freq=, if it is not the stock clock or the stock clock is unknown.
    Probe { name: "pi-arm-clock-changed", with: &[], reads: READS, run: changed },
    // Lines that look like force_turbo= but do not set it.
    Probe {
        name: "pi-turbo-misspelt",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_misspelt_turbo),
    },
    // `yes` if the CPU's minimum clock is its maximum, else `no`.
    Probe { name: "pi-clock-constant", with: &[], reads: READS, run: |sight, _, notes| word(sight, notes, constant) },
    // What keeps the core clock constant: `turbo`, `uart` (at 250 MHz) or `limits`; else `no`.
    Probe { name: "pi-core-clock", with: &[], reads: READS, run: |sight, _, notes| word(sight, notes, core) },
    Probe {
        name: "pi-overvoltage",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_overvoltage),
    },
    // Settings that look like a voltage but are none.
    Probe {
        name: "pi-voltage-misspelt",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_misspelt_voltage),
    },
    // Kernel parameters, which the firmware ignores.
    Probe {
        name: "pi-kernel-words",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_kernel_word),
    },
    Probe {
        name: "pi-switches-misspelt",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, is_misspelt_switch),
    },
    // Settings with a comment after the value.
    Probe { name: "pi-remarks", with: &[], reads: READS, run: |sight, _, notes| some(sight, notes, has_remark) },
    // Kernels that config.txt names but that do not exist.
    Probe {
        name: "pi-kernel-missing",
        with: &[],
        reads: &[CONFIGS, &[MODEL, "/boot/firmware/*.txt", "/boot/*.txt", "/boot/firmware", "/boot"]],
        run: missing,
    },
];

struct Found {
    path: &'static str,
    model: Option<String>,
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
    // If only config.txt is given, this is not a model name: see `punctual_machine::Given`.
    let model = Some(model).filter(|model| model != punctual_machine::Given::SOME_PI);
    settings.read(&text, model.as_deref(), &mut |name| match included(sight, &folder, name) {
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
    Ok(Found { path, model, lines: settings.lines, missing })
}

fn included(sight: &Sight, folder: &str, name: &str) -> Result<String, Gap> {
    let path = format!("{folder}/{name}");
    if name.contains('/') || name.starts_with('.') || !name.ends_with(".txt") {
        return Err(Gap::new(path, Cause::Garbled("name of a text file in the folder of config.txt")));
    }
    sight.text(&path, &mut Notes::default())
}

/// Returns the lines as a list. A line that may or may not apply is labelled with its text and has, in place of a
/// value, the reason why this is unknown: its filter, or an included file that is missing and may set another value (it
/// cannot take an overlay back).
fn listed(lines: impl IntoIterator<Item = Line>, missing: Option<Gap>) -> Reading {
    let mut many = Many { items: Vec::new(), missing };
    for line in lines {
        let is_overlay = line.key() == "dtoverlay";
        let Line { text, unless } = line;
        match (unless.as_str(), many.missing.clone()) {
            ("", Some(gap)) if !is_overlay => many.push_open(text, gap),
            ("", _) => many.push("", Ok(Value::Text(text))),
            (filters, _) => many.push_open(text, Gap::new(format!("whether {filters} holds"), Cause::NotGiven)),
        }
    }
    Reading::Many(many)
}

pub(super) fn some(sight: &Sight, notes: &mut Notes, is_one: fn(&Line) -> bool) -> Reading {
    match read(sight, notes) {
        Ok(found) => listed(found.lines.into_iter().filter(is_one), found.missing),
        Err(gap) => Reading::Many(Many::unknown(gap)),
    }
}

/// Default clocks by model, MHz: arm_freq, core_freq, the other blocks (h264, isp, hevc), v3d_freq and sdram_freq: the
/// table of raspberrypi/documentation, config_txt/overclocking.adoc. The first matching model counts.
const STOCK: &[(&str, [u32; 5])] = &[
    ("Raspberry Pi 5", [2400, 910, 910, 960, 4267]),
    ("Compute Module 5", [2400, 910, 910, 960, 4267]),
    ("Raspberry Pi 400", [1800, 500, 500, 500, 3200]),
    ("Raspberry Pi 4", [1500, 500, 500, 500, 3200]),
    ("Compute Module 4", [1500, 500, 500, 500, 3200]),
    ("Raspberry Pi 3 Model A Plus", [1400, 400, 400, 400, 500]),
    ("Raspberry Pi 3 Model B Plus", [1400, 400, 400, 400, 500]),
    ("Raspberry Pi 3", [1200, 400, 400, 400, 450]),
    ("Raspberry Pi 2 Model B Rev 1.1", [900, 250, 250, 250, 450]),
    ("Raspberry Pi Zero", [1000, 400, 300, 300, 450]),
    // The first Raspberry Pi and its Compute Module have no number in their names.
    ("Raspberry Pi Model ", SLOWEST),
    ("Raspberry Pi Compute Module Rev", SLOWEST),
];

/// Clocks in MHz of the slowest model, the first Raspberry Pi.
const SLOWEST: [u32; 5] = [700, 250, 250, 250, 400];

fn stock_of(clocks: [u32; 5], key: &str) -> Option<u32> {
    let [arm, core, blocks, v3d, sdram] = clocks;
    match key {
        "arm_freq" => Some(arm),
        "core_freq" => Some(core),
        "h264_freq" | "isp_freq" | "hevc_freq" => Some(blocks),
        // gpu_freq sets all clocks of the graphics processor.
        "gpu_freq" => Some(core.min(blocks).min(v3d)),
        "v3d_freq" => Some(v3d),
        "sdram_freq" => Some(sdram),
        _ => None,
    }
}

/// Returns the largest clock that is certainly no more than the stock one of an unknown board.
fn least_stock(found: &Found, key: &str) -> Option<u32> {
    // Only later models have 64-bit processors, from the Raspberry Pi 2 revision 1.2 on.
    let is_64_bit = |line: &Line| matches!((line.key(), line.value()), ("arm_64bit", "1") | ("arm_control", "0x200"));
    let clock = stock_of(SLOWEST, key)?;
    Some(if key == "arm_freq" && found.lines.iter().any(is_64_bit) { 900 } else { clock })
}

fn stock(found: &Found, key: &str) -> Option<u32> {
    let model = found.model.as_deref()?;
    let (_, clocks) = STOCK.iter().find(|(name, ..)| model.contains(name))?;
    let clock = stock_of(*clocks, key)?;
    // Boards of revision 1.4 and later.
    let is_boosted =
        clock == 1500 && found.lines.iter().any(|line| line.text == "arm_boost=1" && line.unless.is_empty());
    Some(if is_boosted { 1800 } else { clock })
}

/// Returns the gap for what depends on the model, which is unknown.
fn on_board(what: &str) -> Gap {
    Gap::new(format!("the board model that decides {what}"), Cause::NotGiven)
}

/// Returns the gap for a clock that is neither set nor known from the model.
fn of_board(found: &Found, clock: &str) -> Gap {
    match found.model {
        None => on_board(clock),
        Some(_) => Gap::new(format!("{clock} of this board"), Cause::NotGiven),
    }
}

fn clocks(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match read(sight, notes) {
        Ok(found) => {
            // The minimum clock may also be set above the highest stock one.
            let is_stock = |line: &Line| {
                let (key, is_min) = line.key().strip_suffix("_min").map_or((line.key(), false), |key| (key, true));
                let most = stock(&found, key).or_else(|| least_stock(&found, key).filter(|_| !is_min));
                line.value().parse::<u32>().is_ok_and(|mhz| most.map_or(is_min, |most| mhz <= most))
            };
            // This is the clock of the fastest models.
            let may_be_stock = |line: &Line| {
                let most = STOCK.iter().filter_map(|(_, clocks)| stock_of(*clocks, line.key())).max();
                line.value().parse::<u32>().is_ok_and(|mhz| most.is_some_and(|most| mhz <= most))
            };
            let set = found.lines.iter().filter(|line| is_clock(line) && (is_overvoltage(line) || !is_stock(line)));
            let (open, set): (Vec<Line>, Vec<Line>) =
                set.cloned().partition(|line| found.model.is_none() && line.unless.is_empty() && may_be_stock(line));
            let mut reading = listed(set, found.missing.clone());
            if let Reading::Many(many) = &mut reading {
                let above = || on_board("the stock clock");
                open.into_iter().for_each(|line| many.push_open(line.text, above()));
            }
            reading
        }
        Err(gap) => Reading::Many(Many::unknown(gap)),
    }
}

fn changed(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match read(sight, notes) {
        Ok(found) => {
            let usual = stock(&found, "arm_freq");
            let is_other =
                |line: &Line| line.key() == "arm_freq" && (usual.is_none() || line.value().parse().ok() != usual);
            listed(found.lines.into_iter().filter(is_other), found.missing)
        }
        Err(gap) => Reading::Many(Many::unknown(gap)),
    }
}

/// Recognises a force_turbo that has no effect. Names are case-sensitive, and blanks around `=` are not ignored
/// (Ubuntu's documentation of boards); the documented values are 0 and 1.
fn is_misspelt_turbo(line: &Line) -> bool {
    if line.key() == "force_turbo" {
        return !matches!(line.value(), "0" | "1");
    }
    let letters: String = line.key().chars().filter(char::is_ascii_alphabetic).collect();
    crate::cmdline::names::distance(&letters, "forceturbo") <= 1
}

fn word(sight: &Sight, notes: &mut Notes, of: fn(&Found) -> Result<&'static str, Gap>) -> Reading {
    read(sight, notes).and_then(|found| of(&found)).map_or_else(Reading::gap, Reading::word)
}

/// Returns the value of a setting; `None` if it is not set.
///
/// # Errors
/// If it is unknown whether the setting's line applies.
fn value<'f>(found: &'f Found, key: &str) -> Result<Option<&'f str>, Gap> {
    if let Some(gap) = &found.missing {
        return Err(gap.clone());
    }
    match found.lines.iter().find(|line| line.key() == key) {
        Some(Line { unless, .. }) if !unless.is_empty() => {
            Err(Gap::new(format!("whether {unless} holds"), Cause::NotGiven))
        }
        line => Ok(line.map(Line::value)),
    }
}

fn mhz(found: &Found, key: &str) -> Result<Option<u32>, Gap> {
    Ok(value(found, key)?.and_then(|value| value.parse().ok()))
}

fn constant(found: &Found) -> Result<&'static str, Gap> {
    match (mhz(found, "arm_freq_min")?, mhz(found, "arm_freq")?.or_else(|| stock(found, "arm_freq"))) {
        (Some(least), Some(most)) => Ok(if least >= most { "yes" } else { "no" }),
        // Only the first Raspberry Pi's minimum clock is its maximum by default, 700 MHz (overclocking.adoc).
        (None, Some(most)) if most <= 700 && stock(found, "arm_freq") == Some(700) => Ok("yes"),
        (None, _) if found.model.is_none() && may_be_first(found)? => Err(on_board("the range of the CPU's clock")),
        (None, _) => Ok("no"),
        (Some(_), None) => Err(of_board(found, "the maximum clock")),
    }
}

/// Returns true if the lines suit the first Raspberry Pi with a clock of at most 700 MHz.
fn may_be_first(found: &Found) -> Result<bool, Gap> {
    Ok(least_stock(found, "arm_freq") == Some(700) && mhz(found, "arm_freq")?.is_none_or(|most| most <= 700))
}

/// Models whose primary UART is the mini UART: raspberrypi/documentation, configuration/uart.adoc.
const MINI_UART: &[&str] = &["Raspberry Pi 3", "Raspberry Pi 4", "Raspberry Pi Zero W", "Raspberry Pi Zero 2 W"];
/// Overlays that make the other UART the primary one.
const OTHER_UART: &[&str] = &["disable-bt", "miniuart-bt", "pi3-disable-bt", "pi3-miniuart-bt"];

/// Determines what sets the core clock. The mini UART as the primary UART fixes the core clock at 250 MHz (uart.adoc).
/// Otherwise the clock is constant if its limits are equal (overclocking.adoc, whose table lists the default limits).
fn core(found: &Found) -> Result<&'static str, Gap> {
    if value(found, "force_turbo")? == Some("1") {
        return Ok("turbo");
    }
    let is_moved = |line: &Line| {
        let name = line.value().split(',').next().unwrap_or_default();
        line.key() == "dtoverlay" && OTHER_UART.contains(&name)
    };
    let set = |key, all| -> Result<Option<u32>, Gap> { Ok(mhz(found, key)?.or(mhz(found, all)?)) };
    let (least, most) = (set("core_freq_min", "gpu_freq_min")?, set("core_freq", "gpu_freq")?);
    // If both limits are equal, the clock is constant, whatever the UART needs.
    if least.zip(most).is_some_and(|(least, most)| least >= most) {
        return Ok("limits");
    }
    if value(found, "enable_uart")? == Some("1") {
        let moved = found.lines.iter().find(|line| is_moved(line));
        let is_mini = |model: &String| MINI_UART.iter().any(|name| model.contains(name));
        match (moved.map(|line| line.unless.as_str()), &found.model) {
            (Some(""), _) => {}
            (Some(unless), _) => return Err(Gap::new(format!("whether {unless} holds"), Cause::NotGiven)),
            (None, None) => return Err(on_board("the primary UART")),
            // Known by its processor only: it may be a Compute Module 4.
            (None, Some(model)) if model == Given::PI_4 => return Err(on_board("the primary UART")),
            (None, Some(model)) if is_mini(model) => return Ok("uart"),
            (None, Some(_)) => {}
        }
    }
    let stock_least = stock(found, "core_freq").map(|most| match most {
        910 => 500,
        500 => 200,
        _ => 250,
    });
    let (least, most) = (least.or(stock_least), most.or_else(|| stock(found, "core_freq")));
    match least.zip(most) {
        Some((least, most)) => Ok(if least >= most { "limits" } else { "no" }),
        None => Err(of_board(found, "the core clock")),
    }
}

/// Returns true for settings of clocks and voltages, from raspberrypi/documentation, config_txt/overclocking.adoc.
fn is_clock(line: &Line) -> bool {
    const CLOCKS: &[&str] =
        &["arm_freq", "gpu_freq", "core_freq", "h264_freq", "isp_freq", "v3d_freq", "hevc_freq", "sdram_freq"];
    CLOCKS.contains(&line.key().strip_suffix("_min").unwrap_or(line.key())) || is_overvoltage(line) || is_card(line)
}

/// Returns true if the line sets a clock above 50 MHz for the SD card (boot/overlays/README of raspberrypi/firmware).
fn is_card(line: &Line) -> bool {
    let parameters = match line.key() {
        "dtparam" => line.value(),
        "dtoverlay" => {
            line.value().strip_prefix("sdtweak,").or(line.value().strip_prefix("sdhost,")).unwrap_or_default()
        }
        _ => return false,
    };
    let clock = |parameter: &str| {
        let (name, mhz) = parameter.split_once('=')?;
        matches!(name, "overclock_50" | "sd_overclock").then(|| mhz.parse::<u32>().ok())?
    };
    parameters.split(',').filter_map(clock).any(|mhz| mhz > 50)
}

fn is_overvoltage(line: &Line) -> bool {
    VOLTAGES.contains(&line.key()) && line.value().parse::<i64>().is_ok_and(|steps| steps > 0)
}

/// Settings that raise a voltage: raspberrypi/documentation, config_txt/overclocking.adoc, and `vcgencmd get_config int`.
const VOLTAGES: &[&str] = &[
    "over_voltage",
    "over_voltage_avs",
    "over_voltage_avs_boost",
    "over_voltage_delta",
    "over_voltage_sdram",
    "over_voltage_sdram_c",
    "over_voltage_sdram_i",
    "over_voltage_sdram_p",
];

fn is_misspelt_voltage(line: &Line) -> bool {
    let key = line.key();
    key.replace('-', "_").contains("over_voltage") && !VOLTAGES.contains(&key) && key != "over_voltage_min"
}

/// Parameters without a value. Other words without `=` belong to a comment whose line was broken.
const BARE: &[&str] = &["nosmt", "nosoftlockup", "nowatchdog", "rcu_nocb_poll", "rootwait", "threadirqs"];

fn is_kernel_word(line: &Line) -> bool {
    const WORDS: &[&str] = &[
        "cgroup_enable",
        "console",
        "consoleblank",
        "fsck.repair",
        "loglevel",
        "panic",
        "root",
        "rootfstype",
        "video",
    ];
    if !line.text.contains('=') {
        return BARE.contains(&line.text.as_str());
    }
    WORDS.contains(&line.key()) || line.key().starts_with("dwc_otg.") || is_tuning(line.key())
}

/// Returns true for a switch of the device tree whose state is a part of its name: `audio_on` for `audio=on`
/// (boot/overlays/README of raspberrypi/firmware).
fn is_misspelt_switch(line: &Line) -> bool {
    const SWITCHES: &[&str] =
        &["audio", "i2c", "i2c0", "i2c1", "i2c_arm", "i2c_vc", "i2s", "random", "spi", "watchdog"];
    let name = ["_on", "_off"].iter().find_map(|end| line.value().strip_suffix(end));
    line.key() == "dtparam" && name.is_some_and(|name| SWITCHES.contains(&name))
}

/// Returns true for a setting with a comment after its value. Comments are documented only at the start of a line
/// (Ubuntu's documentation of boards).
fn has_remark(line: &Line) -> bool {
    line.value().contains([' ', '\t']) && line.value().contains('#')
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
