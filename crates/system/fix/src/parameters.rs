//! Sets kernel parameters through the machine's boot chain, permanently or for one trial boot after which the old ones
//! apply again.

use crate::plan::{BOOT_RULE, BootWish, Plan, RulePlan, boot_rule};
use crate::system::{System, is_absent};
use punctual_boot::{Chain, Change, Trial, change, detect, trial_word};
use punctual_machine::Machine;
use punctual_model::{Argv, Edit, Step};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::io;
use std::path::Path;

/// Name of the rule under which a trial boot is prepared and removed.
pub const TRIAL_RULE: &str = "boot-trial";

/// File with the words that the prepared trial adds and removes, one per line. It is removed with the other files of
/// the trial.
pub const TRIAL_FILE: &str = "/var/lib/punctual/trial";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Parameters are set in the configuration of every boot.
    ForGood,
    /// Parameters are set in an additional entry that is booted once; the default entry is unchanged.
    Trial,
}

/// A prepared trial boot, and how to return from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneBoot {
    /// Command line that boots the trial.
    #[serde(serialize_with = "line")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reboot: Argv,
    /// True if the machine returns to the old parameters without user action.
    pub unattended: bool,
    /// How the old parameters are restored, and in which cases they are not.
    pub fallback: String,
    /// How to recognise that the trial is running.
    pub visible: String,
    pub words: Vec<String>,
}

/// Serializes a command as a line for a shell.
fn line<S: Serializer>(argv: &Argv, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&argv.line())
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootNotes {
    /// Name of the boot chain, and the evidence for it; `None` if it is unknown.
    pub chain: Option<(String, Vec<String>)>,
    pub notes: Vec<String>,
    pub trial: Option<OneBoot>,
}

/// The boot chain of a machine. [`Parameters::steps`] has the form of a [`BootChain`](crate::BootChain).
pub struct Parameters<'a> {
    view: &'a dyn Machine,
    how: How,
    boot: RefCell<BootNotes>,
}

impl<'a> Parameters<'a> {
    pub fn new(view: &'a dyn Machine, how: How) -> Parameters<'a> {
        Parameters { view, how, boot: RefCell::default() }
    }

    /// Returns notes about the steps; empty until [`Parameters::steps`] has been called.
    pub fn boot_notes(&self) -> BootNotes {
        self.boot.borrow().clone()
    }

    /// # Errors
    /// Why there are no steps, and how to make the change manually if that is known.
    pub fn steps(&self, request: &BootWish) -> Result<Vec<Step>, String> {
        let wanted = Change::new(request.add.clone(), request.remove.clone()).map_err(|bad| bad.to_string())?;
        let chain = detect(self.view).map_err(|e| {
            format!("{e}; manually: set it where this machine's boot loader gets its command line from")
        })?;
        let plan = change(self.view, &chain, &wanted);
        self.tell(&chain, &plan);
        if !plan.refused.is_empty() {
            let why = |refusal: &punctual_boot::Refusal| match &refusal.by_hand {
                Some(hand) => format!("{}: {}; manually: {hand}", chain.kind.name(), refusal.why),
                None => format!("{}: {}", chain.kind.name(), refusal.why),
            };
            return Err(plan.refused.iter().map(why).collect::<Vec<_>>().join("; "));
        }
        if plan.is_done() {
            // If there is nothing to do, a note states what these files cannot show.
            if plan.notes.is_empty() {
                let note = "already configured: takes effect at the next boot unless it is already in effect";
                self.boot.borrow_mut().notes.push(note.to_owned());
            }
            return Ok(Vec::new());
        }
        match (self.how, &plan.trial) {
            (How::ForGood, _) => Ok(plan.steps()),
            (How::Trial, Some(trial)) => Ok(self.trial(&wanted, trial)),
            (How::Trial, None) => {
                let is_why = |note: &&String| note.starts_with("no trial boot: ");
                let why = plan.notes.iter().find(is_why).map_or("no trial boot", String::as_str);
                Err(format!("{}: {why}; without a trial: use --persist alone", chain.kind.name()))
            }
        }
    }

    fn tell(&self, chain: &Chain, plan: &punctual_boot::Plan) {
        let mut boot = self.boot.borrow_mut();
        boot.chain = Some((chain.kind.name().to_owned(), chain.evidence.clone()));
        boot.notes = chain.doubts.iter().chain(&plan.notes).cloned().collect();
        boot.notes.retain(|note| self.how == How::Trial || !note.starts_with("no trial boot: ") || plan.is_done());
    }

    fn trial(&self, wanted: &Change, trial: &Trial) -> Vec<Step> {
        self.boot.borrow_mut().trial = Some(OneBoot {
            reboot: trial.reboot.clone(),
            unattended: trial.unattended,
            fallback: trial.fallback.clone(),
            visible: trial.visible.clone(),
            words: trial.words.clone(),
        });
        let lines =
            |sign: char, words: &[String]| words.iter().map(|word| format!("{sign} {word}\n")).collect::<String>();
        let text = lines('+', &wanted.add) + &lines('-', &wanted.remove);
        let note = Edit { mode: Some(0o600), ..Edit::write(TRIAL_FILE, text) };
        let edits = std::iter::once(&note).chain(&trial.edits).cloned().map(Step::Edit);
        // The entry is selected last, so that until then the next boot is unchanged.
        edits.chain(trial.arm.iter().map(|run| Step::Run(run.command.clone()))).collect()
    }

    /// Gives the kernel parameters of a trial a rule name of their own, so that the trial can be removed separately.
    pub fn name(&self, plan: &mut Plan) {
        if self.how == How::Trial {
            plan.rules
                .iter_mut()
                .filter(|rule| rule.rule == BOOT_RULE)
                .for_each(|rule| rule.rule = TRIAL_RULE.to_owned());
        }
    }

    /// Adds the parameters of a trial permanently to a plan. It is needed because an audit during a running trial
    /// already sees the trial's parameters, so its findings do not request them. Other parameters that findings request
    /// were not tried, and are omitted with this reason.
    pub fn keep(&self, sys: &dyn System, plan: &mut Plan, tried: &BootWish) {
        for rule in plan.rules.iter_mut().filter(|rule| rule.rule == BOOT_RULE) {
            rule.steps.clear();
            rule.manual = vec![format!("not tried yet: {}; then use --persist --trial again", rule.summary)];
        }
        let mut kept: RulePlan = boot_rule(sys, Some(&|request| self.steps(request)), tried);
        kept.summary = format!("{}, as tried in the current boot", kept.summary);
        plan.rules.push(kept);
    }
}

/// A trial that was prepared, and then neither kept nor removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub request: BootWish,
    /// True if the running kernel was started as this trial.
    pub is_running: bool,
}

/// Returns the prepared trial; `None` if there is none. It is running if its word is in /proc/cmdline.
///
/// # Errors
/// The trial's file cannot be read or has unexpected content.
pub fn tried(sys: &dyn System) -> io::Result<Option<Tried>> {
    let nonsense = || io::Error::new(io::ErrorKind::InvalidData, "it has unexpected content");
    let text = match sys.read(Path::new(TRIAL_FILE)) {
        Err(e) if is_absent(&e) => return Ok(None),
        other => String::from_utf8(other?).map_err(|_| nonsense())?,
    };
    let mut request = BootWish::default();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("+", word)) => request.add.push(word.to_owned()),
            Some(("-", word)) => request.remove.push(word.to_owned()),
            _ => return Err(nonsense()),
        }
    }
    let wanted = Change::new(request.add.clone(), request.remove.clone()).map_err(|_| nonsense())?;
    let running = match sys.read(Path::new("/proc/cmdline")) {
        // A directory that is given in place of a machine runs no kernel.
        Err(e) if is_absent(&e) => Vec::new(),
        other => other.map_err(|e| io::Error::new(e.kind(), format!("/proc/cmdline: {e}")))?,
    };
    let word = trial_word(&wanted);
    let is_running = String::from_utf8_lossy(&running).split_whitespace().any(|other| other == word);
    Ok(Some(Tried { request, is_running }))
}
