//! Builds adapters on systems that have the tools of a co-kernel.

use super::{Adapter, PATIENCE};
use crate::backend::NotRun;
use punctual_directory::{Scratch, Whose};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cokernel {
    /// Name of the backend, and of its source file.
    pub name: &'static str,
    source: &'static str,
    /// Programs that print the compiler flags, tried in this order.
    tools: &'static [&'static str],
    compile: &'static [&'static str],
    link: &'static [&'static str],
    help: &'static str,
}

pub const COKERNELS: [Cokernel; 3] = [
    Cokernel {
        name: "xenomai",
        source: include_str!("../../adapters/xenomai.c"),
        tools: &["xeno-config", "/usr/xenomai/bin/xeno-config"],
        compile: &["--skin=alchemy", "--cflags"],
        link: &["--skin=alchemy", "--ldflags"],
        help: "boot a Cobalt kernel, install Xenomai 3's libraries (its Mercury core runs on any kernel), and put xeno-config into PATH",
    },
    Cokernel {
        name: "evl",
        source: include_str!("../../adapters/evl.c"),
        tools: &["pkg-config"],
        compile: &["--cflags", "evl"],
        link: &["--libs", "evl"],
        help: "boot an EVL kernel, install libevl, and set PKG_CONFIG_PATH to the directory of evl.pc",
    },
    Cokernel {
        name: "rtai",
        source: include_str!("../../adapters/rtai.c"),
        tools: &["rtai-config", "/usr/realtime/bin/rtai-config"],
        compile: &["--lxrt-cflags"],
        link: &["--lxrt-ldflags"],
        help: "boot an RTAI kernel, install RTAI, and put rtai-config into PATH",
    },
];

/// Adds an rpath for each library directory, because ld.so(8) rarely searches the directories of a co-kernel's
/// libraries (for example /usr/xenomai/lib).
fn found_again(link: &[String]) -> Vec<String> {
    link.iter().filter_map(|word| word.strip_prefix("-L")).map(|folder| format!("-Wl,-rpath,{folder}")).collect()
}

const HEADER: &str = include_str!("../../adapters/adapter.h");

impl Cokernel {
    /// Builds the adapter in a temporary directory and starts it.
    ///
    /// # Errors
    /// [`NotRun::Unsupported`] if the tools are missing; [`NotRun::Failed`] if the adapter does not compile or run.
    pub fn start(&self) -> Result<Adapter, NotRun> {
        let (compile, link) = self.flags()?;
        let folder = Scratch::create(self.name, Whose::System).map_err(|e| {
            NotRun::Failed(format!("cannot create a directory for the adapter: {e}; set TMPDIR to another directory"))
        })?;
        // The user cannot run the adapter, because its directory is removed.
        let advice = format!("the adapter's messages, if any, are above; {}", self.help);
        let program = self.build(folder.path(), &compile, &link)?;
        let mut adapter = Adapter::advised(Command::new(program), PATIENCE, advice)?;
        adapter.folder = Some(folder);
        Ok(adapter)
    }

    fn flags(&self) -> Result<(Vec<String>, Vec<String>), NotRun> {
        let flags = |tool: &str, words: &[&str]| {
            let output = punctual_watchdog::output(
                Command::new(tool).args(words).stdin(Stdio::null()),
                punctual_watchdog::GRACE,
            )
            .ok()
            .filter(|output| output.status.success())?;
            let text = String::from_utf8(output.stdout).ok()?;
            Some(text.split_whitespace().map(String::from).collect::<Vec<String>>())
        };
        let both = |tool: &&str| Some((flags(tool, self.compile)?, flags(tool, self.link)?));
        let none = || {
            let asked = format!("{} {}", self.tools[0], self.compile.join(" "));
            NotRun::Unsupported(format!("`{asked}` cannot be run: {}", self.help))
        };
        self.tools.iter().find_map(both).ok_or_else(none)
    }

    fn build(&self, folder: &Path, compile: &[String], link: &[String]) -> Result<PathBuf, NotRun> {
        let source = folder.join(format!("{}.c", self.name));
        let program = folder.join("adapter");
        let put = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|e| NotRun::Failed(format!("cannot write {}: {e}", path.display())))
        };
        put(&folder.join("adapter.h"), HEADER)?;
        put(&source, self.source)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(&compiler);
        command.arg("-O2").args(compile).arg("-o").arg(&program).arg(&source).args(link).args(found_again(link));
        let output = punctual_watchdog::output(command.stdin(Stdio::null()), punctual_watchdog::PROGRAMS);
        let output =
            output.map_err(|e| NotRun::Failed(format!("{}: {e}; apt install gcc", compiler.to_string_lossy())))?;
        if output.status.success() {
            return Ok(program);
        }
        let said: String = String::from_utf8_lossy(&output.stderr).chars().take(600).collect();
        Err(NotRun::Failed(format!(
            "{} does not compile against the installed headers: {}",
            source.display(),
            said.trim()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_loaded_from_where_they_were_linked() {
        let words = ["-Wl,--no-as-needed", "-lalchemy", "-L/usr/xenomai/lib", "-lmercury", "-L/opt/x"];
        let expected = ["-Wl,-rpath,/usr/xenomai/lib", "-Wl,-rpath,/opt/x"];
        assert_eq!(found_again(&words.map(String::from)), expected);
        assert!(found_again(&["-lpthread".into()]).is_empty());
    }

    /// Returns a co-kernel whose tool prints its arguments.
    fn echoed(name: &'static str, source: &'static str) -> Cokernel {
        Cokernel { name, source, tools: &["echo"], compile: &["-DX"], link: &["-lpthread"], help: "boot its kernel" }
    }

    fn refused(cokernel: Cokernel) -> String {
        let why = cokernel.start().err().unwrap().to_string();
        let prefix = format!("punctual-{}-", cokernel.name);
        let names = fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().file_name());
        let stays = names.filter(|name| name.to_string_lossy().starts_with(&prefix)).collect::<Vec<_>>();
        assert!(stays.is_empty(), "{stays:?} stays");
        why
    }

    #[test]
    fn an_adapter_that_ends_at_once_says_what_the_cokernel_needs() {
        let why = refused(echoed("ends-at-once", "int main(void) { return 1; }"));
        assert!(why.ends_with("; boot its kernel") && !why.contains("by hand"), "{why}");
    }

    #[test]
    fn an_adapter_that_does_not_compile_says_what_the_compiler_said() {
        let why = refused(echoed("does-not-compile", "int main(void) { return no_such_name; }"));
        assert!(
            why.contains("does not compile against the installed headers") && why.contains("no_such_name"),
            "{why}"
        );
    }
}
