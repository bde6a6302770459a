mod patches;
mod plans;
mod trial;
