use super::*;

#[derive(Default)]
struct Kept {
    events: Vec<Event>,
    progress: u64,
    flushes: u64,
}

impl Recorder for Kept {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
    fn progress(&mut self, _: &str, _: CpuId, _: &Cell) {
        self.progress += 1;
    }
    fn flush(&mut self) {
        self.flushes += 1;
    }
}

#[test]
fn a_short_phase_gets_one_sample_and_one_flush() {
    let kept = Arc::new(Mutex::new(Kept::default()));
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let cell = Arc::new(Cell::new(4));
    let plan = ContextPlan {
        phase: "1-idle".into(),
        cells: vec![(CpuId(0), cell)],
        tids: vec![(CpuId(0), tid)],
        housekeeping: CpuList::new(),
        load: Some(("cpu".into(), Box::new(|| 7))),
        // One hour: longer than the phase, however long this thread waits for a CPU.
        pace: Pace { interval: Nanos::from_secs(3600), ..Pace::default() },
        tick: None,
    };
    let context = Context::start(plan, kept.clone()).unwrap();
    let cost = context.finish();
    assert_eq!(cost.wakeups, 1);
    let kept = kept.lock().unwrap();
    assert_eq!((kept.progress, kept.flushes), (1, 1));
    let Some(Event::Context(sample)) = kept.events.iter().find(|e| matches!(e, Event::Context(_))) else {
        panic!("{:?}", kept.events)
    };
    assert!(sample.context_switches.is_some() && sample.cpus[0].irqs.is_some());
    assert!(kept.events.iter().any(|e| matches!(e, Event::Load { beats: 7, .. })));
}
