//! Fields of a file in `boards/`, with their types and descriptions.

pub enum Kind {
    Text,
    /// Lower-case letters, digits and hyphens.
    Key,
    /// A date: `2019`, `2019-06-18`.
    Date,
    /// An address: `https://…`, or `owner/repository, path`.
    Address,
    Flag,
    Texts,
    /// A number within these limits.
    Number(f64, f64),
    /// An integer within these limits.
    Count(u64, u64),
    Choice(&'static [&'static str]),
    Tables(&'static [Field]),
}

pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub is_required: bool,
    /// What a required field contains; in the error message, this text follows "is missing:".
    pub what: &'static str,
}

const fn required(name: &'static str, kind: Kind, what: &'static str) -> Field {
    Field { name, kind, is_required: true, what }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: false, what: "" }
}

/// Maximum plausible duration, s: one year.
const YEAR_S: u64 = 366 * 86_400;

pub const BOARD: &[Field] = &[
    required("key", Kind::Key, "the board's name on command lines, for example \"raspberry-pi-4b\""),
    required("name", Kind::Text, "the board's name, for example \"Raspberry Pi 4 Model B\""),
    optional("soc", Kind::Text),
    optional("core", Kind::Text),
    optional("cpus", Kind::Count(1, 8192)),
    optional("soc_source", Kind::Text),
    optional("models", Kind::Texts),
    optional("plans", Kind::Texts),
    optional("note", Kind::Tables(NOTE)),
    required("published", Kind::Tables(PUBLISHED), "at least one [[published]] table"),
];

pub const NOTE: &[Field] = &[
    required("about", Kind::Choice(&["kernel", "setting", "trap"]), "kernel, setting or trap"),
    required("text", Kind::Text, "the statement of the source"),
    required("source", Kind::Text, "author, and title of the page, paper or repository"),
    required("url", Kind::Address, "the address of the source"),
];

pub const PUBLISHED: &[Field] = &[
    required(
        "flavour",
        Kind::Choice(&["preempt_rt", "stock", "xenomai", "evl", "rtai", "other"]),
        "preempt_rt, stock, xenomai, evl, rtai or other",
    ),
    optional("quantity", Kind::Choice(&["wakeup", "kernel_task", "kernel_task_jitter"])),
    optional("approximate", Kind::Flag),
    optional("kernel", Kind::Text),
    optional("preempt", Kind::Text),
    optional("tuning", Kind::Text),
    optional("settings", Kind::Texts),
    optional("load", Kind::Text),
    optional("tool", Kind::Text),
    optional("options", Kind::Text),
    optional("duration_s", Kind::Count(1, YEAR_S)),
    optional("samples", Kind::Count(100, 1_000_000_000_000_000)),
    optional("interval_us", Kind::Number(1.0, 1e8)),
    optional("threads", Kind::Count(1, 8192)),
    // A wakeup takes more than half a microsecond. A figure above 1 s has another unit, or is not a latency.
    required("worst_us", Kind::Number(0.5, 1e6), "the worst latency of all threads, in microseconds"),
    optional("mean_us", Kind::Number(0.0, 1e6)),
    // May be negative, because Xenomai subtracts a calibrated constant.
    optional("min_us", Kind::Number(-1000.0, 1e6)),
    optional("quantiles", Kind::Tables(QUANTILE)),
    optional("episodes", Kind::Tables(EPISODES)),
    optional("temperature_c", Kind::Number(-60.0, 150.0)),
    optional("date", Kind::Date),
    required("source", Kind::Text, "author, and title of the page, paper or repository"),
    optional("url", Kind::Address),
    required(
        "read",
        Kind::Choice(&["text", "table", "figure", "file", "own"]),
        "origin of the value: text, table, figure or file; own for your own measurement",
    ),
    optional("quote", Kind::Text),
    optional("note", Kind::Text),
];

const QUANTILE: &[Field] = &[
    required("p", Kind::Number(0.0, 1.0), "the fraction of wakeups at or below the value"),
    required("us", Kind::Number(-1000.0, 1e9), "the value of the quantile in microseconds"),
];

const EPISODES: &[Field] = &[
    required("above_us", Kind::Number(0.0, 1e9), "the limit in microseconds"),
    required("count", Kind::Count(0, 1_000_000_000_000_000), "the number of late episodes"),
];
