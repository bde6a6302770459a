//! Implements `lab boot`, which boots a kernel and runs a script in it.

use super::args::BootArgs;
use super::guests::{kernel, limit};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal;
use punctual_directory::{Dir, Whose};
use punctual_lab::{LabBootResult, LabError, guest_program};
use punctual_vm::{
    Booted, Cache, Clock, Disk, FileIn, Forward, Guest, Network, VmError, boot, boot_all, shift_of_mips,
};
use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Runs `punctual lab boot`. Exits with the exit code of the script; with several guests, with the largest one.
pub fn run(args: &BootArgs) -> Result<Answer, Refusal> {
    let results = booted(args)?;
    let code = results.iter().map(|b| u8::try_from(b.exit_code).unwrap_or(u8::MAX)).max().unwrap_or(0);
    Ok(Answer::new(args.output, code, || LabBootResult::new(&results, args.out.as_deref()), || text(&results)))
}

fn text(results: &[Booted]) -> String {
    let mut text = String::new();
    for (booted, number) in results.iter().zip(1..) {
        if results.len() > 1 {
            text += &format!("== guest {number}\n");
        }
        text += &terminal::harmless(&booted.console);
    }
    text
}

fn booted(args: &BootArgs) -> Result<Vec<Booted>, LabError> {
    let cache = Cache::usual()?;
    let script = script(args)?;
    if !args.get.is_empty() && args.out.is_none() {
        return Err(LabError::Usage("--get needs a directory for the files: add --out DIR".into()));
    }
    let (kernel, machine) = kernel(&args.kernel, &args.guest, &cache)?;
    let arch = kernel.arch;
    let mut guest = Guest::new(machine, kernel, script);
    guest.cpus = args.guest.cpus;
    guest.memory_mib = args.guest.memory;
    guest.append = args.guest.append.clone();
    guest.busybox = args.guest.busybox.clone();
    guest.limit = limit(&args.guest)?;
    guest.fetch = args.get.clone();
    guest.modules = args.module.clone();
    guest.disk = args.disk.map_or(Disk::None, |mib| Disk::Memory { mib });
    guest.forwards = args.forward.iter().map(|text| forward(text)).collect::<Result<_, _>>()?;
    if args.virtual_time {
        guest.clock = Clock::Virtual { shift: shift_of_mips(args.mips)? };
    }
    let program = guest_program(args.guest_program.as_deref(), arch);
    match program {
        Ok(content) => guest.files.push(FileIn { path: "/bin/punctual".into(), mode: 0o755, content }),
        Err(e) if args.guest_program.is_some() => return Err(e),
        Err(e) => message!("punctual is not copied into the guest: {e}"),
    }
    for put in &args.put {
        guest.files.push(put_in(put)?);
    }
    if let Some(out) = &args.out {
        make(out)?;
    }
    start(args, &guest, &cache)
}

fn start(args: &BootArgs, guest: &Guest, cache: &Cache) -> Result<Vec<Booted>, LabError> {
    if args.guests <= 1 {
        let guest = with_log(guest, args.out.as_deref());
        return Ok(vec![boot(&guest, cache, args.out.as_deref())?]);
    }
    let network = Network::new()?;
    let mut guests = Vec::new();
    for number in 1..=args.guests {
        let folder: Option<PathBuf> = args.out.as_ref().map(|out| out.join(format!("guest-{number}")));
        if let Some(folder) = &folder {
            make(folder)?;
        }
        let mut guest = with_log(guest, folder.as_deref());
        guest.hostname = format!("lab-{number}");
        guests.push((guest, folder));
    }
    let results = boot_all(&guests, Some(&network), cache);
    Ok(results.into_iter().collect::<Result<Vec<_>, VmError>>()?)
}

/// Creates the output directory. QEMU writes to it by path, so no other user may be able to change it.
pub(super) fn make(folder: &Path) -> Result<(), LabError> {
    let made = Dir::create(folder, Whose::System);
    made.map(drop).map_err(|e| LabError::File { what: "make", path: folder.into(), source: e.cause() })
}

fn with_log(guest: &Guest, folder: Option<&Path>) -> Guest {
    Guest { log: folder.map(|folder| folder.join("console.log")), ..guest.clone() }
}

fn script(args: &BootArgs) -> Result<String, LabError> {
    if !args.command.is_empty() {
        return Ok(args.command.join(" "));
    }
    let read = match &args.script {
        Some(path) if path.as_os_str() != "-" => fs::read_to_string(path),
        None if std::io::stdin().is_terminal() => {
            return Err(LabError::Usage("nothing to run: add --script FILE, or -- COMMAND".into()));
        }
        _ => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
    };
    let path = args.script.clone().unwrap_or_else(|| "standard input".into());
    read.map_err(|source| LabError::File { what: "read", path, source })
}

/// Parses `FILE:PATH` and reads the file, which keeps its permission bits.
fn put_in(text: &str) -> Result<FileIn, LabError> {
    use std::os::unix::fs::PermissionsExt;
    let Some((file, path)) = text.rsplit_once(':').filter(|(file, _)| !file.is_empty()) else {
        return Err(LabError::Usage(format!("--put {text}: write FILE:PATH, for example test.sh:/root/test.sh")));
    };
    let error = |source| LabError::File { what: "read", path: file.into(), source };
    let content = fs::read(file).map_err(error)?;
    let mode = fs::metadata(file).map_err(error)?.permissions().mode() & 0o777;
    Ok(FileIn { path: path.to_owned(), mode, content })
}

fn forward(text: &str) -> Result<Forward, LabError> {
    let numbers = text.split_once(':').and_then(|(host, guest)| Some((host.parse().ok()?, guest.parse().ok()?)));
    match numbers {
        Some((host, guest)) => Ok(Forward { host, guest }),
        None => Err(LabError::Usage(format!("--forward {text}: write HOST:GUEST, for example 2222:22"))),
    }
}
