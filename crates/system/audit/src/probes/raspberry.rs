use super::{Probe, With};
use crate::reading::{Cause, Gap, Reading, Value};
use crate::sight::{Notes, Sight};

const CMDLINES: &[&str] = &["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
/// Files of the downstream kernel's firmware driver (drivers/firmware/raspberrypi.c), below the device tree's `soc`,
/// whose name contains its address on the Pi 5 (bcm2712).
const THROTTLED: &[&str] = &[
    "/sys/devices/platform/soc/soc:firmware/get_throttled",
    "/sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled",
];

pub(super) const PROBES: &[Probe] = &[
    Probe { name: "pi-cmdline-lines", with: &[], reads: &[CMDLINES], run: cmdline_lines },
    // `no`, `now` or `lately`.
    Probe { name: "pi-throttled", with: &[], reads: &[THROTTLED], run: throttled },
];

pub(super) fn first(sight: &Sight, paths: &[&'static str]) -> Result<(&'static str, String), Gap> {
    for path in paths {
        match sight.text(path, &mut Notes::default()) {
            Ok(text) => return Ok((path, text)),
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(gap) => return Err(gap),
        }
    }
    Err(Gap::new(paths.first().copied().unwrap_or_default(), Cause::Missing))
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

/// Reads whether the firmware throttles. The driver shows the firmware's last answer. raspberrypi_hwmon polls every 2
/// s, and each poll makes the firmware clear bits 16 to 19, so these cover the time since the previous poll, not since
/// boot.
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
