mod accounts;
mod predictions;
mod replays;
