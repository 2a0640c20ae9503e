//! Linux, macOS and their relatives.

mod ahead;
mod dir;
mod files;
mod guard;
mod machine;
mod signals;
mod terminal;
mod writeback;

pub use ahead::will_need;
pub(crate) use dir::Dir;
pub use dir::sync_folder;
pub use files::{
    REMOVES_MAPPED, SetAside, are_same, disk_bytes, is_removed, make_private, mtime_ns,
    name_of_path, open_at_once, path_of_name, rename, rename_new, sync,
};
pub(crate) use files::{
    cut, inode, inode_of_path, is_in_use, keep_away, kind_of, read_at, write_at,
};
pub(crate) use guard::Guard;
pub(crate) use machine::host_name;
pub use machine::{available_memory, return_memory};
pub use signals::is_ignored;
pub use terminal::{Keyboard, Restored, restore_terminal};
pub use writeback::start_writing;
