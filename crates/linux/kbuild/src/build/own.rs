//! Changes that a build makes to its configuration: the name, certificates, and the options of a diagnostic kernel.

use super::{DIAGNOSTIC, Job, MAKE, OURS, State, make};
use crate::KbuildError;
use punctual_kernel::config::make::REQUESTED;
use punctual_kernel::config::{Kconfig, Options, Value, dropped, fragment, of_config, requested};
use punctual_kernel::patch::makefile_release;
use punctual_kernel::programs::{last_lines, run};
use std::fs;
use std::path::Path;

/// Sets the local version, and removes certificates that the source does not contain. Returns the configuration.
///
/// If an option of a diagnostic kernel cannot be set, the configuration is left unchanged.
pub(super) fn own(job: &Job, report: &mut dyn FnMut(&str)) -> Result<String, KbuildError> {
    let path = job.out.join(".config");
    let text = read(&path)?;
    let options = of_config(&text);
    let name = options.get("LOCALVERSION").map_or("", |value| value.text().trim_matches('"'));
    if job.diagnostic && !name.contains(DIAGNOSTIC) && State::read(&job.out)?.is_some() {
        let (found, wanted) = ("a build of another kernel".to_owned(), "a diagnostic one".to_owned());
        return Err(KbuildError::Taken { path: job.out.clone(), found, wanted });
    }
    let diagnostic = if job.diagnostic { diagnostic(job)? } else { Options::new() };
    let mut wanted = diagnostic.clone();
    let mut ours = name.to_owned();
    for part in [Some(OURS), job.diagnostic.then_some(DIAGNOSTIC)].into_iter().flatten() {
        if !ours.contains(part) {
            ours += part;
        }
    }
    wanted.insert("LOCALVERSION".to_owned(), Value::string(&ours));
    for symbol in ["SYSTEM_TRUSTED_KEYS", "SYSTEM_REVOCATION_KEYS"] {
        let is_set = options.get(symbol).is_some_and(|value| !matches!(value.text(), "\"\"" | "n"));
        match is_set {
            true => wanted.insert(symbol.to_owned(), Value::string("")),
            false => wanted.remove(symbol),
        };
    }
    let is_so = |symbol: &String, value: &Value| options.get(symbol).map_or("n", Value::text) == value.text();
    wanted.retain(|symbol, value| !is_so(symbol, value));
    if wanted.is_empty() {
        return Ok(text);
    }
    let add = fragment(&wanted);
    report(&format!("changing the configuration: {}", add.trim_end().replace('\n', ", ")));
    crate::files::replace(&path, (text.clone() + &add).as_bytes())?;
    let result = changed(job, &path, &diagnostic);
    if result.is_err() && job.diagnostic {
        crate::files::replace(&path, text.as_bytes())?;
    }
    let text = result?;
    if job.diagnostic {
        request(&job.out, diagnostic, &ours)?;
    }
    Ok(text)
}

fn read(path: &Path) -> Result<String, KbuildError> {
    fs::read_to_string(path).map_err(KbuildError::file("read", path))
}

fn diagnostic(job: &Job) -> Result<Options, KbuildError> {
    let path = job.tree.join("Makefile");
    let release = makefile_release(&read(&path)?)
        .ok_or_else(|| KbuildError::bad(&path, "it does not start with VERSION, PATCHLEVEL and SUBLEVEL"))?;
    Ok(punctual_kernel::diagnostic(job.arch, release.series))
}

/// Runs `make olddefconfig`. Returns the configuration.
///
/// # Errors
/// make fails, or the result lacks an option of a diagnostic kernel.
fn changed(job: &Job, path: &Path, diagnostic: &Options) -> Result<String, KbuildError> {
    let ran = run(make(job).arg("olddefconfig"), b"", MAKE)?;
    if !ran.status.success() {
        return Err(KbuildError::Failed {
            what: format!("make olddefconfig in {}", job.out.display()),
            status: ran.status.to_string(),
            said: last_lines(&ran.said(), 5),
            next: "punctual kernel preflight lists what is missing".to_owned(),
        });
    }
    let text = read(path)?;
    let kconfig = Kconfig::of_tree(&job.tree, job.arch.folder());
    let dropped = dropped(diagnostic, &of_config(&text), &kconfig);
    match dropped.is_empty() {
        true => Ok(text),
        false => {
            let said: Vec<String> = dropped.iter().map(ToString::to_string).collect();
            let why =
                format!("a diagnostic kernel is not possible, and the configuration is unchanged: {}", said.join("; "));
            Err(KbuildError::bad(path, why))
        }
    }
}

/// Saves the requested options, with which `package` compares the configuration.
fn request(out: &Path, diagnostic: Options, name: &str) -> Result<(), KbuildError> {
    let path = out.join(REQUESTED);
    let mut all = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Options::new(),
        text => requested(&text.map_err(KbuildError::file("read", &path))?)
            .map_err(|error| KbuildError::bad(&path, format!("{error}; configure again")))?,
    };
    all.extend(diagnostic);
    all.insert("LOCALVERSION".to_owned(), Value::string(name));
    crate::files::replace(&path, fragment(&all).as_bytes())
}
