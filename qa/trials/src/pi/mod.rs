//! `cargo trials pi`: runs all commands of `punctual kernel` from the plan to a booted board.

mod boards;
mod injected;

use crate::built::missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const FRAGMENT: &str = include_str!("pi.config");
const LOOK: &str = include_str!("look.sh");
const CROSS: &str = "aarch64-linux-gnu-";
const SERIES: &str = "6.12";

/// Build a small PREEMPT_RT kernel for a Raspberry Pi, and boot its cards in QEMU (docs/kernel-build.md)
///
/// Plans, fetches, configures, builds and packages with `punctual kernel`. Also injects faults into the package, which
/// must be detected.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// Working directory; results of an earlier run in it are reused
    #[arg(long, value_name = "DIR", default_value = "target/pi")]
    dir: PathBuf,
}

pub struct Bench<'a> {
    punctual: &'a Path,
    pub dir: PathBuf,
}

/// Runs all steps. Continues after those that an earlier run in the directory has finished.
pub fn run(wanted: &Wanted) -> Result<(), String> {
    let dir = std::path::absolute(&wanted.dir).map_err(|e| format!("{}: {e}", wanted.dir.display()))?;
    let bench = Bench { punctual: &wanted.punctual, dir };
    fs::create_dir_all(&bench.dir).map_err(|e| format!("cannot create {}: {e}", bench.dir.display()))?;
    let (fragment, look) = (bench.file("pi.config", FRAGMENT)?, bench.file("look.sh", LOOK)?);
    let (source, build) = (bench.path("source"), bench.path("build"));
    let plan = bench.punctual("plan", &["--board", "raspberry-pi-3-64", "--series", SERIES], 0)?;
    if !plan.contains("PREEMPT_RT") {
        return Err(format!("the plan does not mention PREEMPT_RT:\n{plan}"));
    }
    // Inconclusive, because there is no configuration yet and the board is not this machine.
    let preflight = ["--board", "raspberry-pi-3-64", "--series", SERIES, "--cross", CROSS, "--out", &build];
    bench.punctual("preflight", &preflight, 3)?;
    bench.punctual("fetch", &["--debian", "--series", SERIES, "--out", &source], 0)?;
    if !Path::new(&build).join(".config").is_file() {
        let words = ["--arch", "arm64", "--cross", CROSS, "--defconfig", "tinyconfig", "--fragment", &fragment];
        bench.punctual("configure", &[&["--tree", &source, "--out", &build][..], &words].concat(), 0)?;
    }
    bench.punctual("build", &["--tree", &source, "--out", &build], 0)?;
    for board in boards::ALL {
        let (out, image) = (bench.path(board.key), bench.path(&format!("{}.img", board.key)));
        let words = ["--build", &build, "--board", board.key, "--out", &out, "--deb", "--image", &image];
        let said = bench.punctual("package", &[&words[..], &["--boot-script", &look]].concat(), 0)?;
        println!("{said}");
    }
    injected::all(&bench.dir.join(boards::ALL[0].key), &bench.dir.join("injected"))?;
    boards::ALL.iter().try_for_each(|board| boards::boot(board, &bench))
}

impl Bench<'_> {
    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(path.display().to_string())
    }

    /// Runs `punctual kernel WORD …`, which must exit with `code`. Returns the output.
    fn punctual(&self, word: &str, words: &[&str], code: i32) -> Result<String, String> {
        let begun = Instant::now();
        let mut command = Command::new(self.punctual);
        let output = command.args(["kernel", word]).args(words).stderr(std::process::Stdio::inherit()).output();
        let output = output.map_err(|e| missing(self.punctual, &e))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() != Some(code) {
            return Err(format!("kernel {word} ended with {}, expected {code}:\n{said}", output.status));
        }
        println!("{word:10} {:6.1} s", begun.elapsed().as_secs_f64());
        Ok(said)
    }
}
