//! The steps for each source. Commands are for a shell, using this program where possible; words in capitals are
//! placeholders.

mod build;
mod owned;
mod trial;

use super::{Estimate, Request, Situation, Source, Step};

pub(super) fn steps(at: &Situation, request: &Request, source: &Source) -> Vec<Step> {
    match source {
        Source::Running => vec![trial::verify(at)],
        Source::CoKernel { core } => vec![core_tests(core)],
        Source::Package { package, install } => {
            let mut all = vec![installed(at, package, install)];
            all.extend(owned::of_package(at));
            all
        }
        built => {
            let mut all = vec![build::preflight(at, built)];
            all.extend(build::fetch(built));
            all.push(build::configure(at, request, built));
            all.push(build::compile(at, built));
            all.push(build::package(at));
            all.extend(trial::of_built(at, built));
            all
        }
    }
}

/// Returns the step that runs the core's own latency test: `latency` in the test suites of Xenomai and RTAI, `latmus`
/// in libevl's.
fn core_tests(core: &str) -> Step {
    let command = match core {
        "EVL" => "sudo evl test   # and: sudo latmus -m",
        "Xenomai" => "sudo latency -T 60   # /usr/xenomai/bin, Xenomai's test suite",
        "RTAI" => "cd /usr/realtime/testsuite/kern/latency && sudo ./run",
        _ => "cat /proc/ipipe/version; ls /proc/xenomai /proc/rtai /sys/class/evl   # which core uses it",
    };
    Step {
        title: format!("check with {core}'s own tests"),
        commands: vec![line(command)],
        why: "punctual measures Linux threads, not those of the core; punctual import reads the results of these tests"
            .to_owned(),
        time: None,
        disk_mb: Some(0),
        risk: String::new(),
    }
}

fn installed(at: &Situation, package: &str, install: &[String]) -> Step {
    let after = at.system.as_ref().and_then(|system| system.own_entry()?.after.clone());
    let after = after.map(|text| format!("; {}", text.replace("{package}", package))).unwrap_or_default();
    Step {
        title: format!("install {package}"),
        commands: owned::before(at).into_iter().chain(install.iter().cloned()).collect(),
        why: format!("the package manager verifies the signature and installs the package beside the running kernel{after}"),
        time: None,
        disk_mb: None,
        risk: "the boot loader may make the new kernel its default immediately; the old one stays installed; a full boot partition \
               breaks the installation (df -h /boot)"
            .to_owned(),
    }
}

/// Creates a step that needs almost no space, and whose time was not measured.
fn small(title: &str, commands: Vec<String>, why: &str, risk: &str) -> Step {
    let (title, why, risk) = (title.to_owned(), why.to_owned(), risk.to_owned());
    let time = Some(Estimate { minutes_min: 0, minutes_max: 1, basis: "it copies or writes little data" });
    Step { title, commands, why, time, disk_mb: Some(0), risk }
}

/// Returns lines for rt.config if the base is a distribution's configuration, whose debug information makes a build
/// many times larger (lib/Kconfig.debug: DEBUG_INFO_NONE since 5.18, commit f9b3cd245784).
pub(super) fn without_debug_info(source: &Source) -> Option<&'static str> {
    let series = source.built().filter(|_| !build::has_own_defconfig(source))?;
    let is_choice = series >= crate::Series { major: 5, minor: 18 };
    Some(if is_choice {
        "# Debug information makes the build many times larger.\nCONFIG_DEBUG_INFO_NONE=y\n"
    } else {
        "# Debug information makes the build many times larger.\n# CONFIG_DEBUG_INFO is not set\n"
    })
}

fn line(text: impl Into<String>) -> String {
    text.into()
}
