mod accounts;
mod outcomes;
mod predictions;
mod replays;
