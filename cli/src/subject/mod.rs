//! Selects the audited machine (this one, a tree of files, a snapshot or single files) and its purpose. Shared by
//! `audit`, `audit --fix` and `tune`.

pub mod args;
mod config;
mod profile;

pub use config::name_sources;
pub use profile::profile;

use crate::refusal::Refusal;
use args::SubjectArgs;
use punctual_audit::{Context, Rules};
use punctual_machine::{Given, KernelConfig, Live, Machine, Overlay, Read, Recorded, Snapshot, boot_file_cmdline};
use punctual_units::{CpuList, Scheduling};
use std::path::Path;

const CMDLINE: &str = "/proc/cmdline";
/// File with the environment of U-Boot on BeagleBoards.
const UENV: &str = "/boot/uEnv.txt";

pub struct Subject {
    pub machine: Box<dyn Machine>,
    pub name: String,
    /// Purpose, CPUs and scheduling for which the machine is audited.
    pub context: Context,
    /// The single files of the machine, if these are audited.
    pub given: Option<Given>,
}

/// Opens the machine selected by the options, and adds the rules of a profile file.
pub fn look(args: &SubjectArgs, rules: &mut Rules) -> Result<Subject, Refusal> {
    let given = config::given(&args.config)?;
    let (machine, name): (Box<dyn Machine>, String) = match (&args.root, &args.snapshot) {
        _ if let Some(given) = &given => (Box::new(given.clone()), config::names(given)),
        (Some(root), _) if root.is_dir() => (tree(root), root.display().to_string()),
        (Some(root), _) => return Err(Refusal::usage(format!("{} is not a directory", root.display()))),
        (_, Some(file)) => (Box::new(open(file)?), file.display().to_string()),
        _ => (Box::new(Live::new()), "this machine".to_owned()),
    };
    let (profile, notes) = profile(&args.profile, rules, machine.as_ref())?;
    notes.iter().for_each(|note| message!("not checked: {note}"));
    let context = Context {
        scheduling: Scheduling::Fifo { priority: args.priority },
        cpus: args.cpus.clone().unwrap_or_else(|| cpus(machine.as_ref())),
        profile,
    };
    Ok(Subject { machine, name, context, given })
}

/// Opens a tree of files. If it has no /proc/cmdline, the command line that the boot loader's files configure is used.
fn tree(root: &Path) -> Box<dyn Machine> {
    let machine = Live::under(root);
    let Some((line, sources)) = configured(&machine) else { return Box::new(machine) };
    message!("no kernel runs in this tree: using the command line of {}", sources.join(", "));
    let line = Read::Known(line.into_bytes());
    Box::new(Overlay::new([(CMDLINE.to_owned(), line)].into()).above(machine))
}

/// Returns the command line of the next boot according to the boot loader's files, and the names of these files.
fn configured(machine: &dyn Machine) -> Option<(String, Vec<String>)> {
    if machine.read(CMDLINE) != Read::Absent {
        return None;
    }
    let chain = punctual_boot::detect(machine).ok();
    let found = chain.and_then(|chain| punctual_boot::current(machine, &chain).ok());
    let found = found.map(|found| (found.next.unwrap_or(found.configured).join(" "), found.sources));
    let script = || Some((boot_file_cmdline(machine.read(UENV).text()?)?, vec![UENV.to_owned()]));
    let given = found.filter(|(line, _)| !line.is_empty()).or_else(script);
    let config = KernelConfig::read(machine).ok();
    let joined =
        config.as_ref().and_then(|config| config.built_in()?.with(given.as_ref().map(|(line, _)| line.as_str())));
    match (joined, given) {
        (Some(line), given) if given.as_ref().is_none_or(|(own, _)| *own != line) => {
            let mut sources = given.map(|(_, sources)| sources).unwrap_or_default();
            sources.extend(config.map(|config| format!("CONFIG_CMDLINE of {}", config.path())));
            Some((line, sources))
        }
        (_, given) => given,
    }
}

fn open(file: &Path) -> Result<Recorded, Refusal> {
    let shown = file.display();
    let opened = std::fs::File::open(file).map_err(|e| Refusal::usage(format!("cannot read {shown}: {e}")))?;
    Snapshot::read(opened).map_err(|e| Refusal::usage(format!("{shown}: {e}")))
}

/// Returns the isolated CPUs, or all online CPUs if none is isolated.
pub fn cpus(machine: &dyn Machine) -> CpuList {
    let list = |path: &str| machine.read(path).text().and_then(|text| text.parse::<CpuList>().ok()).unwrap_or_default();
    let isolated = list("/sys/devices/system/cpu/isolated");
    if isolated.is_empty() { list("/sys/devices/system/cpu/online") } else { isolated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(files: &[(&str, &str)]) -> Option<String> {
        let mut machine = Recorded::default();
        files.iter().for_each(|(path, text)| machine.set(path, Read::Known(text.as_bytes().to_vec())));
        configured(&machine).map(|(line, _)| line)
    }

    #[test]
    fn where_no_kernel_runs_the_configured_line_counts() {
        let grub = ("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=2\"\n");
        let generated = ("/boot/grub/grub.cfg", "x\n");
        assert!(line(&[grub, generated]).is_some_and(|line| line.contains("isolcpus=2")));
        assert_eq!(line(&[grub, generated, (CMDLINE, "ro\n")]), None);
        assert_eq!(line(&[(UENV, "cmdline=isolcpus=1\n")]).as_deref(), Some("isolcpus=1 ${script}"));
        let armbian = [("/boot/armbianEnv.txt", "extraargs=isolcpus=3\n"), ("/etc/armbian-release", "BOARD=x\n")];
        assert_eq!(line(&armbian).as_deref(), Some("isolcpus=3"));
        let menu = "default l\nlabel l\n  linux /x\n  append ro isolcpus=3\n";
        assert_eq!(line(&[("/boot/extlinux/extlinux.conf", menu)]).as_deref(), Some("ro isolcpus=3"));
        assert_eq!(line(&[]), None);
        let config = "CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"nosmt\"\n";
        let built = [("/proc/config.gz", config), (UENV, "cmdline=isolcpus=1\n")];
        assert_eq!(line(&built).as_deref(), Some("nosmt isolcpus=1 ${script}"));
    }
}
