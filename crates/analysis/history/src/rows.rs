//! Converts summaries to table rows and back.

use punctual_model::Outcome;
use punctual_model::history::{ClaimOutcome, KernelId, MachineId, RunSettings, RunSummary, SummaryCell};
use punctual_units::CpuId;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, Row, params};

const RUN: &str = "id, folder, started_ns, host, tool, complete, board, cpu_model, architecture, cpus, virtual_time, \
    kernel_release, kernel_version, preemption, measured_by, period_ns, scheduling, measured_cpus, loads, via, alignment, \
    cpu_dma_latency_us, traced, duration_ns, temperature_max_mc, outcome";
const CELL: &str = "phase, load, cpu, samples, skipped, p50_ns, p99_ns, p999_ns, p9999_ns, max_ns, temperature_max_mc, \
    cause, doubt";

/// Converts to the signed integers of SQLite. A number of ns above 292 years becomes NULL.
fn signed(value: Option<u64>) -> Option<i64> {
    value.and_then(|v| i64::try_from(v).ok())
}

pub fn insert(db: &Connection, run: &RunSummary) -> Result<()> {
    let (machine, kernel, settings) = (&run.machine, &run.kernel, &run.settings);
    let places = (1..=26).map(|n| format!("?{n}")).collect::<Vec<_>>().join(", ");
    db.prepare(&format!("INSERT INTO run ({RUN}) VALUES ({places})"))?.execute(params![
        run.id,
        run.folder,
        signed(run.started_ns),
        run.host,
        run.tool,
        run.complete,
        machine.board,
        machine.cpu_model,
        machine.architecture,
        machine.cpus,
        run.virtual_time,
        kernel.release,
        kernel.version,
        kernel.preemption,
        settings.measured_by,
        signed(settings.period_ns),
        settings.scheduling,
        settings.cpus,
        serde_json::json!(settings.loads).to_string(),
        settings.via,
        settings.alignment,
        settings.cpu_dma_latency_us,
        settings.traced,
        signed(settings.duration_ns),
        run.temperature_max_mc,
        run.outcome.map(word),
    ])?;
    (0i64..).zip(&run.cells).try_for_each(|(n, cell)| insert_cell(db, &run.id, n, cell))?;
    let mut claim = db.prepare("INSERT INTO claim (run, n, claim, outcome) VALUES (?1, ?2, ?3, ?4)")?;
    (0i64..)
        .zip(&run.claims)
        .try_for_each(|(n, c)| claim.execute(params![run.id, n, c.claim, word(c.outcome)]).map(drop))
}

fn insert_cell(db: &Connection, run: &str, n: i64, cell: &SummaryCell) -> Result<()> {
    let places = (1..=15).map(|n| format!("?{n}")).collect::<Vec<_>>().join(", ");
    let mut statement = db.prepare(&format!("INSERT INTO cell (run, n, {CELL}) VALUES ({places})"))?;
    statement.execute(params![
        run,
        n,
        cell.phase,
        cell.load,
        cell.cpu.0,
        i64::try_from(cell.samples).unwrap_or(i64::MAX),
        signed(cell.skipped),
        signed(cell.p50_ns),
        signed(cell.p99_ns),
        signed(cell.p999_ns),
        signed(cell.p9999_ns),
        signed(cell.max_ns),
        cell.temperature_max_mc,
        cell.cause,
        cell.doubt,
    ])?;
    Ok(())
}

/// Returns the runs in chronological order, followed by those without a time. Cells and claims are not loaded.
pub fn runs(db: &Connection) -> Result<Vec<RunSummary>> {
    let sql = format!("SELECT {RUN} FROM run ORDER BY started_ns IS NULL, started_ns, id");
    let mut statement = db.prepare(&sql)?;
    statement.query_map([], run)?.collect()
}

/// Loads a run with its cells and claims.
pub fn find(db: &Connection, id: &str) -> Result<Option<RunSummary>> {
    let sql = format!("SELECT {RUN} FROM run WHERE id = ?1");
    let mut found = db.prepare(&sql)?.query_row([id], run).optional()?;
    found.iter_mut().try_for_each(|run| fill(db, run))?;
    Ok(found)
}

pub fn fill(db: &Connection, run: &mut RunSummary) -> Result<()> {
    let sql = format!("SELECT {CELL} FROM cell WHERE run = ?1 ORDER BY n");
    run.cells = db.prepare(&sql)?.query_map([&run.id], cell)?.collect::<Result<_>>()?;
    let mut claims = db.prepare("SELECT claim, outcome FROM claim WHERE run = ?1 ORDER BY n")?;
    let claims =
        claims.query_map([&run.id], |row| Ok(ClaimOutcome { claim: row.get(0)?, outcome: outcome(row, 1)? }))?;
    run.claims = claims.collect::<Result<_>>()?;
    Ok(())
}

fn run(row: &Row) -> Result<RunSummary> {
    let loads: String = row.get(18)?;
    let outcome_reported: Option<String> = row.get(25)?;
    Ok(RunSummary {
        id: row.get(0)?,
        folder: row.get(1)?,
        started_ns: row.get(2)?,
        host: row.get(3)?,
        tool: row.get(4)?,
        complete: row.get(5)?,
        machine: MachineId { board: row.get(6)?, cpu_model: row.get(7)?, architecture: row.get(8)?, cpus: row.get(9)? },
        virtual_time: row.get(10)?,
        kernel: KernelId { release: row.get(11)?, version: row.get(12)?, preemption: row.get(13)? },
        settings: RunSettings {
            measured_by: row.get(14)?,
            period_ns: row.get(15)?,
            scheduling: row.get(16)?,
            cpus: row.get(17)?,
            loads: serde_json::from_slice(loads.as_bytes()).map_err(|e| unreadable(18, e.to_string()))?,
            via: row.get(19)?,
            alignment: row.get(20)?,
            cpu_dma_latency_us: row.get(21)?,
            traced: row.get(22)?,
            duration_ns: row.get(23)?,
        },
        temperature_max_mc: row.get(24)?,
        outcome: outcome_reported.map(|_| outcome(row, 25)).transpose()?,
        claims: Vec::new(),
        cells: Vec::new(),
    })
}

fn cell(row: &Row) -> Result<SummaryCell> {
    Ok(SummaryCell {
        phase: row.get(0)?,
        load: row.get(1)?,
        cpu: CpuId(row.get(2)?),
        samples: row.get(3)?,
        skipped: row.get(4)?,
        p50_ns: row.get(5)?,
        p99_ns: row.get(6)?,
        p999_ns: row.get(7)?,
        p9999_ns: row.get(8)?,
        max_ns: row.get(9)?,
        temperature_max_mc: row.get(10)?,
        cause: row.get(11)?,
        doubt: row.get(12)?,
    })
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Held => "held",
        Outcome::Inconclusive => "inconclusive",
        Outcome::Fail => "fail",
    }
}

fn outcome(row: &Row, column: usize) -> Result<Outcome> {
    let text: String = row.get(column)?;
    let all = [Outcome::Pass, Outcome::Held, Outcome::Inconclusive, Outcome::Fail];
    all.into_iter().find(|o| word(*o) == text).ok_or_else(|| unreadable(column, format!("`{text}` is not an outcome")))
}

fn unreadable(column: usize, why: String) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
