//! Uploads a file: verifies the parts that exist, sends the rest, verifies the whole file and renames it.

use crate::child::Bounds;
use crate::error::{RemoteError, file};
use crate::link::{COMMAND, Link, Said, TRANSFER_TIME, quoted};
use crate::{FOLDER, PART, TRIES, sum};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// Uploads a file unless it exists on the target. Returns its path on the target, relative to the home directory.
///
/// # Errors
/// The file cannot be read, the target cannot be reached for too long, or its disk is full.
pub fn upload(link: &Link, path: &Path) -> Result<String, RemoteError> {
    let sum = sum::of_file(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' }).collect();
    let to = format!("{FOLDER}/up/{}-{name}", sum.get(..16).unwrap_or(&sum));
    let (mut cuts, mut best, mut why) = (0, 0, String::new());
    while cuts < TRIES {
        let Some(sound) = sound_parts(link, &to, &sum, path)? else { return Ok(to) };
        if sound > best {
            (best, cuts) = (sound, 0);
        }
        match send(link, &to, &sum, path, sound)? {
            Said::Ended { code: 0, .. } => return Ok(to),
            // The checksum is wrong: the next attempt keeps the valid parts and sends the rest.
            Said::Ended { code: 3, .. } => why = "wrong checksum".to_owned(),
            Said::Ended { code, complaint, .. } => {
                return Err(RemoteError::Link(format!("{}: {to}: exit code {code}: {complaint}", link.target)));
            }
            Said::Cut(cut) => why = cut,
        }
        cuts += 1;
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(link.cut(&why))
}

/// Returns the number of valid parts at the beginning of the file; `None` if the file is complete.
fn sound_parts(link: &Link, to: &str, sum: &str, path: &Path) -> Result<Option<u64>, RemoteError> {
    let (file_there, folder) = (quoted(to), quoted(&format!("{FOLDER}/up")));
    let script = format!(
        "umask 077; mkdir -p {folder} && if [ -f {file_there} ]; then sha256sum < {file_there}; elif [ -f {file_there}.part ]; then \
         n=$(wc -c < {file_there}.part); i=0; while [ $(( (i + 1) * {PART} )) -le \"$n\" ]; do \
         dd if={file_there}.part bs={PART} skip=$i count=1 2> /dev/null | sha256sum; i=$((i + 1)); done | sed 's/^/part /'; fi"
    );
    let said = link.output(&script)?;
    let first = said.split_whitespace().next();
    if first == Some(sum) {
        return Ok(None);
    }
    let there = said.lines().filter_map(|line| line.strip_prefix("part ")?.split_whitespace().next());
    let mut source = File::open(path).map_err(file("open", path))?;
    let mut sound = 0;
    for theirs in there {
        let mut part = Vec::new();
        source.by_ref().take(PART).read_to_end(&mut part).map_err(file("read", path))?;
        if part.len() as u64 != PART || sum::of_bytes(&part) != theirs {
            break;
        }
        sound += 1;
    }
    Ok(Some(sound))
}

fn send(link: &Link, to: &str, sum: &str, path: &Path, sound: u64) -> Result<Said, RemoteError> {
    let (there, from) = (quoted(to), sound * PART);
    let script = format!(
        "umask 077; dd if=/dev/null of={there}.part bs=1 seek={from} 2> /dev/null && cat >> {there}.part && sync && \
         if [ \"$(sha256sum < {there}.part | cut -d ' ' -f 1)\" = {sum} ]; then mv -f {there}.part {there}; else exit 3; fi"
    );
    let mut source = File::open(path).map_err(file("open", path))?;
    source.seek(SeekFrom::Start(from)).map_err(file("read", path))?;
    link.script(&script, Some(&mut source), &mut io::sink(), Bounds { time: TRANSFER_TIME, ..COMMAND })
}
