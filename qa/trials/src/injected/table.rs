use super::score::Row;
use std::fmt::Write;

pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    let head = "| kernel | injection | late, injected | right | wrong, high | wrong, medium | wrong, suspected | not found | > 5 % unaccounted | plainly within 5 points | \
                log vague | preempted later | late, not injected |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    out.push_str(head);
    let mut sum = Row { kernel: "all".into(), ..Row::default() };
    for row in rows.iter().filter(|row| row.impossible.is_none()) {
        line(&mut out, row);
        add(&mut sum, row);
    }
    line(&mut out, &sum);
    let right = 100.0 * f64::from(sum.right) / f64::from(sum.injected.max(1));
    let _ = writeln!(out, "\n{right:.1} % right of {}, {} wrong with \"high\"", sum.injected, sum.wrong[2]);
    for row in rows {
        if let Some(why) = &row.impossible {
            let _ = writeln!(out, "  {} {}: {why}", row.kernel, row.injection);
        }
        for note in &row.notes {
            let _ = writeln!(out, "  WRONG {} {}: {note}", row.kernel, row.injection);
        }
    }
    out
}

fn line(out: &mut String, row: &Row) {
    let Row { kernel, injection, injected, right, wrong: [suspected, medium, high], .. } = row;
    let Row { missing, uncovered, close, vague, later, unplanned, .. } = row;
    let _ = writeln!(
        out,
        "| {kernel} | {injection} | {injected} | {right} | {high} | {medium} | {suspected} | {missing} | {uncovered} | {close} | {vague} | {later} | {unplanned} |"
    );
}

fn add(sum: &mut Row, row: &Row) {
    sum.injected += row.injected;
    sum.right += row.right;
    sum.wrong.iter_mut().zip(row.wrong).for_each(|(sum, n)| *sum += n);
    sum.missing += row.missing;
    sum.uncovered += row.uncovered;
    sum.close += row.close;
    sum.vague += row.vague;
    sum.later += row.later;
    sum.unplanned += row.unplanned;
}
