use crate::bounds::Quantile;
use crate::figures::{Cell, Figures, QUANTILES};
use crate::references::PublishedPart;
use crate::{date, words};
use punctual_model::{
    AppCounterfactual, AppMargin, AppValue, Application, Arrivals, BlockMaximum, CellId, ClusterNote, Coverage,
    CpuResult, EndedBy, Explained, Finding, Import, Judged, Kind, LoadReport, Look, MachineFacts, Outcome, OwnCost,
    PeriodSeen, Phase, Problem, ProblemKind, Recording, Round, Settings, Stamp, Tail, TailOutcome, TailSeries,
    TailThreshold, Tool, Tuned, Verdict, VirtualControl, VirtualTime, Worst,
};
use punctual_units::{CpuId, Histogram, Nanos};
use serde::Serialize;

/// The result of `report`, `measure` and `prove`: the run and its verdict.
///
/// Keys carry units; unknown values are null; times are CLOCK_MONOTONIC (`…_mono_ns`) or UTC in ISO 8601 (`…_utc`).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult<'a> {
    verdict: VerdictPart<'a>,
    /// The run as a whole, from run.json.
    run: RunPart<'a>,
    /// The phases in the order measured.
    phases: Vec<PhasePart<'a>>,
    /// Problems that make every phase inconclusive.
    problems: &'a [Problem],
    notes: &'a [String],
    /// Damage found in the files of the run.
    damage: &'a [String],
    /// The worst wakeups, worst first.
    worst: Vec<WorstPart<'a>>,
    /// The largest latency of each block.
    maxima: MaximaPart<'a>,
    /// Causes found in traces.
    explained: &'a [Explained],
    /// The application whose cycles were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    application: &'a Option<Application>,
    /// The search by `tune` before the run.
    tuned: &'a Option<Tuned>,
    /// Findings of the audit.
    findings: &'a [Finding],
    machine: &'a MachineFacts,
    published: PublishedPart,
    /// Resources used by the measurement itself.
    cost: &'a Option<OwnCost>,
    /// Path of the run directory; only in the result of `measure` and `prove`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub run_directory: Option<String>,
    /// Path of the HTML report; only in the result of `measure` and `prove`. Null if no report was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Option<String>>,
}

/// The verdict and the sentences about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct VerdictPart<'a> {
    /// The worst outcome of the claims.
    outcome: Outcome,
    /// One entry per claim, in the order given.
    claims: Vec<JudgedPart<'a>>,
    /// Problems that make phases inconclusive.
    problems: Vec<ProblemPart<'a>>,
    /// Rare events that a run of this length may have missed.
    coverage: &'a [Coverage],
    /// For each load, the longest period for which every regular event was observed.
    periods: &'a [PeriodSeen],
    /// The largest corrected latency of the run and its place; null without samples.
    worst: &'a Option<CellId>,
    /// Released periods; null if an imported file does not contain them.
    released: Option<u64>,
    ran: u64,
    /// Skipped periods; null if an imported file does not contain them.
    skipped: Option<u64>,
    /// Result of the controls in virtual time with several CPUs; absent if they were not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    virtual_control: Option<&'a VirtualControl>,
    /// Tail of each load; absent if not requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tails: Vec<TailPart<'a>>,
    /// How much longer the threads of an application may run before a claim breaks; absent for wakeups, and if no claim limits
    /// a response.
    #[serde(skip_serializing_if = "<[AppMargin]>::is_empty")]
    margins: &'a [AppMargin],
    /// What an application's longest responses would be without one of the threads or interrupts that delayed them; absent for
    /// wakeups, and if there is none.
    #[serde(skip_serializing_if = "<[AppCounterfactual]>::is_empty")]
    counterfactuals: &'a [AppCounterfactual],
    /// The verdict in one sentence.
    headline: String,
    warnings: Vec<String>,
    /// What the verdict is based on.
    evidence: Vec<String>,
    /// What this run cannot show.
    cannot_say: Vec<String>,
}

/// A judged claim and the sentence about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct JudgedPart<'a> {
    #[serde(flatten)]
    judged: &'a Judged,
    /// Sentence that states the outcome and what it is based on.
    sentence: String,
}

/// A problem and the phase it concerns.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ProblemPart<'a> {
    /// The phase; null for all phases.
    phase: Option<&'a str>,
    kind: ProblemKind,
    text: &'a str,
}

/// Tail analysis of one load, on the CPU with its worst wakeup, and the sentence about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TailPart<'a> {
    phase: &'a str,
    /// CPU with the worst wakeup of the phase.
    cpu: CpuId,
    /// Number of corrected samples, that is, of released periods.
    samples: u64,
    /// Largest corrected latency.
    max_ns: u64,
    /// Clustering of the worst wakeups (extremal index).
    clustering: ClusterNote,
    /// Series tested for stationarity; null if no series could be tested.
    series: Option<TailSeries>,
    /// KPSS statistic of the logarithms of the tested series; null if not computed.
    kpss: Option<f64>,
    /// Generalised Pareto fits above thresholds with decreasing numbers of exceedances. The extrapolated latency is
    /// based on the first.
    thresholds: &'a [TailThreshold],
    /// The latency extrapolated beyond the data, or the reason why there is none.
    outcome: &'a TailOutcome,
    /// Arrival pattern of the worst wakeups.
    arrivals: ArrivalsPart,
    /// Sentence on what the figures show, and what they do not show.
    sentence: String,
}

/// Arrival pattern of the worst wakeups, and the sentence about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ArrivalsPart {
    #[serde(flatten)]
    arrivals: Arrivals,
    sentence: String,
}

/// The run as a whole.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RunPart<'a> {
    /// Schema of the run directory, `punctual.run/1`.
    schema: &'a str,
    /// Version of the run directory's schema, `major.minor`.
    schema_version: &'a str,
    /// The program that made the measurement.
    tool: &'a Tool,
    kind: Kind,
    /// True if every phase ran to its planned end.
    complete: bool,
    ended_by: &'a Option<EndedBy>,
    started: Option<StampPart>,
    ended: Option<StampPart>,
    /// Origin of an imported run.
    import: &'a Option<Import>,
    /// Host name of the measured machine; null if unknown.
    host: &'a Option<String>,
    /// Command line with which the run was started.
    command: &'a [String],
    settings: &'a Settings,
    /// Either `real` or `virtual`.
    clock: &'static str,
    /// Clock model; null for real time.
    virtual_time: &'a Option<VirtualTime>,
    /// Interim checks of the claims during the run.
    looks: &'a [Look],
}

/// An instant in nanoseconds and as text.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct StampPart {
    #[serde(flatten)]
    stamp: Stamp,
    /// The instant in ISO 8601.
    utc: String,
}

/// A phase and its figures.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PhasePart<'a> {
    /// Identifier, unique in the run.
    id: &'a str,
    load: &'a str,
    /// Kind of an imported phase's figures.
    label: &'a Option<String>,
    /// What was measured of an application; absent for wakeup latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: &'a Option<AppValue>,
    /// Period of the phase's values, if it differs from the run's period.
    #[serde(skip_serializing_if = "Option::is_none")]
    period_ns: Option<Nanos>,
    /// Start of the phase on CLOCK_MONOTONIC.
    start_mono_ns: Option<u64>,
    /// Start of the phase in ISO 8601.
    start_utc: Option<String>,
    /// End of the phase on CLOCK_MONOTONIC.
    end_mono_ns: Option<u64>,
    /// Planned recording time.
    planned_ns: Option<Nanos>,
    /// Rounds in which the phase was measured.
    rounds: &'a [Round],
    /// Problems that make the phase inconclusive.
    problems: &'a [Problem],
    /// Report of the load on its work.
    load_report: &'a Option<LoadReport>,
    /// One entry per CPU.
    cpus: Vec<CellPart<'a>>,
}

/// The figures of a CPU in a phase.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CellPart<'a> {
    /// The figures as in run.json.
    #[serde(flatten)]
    result: &'a CpuResult,
    /// Number of independent samples that would contain the same information.
    effective_samples: f64,
    /// Latencies of wakeups.
    raw: Option<DistributionPart>,
    /// Latencies with every released period counted.
    corrected: Option<DistributionPart>,
}

/// A summary of a distribution.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DistributionPart {
    /// Number of samples.
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    max_ns: Option<u64>,
    /// Quantiles with two-sided bounds at 95 % for the effective number of samples; null if this run gives no bound.
    quantiles: Vec<QuantilePart>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct QuantilePart {
    /// Name of the quantile, for example `p99.9`.
    name: &'static str,
    /// Probability of the quantile, 0–1.
    q: f64,
    value_ns: Option<u64>,
    lower_95_ns: Option<u64>,
    upper_95_ns: Option<u64>,
}

/// One of the worst wakeups.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WorstPart<'a> {
    /// The wakeup as in worst.jsonl.
    #[serde(flatten)]
    worst: &'a Worst,
    /// Time of the release in ISO 8601.
    release_utc: String,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MaximaPart<'a> {
    /// Length of a block; null if no blocks were recorded.
    block_ns: Option<Nanos>,
    /// The blocks as in maxima.jsonl.
    blocks: &'a [BlockMaximum],
}

/// Builds the result of `report`. Strings from the machine are unescaped: the serializer must escape them
/// ([`json_text`](crate::json_text) does).
pub fn json<'a>(recording: &'a Recording, verdict: &'a Verdict) -> RunResult<'a> {
    let figures = Figures::new(recording, verdict);
    let run = &recording.run;
    RunResult {
        verdict: VerdictPart::new(&figures),
        run: RunPart {
            schema: &run.schema,
            schema_version: &run.schema_version,
            tool: &run.tool,
            kind: run.kind,
            complete: run.complete,
            ended_by: &run.ended_by,
            started: run.started.map(StampPart::new),
            ended: run.ended.map(StampPart::new),
            import: &run.import,
            host: &run.host,
            command: &run.command,
            settings: &run.settings,
            clock: clock(&run.virtual_time),
            virtual_time: &run.virtual_time,
            looks: &run.looks,
        },
        phases: run.phases.iter().map(|p| PhasePart::new(&figures, p)).collect(),
        problems: &run.problems,
        notes: &run.notes,
        damage: &recording.damage,
        worst: recording.worst.iter().map(|worst| WorstPart::new(recording, worst)).collect(),
        maxima: MaximaPart { block_ns: run.settings.maxima_block_ns, blocks: &recording.maxima },
        explained: &recording.explained,
        application: &recording.application,
        tuned: &recording.tuned,
        findings: &recording.findings,
        machine: &run.machine,
        published: PublishedPart::new(&figures),
        cost: &run.cost,
        run_directory: None,
        report: None,
    }
}

/// Returns the clock of a run with this clock model.
pub(crate) fn clock<T>(model: &Option<T>) -> &'static str {
    if model.is_some() { "virtual" } else { "real" }
}

pub(crate) fn problems(verdict: &Verdict) -> Vec<ProblemPart<'_>> {
    verdict
        .problems
        .iter()
        .map(|(phase, p)| ProblemPart { phase: phase.as_deref(), kind: p.kind, text: &p.text })
        .collect()
}

impl<'a> VerdictPart<'a> {
    fn new(figures: &Figures<'a>) -> VerdictPart<'a> {
        let Figures { recording, verdict, .. } = *figures;
        let headline = words::headline(recording, verdict);
        let claim = |judged: &'a Judged| JudgedPart { judged, sentence: words::claim(recording, judged) };
        VerdictPart {
            outcome: verdict.outcome,
            claims: verdict.claims.iter().map(claim).collect(),
            problems: problems(verdict),
            coverage: &verdict.coverage,
            periods: &verdict.periods,
            worst: &verdict.worst,
            released: verdict.released,
            ran: verdict.ran,
            skipped: verdict.skipped,
            virtual_control: verdict.virtual_control.as_ref(),
            tails: verdict.tails.iter().map(|tail| TailPart::new(recording, tail)).collect(),
            margins: &verdict.margins,
            counterfactuals: &verdict.counterfactuals,
            headline: format!("{} — {}", headline.word, headline.sentence),
            warnings: words::warnings(recording, verdict),
            evidence: words::evidence::from_figures(figures),
            cannot_say: words::limits::from_figures(figures),
        }
    }
}

impl<'a> TailPart<'a> {
    fn new(recording: &Recording, tail: &'a Tail) -> TailPart<'a> {
        TailPart {
            phase: &tail.phase,
            cpu: tail.cpu,
            samples: tail.samples,
            max_ns: tail.max_ns,
            clustering: tail.clustering,
            series: tail.series,
            kpss: tail.kpss,
            thresholds: &tail.thresholds,
            outcome: &tail.outcome,
            arrivals: ArrivalsPart { arrivals: tail.arrivals, sentence: words::tails::arrivals(recording, tail) },
            sentence: words::tails::tail(recording, tail),
        }
    }
}

impl StampPart {
    fn new(stamp: Stamp) -> StampPart {
        StampPart { stamp, utc: date::utc(stamp.real_ns) }
    }
}

impl<'a> PhasePart<'a> {
    fn new(figures: &Figures<'a>, phase: &'a Phase) -> PhasePart<'a> {
        PhasePart {
            id: &phase.id,
            load: &phase.load,
            label: &phase.label,
            value: &phase.value,
            period_ns: phase.period_ns,
            start_mono_ns: phase.start_mono_ns,
            start_utc: phase.start_mono_ns.map(|ns| date::utc_millis(date::real_of(figures.recording, ns))),
            end_mono_ns: phase.end_mono_ns,
            planned_ns: phase.planned_ns,
            rounds: &phase.rounds,
            problems: &phase.problems,
            load_report: &phase.load_report,
            cpus: figures.of_phase(phase).into_iter().map(CellPart::new).collect(),
        }
    }
}

impl<'a> CellPart<'a> {
    fn new(cell: &Cell<'a>) -> CellPart<'a> {
        let raw_quantiles = cell.raw_quantiles.as_ref().unwrap_or(&cell.quantiles);
        let raw_mean =
            if cell.result.blur.is_some() { cell.result.mean_ns } else { cell.raw.and_then(Histogram::mean) };
        CellPart {
            result: cell.result,
            effective_samples: cell.effective(),
            raw: cell.raw.map(|h| DistributionPart::new((h, raw_mean), raw_quantiles)),
            corrected: cell.corrected().map(|h| DistributionPart::new((h, cell.mean()), &cell.quantiles)),
        }
    }
}

impl DistributionPart {
    fn new((histogram, mean_ns): (&Histogram, Option<f64>), quantiles: &[Quantile]) -> DistributionPart {
        let quantile = |((q, name), at): (&(f64, &'static str), &Quantile)| QuantilePart {
            name,
            q: *q,
            value_ns: at.ns,
            lower_95_ns: at.lower,
            upper_95_ns: at.upper,
        };
        DistributionPart {
            count: histogram.count(),
            min_ns: histogram.min(),
            mean_ns,
            max_ns: histogram.max(),
            quantiles: QUANTILES.iter().zip(quantiles).map(quantile).collect(),
        }
    }
}

impl<'a> WorstPart<'a> {
    fn new(recording: &Recording, worst: &'a Worst) -> WorstPart<'a> {
        WorstPart { worst, release_utc: date::utc_millis(date::real_of(recording, worst.release_mono_ns)) }
    }
}
