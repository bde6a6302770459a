//! Imports profiles of other programs. Each of their settings becomes a rule that checks it.
//!
//! TuneD's `tuned.conf` (https://tuned-project.org/docs/manual) and Canonical's rt-conf
//! (https://documentation.ubuntu.com/real-time/en/rt-conf/reference/rt-conf-yaml). What cannot be checked is reported
//! in a note.

mod boot;
mod request;
mod rt_conf;
mod tuned;
mod yaml;

use crate::rule::{Mistake, check};
use crate::{Profile, ProfileFileError, Rules, Today};
use request::Request;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    Profile(&'a str),
    File(&'a str),
    /// The list of online CPUs of the audited machine.
    OnlineCpus,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referred {
    pub name: String,
    pub text: String,
}

/// Looks up a reference of a profile, if the target exists. This crate opens no files itself.
pub type Lookup<'a> = dyn Fn(Reference) -> Option<Referred> + 'a;

const LARGEST: usize = 1 << 20;

const MAX: usize = 2000;

#[derive(Debug)]
struct Imported {
    base: Profile,
    description: String,
    requests: Vec<Request>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Own,
    Tuned,
    RtConf,
}

/// Detects the format by its sections or keys; profiles of this program have `extends`.
fn format(name: &str, text: &str) -> Format {
    let has = |is: &dyn Fn(&str) -> bool| text.lines().any(is);
    let is_own = has(&|line| line.starts_with("extends") || line.starts_with("[["));
    if is_own {
        Format::Own
    } else if name.ends_with(".yaml") || name.ends_with(".yml") || has(&|line| rt_conf::is_top(line)) {
        Format::RtConf
    } else if has(&|line| tuned::is_section(line)) {
        Format::Tuned
    } else {
        Format::Own
    }
}

impl Rules {
    /// Loads a user's profile: one for [`Rules::extend`], or TuneD's tuned.conf or rt-conf's YAML, whose requests
    /// become rules `tuned-…` and `rt-conf-…`. Returns the built-in profile it extends, and notes about settings that
    /// are not checked.
    ///
    /// # Errors
    /// The first error, with line and column.
    pub fn adopt(
        &mut self,
        name: &str,
        text: &str,
        today: Today,
        lookup: &Lookup,
    ) -> Result<(Profile, Vec<String>), ProfileFileError> {
        if text.len() > LARGEST {
            let message = "is larger than the limit for profiles, 1 MiB".to_owned();
            return Err(ProfileFileError { file: name.to_owned(), line: 1, column: 1, message });
        }
        let (imported, prefix) = match format(name, text) {
            Format::Own => return self.extend(name, text, today).map(|base| (base, Vec::new())),
            Format::Tuned => (tuned::import(name, text, lookup)?, "tuned"),
            Format::RtConf => (rt_conf::import(name, text)?, "rt-conf"),
        };
        let Imported { base, description, requests, mut notes } = imported;
        self.sources.insert(SOURCE.to_owned(), format!("the profile {name}"));
        let dropped = requests.len().saturating_sub(MAX);
        if dropped > 0 {
            notes.push(format!("{dropped} settings beyond the first {MAX} are not checked"));
        }
        for request in requests.into_iter().take(MAX) {
            self.add_request(request, prefix, &mut notes);
        }
        if !notes.is_empty()
            && let Some(rule) = request::unchecked(prefix, name, &notes)
        {
            self.rules.push(rule);
        }
        self.describe_own(description, today);
        Ok((base, notes))
    }

    fn add_request(&mut self, request: Request, prefix: &str, notes: &mut Vec<String>) {
        let mut id = request.id(prefix);
        let taken = |id: &str| self.get(id).is_some();
        if taken(&id) {
            let free = (2..).map(|n| format!("{id}-{n}")).find(|id| !taken(id));
            id = free.unwrap_or(id);
        }
        let what = request.what.clone();
        let rule = request.into_rule(id).and_then(|rule| {
            let checked = check(&rule, &self.sources, &self.commons);
            checked.map(|()| rule).map_err(|Mistake { message, .. }| message)
        });
        match rule {
            Ok(rule) => {
                self.own_ids.insert(rule.id.clone());
                self.rules.push(rule);
            }
            Err(why) => notes.push(format!("{what}: {why}")),
        }
    }
}

pub(crate) const SOURCE: &str = "PROFILE";

#[cfg(test)]
mod tests;
