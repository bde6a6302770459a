use super::sentences::{remarks, residuals};
use super::text::settings;
use super::{difference, gantt, seconds, share};
use crate::html::document;
use crate::html::write::{details, esc, figure, list, prose, table};
use crate::svg::Table;
use punctual_model::{Experiment, Repetition};

/// Formats an experiment as a self-contained HTML file without script: figures, chart and explanation of each
/// repetition.
pub fn experiment_html(experiment: &Experiment) -> String {
    let ids: Vec<String> = (1..=experiment.repetitions.len()).map(|n| format!("repetition-{n}")).collect();
    let mut sections: Vec<(&str, String, String)> = Vec::new();
    for (n, (repetition, id)) in experiment.repetitions.iter().zip(&ids).enumerate() {
        sections.push((id, format!("Repetition {}", n + 1), of_repetition(experiment, repetition, n + 1)));
    }
    sections.push(("threads", "Threads".into(), table(&planned(experiment))));
    sections.push(("notes", "Notes".into(), list("", &remarks(experiment))));
    let front = format!(
        "<header><p class=\"what\">Scheduling experiment <strong>{}</strong></p><h1 class=\"said\">{}</h1><p class=\"measured\">{}</header>\n",
        esc(&experiment.name),
        prose(&experiment.about),
        prose(&settings(experiment))
    );
    document(&format!("Scheduling experiment {}", experiment.name), &front, &sections, "")
}

fn of_repetition(experiment: &Experiment, repetition: &Repetition, number: usize) -> String {
    let chart = gantt::chart(&format!("g{number}"), experiment, repetition);
    format!(
        "{}{}{}{}",
        table(&measured(experiment, repetition)),
        list("", &residuals(experiment, repetition)),
        figure(&chart, "CPU time by thread, with the prediction below", "Spans as a table"),
        details("Where the time of each thread went, seconds", &table(&accounts(experiment, repetition)))
    )
}

fn words(head: &[&str]) -> Vec<String> {
    head.iter().map(ToString::to_string).collect()
}

fn planned(experiment: &Experiment) -> Table {
    let rows = experiment.threads.iter().map(|thread| {
        vec![
            thread.name.clone(),
            thread.scheduling.to_string(),
            thread.workload.clone(),
            thread.cpus.to_string(),
            thread.offset_ns.to_string(),
            seconds(thread.alone_ns),
            seconds(Some(thread.predicted.begins_ns)),
            seconds(thread.predicted.ends_ns),
        ]
    });
    let head = ["thread", "policy", "workload", "CPUs", "released", "alone, s", "predicted to begin, s", "to end, s"];
    Table { head: words(&head), rows: rows.collect() }
}

fn measured(experiment: &Experiment, repetition: &Repetition) -> Table {
    let rows = experiment.threads.iter().zip(&repetition.threads).map(|(planned, ran)| {
        vec![
            planned.name.clone(),
            seconds(planned.predicted.ends_ns),
            seconds(ran.as_charged.ends_ns),
            seconds(Some(ran.elapsed_ns)),
            seconds(Some(ran.workload_ns)),
            seconds(ran.taken.map(|taken| taken.steal_ns)),
            seconds(ran.taken.map(|taken| taken.others_ns)),
            difference(ran.rest_ns()),
            share(ran.rest()),
        ]
    });
    let head = [
        "thread",
        "predicted, s",
        "as charged, s",
        "elapsed, s",
        "workload, s",
        "steal, s",
        "others, s",
        "rest, s",
        "of elapsed",
    ];
    Table { head: words(&head), rows: rows.collect() }
}

fn accounts(experiment: &Experiment, repetition: &Repetition) -> Table {
    let rows = experiment.threads.iter().zip(&repetition.threads).map(|(planned, ran)| {
        let account = &ran.account;
        vec![
            planned.name.clone(),
            seconds(Some(account.run_ns)),
            seconds(account.wait_ns),
            seconds(account.blocked_ns),
            seconds(account.steal_ns),
            seconds(account.sum()),
            seconds(Some(ran.elapsed_ns)),
            seconds(account.schedstat_wait_ns),
            seconds(account.machine_steal_ns),
            ran.page_faults.map_or_else(|| "–".into(), |faults| faults.to_string()),
        ]
    });
    let head = [
        "thread",
        "run",
        "wait",
        "sleep",
        "steal",
        "together",
        "elapsed",
        "wait by schedstat",
        "steal of its CPUs",
        "page faults",
    ];
    Table { head: words(&head), rows: rows.collect() }
}
