mod bundle;
mod cyclictest;
mod golden;
mod hostile;
mod not_known;
mod perfetto;
mod read;
