use crate::ook::Written;
use crate::transmit::{Done, Emitted, Origin};
use punctual_units::{Histogram, Nanos};

/// Number of commands by outcome. `accepted + restored == sent + waiting`. An unfinished command stays pending until
/// the next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    pub accepted: u64,
    pub restored: u64,
    /// Commands sent with all their frames.
    pub sent: u64,
    /// Commands of which only some frames were sent, because the program ended or the line failed.
    pub unfinished: u64,
    pub dropped: u64,
    pub bad: u64,
    /// Commands accepted but not written to the pending file, so that they are lost if the program is killed first.
    pub not_kept: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub commands: Commands,
    /// Number of frames sent completely.
    pub frames: u64,
    /// Complete frames in which an edge was late by more than half of T.
    pub spoiled: u64,
    /// Commands that were sent, but in which no frame was on time.
    pub doubtful: u64,
    /// Time from the sender's time stamp to the first edge, ns, for commands that did not wait for another command.
    pub from_written: Histogram,
    /// Time from reading the command to the first edge, ns, for commands that have no time stamp and did not wait.
    pub from_read: Histogram,
    /// Commands that waited for another command, so that their latency is not measured.
    pub waited: u64,
    /// Lateness of each edge, ns: from its due time to the return of the call that drives the line.
    pub lateness: Histogram,
    /// Edges that were late by more than half of T.
    pub late: u64,
    /// Edges that were sent after the next edge was due: missed alarms.
    pub missed: u64,
    /// Edges lost because the ring between the threads was full.
    pub unrecorded: u64,
    pub written: Option<Written>,
    last: Option<Emitted>,
}

impl Figures {
    /// Counts an edge; `half` is half of T, above which an edge counts as late.
    pub fn edge(&mut self, edge: Emitted, half: Nanos) {
        let late = edge.at.saturating_sub(edge.due);
        self.lateness.record(late.0);
        self.late += u64::from(late > half);
        // An edge that is too early is not counted: the due time of the next edge is the deadline of this one.
        self.missed += u64::from(self.last.is_some_and(|last| last.due < edge.due && last.at > edge.due));
        self.last = Some(edge);
    }

    pub fn done(&mut self, done: &Done) {
        self.frames += u64::from(done.frames);
        self.spoiled += u64::from(done.spoiled);
        self.doubtful += u64::from(done.whole && done.spoiled == done.frames);
        match done.whole {
            true => self.commands.sent += 1,
            false => self.commands.unfinished += 1,
        }
        let since = |from: Nanos| done.first_edge.and_then(|at| at.0.checked_sub(from.0));
        match done.job.origin {
            Origin::Waited => self.waited += 1,
            Origin::Written(from) => since(from).into_iter().for_each(|ns| self.from_written.record(ns)),
            Origin::Read(from) => since(from).into_iter().for_each(|ns| self.from_read.record(ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_after_the_next_was_due_is_a_missed_alarm() {
        let mut figures = Figures::default();
        let us = Nanos::from_micros;
        for (due, at, level) in [(0, 10, true), (360, 1_500, false), (1_440, 1_501, true), (1_800, 1_801, false)] {
            figures.edge(Emitted { due: us(due), at: us(at), level }, us(180));
        }
        assert_eq!((figures.late, figures.missed, figures.lateness.count()), (1, 1, 4));
        assert_eq!(figures.lateness.max(), Some(1_140_000));
    }
}
