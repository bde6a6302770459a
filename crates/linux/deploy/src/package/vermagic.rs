//! Checks the kernel that modules were built for: `vermagic=` in their section .modinfo (kernel/module/main.c,
//! same_magic).

use crate::error::{DeployError, file};
use crate::programs;
use punctual_model::Argv;
use std::fs;
use std::path::{Path, PathBuf};

/// Number of modules passed to one call of modinfo(8).
const BATCH: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Magic {
    pub looked_at: usize,
    /// Modules for another kernel: name and vermagic.
    pub wrong: Vec<(String, String)>,
    pub unknown: Vec<String>,
}

/// Checks every module below a folder. `is_rt` tells whether the kernel has PREEMPT_RT; with `None` that is not
/// compared. It is also not compared before 5.3, where modules of real-time kernels have `preempt` as well.
pub fn wrong_modules(folder: &Path, release: &str, is_rt: Option<bool>) -> Result<Magic, DeployError> {
    let is_rt = is_rt.filter(|_| rt_option(release) == "PREEMPT_RT");
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_module = |path: &PathBuf| name(path).contains(".ko");
    let all: Vec<PathBuf> = super::files(folder)?.into_iter().filter(is_module).collect();
    let (plain, packed): (Vec<PathBuf>, Vec<PathBuf>) = all.iter().cloned().partition(|p| name(p).ends_with(".ko"));
    let mut magic = Magic { looked_at: all.len(), ..Magic::default() };
    for path in &plain {
        judge(&mut magic, name(path), in_file(path)?.as_deref(), release, is_rt);
    }
    for batch in packed.chunks(BATCH) {
        let magics = by_modinfo(batch);
        for (n, path) in batch.iter().enumerate() {
            judge(&mut magic, name(path), magics.get(n).map(String::as_str), release, is_rt);
        }
    }
    Ok(magic)
}

/// Returns the option that selects the real-time kernel of a release, without `CONFIG_`.
pub(crate) fn rt_option(release: &str) -> &'static str {
    punctual_kernel::Release::of_uname(release).map_or("PREEMPT_RT", |release| release.series.rt_option())
}

fn judge(magic: &mut Magic, name: String, found: Option<&str>, release: &str, is_rt: Option<bool>) {
    let Some(found) = found else { return magic.unknown.push(name) };
    let mut words = found.split_whitespace();
    let is_release = words.next() == Some(release);
    // include/linux/vermagic.h: `preempt_rt` with CONFIG_PREEMPT_RT.
    let is_kind = is_rt.is_none_or(|is_rt| words.any(|word| word == "preempt_rt") == is_rt);
    if !is_release || !is_kind {
        magic.wrong.push((name, found.to_owned()));
    }
}

fn in_file(path: &Path) -> Result<Option<String>, DeployError> {
    let bytes = fs::read(path).map_err(file("read", path))?;
    let at = memchr::memmem::find(&bytes, b"\0vermagic=").map(|at| at + 1);
    let at = at.or_else(|| bytes.starts_with(b"vermagic=").then_some(0));
    let text = at.and_then(|at| bytes.get(at + b"vermagic=".len()..)).and_then(|rest| rest.split(|b| *b == 0).next());
    Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
}

/// Reads compressed modules with modinfo(8); empty if modinfo is missing or prints a different number of lines.
fn by_modinfo(batch: &[PathBuf]) -> Vec<String> {
    let words = ["modinfo".to_owned(), "-F".to_owned(), "vermagic".to_owned()];
    let argv = Argv(words.into_iter().chain(batch.iter().map(|path| path.display().to_string())).collect());
    let lines: Vec<String> =
        programs::run(&argv).map(|out| out.lines().map(str::to_owned).collect()).unwrap_or_default();
    if lines.len() == batch.len() { lines } else { Vec::new() }
}
