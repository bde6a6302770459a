//! `cargo trials gpio-kernel`: builds a guest kernel with gpio-sim from the distribution's kernel source, with a
//! configuration of its own.

mod config;
mod tools;

use punctual_vm::{Cache, KernelSource};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

const PRINT_EVERY: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);
/// File that is written last, so that a folder which contains it is complete.
const STAMP: &str = ".built";
/// Number of objects in the PREEMPT_RT configuration of 6.12, for the progress display.
const OBJECTS: usize = 1140;

/// Build a guest kernel with gpio-sim from the distribution's source (docs/gpio-kernel.md)
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Wanted {
    /// Use PREEMPT_VOLUNTARY instead of PREEMPT_RT
    #[arg(long)]
    stock: bool,
    /// Series such as 6.12; by default the newest
    #[arg(long, value_name = "SERIES")]
    series: Option<String>,
    /// Number of parallel compilers; by default one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// A build folder that `punctual lab --kernel` accepts.
pub struct Built {
    pub folder: PathBuf,
    /// Duration of the build; `None` if the kernel already existed.
    lasted: Option<Duration>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let built = build(wanted)?;
    let image = image(&built.folder);
    let bytes = fs::metadata(&image).map_err(|e| format!("{}: {e}", image.display()))?.len();
    match built.lasted {
        Some(lasted) => println!("built in {:.0} s", lasted.as_secs_f64()),
        None => println!("reused"),
    }
    println!("image: {:.1} MB, {}", bytes as f64 / 1e6, image.display());
    println!("boot it: punctual lab boot --kernel {} -- uname -a", built.folder.display());
    println!("the GPIO checks in it: cargo trials lab gpio");
    Ok(())
}

/// Returns the kernel. Builds it if it does not exist yet; an interrupted build is continued.
pub fn build(wanted: &Wanted) -> Result<Built, String> {
    let cache = Cache::usual().map_err(|e| e.to_string())?;
    let source = KernelSource::newest(wanted.series.as_deref(), &cache).map_err(|e| e.to_string())?;
    let fragment = config::fragment(wanted.stock);
    let name = format!("gpio-kernel-{}-{}", source.version.replace([':', '/'], "_"), config::key(&fragment));
    let folder = cache.root().join(&name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let lock = lock(&cache.root().join(format!(".lock-{name}")))?;
    if folder.join(STAMP).is_file() && image(&folder).is_file() {
        return Ok(Built { folder, lasted: None });
    }
    tools::check()?;
    println!("{} {}: a kernel for guests in {}", source.package, source.version, folder.display());
    if !source.is_unpacked(&cache) {
        println!("fetching and unpacking the source (150 MB; apt checks its signature chain and checksum)");
    }
    let tree = source.unpack(&cache).map_err(|e| e.to_string())?;
    let begun = Instant::now();
    config::write(&tree, &folder, &fragment)?;
    compile(&tree, &folder, wanted.jobs.map(usize::from), &lock)?;
    fs::write(folder.join(STAMP), "").map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(Built { folder, lasted: Some(begun.elapsed()) })
}

fn image(folder: &Path) -> PathBuf {
    folder.join("arch/x86/boot/bzImage")
}

/// Takes a lock that is held until the file and its copies are closed (flock(2)).
fn lock(path: &Path) -> Result<File, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
    if file.try_lock().is_err() {
        println!("waiting for another build of it: {}", path.display());
        file.lock().map_err(failed)?;
    }
    Ok(file)
}

/// Returns a make command for a build outside the source tree. `uname -v` of the kernel contains neither the user's
/// name nor the machine's.
fn make(tree: &Path, folder: &Path) -> Command {
    let mut make = Command::new("nice");
    make.args(["-n", "10", "make", "-C"]).arg(tree).arg(format!("O={}", folder.display())).arg("ARCH=x86_64");
    make.args(["KBUILD_BUILD_USER=punctual", "KBUILD_BUILD_HOST=lab"]).env("LC_ALL", "C").stdin(Stdio::null());
    make
}

/// Compiles the kernel. make's standard input is the lock: if this program is killed and make continues, no other build
/// runs at the same time.
fn compile(tree: &Path, folder: &Path, jobs: Option<usize>, lock: &File) -> Result<(), String> {
    let path = folder.join("build.log");
    let log = File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let errors = log.try_clone().map_err(|e| format!("{}: {e}", path.display()))?;
    let lock = lock.try_clone().map_err(|e| format!("{}: {e}", folder.display()))?;
    let jobs = jobs.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let mut command = make(tree, folder);
    command.arg(format!("-j{jobs}")).arg("bzImage");
    let child = command.stdin(lock).stdout(log).stderr(errors).spawn();
    let status = attend(child.map_err(|e| format!("nice make: {e}"))?, &path)?;
    if status.success() {
        return Ok(());
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    let said: Vec<&str> = text.lines().filter(|l| l.contains("rror") || l.contains("***")).take(8).collect();
    Err(format!("make ended with {status}; {}:\n{}", path.display(), said.join("\n")))
}

fn attend(mut child: Child, log: &Path) -> Result<ExitStatus, String> {
    let (begun, mut printed) = (Instant::now(), Duration::ZERO);
    loop {
        if let Some(status) = child.try_wait().map_err(|e| format!("make: {e}"))? {
            return Ok(status);
        }
        sleep(LOOK);
        if begun.elapsed() >= printed + PRINT_EVERY {
            printed = begun.elapsed();
            let text = fs::read_to_string(log).unwrap_or_default();
            println!("{:4.0} s: {} of about {OBJECTS} objects", printed.as_secs_f64(), objects(&text));
        }
    }
}

fn objects(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("  CC ") || line.starts_with("  AS ")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted_and_links_are_not() {
        assert_eq!(objects("  CC      a.o\n  AS      b.o\n  LD      vmlinux\n  HOSTCC  c\n"), 2);
    }
}
