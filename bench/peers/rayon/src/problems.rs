// What the cases compute, without the children: as bench/support/forkjoin_problems.hpp.

/// The sizes of problems that have exactly so many operations together, the largest that fits first. `table`: the operations of
/// a problem of size 0, 1, 2 ... What counts operations needs small problems: twice as many of them cost twice as much.
pub fn pieces(table: &[u64], mut operations: u64, counts: bool) -> Vec<usize> {
    let mut sizes = vec![];
    while operations > 0 {
        let limit = if counts { operations.min(2_000) } else { operations };
        let size = table.partition_point(|&of_size| of_size <= limit) - 1;
        operations -= table[size];
        sizes.push(size);
    }
    sizes
}

fn fib_of(n: usize) -> u64 {
    (0..n).fold((0, 1), |(one, next), _| (next, one + next)).0
}

/// A call for n, and those for n - 1 and n - 2.
pub fn fib_calls() -> Vec<u64> {
    (0..41).map(|n| 2 * fib_of(n + 1) - 1).collect()
}

pub fn check_fib(n: usize, result: u64) {
    assert_eq!(result, fib_of(n), "fib");
}

pub fn skynet_leaves() -> Vec<u64> {
    (0..9).map(|depth| 10u64.pow(depth)).collect()
}

pub fn check_skynet(depth: usize, sum: u64) {
    let leaves = 10u64.pow(depth as u32);
    assert_eq!(sum, leaves * (leaves - 1) / 2, "skynet");
}

/// The column of the queen in each row.
pub type Board = [i8; 14];

pub const QUEENS_BOARDS: [u64; 15] =
    [0, 1, 2, 5, 16, 53, 152, 551, 2_056, 8_393, 35_538, 166_925, 856_188, 4_674_889, 27_358_552];
const QUEENS_SOLUTIONS: [u64; 15] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596];

/// Whether a queen may stand there, beside those in the rows above.
pub fn is_free(queens: &Board, row: usize, column: usize) -> bool {
    queens[..row].iter().enumerate().all(|(above, &queen)| {
        let (aside, down) = (queen as i32 - column as i32, (row - above) as i32);
        aside != 0 && aside != down && aside != -down
    })
}

pub fn with_queen(mut queens: Board, row: usize, column: usize) -> Board {
    queens[row] = column as i8;
    queens
}

pub fn check_nqueens(n: usize, solutions: u64) {
    assert_eq!(solutions, QUEENS_SOLUTIONS[n], "nqueens");
}

pub const LEAF_SIDE: usize = 32;

pub fn leaf_products() -> Vec<u64> {
    (0..8).map(|cuts| 8u64.pow(cuts)).collect()
}

/// A square inside a matrix that is kept by rows.
#[derive(Clone, Copy)]
struct Square {
    at: *mut i32,
    stride: usize,
}

impl Square {
    fn quarter(self, half: usize, row: usize, column: usize) -> Square {
        Square { at: unsafe { self.at.add(row * half * self.stride + column * half) }, stride: self.stride }
    }

    unsafe fn row<'a>(self, i: usize, side: usize) -> &'a [i32] {
        std::slice::from_raw_parts(self.at.add(i * self.stride), side)
    }
}

/// To do: c += a * b. Products that run beside each other have different squares c.
#[derive(Clone, Copy)]
pub struct Product {
    a: Square,
    b: Square,
    c: Square,
    pub side: usize,
}

unsafe impl Send for Product {}
unsafe impl Sync for Product {}

impl Product {
    /// What the quarters a[row][inner] and b[inner][column] add to c[row][column].
    pub fn part(&self, row: usize, column: usize, inner: usize) -> Product {
        let half = self.side / 2;
        Product {
            a: self.a.quarter(half, row, inner),
            b: self.b.quarter(half, inner, column),
            c: self.c.quarter(half, row, column),
            side: half,
        }
    }

    pub fn multiply_leaf(&self) {
        for i in 0..self.side {
            let to = unsafe { std::slice::from_raw_parts_mut(self.c.at.add(i * self.c.stride), self.side) };
            for (k, factor) in unsafe { self.a.row(i, self.side) }.iter().enumerate() {
                let from = unsafe { self.b.row(k, self.side) };
                to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
            }
        }
    }
}

/// Two matrices of ones, and room for their product.
pub struct Matrices {
    side: usize,
    a: Vec<i32>,
    b: Vec<i32>,
    c: Vec<i32>,
}

impl Matrices {
    pub fn new(cuts: usize) -> Matrices {
        let side = LEAF_SIDE << cuts;
        Matrices { side, a: vec![1; side * side], b: vec![1; side * side], c: vec![0; side * side] }
    }

    pub fn whole(&mut self) -> Product {
        let square = |all: &mut Vec<i32>| Square { at: all.as_mut_ptr(), stride: self.side };
        Product { a: square(&mut self.a), b: square(&mut self.b), c: square(&mut self.c), side: self.side }
    }

    pub fn check(&self) {
        assert!(self.c.iter().all(|&one| one == self.side as i32), "matmul");
    }
}

/// The number at a position of the splitmix64 sequence of a seed.
fn splitmix64(seed: u64, position: u64) -> u64 {
    let mut x = seed.wrapping_add((position + 1).wrapping_mul(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

pub const SORT_CUT_OFF: usize = 2048;

/// One array of all keys, or, for what counts operations, many short ones that are alike.
pub fn arrays_of_keys(keys: u64, counts: bool) -> Vec<Vec<u64>> {
    let length = if counts { 5_000 } else { keys.max(1) };
    let array = |begin: u64| (0..length.min(keys - begin)).map(|i| splitmix64(42, i)).collect();
    (0..keys).step_by(length as usize).map(array).collect()
}

/// Hoare's partition around the median of three. How many keys the first of the two parts has; neither is empty.
pub fn partition(keys: &mut [u64]) -> usize {
    let (a, b, c) = (keys[0], keys[keys.len() / 2], keys[keys.len() - 1]);
    let pivot = a.min(b).max(a.max(b).min(c));
    let (mut left, mut right) = (0, keys.len() - 1);
    loop {
        while keys[left] < pivot {
            left += 1;
        }
        while keys[right] > pivot {
            right -= 1;
        }
        if left >= right {
            return right + 1;
        }
        keys.swap(left, right);
        left += 1;
        right -= 1;
    }
}

pub fn check_sorted(keys: &[u64]) {
    assert!(keys.windows(2).all(|pair| pair[0] <= pair[1]), "quicksort");
}

pub fn is_rare(item: u64) -> bool {
    splitmix64(42, item) < 1 << 40
}

pub fn check_rare(items: u64, found: u64) {
    match items {
        100_000_000 => assert_eq!(found, 1),
        1_000_000_000 => assert_eq!(found, 60),
        _ => (),
    }
}

pub const TREE_NODES: [u64; 4] = [1, 1_000, 344_169, 5_047_965];

/// The root of a tree, and how many children it has.
pub fn root_of(which: usize) -> (u64, u64) {
    let (seed, children) = [(0, 0), (643, 39), (10, 200), (27, 2000)][which];
    (splitmix64(seed, 0), children)
}

/// A node is the hash of its parent's and of which child it is. Four children with a probability of 0.2499, or none.
pub fn child_of(node: u64, which: u64) -> (u64, u64) {
    let child = splitmix64(node, which);
    (child, if child < 4_609_841_344_020_017_152 { 4 } else { 0 }) // 0.2499 * 2^64
}

pub fn check_uts(which: usize, nodes: u64) {
    assert_eq!(nodes, TREE_NODES[which], "uts");
}
