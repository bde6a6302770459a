mod bundle;
mod cyclictest;
mod golden;
mod hostile;
mod perfetto;
mod read;
