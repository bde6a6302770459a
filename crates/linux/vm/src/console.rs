//! Parses the guest's console: output of kernel and script, with the marks of the lab's init in between.

use crate::error::VmError;
use crate::tools::last_lines;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::Path;

/// Character that starts a mark of the guest's init (ASCII RS).
const MARK: char = '\u{1e}';

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub started: bool,
    pub exit: Option<i32>,
    /// True if the guest has sent everything.
    pub ended: bool,
    /// The line with which the kernel panicked.
    pub panic: Option<String>,
}

pub(crate) fn said(text: &str) -> Said {
    let mut said = Said::default();
    for line in text.lines() {
        if let Some(word) = line.rsplit(MARK).next().filter(|_| line.contains(MARK)) {
            match word.trim_end().split_once(' ') {
                Some(("exit", code)) => said.exit = code.parse().ok(),
                None if word.trim_end() == "started" => said.started = true,
                None if word.trim_end() == "end" => said.ended = true,
                _ => {}
            }
        } else if said.panic.is_none() && line.contains("Kernel panic - not syncing") {
            said.panic = Some(line.trim().to_owned());
        }
    }
    said
}

/// Returns the text without marks, up to the end mark, because what the kernel prints while powering off is irrelevant.
pub(crate) fn plain(text: &str) -> String {
    let is_end = |line: &str| line.trim_end().ends_with(&format!("{MARK}end"));
    text.lines()
        .take_while(|line| !is_end(line))
        .filter(|line| !line.contains(MARK))
        .map(|line| line.trim_end_matches('\r').to_owned() + "\n")
        .collect()
}

pub(crate) fn tail(text: &str) -> String {
    let clean = clean(&last_lines(&plain(text), 12));
    if clean.is_empty() { "(nothing came from the console)".into() } else { clean }
}

/// Returns the first fault and the lines after it, then the last lines.
pub(crate) fn panic(text: &str) -> String {
    const FAULTS: [&str; 6] =
        ["BUG: ", "Oops", "general protection", "Unable to handle", "Internal error", "Unhandled"];
    const LINES: usize = 12;
    let plain = clean(&plain(text));
    let lines: Vec<&str> = plain.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| FAULTS.iter().any(|fault| line.contains(fault)));
    match first {
        Some(first) if first + 2 * LINES < lines.len() => {
            let (cause, end) = (&lines[first..first + LINES], &lines[lines.len() - LINES..]);
            format!("{}\n[…]\n{}", cause.join("\n"), end.join("\n"))
        }
        Some(first) => lines[first..].join("\n"),
        None => tail(text),
    }
}

/// Removes control characters except line ends.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Unpacks the files sent by the guest into `folder`; returns their size in bytes.
///
/// # Errors
/// gzip's checksum or length does not match.
pub(crate) fn unpack_files(text: &str, folder: &Path) -> Result<usize, VmError> {
    let lines = text.lines().filter_map(|line| line.split_once(MARK)?.1.strip_prefix('+'));
    let encoded: String = lines.map(str::trim_end).collect();
    if encoded.is_empty() {
        return Ok(0);
    }
    let packed = STANDARD.decode(&encoded).map_err(|e| VmError::Damaged(e.to_string()))?;
    let mut bytes = Vec::new();
    // The guest's memory limits what it can send; this limit is for a decompression bomb.
    let mut decoder = GzDecoder::new(&packed[..]).take(1 << 30);
    decoder.read_to_end(&mut bytes).map_err(|e| VmError::Damaged(e.to_string()))?;
    let mut archive = tar::Archive::new(&bytes[..]);
    archive.set_preserve_permissions(false);
    archive.unpack(folder).map_err(VmError::file("unpack the guest's files into", folder))?;
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "[ 1.0] Linux\r\n\u{1e}started\r\nhello\r\nno newline\u{1e}exit 3\r\n\u{1e}end\r\n";

    #[test]
    fn marks_are_told_from_text() {
        let said = said(TEXT);
        assert!(said.started && said.ended && said.exit == Some(3) && said.panic.is_none(), "{said:?}");
        assert_eq!(plain(TEXT), "[ 1.0] Linux\nhello\n");
    }

    #[test]
    fn a_panic_is_seen() {
        let text = "[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs\r\n";
        assert!(said(text).panic.unwrap().contains("VFS"));
        assert_eq!(tail(""), "(nothing came from the console)");
    }

    #[test]
    fn the_cause_of_a_panic_is_shown_though_registers_follow() {
        let registers = "[ 1.9] RAX: 0\r\n".repeat(40);
        let text =
            format!("[ 1.8] Linux\r\n[ 1.9] BUG: unable to handle page fault\r\n[ 1.9] RIP: 0010:f+0x1\r\n{registers}");
        let said = panic(&format!("{text}[ 1.9] Kernel panic - not syncing: Fatal exception\r\n"));
        assert!(said.starts_with("[ 1.9] BUG: unable to handle page fault\n[ 1.9] RIP: 0010:f+0x1"), "{said}");
        assert!(said.contains("[…]") && said.ends_with("Fatal exception"), "{said}");
        assert_eq!(said.lines().count(), 25);
        assert_eq!(panic(TEXT), tail(TEXT));
    }

    proptest! {
        #[test]
        fn any_console_is_read(text in "(\\x1e|\\+|[a-zA-Z0-9+/= \\r\\n]|exit |end|started)*") {
            let folder = tempfile::tempdir().unwrap();
            said(&text);
            panic(&text);
            let _ = unpack_files(&text, folder.path());
        }
    }
}
