//! Rows of tables that a mail client or a terminal broke.

/// Joins the rows with a figure for each thread that a mail client broke: `# Max Latencies:` of cyclictest, `Maximum:` of oslat.
pub(super) fn whole_rows(head: &str) -> String {
    /// Shorter lines are not broken.
    const WIDTH: usize = 60;
    const ROWS: [&str; 7] = [
        "# Total:",
        "# Min Latencies:",
        "# Avg Latencies:",
        "# Max Latencies:",
        "# Histogram Overflows:",
        "Core:",
        "Maximum:",
    ];
    let is_figure = |word: &str| word == "(us)" || word.bytes().all(|b| b.is_ascii_digit());
    let mut out = String::new();
    // Length of the last line, if it is part of such a row.
    let mut last = None;
    for line in head.lines() {
        let mut words = line.split_whitespace().peekable();
        let goes_on = words.peek().is_some() && words.all(is_figure) && last.is_some_and(|length| length >= WIDTH);
        let begins = ROWS.iter().any(|row| line.trim_start().starts_with(row));
        last = (begins || goes_on).then_some(line.trim_end().len());
        out.push_str(if goes_on { " " } else { "\n" });
        out.push_str(if goes_on { line.trim() } else { line });
    }
    out.push('\n');
    out
}

/// Returns the rows `0 #4 4000000 37712 …` of rtla's top display, with what a mail client or terminal moved to the next lines. A
/// terminal breaks lines at a column, within figures: so it did if it broke the last word of the heading at that column.
pub(super) fn rows_of_top(head: &str) -> Vec<(u32, String)> {
    let is_rest = |line: &str| {
        let mut words = line.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| word == "|" || word.parse::<f64>().is_ok())
    };
    // Figures are aligned with the ends of the headings: the first words of two lines that were broken may differ in length.
    let ends = |line: &str| [line.len(), line.len().saturating_sub(line.find(' ').unwrap_or(0))];
    let is_broken = |line: &str, next: &str| {
        let word = line.split_whitespace().next_back().unwrap_or_default();
        ["Thread", "Threads"].iter().any(|whole| *whole != word && whole.strip_prefix(word) == Some(next.trim()))
    };
    let mut headings = head.lines().map(str::trim_end).zip(head.lines().skip(1));
    let broken = headings.find(|(line, next)| is_broken(line, next)).map(|(line, _)| ends(line));
    let mut rows: Vec<(u32, String)> = Vec::new();
    // The last line of the row, if the row may go on.
    let mut last = None;
    for line in head.lines().map(str::trim_end) {
        let first = line.trim_start().split_once(" #");
        let first = first.and_then(|(cpu, rest)| Some((cpu.trim().parse::<u32>().ok()?, rest)));
        if let Some((cpu, rest)) = first {
            rows.push((cpu, rest.to_owned()));
            last = Some(line);
        } else if let Some((before, (_, row))) = last.zip(rows.last_mut()).filter(|_| is_rest(line)) {
            let is_within = broken.is_some_and(|broken| ends(before).iter().zip(broken).any(|(a, b)| *a == b));
            // A group of timerlat has four figures; the bar before the next one may have been taken for a quotation.
            let is_full = row.rsplit_once('|').is_some_and(|(_, group)| group.split_whitespace().count() == 4);
            if is_full && !line.trim_start().starts_with('|') {
                row.push_str(" | ");
            } else if !is_within || line.starts_with(' ') {
                row.push(' ');
            }
            row.push_str(line);
            last = Some(line);
        } else {
            last = None;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::summary;

    fn said(text: &str) -> String {
        summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn rows_of_rtla_that_were_broken_are_joined() {
        let top = "     Operating System Noise\nCPU Period  Runtime  Noise  % CPU Aval   Max Noise\n\
                   Single  HW  NMI  IRQ  Softirq  Threa\nd\n 0 #4   4000000   37712   99.05720   10998\n\
                   555  7624   0  4011   34        2\n4\n";
        let counts = "7624 by hardware or a hypervisor, 0 NMIs, 4011 interrupts, 34 softirqs, 24 threads";
        assert!(said(top).contains(counts), "{}", said(top));
        let unknown = top.replace("Threa\nd", "Thread");
        assert!(
            said(&unknown).contains("is 555 us on CPU 0") && !said(&unknown).contains("interrupts"),
            "{}",
            said(&unknown)
        );
        let hardware = "   Hardware-related Noise\nCPU Period  Runtime  Noise  % CPU Aval  Max Noise  Max Single  HW  NMI\n 1 #5  5000000  38  99.99924  3  3  4  \
                        74\n 4 #5  5000000  21  99.99958  4  4  2  75\n";
        let text = said(hardware);
        assert!(text.starts_with("the table of rtla hwnoise") && text.contains("is 4 us on CPU 4"), "{text}");
        assert!(text.contains("at most 4 noises by hardware or a hypervisor and 75 NMIs"), "{text}");
        let timerlat = "   Timer Latency\n 0 #823 | 24 0 1 24\n| 1035 3 7 1035\n 1 #824 | 1 0 1 40 | 6 2 6\n11\n";
        assert!(said(timerlat).contains("is 1035 us on CPU 0, where the interrupt's was 24"), "{}", said(timerlat));
    }
}
