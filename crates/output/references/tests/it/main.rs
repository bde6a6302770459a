mod check;
mod data;
