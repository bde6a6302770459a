//! Formats for a terminal what caused gaps: hardware, a hypervisor or Linux.

use crate::clean;
use punctual_model::{ExplainedGap, GapCpu, GapFinding, Hardware, SpanKind};
use punctual_units::Nanos;

/// Formats the gaps in the readings of a clock for a terminal: findings first, then the evidence. Shows at most `most`
/// of the longest gaps.
pub fn hardware_text(hardware: &Hardware, most: usize) -> String {
    let mut out = String::new();
    for finding in &hardware.findings {
        out.push_str(&finding_text(finding));
    }
    if hardware.findings.is_empty() {
        let threshold = Nanos(hardware.threshold_ns);
        let but = if hardware.narrowed.is_empty() { "" } else { ", but the measurement was limited" };
        out.push_str(&format!("No gap of {threshold} or more{but}.\n"));
    }
    out.extend(hardware.hwlat.iter().map(|hwlat| format!("{}\n", hwlat.verdict)));
    let worst: Vec<String> = hardware.worst.iter().take(most).map(gap_text).collect();
    if hardware.events.is_some() {
        section(&mut out, "The longest gaps", &worst);
    }
    section(
        &mut out,
        "By CPU",
        &hardware.cpus.iter().map(|cpu| cpu_text(cpu, hardware.events.is_none())).collect::<Vec<_>>(),
    );
    section(&mut out, "Limited: the measurement is not complete", &hardware.narrowed);
    section(&mut out, "Notes", &notes(hardware));
    out.push_str(&format!("\n{}\n", how(hardware)));
    clean::lines(&out)
}

fn finding_text(finding: &GapFinding) -> String {
    let mut out = format!("{}\n", finding.verdict);
    let parts = finding.parts.iter().filter(|part| part.kind != SpanKind::Unknown);
    for part in parts.take(5) {
        let (worst, total) = (Nanos(part.worst_ns).to_string(), Nanos(part.total_ns).to_string());
        out.push_str(&format!("  {worst:>9} at most {total:>9} in all {:>6} times  {}\n", part.gaps, part.what));
    }
    out.extend(finding.advice.iter().map(|advice| format!("  -> {advice}\n")));
    out
}

fn gap_text(gap: &ExplainedGap) -> String {
    let mut did: Vec<String> = gap.did.iter().take(3).map(|(what, ns)| format!("{what} {}", Nanos(*ns))).collect();
    let rest = [(gap.beyond_ns, "not Linux"), (gap.edge_ns, "entry and exit"), (gap.unknown_ns, "not traced")];
    did.extend(rest.iter().filter(|(ns, _)| *ns > 0).map(|(ns, what)| format!("{what} {}", Nanos(*ns))));
    let at_once = match gap.at_once {
        Some(true) => "; every measuring CPU stalled",
        Some(false) => "; another CPU kept running",
        None => "",
    };
    let length = Nanos(gap.gap.length_ns).to_string();
    format!("{length:>9} CPU {}: {}{at_once}", gap.gap.cpu, did.join(", "))
}

fn cpu_text(cpu: &GapCpu, untraced: bool) -> String {
    let mut said = format!(
        "CPU {} ({}): read {} times in {}, {} gaps",
        cpu.cpu,
        cpu.scheduling,
        cpu.readings,
        Nanos(cpu.looked_ns),
        cpu.gaps
    );
    said.extend(cpu.worst_ns.map(|ns| format!(", worst {}", Nanos(ns))));
    said.push_str(&match cpu.steal_ns {
        Some(ns) => format!("; steal +{}", Nanos(ns)),
        None => "; steal not counted".into(),
    });
    said.extend(cpu.smi.map(|n| format!("; SMIs +{n}")));
    said.extend(cpu.run_delay_ns.map(|ns| format!("; other threads ran {} of its time", Nanos(ns))));
    if untraced {
        let top = cpu.interrupts.iter().flatten().take(3).map(|(name, n)| format!("{n} {name}"));
        said.push_str(&format!("; interrupts: {}", top.collect::<Vec<_>>().join(", ")));
    }
    said
}

fn notes(hardware: &Hardware) -> Vec<String> {
    let mut notes = hardware.notes.clone();
    notes.extend(hardware.throttled.iter().map(|r| format!("throttling: {} {}", r.name, r.value)));
    notes.extend(hardware.hottest.iter().map(|r| format!("hottest: {} {:.1} °C", r.name, r.value as f64 / 1e3)));
    notes
}

fn how(hardware: &Hardware) -> String {
    let machine = match hardware.virtualisation.as_deref() {
        Some("none") => "bare metal".to_owned(),
        Some(name) => format!("a guest of {name}"),
        None => "unknown whether guest or bare metal".to_owned(),
    };
    let traced = hardware.events.map_or("no trace".to_owned(), |n| format!("{n} events traced"));
    format!(
        "{machine}; CPU {} read the clock for {} of every {}, during {}; gaps of {} or more are counted; {traced}",
        hardware.on,
        Nanos(hardware.window_ns),
        Nanos(hardware.cycle_ns),
        Nanos(hardware.took_ns),
        Nanos(hardware.threshold_ns)
    )
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        out.push_str(&format!("\n{title}\n"));
        lines.iter().for_each(|line| out.push_str(&format!("  - {line}\n")));
    }
}
