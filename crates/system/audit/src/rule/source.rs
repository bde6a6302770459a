use super::{IrqFilter, Test};
use crate::{glob, probes};
use punctual_units::CpuList;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Read {
    pub source: Source,
    /// True if conditions on this read are false instead of undecided when the read fails.
    pub optional: bool,
    /// True if the read gives the increase over the window instead of the number.
    pub change: bool,
    /// Drops elements of a list that do not pass this test.
    pub only: Option<Test>,
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    File {
        path: String,
        part: Part,
        form: Form,
    },
    /// `on`: the CPUs that `@` represents, instead of the measured ones.
    Files {
        pattern: String,
        part: Part,
        form: Form,
        sparse: bool,
        on: Option<CpuList>,
    },
    List {
        folder: String,
        names: Vec<String>,
    },
    Exists(String),
    Kconfig(String),
    Kconfigs(Vec<String>),
    Cmdline(String),
    Parameters(Vec<String>),
    /// `yes`, or a sentence about why the kernel does not support the parameter.
    Supports(String),
    Cpus(Set),
    Units(Vec<String>),
    Processes(Vec<String>),
    Log(Vec<String>),
    Irqs(IrqFilter),
    Probe {
        name: String,
        with: BTreeMap<String, i64>,
    },
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Part {
    #[default]
    All,
    /// The value after a name: `name: value`, `name=value`, `name value`.
    Key(String),
    /// The word at this position, counting from 1.
    Field(usize),
    Lines(Vec<String>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    pub kind: As,
    pub within: Option<Set>,
    pub without: Option<Set>,
}

impl Form {
    fn reads(&self) -> &'static [&'static str] {
        if self.within.is_some() || self.without.is_some() { probes::CPU_SET_READS } else { &[] }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum As {
    #[default]
    Word,
    Integer,
    Words,
    Marked,
    Cpus,
    /// A hexadecimal CPU mask.
    Mask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Set {
    Measured,
    /// CPUs without load balancing: isolcpus=, or an isolated cpuset partition.
    Isolated,
    Housekeeping,
    Online,
    Tickless,
}

/// A read as written in TOML, with exactly one of the sources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    file: Option<String>,
    files: Option<String>,
    list: Option<String>,
    exists: Option<String>,
    kconfig: Option<String>,
    kconfigs: Option<Vec<String>>,
    cmdline: Option<String>,
    parameters: Option<Vec<String>>,
    supports: Option<String>,
    cpus: Option<Set>,
    units: Option<Vec<String>>,
    processes: Option<Vec<String>>,
    log: Option<Vec<String>>,
    irqs: Option<IrqFilter>,
    probe: Option<String>,
    #[serde(rename = "as")]
    form: Option<As>,
    key: Option<String>,
    field: Option<usize>,
    lines: Option<Vec<String>>,
    within: Option<Set>,
    without: Option<Set>,
    names: Option<Vec<String>>,
    with: Option<BTreeMap<String, i64>>,
    only: Option<Test>,
    sparse: bool,
    on: Option<String>,
    optional: bool,
    change: bool,
}

impl TryFrom<Written> for Read {
    type Error = String;

    fn try_from(mut written: Written) -> Result<Read, String> {
        written.check_modifiers()?;
        let (optional, change, only) = (written.optional, written.change, written.only.take());
        let mut sources = written.sources()?.into_iter().flatten();
        let source = match (sources.next(), sources.next()) {
            (Some(source), None) => source,
            _ => {
                return Err("a read needs exactly one of file, files, list, exists, kconfig, kconfigs, cmdline, \
                            parameters, supports, cpus, units, processes, log, irqs, probe"
                    .into());
            }
        };
        source.check()?;
        Ok(Read { source, optional, change, only })
    }
}

impl Written {
    fn check_modifiers(&self) -> Result<(), String> {
        let is_file = self.file.is_some() || self.files.is_some();
        let parts = [self.key.is_some(), self.field.is_some(), self.lines.is_some()];
        let is_cpus = matches!(self.form, Some(As::Cpus | As::Mask));
        let wrong = [
            (self.form.is_some() && !is_file, "`as` is allowed only with file and files"),
            (parts.contains(&true) && !is_file, "`key`, `field` and `lines` are allowed only with file and files"),
            (parts.iter().filter(|is| **is).count() > 1, "only one of `key`, `field` and `lines` is allowed"),
            (self.field == Some(0), "fields count from 1"),
            (
                (self.within.is_some() || self.without.is_some()) && !is_cpus,
                "`within` and `without` are allowed only with as = \"cpus\" or \"mask\"",
            ),
            (self.names.is_some() && self.list.is_none(), "`names` is for list"),
            (self.with.is_some() && self.probe.is_none(), "`with` is for probe"),
            (self.sparse && self.files.is_none(), "`sparse` is allowed only with files"),
            (
                self.on.is_some() && !self.files.as_ref().is_some_and(|path| path.contains('@')),
                "`on` is allowed only with files whose path has `@`",
            ),
        ];
        match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, message)) => Err((*message).to_owned()),
            None => Ok(()),
        }
    }

    fn sources(self) -> Result<[Option<Source>; 15], String> {
        let form = Form { kind: self.form.unwrap_or_default(), within: self.within, without: self.without };
        let part = || match (&self.key, self.field, &self.lines) {
            (Some(key), ..) => Part::Key(key.clone()),
            (_, Some(field), _) => Part::Field(field),
            (.., Some(lines)) => Part::Lines(lines.clone()),
            _ => Part::All,
        };
        let on = self.on.map(|list| list.parse().map_err(|_| format!("`{list}` is not a CPU list"))).transpose()?;
        let (names, with, sparse) = (self.names.unwrap_or_default(), self.with.unwrap_or_default(), self.sparse);
        Ok([
            self.file.map(|path| Source::File { path, part: part(), form: form.clone() }),
            self.files.map(|pattern| Source::Files { pattern, part: part(), form: form.clone(), sparse, on }),
            self.list.map(|folder| Source::List { folder, names }),
            self.exists.map(Source::Exists),
            self.kconfig.map(Source::Kconfig),
            self.kconfigs.map(Source::Kconfigs),
            self.cmdline.map(Source::Cmdline),
            self.parameters.map(Source::Parameters),
            self.supports.map(Source::Supports),
            self.cpus.map(Source::Cpus),
            self.units.map(Source::Units),
            self.processes.map(Source::Processes),
            self.log.map(Source::Log),
            self.irqs.map(Source::Irqs),
            self.probe.map(|name| Source::Probe { name, with }),
        ])
    }
}

impl Source {
    fn check(&self) -> Result<(), String> {
        match self {
            Source::File { path, .. } if path.contains('*') => Err("a path with `*` is allowed only with files".into()),
            Source::Files { form: Form { kind: As::Words, .. }, .. } => {
                Err("`as = \"words\"` is allowed only with file".into())
            }
            Source::Files { part: Part::Lines(_), .. } => Err("`lines` is for file".into()),
            Source::File { path, .. } | Source::List { folder: path, .. } | Source::Exists(path) => absolute(path),
            Source::Files { pattern, .. } => absolute(pattern),
            Source::Irqs(filter) => filter.check(),
            Source::Kconfig(option) => bare_option(option),
            Source::Kconfigs(options) => options.iter().try_for_each(|option| bare_option(option)),
            Source::Probe { name, with } => {
                let probe = probes::find(name).ok_or_else(|| format!("no probe is named `{name}`"))?;
                let names: Vec<&str> = with.keys().map(String::as_str).collect();
                let fine = names == probe.with;
                fine.then_some(()).ok_or_else(|| format!("probe `{name}` takes {:?} in `with`", probe.with))
            }
            _ => Ok(()),
        }
    }

    pub fn paths(&self) -> Vec<String> {
        let many = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        match self {
            Source::File { path, form, .. } => [vec![glob::any_process(path)], many(form.reads())].concat(),
            Source::Files { pattern, form, .. } => {
                [glob::with_listed_folders(&glob::any_process(pattern)), many(form.reads())].concat()
            }
            Source::List { folder: path, .. } => vec![glob::any_process(path)],
            Source::Exists(path) => glob::folders_above(path),
            Source::Kconfig(_) | Source::Kconfigs(_) => many(probes::CONFIG_READS),
            Source::Cmdline(_) | Source::Supports(_) => {
                [many(&["/proc/cmdline", "/proc/sys/kernel/arch", "/dev/kmsg"]), many(probes::CONFIG_READS)].concat()
            }
            Source::Parameters(_) => many(&["/proc/cmdline"]),
            Source::Cpus(_) => many(probes::CPU_SET_READS),
            Source::Units(_) => many(probes::UNIT_READS),
            Source::Processes(_) => many(crate::tasks::READS),
            Source::Log(_) => many(&["/dev/kmsg"]),
            Source::Irqs(_) => many(IrqFilter::READS),
            Source::Probe { name, .. } => {
                probes::find(name).map(|probe| many(&probe.reads.concat())).unwrap_or_default()
            }
        }
    }
}

fn absolute(path: &str) -> Result<(), String> {
    let fine = path.starts_with('/') && !path.split('/').any(|part| part == "..");
    fine.then_some(()).ok_or_else(|| format!("`{path}` is not an absolute path"))
}

fn bare_option(option: &str) -> Result<(), String> {
    let fine = !option.starts_with("CONFIG_");
    fine.then_some(()).ok_or_else(|| "options are written without CONFIG_".to_owned())
}
