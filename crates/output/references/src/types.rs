//! Types for the contents of a file in `boards/`.

use serde::{Deserialize, Serialize};

/// A board or computer, with published figures. Fields that its sources do not state are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Name on command lines, for example `raspberry-pi-4b`.
    pub key: String,
    pub name: String,
    /// System on chip, or processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soc: Option<String>,
    /// Processor core, for example `Cortex-A72`. Boards with the same core are compared if no figures of the board
    /// itself exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// Source file of the kernel that states the core and the number of CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soc_source: Option<String>,
    /// Beginnings of `/proc/device-tree/model` that identify the board, in whole words.
    #[serde(default)]
    pub models: Vec<String>,
    /// Files in the repository's `boards/` that define kernel builds for this board.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<String>,
    #[serde(default, rename = "note", skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    pub published: Vec<Published>,
}

/// A statement of a source about a board that is not a measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Note {
    pub about: NoteAbout,
    pub text: String,
    pub source: String,
    pub url: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoteAbout {
    Kernel,
    Setting,
    Trap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Flavour {
    PreemptRt,
    /// Any preemption model except PREEMPT_RT.
    Stock,
    Xenomai,
    Evl,
    Rtai,
    /// A kernel whose preemption model is not stated, or that runs under a hypervisor.
    Other,
}

impl Flavour {
    pub fn name(self) -> &'static str {
        match self {
            Flavour::PreemptRt => "PREEMPT_RT",
            Flavour::Stock => "stock",
            Flavour::Xenomai => "Xenomai",
            Flavour::Evl => "EVL",
            Flavour::Rtai => "RTAI",
            Flavour::Other => "other",
        }
    }
}

/// The measured quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Wakeup latency of a thread in user space.
    #[default]
    Wakeup,
    /// Latency of a periodic task in the kernel.
    KernelTask,
    /// Largest minus smallest latency of a periodic task in the kernel.
    KernelTaskJitter,
}

impl Quantity {
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Wakeup => "wakeup latency",
            Quantity::KernelTask => "latency of a task in the kernel",
            Quantity::KernelTaskJitter => "jitter (largest minus smallest latency) of a task in the kernel",
        }
    }
}

/// The part of the source that contains the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadFrom {
    Text,
    Table,
    Figure,
    /// A data file of the source, for example a histogram.
    File,
    /// A measurement by the contributor.
    Own,
}

/// A published worst latency. Fields that its source does not state are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub flavour: Flavour,
    #[serde(default)]
    pub quantity: Quantity,
    /// True if the source gives a rounded figure, or the end of a range.
    #[serde(default)]
    pub approximate: bool,
    /// Output of `uname -r`, or the version named in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Preemption model as named in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt: Option<String>,
    /// Isolation and tuning as described in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<String>,
    /// Audit rules that did not pass, with their results: `cpu-governor: fail`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The load during the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Options given to the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<u64>,
    /// Number of wakeups of each thread; the smallest number if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<f64>,
    /// Number of measuring threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Largest latency of all threads, µs.
    pub worst_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// Number of late episodes above each of several limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<EpisodeCount>,
    /// Highest temperature during the measurement, °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Date of the measurement or its publication: `2019-06-18`, `2019`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Author, and title of the page, paper or repository.
    pub source: String,
    /// Address, or `owner/repository, path` on GitHub. Only a contributor's own measurement may lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub read: ReadFrom,
    /// The text or line of the source that states the figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Further conditions, and contradictions in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantile {
    /// Fraction of the wakeups at or below the value, 0 to 1.
    pub p: f64,
    pub us: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EpisodeCount {
    pub above_us: f64,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadClass {
    Idle,
    Loaded,
    NotStated,
}

impl LoadClass {
    /// Classifies the name of a load.
    pub fn of(load: Option<&str>) -> LoadClass {
        match load {
            None => LoadClass::NotStated,
            Some("idle") => LoadClass::Idle,
            Some(_) => LoadClass::Loaded,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            LoadClass::Idle => "idle",
            LoadClass::Loaded => "loaded",
            LoadClass::NotStated => "load not stated",
        }
    }
}

impl Published {
    pub fn load_class(&self) -> LoadClass {
        LoadClass::of(self.load.as_deref())
    }

    /// Returns `major.minor` of the kernel; `None` if its version is not stated.
    pub fn series(&self) -> Option<String> {
        let release = self.kernel.as_deref()?.trim_start_matches('v');
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        let number = |part: Option<&str>| part.filter(|text| !text.is_empty()).map(str::to_owned);
        let (major, minor) = (number(parts.next())?, number(parts.next())?);
        Some(format!("{major}.{minor}"))
    }
}
