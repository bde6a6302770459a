//! Checks on which CPUs threads run if some CPUs are isolated: threads of this program and, for comparison, of
//! rt-tests.

use super::in_lab;
use crate::guests::libraries;
use std::path::Path;

/// Each line that the script prints has the command and the CPUs on which threads ran, taken from the JSON.
const SCRIPT: &str = r#"
cpus() { grep '"cpu"' /tmp/o.json | tr -dc '0-9\n' | tr '\n' ' '; }
try() { name=$1; shift; rm -f /tmp/o.json
  "$@" -q -p 80 -D 1 --json=/tmp/o.json >/tmp/out 2>&1 || cat /tmp/out
  echo "$name: CPU $(cpus)"; }
cat /sys/devices/system/cpu/isolated
for option in -S -a -t; do
  [ $option = -t ] && more="-a 0-1" || more=""
  [ $option = -a ] && more="-t 2"
  try "ours $option $more" /bin/punctual cyclictest $option $more
  try "ours taskset $option $more" taskset 4 /bin/punctual cyclictest $option $more
  [ -x /bin/cyclictest ] && try "theirs $option $more" /bin/cyclictest $option $more
  [ -x /bin/cyclictest ] && try "theirs taskset $option $more" taskset 4 /bin/cyclictest $option $more
done; exit 0"#;

/// Boots a guest with three CPUs, of which one is isolated, and checks the script's output.
pub fn isolated(_: &Path) -> Result<String, String> {
    let mut words: Vec<String> =
        ["boot", "-k", "rt", "--cpus", "3", "--append", "isolcpus=1"].map(String::from).to_vec();
    for path in theirs() {
        words.extend(["--put".to_owned(), path]);
    }
    words.extend(["--".to_owned(), SCRIPT.to_owned()]);
    let output = in_lab(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in ["ours -S : CPU 0 1 2", "ours taskset -S : CPU 2", "ours -a -t 2: CPU 0 1", "ours -t -a 0-1: CPU 0 1"] {
        if !said.lines().any(|said| said.trim() == line) {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("`{line}` was expected:\n{said}{errors}"));
        }
    }
    let theirs: Vec<&str> = said.lines().filter(|line| line.contains("theirs ")).map(str::trim).collect();
    Ok(format!("; rt-tests' {}", theirs.join("; ")))
}

/// Returns arguments that add the cyclictest of rt-tests to the guest, if it is installed here.
fn theirs() -> Vec<String> {
    with_libraries("/usr/bin/cyclictest")
}

/// Returns arguments that add a program of this machine to a guest as /bin/NAME with its libraries; empty if it is
/// missing.
pub fn with_libraries(path: &str) -> Vec<String> {
    let Some(libraries) = libraries(path) else { return Vec::new() };
    let program = format!("{path}:/bin/{}", path.rsplit('/').next().unwrap_or(path));
    [program].into_iter().chain(libraries.into_iter().map(|library| format!("{library}:{library}"))).collect()
}
