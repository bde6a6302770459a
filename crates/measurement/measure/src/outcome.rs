use crate::plan::Plan;
use crate::thread::{Shared, ThreadEnd};
use crate::woken::Sent;
use punctual_model::{CpuResult, Distribution, Problem, ProblemKind, Worst};
use punctual_units::{CpuId, Nanos};

#[derive(Debug)]
pub struct Outcome {
    /// CLOCK_MONOTONIC of the first recorded release.
    pub start: Nanos,
    /// CLOCK_MONOTONIC of the end of the measurement.
    pub end: Nanos,
    pub cpus: Vec<CpuResult>,
    pub distributions: Vec<(CpuId, Distribution)>,
    pub worst: Vec<Worst>,
    /// Problems that make the phase inconclusive.
    pub problems: Vec<Problem>,
    /// Results of the sender of each measured CPU that has a sender.
    pub senders: Vec<(CpuId, Sent)>,
    pub cpu_ns: u64,
    /// Notes that do not affect the verdict.
    pub notes: Vec<String>,
}

impl Outcome {
    pub(crate) fn problem(&mut self, kind: ProblemKind, text: impl Into<String>) {
        self.problems.push(Problem { kind, text: text.into() });
    }

    pub(crate) fn add(&mut self, shared: &Shared, index: usize, cpu: CpuId, tid: i32, ended: Option<ThreadEnd>) {
        let plan = &shared.plan;
        let cell = &shared.cells[index];
        let (raw, skipped) = cell.histograms();
        if let Some(end) = &ended {
            self.judge_thread(plan, cpu, end);
            self.add_remarks(plan, cpu, &end.remarks);
        } else {
            self.problem(ProblemKind::Interrupted, format!("the thread on CPU {cpu} did not end: it got no CPU time"));
        }
        self.worst.extend(cell.worst().into_iter().map(|kept| kept.of(&plan.phase, cpu)));
        self.cpu_ns += ended.as_ref().map_or(0, |e| e.cpu_ns);
        self.cpus.push(CpuResult {
            cpu,
            tid: Some(tid),
            got: Some(ended.as_ref().map_or(plan.scheduling, |e| e.scheduling)),
            released: Some(ended.as_ref().map_or(raw.count() + skipped.count(), |e| e.released)),
            ran: raw.count(),
            skipped: Some(skipped.count()),
            min_ns: raw.min(),
            max_ns: raw.max(),
            mean_ns: raw.mean(),
            page_faults: ended.as_ref().and_then(|e| e.page_faults),
            involuntary_switches: ended.as_ref().and_then(|e| e.involuntary_switches),
            run_delay_ns: ended.as_ref().and_then(|e| e.run_delay_ns),
            blur: None,
            episodes: cell.episodes(ended.as_ref().map_or(raw.count() + skipped.count(), |e| e.released)),
            blocks: Vec::new(),
        });
        self.distributions.push((cpu, Distribution { raw, skipped }));
    }

    fn judge_thread(&mut self, plan: &Plan, cpu: CpuId, end: &ThreadEnd) {
        if end.scheduling != plan.scheduling {
            let text =
                format!("the thread on CPU {cpu} ran as {}, but {} was requested", end.scheduling, plan.scheduling);
            self.problem(ProblemKind::NotAsAsked, text);
        }
        if end.affinity != end.affinity_at_start {
            let text = format!(
                "CPU {cpu} was lost while it was measured (offline, or taken by a cpuset): the thread was moved to CPU {}",
                end.affinity
            );
            self.problem(ProblemKind::CpuLost, text);
        }
        if let Some(faults) = end.page_faults.filter(|&n| n > 0) {
            let text = format!("the measuring thread on CPU {cpu} took {faults} page faults: its memory is not locked");
            self.problem(ProblemKind::PageFaults, text);
        }
        if let Some(why) = &end.not_locked {
            self.notes.push(format!(
                "memory of the thread on CPU {cpu} could not be locked: {why}; grant CAP_IPC_LOCK (setcap \
                 cap_sys_nice,cap_ipc_lock+ep), or raise memlock in /etc/security/limits.d and log in again"
            ));
        }
    }
}
