//! Linux and its relatives.

mod ahead;
mod dir;
mod files;
mod guard;
mod machine;
mod terminal;
mod writeback;

pub use ahead::will_need;
pub(crate) use dir::Dir;
pub use files::{
    SetAside, are_same, disk_bytes, inode, is_removed, mtime_ns, open_at_once, path_of_bytes,
    permissions_of_new_files,
};
pub(crate) use files::{kind_of, read_at, write_at};
pub(crate) use guard::Guard;
pub use machine::{available_memory, ignored_signals};
pub use terminal::{Keyboard, Restored, restore_terminal};
pub use writeback::start_writing;
