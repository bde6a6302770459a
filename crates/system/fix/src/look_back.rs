use crate::act::text;
use crate::change::Change;
use crate::files;
use crate::system::System;

/// Returns the current value if it differs from the written one; `None` if it does not differ or is unknown.
pub(crate) fn differs(sys: &dyn System, change: &Change) -> Option<String> {
    match change {
        Change::Value { path, new, form, .. } => {
            let now = text(sys, path).ok()?;
            (!form.same(&now, new, new)).then(|| form.value(&now, new))
        }
        Change::File { path, new: Some(new), .. } => {
            let now = files::kept(sys, path).ok()?;
            (!now.is_some_and(|now| now.is_same_as(new))).then(|| "otherwise".to_owned())
        }
        Change::Scheduling { thread, new, .. } => {
            let (now, _) = sys.scheduling(thread.tid).ok()?;
            (now != *new).then(|| now.to_string())
        }
        Change::Affinity { thread, new, .. } => {
            let now = sys.affinity(thread.tid).ok()?;
            (now != *new).then(|| format!("CPU {now}"))
        }
        _ => None,
    }
}

/// Returns a note with the CPU that still receives an interrupt, from effective_affinity_list (since Linux 4.13). It is
/// empty if the interrupt has moved.
pub(crate) fn pending(sys: &dyn System, change: &Change) -> String {
    let Change::Value { path, new, .. } = change else { return String::new() };
    if !path.ends_with("smp_affinity_list") {
        return String::new();
    }
    let goes = text(sys, &path.with_file_name("effective_affinity_list")).ok();
    let goes = goes.and_then(|text| text.trim().parse::<punctual_units::CpuList>().ok()).unwrap_or_default();
    let away = new.parse::<punctual_units::CpuList>().map(|new| goes.minus(&new)).unwrap_or_default();
    match away.is_empty() {
        true => String::new(),
        false => format!(" (still goes to CPU {away}: an IO-APIC moves it at its next occurrence)"),
    }
}
