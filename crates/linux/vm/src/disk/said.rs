use crate::console;
use crate::error::VmError;
use std::path::Path;

const MARK: char = '\u{1e}';

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskBoot {
    /// Content of /proc/cmdline; `None` if the kernel did not reach its first process.
    pub command_line: Option<String>,
    /// Output of `uname -r`.
    pub release: Option<String>,
    /// The step that ran, counting from 1; one more than the number of steps if all had run before.
    pub step: Option<usize>,
    /// Exit code of the step; `None` if it did not finish.
    pub exit_code: Option<i32>,
    /// Words passed to `mark` by the step, in order.
    pub marks: Vec<String>,
    /// The line with which the kernel panicked.
    pub panic: Option<String>,
    /// The guest has powered off or is about to.
    pub ended: bool,
    /// The raw console of this boot, including marks.
    pub raw: String,
}

impl DiskBoot {
    /// Returns the console without marks and control characters.
    pub fn console(&self) -> String {
        console::clean(&console::plain(&self.raw))
    }

    /// Unpacks the fetched files into `folder`; returns their size in bytes.
    pub fn unpack(&self, folder: &Path) -> Result<usize, VmError> {
        console::unpack_files(&self.raw, folder)
    }

    pub fn has(&self, word: &str) -> bool {
        self.command_line.as_ref().is_some_and(|line| line.split_whitespace().any(|w| w == word))
    }

    pub(super) fn of(raw: String) -> DiskBoot {
        let mut boot = DiskBoot::default();
        raw.lines().for_each(|line| boot.take(line));
        DiskBoot { raw, ..boot }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_boot_says_how_far_it_came() {
        let text = "BdsDxe: starting Boot0001\r\n\u{1e}release 6.12\r\n\u{1e}cmdline root=x quiet\r\n\u{1e}step 2\r\n\
                    hello\r\n\u{1e}mark here\r\n\u{1e}exit 3\r\n\u{1e}end\r\n";
        let boot = DiskBoot::of(text.to_owned());
        assert!(boot.has("quiet") && !boot.has("qui") && boot.ended && boot.panic.is_none());
        assert_eq!((boot.step, boot.exit_code, boot.marks.as_slice()), (Some(2), Some(3), &["here".into()][..]));
        assert!(boot.console().contains("hello") && !boot.console().contains('\u{1e}'));
    }

    #[test]
    fn a_panic_is_no_step() {
        let boot = DiskBoot::of("Loading\r\n[ 1.0] Kernel panic - not syncing: x\r\n".into());
        assert!(boot.panic.is_some() && boot.command_line.is_none() && boot.step.is_none() && !boot.ended);
    }

    proptest! {
        #[test]
        fn any_console_is_read(text in "(\\x1e|\\+|[a-z0-9= \\r\\n]|exit |step |end|mark )*") {
            let boot = DiskBoot::of(text);
            boot.console();
        }
    }
}
