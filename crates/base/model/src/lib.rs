//! The data model of a run: plain types. Nothing here does I/O or reads a clock.
//!
//! [`Run`] is `run.json`; a [`Recording`] is a whole run directory in memory. Judging, explaining and reporting work on
//! recordings, so measured and imported runs share the same code. All durations and points in time are in nanoseconds;
//! `mono_ns` is CLOCK_MONOTONIC of the measured machine.
//!
//! Architecture invariant: nothing here reads or writes a file. No type has a default that could be mistaken for a
//! measured value: unknown values are `None`.

#![forbid(unsafe_code)]

mod app_late;
mod app_value;
mod application;
mod bench;
mod bound;
mod change;
mod check;
mod claim;
mod class;
mod comparison;
mod episode;
mod event;
mod experiment;
mod explained;
mod finding;
mod fleet;
mod hardware;
pub mod history;
mod import;
mod known;
mod load;
mod machine;
mod problem;
mod run;
mod suite;
mod tail;
mod tracing;
mod tuned;
mod until;
mod verdict;
mod watch;
mod worst;

pub use app_late::{AppLate, AppWindow, LateBy};
pub use app_value::AppValue;
pub use application::{
    AppChain, AppCounterfactual, AppCycles, AppDelay, AppMargin, AppMark, AppProbe, AppThread, AppWithout, Application,
};
pub use bench::{
    BENCH_SCHEMA, Bench, BenchCheck, BenchDistribution, BenchFigure, BenchLog, BenchParts, BenchPlan, BenchRecord,
    BenchRepetition, BenchSettings, Beside, Conditions, NetworkSettings, NqueensMode, NqueensSettings,
};
pub use bound::{BoundInterrupt, BoundPart, BoundPlace, BoundSeen, BoundWithout, CpuBound, LatencyBound, PartKind};
pub use change::{Argv, Back, Command, Draft, Edit, Step};
pub use check::{Check, CheckCycles, CheckFinding, CheckFrame, CheckSource, CheckThread};
pub use claim::{Claim, ClaimError, Quantity};
pub use class::{Class, Confidence};
pub use comparison::{
    Against, BootsNeeded, BootsRecipe, CauseShare, Comparison, ComparisonDrawings, ComparisonRow, Conclusion,
    Covariate, DoubtfulRun, Group, Ratio, SampleUnit, Sampled, Scatter, Unlike, UnlikeKind,
};
pub use episode::{BlockCount, Blocks, EPISODE_GAP, Episode, Episodes};
pub use event::{ContextSample, CpuContext, Event, Reading, WindowMax};
pub use experiment::{
    ACCOUNTED, Doing, EXPERIMENT_SCHEMA, EXPLAINED, Experiment, GanttSpan, Held, NARROW, OtherTask, PlannedThread,
    Prediction, RanThread, Repetition, RtLimit, SchedSettings, Taken, TimeAccount,
};
pub use explained::{
    Blocked, Cause, CulpritGroup, Cycle, ExplainResult, Explained, Explanation, Lane, Link, Moments, Scheduled, Span,
    SpanKind, StateSpan, ThreadState, Timeline, Victim,
};
pub use finding::{Evidence, Finding, Severity, State};
pub use fleet::{Fleet, FleetBoard, FleetContrast, FleetFactor, FleetLine, FleetOutlier, FleetTooFew, FleetWorst};
pub use hardware::{ExplainedGap, Gap, GapClass, GapCpu, GapFinding, GapPart, Hardware, Hwlat};
pub use import::{Blur, Import, ImportedFile, Lost, LostKind, Series, Unplaced};
pub use known::Known;
pub use load::{LoadReport, Proof, Rate};
pub use machine::{MachineFacts, OwnCost, Scratch};
pub use problem::{Problem, ProblemKind};
pub use run::{
    Alignment, CpuResult, Distribution, EndedBy, Kind, Phase, RUN_SCHEMA, RUN_SCHEMA_VERSION, Recording, Run, Settings,
    Stamp, Tool, VirtualTime,
};
pub use suite::{
    EventCounts, Listed, Listing, Promise, SUITE_SCHEMA, Suite, SuiteClass, SuiteEnd, SuiteRan, SuiteResult,
};
pub use tail::{ArrivalPattern, ArrivalSource, Arrivals, Tail, TailOutcome, TailRefusal, TailSeries, TailThreshold};
pub use tracing::{Capture, LateWakeup, PhaseTrace, Tracing};
pub use tuned::{Ended, TUNE_SCHEMA, Trial, TrialCost, TrialKind, Tuned};
pub use until::{BlockMaximum, Look, Round, UntilDecided};
pub use verdict::{
    CellId, CellJudgement, ClusterNote, Coverage, EpisodeCounts, Judged, Needed, Outcome, PeriodSeen, StallBound,
    Verdict, VirtualControl,
};
pub use watch::{
    WATCH_SCHEMA, Watch, WatchApp, WatchAppThread, WatchBlock, WatchCost, WatchCpu, WatchDisk, WatchLate, WatchLates,
    WatchLine, WatchMaxima, WatchMaximum, WatchSettings, WatchUpsets, Watched,
};
pub use worst::{Suspicion, SuspicionClass, Worst};
