//! Interprets reports of the watchdog of clocks (kernel/time/clocksource.c).

use super::{number_after, text};

/// Describes how far both clocks advanced between two checks, from `'hpet' wd_nsec: 0 …` and
/// `'tsc' cs_nsec: 471766594285 …`.
pub(super) fn clocks(shown: &str, lines: &[&str]) -> String {
    const NEAR: usize = 8;
    /// WATCHDOG_INTERVAL of kernel/time/clocksource.c.
    const INTERVAL: f64 = 0.5;
    let near = || std::iter::once(shown).chain(lines.iter().copied().take(NEAR));
    let advance = |key: &str| {
        let line = near().find(|line| number_after(line, key).is_some())?;
        let name = line.split('\'').nth(1).filter(|_| line.matches('\'').count() >= 2);
        Some((name, number_after(line, key)? / 1e9))
    };
    let next = lines.iter().find_map(|line| line.split_once("Switched to clocksource "));
    let next = next.map(|(_, name)| format!("; the kernel switched to {}", text(name.trim().as_bytes(), 20)));
    let next = next.unwrap_or_default();
    let Some(((other, wd), (own, cs))) = advance("wd_nsec: ").zip(advance("cs_nsec: ")) else {
        let near: Vec<&str> = near().collect();
        return match ticks(&near, "wd").zip(ticks(&near, "cs")) {
            Some((wd, cs)) => match failed(&near) {
                Some(failed) => format!("; {failed}; between two checks {cs}, and {wd}{next}"),
                None => {
                    format!("; between two checks {cs}, and {wd}; they do not show which of the two is wrong{next}")
                }
            },
            None => format!("; how far the clocks advanced is unknown{next}"),
        };
    };
    let near: Vec<&str> = near().collect();
    let failed = failed(&near).map(|failed| format!("{failed}; ")).unwrap_or_default();
    let (own, other) = (own.unwrap_or("the clock"), other.unwrap_or("the watchdog"));
    let (own, other) = (text(own.as_bytes(), 20), text(other.as_bytes(), 20));
    let late = cs - INTERVAL;
    let apart = (cs - wd).abs();
    let skew = || {
        let (more, less) = if cs > wd { (&own, &other) } else { (&other, &own) };
        let share = apart / cs.min(wd) * 100.0;
        format!(
            ": {more} counted {:.3} ms more than {less} ({share:.2} %); which of the two is wrong is not in them",
            apart * 1e3
        )
    };
    let what = match () {
        () if !failed.is_empty() => String::new(),
        // Both clocks were read late.
        () if late >= INTERVAL && apart < cs / 20.0 => format!(": the check came {late:.3} s late"),
        () if late >= INTERVAL => format!(
            ": either the check came {late:.3} s late and {other} wrapped or was not read, or one of the clocks is wrong"
        ),
        () if apart > 0.0 && cs > 0.0 && wd > 0.0 => skew(),
        () => String::new(),
    };
    format!("; {failed}between two checks {own} advanced {cs:.3} s and {other} {wd:.3} s{what}{next}")
}

/// Returns the clock of which a reading consists of ones only, as failed reads of a device do.
fn failed(lines: &[&str]) -> Option<String> {
    /// Minimum number of digits of a counter that is not ones by chance.
    const DIGITS: usize = 6;
    let hex = |line: &str, key: &str| line.split_once(key)?.1.split_whitespace().next().map(str::to_owned);
    lines.iter().find_map(|line| {
        let name = line.split('\'').nth(1)?;
        let mask = hex(line, "mask: ")?;
        let keys = ["_now: ", "_last: "];
        let ones = keys.iter().filter_map(|key| hex(line, key)).find(|value| *value == mask && value.len() >= DIGITS)?;
        let name = text(name.as_bytes(), 20);
        Some(format!(
            "a reading of {name} is {ones}, all ones, which is most likely a failed read of {name} and not the time: then the other clock need not be wrong"
        ))
    })
}

/// Returns how far a clock advanced, in its own ticks, from `'acpi_pm' wd_now: f4b7d wd_last: 6c50c5 mask: ffffff`.
fn ticks(lines: &[&str], key: &str) -> Option<String> {
    /// Frequency of the ACPI timer, Hz, which is the same on all machines.
    const ACPI_PM: f64 = 3_579_545.0;
    let hex = |key: &str| {
        let rest = lines.iter().find_map(|line| Some(line.split_once(key)?.1))?;
        u64::from_str_radix(rest.split_whitespace().next()?, 16).ok()
    };
    let line = lines.iter().find(|line| line.contains(&format!("{key}_now: ")))?;
    let name = line.split('\'').nth(1)?;
    let mask = u64::from_str_radix(line.split_once("mask: ")?.1.split_whitespace().next()?, 16).ok()?;
    let ticks = hex(&format!("{key}_now: "))?.wrapping_sub(hex(&format!("{key}_last: "))?) & mask;
    let between = |fast: f64, slow: f64, rates: &str| match ticks as f64 / slow {
        longest if longest < 0.001 => String::new(),
        longest => format!(" ({:.3} to {longest:.3} s at {rates})", ticks as f64 / fast),
    };
    let seconds = match name {
        "acpi_pm" => format!(
            " ({:.3} s, or that plus a multiple of {:.3} s)",
            ticks as f64 / ACPI_PM,
            (mask as f64 + 1.0) / ACPI_PM
        ),
        "tsc" => between(6e9, 1e9, "1 to 6 GHz"),
        // At least 10 MHz (IA-PC HPET specification 1.0a); 14.318 to 25 MHz on real machines, 100 MHz in QEMU
        // (HPET_CLK_PERIOD).
        "hpet" => between(100e6, 10e6, "10 to 100 MHz"),
        _ => String::new(),
    };
    Some(format!("{} advanced {ticks} ticks{seconds}", text(name.as_bytes(), 20)))
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    #[test]
    fn a_reading_of_ones_is_not_a_time() {
        let text = "timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable because the skew is too large:\n'hpet' wd_now: ffffffff \
                    wd_last: 19ec5720 mask: ffffffff\n'tsc' cs_now: 69b8a15f0aed cs_last: 69b862c9947d mask: ffffffffffffffff\n";
        assert!(
            of(text).contains("a reading of hpet is ffffffff, all ones, which is most likely a failed read"),
            "{}",
            of(text)
        );
        assert!(!of(&text.replace("wd_now: ffffffff", "wd_now: 2aec5720")).contains("all ones"));
    }

    #[test]
    fn clocks_that_drift_apart() {
        let text = "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'acpi_pm' as unstable because the skew is too \
                    large:\nclocksource: 'tsc' wd_nsec: 275000000 wd_now: 13aa wd_last: 1382 mask: ffffffffffffffff\nclocksource: 'acpi_pm' cs_nsec: \
                    276100000 cs_now: 7315 cs_last: 63f3 mask: ffffff\n";
        assert!(
            of(text)
                .contains("acpi_pm counted 1.100 ms more than tsc (0.40 %); which of the two is wrong is not in them"),
            "{}",
            of(text)
        );
    }

    #[test]
    fn the_check_of_a_clock_has_how_far_both_advanced() {
        let log = "clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
               clocksource:                       'hpet' wd_nsec: 0 wd_now: ffd7 wd_last: 40da mask: ffffffff\n\
               clocksource:                       'tsc' cs_nsec: 471766594285 cs_now: 44f cs_last: 394 mask: ffff\n";
        let text = of(log);
        assert!(
            text.contains("tsc advanced 471.767 s and hpet 0.000 s: either the check came 471.267 s late"),
            "{text}"
        );
        let both = log.replace("wd_nsec: 0", "wd_nsec: 471766000000");
        assert!(of(&both).ends_with("hpet 471.766 s: the check came 471.267 s late"), "{}", of(&both));
        let skew = log.replace("471766594285", "500700000").replace("wd_nsec: 0", "wd_nsec: 500000000");
        assert!(
            of(&skew)
                .ends_with("tsc counted 0.700 ms more than hpet (0.14 %); which of the two is wrong is not in them"),
            "{}",
            of(&skew)
        );
    }

    #[test]
    fn ticks_of_usual_rates_have_a_range_of_seconds() {
        let text = "timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable because the skew is too large:\n'hpet' wd_now: 9c5d0440 \
                    wd_last: 9bf64291 mask: ffffffff\n'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: ffffffffffffffff\n";
        let text = of(text);
        assert!(text.contains("(21755.420 to 130532.519 s at 1 to 6 GHz), and hpet advanced 6734255 ticks (0.067 to 0.673 s at 10 to 100 MHz)"), "{text}");
    }
}
