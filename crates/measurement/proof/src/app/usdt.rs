//! USDT probes of an application's files as marks: `usdt:PROVIDER:NAME`, and `usdt:PROVIDER:NAME:argN` for marks whose
//! value is argument N of the probe.

use super::marks::Probed;
use super::program::Program;
use crate::error::ProofError;
use punctual_check::mappings;
use punctual_journal::Journal;
use punctual_model::{AppProbe, AppValue, Claim};
use punctual_stacks::{Images, Usdt, UsdtArgument};
use punctual_tracefs::{Instance, Place, Tracefs, TracefsError, Uprobe};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Prefix of the names of these marks.
const PREFIX: &str = "usdt:";
/// Maximum number of places at which the probes of all claims are set.
const MOST: usize = 64;
/// Maximum number of probes named in a message.
const NAMED: usize = 8;

/// Returns true if a point of a chain is a USDT probe.
pub(super) fn is_probe(point: &str) -> bool {
    point.starts_with(PREFIX)
}

/// Returns true if a point is the probe `name`, with or without the number of an argument.
pub(super) fn is_of(point: &str, name: &str) -> bool {
    point.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// The files that the processes of an application execute, as far as they have USDT probes.
#[derive(Debug, Default)]
pub(super) struct Files {
    with_probes: Vec<File>,
    /// Files that were replaced or removed after they had been loaded, and cannot be read.
    unread: Vec<String>,
}

#[derive(Debug)]
struct File {
    /// Path with which this process opens the file.
    path: PathBuf,
    /// Path with which the application opened it.
    shown: String,
    probes: Vec<Usdt>,
}

impl Files {
    /// Reads the files that the processes execute now, each once.
    pub fn of(programs: &[Program]) -> Files {
        let (mut files, mut seen) = (Files::default(), HashSet::new());
        for pid in programs.iter().flat_map(Program::pids) {
            for (.., path) in mappings(pid) {
                files.add(pid, &path, &mut seen);
            }
        }
        files
    }

    fn add(&mut self, pid: i32, path: &Path, seen: &mut HashSet<(u64, u64)>) {
        let Ok(inside) = path.strip_prefix("/") else { return };
        let shown = path.display().to_string();
        let Ok(meta) = fs::metadata(Path::new("/proc").join(pid.to_string()).join("root").join(inside)) else {
            if shown.ends_with(" (deleted)") && !self.unread.contains(&shown) {
                self.unread.push(shown);
            }
            return;
        };
        if !seen.insert((meta.dev(), meta.ino())) {
            return;
        }
        // Not more than one file is in memory at a time.
        let Some(elf) = Images::default().of_process(pid, path) else { return };
        let probes = elf.usdt();
        if !probes.is_empty() {
            self.with_probes.push(File { path: elf.path().to_owned(), shown, probes });
        }
    }

    /// Returns all probes, each once for a file.
    pub fn probes(&self) -> Vec<AppProbe> {
        let mut all: Vec<AppProbe> = Vec::new();
        let mut known = HashSet::new();
        for (file, probe) in self.all() {
            let name = format!("{PREFIX}{}:{}", probe.provider, probe.name);
            if known.insert((name.clone(), file.shown.as_str())) {
                all.push(AppProbe { name, file: file.shown.clone(), arguments: probe.arguments.len() as u32 });
            }
        }
        all
    }

    fn all(&self) -> impl Iterator<Item = (&File, &Usdt)> {
        self.with_probes.iter().flat_map(|file| file.probes.iter().map(move |probe| (file, probe)))
    }

    /// Returns the places at which a mark's probe fires.
    ///
    /// # Errors
    /// The name is no probe of the files, or the value of its argument cannot be fetched at one of the places.
    fn sites(&self, mark: &str) -> Result<Vec<Site>, String> {
        let Name { provider, probe, argument } = Name::of(mark)?;
        let own = |one: &&(&File, &Usdt)| one.1.provider == provider && one.1.name == probe;
        let site = |(file, usdt): (&File, &Usdt)| {
            let value = argument.map(|number| self::value(usdt, number, &file.shown)).transpose()?;
            Ok(Site {
                mark: mark.to_owned(),
                file: file.path.clone(),
                offset: usdt.offset,
                semaphore: usdt.semaphore,
                value,
            })
        };
        let all: Vec<(&File, &Usdt)> = self.all().collect();
        let sites = all.iter().filter(own).copied().map(site).collect::<Result<Vec<Site>, String>>()?;
        if sites.is_empty() {
            return Err(self.unknown());
        }
        Ok(sites)
    }

    fn unknown(&self) -> String {
        let names: BTreeSet<String> = self.probes().into_iter().map(|probe| probe.name).collect();
        let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
        let more = names.len() - shown.len();
        let known = match (shown.as_slice(), more) {
            ([], _) => "none".to_owned(),
            (shown, 0) => shown.join(", "),
            (shown, more) => format!("{} and {more} more (--show-cycles)", shown.join(", ")),
        };
        let unread = match self.unread.as_slice() {
            [] => String::new(),
            unread => {
                format!("; replaced or removed since it was loaded, so its probes are unknown: {}", unread.join(", "))
            }
        };
        format!(
            "no file that the application executes now has this USDT probe; probes found: {known}{unread}. Libraries that it \
             loads later are found if the measurement starts later (--after)"
        )
    }
}

/// The parts of a mark's name.
#[derive(Debug, PartialEq)]
struct Name<'a> {
    provider: &'a str,
    probe: &'a str,
    /// Number of the argument that is the mark's value, from 1.
    argument: Option<usize>,
}

impl Name<'_> {
    fn of(mark: &str) -> Result<Name<'_>, String> {
        let parts: Vec<&str> = mark.strip_prefix(PREFIX).unwrap_or(mark).split(':').collect();
        let number = |text: &str| text.strip_prefix("arg")?.parse::<usize>().ok().filter(|number| *number > 0);
        match parts.as_slice() {
            [provider, probe] => Ok(Name { provider, probe, argument: None }),
            [provider, probe, argument] if number(argument).is_some() => {
                Ok(Name { provider, probe, argument: number(argument) })
            }
            _ => Err(
                "write usdt:PROVIDER:NAME, or usdt:PROVIDER:NAME:argN if the mark's value is the probe's argument N"
                    .into(),
            ),
        }
    }
}

/// Returns where the value of a probe's argument is.
fn value(probe: &Usdt, number: usize, file: &str) -> Result<UsdtArgument, String> {
    match number.checked_sub(1).and_then(|at| probe.arguments.get(at)) {
        Some(UsdtArgument::Unknown) => Err(format!(
            "at {:#x} of {file}, argument {number} is not an integer in a register, in memory beside one, or a constant, so \
             the kernel cannot read it: leave out :arg{number}, or pass the value in a variable of its own",
            probe.offset
        )),
        Some(known) => Ok(known.clone()),
        None => Err(format!("the probe has no argument {number}; number of arguments: {}", probe.arguments.len())),
    }
}

/// A place at which the probe of a mark fires.
#[derive(Clone, Debug)]
pub(super) struct Site {
    mark: String,
    file: PathBuf,
    offset: u64,
    semaphore: Option<u64>,
    value: Option<UsdtArgument>,
}

impl Site {
    /// Returns the places for all probes that are points of chains in the claims.
    ///
    /// # Errors
    /// As for [`Files::sites`], or there are too many places.
    pub fn of(claims: &[Claim], files: &Files) -> Result<Vec<Site>, ProofError> {
        let usage = |mark: &str, why: String| ProofError::Usage(format!("`{mark}`: {why}"));
        let mut sites = Vec::new();
        for mark in marks(claims) {
            sites.extend(files.sites(mark).map_err(|why| usage(mark, why))?);
            if sites.len() > MOST {
                return Err(usage(mark, format!("the probes of the claims have more than {MOST} places")));
            }
        }
        Ok(sites)
    }

    fn uprobe(&self, tracefs: &Tracefs) -> Result<Uprobe, TracefsError> {
        let arguments = match &self.value {
            Some(UsdtArgument::Fetched(value)) => format!("value={value}"),
            _ => String::new(),
        };
        let place = Place {
            file: &self.file,
            offset: self.offset,
            counter: self.semaphore,
            arguments: &arguments,
            label: &self.mark,
        };
        Uprobe::define(tracefs, &Journal::of_user(), &place)
    }
}

/// Returns the USDT probes that are points of chains in the claims, each once.
pub(super) fn marks(claims: &[Claim]) -> BTreeSet<&str> {
    let points = claims.iter().filter_map(|claim| match &claim.of {
        Some(AppValue::Chain(points)) => Some(points),
        _ => None,
    });
    points.flatten().map(String::as_str).filter(|point| is_probe(point)).collect()
}

/// The uprobes for the places of the marks. They are removed on drop, which must happen after their events are disabled.
#[derive(Default)]
pub(super) struct Probes {
    set: Vec<Uprobe>,
    pub marks: Probed,
}

impl Probes {
    /// # Errors
    /// The kernel has no uprobes, or refuses a place.
    pub fn define(tracefs: &Tracefs, sites: &[Site]) -> Result<Probes, ProofError> {
        let mut probes = Probes::default();
        for site in sites {
            let uprobe = site.uprobe(tracefs).map_err(|error| refused(&site.mark, &error))?;
            let constant = match site.value {
                Some(UsdtArgument::Constant(value)) => Some(value),
                _ => None,
            };
            probes.marks.insert(uprobe.event().to_owned(), (site.mark.clone(), constant));
            probes.set.push(uprobe);
        }
        Ok(probes)
    }

    /// Records the probes' events in an instance.
    ///
    /// # Errors
    /// The kernel cannot set a breakpoint.
    pub fn enable(&self, instance: &mut Instance) -> Result<(), ProofError> {
        self.set.iter().try_for_each(|uprobe| {
            let mark = self.marks.get(uprobe.event()).map_or(PREFIX, |(mark, _)| mark);
            instance.enable_probe(uprobe).map_err(|error| refused(mark, &error))
        })
    }

    /// Returns what could not be removed.
    pub fn remove(&mut self) -> Vec<String> {
        self.set.drain(..).filter_map(|uprobe| uprobe.remove().err()).flatten().collect()
    }
}

fn refused(mark: &str, error: &TracefsError) -> ProofError {
    ProofError::Environment(format!("the USDT probe `{mark}` cannot be observed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usdt(name: &str, offset: u64, arguments: &[UsdtArgument]) -> Usdt {
        Usdt {
            provider: "vision".into(),
            name: name.into(),
            offset,
            semaphore: (name == "shown").then_some(0x40),
            arguments: arguments.to_vec(),
        }
    }

    fn files() -> Files {
        let fetched = UsdtArgument::Fetched("%di:u64".into());
        let probes = vec![
            usdt("frame", 0x10, std::slice::from_ref(&fetched)),
            usdt("shown", 0x20, &[UsdtArgument::Constant(7), UsdtArgument::Unknown]),
            usdt("shown", 0x30, &[fetched]),
        ];
        let file = File { path: "/proc/7/root/bin/vision".into(), shown: "/bin/vision".into(), probes };
        Files { with_probes: vec![file], unread: Vec::new() }
    }

    fn sites(claim: &str) -> Result<Vec<Site>, String> {
        Site::of(&[claim.parse().unwrap()], &files()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_mark_stands_for_all_places_of_its_probe() {
        let found = sites("chain(usdt:vision:frame:arg1 > usdt:vision:shown:arg1) < 2ms").unwrap();
        let places: Vec<(&str, u64, Option<u64>)> =
            found.iter().map(|site| (site.mark.as_str(), site.offset, site.semaphore)).collect();
        let (frame, shown) = ("usdt:vision:frame:arg1", "usdt:vision:shown:arg1");
        assert_eq!(places, [(frame, 0x10, None), (shown, 0x20, Some(0x40)), (shown, 0x30, Some(0x40))]);
        assert_eq!(found[1].value, Some(UsdtArgument::Constant(7)));
        let plain = sites("chain(usdt:vision:frame > set) < 2ms").unwrap();
        assert_eq!((plain.len(), &plain[0].value), (1, &None));
        assert!(sites("response(control) < 2ms").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_probe_and_what_has_no_value_is_refused_with_the_reason() {
        let refused = |point: &str| sites(&format!("chain(usdt:vision:frame > {point}) < 2ms")).unwrap_err();
        let unknown = refused("usdt:vision:lost");
        assert!(unknown.contains("probes found: usdt:vision:frame, usdt:vision:shown.") && unknown.contains("--after"));
        assert!(refused("usdt:vision:shown:arg2").contains("at 0x20 of /bin/vision, argument 2 is not an integer"));
        assert!(refused("usdt:vision:frame:arg2").contains("has no argument 2; number of arguments: 1"));
        for wrong in ["usdt:vision", "usdt:vision:frame:1", "usdt:vision:frame:arg0", "usdt:vision:frame:arg1:x"] {
            assert!(refused(wrong).contains("usdt:PROVIDER:NAME:argN"), "{wrong}");
        }
        let replaced = Files { unread: vec!["/bin/vision (deleted)".into()], ..Files::default() };
        let said = replaced.sites("usdt:vision:frame").unwrap_err();
        assert!(said.contains("probes found: none; replaced or removed") && said.contains("/bin/vision (deleted)"));
    }

    #[test]
    fn the_probes_are_listed_once_for_a_file() {
        let listed: Vec<(String, u32)> = files().probes().into_iter().map(|one| (one.name, one.arguments)).collect();
        assert_eq!(listed, [("usdt:vision:frame".into(), 1), ("usdt:vision:shown".into(), 2)]);
        let is_of = |point| is_of(point, "usdt:vision:frame");
        assert!(is_of("usdt:vision:frame") && is_of("usdt:vision:frame:arg1") && !is_of("usdt:vision:frames"));
    }

    #[test]
    fn a_file_of_a_running_process_is_read_once() {
        let (mut files, mut seen) = (Files::default(), HashSet::new());
        let (own, exe) = (std::process::id().cast_signed(), std::env::current_exe().unwrap());
        files.add(own, &exe, &mut seen);
        files.add(own, &exe, &mut seen);
        files.add(own, Path::new("[vdso]"), &mut seen);
        files.add(own, Path::new("/nowhere/plc (deleted)"), &mut seen);
        files.add(own, Path::new("/nowhere/plc (deleted)"), &mut seen);
        assert_eq!((seen.len(), files.unread.len()), (1, 1));
    }
}
