mod back;
mod chains;
mod defaults;
mod elsewhere;
mod foreign;
mod interrupt_threads;
mod three;
