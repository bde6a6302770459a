//! Audits this machine and prints every finding: `cargo run -p punctual-audit --example audit -- [profile]`.

use punctual_audit::{Context, Profile, audit};
use punctual_machine::{Live, Machine};
use punctual_model::Finding;
use punctual_units::{Priority, Scheduling};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let profile = std::env::args().nth(1).map(|name| name.parse()).transpose()?.unwrap_or(Profile::default());
    let machine = Live::new();
    let online = machine.read("/sys/devices/system/cpu/online");
    let cpus = online.text().ok_or("the online CPUs cannot be read")?.parse()?;
    let context = Context { scheduling: Scheduling::Fifo { priority: Priority::try_from(90)? }, cpus, profile };
    let start = std::time::Instant::now();
    let findings = audit(&machine, &context);
    let taken = start.elapsed();
    findings.iter().for_each(show);
    eprintln!("{} rules in {taken:.1?}", findings.len());
    Ok(())
}

fn show(finding: &Finding) {
    println!("{:?} {} ({:?}): {}", finding.state, finding.id, finding.severity, finding.summary);
    for evidence in &finding.evidence {
        println!("    {}: {}", evidence.source, evidence.value);
    }
    if let Some(fix) = &finding.fix {
        println!("    fix: {fix}");
    }
}
