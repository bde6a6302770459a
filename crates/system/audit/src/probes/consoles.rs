//! Consoles and the contexts that print to them (fs/proc/consoles.c, kernel/printk/nbcon.c).

use super::{Probe, With};
use crate::reading::{Many, Reading, Value};
use crate::sight::{Notes, Sight};

const CONSOLES: &str = "/proc/consoles";

pub(super) const PROBES: &[Probe] = &[
    // Consoles, other than screens, whose driver has no thread: no `N` among the flags in parentheses.
    Probe { name: "legacy-consoles", with: &[], reads: &[&[CONSOLES]], run: legacy },
];

/// Returns true for a virtual terminal of the screen: `tty0`, `tty1`.
fn is_screen(name: &str) -> bool {
    name.strip_prefix("tty").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

fn legacy(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let text = match sight.text(CONSOLES, notes) {
        Ok(text) => text,
        Err(gap) => return Reading::Many(Many::unknown(gap.expected())),
    };
    let mut many = Many::default();
    for line in text.lines() {
        let flags = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(flags, _)| flags);
        let name = line.split_whitespace().next().unwrap_or_default();
        if !name.is_empty() && !is_screen(name) && !flags.contains('N') {
            many.push("", Ok(Value::Text(name.to_owned())));
        }
    }
    Reading::Many(many)
}
