mod accounts;
mod outcomes;
mod predictions;
