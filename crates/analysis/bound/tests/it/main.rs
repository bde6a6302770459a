//! Recordings with known sections, and simulated executions whose wakeup latencies are known.

mod events;
mod scenes;
mod simulated;
