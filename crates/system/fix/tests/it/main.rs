mod back;
mod chains;
mod defaults;
mod elsewhere;
mod interrupt_threads;
mod three;
