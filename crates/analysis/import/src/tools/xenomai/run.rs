//! Converts a run to a block, and checks its rows, totals and histograms against each other.

use super::*;

impl Run {
    pub(super) fn has_figures(&self) -> bool {
        self.rows > 0
            || self.total.is_some()
            || self.cells.iter().any(|c| c.count > 0 || c.stated.is_some())
            || self.plot.as_ref().is_some_and(|p| p.last.is_some() || p.max.is_some())
    }

    pub(super) fn add(&mut self, row: Row) {
        match self.last {
            None => self.late = row.worst > row.max || row.best < row.min,
            Some(last) => {
                let jumps = row.worst != last.worst.max(row.max) || row.best != last.best.min(row.min);
                self.jumps = self.jumps.saturating_add(u64::from(jumps && !row.is_odd()));
            }
        }
        self.odd = self.odd.saturating_add(u64::from(row.is_odd()));
        self.last = Some(row);
        (self.rows, self.since) = (self.rows.saturating_add(1), self.since.saturating_add(1));
    }

    pub(super) fn overruns(&self) -> Option<u64> {
        let plot = self.plot.as_ref().map(|p| p.overruns);
        self.total.map(|t| t.overruns).or(plot).or(self.last.map(|row| row.overruns))
    }

    pub(super) fn switches(&self) -> u64 {
        let plot = self.plot.as_ref().map(|p| p.switches);
        self.total.map(|t| t.switches).or(plot).or(self.last.map(|row| row.switches)).unwrap_or(0)
    }

    /// Returns the smallest, mean and largest latency, ns.
    pub(super) fn extremes(&self) -> [Option<i64>; 3] {
        if let Some(total) = self.total {
            return [Some(total.min), Some(total.mean), Some(total.max)];
        }
        if let Some(plot) = &self.plot {
            return [plot.min, plot.mean, plot.max];
        }
        [self.last.map(|row| row.best), None, self.last.map(|row| row.worst)]
    }

    pub(super) fn in_a_row(&self) -> Option<u64> {
        SECOND_NS.checked_div(self.period_us?.checked_mul(1_000)?).filter(|&n| n > 0)
    }

    /// Returns the stated number of samples, otherwise the number in the rows.
    pub(super) fn count(&self) -> Option<u64> {
        let stated = self.cells.get(AVG).and_then(|c| c.stated).map(|(n, _)| n).filter(|&n| n > 0);
        let plotted = self.plot.as_ref().and_then(|p| p.count);
        let rows = || self.in_a_row()?.checked_mul(self.rows).filter(|&n| n > 0 && n <= number::MOST_SAMPLES);
        stated.or(plotted).or_else(rows)
    }

    pub(super) fn block(self) -> Block {
        let context = self.context.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
        let thread = self.thread();
        let lost = self.faults();
        Block {
            label: format!("wakeup latency{context}"),
            line: self.line,
            before: self.before,
            threads: vec![thread],
            lost,
            ..Block::default()
        }
    }

    pub(super) fn thread(&self) -> Thread {
        let mut thread = Thread::new(self.cpu.unwrap_or(0), Samples::Summary, 1);
        thread.cpu = self.cpu;
        thread.period_ns = self.period_us.and_then(|us| us.checked_mul(1_000)).filter(|&ns| ns > 0);
        let [min, mean, max] = self.extremes();
        signed::extremes(&mut thread, min, mean, max);
        if self.overruns() == Some(0) {
            // The test counts missed periods, and there were none.
            thread.skips = Skips::Never;
        }
        let cells = self.cells.get(AVG).filter(|c| c.count > 0);
        if let Some(plot) = self.plot.as_ref().filter(|p| p.last.is_some()) {
            self.plotted(&mut thread, plot, max);
        } else if let Some(cells) = cells {
            self.binned(&mut thread, cells, max);
        } else {
            thread.count = self.count();
            let from_ns = thread.min_ns.unwrap_or(0);
            thread.beyond = match thread.count {
                Some(count) => Beyond::Counted { count, from_ns },
                None => Beyond::Unknown { from_ns },
            };
        }
        if self.whole {
            let text = "values without a fraction are taken as nanoseconds";
            thread.lost.push(Loss::reported(LostKind::Unit, None, text));
        }
        thread
    }

    pub(super) fn plotted(&self, thread: &mut Thread, plot: &Plot, max: Option<i64>) {
        let last = plot.last.unwrap_or(0).saturating_mul(CELL_NS);
        thread.beyond = match plot.over {
            Some(count) => Beyond::Counted { count, from_ns: last },
            // If the last line is missing, others may be missing as well.
            None if max.is_none() => Beyond::Unknown { from_ns: last },
            None => Beyond::None,
        };
        thread.count = plot.count;
        (thread.samples, thread.width_ns) = (Samples::Bins(plot.bins.clone()), CELL_NS);
    }

    /// Adds a histogram. Bins contain absolute values of latencies. The last one also contains all larger latencies,
    /// and its index is not stated.
    pub(super) fn binned(&self, thread: &mut Thread, cells: &Cells, max: Option<i64>) {
        let top = cells.last.unwrap_or(0).saturating_mul(CELL_NS);
        let over = match max.map(signed::ns) {
            Some(max) if max >= top.saturating_add(CELL_NS) => cells.bins.last().map(|&(_, n)| n),
            Some(_) => None,
            None => {
                thread.beyond = Beyond::Unknown { from_ns: top };
                None
            }
        };
        let mut bins = Bins::default();
        for &(cell, samples) in cells.bins.iter().filter(|&&(cell, _)| over.is_none() || Some(cell) != cells.last) {
            bins.add(cell.saturating_mul(CELL_NS), samples);
        }
        if let Some(count) = over {
            thread.beyond = Beyond::Counted { count, from_ns: top };
        }
        // The extremes cover whole seconds, while the histogram includes the last incomplete one.
        if thread.max_ns.is_some_and(|max| max < top) {
            thread.max_ns = None;
        }
        if thread.min_ns.zip(bins.range()).is_some_and(|(min, (lowest, _))| min >= lowest.saturating_add(CELL_NS)) {
            thread.min_ns = None;
        }
        thread.count = cells.stated.map(|(n, _)| n);
        (thread.samples, thread.width_ns) = (Samples::Bins(bins), CELL_NS);
    }

    pub(super) fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |kind, count, text: &str| lost.push(Loss::problem(kind, count, text));
        if self.rows > 0 && self.total.is_none() {
            problem(LostKind::Truncated, None, "the text ends before the run's totals (`RTS`)");
        }
        if self.late {
            problem(LostKind::Truncated, None, "the text begins in the middle of the run");
        }
        if self.odd > 0 {
            problem(LostKind::Disagreement, Some(self.odd), "rows are inconsistent");
        }
        if self.jumps > 0 {
            let text = "a best or worst value occurs in no row: rows are missing";
            problem(LostKind::Gap, Some(self.jumps), text);
        }
        if self.uneven > 0 {
            let text = "pages have a different number of rows than the first page: rows are missing or duplicated";
            problem(LostKind::Gap, Some(self.uneven), text);
        }
        if self.twice {
            problem(LostKind::Disagreement, None, "the run's totals appear twice");
        }
        if let (Some(total), Some(last)) = (self.total, self.last)
            && (total.min > last.best
                || total.max < last.worst
                || total.overruns < last.overruns
                || total.switches < last.switches)
        {
            problem(LostKind::Disagreement, None, "the run's totals contradict its last row");
        }
        if self.total.is_some_and(|t| t.min > t.mean || t.mean > t.max) {
            problem(LostKind::Disagreement, None, "the run's totals are inconsistent");
        }
        self.time_faults(&mut lost);
        self.histogram_faults(&mut lost);
        if let Some(count) = self.overruns().filter(|&n| n > 0) {
            let text = "periods passed while the thread was late (overruns)";
            lost.push(Loss::reported(LostKind::SkippedPeriods, Some(count), text));
        }
        let switches = self.switches();
        if switches > 0 && self.evl {
            let text = "the thread left the real-time core unexpectedly: latmus calls its results unreliable";
            lost.push(Loss::problem(LostKind::Other, Some(switches), text));
        } else if switches > 0 {
            let text = "the thread left the real-time core (mode switches): latencies may be due to that";
            lost.push(Loss::reported(LostKind::Other, Some(switches), text));
        }
        lost
    }

    /// Checks the duration: a row covers a second, plus the periods missed in it.
    pub(super) fn time_faults(&self, lost: &mut Vec<Loss>) {
        let Some((seconds, period_us)) = self.total.and_then(|t| t.seconds).zip(self.period_us) else { return };
        if self.rows == 0 || self.late {
            return;
        }
        let missed = self.overruns().unwrap_or(0).saturating_mul(period_us) / 1_000_000;
        let of_rows = self.rows.saturating_add(missed);
        let slack = 3_u64.saturating_add(seconds / 50);
        if of_rows.saturating_add(slack) < seconds || self.rows > seconds {
            let text = format!("the run took {seconds} s, but has {} rows, each of which covers a second", self.rows);
            lost.push(Loss::problem(LostKind::Gap, None, text));
        }
    }

    pub(super) fn histogram_faults(&self, lost: &mut Vec<Loss>) {
        lost.extend(KINDS.iter().zip(&self.cells).filter_map(|(kind, cells)| cells.fault(kind)));
        let stated: Vec<bool> = self.cells.iter().map(|c| c.stated.is_some() || c.count > 0).collect();
        let mut problem = |kind, text: String| lost.push(Loss::problem(kind, None, text));
        // Either all three histograms have cells (-h), or none has (-s).
        let empty = |c: &Cells| c.bins.is_empty() && c.stated.is_some_and(|(n, _)| n > 0);
        let some = self.cells.iter().any(|c| !c.bins.is_empty()) && self.cells.iter().any(empty);
        if some || stated.contains(&true) && stated.contains(&false) {
            problem(LostKind::Truncated, "parts of the histograms are missing".into());
        }
        if stated.contains(&true) && self.total.is_none() {
            problem(LostKind::Truncated, "the text ends before the run's totals (`RTS`)".into());
        }
        let cells = self.cells.get(AVG);
        if let (Some((count, mean)), Some(total)) = (cells.and_then(|c| c.stated), self.total) {
            // The width of a cell, which -B changes, is not reported. The mean of few cells does not prove it.
            let cell = total.mean as f64 / CELL_NS as f64;
            if mean > 1.0 && total.min >= 0 && !(0.6..1.6).contains(&(cell / (mean + 0.5))) {
                problem(LostKind::Disagreement, "the bins of the histogram are not 1 µs wide (-B)".into());
            }
            let rows = self.in_a_row().map(|n| (n.saturating_mul(self.rows), n));
            if let Some((least, row)) = rows.filter(|_| self.rows > 0 && !self.late)
                && (count < least || count > least.saturating_add(row.saturating_mul(2)))
            {
                problem(
                    LostKind::Disagreement,
                    format!("the histogram has {count} samples, but the rows correspond to about {least}"),
                );
            }
        }
        let Some(plot) = &self.plot else { return };
        if plot.missing > 0 {
            problem(LostKind::Unreadable, "rows of the histogram are missing or duplicated".into());
        }
        let Some(last) = plot.last else {
            problem(LostKind::Truncated, "the text ends before the histogram".into());
            return;
        };
        let held = plot.bins.count.saturating_add(plot.over.unwrap_or(0));
        if let Some(count) = plot.count.filter(|&count| count != held) {
            problem(LostKind::Disagreement, format!("{count} samples are stated, but {held} are in the histogram"));
        }
        // The last row is the cell of the largest latency, or is marked.
        let top = plot.max.map(|max| signed::ns(max) / CELL_NS);
        if plot.over.is_none() && top.is_some_and(|top| top != last) {
            let text = "the histogram does not end at the largest latency";
            problem(LostKind::Truncated, text.into());
        }
        let low = plot.min.map(|min| signed::ns(min) / CELL_NS);
        if low.zip(plot.first).is_some_and(|(low, first)| low != first && plot.over != Some(held)) {
            let text = "the histogram does not begin at the smallest latency";
            problem(LostKind::Truncated, text.into());
        }
        if let Some(total) = self.total
            && (Some(total.min) != plot.min || Some(total.max) != plot.max || total.overruns != plot.overruns)
        {
            problem(LostKind::Disagreement, "histogram and totals contradict each other".into());
        }
    }
}
