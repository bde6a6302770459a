mod live;
mod own;
