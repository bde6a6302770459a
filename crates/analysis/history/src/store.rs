use crate::schema::{Access, prepare};
use crate::{Error, rows};
use punctual_directory::{Dir, Whose};
use punctual_model::history::RunSummary;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum time to wait for another process. For comparison, adding a run takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of a text, bytes. A longer one is treated as an attack.
const LONGEST: i32 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    New,
    /// The run was already stored, but has been finished or explained since.
    Better,
    Known,
}

/// An open history. Every change is one transaction with SQLite's rollback journal, so that after kill -9 or a power
/// failure the file has the state either before or after it. Unless a journal exists beside it, the history is a single
/// file.
///
/// SQLite opens its files by path. Each access is made with the user ID of the owner of the directory, so that a user
/// who can move the directory or create links in it gains no access to other files.
pub struct Store {
    path: PathBuf,
    /// Directory that contains the file.
    dir: Dir,
    db: Connection,
}

impl Store {
    /// Opens the history for changes. Creates it and its directory if they are missing.
    ///
    /// # Errors
    /// All variants of [`Error`] except the last three.
    pub fn open(path: &Path) -> Result<Store, Error> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
            Dir::create(folder, Whose::Results).map_err(Error::folder(path))?;
        }
        Store::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, Access::Write)
    }

    /// Opens an existing history read-only.
    ///
    /// # Errors
    /// [`Error::None`], and the errors of [`Store::open`].
    pub fn look(path: &Path) -> Result<Store, Error> {
        if !path.try_exists().map_err(Error::open(path))? {
            return Err(Error::None(path.to_owned()));
        }
        // The journal of a killed writer must be rolled back, which requires write access.
        let both = Store::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE, Access::Write);
        match both {
            Err(Error::Open { .. } | Error::Write { .. }) => {
                Store::opened(path, OpenFlags::SQLITE_OPEN_READ_ONLY, Access::Read)
            }
            other => other,
        }
    }

    fn opened(path: &Path, flags: OpenFlags, access: Access) -> Result<Store, Error> {
        let failed = Error::sqlite(path);
        // An absolute path is never interpreted as a URI or as `:memory:`.
        let whole = std::path::absolute(path).map_err(Error::open(path))?;
        let (dir, _) = Dir::of_file(&whole).map_err(Error::folder(path))?;
        let acting = dir.as_owner().map_err(Error::folder(path))?;
        let mut db = Connection::open_with_flags(whole, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(&failed)?;
        db.busy_timeout(PATIENCE).map_err(&failed)?;
        db.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST).map_err(&failed)?;
        db.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;")
            .map_err(&failed)?;
        prepare(&mut db, path, access)?;
        drop(acting);
        Ok(Store { path: path.to_owned(), dir, db })
    }

    /// Queries or changes the database with the user ID of the directory's owner.
    fn access<T>(&self, what: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let _as = self.dir.as_owner().map_err(Error::folder(&self.path))?;
        what(&self.db).map_err(Error::sqlite(&self.path))
    }

    /// Like [`Store::access`], in one transaction.
    fn change<T>(&mut self, what: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        let _as = self.dir.as_owner().map_err(Error::folder(&self.path))?;
        let changed = || {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = what(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        changed().map_err(Error::sqlite(&self.path))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a run. Adding it again changes nothing unless it contains more information than before. The result does not
    /// depend on the order of additions.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Write`], [`Error::Damaged`].
    pub fn add(&mut self, run: &RunSummary) -> Result<Added, Error> {
        self.change(|transaction| {
            let known = rows::find(transaction, &run.id)?;
            if known.as_ref().is_some_and(|known| worth(known) >= worth(run)) {
                return Ok(Added::Known);
            }
            let baselines: Vec<String> = {
                let mut named = transaction.prepare("SELECT name FROM baseline WHERE run = ?1")?;
                named.query_map([&run.id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
            };
            transaction.execute("DELETE FROM run WHERE id = ?1", [&run.id])?;
            rows::insert(transaction, run)?;
            for name in baselines {
                transaction.execute("INSERT INTO baseline (name, run) VALUES (?1, ?2)", params![name, run.id])?;
            }
            Ok(if known.is_some() { Added::Better } else { Added::New })
        })
    }

    /// Removes a run and returns its ID.
    ///
    /// # Errors
    /// [`Error::NoRun`], [`Error::Ambiguous`], and the errors of [`Store::add`].
    pub fn remove(&mut self, id: &str) -> Result<String, Error> {
        let id = self.find(id)?.id;
        self.access(|db| db.execute("DELETE FROM run WHERE id = ?1", [&id]))?;
        Ok(id)
    }

    /// Returns all matching runs in chronological order, followed by those without a time. `wanted` is called with
    /// runs without their cells.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Busy`].
    pub fn runs(&self, wanted: impl Fn(&RunSummary) -> bool) -> Result<Vec<RunSummary>, Error> {
        self.access(|db| {
            let mut runs = rows::runs(db)?;
            runs.retain(|run| wanted(run));
            runs.iter_mut().try_for_each(|run| rows::fill(db, run))?;
            Ok(runs)
        })
    }

    /// Returns the run whose ID has this prefix.
    ///
    /// # Errors
    /// [`Error::NoRun`], [`Error::Ambiguous`], and the errors of [`Store::runs`].
    pub fn find(&self, id: &str) -> Result<RunSummary, Error> {
        let mut found = self.runs(|run| !id.is_empty() && run.id.starts_with(id))?;
        match (found.pop(), found.is_empty()) {
            (None, _) => Err(Error::NoRun(id.into())),
            (Some(run), true) => Ok(run),
            (Some(_), false) => Err(Error::Ambiguous(id.into())),
        }
    }

    /// Assigns a name to these runs and removes it from all others. Without runs the name is removed.
    ///
    /// # Errors
    /// [`Error::Name`], and the errors of [`Store::remove`].
    pub fn set_baseline(&mut self, name: &str, ids: &[String]) -> Result<Vec<String>, Error> {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(letters) {
            return Err(Error::Name(name.into()));
        }
        let ids = ids.iter().map(|id| Ok(self.find(id)?.id)).collect::<Result<Vec<_>, Error>>()?;
        self.change(|transaction| {
            transaction.execute("DELETE FROM baseline WHERE name = ?1", [name])?;
            for id in &ids {
                transaction.execute("INSERT OR IGNORE INTO baseline (name, run) VALUES (?1, ?2)", params![name, id])?;
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// Returns all named baselines, with the IDs of their runs.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Busy`].
    pub fn baselines(&self) -> Result<Vec<(String, Vec<String>)>, Error> {
        let rows = self.access(|db| {
            let mut statement = db.prepare("SELECT name, run FROM baseline ORDER BY name, run")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(String, String)>>>()
        })?;
        let groups = rows.chunk_by(|a, b| a.0 == b.0);
        Ok(groups.filter_map(|g| Some((g.first()?.0.clone(), g.iter().map(|row| row.1.clone()).collect()))).collect())
    }
}

/// Returns the rank of a summary among summaries of the same run: finished, with more samples, with more explanations.
/// Otherwise equal summaries have a fixed order, so that the order of additions does not matter. The same run in
/// another directory counts as the same run.
fn worth(run: &RunSummary) -> (bool, u64, usize, String) {
    let samples = run.cells.iter().fold(0u64, |sum, c| sum.saturating_add(c.samples));
    let explained = run.cells.iter().filter(|c| c.cause.is_some()).count();
    let all = serde_json::json!(RunSummary { folder: None, ..run.clone() }).to_string();
    (run.complete, samples, explained, all)
}
