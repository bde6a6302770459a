//! The steps for each source. Commands are for a shell, this program's own where it has one; words in capitals are
//! placeholders.

mod build;
mod trial;

use super::{Estimate, Situation, Source, Step, Wish};

pub(super) fn steps(at: &Situation, wish: &Wish, source: &Source) -> Vec<Step> {
    match source {
        Source::Running => vec![trial::verify(at)],
        Source::Package { package, install } => {
            let mut all = vec![installed(package, install)];
            all.extend(trial::of_package(at));
            all
        }
        built => {
            let mut all = vec![build::preflight(at, built)];
            all.extend(build::fetch(built));
            all.push(build::configure(at, wish, built));
            all.push(build::compile(at));
            all.push(build::package(at));
            all.extend(trial::of_built(at, built));
            all
        }
    }
}

fn installed(package: &str, install: &str) -> Step {
    let update = if install.contains("apt-get") { vec!["sudo apt-get update".to_owned()] } else { Vec::new() };
    Step {
        title: format!("install {package}"),
        commands: update.into_iter().chain([install.to_owned()]).collect(),
        why: "the package manager checks the signature and puts it beside the running kernel".to_owned(),
        time: None,
        disk_mb: None,
        risk: "the boot loader may take the new kernel as its default at once: the old one stays installed and can be chosen \
               in its menu; a full boot partition breaks the installation (df -h /boot)"
            .to_owned(),
    }
}

/// A step without measured time that needs almost no space.
fn small(title: &str, commands: Vec<String>, why: &str, risk: &str) -> Step {
    let (title, why, risk) = (title.to_owned(), why.to_owned(), risk.to_owned());
    let time = Some(Estimate { minutes_min: 0, minutes_max: 1, basis: "it copies or writes little" });
    Step { title, commands, why, time, disk_mb: Some(0), risk }
}

fn line(text: impl Into<String>) -> String {
    text.into()
}
