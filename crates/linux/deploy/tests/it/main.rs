mod injected;
mod lifecycle;
mod pi;
