//! Where a rule's reads come from.

use crate::probes;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One entry of `reads`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Read {
    pub source: Source,
    /// Conditions on it do not hold, instead of staying open, where it cannot be read.
    pub optional: bool,
}

#[derive(Debug)]
pub(crate) enum Source {
    File { path: String, form: As },
    Files { pattern: String, form: As },
    List { folder: String },
    Kconfig(String),
    Cmdline(String),
    Probe { name: String, with: BTreeMap<String, i64> },
}

/// The form of a file's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum As {
    #[default]
    Word,
    Integer,
    Words,
    Marked,
}

/// An entry as it is written: exactly one of the first six keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    file: Option<String>,
    files: Option<String>,
    list: Option<String>,
    kconfig: Option<String>,
    cmdline: Option<String>,
    probe: Option<String>,
    #[serde(rename = "as")]
    form: Option<As>,
    with: Option<BTreeMap<String, i64>>,
    #[serde(default)]
    optional: bool,
}

impl TryFrom<Written> for Read {
    type Error = String;

    fn try_from(written: Written) -> Result<Read, String> {
        let form = written.form.unwrap_or_default();
        let has_form = written.form.is_some();
        let has_with = written.with.is_some();
        let is_file = written.file.is_some() || written.files.is_some();
        let is_probe = written.probe.is_some();
        let with = written.with.unwrap_or_default();
        let mut sources = [
            written.file.map(|path| Source::File { path, form }),
            written.files.map(|pattern| Source::Files { pattern, form }),
            written.list.map(|folder| Source::List { folder }),
            written.kconfig.map(Source::Kconfig),
            written.cmdline.map(Source::Cmdline),
            written.probe.map(|name| Source::Probe { name, with }),
        ]
        .into_iter()
        .flatten();
        let source = match (sources.next(), sources.next()) {
            (Some(source), None) => source,
            _ => return Err("a read has exactly one of file, files, list, kconfig, cmdline, probe".into()),
        };
        if has_form && !is_file {
            return Err("`as` goes with file and files".into());
        }
        if has_with && !is_probe {
            return Err("`with` goes with probe".into());
        }
        source.check()?;
        Ok(Read { source, optional: written.optional })
    }
}

impl Source {
    fn check(&self) -> Result<(), String> {
        let absolute = |path: &str| {
            let fine = path.starts_with('/') && !path.split('/').any(|part| part == "..");
            fine.then_some(()).ok_or_else(|| format!("`{path}` is not an absolute path"))
        };
        match self {
            Source::File { path, .. } if path.contains('*') => Err("a path with `*` goes with files".into()),
            Source::Files { form: As::Words, .. } => Err("`as = \"words\"` goes with file".into()),
            Source::File { path, .. } | Source::List { folder: path } | Source::Files { pattern: path, .. } => {
                absolute(path)
            }
            Source::Kconfig(option) if option.starts_with("CONFIG_") => {
                Err("an option is named without CONFIG_".into())
            }
            Source::Kconfig(_) | Source::Cmdline(_) => Ok(()),
            Source::Probe { name, with } => {
                let probe = probes::find(name).ok_or_else(|| format!("there is no probe `{name}`"))?;
                let names: Vec<&str> = with.keys().map(String::as_str).collect();
                let fine = names == probe.with;
                fine.then_some(()).ok_or_else(|| format!("probe `{name}` takes {:?} in `with`", probe.with))
            }
        }
    }

    /// Every path it may read.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Source::File { path, .. } | Source::Files { pattern: path, .. } | Source::List { folder: path } => {
                vec![path]
            }
            Source::Kconfig(_) => probes::CONFIG_READS.to_vec(),
            Source::Cmdline(_) => vec!["/proc/cmdline"],
            Source::Probe { name, .. } => probes::find(name).map(|probe| probe.reads.concat()).unwrap_or_default(),
        }
    }
}
