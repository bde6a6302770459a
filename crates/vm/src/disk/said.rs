//! A console that several boots have written to, taken apart.

use crate::console;
use crate::error::VmError;
use std::path::Path;

const MARK: char = '\u{1e}';
/// What OVMF says before it starts a loader (BdsDxe): a boot begins.
const FIRMWARE: &str = "BdsDxe: starting ";

/// One boot, from the firmware on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskBoot {
    /// The kernel's parameters (/proc/cmdline); `None`: it did not get as far as its first process.
    pub command_line: Option<String>,
    /// `uname -r`.
    pub release: Option<String>,
    /// The step that was run, counting from 1. One beyond the last: all had been run.
    pub step: Option<usize>,
    /// The step's exit code; `None`: it did not end.
    pub exit_code: Option<i32>,
    /// Where the step was: the words of `mark`, in order.
    pub marks: Vec<String>,
    /// The kernel's last words.
    pub panic: Option<String>,
    /// The guest has switched itself off or is about to.
    pub ended: bool,
    /// Everything the console said in this boot, our marks included.
    pub raw: String,
}

impl DiskBoot {
    /// What a person should see of the console: no marks, no control characters.
    pub fn console(&self) -> String {
        console::clean(&console::plain(&self.raw))
    }

    /// Unpacks the files it brought back into `folder`; returns their bytes.
    ///
    /// # Errors
    /// They came damaged, or cannot be written.
    pub fn unpack(&self, folder: &Path) -> Result<usize, VmError> {
        console::unpack_files(&self.raw, folder)
    }

    /// Is this word among the kernel's parameters?
    pub fn has(&self, word: &str) -> bool {
        self.command_line.as_ref().is_some_and(|line| line.split_whitespace().any(|w| w == word))
    }

    fn take(&mut self, line: &str) {
        if let Some((_, said)) = line.rsplit_once(MARK) {
            let said = said.trim_end();
            match said.split_once(' ').unwrap_or((said, "")) {
                ("release", rest) => self.release = Some(rest.to_owned()),
                ("cmdline", rest) => self.command_line = Some(rest.to_owned()),
                ("step", rest) => self.step = rest.parse().ok(),
                ("exit", rest) => self.exit_code = rest.parse().ok(),
                ("mark", rest) => self.marks.push(rest.to_owned()),
                ("end", "") => self.ended = true,
                _ => {}
            }
        } else if self.panic.is_none() && line.contains("Kernel panic - not syncing") {
            self.panic = Some(line.trim().to_owned());
        }
    }
}

/// The boots in a console's text, in their order.
pub(super) fn boots(text: &str) -> Vec<DiskBoot> {
    let mut boots: Vec<DiskBoot> = Vec::new();
    for line in text.lines() {
        if line.contains(FIRMWARE) || boots.is_empty() {
            // What came before the first start belongs to it.
            match boots.last_mut() {
                Some(first) if boots_started(first) => boots.push(DiskBoot::default()),
                Some(_) => {}
                None => boots.push(DiskBoot::default()),
            }
        }
        if let Some(boot) = boots.last_mut() {
            boot.raw.push_str(line);
            boot.raw.push('\n');
            boot.take(line);
        }
    }
    boots
}

fn boots_started(boot: &DiskBoot) -> bool {
    boot.raw.contains(FIRMWARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_start_of_the_firmware_is_a_boot() {
        let text = "\u{1b}[2Jfirmware\r\nBdsDxe: starting Boot0001 \"x\"\r\nLoading\r\n[ 1.0] Kernel panic - not syncing: x\r\n\
                    BdsDxe: starting Boot0001\r\n\u{1e}release 6.12\r\n\u{1e}cmdline root=x quiet\r\n\u{1e}step 2\r\n\
                    hello\r\n\u{1e}mark here\r\n\u{1e}exit 3\r\n\u{1e}end\r\n";
        let boots = boots(text);
        assert_eq!(boots.len(), 2);
        assert!(boots[0].panic.is_some() && boots[0].command_line.is_none());
        let second = &boots[1];
        assert!(second.has("quiet") && !second.has("qui") && second.ended && second.panic.is_none());
        assert_eq!((second.step, second.exit_code, second.marks.as_slice()), (Some(2), Some(3), &["here".into()][..]));
        assert!(second.console().contains("hello") && !second.console().contains('\u{1e}'));
    }

    proptest! {
        #[test]
        fn any_console_is_taken_apart(text in "(\\x1e|\\+|[a-z0-9= \\r\\n]|BdsDxe: starting |exit |step |end|mark )*") {
            let lines = boots(&text).iter().map(|b| b.raw.lines().count()).sum::<usize>();
            prop_assert_eq!(lines, text.lines().count());
        }
    }
}
