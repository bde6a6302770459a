//! The tails in the documents of `report`, `measure`, `prove` and `lab prove`. As in `documents.rs`, nothing is written from these types;
//! real documents are held against their schemas (cli/src/lab/documents.rs).

#![allow(dead_code, reason = "only their schemas are used")]

use punctual_model as model;
use punctual_units::CpuId;
use schemars::JsonSchema;
use serde::Serialize;

/// The tail of one load with its sentence, on the CPU with its latest wakeup. As the model's, but for `arrivals`, which has one as well.
#[derive(JsonSchema, Serialize)]
pub struct TailPart {
    /// Phase id.
    pub phase: String,
    /// The CPU with the latest wakeup of the phase.
    pub cpu: CpuId,
    /// Corrected samples: periods released.
    pub samples: u64,
    /// Largest corrected latency.
    pub max_ns: u64,
    /// How the latest cluster; the extremal index.
    pub clustering: model::ClusterNote,
    /// Of what the stationarity was tested; null: of nothing.
    pub series: Option<model::TailSeries>,
    /// KPSS statistic of the logarithms of that series; null where it has none.
    pub kpss: Option<f64>,
    /// The generalised Pareto fits above falling numbers of exceedances, the one that a level rests on first.
    pub thresholds: Vec<model::TailThreshold>,
    /// The level, or why there is none.
    pub outcome: model::TailOutcome,
    /// How the latest wakeups came.
    pub arrivals: ArrivalsPart,
    /// What follows from the figures, and what does not.
    pub sentence: String,
}

/// How the latest wakeups came, with its sentence.
#[derive(JsonSchema, Serialize)]
pub struct ArrivalsPart {
    /// The figures.
    #[serde(flatten)]
    pub arrivals: model::Arrivals,
    /// In words.
    pub sentence: String,
}
