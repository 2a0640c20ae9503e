//! A column file that is cut, or whose device fails, while it is mapped: the kernel sends SIGBUS to the thread that
//! reads a missing page, and the process would end.
//!
//! While a scan runs, and only then, the mappings that it reads are guarded: the handler puts a page of zeros in the
//! missing page's place, so that the scan runs to its end, and remembers that it did; the answer is discarded. A signal
//! for any other address goes to the earlier handler. Views handed to others are never guarded: zeros there would be
//! wrong numbers.
#![expect(unsafe_code, reason = "signal handlers and the mapping of a page are system calls")]

use std::{
    mem::MaybeUninit,
    process, ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::SeqCst},
};

use crate::os::unix::signals::action_of;

/// Mappings that can be guarded at once: one for each file of rows that a scan has, two to five.
const SLOTS: usize = 256;

/// An address range under guard. There are no locks: a fork would leave them locked in the child for ever.
/// Columns that scans of the parent guarded when it forked are not guarded in the child, which does not run
/// these scans.
struct Slot {
    /// The process that took the slot; zero when it is free.
    owner: AtomicU32,
    /// The same as `owner` once `start` and `end` are set. The handler uses the range only then.
    armed: AtomicU32,
    start: AtomicUsize,
    end: AtomicUsize,
    hit: AtomicBool,
}

static SLOT_TABLE: [Slot; SLOTS] = [const {
    Slot {
        owner: AtomicU32::new(0),
        armed: AtomicU32::new(0),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        hit: AtomicBool::new(false),
    }
}; SLOTS];
/// The earlier handler of SIGBUS; null before ours was installed.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());
/// Whether ours is installed.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Ranges under guard, until dropped.
pub(crate) struct Guard {
    slots: Vec<&'static Slot>,
}

impl Guard {
    /// Guards the pages of these bytes. Where the handler cannot be installed or all slots are
    /// taken, nothing is guarded: the scan runs as it would without.
    pub(crate) fn arm<'a>(ranges: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut slots = Vec::new();
        if install() {
            let ranges = ranges.into_iter().filter(|range| !range.is_empty());
            slots.extend(ranges.map_while(Slot::take));
        }
        Self { slots }
    }

    /// Whether a guarded page was missing since the guard was armed.
    pub(crate) fn was_hit(&self) -> bool {
        self.slots.iter().any(|slot| slot.hit.load(SeqCst))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        for slot in &self.slots {
            slot.armed.store(0, SeqCst);
            slot.owner.store(0, SeqCst);
        }
    }
}

impl Slot {
    /// A slot that guards these bytes. One of another process is free: its owner is the parent of this one.
    fn take(range: &[u8]) -> Option<&'static Self> {
        let own = process::id();
        let is_taken = |slot: &&Self| {
            let owner = slot.owner.load(SeqCst);
            owner != own && slot.owner.compare_exchange(owner, own, SeqCst, SeqCst).is_ok()
        };
        let slot = SLOT_TABLE.iter().find(is_taken)?;
        let start = range.as_ptr().addr();
        slot.hit.store(false, SeqCst);
        slot.start.store(start, SeqCst);
        slot.end.store(start + range.len(), SeqCst);
        slot.armed.store(own, SeqCst);
        Some(slot)
    }

    fn guards(&self, address: usize) -> bool {
        self.armed.load(SeqCst) == process::id()
            && (self.start.load(SeqCst)..self.end.load(SeqCst)).contains(&address)
    }
}

/// Installs the handler once in a process. Returns `false` if the system refuses. The earlier handler is saved before
/// ours is installed, so that a second thread or a forked child finds one of the two.
fn install() -> bool {
    if IS_INSTALLED.load(SeqCst) {
        return true;
    }
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros are a valid `sigaction`: the default action, no flags, an empty mask.
    let ours = unsafe { action.assume_init_mut() };
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    ours.sa_sigaction = handle as *const () as usize;
    let Some(before) = action_of(libc::SIGBUS) else { return false };
    if before.sa_sigaction != ours.sa_sigaction {
        let before = Box::into_raw(Box::new(before));
        if BEFORE.compare_exchange(ptr::null_mut(), before, SeqCst, SeqCst).is_err() {
            // SAFETY: made above, and nobody has seen it.
            drop(unsafe { Box::from_raw(before) });
        }
        // SAFETY: both pointers may be as they are here; `handle` has the signature that SA_SIGINFO asks
        // for, and calls only what may be called in a handler.
        if unsafe { libc::sigaction(libc::SIGBUS, action.as_ptr(), ptr::null_mut()) } != 0 {
            return false;
        }
    }
    IS_INSTALLED.store(true, SeqCst);
    true
}

/// Handles SIGBUS: maps a page of zeros at a guarded address, and calls the earlier handler for any other address.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a filled-in `siginfo_t` to a handler installed with SA_SIGINFO.
    let info_ref = unsafe { &*info };
    // SAFETY: SIGBUS carries an address.
    let address = unsafe { info_ref.si_addr() }.addr();
    for slot in &SLOT_TABLE {
        if slot.guards(address) && put_zeros(address) {
            slot.hit.store(true, SeqCst);
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Maps zeros over the page of `address`.
fn put_zeros(address: usize) -> bool {
    // SAFETY: a plain question to the system, allowed in handlers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else { return false };
    let start = ptr::with_exposed_provenance_mut(address & !(page - 1));
    // SAFETY: the page lies in a mapping that a guard holds alive, is read-only, and held nothing
    // that could be read; the system call does not allocate and may be made in a handler.
    let mapped = unsafe {
        libc::mmap(
            start,
            page,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// Hands the signal to the earlier handler, or to the default action.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: null, or what `install` made and never takes back.
    let Some(before) = (unsafe { BEFORE.load(SeqCst).as_ref() }) else { return };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The instruction is tried again after the return, and meets the default action: an
            // ignored SIGBUS of a missing page ends the process, too.
            // SAFETY: restores what the system itself handed out.
            unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: an address installed with SA_SIGINFO is a function of this signature.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: an address installed without SA_SIGINFO is a function of this signature.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
