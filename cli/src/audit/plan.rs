//! Formats the plan of `audit --plan-cpus` as text.

use crate::terminal;
use punctual_audit::{CpuPlan, Movable};

pub fn text(plan: &CpuPlan, machine: &str) -> String {
    let mut out =
        format!("isolate CPU {} on {machine}, keep CPU {} for everything else\n", plan.isolated, plan.housekeeping);
    if !plan.siblings_off.is_empty() {
        out.push_str(&format!("switch off CPU {}, on the same cores\n", plan.siblings_off));
    }
    if !plan.isolated_now.is_empty() {
        out.push_str(&format!("isolated today: CPU {}\n", plan.isolated_now));
    }
    section(&mut out, "why", &plan.why);
    section(&mut out, "but", &plan.doubts);
    interrupts(&mut out, plan);
    let parameters: Vec<&str> = plan.parameters.iter().map(|parameter| parameter.text.as_str()).collect();
    out.push_str(&format!("\nat boot (kernel command line):\n  {}\n", parameters.join(" ")));
    for (name, doubt) in plan.parameters.iter().filter_map(|p| Some((&p.text, p.doubt.as_ref()?))) {
        out.push_str(&format!("  {name}: {doubt}\n"));
    }
    out.push_str("\nuntil the next boot (as root):\n");
    plan.commands.iter().for_each(|command| out.push_str(&format!("  {command}\n")));
    out.push_str(&format!("\nthen: punctual prove --cpus {}\n", plan.isolated));
    terminal::harmless(&out)
}

fn section(out: &mut String, head: &str, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        out.push_str(&format!("  {:<4} {line}\n", if at == 0 { head } else { "" }));
    }
}

fn interrupts(out: &mut String, plan: &CpuPlan) {
    if plan.interrupts.is_empty() {
        return;
    }
    out.push_str("\ninterrupts that the CPUs to isolate receive now:\n");
    for irq in &plan.interrupts {
        let how = match irq.movable {
            Movable::Yes => "can be moved",
            Movable::Managed => "the kernel keeps it on its CPU; only isolcpus=managed_irq moves it",
            Movable::LikelyManaged => "the kernel most likely keeps it on its CPU (isolcpus=managed_irq)",
        };
        out.push_str(&format!("  {:>4} {} (CPU {}, {} times): {how}\n", irq.irq, irq.device, irq.cpus, irq.count));
    }
}
