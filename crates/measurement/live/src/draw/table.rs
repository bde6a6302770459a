use super::canvas::{BOLD, Canvas, DIM, Look, PLAIN, WARN};
use super::text::{count, latency, share};
use crate::snapshot::{CpuView, Snapshot};

/// A column of the table: its title, its width, and the order in which columns are dropped if space is short (the
/// highest value first).
struct Column {
    title: &'static str,
    width: usize,
    spare: u8,
    of: fn(&Snapshot, &CpuView, &Canvas) -> (String, Look),
}

const COLUMNS: [Column; 8] = [
    Column { title: "CPU", width: 5, spare: 0, of: |_, v, _| (v.cpu.to_string(), BOLD) },
    Column { title: "wakeups", width: 10, spare: 5, of: |_, v, _| (count(v.ran), PLAIN) },
    Column {
        title: "skipped",
        width: 10,
        spare: 2,
        of: |_, v, _| (count(v.skipped), if v.skipped > 0 { WARN } else { PLAIN }),
    },
    Column { title: "min", width: 9, spare: 4, of: |_, v, c| (latency(v.min, c.looks), PLAIN) },
    Column { title: "median", width: 9, spare: 3, of: |_, v, c| (latency(v.median, c.looks), PLAIN) },
    Column { title: "p99", width: 9, spare: 1, of: |s, v, c| (latency(v.p99, c.looks), late(s, v.p99, PLAIN)) },
    Column { title: "worst", width: 10, spare: 0, of: |s, v, c| (latency(v.worst, c.looks), late(s, v.worst, BOLD)) },
    Column { title: "steal", width: 9, spare: 6, of: |_, v, c| (share(v.steal, c.looks), PLAIN) },
];

fn late(snapshot: &Snapshot, ns: Option<u64>, otherwise: Look) -> Look {
    let late = ns.zip(snapshot.deadline).is_some_and(|(ns, deadline)| ns > deadline.0);
    if late { WARN } else { otherwise }
}

/// Draws the table from line `y` on. Returns the line after the table.
pub(super) fn draw(snapshot: &Snapshot, cpus: &[&CpuView], canvas: &mut Canvas, y: u16) -> u16 {
    let columns = fitting(usize::from(canvas.size().0));
    let mut x = 0;
    for column in &columns {
        let width = column.width;
        x = canvas.put(x, y, &format!("{:>width$}", column.title), DIM);
    }
    let mut line = y + 1;
    for view in cpus {
        let mut x = 0;
        for column in &columns {
            let (text, look) = (column.of)(snapshot, view, canvas);
            let width = column.width;
            x = canvas.put(x, line, &format!("{text:>width$}"), look);
        }
        line = line.saturating_add(1);
    }
    line
}

fn fitting(width: usize) -> Vec<&'static Column> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    while columns.iter().map(|c| c.width).sum::<usize>() > width
        && let Some(spare) = (0..columns.len()).max_by_key(|&i| columns.get(i).map(|c| c.spare))
        && columns.len() > 1
    {
        columns.remove(spare);
    }
    columns
}
