use crate::edges::Lost;
use crate::matcher::EdgeCounts;
use punctual_loads::LoadSpec;
use punctual_model::LoadReport;
use punctual_record::TaskRun;
use punctual_rt::TaskStats;
use punctual_uapi::Sig;
use punctual_units::{Nanos, Scheduling};

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub scheduling: Scheduling,
    pub period: Nanos,
    pub load: LoadSpec,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    pub made: u64,
    pub reported: u64,
    /// Number of beats that were not reported because the queue was full.
    pub unreported: u64,
}

#[derive(Clone, Debug)]
pub struct Measured {
    pub plan: Plan,
    pub stats: TaskStats,
    /// Edges seen on the second line, and edges lost; `None` if there is no second line.
    pub edges: Option<(EdgeCounts, Lost)>,
    pub beats: Beats,
    pub load: LoadReport,
    /// The signal that ended the measurement early, if any.
    pub ended_by: Option<Sig>,
    pub run: TaskRun,
}

impl Measured {
    /// Returns true if every release either ran or was skipped, and every beat belongs to a release that ran.
    pub fn accounted_for(&self) -> bool {
        let counted = &self.stats.counted;
        let Beats { made, reported, unreported } = self.beats;
        let edges = self.edges.as_ref().is_none_or(|(edges, _)| edges.seen + edges.unseen == reported);
        counted.released == counted.ran + counted.skipped
            && made == counted.ran
            && reported + unreported == made
            && edges
    }

    /// Returns reasons to doubt the results, which are reported with them.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.accounted_for() {
            doubts.push("releases and beats do not add up: please report this as a bug in metronome".into());
        }
        if !self.load.ran {
            let why = self.load.why_not.as_deref().unwrap_or("it gave no reason");
            doubts.push(format!("the load did not run: {why}"));
        }
        if let Some(signal) = self.ended_by {
            doubts.push(format!("ended early by {}", signal.name()));
        }
        doubts.extend(self.edge_doubts());
        doubts
    }

    fn edge_doubts(&self) -> Option<String> {
        let (edges, lost) = self.edges.as_ref()?;
        let unreported = self.beats.unreported;
        match edges.seen {
            0 if edges.unseen > 0 => Some("no edge was seen: check that --listen is wired to --line".into()),
            _ if edges.unseen + edges.strays + lost.dropped + unreported > 0 => Some(format!(
                "edges of {} beats were not seen ({} were dropped because a buffer was full), {} edges belong to no beat, {unreported} beats were \
                 not reported",
                edges.unseen, lost.dropped, edges.strays
            )),
            _ => None,
        }
    }
}
