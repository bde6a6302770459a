//! Finds the commit that broke or fixed a claim with git bisect, building and proving the kernel at each step.
//!
//! The user's tree is not touched: everything happens in a separate working tree (git-worktree(1)), which is removed
//! when the commit is found. After an interruption the next call continues without proving anything twice.

use crate::build::Build;
use crate::error::LabError;
use crate::git::Git;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Bisect {
    pub tree: PathBuf,
    /// A commit at which the claims hold.
    pub good: String,
    /// A later commit, at which the claims do not hold.
    pub bad: String,
    pub build: Build,
    /// Folder for the working tree, the objects, the logs and the run directories.
    pub out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    Good,
    Bad,
    NotBuilt,
    /// The kernel does not boot, or the proof is inconclusive.
    Inconclusive,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    pub commit: String,
    pub subject: String,
    pub outcome: StepOutcome,
    /// A description of the worst wakeup, or of what went wrong.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BisectReport {
    /// The first bad commit, or all candidates if some could not be judged.
    pub suspects: Vec<String>,
    pub steps: Vec<Step>,
    pub shown: Option<String>,
}

/// Proves the kernel of a build folder (first path) into a run directory (second path); returns the outcome and a short
/// reason.
pub type Prove<'a> = &'a mut dyn FnMut(&Path, &Path) -> Result<(StepOutcome, String), LabError>;

/// Bisects; `report` receives each step.
///
/// # Errors
/// The claims do not hold at `good`, or hold at `bad`; git or make cannot be run; or the prover fails for a reason
/// other than the kernel.
pub fn bisect(plan: &Bisect, prove: Prove, report: &mut dyn FnMut(&Step)) -> Result<BisectReport, LabError> {
    let main = Git::at(&plan.tree);
    let (good, bad) = (main.commit(&plan.good)?, main.commit(&plan.bad)?);
    LabError::make(&plan.out)?;
    let out = std::path::absolute(&plan.out).map_err(LabError::file("find", &plan.out))?;
    let worktree = out.join("worktree");
    if !worktree.join(".git").exists() {
        main.run(&["worktree", "prune"])?;
        main.run(&["worktree", "add", "--detach", "--force", &worktree.display().to_string(), &bad])?;
    }
    let git = Git::at(&worktree);
    let mut bisection = Bisection { plan, git, worktree, journal: Journal::open(&out)?, out, prove, report };
    bisection.check_ends(&good, &bad)?;
    let said = bisection.search(&good, &bad)?;
    let suspects = suspects(&said);
    let shown = match &suspects[..] {
        [one] => Some(main.run(&["log", "-1", "--stat", "--format=medium", one])?),
        _ => None,
    };
    bisection.git.run(&["bisect", "reset"])?;
    main.run(&["worktree", "remove", "--force", &bisection.worktree.display().to_string()])?;
    Ok(BisectReport { suspects, steps: bisection.journal.steps, shown })
}

struct Bisection<'a> {
    plan: &'a Bisect,
    git: Git,
    worktree: PathBuf,
    journal: Journal,
    out: PathBuf,
    prove: Prove<'a>,
    report: &'a mut dyn FnMut(&Step),
}

impl Bisection<'_> {
    /// Checks both ends, because with wrong ends a bisection would still find some commit.
    fn check_ends(&mut self, good: &str, bad: &str) -> Result<(), LabError> {
        for (commit, name, expected, wanted) in
            [(good, &self.plan.good, StepOutcome::Good, "hold"), (bad, &self.plan.bad, StepOutcome::Bad, "fail")]
        {
            let step = self.step(commit)?;
            if step.outcome != expected {
                return Err(LabError::Usage(format!(
                    "the claims should {wanted} at {name}, but the result there is: {} (run in {}); choose other ends, or another claim",
                    step.why,
                    self.run_of(commit).display()
                )));
            }
        }
        Ok(())
    }

    /// Tries commits until git reports the one sought; returns git's last output.
    fn search(&mut self, good: &str, bad: &str) -> Result<String, LabError> {
        let mut said = match self.git.is_bisecting() {
            true => self.git.run(&["bisect", "log"])?,
            false => self.git.run(&["bisect", "start", bad, good])?,
        };
        while !is_over(&said) {
            let commit = self.git.commit("HEAD")?;
            let step = self.step(&commit)?;
            let word = match step.outcome {
                StepOutcome::Good => "good",
                StepOutcome::Bad => "bad",
                StepOutcome::NotBuilt | StepOutcome::Inconclusive => "skip",
            };
            // Exit code 2 means that only skipped commits are left, which is a valid result.
            said = self.git.ask(&["bisect", word])?.1;
            if !is_over(&said) && !said.contains("Bisecting:") {
                return Err(LabError::Git { what: format!("bisect {word}"), said });
            }
        }
        Ok(said)
    }

    /// Builds and proves one commit, or reuses the result of an earlier call.
    fn step(&mut self, commit: &str) -> Result<Step, LabError> {
        if let Some(step) = self.journal.find(commit) {
            return Ok(step);
        }
        if self.git.commit("HEAD")? != commit {
            self.git.run(&["checkout", "--detach", "--quiet", commit])?;
        }
        let build = self.out.join("build");
        let log = self.out.join(format!("build-{}.log", short(commit)));
        let (outcome, why) = match self.plan.build.image(&self.worktree, &build, &log)? {
            false => (StepOutcome::NotBuilt, format!("it does not build: see {}", log.display())),
            true => {
                let run = self.run_of(commit);
                if run.exists() {
                    // Left by a call that was interrupted before it saved its result.
                    fs::remove_dir_all(&run).map_err(LabError::file("remove", &run))?;
                }
                (self.prove)(&build, &run)?
            }
        };
        let step = Step { commit: commit.to_owned(), subject: self.git.subject(commit)?, outcome, why };
        self.journal.add(step.clone())?;
        (self.report)(&step);
        Ok(step)
    }

    fn run_of(&self, commit: &str) -> PathBuf {
        self.out.join("runs").join(short(commit))
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn is_over(said: &str) -> bool {
    said.contains("is the first bad commit")
        || said.contains("first bad commit could be any of")
        || said.contains("# first bad commit: [")
}

fn suspects(said: &str) -> Vec<String> {
    let is_commit = |word: &str| word.len() >= 40 && word.chars().all(|c| c.is_ascii_hexdigit());
    let named = |line: &str| {
        let word = line.trim().strip_suffix(" is the first bad commit").unwrap_or(line.trim());
        let word = word.split("# first bad commit: [").last().and_then(|rest| rest.split(']').next()).unwrap_or(word);
        is_commit(word).then(|| word.to_owned())
    };
    let mut found: Vec<String> = Vec::new();
    let one = said.lines().filter(|l| l.contains("first bad commit")).filter_map(named).next_back();
    match one {
        Some(commit) => found.push(commit),
        None => found.extend(said.lines().filter_map(named)),
    }
    found
}

struct Journal {
    file: fs::File,
    path: PathBuf,
    steps: Vec<Step>,
    known: BTreeMap<String, usize>,
}

impl Journal {
    fn open(out: &Path) -> Result<Journal, LabError> {
        let path = out.join("steps.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let file = fs::File::options().create(true).append(true).open(&path).map_err(LabError::file("write", &path))?;
        // The step of a truncated last line is repeated.
        let steps: Vec<Step> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let known = steps.iter().enumerate().map(|(i, s)| (s.commit.clone(), i)).collect();
        Ok(Journal { file, path, steps, known })
    }

    fn find(&self, commit: &str) -> Option<Step> {
        self.known.get(commit).and_then(|i| self.steps.get(*i)).cloned()
    }

    fn add(&mut self, step: Step) -> Result<(), LabError> {
        let line = serde_json::to_string(&step).unwrap_or_default() + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(LabError::file("write", &self.path))?;
        self.known.insert(step.commit.clone(), self.steps.len());
        self.steps.push(step);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_vm::Arch;
    use std::process::Command;

    /// Creates a tree whose "kernel" is a file with the number of the commit; commits 5 and 6 do not build.
    fn tree(folder: &Path, commits: u32) {
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words);
            assert!(command.output().unwrap().status.success(), "{words:?}");
        };
        fs::create_dir_all(folder).unwrap();
        git(&["init", "-q"]);
        fs::write(folder.join("Makefile"), "bzImage:\n\t@! grep -qx '[56]' number\n\tcp number $(O)/image\n").unwrap();
        for number in 1..=commits {
            fs::write(folder.join("number"), format!("{number}\n")).unwrap();
            git(&["add", "-A"]);
            git(&["commit", "-q", "-m", &format!("commit {number}")]);
            git(&["tag", &format!("v{number}")]);
        }
    }

    fn plan(folder: &Path) -> Bisect {
        Bisect {
            tree: folder.join("tree"),
            good: "v1".into(),
            bad: "v12".into(),
            build: Build { config: None, arch: Arch::Amd64, make: vec!["CC=cc".into()], jobs: 1 },
            out: folder.join("out"),
        }
    }

    fn proved(build: &Path, first: u32) -> (StepOutcome, String) {
        let number: u32 = fs::read_to_string(build.join("image")).unwrap().trim().parse().unwrap();
        let outcome = if number >= first { StepOutcome::Bad } else { StepOutcome::Good };
        (outcome, format!("{number}"))
    }

    #[test]
    #[ignore = "live: make, git"]
    fn the_first_bad_commit_is_found_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        tree(&folder.path().join("tree"), 12);
        let plan = plan(folder.path());
        let mut reported = 0;
        let mut prove = |build: &Path, _: &Path| Ok(proved(build, 9));
        let report = bisect(&plan, &mut prove, &mut |_| reported += 1).unwrap();
        assert!(report.shown.unwrap().contains("commit 9"));
        assert_eq!(report.suspects.len(), 1);
        assert_eq!(reported, report.steps.len());
        assert!(reported <= 8, "{:?}", report.steps);
        assert!(!plan.out.join("worktree").exists());
        let branches = Command::new("git").arg("-C").arg(&plan.tree).args(["worktree", "list"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&branches.stdout).lines().count(), 1);
    }

    #[test]
    #[ignore = "live: make, git"]
    fn what_does_not_build_leaves_several_suspects() {
        let folder = tempfile::tempdir().unwrap();
        tree(&folder.path().join("tree"), 12);
        let mut prove = |build: &Path, _: &Path| Ok(proved(build, 6));
        let report = bisect(&plan(folder.path()), &mut prove, &mut |_| ()).unwrap();
        // 5 and 6 do not build and 7 is bad, so any of them can be the first bad one.
        assert_eq!(report.suspects.len(), 3, "{report:?}");
        assert!(report.shown.is_none());
    }

    #[test]
    #[ignore = "live: make, git"]
    fn it_goes_on_after_an_interruption_without_proving_twice() {
        let folder = tempfile::tempdir().unwrap();
        tree(&folder.path().join("tree"), 12);
        let plan = plan(folder.path());
        let mut left = 3;
        let mut interrupted = |build: &Path, _: &Path| {
            left -= 1;
            if left == 0 { Err(LabError::Usage("ended".into())) } else { Ok(proved(build, 9)) }
        };
        bisect(&plan, &mut interrupted, &mut |_| ()).unwrap_err();
        let mut seen = Vec::new();
        let mut prove = |build: &Path, _: &Path| {
            let (outcome, number) = proved(build, 9);
            seen.push(number.clone());
            Ok((outcome, number))
        };
        let report = bisect(&plan, &mut prove, &mut |_| ()).unwrap();
        assert!(report.shown.unwrap().contains("commit 9"));
        assert!(!seen.contains(&"1".into()) && !seen.contains(&"12".into()), "{seen:?}");
    }

    #[test]
    #[ignore = "live: make, git"]
    fn ends_that_are_not_what_they_should_be_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        tree(&folder.path().join("tree"), 12);
        let mut all_good = |_: &Path, _: &Path| Ok((StepOutcome::Good, "worst 1 µs".to_owned()));
        let error = bisect(&plan(folder.path()), &mut all_good, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("should fail at v12"), "{error}");
        let mut unknown = plan(folder.path());
        unknown.good = "nowhere".into();
        assert!(bisect(&unknown, &mut all_good, &mut |_| ()).unwrap_err().to_string().contains("no commit `nowhere`"));
    }
}
