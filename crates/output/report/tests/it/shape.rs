//! Properties of every report: bounded, self-contained, deterministic, complete.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use punctual_model::{AppValue, Application, BlockMaximum, Distribution, Event, Phase, Recording, Verdict, WindowMax};
use punctual_report::{Place, SUMMARY_LINES, TextStyle, application_text, html, summary, text, words};
use punctual_testing::runs;
use punctual_units::{CpuId, Histogram, Nanos, Scheduling};
use sha2::{Digest, Sha256};

#[test]
fn eight_loads_on_64_cpus_fit_a_megabyte() {
    let (recording, verdict) = runs::crowd();
    let page = html(&recording, &verdict, "run");
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert_eq!(page, html(&recording, &verdict, "run"));
}

/// The quantities of an application are measured at the same time, and its maxima over time are those of one thread.
#[test]
fn an_application_has_each_load_once_over_time_and_the_axis_of_its_responses() {
    let (mut recording, verdict) = runs::good();
    recording.application = Some(Application { program: "./two".into(), ..Application::default() });
    recording.run.phases.truncate(1);
    let first = &mut recording.run.phases[0];
    first.value = Some(AppValue::Response("fast".into()));
    let (id, start, end) = (first.id.clone(), first.start_mono_ns.unwrap(), first.end_mono_ns.unwrap());
    let more = [AppValue::Jitter("fast".into()), AppValue::Response("slow".into())];
    let more = more.map(|value| Phase { id: format!("1-{value}"), value: Some(value), ..first.clone() });
    recording.run.phases.extend(more);
    // A jitter of 1 ns is no reason to start the axis of the response times there.
    let mut small = Histogram::new();
    small.record(1);
    let small = Distribution { raw: small, skipped: Histogram::new() };
    recording.distributions.insert((recording.run.phases[1].id.clone(), CpuId(0)), small);
    recording.events.retain(|event| !matches!(event, Event::Window(_)));
    let window = |mono_ns| {
        let max_ns = vec![(CpuId(0), 870_000)];
        Event::Window(WindowMax { mono_ns, interval_ns: 1_000_000_000, phase: id.clone(), max_ns })
    };
    recording.events.extend((start + 1_000_000_000..end).step_by(1_000_000_000).map(window));
    let page = html(&recording, &verdict, "run");
    assert!(page.contains("response(fast): max\u{a0}870\u{a0}µs") || page.contains("response(fast): max 870\u{a0}µs"));
    let at = page.find("since the first recorded release").unwrap();
    let over_time = &page[page[..at].rfind("<svg").unwrap()..];
    let over_time = &over_time[..over_time.find("</svg>").unwrap()];
    assert_eq!(over_time.matches("class=\"phase ").count(), 1, "{over_time}");
    let all = page.split("Wakeup latency under all loads").nth(1).unwrap();
    assert!(!all[..all.find("</svg>").unwrap()].contains(">1 ns<"));
    assert!(over_time.contains("µs</text>") && !over_time.contains(">1000000</text>"), "{over_time}");
}

#[test]
fn a_period_that_was_not_found_is_unknown_if_events_were_lost() {
    let thread = serde_json::json!({
        "name": "control", "tid": 7, "pid": 7, "scheduling": Scheduling::Other { nice: 0 }, "release": "futex",
        "call": "futex(2)", "period_ns": null, "phase_ns": null, "jitter_ns": null, "ambiguous_with": null
    });
    let threads = vec![serde_json::from_value(thread).unwrap()];
    let mut application = Application { program: "./plc".into(), threads, ..Application::default() };
    let said = |application: &Application| application_text(application, &TextStyle { color: false, width: 200 });
    assert!(said(&application).contains("in futex(2), no period"), "{}", said(&application));
    application.lost_events = 1;
    assert!(
        said(&application).contains("in futex(2), period unknown because events were lost"),
        "{}",
        said(&application)
    );
}

#[test]
fn a_week_of_seconds_keeps_its_maximum_and_stays_small() {
    let (mut recording, verdict) = runs::good();
    let phase = &mut recording.run.phases[0];
    let (start, seconds) = (phase.start_mono_ns.unwrap(), 100_000u64);
    phase.end_mono_ns = Some(start + seconds * 1_000_000_000);
    recording.run.phases.truncate(1);
    recording.events.clear();
    for second in 1..=seconds {
        let worst = if second == 77_777 { 987_654_321 } else { 5_000 + second % 700 };
        recording.events.push(Event::Window(WindowMax {
            mono_ns: start + second * 1_000_000_000,
            interval_ns: 1_000_000_000,
            phase: "1-idle".into(),
            max_ns: (0..4).map(|cpu| (CpuId(cpu), worst)).collect(),
        }));
    }
    let page = html(&recording, &verdict, "run");
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert!(page.contains("CPU 0: max\u{a0}988\u{a0}ms") || page.contains("CPU 0: max 988\u{a0}ms"));
}

/// Returns a run with `n` blocks of 5 minutes on each of two CPUs, and the start of another one.
fn with_blocks(n: u64) -> (Recording, punctual_model::Verdict) {
    let (mut recording, verdict) = runs::good();
    let start = recording.run.phases[0].start_mono_ns.unwrap_or(0);
    let length = Nanos::from_secs(300);
    recording.run.settings.maxima_block_ns = Some(length);
    for block in 0..=n {
        let from = start + block * length.0;
        let whole = if block == n { length.0 / 2 } else { length.0 };
        recording.maxima.extend((0..2).map(|cpu| BlockMaximum {
            phase: "1-idle".into(),
            cpu: CpuId(cpu),
            from_mono_ns: from,
            to_mono_ns: from + whole,
            max_ns: (block != 1 || cpu == 1).then_some(10_000 * (block + 1) + u64::from(cpu)),
        }));
    }
    (recording, verdict)
}

#[test]
fn maxima_of_three_blocks_are_drawn_and_of_fewer_are_not() {
    for (n, shown) in [(0, false), (2, false), (3, true), (2_000, true)] {
        let (recording, verdict) = with_blocks(n);
        let (page, plain) = (html(&recording, &verdict, "run"), text(&recording, &verdict, TextStyle::default()));
        assert_eq!(page.contains("maxima-chart"), shown, "{n}");
        assert_eq!(plain.contains("blocks of 5 min"), shown, "{n}: {plain}");
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.len() < 400_000, "{}", page.len());
    }
    let sentence = words::maxima(&with_blocks(3).0).unwrap();
    assert!(
        sentence.starts_with("The largest latencies of 6 blocks of 5 min range from 10.0 µs to 30.0 µs"),
        "{sentence}"
    );
    assert!(sentence.ends_with("In 1 of them the thread never woke."), "{sentence}");
    let document = serde_json::to_value(punctual_report::json(&with_blocks(3).0, &with_blocks(3).1)).unwrap();
    assert_eq!(document["maxima"]["block_ns"], 300_000_000_000u64);
    assert_eq!(document["maxima"]["blocks"].as_array().unwrap().len(), 8);
    assert!(document["maxima"]["blocks"][2]["max_ns"].is_null());
}

#[test]
fn the_page_is_well_formed_where_it_matters() {
    for (recording, verdict) in [
        runs::good(),
        runs::failing(),
        runs::inconclusive(),
        runs::empty(),
        runs::damaged(),
        runs::crowd(),
        runs::explained(),
    ] {
        let page = html(&recording, &verdict, "run");
        let page = page.split("<script>").next().unwrap();
        for tag in ["svg", "table", "details", "section", "figure", "div", "dl", "ul", "text", "title", "p1", "g"] {
            let (opened, closed) =
                (page.matches(&format!("<{tag}")).count(), page.matches(&format!("</{tag}>")).count());
            let opened = if ["text", "g"].contains(&tag) { page.matches(&format!("<{tag} ")).count() } else { opened };
            assert_eq!(opened, closed, "{tag}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf\""));
        let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|p| p.split('"').next()).collect();
        let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{ids:?}");
        let charts = page.matches("<svg role=\"img\"").count();
        assert_eq!(charts, page.matches("<desc ").count());
    }
}

#[test]
fn a_day_fits_a_megabyte_and_the_script_is_the_one_of_the_policy() {
    let (recording, verdict) = crate::samples::day();
    let page = html(&recording, &verdict, "run");
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let (recording, verdict) = runs::explained();
    let page = html(&recording, &verdict, "run");
    assert!(page.len() < 400_000, "{} bytes", page.len());
    let script = page.rsplit_once("<script>").unwrap().1.split("</script>").next().unwrap();
    let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
    assert!(page.contains(&format!("script-src 'sha256-{hash}'")), "{hash}");
}

#[test]
fn words_that_must_not_appear_do_not() {
    for (recording, verdict) in
        [runs::good(), runs::failing(), runs::inconclusive(), runs::damaged(), runs::explained()]
    {
        let all = html(&recording, &verdict, "run") + &text(&recording, &verdict, TextStyle::default());
        assert!(!all.to_lowercase().contains("jitter") && !all.contains("WCET"));
    }
}

#[test]
fn the_verdict_comes_first_and_reads_the_same_everywhere() {
    for (recording, verdict) in [runs::good(), runs::failing(), runs::inconclusive()] {
        let headline = words::headline(&recording, &verdict);
        let summary = text(&recording, &verdict, TextStyle { color: false, width: 1_000 });
        assert_eq!(summary.lines().next().unwrap(), format!("{}  {}", headline.word, headline.sentence));
        let page = html(&recording, &verdict, "run");
        assert!(page.find(&format!("<h1>{}</h1>", headline.word)) < page.find("<table"));
    }
}

#[test]
fn only_the_claim_on_misses_needs_no_figures() {
    let (recording, _) = runs::good();
    let verdict = runs::verdict(&recording, &["missed = 0"]);
    let headline = words::headline(&recording, &verdict);
    let said = "every wakeup in 480,000 was on time: worst 66.7 µs (CPU 3 under `all`), 0 periods missed; not refuted";
    assert!(headline.sentence.starts_with(said), "{}", headline.sentence);
}

#[test]
fn other_programs_during_idle_are_a_warning() {
    let (mut recording, verdict) = runs::good();
    for (share, is_said) in [(0.37, true), (0.02, false)] {
        recording.run.phases[0].busy_with_others = Some(share);
        let summary = summary(&recording, &verdict, Place::default(), TextStyle { color: false, width: 1_000 });
        let said = "! While idle, other programs used 37 % of the measured CPUs' time: `idle` was not idle.";
        assert_eq!(summary.contains(said), is_said, "{summary}");
    }
}

#[test]
fn everything_fits_eighty_columns() {
    for (recording, verdict) in [runs::good(), runs::failing(), runs::damaged(), runs::crowd(), runs::explained()] {
        for line in text(&recording, &verdict, TextStyle::default()).lines() {
            assert!(line.chars().count() <= 80 && !line.ends_with('…'), "{line}");
        }
    }
}

/// Checks that from a width of 80 columns on, the verdict is both first and last, and every line fits the width.
fn assert_one_screen(recording: &Recording, verdict: &Verdict) {
    let place = Place { run: "runs/2026-11-26", page: Some("runs/2026-11-26/report.html") };
    for width in [80, 100, 200] {
        let summary = summary(recording, verdict, place, TextStyle { color: false, width });
        let lines: Vec<&str> = summary.lines().collect();
        assert!(lines.len() <= SUMMARY_LINES, "{} lines:\n{summary}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{summary}");
        let word = words::headline(recording, verdict).word;
        assert!(lines[0].starts_with(word) && lines[lines.len() - 1].starts_with(word), "{summary}");
    }
}

#[test]
fn a_summary_is_one_screen_of_any_run() {
    let mut all = vec![runs::good(), runs::failing(), runs::inconclusive(), runs::empty(), runs::damaged()];
    all.extend([
        runs::crowd(),
        runs::explained(),
        runs::hostile(runs::HOSTILE),
        runs::hostile_explained(runs::HOSTILE),
    ]);
    all.extend(["", "x", &"long ".repeat(400), &"unbroken".repeat(200)].map(runs::hostile));
    all.iter().for_each(|(recording, verdict)| assert_one_screen(recording, verdict));
}

/// Returns a number of any size, often an edge case.
fn figure() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 0u64..1_000, 1_000u64..10_000_000, any::<u64>()]
}

fn disturb(recording: &mut Recording, take: &mut impl FnMut() -> u64) {
    for phase in &mut recording.run.phases {
        (phase.start_mono_ns, phase.end_mono_ns) = (Some(take()), Some(take()));
        let result = &mut phase.cpus[0];
        (result.released, result.skipped, result.max_ns, result.page_faults) =
            (Some(take()), Some(take()), Some(take()), Some(take()));
    }
    for worst in &mut recording.worst {
        (worst.release_mono_ns, worst.latency_ns, worst.skipped, worst.cycle) = (take(), take(), take(), take());
    }
    for event in &mut recording.events {
        match event {
            Event::Window(w) => (w.mono_ns, w.interval_ns, w.max_ns[0].1) = (take(), take(), take()),
            Event::Context(c) => (c.mono_ns, c.interval_ns, c.cpus[0].steal_ns) = (take(), take(), Some(take())),
            Event::Suspend { asleep_ns, .. } => *asleep_ns = take(),
            Event::ClockStep { step_ns, .. } => *step_ns = take() as i64,
            Event::Frequency { khz, .. } => khz[0].1 = take(),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_figures_are_answered(
        figures in proptest::collection::vec(figure(), 24),
        counts in proptest::collection::vec((figure(), 1u64..1_000_000), 0..6),
    ) {
        let (mut recording, mut verdict) = runs::damaged();
        let mut next = figures.iter().copied().cycle();
        let mut take = || next.next().unwrap();
        let of = |part: &[(u64, u64)]| {
            let mut histogram = Histogram::new();
            part.iter().for_each(|(ns, n)| histogram.record_n(*ns, *n));
            histogram
        };
        for distribution in recording.distributions.values_mut() {
            let (raw, skipped) = counts.split_at(counts.len() / 2);
            *distribution = Distribution { raw: of(raw), skipped: of(skipped) };
        }
        disturb(&mut recording, &mut take);
        recording.run.settings.period_ns = Some(Nanos(take()));
        recording.run.started.iter_mut().for_each(|s| s.real_ns = take());
        for cell in verdict.claims.iter_mut().flat_map(|c| &mut c.cells) {
            (cell.samples, cell.effective_samples, cell.max_ns) = (take(), take() as f64, Some(take()));
            (cell.p_beyond_max, cell.upper) = (Some(f64::NAN), Some(f64::INFINITY));
        }
        let page = html(&recording, &verdict, "run");
        prop_assert!(page.len() < 1_000_000 && !page.contains("=\"NaN") && !page.contains("=\"inf"));
        text(&recording, &verdict, TextStyle::default());
        assert_one_screen(&recording, &verdict);
        punctual_report::json_text(&punctual_report::json(&recording, &verdict));
        punctual_report::csv(&recording);
    }
}

#[test]
fn virtual_time_is_said_in_every_format() {
    let (mut recording, verdict) = runs::good();
    assert!(punctual_report::csv(&recording).lines().nth(1).unwrap().starts_with("real,"));
    recording.run.virtual_time = Some(punctual_model::VirtualTime {
        emulator: "QEMU 7.2.22".into(),
        machine: "raspi3b".into(),
        kernel: "6.12.111-rt".into(),
        instruction_ns: 2,
        cpus: 1,
        seed: 7,
    });
    let text = punctual_report::text(&recording, &verdict, punctual_report::TextStyle::default());
    assert!(text.starts_with("HELD  in virtual time, "), "{text}");
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("! Virtual time: the machine `raspi3b` is emulated by QEMU 7.2.22"), "{text}");
    let html = punctual_report::html(&recording, &verdict, "run");
    for said in [
        "<title>HELD: wakeup latency in virtual time of",
        "Wakeup latency in virtual time of",
        "<dt>Virtual time<dd>QEMU",
    ] {
        assert!(html.contains(said), "{said}");
    }
    let json = serde_json::to_value(punctual_report::json(&recording, &verdict)).unwrap();
    assert_eq!(json["run"]["clock"], "virtual");
    assert_eq!(json["run"]["virtual_time"]["instruction_ns"], 2);
    assert!(json["verdict"]["headline"].as_str().unwrap().contains("in virtual time"));
    assert!(punctual_report::csv(&recording).lines().skip(1).all(|line| line.starts_with("virtual,")));
}
