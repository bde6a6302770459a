//! `cargo xtask pi`: from a plan to a booted board, by the product's own commands.

mod boards;
mod planted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const USAGE: &str = "cargo xtask pi [--punctual FILE] [--dir DIR]";
const FRAGMENT: &str = include_str!("pi.config");
const LOOK: &str = include_str!("look.sh");
const CROSS: &str = "aarch64-linux-gnu-";
const SERIES: &str = "6.12";

/// Where it works, and with what.
pub struct Bench {
    punctual: PathBuf,
    pub dir: PathBuf,
}

/// The whole way; a folder from before is gone on with.
pub fn run(words: &[String]) -> Result<(), String> {
    let bench = parse(words)?;
    fs::create_dir_all(&bench.dir).map_err(|e| format!("cannot make {}: {e}", bench.dir.display()))?;
    let (fragment, look) = (bench.file("pi.config", FRAGMENT)?, bench.file("look.sh", LOOK)?);
    let (source, build) = (bench.path("source"), bench.path("build"));
    let plan = bench.punctual("plan", &["--board", "raspberry-pi-3-64", "--series", SERIES], 0)?;
    if !plan.contains("PREEMPT_RT") {
        return Err(format!("the plan does not speak of PREEMPT_RT:\n{plan}"));
    }
    // Inconclusive: no configuration yet, and the board is not this machine.
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
    planted::all(&bench.dir.join(boards::ALL[0].key), &bench.dir.join("planted"))?;
    boards::ALL.iter().try_for_each(|board| boards::boot(board, &bench))
}

fn parse(words: &[String]) -> Result<Bench, String> {
    let mut bench = Bench { punctual: "target/release/punctual".into(), dir: "target/pi".into() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} needs a value: {USAGE}"))?;
        match word.as_str() {
            "--punctual" => bench.punctual = value.into(),
            "--dir" => bench.dir = value.into(),
            _ => return Err(format!("pi does not know `{word}`: {USAGE}")),
        }
    }
    bench.dir = std::path::absolute(&bench.dir).map_err(|e| format!("{}: {e}", bench.dir.display()))?;
    Ok(bench)
}

impl Bench {
    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(path.display().to_string())
    }

    /// `punctual kernel WORD …`, which has to end with this code; what it prints.
    fn punctual(&self, word: &str, words: &[&str], code: i32) -> Result<String, String> {
        let begun = Instant::now();
        let mut command = Command::new(&self.punctual);
        let output = command.args(["kernel", word]).args(words).stderr(std::process::Stdio::inherit()).output();
        let output =
            output.map_err(|e| format!("{}: {e}; build it: cargo build --release", self.punctual.display()))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() != Some(code) {
            return Err(format!("kernel {word} ended with {}, expected {code}:\n{said}", output.status));
        }
        println!("{word:10} {:6.1} s", begun.elapsed().as_secs_f64());
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let bench = parse(&words("--punctual p --dir /d")).unwrap();
        assert_eq!((bench.punctual, bench.dir), (PathBuf::from("p"), PathBuf::from("/d")));
        assert!(parse(&words("--dir")).is_err() && parse(&words("--x y")).is_err());
    }
}
