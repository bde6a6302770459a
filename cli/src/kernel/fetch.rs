//! Implements `kernel fetch`, which fetches a kernel source and checks its signature.

use super::args::building::FetchArgs;
use super::inputs::progress_lines;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::harmless;
use punctual_kbuild::fetch::{Origin, Patch, Request, SourceManifest};
use punctual_vm::Cache;

pub fn run(args: &FetchArgs) -> Result<Answer, Refusal> {
    let request = Request {
        origin: origin(args)?,
        keyring: args.keyring.clone(),
        sign: args.sign.clone(),
        sums: args.sums.clone(),
        unsigned: args.unsigned,
        patch: args.patch.clone(),
        patch_sign: args.patch_sign.clone(),
        out: args.out.clone(),
    };
    let cache = Cache::usual().map_err(Refusal::usage)?;
    let manifest = punctual_kbuild::fetch(&request, &cache, &mut progress_lines(args.output))?;
    Ok(Answer::new(args.output, 0, || &manifest, || harmless(&text(&manifest))))
}

fn origin(args: &FetchArgs) -> Result<Origin, Refusal> {
    if let Some(url) = &args.url {
        return Ok(Origin::Tarball { url: url.clone() });
    }
    if let (Some(url), Some(branch)) = (&args.git, &args.branch) {
        let (reference, commit) = (branch.clone(), args.commit.clone());
        return Ok(Origin::Git { url: url.clone(), reference, commit, release: args.release });
    }
    match &args.tree {
        Some(path) => Ok(Origin::Tree { path: path.clone() }),
        None if args.debian => Ok(Origin::Debian { series: args.series }),
        None => Err(Refusal::usage("name a source: --url, --git with --branch, --debian or --tree")),
    }
}

fn text(manifest: &SourceManifest) -> String {
    let sum = manifest.sha256.as_ref().map(|sum| format!("\nSHA-256 {sum}")).unwrap_or_default();
    let commit = manifest.commit.as_ref().map(|commit| format!("\ncommit {commit}")).unwrap_or_default();
    let (release, origin, proof) = (manifest.release, &manifest.origin, &manifest.proof);
    let patch = manifest.patch.as_ref().map(patch).unwrap_or_default();
    format!("{release} from {origin}\n{proof}{sum}{commit}{patch}\n{}\n", manifest.tree.display())
}

fn patch(patch: &Patch) -> String {
    let moved = match patch.moved {
        0 => String::new(),
        n => format!(", {n} hunks applied with an offset: the source is not the released one"),
    };
    format!("\npatched to {}, signed by {}: {} files{moved}", patch.patched, patch.key, patch.files)
}
