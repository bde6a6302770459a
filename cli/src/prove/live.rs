//! `--tui`: shows a run while it is measured.

use punctual_live::{Controls, Settings, Unfit, View};
use punctual_model::{ContextSample, Phase, Worst};
use punctual_proof::{Observer, Options, Watching};
use punctual_units::{CpuId, Nanos};

/// A live view attached to a run.
pub struct Live(View);

impl Live {
    /// # Errors
    /// There is no terminal to show it on.
    pub fn new(command: &str, options: &Options) -> Result<Live, Unfit> {
        let settings = Settings {
            command: command.into(),
            context: options.context,
            deadline: options.deadline,
            planned: Nanos(options.duration.0 / options.loads.len().max(1) as u64),
        };
        View::new(&settings).map(Live)
    }
}

impl Observer for Live {
    fn phase_starts(&mut self, number: usize, of: usize, load: &str, _: Nanos) {
        self.0.phase_starts(number, of, load);
    }

    fn phase_runs(&mut self, watching: Watching) {
        let (cells, start) = (watching.cells.clone(), watching.start);
        self.0.phase_runs(punctual_live::Phase { cells, start, controls: Box::new(Asked(watching)) });
    }

    fn phase_ended(&mut self, _: &Phase, _: Option<&Worst>) {
        self.0.phase_ended();
    }

    fn measured(&mut self) -> Vec<String> {
        let cost = self.0.measured();
        let cpus = if cost.shared { "shared with the measured CPUs" } else { "on CPUs that were not measured" };
        let each = Nanos(cost.cpu_ns / cost.pictures.max(1));
        let drawn = format!("the live view drew {} frames of {each} CPU time each, {cpus}", cost.pictures);
        std::iter::once(drawn).chain(cost.trouble.map(|why| format!("the live view ended early: {why}"))).collect()
    }
}

struct Asked(Watching);

impl Controls for Asked {
    fn counters(&self) -> (Option<ContextSample>, Vec<(CpuId, u64)>) {
        let seen = self.0.seen();
        (seen.context, seen.khz)
    }

    fn mark(&self) -> u64 {
        self.0.mark()
    }

    fn next(&self) {
        self.0.next();
    }
}
