//! Finds changes that remove the last protection against a runaway real-time loop.

use crate::carry::Doing;
use crate::system::System;
use std::path::Path;

/// Returns true if this step disables RT throttling or the fair server. Since Linux 6.12 the fair server reserves CPU
/// time for ordinary tasks (commit 5f6bd380c7bd).
pub fn removes_protection(doing: &Doing) -> bool {
    match doing {
        Doing::Value { path, new } => {
            let path = path.to_string_lossy();
            let is_throttle = path.ends_with("/sched_rt_runtime_us") && new.trim() == "-1";
            is_throttle || (path.contains("/sched/fair_server/") && path.ends_with("/runtime") && new.trim() == "0")
        }
        Doing::Edit(edit) => edit.new.as_deref().is_some_and(|text| {
            let text = String::from_utf8_lossy(text);
            text.lines().any(|line| {
                let line: String = line.split_whitespace().collect();
                line == "kernel.sched_rt_runtime_us=-1" || (line.starts_with("w/sys") && line.contains("/fair_server/"))
            })
        }),
        _ => false,
    }
}

/// Returns the name of an armed hardware watchdog; `None` if there is none. Linux's softdog runs on the CPUs that may
/// hang, so it does not count.
pub fn armed(sys: &dyn System) -> Option<String> {
    let folder = Path::new("/sys/class/watchdog");
    let text = |name: &str, file: &str| {
        let bytes = sys.read(&folder.join(name).join(file)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    let is_armed = |name: &String| text(name, "state").as_deref() == Some("active");
    let is_hardware = |name: &String| text(name, "identity").is_some_and(|identity| !identity.starts_with("Software"));
    let names = sys.list(folder).unwrap_or_default();
    let name = names.into_iter().find(|name| is_armed(name) && is_hardware(name))?;
    Some(format!("{} ({name})", text(&name, "identity").unwrap_or_default()))
}
