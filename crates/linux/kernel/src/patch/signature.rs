//! Verifies signatures with gpgv(1) and a keyring chosen by the user. Nothing is fetched, and no trust database is
//! used.

use super::PatchError;
use crate::programs::{Ran, last_lines, run, run_piped};
use punctual_directory::{Scratch, Whose};
use std::path::Path;
use std::process::{Command, Stdio};

const REMEDY: &str = "apt-get install gpgv";

/// Verifies a detached signature of `content` (for published patches: the uncompressed file). Returns the fingerprint
/// of the key.
///
/// # Errors
/// The signature is not by a key of the keyring, is for other content, or has expired.
pub fn detached(name: &str, content: &[u8], sign: &Path, keyring: &Path) -> Result<String, PatchError> {
    let mut gpgv = gpgv(keyring);
    let ran = run(gpgv.arg(sign).arg("-"), content, REMEDY)?;
    fingerprint(name, &ran)
}

/// Like [`detached`], but reads the content from a pipe, because an uncompressed source is too large for memory.
pub fn detached_piped(name: &str, content: Stdio, sign: &Path, keyring: &Path) -> Result<String, PatchError> {
    let mut gpgv = gpgv(keyring);
    let ran = run_piped(gpgv.arg(sign).arg("-"), content, REMEDY)?;
    fingerprint(name, &ran)
}

/// Verifies a text with an inline signature, `sha256sums.asc`. Returns only the signed part of the file, and the
/// fingerprint.
pub fn clearsigned(name: &str, file: &Path, keyring: &Path) -> Result<(String, String), PatchError> {
    let content = std::fs::read(file).map_err(super::ProgramError::file("read", file))?;
    let folder = Scratch::create("signature", Whose::System).map_err(std::io::Error::from);
    let folder = folder.map_err(super::ProgramError::file("make", std::env::temp_dir()))?;
    let out = folder.path().join("signed");
    let mut gpgv = gpgv(keyring);
    let ran = run(gpgv.arg("--output").arg(&out).arg("-"), &content, REMEDY)?;
    let fingerprint = fingerprint(name, &ran)?;
    let text = std::fs::read_to_string(&out).map_err(super::ProgramError::file("read", &out))?;
    Ok((text, fingerprint))
}

fn gpgv(keyring: &Path) -> Command {
    let mut gpgv = Command::new("gpgv");
    // gpgv searches ~/.gnupg for a name without a slash.
    let keyring = std::path::absolute(keyring).unwrap_or_else(|_| keyring.to_owned());
    gpgv.args(["--status-fd", "1", "--keyring"]).arg(keyring);
    gpgv
}

/// Extracts the fingerprint: VALIDSIG is printed only for valid signatures, and its first word is the key's fingerprint
/// (doc/DETAILS of GnuPG).
fn fingerprint(name: &str, ran: &Ran) -> Result<String, PatchError> {
    let status = String::from_utf8_lossy(&ran.stdout).into_owned();
    let word = |tag: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix("[GNUPG:] ")?.strip_prefix(tag));
        line.map(|rest| rest.split_whitespace().next().unwrap_or_default().to_owned())
    };
    let refused = |why: String| PatchError::Signature { name: name.to_owned(), why };
    if word("BADSIG").is_some() {
        return Err(refused("the signature does not match the content: the file was changed or damaged".to_owned()));
    }
    if let Some(key) = word("NO_PUBKEY") {
        return Err(refused(format!("signed by key {key}, which is not in the keyring")));
    }
    for (tag, what) in
        [("EXPKEYSIG", "an expired key"), ("REVKEYSIG", "a revoked key"), ("EXPSIG", "an expired signature")]
    {
        if word(tag).is_some() {
            return Err(refused(format!("it has {what}")));
        }
    }
    match word("VALIDSIG") {
        Some(fingerprint) if ran.status.success() => Ok(fingerprint),
        _ => Err(refused(format!("gpgv found no valid signature: {}", last_lines(&ran.said(), 2)))),
    }
}

/// Returns the SHA-256 of a file in a verified `sha256sums.asc`.
pub fn sum_of<'t>(sums: &'t str, file: &str) -> Option<&'t str> {
    let lines = sums.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let is_hash = |hash: &&str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    lines
        .filter(|(hash, _)| is_hash(hash))
        .find(|(_, name)| name.trim_start_matches([' ', '*']) == file)
        .map(|(hash, _)| hash)
}

/// Compares a file with a verified list by means of sha256sum(1).
///
/// # Errors
/// The file is not listed, or has other content.
pub fn listed(file: &Path, sums: &str) -> Result<(), PatchError> {
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let refused = |why: &str| PatchError::Signature { name: name.clone(), why: why.to_owned() };
    let wanted = sum_of(sums, &name).ok_or_else(|| refused("the signed list has no such file"))?;
    let ran = run(Command::new("sha256sum").arg("--").arg(file), b"", "apt-get install coreutils")?;
    let found = String::from_utf8_lossy(&ran.stdout).into_owned();
    let found = found.trim_start_matches('\\').split_whitespace().next().unwrap_or_default();
    match ran.status.success() && found.eq_ignore_ascii_case(wanted) {
        true => Ok(()),
        false => Err(refused("its SHA-256 differs from the signed list: it was changed or damaged")),
    }
}
