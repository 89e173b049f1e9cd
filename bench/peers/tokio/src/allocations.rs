// What the program asks of the allocator: each call of Rust's global allocator passes by here, and goes on to malloc.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

pub struct Counted;

fn note(bytes: usize) {
    if COUNTING.load(Relaxed) {
        CALLS.fetch_add(1, Relaxed);
        BYTES.fetch_add(bytes as u64, Relaxed);
    }
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        System.alloc_zeroed(layout)
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        System.realloc(old, layout, size)
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        System.dealloc(old, layout)
    }
}

/// From now on; before, nothing is counted, and each call costs a look at a flag.
pub fn count() {
    COUNTING.store(true, Relaxed);
}

/// Calls and bytes so far.
pub fn so_far() -> (u64, u64) {
    (CALLS.load(Relaxed), BYTES.load(Relaxed))
}
