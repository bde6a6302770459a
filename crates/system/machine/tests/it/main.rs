mod live;
mod recorded;
