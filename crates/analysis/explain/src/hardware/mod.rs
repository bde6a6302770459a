//! Classifies gaps in the readings of a clock: Linux, hypervisor, firmware, hardware.
//!
//! A thread that never sleeps and has a higher priority than all others loses its CPU to interrupts, to threads of
//! higher priority, and to NMIs: the trace shows all of these. If the trace shows the reading thread throughout, the
//! rest of the gap is not Linux. Counters distinguish the other causes: steal in a guest, the SMI counter on bare
//! metal, and whether other CPUs kept running.

mod natures;
mod parts;
mod words;

use crate::attribution::activity;
use natures::{Natures, Steal};
use parts::{Parts, brief_and_long};
use punctual_model::{Confidence, ExplainedGap, Gap, GapClass, GapFinding, GapPart, Span};
use punctual_units::{Arrange, CpuId};
use std::cmp::Reverse;
use std::collections::HashMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GapEvidence {
    /// Activity of the CPU during the gap, from [`crate::Activity::between`]; empty if nothing was traced.
    pub spans: Vec<Span>,
    pub tid: i32,
    /// True if every other reading CPU was stalled during the gap, false if another CPU continued; `None` if there was
    /// no other.
    pub at_once: Option<bool>,
    /// In a guest: CPU time that was not charged around the gap, from [`crate::Activity::uncharged`].
    pub uncharged_ns: Option<u64>,
    /// True if steal time of the CPU increased in the fraction of a second that contains the gap; `None` if not
    /// counted.
    pub steal_rose: Option<bool>,
}

/// Facts about the machine at the end of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The hypervisor's name, `none`, or unknown.
    pub virtualisation: Option<String>,
    /// System management interrupts during the measurement, by CPU; missing if they cannot be counted.
    pub smi: HashMap<CpuId, u64>,
    /// Steal during the measurement by CPU, ns; missing if it is not counted.
    pub steal_ns: HashMap<CpuId, u64>,
    /// True if real-time throttling was reported during the measurement.
    pub throttled: bool,
}

impl Surroundings {
    pub fn guest(&self) -> Option<bool> {
        self.virtualisation.as_deref().map(|name| name != "none")
    }
}

/// Maximum number of distinct names of activities.
const NAMES: usize = 256;
/// Maximum number of gaps recorded, the longest ones.
const WORST: usize = 16;
/// Maximum number of names of activities in one gap.
const DID: usize = 8;

#[derive(Debug)]
pub struct GapSorter {
    threshold_ns: u64,
    linux: Sum,
    /// Linux's time that a hypervisor may have extended, ns.
    doubtful_ns: u64,
    unknown: Sum,
    by_name: HashMap<String, GapPart>,
    natures: Natures,
    worst: Vec<ExplainedGap>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    gaps: u64,
    worst: Option<(u64, CpuId)>,
    total_ns: u64,
    at_once: u64,
}

impl Sum {
    fn add(&mut self, cpu: CpuId, ns: u64, at_once: bool) {
        self.gaps += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.at_once += u64::from(at_once);
        self.worst = self.worst.max(Some((ns, cpu)));
    }

    fn absorb(&mut self, other: &Sum) {
        self.gaps += other.gaps;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.at_once += other.at_once;
        self.worst = self.worst.max(other.worst);
    }

    /// Returns a finding without sentences; `None` if there is no gap.
    fn finding(&self, class: GapClass, confidence: Confidence) -> Option<GapFinding> {
        let (worst_ns, worst_cpu) = self.worst?;
        Some(GapFinding {
            class,
            gaps: self.gaps,
            at_once: self.at_once,
            worst_ns,
            worst_cpu,
            total_ns: self.total_ns,
            confidence,
            parts: Vec::new(),
            evidence: Vec::new(),
            verdict: String::new(),
            advice: None,
        })
    }
}

impl GapSorter {
    /// Creates a sorter; interruptions shorter than `threshold_ns` do not count as gaps of hardware.
    pub fn new(threshold_ns: u64) -> GapSorter {
        GapSorter {
            threshold_ns: threshold_ns.max(1),
            linux: Sum::default(),
            doubtful_ns: 0,
            unknown: Sum::default(),
            by_name: HashMap::new(),
            natures: Natures::default(),
            worst: Vec::new(),
        }
    }

    pub fn gap(&mut self, gap: Gap, evidence: &GapEvidence) {
        let mut parts = Parts::of(gap, evidence, self.threshold_ns);
        let steal = Steal::of(parts.beyond_ns.max(brief_and_long(&parts)), evidence);
        // Interrupt time may not be charged either, so the time is attributed to the hypervisor only if steal time was
        // counted.
        if steal.seen() && evidence.steal_rose == Some(true) {
            parts.disown_long();
        }
        let at_once = evidence.at_once == Some(true);
        if parts.unknown_ns >= self.threshold_ns {
            self.unknown.add(gap.cpu, parts.unknown_ns, at_once);
        }
        if parts.beyond_ns > 0 {
            self.natures.add(gap, parts.beyond_ns, evidence.at_once, steal);
        }
        let alone = parts.beyond_ns == 0 && parts.unknown_ns < self.threshold_ns;
        if alone || parts.linux_ns >= self.threshold_ns {
            let ns = parts.linux_ns + if alone { parts.edge_ns + parts.unknown_ns } else { 0 };
            self.linux.add(gap.cpu, ns, false);
            self.doubtful_ns += brief_and_long(&parts);
            parts.did.iter().for_each(|(span, ns)| self.count(span, *ns));
        }
        self.keep(gap, &parts, evidence.at_once);
    }

    fn count(&mut self, span: &Span, ns: u64) {
        let mut name = activity::name(span);
        if self.by_name.len() >= NAMES && !self.by_name.contains_key(&name) {
            "others".clone_into(&mut name);
        }
        let empty = || GapPart { what: name.clone(), kind: span.kind, gaps: 0, worst_ns: 0, total_ns: 0 };
        let part = self.by_name.entry(name.clone()).or_insert_with(empty);
        part.gaps += 1;
        part.worst_ns = part.worst_ns.max(ns);
        part.total_ns = part.total_ns.saturating_add(ns);
    }

    fn keep(&mut self, gap: Gap, parts: &Parts, at_once: Option<bool>) {
        let at = self.worst.partition_point(|kept| kept.gap.length_ns >= gap.length_ns);
        if at >= WORST {
            return;
        }
        let mut did: Vec<(String, u64)> = parts.did.iter().map(|(span, ns)| (activity::name(span), *ns)).collect();
        let rest: u64 = did.drain(DID.min(did.len())..).map(|(_, ns)| ns).sum();
        did.extend((rest > 0).then(|| ("others".to_owned(), rest)));
        let Parts { linux_ns, beyond_ns, edge_ns, unknown_ns, .. } = *parts;
        self.worst.insert(at, ExplainedGap { gap, linux_ns, beyond_ns, edge_ns, unknown_ns, did, at_once });
        self.worst.truncate(WORST);
    }

    /// Returns the findings, the longest first, and the longest gaps.
    pub fn finish(self, around: &Surroundings) -> (Vec<GapFinding>, Vec<ExplainedGap>) {
        let sure = if self.doubtful_ns > self.linux.total_ns / 2 { Confidence::Medium } else { Confidence::High };
        let linux = self.linux.finding(GapClass::Linux, sure).map(|finding| {
            let mut parts: Vec<GapPart> = self.by_name.into_values().collect();
            parts.arrange_by(|a, b| Reverse(a.total_ns).cmp(&Reverse(b.total_ns)).then_with(|| a.what.cmp(&b.what)));
            GapFinding { parts, ..finding }
        });
        let unknown = self.unknown.finding(GapClass::Unknown, Confidence::Suspected);
        let mut findings: Vec<GapFinding> = linux.into_iter().chain(unknown).collect();
        findings.extend(self.natures.findings(around));
        findings.iter_mut().for_each(|finding| words::say(finding, around));
        findings.arrange_by_key(|finding| (Reverse(finding.worst_ns), finding.class));
        (findings, self.worst)
    }
}
