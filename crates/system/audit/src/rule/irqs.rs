use punctual_units::CpuList;
use regex_lite::Regex;
use serde::Deserialize;

/// Regular expressions on the files of /sys/kernel/irq/N/ (Documentation/ABI/testing/sysfs-kernel-irq), all of which
/// must match.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IrqFilter {
    actions: Option<String>,
    chip_name: Option<String>,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// A CPU list; the read returns an interrupt's CPUs that are not in it.
    outside: String,
}

impl IrqFilter {
    /// All paths that the filter may read.
    pub const READS: &[&str] = &[
        "/proc/irq",
        "/proc/irq/*/smp_affinity_list",
        "/sys/kernel/irq/*/actions",
        "/sys/kernel/irq/*/chip_name",
        "/sys/kernel/irq/*/name",
        "/sys/kernel/irq/*/type",
    ];

    pub fn check(&self) -> Result<(), String> {
        self.cpus().map_err(|list| format!("`{list}` is not a CPU list"))?;
        self.expressions().map(drop)
    }

    /// Returns the CPUs of `outside`; the error is the text of `outside` if that is not a CPU list.
    pub fn cpus(&self) -> Result<CpuList, &str> {
        self.outside.parse().map_err(|_| self.outside.as_str())
    }

    pub fn expressions(&self) -> Result<Vec<(&'static str, Regex)>, String> {
        let all =
            [("actions", &self.actions), ("chip_name", &self.chip_name), ("name", &self.name), ("type", &self.kind)];
        let given = all.into_iter().filter_map(|(file, text)| Some((file, text.as_ref()?)));
        given.map(|(file, text)| Ok((file, expression(text)?))).collect()
    }
}

/// Maximum size of a compiled expression, bytes.
const LARGEST: usize = 1 << 18;

/// Compiles an untrusted expression. Its size is limited, and regex_lite matches in linear time.
pub(crate) fn expression(text: &str) -> Result<Regex, String> {
    let built = regex_lite::RegexBuilder::new(text).size_limit(LARGEST).build();
    built.map_err(|error| format!("`{text}` is not a regular expression: {error}"))
}
