//! The command line that is built into a kernel.

use crate::{KernelConfig, Setting};

/// The built-in words, and their effect on the boot loader's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// The built-in words replace the boot loader's line.
    Instead(String),
    /// The built-in words come before the boot loader's line.
    Before(String),
    /// The built-in words come after the boot loader's line.
    Behind(String),
    /// The built-in words are used only if the boot loader's line is empty.
    Default(String),
}

impl KernelConfig {
    /// Returns the words of CONFIG_CMDLINE, and where they are placed; `None` if they are empty or unknown, or if
    /// kernels of this architecture have none. x86: setup_arch() of arch/x86/kernel/setup.c. MIPS: bootcmdline_init()
    /// of arch/mips/kernel/setup.c. SuperH: setup_arch() of arch/sh/kernel/setup.c. 64-bit SPARC: prom_getbootargs() of
    /// arch/sparc/prom/bootstr_64.c. The others, with a device tree: early_init_dt_scan_chosen() of drivers/of/fdt.c,
    /// and bootcmdline_init() of arch/loongarch/kernel/setup.c without one; 32-bit Arm without one has the built-in
    /// words first (arch/arm/kernel/atags_parse.c).
    pub fn built_in(&self) -> Option<BuiltIn> {
        let Setting::Is(line) = self.get("CMDLINE") else { return None };
        let line = unescaped(&line);
        let any = |options: &[&str]| options.iter().any(|option| self.is_on(option));
        if line.trim().is_empty() {
            None
        } else if any(&["X86", "X86_64", "X86_32"]) {
            let of = if self.is_on("CMDLINE_OVERRIDE") { BuiltIn::Instead } else { BuiltIn::Before };
            self.is_on("CMDLINE_BOOL").then(|| of(line))
        } else if self.is_on("MIPS") {
            self.is_on("CMDLINE_BOOL").then(|| {
                if self.is_on("CMDLINE_OVERRIDE") {
                    BuiltIn::Instead(line)
                } else if self.is_on("MIPS_CMDLINE_BUILTIN_EXTEND") {
                    BuiltIn::Before(line)
                } else {
                    BuiltIn::Behind(line)
                }
            })
        } else if self.is_on("SUPERH") {
            let is_behind = self.is_on("CMDLINE_EXTEND").then(|| BuiltIn::Behind(line.clone()));
            is_behind.or_else(|| self.is_on("CMDLINE_OVERWRITE").then_some(BuiltIn::Instead(line)))
        } else if self.is_on("SPARC64") {
            self.is_on("CMDLINE_BOOL").then_some(BuiltIn::Instead(line))
        } else if self.is_on("CMDLINE_FORCE") {
            Some(BuiltIn::Instead(line))
        } else if any(&["ARM", "ARM64", "RISCV", "PPC", "LOONGARCH"]) && self.is_on("CMDLINE_EXTEND") {
            Some(BuiltIn::Behind(line))
        } else if any(&[
            "ARM",
            "ARM64",
            "RISCV",
            "PPC",
            "LOONGARCH",
            "ARC",
            "HEXAGON",
            "MICROBLAZE",
            "NIOS2",
            "OPENRISC",
            "XTENSA",
        ]) {
            Some(BuiltIn::Default(line))
        } else {
            None
        }
    }
}

impl BuiltIn {
    /// Combines the built-in words with `given`, which may be a /proc/cmdline that already contains them. `None` if the
    /// result depends on the boot loader's line and that is unknown.
    pub fn with(&self, given: Option<&str>) -> Option<String> {
        let given = given.map(str::trim);
        Some(match self {
            BuiltIn::Instead(line) => line.trim().to_owned(),
            BuiltIn::Before(line) if given?.starts_with(line.trim()) => given?.to_owned(),
            BuiltIn::Before(line) => format!("{} {}", line.trim(), given?),
            BuiltIn::Behind(line) if given?.ends_with(line.trim()) => given?.to_owned(),
            BuiltIn::Behind(line) => format!("{} {}", given?, line.trim()),
            BuiltIn::Default(line) if given?.is_empty() => line.trim().to_owned(),
            BuiltIn::Default(_) => given?.to_owned(),
        })
    }
}

/// Removes the backslash that scripts/kconfig/confdata.c writes before `"` and `\`.
fn unescaped(text: &str) -> String {
    let mut escaped = false;
    text.chars()
        .filter(|c| {
            escaped = *c == '\\' && !escaped;
            !escaped
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(options: &str, given: Option<&str>) -> Option<String> {
        KernelConfig::from_bytes("/boot/config", options.as_bytes()).unwrap().built_in()?.with(given)
    }

    #[test]
    fn lines_are_joined_as_the_architecture_does() {
        let text = "CONFIG_CMDLINE=\"pti=on nosmt\"\n";
        for (options, given, joined) in [
            ("CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\n", Some("ro nopti\n"), Some("pti=on nosmt ro nopti")),
            ("CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\n", Some("pti=on nosmt ro"), Some("pti=on nosmt ro")),
            ("CONFIG_X86=y\nCONFIG_CMDLINE_BOOL=y\n", None, None),
            ("CONFIG_X86=y\n# CONFIG_CMDLINE_BOOL is not set\n", Some("ro"), None),
            ("CONFIG_X86_64=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE_OVERRIDE=y\n", None, Some("pti=on nosmt")),
            ("CONFIG_ARM64=y\nCONFIG_CMDLINE_FORCE=y\n", Some("ro"), Some("pti=on nosmt")),
            ("CONFIG_ARM=y\nCONFIG_CMDLINE_EXTEND=y\n", Some("ro"), Some("ro pti=on nosmt")),
            ("CONFIG_ARM=y\nCONFIG_CMDLINE_EXTEND=y\n", Some("ro pti=on nosmt"), Some("ro pti=on nosmt")),
            ("CONFIG_ARM=y\nCONFIG_CMDLINE_FROM_BOOTLOADER=y\n", Some("ro"), Some("ro")),
            ("CONFIG_RISCV=y\nCONFIG_CMDLINE_FALLBACK=y\n", Some(" "), Some("pti=on nosmt")),
            ("CONFIG_LOONGARCH=y\nCONFIG_CMDLINE_EXTEND=y\n", Some("ro"), Some("ro pti=on nosmt")),
            ("CONFIG_XTENSA=y\nCONFIG_CMDLINE_BOOL=y\n", Some("ro"), Some("ro")),
            ("CONFIG_MIPS=y\nCONFIG_CMDLINE_BOOL=y\n", Some("ro"), Some("ro pti=on nosmt")),
            ("CONFIG_MIPS=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE_OVERRIDE=y\n", Some("ro"), Some("pti=on nosmt")),
            (
                "CONFIG_MIPS=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_MIPS_CMDLINE_BUILTIN_EXTEND=y\n",
                Some("ro"),
                Some("pti=on nosmt ro"),
            ),
            ("CONFIG_SUPERH=y\nCONFIG_CMDLINE_OVERWRITE=y\n", Some("ro"), Some("pti=on nosmt")),
            ("CONFIG_SUPERH=y\nCONFIG_CMDLINE_EXTEND=y\n", Some("ro"), Some("ro pti=on nosmt")),
            ("CONFIG_SUPERH=y\nCONFIG_CMDLINE_FROM_BOOTLOADER=y\n", Some("ro"), None),
            ("CONFIG_SPARC64=y\nCONFIG_CMDLINE_BOOL=y\n", Some("ro"), Some("pti=on nosmt")),
            ("CONFIG_S390=y\n", Some("ro"), None),
        ] {
            assert_eq!(line(&format!("{options}{text}"), given).as_deref(), joined, "{options} {given:?}");
        }
        assert_eq!(line("CONFIG_ARM=y\nCONFIG_CMDLINE=\"\"\nCONFIG_CMDLINE_EXTEND=y\n", Some("ro")), None);
    }

    #[test]
    fn quotes_within_are_kept() {
        let text = "CONFIG_ARM64=y\nCONFIG_CMDLINE_FORCE=y\nCONFIG_CMDLINE=\"a=\\\\x dyndbg=\\\"file x +p\\\"\"\n";
        assert_eq!(line(text, None).as_deref(), Some("a=\\x dyndbg=\"file x +p\""));
    }
}
