mod back;
mod chains;
mod elsewhere;
mod interrupt_threads;
mod three;
