use crate::arch::Arch;
use crate::backport;
use crate::cache::Cache;
use crate::error::VmError;
use crate::guest::{Clock, Guest};
use crate::machine::Machine;
use crate::network::Network;
use crate::tools;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A version: 7.2.22 has major 7, minor 2, micro 22.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub micro: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

#[derive(Clone, Debug)]
pub struct Qemu {
    program: PathBuf,
    machine: Machine,
    pub version: Version,
}

impl Qemu {
    /// Finds the installed QEMU for a machine.
    ///
    /// # Errors
    /// QEMU is not installed or is too old; the error says what to install.
    pub fn find(machine: Machine) -> Result<Qemu, VmError> {
        Qemu::at(machine, Path::new(machine.facts().emulator), machine.facts().since)
    }

    /// Finds the QEMU for a guest: the installed one or, if that is too old for the guest, the one from the
    /// distribution's backports, unpacked into the cache. Nothing is installed; both use the libraries of the installed
    /// QEMU.
    ///
    /// # Errors
    /// QEMU is not installed, the distribution's backports lack a sufficient version, or there is no network.
    pub fn for_guest(guest: &Guest, cache: &Cache) -> Result<Qemu, VmError> {
        Qemu::find_or_backport(guest.machine, guest.machine.facts().since.max(since(guest)), cache)
    }

    /// Like [`Qemu::for_guest`], for a machine.
    pub(crate) fn find_or_backport(machine: Machine, since: (u32, u32), cache: &Cache) -> Result<Qemu, VmError> {
        match Qemu::at(machine, Path::new(machine.facts().emulator), since) {
            Err(VmError::TooOld { .. }) => Qemu::at(machine, &backport::emulator(machine, since, cache)?, since),
            other => other,
        }
    }

    fn at(machine: Machine, program: &Path, since: (u32, u32)) -> Result<Qemu, VmError> {
        let facts = machine.facts();
        let remedy = format!("apt-get install {}", facts.package);
        let said = tools::output(Command::new(program).arg("--version"), &format!("install it: {remedy}"))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let version = parse_version(&said).ok_or_else(|| VmError::Failed {
            program: format!("{} --version", facts.emulator),
            status: "no version in its output".into(),
            said: tools::last_lines(&said, 3),
        })?;
        if (version.major, version.minor) < since {
            return Err(VmError::TooOld {
                program: facts.emulator.into(),
                found: version.to_string(),
                needed: format!("{}.{}", since.0, since.1),
                machine: machine.to_string(),
                remedy: format!("on Debian 12: enable bookworm-backports, then {remedy} -t bookworm-backports"),
            });
        }
        Ok(Qemu { program: program.to_owned(), machine, version })
    }

    /// Returns the command that runs a guest. `console` and `initramfs` are paths as the child sees them.
    pub(crate) fn command(
        &self,
        guest: &Guest,
        network: Option<(&Network, u32)>,
        device_tree: Option<&Path>,
        initramfs: &str,
        console: &str,
    ) -> Command {
        let facts = self.machine.facts();
        let mut command = dying_with_us(&self.program);
        command.args(facts.arguments);
        command.args(["-m", &facts.memory.unwrap_or(guest.memory_mib).to_string()]);
        command.args(["-smp", &if facts.fixed_cpus { facts.most_cpus } else { guest.cpus }.to_string()]);
        command.args(["-nodefaults", "-display", "none", "-monitor", "none"]);
        match guest.clock {
            Clock::Real => {
                command.args(["-accel", "tcg"]);
            }
            Clock::Virtual { shift } => {
                command.args(["-accel", "tcg,thread=single"]);
                command.args(["-icount", &format!("shift={shift},sleep=off,align=off")]);
                command.args(["-rtc", "base=2026-01-01T00:00:00,clock=vm"]);
            }
        }
        add_network(&mut command, guest, network);
        add_devices(&mut command, guest);
        for _ in 0..facts.serial_before {
            command.args(["-serial", "null"]);
        }
        command.args(["-serial", &format!("file:{console}")]);
        for _ in 0..facts.serial_after {
            command.args(["-serial", "null"]);
        }
        command.arg("-kernel").arg(&guest.kernel.image).args(["-initrd", initramfs]);
        if let Some(path) = device_tree {
            command.arg("-dtb").arg(path);
        }
        command.args(["-append", &self.append(guest)]);
        command
    }

    pub(crate) fn begun(&self) -> Command {
        let mut command = dying_with_us(&self.program);
        command.args(self.machine.facts().arguments);
        command
    }

    fn append(&self, guest: &Guest) -> String {
        let facts = self.machine.facts();
        let mut words: Vec<String> = facts.append.iter().map(|w| (*w).to_owned()).collect();
        // A panic restarts immediately, which `-no-reboot` turns into the end of the emulator.
        words.extend(["quiet", "panic=-1"].map(String::from));
        if matches!(guest.clock, Clock::Virtual { .. }) {
            // Makes addresses and the kernel's random numbers depend on the boot alone.
            words.extend(["nokaslr", "random.trust_cpu=off", "random.trust_bootloader=off"].map(String::from));
        }
        if facts.fixed_cpus {
            words.push(format!("maxcpus={}", guest.cpus));
        }
        words.extend(guest.append.iter().cloned());
        words.join(" ")
    }
}

/// Returns the oldest version (major, minor) of QEMU on which several virtual CPUs of a guest start.
///
/// In virtual time QEMU before 8.1 runs one CPU until the next timer, and a CPU that polls sets no timer. x86 kernels
/// before 6.5 poll until the next CPU has started (arch/x86/kernel/smpboot.c, do_boot_cpu), so they wait forever.
fn since(guest: &Guest) -> (u32, u32) {
    let release = guest.kernel.release.as_deref().unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let polls = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => guest.kernel.arch == Arch::Amd64 && (major, minor) < (6, 5),
        _ => false,
    };
    if polls && guest.cpus > 1 && guest.clock != Clock::Real { (8, 1) } else { (0, 0) }
}

fn add_network(command: &mut Command, guest: &Guest, network: Option<(&Network, u32)>) {
    let mut back_end = None;
    if let Some((network, _)) = network {
        back_end = Some(format!("socket,id=net,mcast={}:{},localaddr=127.0.0.1", Network::GROUP, network.port()));
    } else if !guest.forwards.is_empty() {
        let forwards: String = guest
            .forwards
            .iter()
            .map(|forward| format!(",hostfwd=tcp:127.0.0.1:{}-:{}", forward.host, forward.guest))
            .collect();
        back_end = Some(format!("user,id=net,restrict=on{forwards}"));
    }
    let Some(back_end) = back_end else {
        command.args(["-nic", "none"]);
        return;
    };
    let number = network.map_or(1, |(_, number)| number);
    command.args(["-netdev", &back_end]);
    // An empty romfile disables network boot.
    command.args(["-device", &format!("virtio-net-pci,netdev=net,romfile=,mac=52:54:00:00:77:{number:02x}")]);
}

fn add_devices(command: &mut Command, guest: &Guest) {
    for (number, image) in guest.images.iter().enumerate() {
        let id = format!("image{number}");
        match &guest.write_log {
            Some(log) if number == 0 => command.args(logged(&id, image, log)),
            _ => command.args(drive(&id, image, "raw", "unsafe")),
        };
        command.args(["-device", &format!("virtio-blk-pci,drive=image{number}")]);
    }
    for device in &guest.devices {
        command.args(["-device", device]);
    }
}

/// Returns the `-drive` option for an image.
pub(crate) fn drive(id: &str, image: &Path, format: &str, cache: &str) -> [String; 2] {
    ["-drive".into(), format!("if=none,id={id},format={format},cache={cache},file={}", doubled(image))]
}

fn logged(id: &str, image: &Path, log: &Path) -> [String; 2] {
    let part = |name: &str, path: &Path| {
        format!("{name}.driver=raw,{name}.file.driver=file,{name}.file.filename={}", doubled(path))
    };
    let (image, log) = (part("file", image), part("log", log));
    ["-drive".into(), format!("if=none,id={id},driver=blklogwrites,cache=writeback,{image},{log}")]
}

/// Doubles each comma in a path, as QEMU's option syntax requires (qemu(1)).
fn doubled(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Returns a command whose process does not outlive this program, even after SIGKILL: setpriv(1) sets PR_SET_PDEATHSIG,
/// if it is installed.
pub(crate) fn dying_with_us(program: impl AsRef<Path>) -> Command {
    let program = program.as_ref();
    if !tools::is_installed("setpriv") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

fn parse_version(text: &str) -> Option<Version> {
    let rest = text.split("version ").nth(1)?;
    let word: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut numbers = word.split('.').map(|n| n.parse::<u32>());
    Some(Version {
        major: numbers.next()?.ok()?,
        minor: numbers.next()?.ok()?,
        micro: numbers.next().and_then(Result::ok).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn versions_are_read() {
        let debian = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright";
        assert_eq!(parse_version(debian).unwrap().to_string(), "7.2.22");
        assert_eq!(parse_version("QEMU emulator version 10.0\n").unwrap(), Version { major: 10, minor: 0, micro: 0 });
        assert_eq!(parse_version("hello"), None);
    }

    #[test]
    fn kernels_that_poll_for_their_cpus_need_fair_turns() {
        let kernel = |release: Option<&str>| Kernel {
            name: "k".into(),
            image: "k".into(),
            arch: Arch::Amd64,
            release: release.map(String::from),
            modules: None,
            device_trees: None,
            config: None,
        };
        let guest = |release, cpus, clock| Guest { cpus, clock, ..Guest::new(Machine::Pc, kernel(release), "") };
        let time = Clock::Virtual { shift: 1 };
        assert_eq!(since(&guest(Some("6.1.0-47-rt-amd64"), 2, time)), (8, 1));
        assert_eq!(since(&guest(Some("6.1.0-47-rt-amd64"), 1, time)), (0, 0));
        assert_eq!(since(&guest(Some("6.1.0-47-rt-amd64"), 2, Clock::Real)), (0, 0));
        assert_eq!(since(&guest(Some("6.12.111+deb12-rt-amd64"), 2, time)), (0, 0));
        assert_eq!(since(&guest(None, 2, time)), (0, 0));
    }
}
