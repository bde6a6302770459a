//! Work items of workqueues: how late they start, how long they run, and which of them queue each other again and again.

use super::said::{acting, named};
use super::{Actor, LEAST, Longest, Of, On, Who, actor};
use punctual_trace::{Context, Event};
use punctual_units::Nanos;
use std::collections::{BTreeMap, HashMap};

const MOST: usize = 4096;
/// Maximum number of works that are counted as those that queue one work.
const MOST_BY: usize = 64;
/// Minimum number of times that a work must be queued by another one before both count as a loop.
const ROUNDS: u64 = 2;

/// A work that runs.
#[derive(Debug)]
struct Run {
    t: u64,
    function: String,
    who: Who,
    cpu: u32,
    /// The first work that another worker began on the same CPU meanwhile: time, worker, function.
    other: Option<(u64, Who, String)>,
}

/// What is known of a work item.
#[derive(Debug)]
struct Item {
    function: String,
    cpu: u32,
    worker: Who,
    /// True if several workers ran it.
    moved: bool,
    first: u64,
    last: u64,
    starts: u64,
    longest: u64,
    /// Longest time, ns, from the end of the worker's previous work to a start of this one.
    pause: u64,
    /// How often each work queued it while running, by address.
    by: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
pub(super) struct Works {
    /// By address: when, on which CPU and by whom it was queued.
    queued: HashMap<u64, (u64, u32, Actor)>,
    running: HashMap<u64, Run>,
    /// The work that a thread runs, and when its last one ended.
    by_thread: HashMap<i32, (Option<u64>, Option<u64>)>,
    items: BTreeMap<u64, Item>,
}

impl Works {
    /// Forgets what is in progress: lines are missing.
    pub fn forget(&mut self) {
        (self.queued, self.running, self.by_thread) = Default::default();
    }

    pub fn event(&mut self, event: &Event, name: &str, body: &str, on: On, longest: &mut Longest) {
        let Some((work, function)) = work(body) else { return };
        let t = event.t_ns;
        if self.queued.len() >= MOST || self.running.len() >= MOST || self.by_thread.len() >= MOST {
            self.forget();
        }
        match name {
            "workqueue_queue_work" => {
                let (_, context) = actor(event);
                let is_own = context.is_none_or(|context| context == Context::Task);
                let by = event.tid.filter(|_| is_own).and_then(|tid| self.by_thread.get(&tid)?.0);
                if let Some((by, item)) = by.zip(self.items.get_mut(&work))
                    && (item.by.len() < MOST_BY || item.by.contains_key(&by))
                {
                    *item.by.entry(by).or_default() += 1;
                }
                self.queued.insert(work, (t, event.cpu, actor(event)));
            }
            "workqueue_execute_start" => {
                self.start(event, work, function);
                let Some((since, from, by)) = self.queued.remove(&work) else { return };
                let (ns, from) = (t.saturating_sub(since), On(on.0.map(|_| from)));
                longest.offer(Of::Work, ns, LEAST, || {
                    let (by, here) = (acting(by), named((event.comm, event.tid)));
                    format!("work {function}, queued by {by}{from}, was started {} later by {here}{on}", Nanos(ns))
                });
            }
            "workqueue_execute_end" => {
                if let Some(tid) = event.tid {
                    self.by_thread.insert(tid, (None, Some(t)));
                }
                let Some(run) = self.running.remove(&work) else { return };
                let ns = t.saturating_sub(run.t);
                if let Some(item) = self.items.get_mut(&work) {
                    item.longest = item.longest.max(ns);
                }
                longest.offer(Of::WorkRan, ns, LEAST, || run.said(ns, (event.comm, event.tid), on));
            }
            _ => {}
        }
    }

    fn start(&mut self, event: &Event, work: u64, function: &str) {
        let (t, who) = (event.t_ns, (event.comm, event.tid));
        let before = event.tid.and_then(|tid| self.by_thread.insert(tid, (Some(work), None)));
        // Without its end: a thread runs one work at a time.
        if let Some(unended) = before.and_then(|(running, _)| running) {
            self.running.remove(&unended);
        }
        let ended = before.and_then(|(_, ended)| ended);
        for run in self.running.values_mut().filter(|run| run.cpu == event.cpu && run.who.1 != event.tid) {
            run.other.get_or_insert_with(|| (t, who, function.to_owned()));
        }
        let run = Run { t, function: function.to_owned(), who, cpu: event.cpu, other: None };
        self.running.insert(work, run);
        if self.items.len() >= MOST && !self.items.contains_key(&work) {
            return;
        }
        let item = self.items.entry(work).or_insert_with(|| Item {
            function: function.to_owned(),
            cpu: event.cpu,
            worker: who,
            moved: false,
            first: t,
            last: t,
            starts: 0,
            longest: 0,
            pause: 0,
            by: BTreeMap::new(),
        });
        if item.starts > 0 {
            // Without the end of what ran before, the pause is unknown.
            item.pause = item.pause.max(ended.map_or(u64::MAX, |ended| t.saturating_sub(ended)));
        }
        item.moved |= item.worker.1 != event.tid || item.cpu != event.cpu;
        (item.last, item.starts) = (t, item.starts + 1);
    }

    /// Describes the two works, or the one, that queue each other most often while they run.
    pub fn loops(&self, has_cpu: bool) -> Option<String> {
        let queues = |by: u64, item: &Item| item.by.get(&by).copied().unwrap_or(0);
        let pairs = self.items.iter().flat_map(|(at, item)| {
            item.by.keys().filter_map(move |by| {
                let other = self.items.get(by)?;
                Some((queues(*by, item).min(queues(*at, other)), *at, *by))
            })
        });
        let (rounds, at, by) =
            pairs.filter(|(_, at, by)| at <= by).max_by_key(|(rounds, at, by)| (*rounds, at == by))?;
        let (item, other) = (self.items.get(&at)?, self.items.get(&by)?);
        let (most, least) = if item.starts >= other.starts { (item, other) } else { (other, item) };
        (rounds >= ROUNDS && most.starts > ROUNDS).then_some(())?;
        let is_one = !item.moved && !other.moved && item.worker.1 == other.worker.1 && item.worker.1.is_some();
        let here = match is_one {
            true => format!(" in {}{}", named(item.worker), On(Some(item.cpu).filter(|_| has_cpu))),
            false => String::new(),
        };
        let pause = item.pause.max(other.pause);
        let pause = match pause {
            _ if !is_one || pause == u64::MAX => String::new(),
            0 => ", without a pause in between".to_owned(),
            pause => format!(", with pauses of at most {} in between", Nanos(pause)),
        };
        let what = match at == by {
            true => format!("work {} queues itself while it runs", item.function),
            false => format!("work {} and work {} queue each other while they run", most.function, least.function),
        };
        let every = Nanos((most.last - most.first) / (most.starts - 1).max(1));
        let (longest, other) = (Nanos(most.longest), Nanos(least.longest));
        let long = match at == by {
            true => format!("it takes {longest} at most; why it goes on is not in the trace"),
            false => format!("they take {longest} and {other} at most; why they go on is not in the trace"),
        };
        Some(format!("{what}{here}: {} started {} times, every {every}{pause}; {long}", most.function, most.starts))
    }
}

impl Run {
    fn said(&self, ns: u64, here: Who, on: On) -> String {
        let what = if self.function.is_empty() { "a work".to_owned() } else { format!("work {}", self.function) };
        let other = self.other.as_ref().filter(|_| on.0.is_some()).map(|(t, who, function)| {
            format!(
                "; {} after its start {} began work {function} on that CPU, so it had given up the CPU by then (asleep, preempted or moved)",
                Nanos(t.saturating_sub(self.t)),
                named(*who)
            )
        });
        format!("{what} took {} in {}{on}{}", Nanos(ns), named(here), other.unwrap_or_default())
    }
}

/// Parses address and function of `work struct=ee5bc404 function=f …` or `work struct ee5bc404: function f`.
fn work(body: &str) -> Option<(u64, &str)> {
    let rest = body.split_once("work struct")?.1.trim_start_matches(['=', ' ']);
    let end = rest.find([' ', ':']).unwrap_or(rest.len());
    let address = rest.get(..end)?;
    let address = u64::from_str_radix(address.strip_prefix("0x").unwrap_or(address), 16).ok()?;
    let function = rest.split_once("function").map(|(_, function)| function.trim_start_matches(['=', ' ']));
    let function = function.and_then(|function| function.split(' ').next()).unwrap_or_default();
    Some((address, bare(function)))
}

/// Returns the function's name without its offset.
fn bare(function: &str) -> &str {
    function.split(['+', '/']).next().unwrap_or_default()
}
