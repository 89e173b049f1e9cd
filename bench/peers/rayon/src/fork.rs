// The parts of the problems that fork.
use crate::problems::{self, Board, Product};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::join;
use rayon::slice::ParallelSliceMut;
use std::sync::atomic::{AtomicU64, Ordering};

pub fn fib(n: usize) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (one, other) = join(|| fib(n - 1), || fib(n - 2));
    one + other
}

pub fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let share = leaves / 10;
    (0..10usize).into_par_iter().with_max_len(1).map(|i| skynet(first + i as u64 * share, share)).sum()
}

pub fn nqueens(queens: Board, row: usize, n: usize) -> u64 {
    if row == n {
        return 1;
    }
    let free: Vec<usize> = (0..n).filter(|&column| problems::is_free(&queens, row, column)).collect();
    let child = |column| nqueens(problems::with_queen(queens, row, column), row + 1, n);
    free.into_par_iter().with_max_len(1).map(child).sum()
}

pub fn multiply(todo: Product) {
    if todo.side <= problems::LEAF_SIDE {
        return todo.multiply_leaf();
    }
    for inner in 0..2 {
        let part = |row, column| multiply(todo.part(row, column, inner));
        join(|| join(|| part(0, 0), || part(0, 1)), || join(|| part(1, 0), || part(1, 1)));
    }
}

pub fn quicksort(keys: &mut [u64]) {
    if keys.len() <= problems::SORT_CUT_OFF {
        return keys.sort_unstable();
    }
    let middle = problems::partition(keys);
    let (one, other) = keys.split_at_mut(middle);
    join(|| quicksort(one), || quicksort(other));
}

pub fn uts(node: u64, children: u64) -> u64 {
    if children == 0 {
        return 1;
    }
    let below = |i| {
        let (child, count) = problems::child_of(node, i as u64);
        uts(child, count)
    };
    1 + (0..children as usize).into_par_iter().with_max_len(1).map(below).sum::<u64>()
}

pub fn sort(keys: &mut [u64]) {
    keys.par_sort_unstable();
}

/// The items of `loop`.
pub fn count_rare(items: u64) -> u64 {
    let found = AtomicU64::new(0);
    (0..items).into_par_iter().filter(|&i| problems::is_rare(i)).for_each(|_| {
        found.fetch_add(1, Ordering::Relaxed);
    });
    found.into_inner()
}
