//! Implements `kernel plan`, which shows which kernel a board needs and the steps to build and deploy it.

use super::args::PlanArgs;
use super::inputs::{machine, text_file};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::harmless;
use punctual_kernel::patch::index;
use punctual_kernel::{Patched, Request, Situation, plan};

/// Maximum size of an index page, bytes; real pages have a few hundred kilobytes.
const LARGEST_INDEX: usize = 4 << 20;
const LARGEST_FRAGMENT: usize = 4 << 20;

pub fn run(args: &PlanArgs) -> Result<Answer, Refusal> {
    let live = machine(args.root.as_deref())?;
    let situation = Situation::of(&live, args.board.as_deref()).map_err(Refusal::usage)?;
    let mut fragments = Vec::new();
    for path in &args.fragments {
        let text = text_file(path, LARGEST_FRAGMENT)?;
        punctual_kernel::config::requested(&text)
            .map_err(|error| Refusal::usage(format!("{}: {error}", path.display())))?;
        fragments.push(path.display().to_string());
    }
    let newest_rt = newest(args)?;
    let request = Request { series: args.series, hz: args.hz, tracers: args.tracers.clone(), fragments, newest_rt };
    let plan = plan(&situation, &request).map_err(Refusal::usage)?;
    Ok(Answer::new(args.output, 0, || &plan, || harmless(&plan.to_string())))
}

fn newest(args: &PlanArgs) -> Result<Option<Patched>, Refusal> {
    let Some(path) = &args.index else { return Ok(None) };
    let page = index::read(&text_file(path, LARGEST_INDEX)?);
    match page.newest(args.series) {
        Some(newest) => Ok(Some(newest)),
        None => Err(Refusal::usage(format!(
            "{} lists no real-time patch{}: save the page https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/",
            path.display(),
            args.series.map(|s| format!(" of {s}")).unwrap_or_default()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use crate::args::Arguments;
    use clap::Parser;
    use punctual_kernel::{Plan, Request, Situation, Source, boards, plan, series};

    /// Returns plans for every board in every series that it supports, built on the board and cross-built.
    fn plans() -> Vec<Plan> {
        let mut all = Vec::new();
        for board in boards() {
            for requested in std::iter::once(None).chain(series().iter().map(|entry| Some(entry.name))) {
                for machine in [None, board.machines.first().cloned()] {
                    let situation = Situation { machine, ..Situation::of_board(&board.key).unwrap() };
                    let request = Request { series: requested, hz: Some(1000), ..Request::default() };
                    all.extend(plan(&situation, &request));
                }
            }
        }
        all
    }

    /// Returns the command without `sudo` and without a trailing comment.
    fn plain(command: &str) -> &str {
        let command = command.split("   #").next().unwrap_or_default();
        command.strip_prefix("sudo ").unwrap_or(command)
    }

    #[test]
    fn every_command_of_ours_in_every_plan_is_taken_by_the_parser() {
        let (plans, mut taken) = (plans(), 0);
        assert!(plans.len() > 60, "{} plans", plans.len());
        for command in plans.iter().flat_map(|plan| &plan.steps).flat_map(|step| &step.commands) {
            let words: Vec<&str> = plain(command).split_whitespace().collect();
            if words.first() == Some(&"punctual") {
                Arguments::try_parse_from(&words).unwrap_or_else(|error| panic!("{command}\n{error}"));
                taken += 1;
            }
        }
        assert!(taken > 7 * 60, "{taken} commands");
    }

    #[test]
    fn what_is_built_is_fetched_built_packaged_tried_and_kept_by_words_of_ours() {
        let words = ["preflight", "fetch", "configure", "build", "package", "deploy", "verify", "commit", "rollback"];
        for plan in plans() {
            assert!(plan.source.is_built(), "a board alone has no package");
            let commands: Vec<&str> =
                plan.steps.iter().flat_map(|step| &step.commands).map(|command| plain(command)).collect();
            for word in words {
                let wanted = format!("punctual kernel {word} ");
                let found = commands.iter().filter(|c| format!("{c} ").starts_with(&wanted)).count();
                assert!(found >= 1, "{}: no `{wanted}` in {commands:#?}", plan.board);
            }
            // The user chooses the keys, and the content of rt.config is shown below the plan.
            let foreign = commands.iter().filter(|c| !c.starts_with("punctual ") && !c.starts_with("gpg "));
            let foreign: Vec<_> = foreign.filter(|c| !c.starts_with('#')).collect();
            assert!(foreign.is_empty(), "{}: {foreign:?}", plan.board);
        }
    }

    #[test]
    fn a_patch_is_asked_for_where_the_source_has_no_real_time_part_of_its_own() {
        for plan in plans() {
            let text = plan.to_string();
            let is_patched = matches!(plan.source, Source::PiTreePatched { .. } | Source::StableRt { .. });
            assert_eq!(text.contains(" --patch https://cdn.kernel.org/"), is_patched, "{text}");
        }
    }

    #[test]
    fn an_old_board_is_told_what_others_ran_into() {
        let request = Request { series: Some("4.19".parse().unwrap()), ..Request::default() };
        let said = |board: &str| plan(&Situation::of_board(board).unwrap(), &request).unwrap().to_string();
        let (four, three) = (said("raspberry-pi-4-32"), said("raspberry-pi-3-32"));
        for text in [&four, &three] {
            for word in [
                "CONFIG_HZ is 100",
                "SPI and I2C",
                "USB",
                "another sublevel",
                "arm-linux-gnueabihf-gcc",
                "maintenance of 4.19",
            ] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
        assert!(four.contains("kernel7l.img") && four.contains("USB controller of later revisions"), "{four}");
        assert!(three.contains("kernel7.img") && three.contains("--append dwc_otg.fiq_fsm_enable=0"), "{three}");
        assert!(three.contains("CONFIG_PREEMPT_RT_FULL=y") && three.contains("CONFIG_FB_SIMPLE"), "{three}");
    }
}
