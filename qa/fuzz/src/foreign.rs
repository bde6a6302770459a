//! Seeds for the inputs of the audit: files of the recorded machines, and some difficult files.

use super::Reader;
use super::losses::Losses;
use flate2::{Compression, write::GzEncoder};
use punctual_machine::{Recorded, Snapshot};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub const WORDS: &[&str] = &[
    "=",
    "\"",
    "'",
    ",",
    "-",
    ":",
    "/",
    " -- ",
    "8191",
    "0-15:2/4",
    "4294967295",
    "-9223372036854775808",
    "18446744073709551616",
    " isolcpus=nohz,domain,2-3 ",
    " nohz_full=2-3 ",
    " rcu_nocbs=all ",
    " debug ",
    "52:54:00:12:34:56",
    "CONFIG_",
    "CONFIG_PREEMPT_RT=y\n",
    "# CONFIG_NO_HZ_FULL is not set\n",
    "# Kernel hacking\n# end of Kernel hacking\n",
    "[all]\n",
    "[pi4]\n",
    "force_turbo=1\n",
    "kernel=",
    "GRUB_CMDLINE_LINUX+=\"",
    "export GRUB_CMDLINE_LINUX_DEFAULT=",
    "CPU0 CPU1",
    "PCI-MSI-0000:00:1f.6 0-edge eth0",
    "\u{a0}",
    "ff,ffffffff,",
    "extends = \"busy-poll\"\n",
    "[severity]\n",
    "[[suppress]]\n",
    "until = \"2999-01-01\"\n",
    "[[rule]]\n",
];

pub fn machines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines")
}

/// Returns the machine that the tests of the rules modify.
pub fn base() -> Recorded {
    Recorded::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/system/audit/tests/base"))
        .unwrap_or_default()
}

pub fn recorded() -> Vec<Recorded> {
    let folders = fs::read_dir(machines()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("machine.toml").exists()).collect();
    folders.sort();
    folders.iter().filter_map(|folder| Recorded::open(folder).ok()).collect()
}

/// Returns the contents of a file on every recorded machine, unless they are larger than `most` bytes.
fn files(path: &str, most: usize) -> Vec<Vec<u8>> {
    let all = recorded();
    let found = all.iter().flat_map(Recorded::entries).filter(|(of, _)| *of == path);
    found.filter_map(|(_, read)| read.bytes()).filter(|bytes| bytes.len() <= most).map(<[u8]>::to_vec).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn seeds(reader: Reader) -> Vec<Vec<u8>> {
    match reader {
        Reader::Cmdline => [files("/proc/cmdline", 2000), texts(CMDLINES)].concat(),
        Reader::Kconfig => kconfigs(),
        Reader::CpuList => [texts(CPU_LISTS), vec!["0-63,".repeat(40).into_bytes()]].concat(),
        Reader::PiConfig => [files("/boot/firmware/config.txt", 4000), texts(&[PI_CONFIG])].concat(),
        Reader::Grub => texts(GRUBS),
        Reader::Interrupts => [files("/proc/interrupts", 3000), texts(&[INTERRUPTS])].concat(),
        Reader::Profile => texts(PROFILES),
        Reader::Snapshot => snapshots(),
        _ => Losses::new().seeds(),
    }
}

const CMDLINES: &[&str] = &[
    "BOOT_IMAGE=/vmlinuz root=UUID=0a1b2c3d-0000-4000-8000-0123456789ab ro quiet isolcpus=managed_irq,domain,2-3 \
     nohz_full=2-3 rcu_nocbs=2-3 debug ip=10.0.0.1::10.0.0.254:255.255.255.0:host:eth0:off",
    "console=ttyS0,115200 dyndbg=\"file drivers/* +p\" foo=\"a b\" nohz-full=1 nohz_full=3 -- init=1 isolcpus=9",
    "smsc95xx.macaddr=DC:A6:32:01:02:03 vc_mem.mem_base=0x3ec00000 rd.luks.key=secret hostname=box",
];

const CPU_LISTS: &[&str] =
    &["0-3,8\n", "0-10:2/4", "7", "", "0-63,128-191", "3,2,1,0", "00000000,0000000f", "ff", " 1 - 3 "];

const PI_CONFIG: &str = "# comment\ndtparam=audio=on\n[pi4]\nforce_turbo=1\narm_freq=2000\n[pi5]\nkernel=kernel8_rt.img\n\
                         [all]\ndtoverlay=vc4-kms-v3d\ndtoverlay=disable-wifi\ngpu_mem=16\nover_voltage=6\n[gpio4=1]\nx=1\n";

const GRUBS: &[&str] = &[
    "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=2-3 nohz_full=2-3\"\nGRUB_CMDLINE_LINUX=\"\"\n",
    "GRUB_CMDLINE_LINUX='isolcpus=2-3'\nGRUB_CMDLINE_LINUX+=\" nohz_full=2-3 rcu_nocbs=2-3\"\n# GRUB_CMDLINE_LINUX=x\n",
    "export GRUB_CMDLINE_LINUX=isolcpus=2-3\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=\\\"x y\\\" nohz_full=2-3\n",
];

const INTERRUPTS: &str = "           CPU0       CPU1       CPU2       CPU3\n  1:         9          0          0          0   IO-APIC   \
    1-edge      i8042\n 24:       100          0          7          9   GICv2 158 Level     mmc1, mmc0\n 27:  3 4 5 6  GICv3 27 \
    Level arch_timer\nLOC: 5 6 7 8 Local timer interrupts\nERR:          0\nIPI0: 1 2 3 4 Rescheduling interrupts\n";

const PROFILES: &[&str] = &[
    "extends = \"busy-poll\"\ndescription = \"x\"\nat_most = \"medium\"\n[severity]\ncpu-smt = \"off\"\nmem-swap = \"low\"\n",
    "extends = \"control-loop\"\n[[suppress]]\nrule = \"mem-swap\"\nreason = \"locked\"\nuntil = \"2999-01-01\"\n[[suppress]]\nrule \
     = \"virt-wsl\"\nreason = \"x\"\nuntil = \"2001-01-01\"\n",
    "extends = \"measure-only\"\n[[rule]]\nid = \"own\"\ntitle = \"Own\"\ngroup = \"time\"\nseverity = \"low\"\nwhy = \"because\"\n\
     sources = [\"KSRC\"]\n[rule.reads]\na = { file = \"/proc/cmdline\", as = \"words\" }\nb = { cpus = \"measured\" }\n[[rule.case]]\n\
     when = { a = { any = { contains = \"quiet\" } } }\nstate = \"WARN\"\nsay = \"{a} on {b}\"\n[[rule.case]]\nstate = \"UNKNOWN\"\n\
     say = \"x\"\n[rule.fix]\nnone = \"none\"\n",
];

const CONFIG: &str = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.12.0 Kernel Configuration\n#\n\
    # General setup\nCONFIG_CC_VERSION_TEXT=\"gcc (Debian) 14\"\n# CONFIG_NO_HZ_FULL is not set\nCONFIG_PREEMPT_RT=y\nCONFIG_HZ=250\n\
    CONFIG_IKCONFIG=m\n# end of General setup\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_RT_GROUP_SCHED=n\n# CONFIG_DEBUG_KMEMLEAK is not \
    set\nCONFIG_CMDLINE=\"a=\\\"b\\\"\"\n# Kernel hacking\n# end of Kernel hacking\n";

fn kconfigs() -> Vec<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = gzip.write_all(CONFIG.as_bytes()).and_then(|()| gzip.finish());
    let old = CONFIG.replace("# end of General setup\n", "").replace("# Kernel hacking\n# end of Kernel hacking\n", "");
    [vec![CONFIG.into(), old.into_bytes()], packed.into_iter().collect()].concat()
}

/// Returns a small machine as `snapshot` writes it, and one with entries that no snapshot contains.
fn snapshots() -> Vec<Vec<u8>> {
    let mut machine = base();
    machine.set("/root", punctual_machine::Read::Denied);
    machine.set("/proc/broken", punctual_machine::Read::Failed(5));
    let patterns = ["/proc/**", "/sys/**", "/etc/*"].map(str::to_owned);
    let mut tar = Vec::new();
    if Snapshot::write(&machine, &patterns, &mut tar).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&tar).into_owned();
    let mut all = vec![tar];
    for (name, other) in
        [("files/proc/cmdline\0\0\0\0", "files/../../../etc/x\0\0"), ("files/proc/cmdline\0", "/files/proc/cmdline")]
    {
        if name.len() == other.len() {
            all.push(text.replacen(name, other, 1).into_bytes());
        }
    }
    all
}
