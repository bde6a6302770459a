//! Table definitions, and migration of older files.

use crate::Error;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// Value of `PRAGMA application_id`: `pnct`.
const APPLICATION: i64 = 0x706e_6374;

/// SQL statements; the n-th element migrates a file from version n to the next. `PRAGMA user_version` is the number of
/// completed migrations. Released migrations must not be changed.
const MIGRATIONS: [&str; 1] = ["
CREATE TABLE run (
  id TEXT PRIMARY KEY, folder TEXT, started_ns INTEGER, host TEXT, tool TEXT NOT NULL, complete INTEGER NOT NULL,
  board TEXT, cpu_model TEXT, architecture TEXT, cpus TEXT, virtual_time TEXT,
  kernel_release TEXT, kernel_version TEXT, preemption TEXT,
  measured_by TEXT NOT NULL, period_ns INTEGER, scheduling TEXT, measured_cpus TEXT NOT NULL, loads TEXT NOT NULL,
  via TEXT, alignment TEXT, cpu_dma_latency_us INTEGER, traced INTEGER NOT NULL, duration_ns INTEGER,
  temperature_max_mc INTEGER, outcome TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE cell (
  run TEXT NOT NULL REFERENCES run ON DELETE CASCADE, n INTEGER NOT NULL,
  phase TEXT NOT NULL, load TEXT NOT NULL, cpu INTEGER NOT NULL, samples INTEGER NOT NULL, skipped INTEGER,
  p50_ns INTEGER, p99_ns INTEGER, p999_ns INTEGER, p9999_ns INTEGER, max_ns INTEGER,
  temperature_max_mc INTEGER, cause TEXT, doubt TEXT,
  PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE claim (
  run TEXT NOT NULL REFERENCES run ON DELETE CASCADE, n INTEGER NOT NULL,
  claim TEXT NOT NULL, outcome TEXT NOT NULL,
  PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE baseline (
  name TEXT NOT NULL, run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  PRIMARY KEY (name, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_started ON run (started_ns);
CREATE INDEX baseline_run ON baseline (run);
"];

pub const VERSION: i64 = MIGRATIONS.len() as i64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For writing; the file is created if it is missing.
    Write,
    Read,
}

/// Refuses files that are not a history or have a newer version. Migrates an older one if it is writable.
pub fn prepare(connection: &mut Connection, path: &Path, access: Access) -> Result<(), Error> {
    let failed = Error::sqlite(path);
    // Uses one transaction, since another process may create its tables at the same time.
    let (found, ours, empty) = {
        let now = connection.transaction().map_err(&failed)?;
        let ours = application(&now).map_err(&failed)? == APPLICATION;
        (version(&now).map_err(&failed)?, ours, schema(&now).map_err(&failed)?.is_empty())
    };
    if !ours && (found != 0 || !empty) {
        return Err(Error::Foreign(path.to_owned()));
    }
    if found > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found, known: VERSION });
    }
    if found != VERSION && access == Access::Write {
        migrate(connection, path)?;
    }
    check(connection, path)
}

/// Uses one transaction, so that two processes do not both create a history.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let failed = Error::sqlite(path);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    let found = version(&transaction).map_err(&failed)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step).map_err(&failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(&failed)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(&failed)?;
    transaction.commit().map_err(&failed)
}

/// Checks that the schema is the expected one, because a foreign file may have endless views under the names of the
/// tables.
fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    let failed = Error::sqlite(path);
    let fresh = Connection::open_in_memory().map_err(&failed)?;
    MIGRATIONS.iter().try_for_each(|step| fresh.execute_batch(step)).map_err(&failed)?;
    if schema(connection).map_err(&failed)? == schema(&fresh).map_err(&failed)? {
        return Ok(());
    }
    if application(connection).map_err(&failed)? == APPLICATION {
        let why = "its tables differ from those of its schema version".into();
        return Err(Error::Damaged { path: path.to_owned(), why });
    }
    Err(Error::Foreign(path.to_owned()))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn application(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// Returns the SQL of every table, index, view and trigger.
fn schema(connection: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let mut statement =
        connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}
