#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text of cyclictest, cyclicdeadline or jitterdebugger: histogram, live rows, `-v`.
    Cyclictest,
    /// JSON of rt-tests (cyclictest, cyclicdeadline, oslat) or of jitterdebugger.
    Json,
    /// A histogram as CSV: a row per bin, a column per CPU.
    Csv,
    /// Text of rtla timerlat, osnoise and hwnoise.
    Rtla,
    JitterdebuggerRaw,
    /// Times and temperatures of the N-queens benchmark as CSV.
    NQueens,
}

impl Format {
    pub const ALL: [Format; 6] =
        [Format::Cyclictest, Format::Json, Format::Csv, Format::Rtla, Format::JitterdebuggerRaw, Format::NQueens];

    pub fn name(self) -> &'static str {
        match self {
            Format::Cyclictest => "cyclictest",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Rtla => "rtla",
            Format::JitterdebuggerRaw => "jitterdebugger-raw",
            Format::NQueens => "nqueens",
        }
    }

    pub(crate) fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }
}
