//! Checks the bins of a histogram (`-h`) against its stated number, mean and deviation.

use super::*;

impl Cells {
    pub(super) fn add(&mut self, cell: u64, samples: u64, filled: &mut usize) {
        let back = self.last.is_some_and(|last| cell <= last) || *filled >= MOST_BINS;
        let count = self.count.checked_add(samples).filter(|&n| n <= number::MOST_SAMPLES);
        let Some(count) = count.filter(|_| !back) else {
            self.back = self.back.saturating_add(1);
            return;
        };
        *filled = filled.saturating_add(1);
        (self.last, self.count) = (Some(cell), count);
        self.bins.push((cell, samples));
    }

    pub(super) fn fault(&self, kind: &str) -> Option<Loss> {
        let problem = |kind, count, text: String| Some(Loss::problem(kind, count, text));
        if self.back > 0 {
            let text = format!("rows of the histogram of `{kind}` repeat or decrease; they were skipped");
            return problem(LostKind::Unreadable, Some(self.back), text);
        }
        let Some((stated, mean)) = self.stated else {
            let text = format!("the text ends before the total of the histogram of `{kind}`");
            return (!self.bins.is_empty()).then(|| problem(LostKind::Truncated, None, text)).flatten();
        };
        // Without -h there are no cells.
        if self.bins.is_empty() {
            return None;
        }
        if stated != self.count {
            let text = format!("{stated} samples are stated, but {} are in the histogram of `{kind}`", self.count);
            return problem(LostKind::Disagreement, None, text);
        }
        let sum: f64 = self.bins.iter().map(|&(cell, n)| cell as f64 * n as f64).sum();
        let found = sum / self.count.max(1) as f64;
        // The tool sums in 32 bits, which overflow in long runs.
        let exact = sum < 2_147_483_647.0;
        ((found - mean).abs() > 0.000_6 && exact)
            .then(|| {
                problem(
                    LostKind::Disagreement,
                    None,
                    format!("the mean of `{kind}` is stated as {mean}, but that of its histogram is {found:.3}"),
                )
            })
            .flatten()
    }
}
