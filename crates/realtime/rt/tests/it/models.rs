//! Compares the queue, the mailbox and the pool with simple models: the values, their order and the counts must be
//! equal.

use proptest::prelude::*;
use punctual_rt::{Block, Full, Mailbox, MailboxCounts, NotSent, Overflow, Pool, QueueCounts, Shared, queue};
use std::collections::VecDeque;

fn any_overflow() -> impl Strategy<Value = Overflow> {
    prop_oneof![Just(Overflow::Refuse), Just(Overflow::DropNewest), Just(Overflow::DropOldest)]
}

proptest! {
    #[test]
    fn a_queue_is_a_bounded_fifo(capacity in 1usize..9, refuse: bool, sends in proptest::collection::vec(any::<bool>(), 0..200)) {
        let overflow = if refuse { Overflow::Refuse } else { Overflow::DropNewest };
        let (mut sender, mut receiver) = queue(capacity, overflow).unwrap();
        let (mut model, mut counts) = (VecDeque::new(), QueueCounts::default());
        for (n, is_send) in sends.into_iter().enumerate() {
            match (is_send, model.len() == capacity) {
                (true, true) if refuse => {
                    counts.refused += 1;
                    prop_assert_eq!(sender.send(n), Err(Full(n)));
                }
                (true, true) => {
                    counts.dropped += 1;
                    prop_assert_eq!(sender.send(n), Ok(()));
                }
                (true, false) => {
                    counts.sent += 1;
                    model.push_back(n);
                    prop_assert_eq!(sender.send(n), Ok(()));
                }
                (false, _) => {
                    counts.received += u64::from(!model.is_empty());
                    prop_assert_eq!(receiver.receive(), model.pop_front());
                }
            }
            prop_assert_eq!(receiver.waiting(), model.len());
            prop_assert_eq!(sender.counts(), counts);
            prop_assert_eq!(receiver.counts(), counts);
        }
    }

    #[test]
    fn a_mailbox_is_a_bounded_fifo(capacity in 1usize..9, overflow in any_overflow(), sends in proptest::collection::vec(any::<bool>(), 0..200)) {
        let mailbox = Mailbox::new(capacity, overflow).unwrap();
        let (mut model, mut counts) = (VecDeque::new(), MailboxCounts::default());
        for (n, is_send) in sends.into_iter().enumerate() {
            if !is_send {
                counts.received += u64::from(!model.is_empty());
                prop_assert_eq!(mailbox.try_receive(), Ok(model.pop_front()));
                continue;
            }
            let is_full = model.len() == capacity;
            let expected = if is_full && overflow == Overflow::Refuse { Err(NotSent::Full(n)) } else { Ok(()) };
            prop_assert_eq!(mailbox.send(n), expected);
            match (is_full, overflow) {
                (true, Overflow::Refuse) => counts.refused += 1,
                (true, Overflow::DropNewest) => counts.dropped_newest += 1,
                _ => {
                    if is_full {
                        counts.dropped_oldest += 1;
                        model.pop_front();
                    }
                    counts.sent += 1;
                    model.push_back(n);
                }
            }
            prop_assert_eq!(mailbox.counts(), Ok(counts));
            prop_assert_eq!(counts.sent, counts.received + counts.dropped_oldest + model.len() as u64);
        }
    }

    /// Every allocated block keeps its value, whatever is allocated and freed in between.
    #[test]
    fn a_pool_hands_out_each_block_once(steps in proptest::collection::vec((any::<bool>(), 0usize..8), 0..200)) {
        let pool = Pool::<usize, 5>::new();
        let mut held: Vec<(usize, Block<'_, usize, 5>)> = Vec::new();
        let (mut peak, mut exhausted) = (0, 0);
        for (n, (is_alloc, which)) in steps.into_iter().enumerate() {
            if is_alloc {
                match pool.alloc(n) {
                    Ok(block) => held.push((n, block)),
                    Err(back) => {
                        prop_assert_eq!((back, held.len()), (n, 5));
                        exhausted += 1;
                    }
                }
            } else if which < held.len() {
                let (value, block) = held.swap_remove(which);
                prop_assert_eq!(block.into_inner(), value);
            }
            peak = peak.max(held.len() as u32);
            let counts = pool.counts();
            prop_assert_eq!((counts.used, counts.peak, counts.exhausted), (held.len() as u32, peak, exhausted));
            prop_assert!(held.iter().all(|(value, block)| value == &**block));
        }
    }

    #[test]
    fn a_shared_value_reads_back(values in proptest::collection::vec(any::<(f64, [i32; 3], bool, u64)>(), 1..20)) {
        let (mine, fd) = Shared::<(f64, [i32; 3], bool, u64)>::create("test").unwrap();
        let theirs = Shared::<(f64, [i32; 3], bool, u64)>::from_fd(&fd).unwrap();
        for value in values {
            // A new writer for each value, as after a restart.
            mine.writer().unwrap().write(&value);
            let read = theirs.read().unwrap();
            prop_assert_eq!(read.0.to_bits(), value.0.to_bits());
            prop_assert_eq!((read.1, read.2, read.3), (value.1, value.2, value.3));
        }
    }
}
