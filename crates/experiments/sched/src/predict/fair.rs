//! Schedules the ordinary threads of a CPU by earliest eligible virtual deadline first, as in kernel/sched/fair.c since
//! Linux
//! 6.6. I. Stoica, H. Abdel-Wahab, Earliest Eligible Virtual Deadline First, 1995.

/// Weight of a thread with nice value 0 (NICE_0_LOAD).
const UNIT: f64 = 1024.0;
/// Tolerance for rounding errors of virtual times, ns.
const NEAR: f64 = 1e-3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entity {
    pub weight: f64,
    pub vruntime: f64,
    deadline: f64,
    /// Virtual time by which the thread was behind the average when it left a queue.
    lag: f64,
    /// Virtual deadline at the time when the thread was picked. Until that deadline is reached, no other thread is
    /// picked (RUN_TO_PARITY).
    picked: f64,
}

/// Entities of a queue, with the index of each thread.
pub(super) type Queue = Vec<(usize, Entity)>;

impl Entity {
    pub fn new(weight: f64) -> Entity {
        Entity { weight, vruntime: 0.0, deadline: 0.0, lag: 0.0, picked: f64::NEG_INFINITY }
    }

    pub fn charge(&mut self, time: u64) {
        self.vruntime += time as f64 * UNIT / self.weight;
    }

    /// Starts a new request if the last one is used up: update_deadline(). Returns true if it was.
    pub fn renew(&mut self, slice: u64) -> bool {
        let over = self.vruntime >= self.deadline - NEAR;
        if over {
            self.deadline = self.vruntime + self.request(slice);
        }
        over
    }

    pub fn pick(&mut self) {
        self.picked = self.deadline;
    }

    pub fn unprotect(&mut self) {
        self.picked = f64::NEG_INFINITY;
    }

    fn request(&self, slice: u64) -> f64 {
        slice as f64 * UNIT / self.weight
    }

    /// Enters a queue: place_entity().
    pub fn place(&mut self, others: &Queue, slice: u64) {
        let (average, load) = (average(others), load(others));
        let lag = if load > 0.0 { self.lag * (load + self.weight) / load } else { 0.0 };
        self.vruntime = average - lag;
        self.deadline = self.vruntime + self.request(slice);
        self.unprotect();
    }

    /// Leaves a queue; `all` is the queue including this thread: update_entity_lag().
    pub fn leave(&mut self, all: &Queue, slice: u64, tick: u64) {
        let limit = self.request((2 * slice).max(tick));
        self.lag = (average(all) - self.vruntime).clamp(-limit, limit);
    }
}

fn load(queue: &Queue) -> f64 {
    queue.iter().map(|(_, entity)| entity.weight).sum()
}

/// Returns the weighted average of the virtual runtimes.
fn average(queue: &Queue) -> f64 {
    let sum: f64 = queue.iter().map(|(_, entity)| entity.weight * entity.vruntime).sum();
    sum / load(queue).max(f64::MIN_POSITIVE)
}

/// Returns the thread that runs next: pick_eevdf(). `current` is the running thread, if it is in the queue.
pub(super) fn pick(queue: &Queue, current: Option<usize>) -> Option<usize> {
    if let [(only, _)] = queue[..] {
        return Some(only);
    }
    let average = average(queue) + NEAR;
    let eligible = |(_, entity): &&(usize, Entity)| entity.vruntime <= average;
    let running = queue.iter().filter(eligible).find(|(n, _)| Some(*n) == current);
    if let Some((n, _)) = running.filter(|(_, entity)| entity.picked == entity.deadline) {
        return Some(*n);
    }
    let first = |a: &&(usize, Entity), b: &&(usize, Entity)| a.1.deadline.total_cmp(&b.1.deadline);
    queue.iter().filter(eligible).min_by(first).or(queue.first()).map(|(n, _)| *n)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: u64 = 3_000_000;

    /// Runs threads of these weights for `ticks` ticks of 4 ms. Returns the number of ticks for which each ran.
    fn shares(weights: &[f64], ticks: usize) -> Vec<usize> {
        let mut queue = Queue::new();
        for (n, weight) in weights.iter().enumerate() {
            let mut entity = Entity::new(*weight);
            entity.place(&queue, SLICE);
            queue.push((n, entity));
        }
        let (mut current, mut ran) = (None, vec![0; weights.len()]);
        for _ in 0..ticks {
            let next = pick(&queue, current).unwrap();
            if current != Some(next) {
                queue[next].1.pick();
            }
            current = Some(next);
            queue[next].1.charge(4_000_000);
            queue[next].1.renew(SLICE);
            ran[next] += 1;
        }
        ran
    }

    #[test]
    fn equal_threads_take_turns_and_heavier_ones_have_more() {
        assert_eq!(shares(&[1024.0, 1024.0], 100), [50, 50]);
        let unequal = shares(&[1024.0, 335.5], 400);
        assert!((299..=303).contains(&unequal[0]), "{unequal:?}");
    }

    #[test]
    fn a_request_is_not_interrupted_by_an_equal_one() {
        let (mut a, mut b) = (Entity::new(1024.0), Entity::new(1024.0));
        a.place(&Queue::new(), SLICE);
        a.pick();
        a.charge(1_000_000);
        b.place(&vec![(0, a)], SLICE);
        assert_eq!(pick(&vec![(0, a), (1, b)], Some(0)), Some(0));
        assert_eq!(pick(&vec![(0, a), (1, b)], None), Some(0), "the earlier deadline");
        a.charge(2_000_000);
        assert!(a.renew(SLICE));
        assert_eq!(pick(&vec![(0, a), (1, b)], Some(0)), Some(1));
    }

    #[test]
    fn what_a_thread_was_owed_it_is_owed_on_the_next_cpu() {
        let (mut ahead, mut behind) = (Entity::new(1024.0), Entity::new(1024.0));
        ahead.charge(4_000_000);
        behind.leave(&vec![(0, ahead), (1, behind)], SLICE, 4_000_000);
        let mut other = Entity::new(1024.0);
        other.vruntime = 50e6;
        behind.place(&vec![(2, other)], SLICE);
        assert_eq!(behind.vruntime, 46e6);
        ahead.leave(&vec![(0, ahead), (1, Entity::new(1024.0))], SLICE, 4_000_000);
        ahead.place(&Queue::new(), SLICE);
        assert_eq!(ahead.vruntime, 0.0, "alone it is the average");
    }
}
