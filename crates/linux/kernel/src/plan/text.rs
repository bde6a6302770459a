use super::{Plan, Step};
use crate::Verified;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = match self.board_verified {
            Verified::Hardware => "tried on the board",
            Verified::Qemu => "tried in QEMU only",
            Verified::Model => "not tried",
        };
        writeln!(f, "board      {} ({}), {tried}: {}", self.board, self.arch.name(), self.board_verified_by)?;
        writeln!(f, "system     {}", self.os.as_deref().unwrap_or("not known"))?;
        if let Some(loader) = &self.loader {
            writeln!(f, "loader     {loader}")?;
        }
        let rt = match self.running_rt {
            Some(true) => "PREEMPT_RT",
            Some(false) => "not PREEMPT_RT",
            None => "unknown whether PREEMPT_RT",
        };
        match &self.running {
            Some(release) => writeln!(f, "running    {release}, {rt}")?,
            None => writeln!(f, "running    unknown")?,
        }
        writeln!(f, "kernel     {}", self.why)?;
        for other in &self.passed_over {
            writeln!(f, "not        {}: {}", other.way, other.why)?;
        }
        for (number, step) in self.steps.iter().enumerate() {
            write_step(f, number + 1, step)?;
        }
        if let Some(fragment) = &self.fragment {
            writeln!(f, "\nrt.config")?;
            fragment.lines().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        if !self.warnings.is_empty() {
            writeln!(f, "\nwarnings")?;
            self.warnings.iter().try_for_each(|warning| writeln!(f, "  - {warning}"))?;
        }
        Ok(())
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, number: usize, step: &Step) -> fmt::Result {
    writeln!(f, "\n{number}. {}", step.title)?;
    writeln!(f, "   why   {}", step.why)?;
    match &step.time {
        Some(t) if t.minutes_max <= 1 => write!(f, "   time  about a minute ({})", t.basis)?,
        Some(t) => write!(f, "   time  {}–{} minutes ({})", t.minutes_min, t.minutes_max, t.basis)?,
        None => write!(f, "   time  unknown")?,
    }
    match step.disk_mb {
        Some(0) => writeln!(f, ", no disk")?,
        Some(mb) => writeln!(f, ", disk {mb} MB")?,
        None => writeln!(f, ", disk unknown")?,
    }
    if !step.risk.is_empty() {
        writeln!(f, "   risk  {}", step.risk)?;
    }
    step.commands.iter().try_for_each(|command| writeln!(f, "     {command}"))
}
