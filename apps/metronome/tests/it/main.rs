mod program;
mod toggler;
