//! Converts a table to a block, from its buckets and its summary, and detects contradictions.

use super::*;

impl Table {
    pub(super) fn line(&mut self, text: &str, filled: &mut usize) -> Taken {
        if !self.frequency {
            let rest = text.strip_prefix("Counter Freq:").or_else(|| text.strip_prefix("CPU Freq:"));
            let Some(rest) = rest else { return Taken::No };
            let lower = rest.to_ascii_lowercase();
            let read = words(&lower, "(mhz)").map(number::whole).collect::<Option<Vec<u64>>>();
            self.frequency = read.is_some_and(|read| read.len() == self.cpus.len());
            return if self.frequency { Taken::Yes } else { Taken::Unreadable };
        }
        if text == "..." {
            self.omitted = true;
            return Taken::Yes;
        }
        if let Some((name, rest)) = text.split_once("(us):") {
            return self.bucket(name.trim(), rest, filled);
        }
        let Some((at, rest)) = SUMMARY.iter().enumerate().find_map(|(at, key)| Some((at, text.strip_prefix(key)?)))
        else {
            return Taken::No;
        };
        self.summed(at, rest)
    }

    pub(super) fn bucket(&mut self, name: &str, rest: &str, filled: &mut usize) -> Taken {
        let Some(edge) = micros(name).filter(|&edge| edge > 0) else { return Taken::No };
        let (rest, last) = match rest.trim().strip_suffix("(including overflows)") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let counts = rest.split_ascii_whitespace().take(MOST_THREADS as usize + 1).map(number::samples);
        let Some(counts) = counts.collect::<Option<Vec<u64>>>().filter(|c| c.len() == self.cpus.len()) else {
            self.ragged = self.ragged.saturating_add(1);
            return Taken::Unreadable;
        };
        if self.overflow.is_some() || self.last.is_some_and(|last| edge <= last) {
            self.back = self.back.saturating_add(1);
            return Taken::Yes;
        }
        self.fine |= name.contains('.');
        self.steps(edge);
        (self.last, self.omitted) = (Some(edge), false);
        if last {
            self.overflow = Some(counts);
            return Taken::Yes;
        }
        for (&samples, bins) in counts.iter().zip(&mut self.columns) {
            if *filled < MOST_BINS && bins.add(edge, samples) {
                *filled = filled.saturating_add(usize::from(samples > 0));
            } else {
                self.ragged = self.ragged.saturating_add(1);
            }
        }
        Taken::Yes
    }

    /// Checks the step between two rows. All buckets are equally wide; only rows after `...` may be further apart.
    pub(super) fn steps(&mut self, edge: u64) {
        let Some(last) = self.last else {
            self.first = Some((edge, self.omitted));
            return;
        };
        let step = edge.saturating_sub(last);
        match self.width {
            // The first step without an omitted row is the width.
            None if !self.omitted => self.width = Some(step),
            Some(width) if !self.omitted && step != width => self.missing = self.missing.saturating_add(1),
            Some(width) if self.omitted && (step <= width || step % width != 0) => {
                self.missing = self.missing.saturating_add(1);
            }
            _ => {}
        }
    }

    pub(super) fn summed(&mut self, at: usize, rest: &str) -> Taken {
        let unit = if at == 4 { "(sec)" } else { "(us)" };
        // If there are no samples the mean is `-nan`.
        let read: Vec<Option<f64>> = words(rest, unit).map(number::decimal).collect();
        let plain = read.iter().enumerate().all(|(n, v)| v.is_some() || at == 1 && self.is_empty(n));
        let (Some(seen), Some(row)) = (self.seen.get_mut(at), self.summary.get_mut(at)) else { return Taken::No };
        *seen = seen.saturating_add(1);
        if read.len() != self.cpus.len() || !plain {
            self.ragged = self.ragged.saturating_add(1);
            return Taken::Unreadable;
        }
        if row.is_empty() {
            *row = read;
        }
        Taken::Yes
    }

    pub(super) fn is_empty(&self, column: usize) -> bool {
        let over = self.overflow.as_ref().and_then(|o| o.get(column)).copied().unwrap_or(0);
        over == 0 && self.columns.get(column).is_none_or(|c| c.count == 0)
    }

    pub(super) fn stated(&self, row: usize, column: usize) -> Option<f64> {
        self.summary.get(row)?.get(column).copied().flatten()
    }

    pub(super) fn stated_ns(&self, row: usize, column: usize) -> Option<u64> {
        let ns = (self.stated(row, column)? * 1_000.0).round();
        (ns <= number::LARGEST_NS as f64).then_some(ns as u64)
    }

    pub(super) fn unit_ns(&self) -> u64 {
        if self.fine { 1 } else { 1_000 }
    }

    pub(super) fn width_ns(&self) -> u64 {
        // Without a bias the buckets begin at 0, so the first edge is their width.
        let first = self.first.filter(|(_, omitted)| !omitted && !self.head.bias).map(|(edge, _)| edge);
        self.width.or(first).unwrap_or(self.unit_ns()).max(1)
    }

    /// Determines the range of latencies of a bucket named `e` from the smallest latency and the lowest bucket.
    pub(super) fn layout(&self) -> Layout {
        let apart = (0..self.columns.len()).filter_map(|n| {
            let lowest = self.columns.get(n)?.range()?.0;
            Some(lowest.saturating_sub(self.stated_ns(0, n)?))
        });
        let shifted = !self.head.bias && apart.min().is_some_and(|apart| apart > 0);
        match (shifted, self.version.as_deref().and_then(number::decimal)) {
            (false, _) => Layout::Named,
            (true, Some(version)) if version <= 2.8 => Layout::Shifted,
            (true, _) => Layout::Unknown,
        }
    }

    pub(super) fn block(self) -> Block {
        let layout = self.layout();
        let mut block = Block {
            label: "operating system noise".into(),
            line: self.head.line,
            before: self.head.before.clone(),
            threads: Vec::new(),
            lost: self.faults(),
            ..Block::default()
        };
        if layout == Layout::Unknown {
            let text = "this version of oslat names each bucket one step above the latencies that it prints: samples are placed at the name of their bucket, and the largest one a step above the printed maximum";
            block.lost.push(Loss::reported(LostKind::Resolution, None, text));
        }
        for (column, &cpu) in self.cpus.iter().enumerate() {
            block.threads.push(self.thread(column, cpu, layout));
        }
        block
    }

    pub(super) fn thread(&self, column: usize, cpu: u32, layout: Layout) -> Thread {
        let (unit, width) = (self.unit_ns(), self.width_ns());
        let shift = if layout == Layout::Shifted { unit } else { 0 };
        let mut bins = Bins::default();
        let named = self.columns.get(column).map(|c| c.filled.as_slice()).unwrap_or_default();
        for &(edge, samples) in named {
            bins.add(edge.saturating_sub(shift), samples);
        }
        let mut thread = Thread::new(cpu, Samples::Summary, width);
        if layout == Layout::Unknown {
            // Latencies are rounded up or down, depending on the version.
            thread.width_ns = width.saturating_add(unit);
        }
        let (min, max) = (self.stated_ns(0, column), self.stated_ns(2, column));
        let max = if layout == Layout::Unknown { max.map(|max| max.saturating_add(unit)) } else { max };
        let over = self.overflow.as_ref().and_then(|o| o.get(column)).copied();
        match (over, self.last) {
            (Some(0), _) => {}
            (Some(count), Some(edge)) => {
                let edge = edge.saturating_sub(shift);
                // The last bucket also contains all larger latencies, unless the largest latency lies in it.
                if max.is_none_or(|max| max > edge) || !bins.add(edge, count) {
                    thread.beyond = Beyond::Counted { count, from_ns: edge.saturating_sub(thread.width_ns) };
                }
            }
            (_, last) => thread.beyond = Beyond::Unknown { from_ns: last.unwrap_or(0) },
        }
        if !self.is_empty(column) {
            (thread.min_ns, thread.max_ns) = (min, max);
        }
        thread.mean_ns = self.mean(column).map(|ns| (ns - shift as f64).max(0.0));
        thread.samples = Samples::Bins(bins);
        (thread.cpu, thread.upper_edges, thread.skips) = (Some(cpu), true, Skips::NoPeriods);
        thread.got = self.head.priority.map(|priority| Scheduling::Fifo { priority });
        thread.lost = self.contradictions(column);
        thread
    }

    /// Returns the mean computed from the names of the buckets. oslat adds the samples beyond the last bucket of the
    /// first CPU to all CPUs.
    pub(super) fn mean(&self, column: usize) -> Option<f64> {
        let within = |n: usize| Some(self.stated_ns(2, n)? < self.last?);
        let usable = self.overflow.is_some() && within(0)? && within(column)? && !self.is_empty(column);
        self.stated(1, column).filter(|_| usable).map(|us| us * 1_000.0)
    }

    pub(super) fn contradictions(&self, column: usize) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |text: String| lost.push(Loss::problem(LostKind::Disagreement, None, text));
        if let (Some(min), Some(max), Some(apart)) =
            (self.stated_ns(0, column), self.stated_ns(2, column), self.stated_ns(3, column))
            && max.checked_sub(min) != Some(apart)
        {
            problem("`Max-Min` is not the difference between `Maximum` and `Minimum`".into());
        }
        let over = self.overflow.as_ref().and_then(|over| over.get(column)).copied().unwrap_or(0);
        if let (Some(max), Some(last)) = (self.stated_ns(2, column), self.last)
            && over > 0
            && self.layout() == Layout::Named
            && max < last
        {
            problem("the last bucket has samples, but `Maximum` is below it".into());
        }
        if let (Some(stated), Some(bins), Some(over), Some(last)) =
            (self.mean(column), self.columns.get(column), &self.overflow, self.last)
        {
            let over = over.get(column).copied().unwrap_or(0);
            let all = bins.filled.iter().copied().chain([(last, over)]);
            let (sum, count) =
                all.fold((0.0, 0.0), |(sum, count), (edge, n)| (sum + edge as f64 * n as f64, count + n as f64));
            let found = sum / count;
            if (found - stated).abs() > 0.6 + found * 1e-6 {
                problem(format!(
                    "the mean is stated as {:.3} µs, but that of the buckets is {:.3} µs",
                    stated / 1e3,
                    found / 1e3
                ));
            }
        }
        lost
    }

    pub(super) fn faults(&self) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |kind, count, text: &str| lost.push(Loss::problem(kind, count, text));
        if self.ragged > 0 {
            let text = "rows have a different number of columns than there are CPUs, or impossible values";
            problem(LostKind::Unreadable, Some(self.ragged), text);
        }
        if self.back > 0 {
            problem(
                LostKind::Unreadable,
                Some(self.back),
                "rows of the histogram repeat or decrease; they were skipped",
            );
        }
        let wide = self.width.unwrap_or(0);
        let begins_late =
            self.first.is_some_and(|(edge, omitted)| !omitted && !self.head.bias && wide > 0 && edge != wide);
        let missing = self.missing.saturating_add(u64::from(begins_late));
        if missing > 0 {
            problem(LostKind::Unreadable, Some(missing), "rows of the histogram are missing");
        }
        if self.overflow.is_none() || self.seen.last() == Some(&0) {
            let text = "the text ends before the histogram's last row and its summary";
            problem(LostKind::Truncated, None, text);
        } else if self.seen.contains(&0) {
            problem(LostKind::Unreadable, None, "rows of the histogram's summary are missing");
        }
        let twice = self.seen.iter().filter(|&&n| n > 1).count() as u64;
        if twice > 0 {
            problem(LostKind::Disagreement, Some(twice), "rows of the histogram's summary appear twice");
        }
        let mut cpus = self.cpus.clone();
        cpus.arrange_by_key(|&cpu| cpu);
        if cpus.windows(2).any(|w| w.first() == w.last()) {
            problem(LostKind::Disagreement, None, "a CPU appears twice");
        }
        lost
    }
}
