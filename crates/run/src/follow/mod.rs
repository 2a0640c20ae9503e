//! Following runs while they are recorded: a follower keeps one store up to date, and the one loop of all programs
//! polls followers, waits between polls, and returns new commits.

mod follower;
mod poll_loop;

pub use follower::{FollowChange, Follower, HOLD_BACK};
pub use poll_loop::{FollowLoop, Waiter};
