mod counts;
mod csv;
