/// Format of a file. Formats are detected automatically; if one is given, the readers of all others are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text of cyclictest, cyclicdeadline or jitterdebugger: histogram, status rows, `-v`.
    Cyclictest,
    /// JSON of rt-tests, jitterdebugger, performance_test; XML of rteval.
    Json,
    /// Columns of numbers: a histogram, one sample per row, or extremes over time.
    Csv,
    /// Text of rtla timerlat, osnoise and hwnoise.
    Rtla,
    JitterdebuggerRaw,
    /// Times and temperatures of the N-queens benchmark, as CSV.
    NQueens,
    /// Text of any other known tool.
    Text,
}

impl Format {
    pub const ALL: [Format; 7] = [
        Format::Cyclictest,
        Format::Json,
        Format::Csv,
        Format::Rtla,
        Format::JitterdebuggerRaw,
        Format::NQueens,
        Format::Text,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Format::Cyclictest => "cyclictest",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Rtla => "rtla",
            Format::JitterdebuggerRaw => "jitterdebugger-raw",
            Format::NQueens => "nqueens",
            Format::Text => "text",
        }
    }
}
