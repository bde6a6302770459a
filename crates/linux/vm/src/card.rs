//! A board that boots from a card image. QEMU does not emulate the boards' firmware: it is given what the firmware
//! would read from the card, and everything from the kernel on comes from the card.

use crate::boot::{Log, Running, in_memory, read_all};
use crate::cache::Cache;
use crate::console;
use crate::error::VmError;
use crate::machine::Machine;
use crate::qemu::Qemu;
use crate::tools;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const DTC: &str = "install it: apt-get install device-tree-compiler";

#[derive(Clone, Debug)]
pub struct Card {
    pub machine: Machine,
    /// The card's image; changes made by the guest are discarded.
    pub image: PathBuf,
    /// The kernel on the card.
    pub kernel: PathBuf,
    /// The device tree on the card; nodes that QEMU lacks are disabled in a copy.
    pub device_tree: PathBuf,
    /// Content of cmdline.txt on the card, with `serial0` replaced by the port that QEMU emulates, as the firmware would do.
    pub command_line: String,
    /// The guest is killed at this console line, because some boards cannot power off.
    pub until: String,
    pub limit: Duration,
}

/// Properties on which the kernel would wait forever, by machine: QEMU connects raspi4b's card to the controller that
/// serves the radio on a real board, and lacks the firmware's GPIO expander that would power the radio.
const WAITS: [(Machine, &str, &str); 1] = [(Machine::Raspi4b, "/soc/mmc@7e300000", "mmc-pwrseq")];

#[derive(Clone, Debug)]
pub struct CardBoot {
    /// Output of the serial console.
    pub console: String,
    /// Time from the start of QEMU until the line `until` appeared.
    pub lasted: Duration,
    pub emulator: String,
}

impl Card {
    /// Boots until the line `until` appears on the console.
    ///
    /// # Errors
    /// The line does not appear within the limit; QEMU is missing, too old, or ended; or fdtput is missing.
    pub fn boot(&self, cache: &Cache) -> Result<CardBoot, VmError> {
        let qemu = Qemu::find_or_backport(self.machine, self.machine.facts().since, cache)?;
        let (log, complaints) = (Log::open(None)?, in_memory("complaints", b"")?);
        let tree = self.fixed_tree()?;
        let mut command = self.command(&qemu, &tree, &log);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(complaints.try_clone().map_err(VmError::file("duplicate", "a descriptor"))?);
        let begun = Instant::now();
        let mut child = Running(command.spawn().map_err(VmError::file("run", command.get_program()))?);
        loop {
            let gone = child.has_ended()?;
            let text = console::plain(&log.text());
            if text.lines().any(|line| line.trim() == self.until) {
                return Ok(CardBoot { console: text, lasted: begun.elapsed(), emulator: qemu.version.to_string() });
            }
            if let Some(status) = gone {
                let status = format!("{status}: {}", tools::last_lines(&read_all(&complaints), 3));
                return Err(VmError::Stopped {
                    what: "its script had ended",
                    status,
                    tail: console::tail(&log.text()),
                });
            }
            if begun.elapsed() > self.limit {
                let what = if log.length() == 0 { "nothing came from the console" } else { "the script did not end" };
                return Err(VmError::TimedOut { what, limit: self.limit, tail: console::tail(&log.text()) });
            }
            sleep(Duration::from_millis(250));
        }
    }

    fn command(&self, qemu: &Qemu, tree: &Path, log: &Log) -> Command {
        let facts = self.machine.facts();
        let mut command = qemu.begun();
        if let Some(memory) = facts.memory {
            command.args(["-m", &memory.to_string()]);
        }
        command.args(["-accel", "tcg", "-nodefaults", "-display", "none", "-monitor", "none", "-nic", "none"]);
        for _ in 0..facts.serial_before {
            command.args(["-serial", "null"]);
        }
        command.args(["-serial", &format!("file:{}", log.path())]);
        let image = self.image.display().to_string().replace(',', ",,");
        command.args(["-drive", &format!("if=sd,format=raw,snapshot=on,file={image}")]);
        command.arg("-kernel").arg(&self.kernel).arg("-dtb").arg(tree);
        command.args(["-append", &append(&self.command_line, facts.append)]);
        command
    }

    /// Returns the device tree for QEMU: if some nodes have to be disabled, a copy next to the card's tree, without
    /// properties on which the kernel would wait forever.
    fn fixed_tree(&self) -> Result<PathBuf, VmError> {
        let nodes = self.machine.facts().disabled_nodes;
        if nodes.is_empty() {
            return Ok(self.device_tree.clone());
        }
        let path = self.device_tree.with_extension("qemu.dtb");
        std::fs::copy(&self.device_tree, &path).map_err(VmError::file("copy", &self.device_tree))?;
        for node in nodes {
            let mut fdtput = Command::new("fdtput");
            fdtput.args(["-t", "s"]).arg(&path).args([node, "status", "disabled"]);
            tools::output(&mut fdtput, DTC)?;
        }
        for (_, node, property) in WAITS.iter().filter(|(machine, ..)| *machine == self.machine) {
            let mut fdtput = Command::new("fdtput");
            tools::output(fdtput.arg("-d").arg(&path).args([node, property]), DTC)?;
        }
        Ok(path)
    }
}

fn append(line: &str, console: &[&str]) -> String {
    let own = line.split_whitespace().filter(|word| !word.starts_with("console="));
    own.chain(console.iter().copied()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cards_words_are_kept_but_for_the_console() {
        let line = "console=serial0,115200 console=tty1 root=PARTUUID=1-02 rootwait\n";
        assert_eq!(
            append(line, &["console=ttyS1,115200", "8250.nr_uarts=2"]),
            "root=PARTUUID=1-02 rootwait console=ttyS1,115200 8250.nr_uarts=2"
        );
    }
}
