//! A column file cut short, or its device failing, under a mapping: the kernel sends SIGBUS to
//! whoever reads the missing page, and the process would end.
//!
//! While a scan runs, and only then, the mappings that it reads are guarded: the handler puts a page
//! of zeros in the missing page's place, so that the scan goes on to its end, and remembers that it
//! did; the answer is thrown away. A signal for any other address goes to whoever handled it
//! before. Views handed to others are never guarded: zeros there would be wrong numbers.
#![expect(unsafe_code, reason = "signal handlers and the mapping of a page are system calls")]

use std::{
    io,
    mem::MaybeUninit,
    ptr,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Mappings that can be guarded at once: two a scan.
const SLOTS: usize = 256;

/// An address range under guard; empty when the slot is free.
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    hit: AtomicBool,
}

static SLOT_TABLE: [Slot; SLOTS] = [const {
    Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), hit: AtomicBool::new(false) }
}; SLOTS];
/// Serialises who takes and frees slots; the handler only reads them.
static SLOT_OWNERS: Mutex<()> = Mutex::new(());
/// What handled SIGBUS before, and whether ours could be installed.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Ranges under guard, until dropped.
pub(crate) struct Guard {
    slots: Vec<usize>,
}

impl Guard {
    /// Guards the pages of these bytes. Where the handler cannot be installed or all slots are
    /// taken, nothing is guarded: the scan runs as it would without.
    pub(crate) fn arm<'a>(ranges: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut slots = Vec::new();
        if install().is_some() {
            let owners = SLOT_OWNERS.lock();
            for range in ranges.into_iter().filter(|range| !range.is_empty()) {
                let is_free = |slot: &&Slot| slot.end.load(Ordering::SeqCst) == 0;
                let Some(index) = SLOT_TABLE.iter().position(|slot| is_free(&slot)) else { break };
                let slot = &SLOT_TABLE[index];
                let start = range.as_ptr().addr();
                slot.hit.store(false, Ordering::SeqCst);
                slot.start.store(start, Ordering::SeqCst);
                slot.end.store(start + range.len(), Ordering::SeqCst);
                slots.push(index);
            }
            drop(owners);
        }
        Self { slots }
    }

    /// Whether a guarded page was missing since the guard was armed.
    pub(crate) fn was_hit(&self) -> bool {
        self.slots.iter().any(|&slot| SLOT_TABLE[slot].hit.load(Ordering::SeqCst))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _owners = SLOT_OWNERS.lock();
        for &slot in &self.slots {
            SLOT_TABLE[slot].end.store(0, Ordering::SeqCst);
            SLOT_TABLE[slot].start.store(0, Ordering::SeqCst);
        }
    }
}

/// Installs the handler once a process; nothing when the system refuses.
fn install() -> Option<()> {
    let before = BEFORE.get_or_init(|| {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: all zeros are a valid `sigaction`: the default action, no flags, an empty mask.
        let ours = unsafe { action.assume_init_mut() };
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        ours.sa_sigaction = handle as *const () as usize;
        // SAFETY: both pointers lead to a `sigaction` of ours; `handle` has the signature that
        // SA_SIGINFO asks for, and calls only what may be called in a handler.
        let done = unsafe { libc::sigaction(libc::SIGBUS, action.as_ptr(), before.as_mut_ptr()) };
        // SAFETY: zeroed above, and filled in by the call when it succeeds.
        (done == 0).then(|| unsafe { before.assume_init() })
    });
    before.as_ref().map(|_| ())
}

/// The handler: a page of zeros under a guarded address, the handler before for any other.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a filled-in `siginfo_t` to a handler installed with SA_SIGINFO.
    let info_ref = unsafe { &*info };
    // SAFETY: SIGBUS carries an address.
    let address = unsafe { info_ref.si_addr() }.addr();
    for slot in &SLOT_TABLE {
        let (start, end) = (slot.start.load(Ordering::SeqCst), slot.end.load(Ordering::SeqCst));
        if address >= start && address < end && put_zeros(address) {
            slot.hit.store(true, Ordering::SeqCst);
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

/// Does what would have been done without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(Some(before)) = BEFORE.get() else { return };
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

/// The error that a scan over a missing page ends with.
pub(crate) fn missing_page() -> io::Error {
    io::Error::other("a part of it could not be read: it was cut short, or its device failed")
}
