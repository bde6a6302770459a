//! Turns the audit's advice into concrete steps on this machine. It only reads the machine.

mod actions;
mod boot_words;
mod commands;
mod foreign;
mod groups;
mod init;
mod persist;
mod places;
mod special;

use crate::carry::Doing;
use crate::system::System;
use places::Places;
use punctual_audit::{Context, Rules};
use punctual_machine::Machine;
use punctual_model::{Finding, Severity, State, Step};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootWish {
    /// Words to add, as written on the command line.
    pub add: Vec<String>,
    pub remove: Vec<String>,
}

impl BootWish {
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    pub fn line(&self) -> String {
        let part = |verb: &str, what: &[String]| (!what.is_empty()).then(|| format!("{verb} `{}`", what.join(" ")));
        [part("add", &self.add), part("remove", &self.remove)].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn merge(&mut self, other: &BootWish) {
        for (mine, more) in [(&mut self.add, &other.add), (&mut self.remove, &other.remove)] {
            more.iter().for_each(|word| {
                if !mine.contains(word) {
                    mine.push(word.clone());
                }
            });
        }
    }
}

/// A function that plans kernel parameters as steps of the machine's boot chain.
pub type BootChain<'a> = &'a dyn Fn(&BootWish) -> Result<Vec<Step>, String>;

/// Name of the rule under which all kernel parameters are changed.
pub const BOOT_RULE: &str = "boot-parameters";

pub struct Request<'a> {
    pub rules: &'a Rules,
    /// The machine as the audit sees it.
    pub machine: &'a dyn Machine,
    /// The same machine, through the interface that can change it.
    pub sys: &'a dyn System,
    /// Profile and CPUs of the audit.
    pub context: &'a Context,
    pub pid: Option<u32>,
    /// Rules that the user named. If empty, all rules with FAIL or WARN whose fix interrupts nothing.
    pub ids: &'a [String],
    pub persist: bool,
    /// What a user-supplied profile may change besides latency settings: kernel parameters, sysctls, paths and
    /// commands.
    pub i_know: &'a [String],
    /// Plans changes of kernel parameters; `None`: they are only advice.
    pub boot: Option<BootChain<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlan {
    pub rule: String,
    pub severity: Severity,
    pub state: State,
    pub summary: String,
    pub steps: Vec<Doing>,
    /// Steps that the user has to do, with the reasons.
    pub manual: Vec<String>,
    pub interrupts: Option<String>,
    pub risk: Option<String>,
    /// True if the finding must change at once; false if all steps take effect at the next boot or the next interrupt.
    pub is_judged: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub rules: Vec<RulePlan>,
}

/// A rule that the user named does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rule is named `{0}`: `punctual audit --all` lists them")]
pub struct UnknownRule(pub String);

impl Request<'_> {
    /// # Errors
    /// A rule that the user named does not exist.
    pub fn plan(&self, findings: &[Finding]) -> Result<Plan, UnknownRule> {
        if let Some(unknown) = self.ids.iter().find(|id| !findings.iter().any(|finding| finding.id == **id)) {
            return Err(UnknownRule(unknown.clone()));
        }
        let places = Places::new(self);
        let mut boot = ForBoot::default();
        let chosen = findings.iter().filter(|finding| self.is_chosen(finding));
        let mut rules: Vec<RulePlan> = chosen.filter_map(|finding| self.one(finding, &places, &mut boot)).collect();
        if !boot.request.is_empty() {
            let mut plan = boot_rule(self.sys, self.boot, &boot.request);
            plan.summary = format!("{} for {}", plan.summary, boot.rules.join(", "));
            plan.risk = (!boot.risks.is_empty() && !plan.steps.is_empty()).then(|| boot.risks.join("; "));
            rules.push(plan);
        }
        Ok(Plan { rules })
    }

    fn is_chosen(&self, finding: &Finding) -> bool {
        match self.ids.is_empty() {
            true => matches!(finding.state, State::Fail | State::Warn),
            false => self.ids.contains(&finding.id),
        }
    }

    fn one(&self, finding: &Finding, places: &Places, boot: &mut ForBoot) -> Option<RulePlan> {
        let rule = self.rules.get(&finding.id)?;
        let fix = rule.fix_of(finding);
        let mut plan = RulePlan {
            rule: finding.id.clone(),
            severity: finding.severity,
            state: finding.state,
            summary: finding.summary.clone(),
            steps: Vec::new(),
            manual: Vec::new(),
            interrupts: special::interrupts(&finding.id).map(str::to_owned),
            risk: fix.risk.clone(),
            is_judged: false,
        };
        if !matches!(finding.state, State::Fail | State::Warn | State::Info) {
            let state = format!("{:?}", finding.state).to_uppercase();
            plan.manual.push(format!("nothing to fix: the rule is {state}"));
            return Some(plan);
        }
        if let Some(why) = &fix.none {
            plan.manual.push(why.clone());
        }
        if fix.disruptive && plan.interrupts.is_none() {
            plan.interrupts = Some("it disturbs running programs".to_owned());
        }
        if !special::plan(self, places, &mut plan) {
            fix.now.iter().for_each(|action| actions::add(self, places, action, &mut plan));
        }
        self.leave_to_the_host(&mut plan);
        plan.is_judged = !plan.steps.is_empty() && !special::shows_later(&plan.rule);
        let mut request = BootWish::default();
        if self.persist {
            persist::add(self, places, fix, &mut plan, &mut request);
        }
        let refusal = if self.rules.is_own(&finding.id) { foreign::refusal(fix, self.i_know) } else { None };
        if let Some(why) = refusal.filter(|_| !plan.steps.is_empty() || !request.is_empty()) {
            plan.manual.insert(0, why);
            plan.steps.clear();
            request = BootWish::default();
        }
        self.hold_back(&mut plan, &mut request);
        boot.add(&plan, &request);
        (!plan.steps.is_empty() || !plan.manual.is_empty()).then_some(plan)
    }

    /// Leaves all steps of a rule to the host if one of them is impossible in a container.
    fn leave_to_the_host(&self, plan: &mut RulePlan) {
        let mount = plan.steps.iter().find_map(|step| match step {
            Doing::Value { path, .. } | Doing::Folder(path) => {
                punctual_machine::read_only_mount(self.machine, &path.to_string_lossy())
            }
            _ => None,
        });
        if let Some(mount) = mount {
            plan.steps.clear();
            plan.manual = vec![format!(
                "{mount} is mounted read-only here, as in an unprivileged container: the host has to change it"
            )];
        }
    }

    /// Holds back steps that interrupt something or need a decision, unless the user named the rule.
    fn hold_back(&self, plan: &mut RulePlan, request: &mut BootWish) {
        let stops = |step: &Doing| matches!(step, Doing::Run { .. });
        let stops = plan.steps.iter().any(stops).then_some("it stops or starts programs");
        let why = match (&plan.interrupts, special::is_for_the_asked_only(&plan.rule).or(stops)) {
            _ if self.ids.contains(&plan.rule) || plan.steps.is_empty() && request.is_empty() => return,
            (Some(what), _) => format!("applied only if named, because {what}: --fix {}", plan.rule),
            (None, Some(why)) => format!("applied only if named, because {why}: --fix {}", plan.rule),
            (None, None) => return,
        };
        plan.manual.insert(0, why);
        plan.steps.clear();
        *request = BootWish::default();
    }
}

/// Kernel parameters that rules request.
#[derive(Default)]
struct ForBoot {
    request: BootWish,
    rules: Vec<String>,
    risks: Vec<String>,
}

impl ForBoot {
    fn add(&mut self, plan: &RulePlan, request: &BootWish) {
        if request.is_empty() {
            return;
        }
        self.request.merge(request);
        self.rules.push(plan.rule.clone());
        self.risks.extend(plan.risk.as_ref().map(|risk| format!("{}: {risk}", plan.rule)));
    }
}

/// Plans the kernel parameters as a rule of their own.
pub(crate) fn boot_rule(sys: &dyn System, boot: Option<BootChain>, request: &BootWish) -> RulePlan {
    let mut plan = RulePlan {
        rule: BOOT_RULE.to_owned(),
        severity: Severity::Info,
        state: State::Info,
        summary: format!("kernel command line: {}", request.line()),
        steps: Vec::new(),
        manual: Vec::new(),
        interrupts: None,
        risk: None,
        is_judged: false,
    };
    match boot.map(|boot| boot(request)) {
        None => plan.manual.push(format!("kernel command line: {}", request.line())),
        Some(Err(why)) => plan.manual.push(format!("kernel command line: {}: {why}", request.line())),
        Some(Ok(steps)) => steps.into_iter().for_each(|step| match step {
            Step::Edit(edit) => {
                plan.steps.extend(persist::missing_folders(sys, &edit.path));
                plan.steps.push(Doing::Edit(edit));
            }
            Step::Run(command) => plan.steps.push(Doing::Run { command, lasting: true }),
            Step::Manual(what) => plan.manual.push(what),
        }),
    }
    // Without the program that generates the boot loader's configuration, changed files would have no effect.
    if let Some(why) = init::missing(sys, &plan.steps) {
        plan.steps.clear();
        plan.manual.push(format!("kernel command line: {}: {why}", request.line()));
    }
    plan
}
