mod between_threads;
mod deadline;
mod inversion;
mod models;
mod pipe;
mod steady;
mod tasks;
mod wakeups;
