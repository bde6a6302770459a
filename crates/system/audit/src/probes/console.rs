//! Consoles that print slowly, and how much is printed to them.

use super::{CONFIG_READS, Probe, With};
use crate::cmdline::values;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::parameters;

const CONSOLES: &str = "/proc/consoles";
const CMDLINE: &str = "/proc/cmdline";
const PRINTK: &str = "/proc/sys/kernel/printk";
/// File of the parameter ignore_loglevel: kernel/printk/printk.c, module_param(ignore_loglevel).
const IGNORED: &str = "/sys/module/printk/parameters/ignore_loglevel";
const ARCH: &str = "/proc/sys/kernel/arch";

pub(super) const PROBES: &[Probe] = &[
    // All consoles except virtual terminals, those without output, and those without a driver in the kernel's
    // configuration. They may be UARTs of any driver, or consoles of hypervisors (hvc).
    Probe { name: "serial-consoles", with: &[], reads: &[&[CONSOLES, CMDLINE, ARCH], CONFIG_READS], run: serial },
    // Consoles of the command line without a driver in the kernel's configuration.
    Probe { name: "consoles-without-driver", with: &[], reads: &[&[CMDLINE], CONFIG_READS], run: without_driver },
    // Consoles of the command line that 8250.nr_uarts=0 leaves without a port.
    Probe { name: "consoles-without-port", with: &[], reads: &[&[CMDLINE], CONFIG_READS], run: without_port },
    // Messages below this level are printed.
    Probe { name: "console-level", with: &[], reads: &[&[PRINTK, CMDLINE, IGNORED], CONFIG_READS], run: level },
    // `yes` if messages of every level are printed, else `no`.
    Probe { name: "level-ignored", with: &[], reads: &[&[CMDLINE, IGNORED]], run: is_ignored },
];

/// Returns false for consoles that are not serial: tty, tty0, tty1 are virtual terminals
/// (Documentation/admin-guide/serial-console.rst); an empty name, `null` and ttynull have no output; netcon sends
/// packets.
fn is_serial(name: &str) -> bool {
    let is_virtual = name.strip_prefix("tty").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    !is_virtual && !matches!(name, "" | "null" | "ttynull") && !name.starts_with("netcon")
}

/// Names of consoles, each with the configuration options of the drivers that provide it, from drivers/tty/serial and
/// vendors' kernels.
const DRIVERS: &[(&str, &[&str])] = &[
    ("ttyAMA", &["SERIAL_AMBA_PL011_CONSOLE"]),
    ("ttyAML", &["SERIAL_MESON_CONSOLE", "AMLOGIC_SERIAL_MESON_CONSOLE"]),
    ("ttyLP", &["SERIAL_FSL_LPUART_CONSOLE"]),
    (
        "ttyMSM",
        &["SERIAL_MSM_CONSOLE", "SERIAL_QCOM_GENI_CONSOLE", "SERIAL_MSM_GENI_CONSOLE", "SERIAL_MSM_HSL_CONSOLE"],
    ),
    ("ttyPS", &["SERIAL_XILINX_PS_UART_CONSOLE"]),
    (
        "ttyS",
        &[
            "SERIAL_8250_CONSOLE",
            "SERIAL_ATMEL_CONSOLE",
            "SERIAL_PXA_CONSOLE",
            "SERIAL_RK29_CONSOLE",
            "SERIAL_SUNXI_CONSOLE",
            "AMLOGIC_SERIAL_MESON_CONSOLE",
        ],
    ),
    ("ttySTM", &["SERIAL_STM32_CONSOLE"]),
    ("ttymxc", &["SERIAL_IMX_CONSOLE"]),
];
/// Architectures for which [`DRIVERS`] lists all drivers. On other architectures, further drivers provide consoles with
/// these names.
const ARCHITECTURES: &[&str] = &["X86", "ARM", "ARM64"];

/// Returns true if the configuration has none of the drivers of this console.
fn lacks_driver(sight: &Sight, name: &str) -> bool {
    let is = |option: &str, wanted: &str| {
        let value = sight.option(option, &mut Notes::default());
        value.is_ok_and(|value| value.text() == wanted)
    };
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let drivers = DRIVERS.iter().find(|(of, _)| *of == kind && kind.len() < name.len());
    let is_known = || ARCHITECTURES.iter().any(|arch| is(arch, "y"));
    drivers.is_some_and(|(_, options)| is_known() && options.iter().all(|option| is(option, "n")))
}

fn named(words: &[String]) -> impl Iterator<Item = &str> {
    let asked = words.iter().filter_map(|word| word.strip_prefix("console="));
    asked.map(|value| value.split(',').next().unwrap_or_default())
}

/// Returns true if the console belongs to the 8250 driver and this driver has no ports: without ports it has no console
/// (univ8250_console_init of drivers/tty/serial/8250/8250_core.c).
fn lacks_port(sight: &Sight, words: &[String], name: &str) -> bool {
    let count = words
        .iter()
        .rev()
        .find_map(|word| ["8250.nr_uarts=", "8250_core.nr_uarts="].iter().find_map(|start| word.strip_prefix(start)));
    let is_none = count.and_then(values::number) == Some(0);
    let is_8250 = name.strip_prefix("ttyS").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
    let is_on = |option: &str| sight.option(option, &mut Notes::default()).is_ok_and(|value| value.text() == "y");
    let drivers = DRIVERS.iter().filter(|(of, _)| *of == "ttyS").flat_map(|(_, options)| *options);
    let mut others = drivers.filter(|option| **option != "SERIAL_8250_CONSOLE");
    is_none && is_8250 && !others.any(|option| is_on(option))
}

fn without_port(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let words = match sight.cmdline() {
        Ok(line) => parameters(&line),
        Err(gap) => return Reading::Many(Many::unknown(gap)),
    };
    let mut many = Many::default();
    for name in named(&words).filter(|name| lacks_port(sight, &words, name)) {
        many.push("", Ok(Value::Text(name.to_owned())));
    }
    Reading::Many(many)
}

fn without_driver(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let mut many = Many::default();
    match sight.cmdline() {
        Ok(line) => {
            for name in named(&parameters(&line)).filter(|name| lacks_driver(sight, name)) {
                many.push("", Ok(Value::Text(name.to_owned())));
            }
        }
        Err(gap) => many.missing = Some(gap),
    }
    Reading::Many(many)
}

fn serial(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    let mut add = |name: &str| {
        if is_serial(name) {
            many.push("", Ok(Value::Text(name.to_owned())));
        }
    };
    let consoles = sight.text(CONSOLES, &mut Notes::default()).ok();
    // A list without any console proves nothing.
    if let Some(text) = consoles.filter(|text| !text.is_empty()) {
        // `ttyS0                -W- (EC p a)    4:64` (Documentation/filesystems/proc.rst).
        text.lines().filter_map(|line| line.split_whitespace().next()).for_each(&mut add);
        notes.add(CONSOLES, &text);
        return Reading::Many(many);
    }
    match sight.cmdline() {
        Ok(line) => {
            let words = parameters(&line);
            let asked: Vec<&str> = words.iter().filter_map(|word| word.strip_prefix("console=")).collect();
            named(&words)
                .filter(|name| !lacks_driver(sight, name) && !lacks_port(sight, &words, name))
                .for_each(&mut add);
            let asked = if asked.is_empty() { "no console=".to_owned() } else { asked.join(" ") };
            many.missing = sight.variable("console");
            if asked == "no console=" && many.missing.is_none() {
                many.missing = unnamed(sight);
            }
            notes.add(format!("{CMDLINE} console"), asked);
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            many.missing = Some(gap);
        }
    }
    Reading::Many(many)
}

/// Returns the gap if the console is unknown: if no console is named, a device tree's stdout-path or ACPI's SPCR
/// chooses one, except on x86.
fn unnamed(sight: &Sight) -> Option<Gap> {
    match sight.text(ARCH, &mut Notes::default()) {
        Ok(arch) if arch == "x86_64" || arch.ends_with("86") => None,
        Ok(_) => sight.text(CONSOLES, &mut Notes::default()).err().map(Gap::expected),
        Err(gap) => Some(gap.expected()),
    }
}

fn level(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let printk = sight.text(PRINTK, notes).map_err(Gap::expected);
    let line = sight.cmdline();
    let words = line.as_ref().map(|line| parameters(line)).unwrap_or_default();
    let number = |level| Reading::One(Ok(Value::Number(level)));
    // suppress_message_printing() of kernel/printk/printk.c.
    if ignored(sight).unwrap_or(false) {
        return number(8);
    }
    let gap = match printk {
        Ok(text) => {
            let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
            return first.map_or_else(|| Reading::gap(Gap::new(PRINTK, Cause::Garbled("number"))), number);
        }
        Err(gap) => gap,
    };
    if !gap.is_not_given() || line.is_err() {
        return Reading::gap(gap);
    }
    if let Some(gap) = sight.variable("loglevel") {
        return Reading::gap(gap);
    }
    let built = |option: &str| sight.option(option, &mut Notes::default()).ok().and_then(|value| value.number());
    match words.iter().rev().find_map(|word| asked_level(word, &built)).or_else(|| built("CONSOLE_LOGLEVEL_DEFAULT")) {
        Some(level) => {
            notes.add(format!("{CMDLINE}: level"), level.to_string());
            number(level)
        }
        None => Reading::gap(gap),
    }
}

/// Returns the log level that a word requests (init/main.c): `quiet` requests CONSOLE_LOGLEVEL_QUIET, which is 4 unless
/// the kernel is configured otherwise (an option since Linux 5.0), and `debug` requests 10.
fn asked_level(word: &str, built: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    match word {
        "quiet" => Some(built("CONSOLE_LOGLEVEL_QUIET").unwrap_or(4)),
        "debug" => Some(10),
        _ => values::number(word.strip_prefix("loglevel=")?),
    }
}

/// Returns whether ignore_loglevel is on: from the parameter's file if the machine has it, else from the command line.
fn ignored(sight: &Sight) -> Result<bool, Gap> {
    match sight.text(IGNORED, &mut Notes::default()) {
        Ok(value) => Ok(value == "Y"),
        Err(_) => sight.cmdline().map(|line| parameters(&line).iter().any(|word| word == "ignore_loglevel")),
    }
}

fn is_ignored(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match ignored(sight) {
        Ok(is) => {
            notes.add(format!("{CMDLINE}: ignore_loglevel"), if is { "given" } else { "not given" });
            Reading::word(if is { "yes" } else { "no" })
        }
        Err(gap) => Reading::gap(gap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_consoles_of_any_driver_are_told_from_terminals() {
        for name in [
            "ttyS0", "ttyAMA0", "ttymxc0", "ttyPS0", "ttySC0", "ttyTCU0", "ttyO0", "ttyLP0", "ttyMSM0", "ttySTM0",
            "ttySIF0", "ttyGS0", "ttyUSB0", "hvc0", "serial0", "serial1", "uart8250", "uart", "ttyUL0", "ttyAML0",
        ] {
            assert!(is_serial(name), "{name}");
        }
        for name in ["tty", "tty0", "tty1", "ttynull", "null", "", "netcon0"] {
            assert!(!is_serial(name), "{name}");
        }
    }
}
