mod adapter;
mod exact;
mod posix;
