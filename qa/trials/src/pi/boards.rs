//! Boots SD cards on the boards that QEMU emulates, and checks what the kernel shows on them.

use super::Bench;
use punctual_kbuild::image;
use punctual_vm::{Cache, Card, Machine};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Text that look.sh prints at its end.
const END: &str = "LOOK-END";
/// Time limit of a boot. A boot takes about 30 s, but it is emulated and may run together with other work.
const LIMIT: Duration = Duration::from_secs(400);

/// A board and what is expected of it. If QEMU does not emulate its network, the board is tested without a network, and
/// the output says so.
pub struct Board {
    pub key: &'static str,
    machine: Machine,
    tree: &'static str,
    model: &'static str,
    /// Names of the lines of look.sh, each with a word that the line must contain.
    shows: &'static [(&'static str, &'static str)],
}

pub const ALL: [Board; 2] = [
    Board {
        key: "raspberry-pi-3-64",
        machine: Machine::Raspi3b,
        tree: "bcm2837-rpi-3-b.dtb",
        model: "Raspberry Pi 3 Model B",
        shows: &[("modules", "dwc2"), ("usb", "usb1")],
    },
    Board {
        key: "raspberry-pi-4-64",
        machine: Machine::Raspi4b,
        tree: "bcm2711-rpi-4-b.dtb",
        model: "Raspberry Pi 4 Model B",
        shows: &[("modules", "xhci_pci"), ("usb", "usb1")],
    },
];

const SHOWS: [(&str, &str); 9] = [
    ("release", "punctual-rt"),
    ("version", "PREEMPT_RT"),
    ("machine", "aarch64"),
    ("config", "2"),
    ("root", "ext4"),
    ("wrong", "0"),
    ("modules", "spi_bcm2835"),
    ("modules", "usbhid"),
    ("gpio", "/dev/gpiochip0"),
];

pub fn boot(board: &Board, bench: &Bench) -> Result<(), String> {
    let image = bench.dir.join(format!("{}.img", board.key));
    let folder = bench.dir.join(format!("{}.boot", board.key));
    fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    // The files the firmware would read, taken from the card itself.
    let taken = |name: &str| {
        let bytes = image::read(&image, name).map_err(|e| e.to_string())?;
        let path = folder.join(name);
        fs::write(&path, &bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok::<_, String>((path, String::from_utf8_lossy(&bytes).into_owned()))
    };
    let card = Card {
        machine: board.machine,
        kernel: taken("kernel8.img")?.0,
        device_tree: taken(board.tree)?.0,
        command_line: taken("cmdline.txt")?.1,
        image: image.clone(),
        until: END.to_owned(),
        limit: LIMIT,
    };
    let cache = Cache::usual().map_err(|e| e.to_string())?;
    let done = card.boot(&cache).map_err(|e| format!("{}: {e}", board.machine))?;
    let log = bench.dir.join(format!("{}.console", board.key));
    fs::write(&log, &done.console).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
    let said = lines(&done.console);
    let (seconds, qemu) = (done.lasted.as_secs_f64(), &done.emulator);
    println!(
        "{} booted in {seconds:.1} s, QEMU {qemu}; NOT TESTED: Ethernet, which QEMU does not model",
        board.machine
    );
    for (name, text) in &said {
        println!("  {name:8} {text}");
    }
    judged(board, &said).map_err(|why| format!("{}: {why}; {}", board.machine, log.display()))
}

fn lines(console: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in console.lines().filter_map(|line| line.trim().strip_prefix("LOOK ")) {
        let (name, text) = line.split_once(' ').unwrap_or((line, ""));
        found.insert(name.to_owned(), text.to_owned());
    }
    found
}

fn judged(board: &Board, said: &BTreeMap<String, String>) -> Result<(), String> {
    if let Some(refused) = said.get("refused") {
        return Err(format!("a module was refused: {refused}"));
    }
    if !said.get("model").is_some_and(|model| model.starts_with(board.model)) {
        return Err(format!("the model is {:?}, expected {}", said.get("model"), board.model));
    }
    for (name, word) in SHOWS.iter().chain(board.shows) {
        let text = said.get(*name).ok_or(format!("{name} is missing from the output"))?;
        if !text.split(' ').any(|found| found == *word || (*name == "release" && found.ends_with(word))) {
            return Err(format!("{name} is `{text}`, and {word} is missing"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &str = "[    1.0] x\nLOOK release 6.12.9-punctual-rt\nLOOK version #1 SMP PREEMPT_RT x\nLOOK machine aarch64\nLOOK config 2\n\
                           LOOK root ext4\nLOOK wrong 0\nLOOK modules dwc2 spi_bcm2835 usbhid\nLOOK gpio /dev/gpiochip0\nLOOK usb usb1\n\
                           LOOK model Raspberry Pi 3 Model B\nLOOK-END\n";

    #[test]
    fn each_line_that_is_missing_or_wrong_fails() {
        assert_eq!(judged(&ALL[0], &lines(CONSOLE)), Ok(()));
        let faults = [
            ("PREEMPT_RT", "PREEMPT_DYNAMIC"),
            ("wrong 0", "wrong 1"),
            ("spi_bcm2835", "spidev"),
            ("LOOK usb usb1\n", ""),
            ("Pi 3", "Pi 4"),
            ("LOOK-END", "LOOK refused dwc2 modprobe: x"),
        ];
        for (good, bad) in faults {
            assert!(judged(&ALL[0], &lines(&CONSOLE.replace(good, bad))).is_err(), "{bad}");
        }
    }
}
