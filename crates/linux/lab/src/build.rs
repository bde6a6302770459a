use crate::error::LabError;
use punctual_vm::Arch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Time limit of one build, sufficient for a kernel on a small board.
const BUILD: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

#[derive(Clone, Debug)]
pub struct Build {
    pub config: Option<PathBuf>,
    pub arch: Arch,
    /// Additional arguments of make: `LLVM=1`, `CROSS_COMPILE=…`.
    pub make: Vec<String>,
    /// Number of parallel jobs: make's -j.
    pub jobs: usize,
}

impl Build {
    /// Builds the image of `tree` in the folder `build`, which keeps its objects between commits, and logs to `log`.
    /// Returns `Ok(false)` if the commit does not build.
    ///
    /// # Errors
    /// make cannot be run or its log cannot be written.
    pub(crate) fn image(&self, tree: &Path, build: &Path, log: &Path) -> Result<bool, LabError> {
        fs::create_dir_all(build).map_err(LabError::file("make", build))?;
        if let Some(config) = &self.config {
            let own = build.join(".config");
            fs::copy(config, &own).map_err(LabError::file("copy", config))?;
            if !self.make(tree, build, log, &["olddefconfig"])? {
                return Ok(false);
            }
        }
        let image = if self.arch == Arch::Amd64 { "bzImage" } else { "Image" };
        self.make(tree, build, log, &[image])
    }

    fn make(&self, tree: &Path, build: &Path, log: &Path, targets: &[&str]) -> Result<bool, LabError> {
        let file = fs::File::options().create(true).append(true).open(log).map_err(LabError::file("write", log))?;
        let errors = file.try_clone().map_err(LabError::file("write", log))?;
        let build = std::path::absolute(build).map_err(LabError::file("find", build))?;
        let mut make = Command::new("make");
        make.arg("-C").arg(tree).arg(format!("O={}", build.display())).arg(format!("-j{}", self.jobs.max(1)));
        make.args(self.variables()).args(&self.make).args(targets);
        make.stdin(Stdio::null()).stdout(file).stderr(errors);
        let status = punctual_watchdog::status(&mut make, BUILD).map_err(LabError::file("run", "make"))?;
        Ok(status.success())
    }

    fn variables(&self) -> Vec<String> {
        let given = |name: &str| self.make.iter().any(|w| w.starts_with(&format!("{name}=")));
        let mut words = vec![format!("ARCH={}", if self.arch == Arch::Amd64 { "x86_64" } else { "arm64" })];
        let foreign = Arch::host() != Some(self.arch);
        let prefix = match self.arch {
            Arch::Amd64 => "x86_64-linux-gnu-",
            Arch::Arm64 => "aarch64-linux-gnu-",
        };
        if foreign && !given("CROSS_COMPILE") && !given("LLVM") {
            words.push(format!("CROSS_COMPILE={prefix}"));
        }
        let has_ccache = std::env::var_os("PATH")
            .is_some_and(|paths| std::env::split_paths(&paths).any(|folder| folder.join("ccache").is_file()));
        if has_ccache && !given("CC") && !given("LLVM") {
            words.push(format!("CC=ccache {}gcc", if foreign { prefix } else { "" }));
        }
        words
    }
}
