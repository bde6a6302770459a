use super::{Check, Given, Outcome, check};
use crate::config::Options;

const GIVE: &str = "configure first, then use --config build/.config";

pub fn checks(given: &Given) -> Vec<Check> {
    vec![real_time(given), trusted_keys(given), frequency(given), framebuffer(given), console(given)]
}

fn of<'o>(options: &'o Options, name: &str) -> &'o str {
    options.get(name).map_or("n", |value| value.text())
}

fn with(
    given: &Given,
    id: &'static str,
    why: &'static str,
    judge: impl Fn(&Options) -> (Outcome, String, &'static str),
) -> Check {
    match given.config {
        None => check(id, why, Outcome::Unknown, "no configuration is given", GIVE),
        Some(options) => {
            let (outcome, found, fix) = judge(options);
            check(id, why, outcome, found, fix)
        }
    }
}

fn real_time(given: &Given) -> Check {
    let why = "olddefconfig silently drops PREEMPT_RT if EXPERT or the support of the architecture is missing, with exit code 0";
    with(given, "preempt-rt", why, |options| {
        match ["PREEMPT_RT", "PREEMPT_RT_FULL"].iter().find(|n| of(options, n) == "y") {
            Some(name) => (Outcome::Pass, format!("{name}=y"), ""),
            None => {
                let found =
                    format!("PREEMPT_RT is off, EXPERT is {}", if of(options, "EXPERT") == "y" { "on" } else { "off" });
                (Outcome::Fail, found, "punctual kernel configure reports the dependency that is off")
            }
        }
    })
}

fn trusted_keys(given: &Given) -> Check {
    let why = "No rule to make target 'debian/certs/…': distributions refer to a certificate that their source does not contain";
    with(given, "trusted-keys", why, |options| {
        let named: Vec<&str> = ["SYSTEM_TRUSTED_KEYS", "SYSTEM_REVOCATION_KEYS"]
            .into_iter()
            .filter(|name| !matches!(of(options, name), "n" | "\"\""))
            .collect();
        match named.as_slice() {
            [] => (Outcome::Pass, "none is set".to_owned(), ""),
            named => (
                Outcome::Fail,
                named.join(" and "),
                "scripts/config --set-str SYSTEM_TRUSTED_KEYS '' --set-str SYSTEM_REVOCATION_KEYS ''",
            ),
        }
    })
}

fn frequency(given: &Given) -> Check {
    let why = "at 100 Hz, waits in jiffies take 10 ms; high-resolution timers do not";
    with(given, "hz", why, |options| {
        let (hz, high) = (of(options, "HZ"), of(options, "HIGH_RES_TIMERS") == "y");
        let found = format!("HZ={hz}, HIGH_RES_TIMERS {}", if high { "on" } else { "off" });
        match (hz, high) {
            (_, false) => (Outcome::Fail, found, "CONFIG_HIGH_RES_TIMERS=y"),
            ("100", true) => (Outcome::Warn, found, "CONFIG_HZ_1000=y"),
            ("n", true) => (Outcome::Unknown, found, "CONFIG_HZ is missing: give the whole .config"),
            _ => (Outcome::Pass, found, ""),
        }
    })
}

fn framebuffer(given: &Given) -> Check {
    let why = "FB_SIMPLE left the screen dark on a Raspberry Pi 3B+ with 4.19-rt";
    if given.board.pi.is_none() {
        return check("fb-simple", why, Outcome::Skip, "this is not a Raspberry Pi", "");
    }
    with(given, "fb-simple", why, |options| match of(options, "FB_SIMPLE") {
        "n" => (Outcome::Pass, "off".to_owned(), ""),
        value => (Outcome::Warn, format!("FB_SIMPLE={value}"), "# CONFIG_FB_SIMPLE is not set"),
    })
}

fn console(given: &Given) -> Check {
    let why = "without these the kernel starts but shows nothing: no /dev, no console";
    with(given, "console", why, |options| {
        let has_console = super::drivers::console_options().any(|name| of(options, name) == "y");
        let mut missing: Vec<&str> =
            ["DEVTMPFS", "DEVTMPFS_MOUNT"].into_iter().filter(|name| of(options, name) != "y").collect();
        if !has_console {
            missing.push("a console (VT_CONSOLE, SERIAL_8250_CONSOLE or the console of the board's serial port)");
        }
        match missing.as_slice() {
            [] => (Outcome::Pass, "built in".to_owned(), ""),
            // An initramfs may mount /dev itself.
            ["DEVTMPFS_MOUNT"] => (Outcome::Warn, "DEVTMPFS_MOUNT is off".to_owned(), "CONFIG_DEVTMPFS_MOUNT=y"),
            missing => (Outcome::Fail, format!("not built in: {}", missing.join(", ")), "set them to y, not m"),
        }
    })
}
