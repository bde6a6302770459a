//! A tarball as kernel.org publishes it: `linux-A.B.C.tar.xz`, `linux-A.B.C.tar.sign` of the uncompressed tarball, and
//! the folder's `sha256sums.asc` (https://www.kernel.org/signature.html). Both must be valid before it is unpacked.

use super::{Proof, Request, Taken, download, unpack};
use crate::KbuildError;
use punctual_kernel::patch::{PatchError, signature};
use punctual_kernel::programs::ProgramError;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Suffixes of archives, and the programs that decompress them.
const PACKINGS: [(&str, &str); 4] = [(".xz", "xz"), (".gz", "gzip"), (".zst", "zstd"), (".bz2", "bzip2")];

pub fn fetch(url: &str, request: &Request, out: &Path, report: &mut dyn FnMut(&str)) -> Result<Taken, KbuildError> {
    let keyring = request.keyring.as_deref().ok_or_else(|| {
        KbuildError::Usage(
            "a tarball is used only if it is signed: give the keys with --keyring (gpg --locate-keys torvalds@kernel.org \
             gregkh@kernel.org autosigner@kernel.org, then gpg --export > FILE)"
                .to_owned(),
        )
    })?;
    let folder = out.join("download");
    let (sign, sums) = beside(url, request);
    // The signature is small and never resumed, because an existing file may belong to an earlier release.
    let sign = download::anew(&sign, &folder, report)?;
    let sums = download::anew(&sums, &folder, report)?;
    let archive = download::file(url, &folder, report)?;
    report("verifying checksum and signature");
    let checked = checked(&archive, &sign, &sums, keyring);
    if checked.as_ref().is_err_and(KbuildError::is_verdict) && archive.starts_with(&folder) {
        // If the file were kept, every later attempt would be refused.
        fs::remove_file(&archive).map_err(KbuildError::file("remove", &archive))?;
    }
    let proof = checked?;
    let sha256 = crate::sha256(&archive)?;
    let tree = unpack(&archive, out, report)?;
    Ok(Taken { tree, proof, sha256: Some(sha256), commit: None, epoch: None })
}

/// Returns the locations of signature and checksums: as requested, or where kernel.org has them.
fn beside(url: &str, request: &Request) -> (String, String) {
    let stem = PACKINGS.iter().find_map(|(end, _)| url.strip_suffix(end)).unwrap_or(url);
    let folder = url.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let sign = request.sign.clone().unwrap_or_else(|| format!("{stem}.sign"));
    let sums = request.sums.clone().unwrap_or_else(|| format!("{folder}sha256sums.asc"));
    (sign, sums)
}

fn checked(archive: &Path, sign: &Path, sums: &Path, keyring: &Path) -> Result<Proof, KbuildError> {
    let (text, sums_key) = signature::clearsigned(&sums.display().to_string(), sums, keyring)?;
    signature::listed(archive, &text)?;
    let tree_key = unpacked_signed(archive, sign, keyring)?;
    Ok(Proof::Signed { tree_key, sums_key })
}

/// Verifies the signature, which is made over the uncompressed tarball.
fn unpacked_signed(archive: &Path, sign: &Path, keyring: &Path) -> Result<String, KbuildError> {
    let name = archive.display().to_string();
    let Some((_, program)) = PACKINGS.iter().find(|(end, _)| name.ends_with(end)) else {
        let file = File::open(archive).map_err(KbuildError::file("read", archive))?;
        return Ok(signature::detached_piped(&name, file.into(), sign, keyring)?);
    };
    let spawned = Command::new(program).arg("-dc").arg(archive).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let failed = |source| ProgramError::Failed { program: (*program).to_owned(), source };
    let mut child = spawned.map_err(failed)?;
    let pipe = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let key = signature::detached_piped(&name, pipe, sign, keyring);
    let status = punctual_watchdog::wait(&mut child, program, punctual_watchdog::PROGRAMS).map_err(failed)?;
    let key = key?;
    match status.success() {
        true => Ok(key),
        false => Err(PatchError::Damaged { name, why: format!("{program} -dc ended with {status}") }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Origin;

    #[test]
    fn signature_and_sums_lie_where_kernel_org_has_them() {
        let url = "https://cdn.kernel.org/pub/linux/kernel/v6.x/linux-6.12.9.tar.xz";
        let mut request = Request {
            origin: Origin::Tarball { url: url.to_owned() },
            keyring: None,
            sign: None,
            sums: None,
            unsigned: false,
            patch: None,
            patch_sign: None,
            out: "out".into(),
        };
        let base = "https://cdn.kernel.org/pub/linux/kernel/v6.x";
        let (sign, sums) = (format!("{base}/linux-6.12.9.tar.sign"), format!("{base}/sha256sums.asc"));
        assert_eq!(beside(url, &request), (sign, sums));
        request.sums = Some("sums".to_owned());
        assert_eq!(beside("linux.tar.gz", &request), ("linux.tar.sign".to_owned(), "sums".to_owned()));
    }
}
