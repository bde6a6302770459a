use crate::Error;
use crate::files;
use crate::layout::{self, FileSum, Manifest};
use crate::text::{lines, pretty, worst_lines};
use punctual_directory::Dir;
use punctual_model::{Capture, Explained, Worst};
use std::collections::BTreeMap;

/// Adds a file such as `report.html` and its checksum to a finished run.
pub fn attach(dir: &Dir, name: &str, content: &[u8]) -> Result<(), Error> {
    let sum = files::replace(dir, name, content, true)?;
    change_manifest(dir, |files| {
        files.insert(name.to_owned(), sum);
    })
}

/// Replaces `worst.jsonl` of a finished run, to add suspected causes to its wakeups.
pub fn replace_worst(dir: &Dir, worst: &[Worst]) -> Result<(), Error> {
    let mut worst = worst.to_vec();
    // A file without an entry is not checked, so the run stays readable if the program is killed before the end.
    change_manifest(dir, |files| {
        files.remove(layout::WORST);
    })?;
    let sum = files::replace(dir, layout::WORST, &worst_lines(&mut worst), true)?;
    change_manifest(dir, |files| {
        files.insert(layout::WORST.into(), sum);
    })
}

/// Adds `causes.jsonl` and the checksums of its traces to a finished run.
pub fn attach_causes(dir: &Dir, captures: &[Capture], explained: &[Explained]) -> Result<(), Error> {
    let mut sums = Vec::new();
    // The manifest must not list files that a power failure can remove, and the traces were written during the
    // measurement without being synced.
    for capture in captures {
        for name in [capture.file.clone(), layout::capture_note(&capture.file)] {
            let content = files::read(dir, &name, layout::LARGEST_TRACE)?;
            dir.sync_file(&name)?;
            sums.push((name, files::sum(&content)));
        }
    }
    if !captures.is_empty() {
        dir.dir(layout::TRACES)?.sync()?;
    }
    let causes = files::replace(dir, layout::CAUSES, &lines(explained), true)?;
    change_manifest(dir, |files| {
        files.extend(sums);
        files.insert(layout::CAUSES.into(), causes);
    })
}

/// Returns a capture as stored in `traces/` beside its trace.
pub fn capture_text(capture: &Capture) -> Vec<u8> {
    lines(std::slice::from_ref(capture))
}

fn change_manifest(dir: &Dir, change: impl FnOnce(&mut BTreeMap<String, FileSum>)) -> Result<(), Error> {
    let damaged = |e: serde_json::Error| Error::Damaged { path: dir.path().join(layout::MANIFEST), why: e.to_string() };
    let mut manifest: Manifest =
        serde_json::from_slice(&files::read(dir, layout::MANIFEST, 16 << 20)?).map_err(damaged)?;
    change(&mut manifest.files);
    write_manifest(dir, manifest.files, true)
}

pub(crate) fn write_manifest(dir: &Dir, files: BTreeMap<String, FileSum>, sync: bool) -> Result<(), Error> {
    let manifest = Manifest { schema: "punctual.manifest/1".into(), files };
    let text = pretty(&manifest).map_err(Error::io("write", dir.path().join(layout::MANIFEST)))?;
    files::replace(dir, layout::MANIFEST, &text, sync).map(drop)
}
