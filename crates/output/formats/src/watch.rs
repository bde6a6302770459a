//! Prometheus metrics of `watch`, for the textfile collector of the node exporter.

use crate::prometheus::{buckets, head, label, seconds};
use punctual_model::{Blur, Known, Watch, WatchApp, WatchCpu, WatchMaxima};
use punctual_units::{CpuId, Histogram};
use std::borrow::Cow;
use std::fmt::Write;

/// Writes latencies since the process started (every released period counts), largest latencies, outcomes of new
/// maxima, and the state of the watch. Unknown values have no sample.
pub fn watch_prometheus(watch: &Watch, histograms: &[(CpuId, Histogram)]) -> String {
    let mut out = String::new();
    about(&mut out, watch);
    const LATENCY: &str = "punctual_watch_wakeup_latency_seconds";
    if histograms.iter().any(|(_, histogram)| !histogram.is_empty()) {
        head(&mut out, LATENCY, "histogram", "Wakeup latency of every period released since the watch began.");
    }
    for (cpu, histogram) in histograms.iter().filter(|(_, histogram)| !histogram.is_empty()) {
        let known = Known::new(Cow::Borrowed(histogram), Blur::EXACT);
        buckets(&mut out, LATENCY, &format!("cpu=\"{cpu}\""), &known, None);
    }
    largest(&mut out, watch);
    periods(&mut out, watch);
    maxima(&mut out, &watch.maxima);
    watch.application.iter().for_each(|app| application(&mut out, app));
    itself(&mut out, watch);
    out
}

fn about(out: &mut String, watch: &Watch) {
    head(out, "punctual_watch_info", "gauge", "The watch to which the other samples belong; always 1.");
    let version = watch.tool.version.as_deref();
    let labels = [("host", watch.host.as_deref()), ("kernel", watch.kernel.as_deref()), ("tool_version", version)];
    let known = labels.into_iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", label(value?))));
    let _ = writeln!(out, "punctual_watch_info{{{}}} 1", known.collect::<Vec<_>>().join(","));
    let times = [
        ("punctual_watch_start_time_seconds", "Start of the watch, seconds since 1970.", watch.started.real_ns),
        ("punctual_watch_update_time_seconds", "Time of the last update, seconds since 1970.", watch.updated.real_ns),
    ];
    for (name, help, real_ns) in times {
        head(out, name, "gauge", help);
        let _ = writeln!(out, "{name} {}", seconds(real_ns));
    }
}

fn largest(out: &mut String, watch: &Watch) {
    const NAME: &str = "punctual_watch_wakeup_latency_max_seconds";
    let block = |cpu| watch.block.as_ref()?.max_ns.iter().find(|(c, _)| *c == cpu)?.1;
    let mut samples = String::new();
    for one in &watch.cpus {
        let known = [
            ("block", block(one.cpu)),
            ("start", one.since_start_ns),
            ("ever", one.ever.as_ref().map(|ever| ever.latency_ns)),
        ];
        for (since, ns) in known.into_iter().filter_map(|(since, ns)| Some((since, ns?))) {
            let _ = writeln!(samples, "{NAME}{{cpu=\"{}\",since=\"{since}\"}} {}", one.cpu, seconds(ns));
        }
    }
    if !samples.is_empty() {
        head(
            out,
            NAME,
            "gauge",
            "Largest wakeup latency in the current block, since the start of the watch, and in the whole series.",
        );
        out.push_str(&samples);
    }
}

fn periods(out: &mut String, watch: &Watch) {
    type Count = fn(&WatchCpu) -> u64;
    let both: [(&str, &str, Count); 2] = [
        ("punctual_watch_periods_released_total", "Periods released in the whole series.", |cpu| cpu.released),
        ("punctual_watch_periods_skipped_total", "Periods that passed while the thread was late.", |cpu| cpu.skipped),
    ];
    for (name, help, of) in both {
        if !watch.cpus.is_empty() {
            head(out, name, "counter", help);
        }
        for cpu in &watch.cpus {
            let _ = writeln!(out, "{name}{{cpu=\"{}\"}} {}", cpu.cpu, of(cpu));
        }
    }
}

fn maxima(out: &mut String, maxima: &WatchMaxima) {
    const NAME: &str = "punctual_watch_new_maxima_total";
    head(out, NAME, "counter", "New maxima of a CPU above the threshold, by outcome.");
    for (outcome, n) in [("explained", maxima.explained), ("too_many", maxima.too_many), ("failed", maxima.failed)] {
        let _ = writeln!(out, "{NAME}{{outcome=\"{outcome}\"}} {n}");
    }
}

fn application(out: &mut String, app: &WatchApp) {
    const LATE: &str = "punctual_watch_application_late_total";
    let late = &app.late;
    head(out, LATE, "counter", "Moments at which the application was late, by outcome.");
    for (outcome, n) in [("explained", late.explained), ("too_many", late.too_many), ("failed", late.failed)] {
        let _ = writeln!(out, "{LATE}{{outcome=\"{outcome}\"}} {n}");
    }
    const UNSAVED: &str = "punctual_watch_application_windows_unsaved_total";
    head(out, UNSAVED, "counter", "Windows of events before such moments that could not be saved.");
    let _ = writeln!(out, "{UNSAVED} {}", late.unsaved);
    const CYCLES: &str = "punctual_watch_application_cycles_total";
    if !app.cycles.is_empty() {
        head(out, CYCLES, "counter", "Cycles of the application's threads.");
    }
    for one in &app.cycles {
        let _ = writeln!(out, "{CYCLES}{{thread=\"{}\"}} {}", label(&one.thread), one.cycles);
    }
    head(out, "punctual_watch_application_watched", "gauge", "1 while the application is watched.");
    let _ = writeln!(out, "punctual_watch_application_watched {}", u8::from(app.ended.is_none()));
}

fn itself(out: &mut String, watch: &Watch) {
    let counted = [
        ("punctual_watch_write_failures_total", "Checkpoints that could not be written.", watch.disk.failures),
        ("punctual_watch_clock_steps_total", "Number of times the wall clock was set.", watch.upsets.clock_steps),
        ("punctual_watch_suspends_total", "Number of times the machine was suspended.", watch.upsets.suspends),
        ("punctual_watch_cpus_lost_total", "Number of times a measured CPU was lost.", watch.upsets.cpus_lost),
    ];
    for (name, help, n) in counted {
        head(out, name, "counter", help);
        let _ = writeln!(out, "{name} {n}");
    }
    head(out, "punctual_watch_write_failing", "gauge", "1 while files cannot be written.");
    let _ = writeln!(out, "punctual_watch_write_failing {}", u8::from(watch.disk.failing.is_some()));
    if let Some(ns) = watch.cost.cpu_ns {
        head(out, "punctual_watch_cpu_seconds_total", "counter", "CPU time of the watch itself.");
        let _ = writeln!(out, "punctual_watch_cpu_seconds_total {}", seconds(ns));
    }
    if let Some(bytes) = watch.cost.rss_bytes {
        head(out, "punctual_watch_resident_memory_bytes", "gauge", "Resident memory of the watch itself.");
        let _ = writeln!(out, "punctual_watch_resident_memory_bytes {bytes}");
    }
}
