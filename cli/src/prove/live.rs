//! Implements `--tui`, which shows a run while it is measured.

use punctual_live::{Controls, Settings, Unfit, View};
use punctual_model::{ContextSample, Explained, Phase, Recording, Worst};
use punctual_proof::{Observer, Options, Watching, When};
use punctual_units::{CpuId, Nanos};

/// The live view of a run.
pub struct Live {
    view: View,
    /// True if late wakeups may be traced.
    traced: bool,
}

impl Live {
    /// Creates the live view for a command with these options.
    ///
    /// # Errors
    /// There is no terminal on which to show it.
    pub fn new(command: &str, options: &Options) -> Result<Live, Unfit> {
        let settings = Settings {
            command: command.into(),
            context: options.context,
            deadline: options.deadline,
            planned: Nanos(options.duration.0 / options.loads.len().max(1) as u64),
        };
        Ok(Live { view: View::new(&settings)?, traced: options.trace.when != When::Never })
    }
}

impl Observer for Live {
    fn phase_starts(&mut self, number: usize, of: usize, load: &str, _: Nanos) {
        self.view.phase_starts(number, of, load);
        if number == 1 && self.traced {
            self.view.status(vec!["Causes of late wakeups are shown after each load.".into()]);
        }
    }

    fn phase_runs(&mut self, watching: Watching) {
        let (cells, start) = (watching.cells.clone(), watching.start);
        self.view.phase_runs(punctual_live::Phase { cells, start, controls: Box::new(Asked(watching)) });
    }

    fn phase_ended(&mut self, _: &Phase, _: Option<&Worst>) {
        self.view.phase_ended();
    }

    fn wants_causes(&self) -> bool {
        self.traced
    }

    fn explained(&mut self, run: &Recording, explained: &[Explained]) {
        let lines = punctual_report::causes_so_far(run, explained);
        if !lines.is_empty() {
            self.view.status(lines);
        }
    }

    fn measured(&mut self) -> Vec<String> {
        let cost = self.view.measured();
        let cpus = if cost.shared { "on some of the measured CPUs" } else { "on CPUs that were not measured" };
        let each = Nanos(cost.cpu_ns / cost.pictures.max(1));
        let drawn = format!("the live view drew {} frames, each with {each} of CPU time, {cpus}", cost.pictures);
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
