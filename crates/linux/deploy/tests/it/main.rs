mod lifecycle;
mod pi;
mod planted;
