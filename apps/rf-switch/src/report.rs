use crate::capture::Captured;
use crate::figures::Figures;
use crate::ook::Written;
use punctual_model::LoadReport;
use punctual_units::{Histogram, Nanos};
use serde::Serialize;
use std::fmt;

pub const SCHEMA: &str = "punctual.rf-switch/1";

/// Summary of a distribution.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    pub count: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    /// 99th percentile, ns; `None` if there are too few samples.
    pub p99_ns: Option<u64>,
    pub max_ns: u64,
}

impl Spread {
    /// Summarises a histogram. Returns `None` if it has no samples.
    pub fn of(histogram: &Histogram) -> Option<Spread> {
        Some(Spread {
            count: histogram.count(),
            min_ns: histogram.min()?,
            p50_ns: histogram.quantile(0.5)?,
            p99_ns: histogram.quantile(0.99),
            max_ns: histogram.max()?,
        })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { count, min_ns, p50_ns, p99_ns, max_ns } = self;
        let [min, p50, max] = [min_ns, p50_ns, max_ns].map(|ns| Nanos(*ns));
        let p99 = p99_ns.map_or_else(|| "–".to_owned(), |ns| Nanos(ns).to_string());
        write!(f, "{count} samples: min {min}, p50 {p50}, p99 {p99}, max {max}")
    }
}

/// Numbers of packages, pulses and edges in the pulse text that was captured or written.
#[derive(Clone, Debug, Serialize)]
pub struct Pulses {
    pub packages: u64,
    pub pulses: u64,
    pub out_of_order: u64,
    pub lost: u64,
    /// Repetitions of the same edge; `None` if unknown.
    pub repeated: Option<u64>,
}

impl Pulses {
    fn of(written: &Written, repeated: Option<u64>) -> Pulses {
        let Written { packages, pulses, out_of_order, lost } = *written;
        Pulses { packages, pulses, out_of_order, lost, repeated }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Load of a trial; `None` if there was no trial.
    pub load: Option<String>,
    /// True if the load ran properly; `None` without a load.
    pub load_ran: Option<bool>,
    pub load_why_not: Option<String>,
    /// Number of commands that the trial wrote; `None` without a trial.
    pub written: Option<u64>,
    /// Number of commands that were written but neither sent, unfinished, dropped nor invalid; `None` without a trial.
    pub lost: Option<u64>,
    pub accepted: u64,
    pub restored: u64,
    pub sent: u64,
    pub unfinished: u64,
    pub dropped: u64,
    pub bad: u64,
    pub not_kept: u64,
    pub frames: u64,
    /// Complete frames in which an edge was late by more than half of T.
    pub spoiled_frames: u64,
    /// Commands that were sent, but in which no frame was on time.
    pub doubtful: u64,
    /// Time from the sender's time stamp to the first edge.
    pub written_to_first_edge: Option<Spread>,
    /// Time from reading the command to the first edge.
    pub read_to_first_edge: Option<Spread>,
    pub waited: u64,
    pub edge_lateness: Option<Spread>,
    /// Edges that were late by more than half of T.
    pub late_edges: u64,
    /// Edges that were sent after the next edge was due.
    pub missed_alarms: u64,
    /// Edges lost because the ring was full.
    pub unrecorded_edges: u64,
}

impl Phase {
    pub fn of(figures: &Figures) -> Phase {
        let c = figures.commands;
        Phase {
            load: None,
            load_ran: None,
            load_why_not: None,
            written: None,
            lost: None,
            accepted: c.accepted,
            restored: c.restored,
            sent: c.sent,
            unfinished: c.unfinished,
            dropped: c.dropped,
            bad: c.bad,
            not_kept: c.not_kept,
            frames: figures.frames,
            spoiled_frames: figures.spoiled,
            doubtful: figures.doubtful,
            written_to_first_edge: Spread::of(&figures.from_written),
            read_to_first_edge: Spread::of(&figures.from_read),
            waited: figures.waited,
            edge_lateness: Spread::of(&figures.lateness),
            late_edges: figures.late,
            missed_alarms: figures.missed,
            unrecorded_edges: figures.unrecorded,
        }
    }

    pub fn under(self, load: &LoadReport, written: u64) -> Phase {
        let arrived = self.sent + self.dropped + self.bad + self.unfinished;
        Phase {
            load: Some(load.load.clone()),
            load_ran: Some(load.ran),
            load_why_not: load.why_not.clone(),
            written: Some(written),
            lost: Some(written.saturating_sub(arrived)),
            ..self
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(load) = &self.load {
            let ran = if self.load_ran == Some(true) { "" } else { " (which did NOT run properly)" };
            writeln!(
                f,
                "load {load}{ran}{}",
                self.load_why_not.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
            )?;
        }
        if let (Some(written), Some(lost)) = (self.written, self.lost) {
            writeln!(f, "  commands written  {written}, lost {lost}")?;
        }
        let Phase { accepted, restored, sent, unfinished, dropped, bad, frames, .. } = self;
        writeln!(
            f,
            "  commands          {accepted} accepted, {restored} restored, {sent} sent, {unfinished} unfinished, {dropped} dropped, {bad} invalid"
        )?;
        if self.not_kept > 0 {
            writeln!(f, "  not kept          {} commands could not be written to the pending file", self.not_kept)?;
        }
        let Phase { spoiled_frames, doubtful, .. } = self;
        let at_all = if *doubtful > 0 { format!("; {doubtful} commands had no good frame") } else { String::new() };
        writeln!(f, "  frames            {frames}, {spoiled_frames} spoiled by a late edge{at_all}")?;
        let none = || "nothing".to_owned();
        let text = |spread: &Option<Spread>| spread.as_ref().map_or_else(none, Spread::to_string);
        writeln!(f, "  written to edge   {}", text(&self.written_to_first_edge))?;
        writeln!(f, "  read to edge      {}; {} waited for another", text(&self.read_to_first_edge), self.waited)?;
        writeln!(f, "  edges late by     {}", text(&self.edge_lateness))?;
        write!(
            f,
            "  later than T/2    {}, missed alarms {}, not recorded {}",
            self.late_edges, self.missed_alarms, self.unrecorded_edges
        )
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub scheduling: String,
    /// Messages about requests that were refused, and the consequences.
    pub narrowed: Vec<String>,
    /// One entry per load of a trial; a single entry if there was no trial.
    pub phases: Vec<Phase>,
    /// Numbers of packages, pulses and edges in the pulse text; `None` if none was written or captured.
    pub pulse_text: Option<Pulses>,
    pub waiting: Option<u64>,
}

impl Report {
    pub fn new(scheduling: String, narrowed: &[String], phases: Vec<Phase>) -> Report {
        Report { schema: SCHEMA, scheduling, narrowed: narrowed.to_vec(), phases, pulse_text: None, waiting: None }
    }

    pub fn ended(mut self, written: Option<Written>, captured: Option<&Captured>, waiting: u64) -> Report {
        let of_capture = captured.map(|c| Pulses::of(&c.written, Some(c.repeated)));
        self.pulse_text = of_capture.or(written.map(|written| Pulses::of(&written, None)));
        self.waiting = Some(waiting);
        self
    }

    pub fn text(&self, json: bool) -> String {
        match json {
            // The report consists of numbers, strings and lists, so serialising it cannot fail.
            true => serde_json::to_string(self).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")) + "\n",
            false => self.to_string(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "transmitter: {}", self.scheduling)?;
        self.narrowed.iter().try_for_each(|line| writeln!(f, "restricted: {line}"))?;
        self.phases.iter().try_for_each(|phase| writeln!(f, "{phase}"))?;
        if let Some(p) = &self.pulse_text {
            write!(
                f,
                "pulse text: {} packages, {} pulses, {} unmatched edges, {} lost",
                p.packages, p.pulses, p.out_of_order, p.lost
            )?;
            writeln!(f, "{}", p.repeated.map(|n| format!(", {n} repeated")).unwrap_or_default())?;
        }
        match self.waiting {
            Some(waiting) if waiting > 0 => writeln!(f, "{waiting} commands are kept for the next start"),
            _ => Ok(()),
        }
    }
}
