//! The distribution's real-time package for this system that replaces the running kernel.

use super::{Request, Situation, Source, System, Tracer};
use crate::{Arch, Package, SeriesEntry, packages};
use std::collections::BTreeSet;

/// Returns true if the system's version is `wanted` or part of it; every version is part of "".
pub(super) fn of_version(system: &System, wanted: &str) -> bool {
    let version = system.version.as_deref().unwrap_or_default();
    wanted.is_empty() || version == wanted || version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
}

pub(super) fn package(at: &Situation, request: &Request, _: &SeriesEntry) -> Result<(Source, String), String> {
    let Some(system) = &at.system else { return Err(unknown_system(at)) };
    let arch = at.board.arch;
    if at.loader.is_image() {
        let loader = at.loader.said().unwrap_or_default();
        return Err(format!("the kernel is part of the system image ({loader}), which this program cannot replace"));
    }
    if at.release.as_deref().is_some_and(|release| release.contains("-WSL")) {
        return Err("Windows provides the kernel (WSL): a kernel from a package is not booted; kernel= in .wslconfig selects another"
            .to_owned());
    }
    let of_it: Vec<&Package> =
        packages().iter().filter(|p| p.os == system.id && of_version(system, &p.version)).collect();
    if of_it.is_empty() {
        let why = system.own_entry().and_then(|entry| entry.none.clone());
        return Err(why.unwrap_or_else(|| format!("none is known for {system}")));
    }
    let of_arch: Vec<&Package> = of_it.into_iter().filter(|p| p.package.contains_key(&arch)).collect();
    if of_arch.is_empty() {
        return Err(format!("as far as known, {system} has none for {}", arch.name()));
    }
    let (found, doubt) = fitting(at, system, &of_arch)?;
    let doubt = doubt.into_iter().chain(older(at, found));
    let name = found.package.get(&arch).map(String::as_str).unwrap_or_default();
    lacks(found, request).map_or(Ok(()), |what| Err(format!("{name} {what}")))?;
    let install = found.install.iter().map(|line| line.replace("{package}", name)).collect();
    let more: String = found.note.iter().map(|note| format!("; it {note}")).chain(doubt).collect();
    let series = found.series.map_or_else(|| "no fixed series".to_owned(), |series| series.to_string());
    let why = format!(
        "{name} ({series}) is built, signed and updated by the distribution, and has everything that is requested{more}"
    );
    Ok((Source::Package { package: name.to_owned(), install }, why))
}

/// Returns the package that can replace the running kernel, and a doubt about it. If it is unknown whether a package
/// can replace the kernel, a PC, whose devices are found by probing, gets the package with a doubt. On a board this is
/// an error, because the device tree and some drivers may exist only in the vendor's kernel.
fn fitting<'p>(at: &Situation, system: &System, all: &[&'p Package]) -> Result<(&'p Package, Option<String>), String> {
    let release = at.release.as_deref().unwrap_or_default();
    let fits = |p: &&&Package| p.beside.is_empty() || p.beside.iter().any(|end| release.ends_with(end.as_str()));
    if let Some(found) = all.iter().find(fits) {
        return Ok((found, None));
    }
    let foreign = match at.release.as_deref() {
        None => "the running kernel is unknown".to_owned(),
        Some(release) => {
            let ends: BTreeSet<&str> = all.iter().flat_map(|p| &p.beside).map(String::as_str).collect();
            let ends = ends.into_iter().collect::<Vec<_>>().join(", ");
            format!("{release} is not one of the kernels of {} that a package can replace ({ends})", system.id)
        }
    };
    match all.first().filter(|_| matches!(at.board.arch, Arch::X86 | Arch::I386)) {
        Some(found) => Ok((
            found,
            Some(format!(
                "; {foreign}: the package may lack drivers that the running kernel has (a ZFS root, a new device)"
            )),
        )),
        None => {
            let name = all.first().and_then(|p| p.package.get(&at.board.arch)).map(String::as_str).unwrap_or_default();
            // `5.10.168-ti-r72` and `5.10.168-bone79` are BeagleBoard.org's; the real-time ones are `-ti-rt-r…` and
            // `-bone-rt-r…`.
            let is_beagle = release.contains("-ti-") || release.contains("-bone");
            let look = if is_beagle {
                "; BeagleBoard.org also builds real-time kernels (-ti-rt-r…, -bone-rt-r…): apt-cache search \
                 --names-only '^linux-image.*-rt-r'"
            } else if system.is_like("debian") || system.is_like("ubuntu") {
                "; the board's vendor may have one: apt-cache search --names-only '^linux-image.*rt'"
            } else {
                ""
            };
            Err(format!("{foreign}: it is unknown whether {name} supports this board{look}"))
        }
    }
}

/// Warns if the package is older than the running kernel: a newer kernel may have been chosen for a device (backports,
/// hardware enablement).
fn older(at: &Situation, package: &Package) -> Option<String> {
    let running = crate::Release::of_uname(at.release.as_deref()?)?.series;
    let series = package.series.filter(|series| *series < running)?;
    Some(format!("; {running} is running: devices that {series} does not yet support have no driver in it"))
}

/// Names the packages for the systems that run on the board, for an error about an unknown system.
fn unknown_system(at: &Situation) -> String {
    let mut all: Vec<String> = Vec::new();
    let is_pi = at.board.pi.is_some();
    let runs =
        |p: &&Package| is_pi == matches!(p.os.as_str(), "raspberry-pi-os") || p.beside.iter().any(|e| e == "-raspi");
    for found in packages().iter().filter(|p| p.os != "jetson-linux").filter(runs) {
        let Some(name) =
            found.package.get(&at.board.arch).filter(|_| is_pi || !found.beside.iter().any(|e| e == "-raspi"))
        else {
            continue;
        };
        let version = if found.version.is_empty() { String::new() } else { format!(" {}", found.version) };
        all.push(format!("{}{version} {name}", found.os));
    }
    match all.is_empty() {
        true => "the operating system is unknown; no system with a package for this board is known either".to_owned(),
        false => format!("the operating system is unknown; these have a package: {}", all.join(", ")),
    }
}

/// Returns the requested property that a package lacks or may lack.
fn lacks(package: &Package, request: &Request) -> Option<String> {
    match (request.series, package.series) {
        (Some(requested), Some(series)) if requested != series => {
            return Some(format!("is {series}, but {requested} is requested"));
        }
        (Some(requested), None) => return Some(format!("has no fixed series, but {requested} is requested")),
        _ => {}
    }
    match (request.hz, package.hz) {
        (Some(requested), Some(hz)) if requested != hz => {
            return Some(format!("has CONFIG_HZ={hz}, but {requested} is requested"));
        }
        (Some(_), None) => return Some("has an unknown CONFIG_HZ".to_owned()),
        _ => {}
    }
    if !request.fragments.is_empty() {
        return Some("is already built, but options are requested".to_owned());
    }
    let missing = match &package.tracers {
        _ if request.tracers.is_empty() => return None,
        None => return Some("has unknown tracers".to_owned()),
        Some(has) => request.tracers.iter().filter(|t| !has.contains(t)).map(|t| Tracer::name(*t)).collect::<Vec<_>>(),
    };
    (!missing.is_empty()).then(|| format!("has no {}", missing.join(", ")))
}
