//! The steps of a guest, as a tar archive on a separate disk.

use crate::error::VmError;
use crate::guest::FileIn;

const TURN: &str = include_str!("turn.sh");
/// The `mark` command available to the steps.
const MARK: &str = "#!/bin/sh\nprintf '\\036mark %s\\n' \"$1\" > /dev/console\n";

/// The task of one boot. When its script ends, the guest restarts for the next step, or powers off after the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// A shell script (Debian's /bin/sh), run as root in /root; `mark WORD` in it reports progress to the host.
    pub script: String,
    /// Absolute paths to fetch when the script has ended, if they exist.
    pub fetch: Vec<String>,
}

impl Step {
    pub fn new(script: impl Into<String>) -> Step {
        Step { script: script.into(), fetch: Vec::new() }
    }

    #[must_use]
    pub fn fetching<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Step {
        self.fetch = paths.into_iter().map(Into::into).collect();
        self
    }
}

/// Packs the steps. The first member of the archive is the number of the next step, which the guest increments in place
/// (turn.sh).
pub(super) fn archive(steps: &[Step], tools: &[FileIn]) -> Result<Vec<u8>, VmError> {
    let mut tar = tar::Builder::new(Vec::new());
    add(&mut tar, "number", b"1               ", 0o644)?;
    add(&mut tar, "turn", TURN.as_bytes(), 0o644)?;
    add(&mut tar, "tools/mark", MARK.as_bytes(), 0o755)?;
    for file in tools {
        let path = format!("tools/{}", file.path.trim_start_matches('/'));
        add(&mut tar, &path, &file.content, file.mode)?;
    }
    for (number, step) in (1..).zip(steps) {
        if let Some(path) = step.fetch.iter().find(|path| !crate::guest::is_plain(path)) {
            return Err(VmError::Usage(format!("`{path}` is not an absolute path without `..` and spaces")));
        }
        let fetch: Vec<&str> = step.fetch.iter().map(|path| path.trim_start_matches('/')).collect();
        add(&mut tar, &format!("fetch-{number}"), fetch.join("\n").as_bytes(), 0o644)?;
        add(&mut tar, &format!("step-{number}"), step.script.as_bytes(), 0o644)?;
    }
    let mut bytes = tar.into_inner().map_err(VmError::file("pack", "the steps"))?;
    // A disk has whole MiB, so that firmware and kernel agree on its end.
    bytes.resize(bytes.len().next_multiple_of(1 << 20), 0);
    Ok(bytes)
}

fn add(tar: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8], mode: u32) -> Result<(), VmError> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(mode);
    header.set_cksum();
    tar.append_data(&mut header, path, content).map_err(VmError::file("pack", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_second_block() {
        let steps = [Step::new("true"), Step::new("false").fetching(["/run/a", "/etc"])];
        let tool = FileIn { path: "punctual".into(), mode: 0o755, content: vec![7; 600] };
        let bytes = archive(&steps, &[tool]).unwrap();
        assert_eq!(&bytes[512..528], b"1               ");
        assert_eq!(bytes.len() % (1 << 20), 0);
        let mut read = tar::Archive::new(&bytes[..]);
        let names: Vec<String> =
            read.entries().unwrap().map(|e| e.unwrap().path().unwrap().display().to_string()).collect();
        assert_eq!(names, ["number", "turn", "tools/mark", "tools/punctual", "fetch-1", "step-1", "fetch-2", "step-2"]);
        assert!(archive(&[Step::new("").fetching(["/a b"])], &[]).is_err());
    }
}
