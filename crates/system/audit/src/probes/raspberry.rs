use super::{Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};

const MODEL: &str = "/proc/device-tree/model";
/// The firmware reads the first since Raspberry Pi OS 12 and on Ubuntu, the second before.
const CONFIGS: &[&str] = &["/boot/firmware/config.txt", "/boot/config.txt"];
const CMDLINES: &[&str] = &["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
/// From the downstream kernel's firmware driver (drivers/firmware/raspberrypi.c), below the device tree's `soc`, which
/// on the Pi 5 (bcm2712) has its address in its name.
const THROTTLED: &[&str] = &[
    "/sys/devices/platform/soc/soc:firmware/get_throttled",
    "/sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled",
];

pub(super) const PROBES: &[Probe] = &[
    // The lines of config.txt that apply to this board.
    Probe { name: "pi-config", with: &[], reads: &[CONFIGS, &[MODEL]], run: config },
    // Kernels that config.txt names and that do not exist.
    Probe {
        name: "pi-kernel-missing",
        with: &[],
        reads: &[CONFIGS, &[MODEL, "/boot/firmware", "/boot"]],
        run: missing,
    },
    Probe { name: "pi-cmdline-lines", with: &[], reads: &[CMDLINES], run: cmdline_lines },
    // `no`, `now` or `lately`.
    Probe { name: "pi-throttled", with: &[], reads: &[THROTTLED], run: throttled },
];

fn first(sight: &Sight, paths: &[&'static str]) -> Result<(&'static str, String), Gap> {
    for path in paths {
        match sight.text(path, &mut Notes::default()) {
            Ok(text) => return Ok((path, text)),
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(gap) => return Err(gap),
        }
    }
    Err(Gap::new(paths.first().copied().unwrap_or_default(), Cause::Missing))
}

/// Does a filter match a board? `None` for filters on something else than the model.
fn holds(filter: &str, model: &str) -> Option<bool> {
    let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
    match filter {
        "all" => Some(true),
        "none" => Some(false),
        "pi5" => Some(is(&["Raspberry Pi 5", "Compute Module 5"])),
        "pi4" => Some(is(&["Raspberry Pi 4", "Compute Module 4"])),
        "pi3" => Some(is(&["Raspberry Pi 3", "Compute Module 3", "Zero 2"])),
        "pi2" => Some(is(&["Raspberry Pi 2"])),
        "pi1" => Some(is(&["Raspberry Pi Model", "Raspberry Pi Compute Module Rev"])),
        "pi0" | "pi0w" => Some(is(&["Zero"])),
        "pi02" => Some(is(&["Zero 2"])),
        "pi3+" => Some(is(&["Raspberry Pi 3 Model A Plus", "Raspberry Pi 3 Model B Plus"])),
        "pi400" => Some(is(&["Raspberry Pi 400"])),
        "pi500" => Some(is(&["Raspberry Pi 500"])),
        "cm1" => Some(is(&["Raspberry Pi Compute Module Rev"])),
        "cm3" | "cm3+" => Some(is(&["Compute Module 3"])),
        "cm4" | "cm4s" => Some(is(&["Compute Module 4"])),
        "cm5" => Some(is(&["Compute Module 5"])),
        _ => None,
    }
}

/// False if only config.txt is given: see [`punctual_machine::Given`].
fn is_known(model: &str) -> bool {
    model != punctual_machine::Given::SOME_PI
}

fn asks_model(filter: &str) -> bool {
    !matches!(filter, "all" | "none") && holds(filter, "").is_some()
}

#[derive(Default)]
struct Lines {
    hold: Vec<String>,
    /// Those that apply to some models, where the model is unknown.
    may: Vec<String>,
}

/// Filters of one kind replace each other. One that cannot be evaluated counts as not met: it asks for a display, a pin
/// or a serial number.
fn lines(text: &str, model: &str) -> Lines {
    let (mut is_on, mut is_open) = (true, false);
    let mut found = Lines::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(filter) => {
                is_open = !is_known(model) && asks_model(filter);
                is_on = holds(filter, model).unwrap_or(false);
            }
            None if is_open => found.may.push(line.chars().take(100).collect()),
            None if is_on => found.hold.push(line.chars().take(100).collect()),
            None => {}
        }
    }
    found
}

fn read(sight: &Sight, notes: &mut Notes) -> Result<Lines, Gap> {
    let found = first(sight, CONFIGS).and_then(|(path, text)| {
        let model = sight.text(MODEL, &mut Notes::default()).map_err(Gap::expected)?;
        Ok((path, lines(&text, &model)))
    });
    match found {
        Ok((path, lines)) => {
            notes.add(path, lines.hold.join("; "));
            Ok(lines)
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            Err(gap)
        }
    }
}

/// For lines that may apply, the label has the text and the value the reason why it is unknown whether they do.
fn listed(found: Result<Lines, Gap>) -> Reading {
    let mut many = Many::default();
    match found {
        Ok(Lines { hold, may }) => {
            hold.into_iter().for_each(|text| many.push("", Ok(Value::Text(text))));
            may.into_iter().for_each(|text| many.push(text, Err(Gap::new(MODEL, Cause::NotGiven))));
        }
        Err(gap) => many.missing = Some(gap),
    }
    Reading::Many(many)
}

fn config(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    listed(read(sight, notes))
}

fn missing(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = read(sight, notes).and_then(|Lines { hold, may }| {
        let (path, _) = first(sight, CONFIGS)?;
        let folder = crate::glob::folder_of(path);
        let there = sight.names(&folder)?;
        let gone = |lines: Vec<String>| {
            let named = lines.iter().filter_map(|line| line.strip_prefix("kernel="));
            let is_gone = |name: &&str| !name.contains('/') && !there.iter().any(|file| file == name);
            named.filter(is_gone).map(|name| format!("{folder}/{name}")).collect()
        };
        Ok(Lines { hold: gone(hold), may: gone(may) })
    });
    listed(found)
}

fn cmdline_lines(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match first(sight, CMDLINES) {
        Ok((path, text)) => {
            let count = text.lines().filter(|line| !line.trim().is_empty()).count();
            notes.add(path, format!("{count} lines"));
            Reading::One(Ok(Value::Number(i64::try_from(count).unwrap_or(i64::MAX))))
        }
        Err(Gap { source, cause: Cause::Missing }) => Reading::gap(Gap::new(source, Cause::Absent)),
        Err(gap) => Reading::gap(gap),
    }
}

/// The driver shows the firmware's last answer. raspberrypi_hwmon polls every 2 s and each time makes the firmware
/// clear bits 16 to 19, so these cover the time since the previous poll, not since boot.
fn throttled(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let (path, text) = match first(sight, THROTTLED) {
        Ok(found) => found,
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::gap(gap);
        }
    };
    notes.add(path, &text);
    match u32::from_str_radix(text.trim_start_matches("0x"), 16) {
        Ok(bits) if bits & 0xf != 0 => Reading::word("now"),
        Ok(bits) if bits & 0xf_0000 != 0 => Reading::word("lately"),
        Ok(_) => Reading::word("no"),
        Err(_) => Reading::gap(Gap::new(path, Cause::Garbled("hexadecimal number"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_hold_for_their_board() {
        let text = "a=1\n[pi4]\nb=1\n[pi5]\nc=1\n[all]\nd=1\n[gpio4=1]\ne=1\n";
        assert_eq!(lines(text, "Raspberry Pi 4 Model B Rev 1.4").hold, ["a=1", "b=1", "d=1"]);
        assert_eq!(lines(text, "Raspberry Pi 5 Model B Rev 1.0").hold, ["a=1", "c=1", "d=1"]);
        let unknown = lines(text, punctual_machine::Given::SOME_PI);
        assert_eq!((unknown.hold, unknown.may), (vec!["a=1".into(), "d=1".into()], vec!["b=1".into(), "c=1".into()]));
    }
}
