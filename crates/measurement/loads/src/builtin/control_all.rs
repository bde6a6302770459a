//! `control-all`: the busy loop of `control` on every CPU.

use super::{Builtin, Plan, control};
use crate::LoadError;
use crate::settings::ChildConfig;

pub(super) const LOAD: Builtin = Builtin {
    name: "control-all",
    about: "a busy loop on every CPU",
    comm: "load-control-a",
    prepare,
    ..control::LOAD
};

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let mut plan = control::plan();
    config.cpus.iter().for_each(|cpu| plan.worker(Some(cpu), control::spin));
    Ok(plan)
}
