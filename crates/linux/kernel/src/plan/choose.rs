//! Chooses the source of a kernel: the cheapest one that satisfies the request.

use super::package::{of_version, package};
use super::{PassedOver, PlanError, Request, Situation};
use crate::{Arch, Patched, RtBy, Series, SeriesEntry, Verified, series, source_packages};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// The running kernel is sufficient.
    Running,
    /// The running kernel has a real-time core beside Linux, which any other kernel would lack.
    CoKernel {
        /// Name of the core: `Xenomai`, `EVL`, …
        core: String,
    },
    Package {
        package: String,
        install: Vec<String>,
    },
    DistributionSource {
        package: String,
        series: Series,
    },
    /// Built from the Raspberry Pi's tree, with PREEMPT_RT from mainline.
    PiTree {
        branch: String,
        series: Series,
    },
    /// Built from the Raspberry Pi's tree with the published patch.
    PiTreePatched {
        branch: String,
        /// A release of the branch that has a patch, if known; otherwise the newest one is determined when it is
        /// fetched.
        patched: Option<Patched>,
        series: Series,
    },
    Mainline {
        series: Series,
    },
    StableRt {
        /// The patch, if known; otherwise the newest patch in the published index is used.
        patched: Option<Patched>,
        series: Series,
    },
}

impl Source {
    pub fn is_built(&self) -> bool {
        self.built().is_some()
    }

    pub fn built(&self) -> Option<Series> {
        match self {
            Source::Running | Source::CoKernel { .. } | Source::Package { .. } => None,
            Source::DistributionSource { series, .. }
            | Source::PiTree { series, .. }
            | Source::PiTreePatched { series, .. }
            | Source::Mainline { series }
            | Source::StableRt { series, .. } => Some(*series),
        }
    }
}

pub(super) struct Chosen {
    pub source: Source,
    pub why: String,
    pub passed_over: Vec<PassedOver>,
    pub warnings: Vec<String>,
}

/// Chooses the source. If no series is requested, tries the maintained series: first series with PREEMPT_RT in
/// mainline, among these the best tested, then the newest.
pub(super) fn choose(at: &Situation, request: &Request) -> Result<Chosen, PlanError> {
    if let Some(chosen) = own_core(at, request) {
        return Ok(chosen);
    }
    let mut first = None;
    for entry in entries(at.board.arch, request)? {
        match of_series(at, request, entry) {
            Err(error) => first = first.or(Some(error)),
            chosen => return chosen,
        }
    }
    let reasons = vec!["no maintained series has PREEMPT_RT on this architecture".to_owned()];
    Err(first.unwrap_or_else(|| PlanError::NoSource { board: at.board.name.clone(), reasons }))
}

/// Keeps a real-time core beside Linux unless a series is requested: PREEMPT_RT would replace the core, and
/// applications written for it would not run.
fn own_core(at: &Situation, request: &Request) -> Option<Chosen> {
    let core = at.core.filter(|_| request.series.is_none() && at.is_rt != Some(true))?;
    let why = format!(
        "{} has {core}, a real-time core beside Linux: its real-time threads are measured with its own tests and updated with its own \
         releases; a kernel with PREEMPT_RT would replace it, and applications for {core} would not run on it",
        at.release.as_deref().unwrap_or("the running kernel")
    );
    let way = PassedOver {
        way: "PREEMPT_RT instead".to_owned(),
        why: "only if the applications are ported to Linux threads: give a series (--series 6.12)".to_owned(),
    };
    Some(Chosen {
        source: Source::CoKernel { core: core.to_owned() },
        why,
        passed_over: vec![way],
        warnings: Vec::new(),
    })
}

fn of_series(at: &Situation, request: &Request, entry: &SeriesEntry) -> Result<Chosen, PlanError> {
    let candidates: [(&str, Candidate); 5] = [
        ("the running kernel", running),
        ("the distribution's real-time package", package),
        ("the distribution's kernel source", distribution_source),
        ("the Raspberry Pi's kernel tree", pi_tree),
        ("kernel.org's source", kernel_org),
    ];
    let mut passed_over = Vec::new();
    for (way, look) in candidates {
        match look(at, request, entry) {
            Ok((source, why)) => {
                let mut warnings = if source.is_built() { warnings(entry) } else { Vec::new() };
                if let Some(core) = at.core.filter(|_| source != Source::Running) {
                    warnings.push(format!(
                        "it lacks the running kernel's {core}: applications for {core} do not run on it"
                    ));
                }
                passed_over.extend(own_series(at, request, entry));
                return Ok(Chosen { source, why, passed_over, warnings });
            }
            Err(why) => passed_over.push(PassedOver { way: way.to_owned(), why }),
        }
    }
    let reasons = passed_over.into_iter().map(|p| format!("{}: {}", p.way, p.why)).collect();
    Err(PlanError::NoSource { board: at.board.name.clone(), reasons })
}

/// Returns the running kernel's older series as a source that was not chosen, if a patch makes it real-time: the system
/// may depend on this series. It is used only if the user requests it.
fn own_series(at: &Situation, request: &Request, chosen: &SeriesEntry) -> Option<PassedOver> {
    let running = crate::Release::of_uname(at.release.as_deref()?)?.series;
    if request.series.is_some() || at.is_rt == Some(true) || running >= chosen.name {
        return None;
    }
    let entry =
        series().iter().find(|e| e.name == running && e.rt == RtBy::StableRt && e.archs.contains(&at.board.arch))?;
    at.board.pi.as_ref().filter(|names| names.since <= running)?;
    let over = match &entry.over {
        Some(over) => format!("its maintenance ended in {over}"),
        None => format!("{} is newer", chosen.name),
    };
    let why = format!("{over}; if drivers or the system need it: --series {running}");
    Some(PassedOver { way: format!("the running kernel's series {running}, patched"), why })
}

fn entries(arch: Arch, request: &Request) -> Result<Vec<&'static SeriesEntry>, PlanError> {
    let with_rt = |entry: &&SeriesEntry| entry.archs.contains(&arch);
    let names = |entries: Vec<&SeriesEntry>| entries.iter().map(|e| e.name.to_string()).collect::<Vec<_>>().join(", ");
    let Some(requested) = request.series else {
        let is_fit = |entry: &&SeriesEntry| entry.over.is_none() && request.late_tracer(entry.name).is_none();
        let mut maintained: Vec<&SeriesEntry> = series().iter().filter(with_rt).filter(is_fit).collect();
        maintained.sort_by_key(|e| (e.rt != RtBy::Mainline, e.verified, std::cmp::Reverse(e.name)));
        return Ok(maintained);
    };
    let known = series().iter().find(|entry| entry.name == requested);
    let known = known.ok_or_else(|| PlanError::UnknownSeries { requested, known: names(series().iter().collect()) })?;
    if !with_rt(&known) {
        let instead = format!("these have: {}", names(series().iter().filter(with_rt).collect()));
        return Err(PlanError::NoRealTime { series: requested, arch: arch.name(), instead });
    }
    match request.late_tracer(requested) {
        Some((tracer, since)) => Err(PlanError::NoTracer { series: requested, tracer: tracer.name(), since }),
        None => Ok(vec![known]),
    }
}

type Candidate = fn(&Situation, &Request, &SeriesEntry) -> Result<(Source, String), String>;

fn warnings(entry: &SeriesEntry) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(over) = &entry.over {
        all.push(format!("maintenance of {} ended in {over}: known security holes stay open", entry.name));
    }
    if entry.verified == Verified::Model {
        all.push(format!("the data about series {} was never tested: {}", entry.name, entry.source));
    }
    all
}

fn running(at: &Situation, request: &Request, _: &SeriesEntry) -> Result<(Source, String), String> {
    match at.is_rt {
        None => return Err("it is unknown whether it is PREEMPT_RT".to_owned()),
        Some(false) => return Err("it is not PREEMPT_RT".to_owned()),
        Some(true) => {}
    }
    let release = at.release.as_deref().unwrap_or_default();
    if let Some(series) = request.series {
        match crate::Release::of_uname(release) {
            Some(running) if running.series == series => {}
            _ => return Err(format!("it is {release}, but {series} is requested")),
        }
    }
    if let Some(hz) = request.hz {
        match at.hz {
            Some(running) if running == hz => {}
            Some(running) => return Err(format!("its CONFIG_HZ is {running}, but {hz} is requested")),
            None => return Err("its CONFIG_HZ is unknown".to_owned()),
        }
    }
    if !request.tracers.is_empty() || !request.fragments.is_empty() {
        return Err("tracers or options are requested, and those of the running kernel were not compared".to_owned());
    }
    Ok((Source::Running, format!("{release} is already PREEMPT_RT: nothing has to be installed")))
}

fn distribution_source(at: &Situation, _: &Request, entry: &SeriesEntry) -> Result<(Source, String), String> {
    if at.board.pi.is_some() {
        return Err("it lacks the Raspberry Pi's overlays and drivers".to_owned());
    }
    let Some(system) = &at.system else { return Err("the operating system is unknown".to_owned()) };
    let found = source_packages().iter().find(|p| p.os == system.id && of_version(system, &p.version));
    let found = found.ok_or_else(|| format!("none is known for {system}"))?;
    if found.series != entry.name {
        return Err(format!("{} is {}, but {} is to be built", found.package, found.series, entry.name));
    }
    if entry.rt != RtBy::Mainline {
        return Err(format!("{} has no real-time patch", found.package));
    }
    let why = format!(
        "{} has PREEMPT_RT from mainline and the distribution's security fixes, and apt checks its signature",
        found.package
    );
    Ok((Source::DistributionSource { package: found.package.clone(), series: entry.name }, why))
}

fn pi_tree(at: &Situation, _: &Request, entry: &SeriesEntry) -> Result<(Source, String), String> {
    let Some(names) = &at.board.pi else { return Err("this is not a Raspberry Pi".to_owned()) };
    if entry.name < names.since {
        return Err(format!("{} is older than the board: the tree supports it since {}", entry.name, names.since));
    }
    // These branches are known: they were defaults of Raspberry Pi OS.
    let known = ["4.19", "5.4", "5.10", "5.15", "6.1", "6.6", "6.12"];
    let (series, rt) = (entry.name, entry.rt);
    let branch = format!("rpi-{series}.y");
    if !known.contains(&series.to_string().as_str()) {
        return Err(format!("branch {branch} is unknown"));
    }
    let overlays = "the tree has the board's overlays, drivers and firmware interfaces";
    if rt == RtBy::Mainline {
        let why = format!("{overlays}, and PREEMPT_RT from mainline");
        return Ok((Source::PiTree { branch, series }, why));
    }
    let why = format!("{overlays}; before 6.12 PREEMPT_RT is a patch, which fits only commits of its own sublevel");
    Ok((Source::PiTreePatched { branch, patched: entry.pi_rt, series }, why))
}

fn kernel_org(at: &Situation, request: &Request, entry: &SeriesEntry) -> Result<(Source, String), String> {
    let series = entry.name;
    let Some(mainline) = &at.board.mainline else {
        return Err("as far as known, mainline has no complete device tree for this board".to_owned());
    };
    if series < mainline.since {
        return Err(format!("{series} is older than the board: mainline supports it since {}", mainline.since));
    }
    if entry.rt == RtBy::Mainline {
        return Ok((
            Source::Mainline { series },
            format!("{series} has PREEMPT_RT in mainline, so no patch is needed"),
        ));
    }
    let why = format!("before 6.12 PREEMPT_RT is a patch; {series} has a published, signed one");
    Ok((Source::StableRt { patched: newest(request, entry), series }, why))
}

fn newest(request: &Request, entry: &SeriesEntry) -> Option<Patched> {
    request.newest_rt.filter(|p| p.release.series == entry.name).or(entry.newest_rt)
}
