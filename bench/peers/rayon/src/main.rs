// QUESTION  What do the cases of the suite `forkjoin` cost with rayon?
// WHY       It is Rust's library for this, and the fastest one that Debian has.
// BASELINE  bench/forkjoin/rota.cpp, which says what one operation is. The problems are bench/support/forkjoin_problems.hpp's,
//           told again in Rust.
// READ IT   As there. A wait runs other children on the stack of the one that waits. Where there are more than two children
//           they are a parallel iterator that is cut down to single elements, so that each of them can be stolen.
mod fork;
mod problems;

use problems::{arrays_of_keys, pieces, Matrices};
use std::time::Instant;

/// What the command line asks for.
struct Job {
    case: String,
    workers: usize,
    operations: u64,
    counts: bool,
}

struct Case {
    name: &'static str,
    full: u64,
    quick: u64,
    run: fn(&Job),
}

const CASES: &[Case] = &[
    Case { name: "fib", full: 29_860_703, quick: 635_621, run: run_fib },
    Case { name: "fib_1", full: 29_860_703, quick: 635_621, run: run_fib },
    Case { name: "skynet", full: 100_000_000, quick: 1_000_000, run: run_skynet },
    Case { name: "skynet_1", full: 100_000_000, quick: 1_000_000, run: run_skynet },
    Case { name: "nqueens", full: 27_358_552, quick: 166_925, run: run_nqueens },
    Case { name: "nqueens_1", full: 27_358_552, quick: 166_925, run: run_nqueens },
    Case { name: "matmul", full: 262_144, quick: 4_096, run: run_matmul },
    Case { name: "matmul_1", full: 262_144, quick: 4_096, run: run_matmul },
    Case { name: "quicksort", full: 10_000_000, quick: 1_000_000, run: run_quicksort },
    Case { name: "uts", full: 5_047_965, quick: 344_169, run: run_uts },
    Case { name: "sort", full: 100_000_000, quick: 5_000_000, run: run_sort },
    Case { name: "loop", full: 1_000_000_000, quick: 100_000_000, run: run_loop },
];

fn run_fib(job: &Job) {
    solve(job, &problems::fib_calls(), |n| problems::check_fib(n, fork::fib(n)));
}

fn run_skynet(job: &Job) {
    solve(job, &problems::skynet_leaves(), |depth| problems::check_skynet(depth, fork::skynet(0, 10u64.pow(depth as u32))));
}

fn run_nqueens(job: &Job) {
    solve(job, &problems::QUEENS_BOARDS, |n| problems::check_nqueens(n, fork::nqueens([0; 14], 0, n)));
}

fn run_matmul(job: &Job) {
    solve(job, &problems::leaf_products(), |cuts| {
        let mut all = Matrices::new(cuts);
        fork::multiply(all.whole());
        all.check();
    });
}

fn run_uts(job: &Job) {
    solve(job, &problems::TREE_NODES, |which| {
        let (root, children) = problems::root_of(which);
        problems::check_uts(which, fork::uts(root, children));
    });
}

fn run_quicksort(job: &Job) {
    sort_by(job, fork::quicksort);
}

fn run_sort(job: &Job) {
    sort_by(job, fork::sort);
}

fn sort_by(job: &Job, sort: fn(&mut [u64])) {
    on_workers(job, || {
        sort_arrays(job.operations / 10, job.counts, sort);
        report(job, sort_arrays(job.operations, job.counts, sort));
    });
}

fn run_loop(job: &Job) {
    on_workers(job, || {
        fork::count_rare(job.operations / 10);
        let mut found = 0;
        report(job, measure(|| found = fork::count_rare(job.operations)));
        problems::check_rare(job.operations, found);
    });
}

fn sort_arrays(keys: u64, counts: bool, sort: fn(&mut [u64])) -> (f64, f64) {
    let mut arrays = arrays_of_keys(keys, counts);
    let spent = measure(|| arrays.iter_mut().for_each(|keys| sort(keys)));
    arrays.iter().for_each(|keys| problems::check_sorted(keys));
    spent
}

/// Solves problems that have as many operations as the job says, after those of the warm-up.
fn solve(job: &Job, operations: &[u64], one: fn(usize)) {
    on_workers(job, || {
        pieces(operations, job.operations / 10, job.counts).into_iter().for_each(one);
        let sizes = pieces(operations, job.operations, job.counts);
        report(job, measure(|| sizes.into_iter().for_each(one)));
    });
}

/// `uts` overflows the two megabytes that a thread has otherwise.
const STACK_BYTES: usize = 64 << 20;

fn on_workers(job: &Job, root: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.workers).stack_size(STACK_BYTES);
    pool.build().expect("a pool").install(root);
}

fn process_cpu_ns() -> f64 {
    let mut used = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let ns = |t: libc::timeval| t.tv_sec as f64 * 1e9 + t.tv_usec as f64 * 1e3;
    ns(used.ru_utime) + ns(used.ru_stime)
}

/// As bench/support/peak_memory.hpp.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).expect("a number") / 1024.0
}

/// Wall time and the process's processor time.
fn measure(work: impl FnOnce()) -> (f64, f64) {
    let (cpu, begin) = (process_cpu_ns(), Instant::now());
    work();
    (begin.elapsed().as_nanos() as f64, process_cpu_ns() - cpu)
}

fn report(job: &Job, (wall, cpu): (f64, f64)) {
    let n = job.operations as f64;
    println!(
        "{{\"case\":\"{}\",\"workers\":{},\"unit\":\"ns\",\"value\":{:.4},\"cpu_ns\":{:.4}}}",
        job.case, job.workers, wall / n, cpu / n
    );
    if !job.counts {
        println!(
            "{{\"case\":\"{}.peak\",\"workers\":{},\"unit\":\"MiB\",\"value\":{:.4}}}",
            job.case, job.workers, peak_mib()
        );
    }
}

fn misuse(what: &str) -> ! {
    eprintln!("{}", what);
    std::process::exit(2);
}

fn number(text: Option<&String>) -> u64 {
    text.and_then(|t| t.parse().ok()).filter(|&n| n > 0).unwrap_or_else(|| misuse("not a number above 0"))
}

fn parse(arguments: &[String], case: &Case) -> Job {
    let mut job = Job { case: case.name.into(), workers: 2, operations: case.full, counts: false };
    for pair in arguments.chunks(2) {
        match pair[0].as_str() {
            "--workers" => job.workers = number(pair.get(1)) as usize,
            "--scale" if pair.get(1).map(String::as_str) == Some("quick") => job.operations = case.quick,
            "--scale" => (),
            "--operations" => (job.operations, job.counts) = (number(pair.get(1)), true),
            unknown => misuse(&format!("unknown option: {}", unknown)),
        }
    }
    job
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = arguments.first().unwrap_or_else(|| misuse("CASE [--workers N] [--scale quick|full], or --list"));
    if wanted == "--list" {
        CASES.iter().for_each(|case| println!("{}", case.name));
        return;
    }
    let case = CASES.iter().find(|case| case.name == wanted);
    let case = case.unwrap_or_else(|| misuse(&format!("there is no such case: {}", wanted)));
    (case.run)(&parse(&arguments[1..], case));
}
