//! Names interrupt vectors: the key that their exit matches, and their names in verdicts.

use punctual_trace::Vector;
use std::hash::{DefaultHasher, Hash, Hasher};

pub(super) fn key_of(vector: &Vector) -> u64 {
    2 << 32
        | match vector {
            Vector::LocalTimer => 1,
            Vector::Reschedule => 2,
            Vector::CallFunction => 3,
            Vector::CallFunctionSingle => 4,
            Vector::IrqWork => 5,
            Vector::Other(name) => {
                let mut hasher = DefaultHasher::new();
                name.hash(&mut hasher);
                3 << 32 | hasher.finish() >> 32
            }
        }
}

pub(super) fn vector_name(vector: &Vector) -> String {
    match vector {
        Vector::LocalTimer => "local_timer".into(),
        Vector::Reschedule => "reschedule".into(),
        Vector::CallFunction => "call_function".into(),
        Vector::CallFunctionSingle => "call_function_single".into(),
        Vector::IrqWork => "irq_work".into(),
        Vector::Other(name) => name.to_string(),
    }
}
