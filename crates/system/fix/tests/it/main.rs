mod back;
mod chains;
mod damage;
mod defaults;
mod elsewhere;
mod foreign;
mod interrupt_threads;
mod three;
