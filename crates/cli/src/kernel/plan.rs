//! `kernel plan`.

use super::args::PlanArgs;
use super::{Result, machine, shown, text_file, usage};
use crate::exit;
use punctual_kernel::patch::index;
use punctual_kernel::{Patched, Situation, Wish, plan};
use std::process::ExitCode;

/// An index page has some hundred kilobytes.
const LARGEST_INDEX: usize = 4 << 20;
const LARGEST_FRAGMENT: usize = 4 << 20;

/// Prints the plan.
pub fn run(args: &PlanArgs) -> ExitCode {
    shown("plan", args.output, planned(args))
}

fn planned(args: &PlanArgs) -> Result {
    let live = machine(args.root.as_deref())?;
    let situation = Situation::of(&live, args.board.as_deref()).map_err(usage)?;
    let mut fragments = Vec::new();
    for path in &args.fragments {
        let text = text_file(path, LARGEST_FRAGMENT)?;
        punctual_kernel::config::requested(&text).map_err(|error| usage(format!("{}: {error}", path.display())))?;
        fragments.push(path.display().to_string());
    }
    let newest_rt = newest(args)?;
    let wish = Wish { series: args.series, hz: args.hz, tracers: args.tracers.clone(), fragments, newest_rt };
    let plan = plan(&situation, &wish).map_err(usage)?;
    let json = serde_json::to_value(&plan).map_err(|error| (exit::ENVIRONMENT, error.to_string()))?;
    Ok((0, plan.to_string(), json))
}

fn newest(args: &PlanArgs) -> std::result::Result<Option<Patched>, (u8, String)> {
    let Some(path) = &args.index else { return Ok(None) };
    let page = index::read(&text_file(path, LARGEST_INDEX)?);
    match page.newest(args.series) {
        Some(newest) => Ok(Some(newest)),
        None => Err(usage(format!(
            "{} names no real-time patch{}: save the page https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/",
            path.display(),
            args.series.map(|s| format!(" of {s}")).unwrap_or_default()
        ))),
    }
}
