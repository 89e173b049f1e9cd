// The cases of bench/pool/rota.cpp: spawn_blocking on as many threads; coroutines are tasks, which run on the workers.
use crate::{report, report_value, Case, Job, Stretch};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

pub const CASES: &[Case] = &[
    Case { name: "submit_outside", full: 1_000_000, quick: 200_000, run: |job| loaded(job, from_outside) },
    Case { name: "submit_outside_4", full: 1_000_000, quick: 200_000, run: |job| loaded(job, from_outside_4) },
    Case { name: "submit_inside", full: 1_000_000, quick: 200_000, run: |job| loaded(job, from_inside) },
    Case { name: "submit_inside_alone", full: 1_000_000, quick: 200_000, run: |job| loaded(job, from_inside) },
    Case { name: "submit_wait", full: 50_000, quick: 10_000, run: |job| loaded(job, one_by_one) },
    Case { name: "submit_idle", full: 1000, quick: 300, run: submit_idle },
    Case { name: "burst", full: 64, quick: 64, run: burst },
    Case { name: "sync_works", full: 1000, quick: 200, run: |job| loaded(job, |r, n| roots(r, n, 100_000)) },
    Case { name: "short_works", full: 1_000_000, quick: 200_000, run: |job| loaded(job, |r, n| roots(r, n, 10)) },
    Case { name: "timer_works", full: 50, quick: 50, run: |job| loaded(job, timers) },
    Case { name: "yield_works", full: 100_000, quick: 100_000, run: |job| loaded(job, yields) },
    Case { name: "priority_works", full: 200, quick: 20, run: priority_works },
];

fn pool_of(job: &Job, threads: usize, keep_alive: Duration) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(job.workers)
        .max_blocking_threads(threads)
        .thread_keep_alive(keep_alive)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Runs the load twice, once to warm up.
fn loaded(job: &Job, load: fn(&Runtime, u64)) {
    let runtime = pool_of(job, job.workers, Duration::from_secs(10));
    load(&runtime, job.warm_up);
    let all = Stretch::begin();
    load(&runtime, job.operations);
    report(job, all.end());
}

fn join(runtime: &Runtime, all: Vec<JoinHandle<()>>) {
    runtime.block_on(async {
        for each in all {
            each.await.expect("it ends");
        }
    });
}

fn from_outside(runtime: &Runtime, n: u64) {
    join(runtime, (0..n).map(|_| runtime.spawn_blocking(|| ())).collect());
}

fn from_outside_4(runtime: &Runtime, n: u64) {
    std::thread::scope(|scope| {
        let producers: Vec<_> =
            (0..4).map(|_| scope.spawn(move || (0..n / 4).map(|_| runtime.spawn_blocking(|| ())).collect())).collect();
        producers.into_iter().for_each(|each| join(runtime, each.join().expect("a producer ends")));
    });
}

fn next_of_chain(pool: Handle, left: u64, end: std::sync::mpsc::Sender<()>) {
    if left == 0 {
        end.send(()).expect("somebody waits");
    } else {
        let next = pool.clone();
        drop(pool.spawn_blocking(move || next_of_chain(next, left - 1, end)));
    }
}

fn from_inside(runtime: &Runtime, n: u64) {
    let (end, ended) = std::sync::mpsc::channel();
    for _ in 0..64 {
        let (pool, end) = (runtime.handle().clone(), end.clone());
        drop(runtime.spawn_blocking(move || next_of_chain(pool, (n + 63) / 64 - 1, end)));
    }
    (0..64).for_each(|_| ended.recv().expect("a chain ends"));
}

fn one_by_one(runtime: &Runtime, n: u64) {
    (0..n).for_each(|_| runtime.block_on(runtime.spawn_blocking(|| ())).expect("it ends"));
}

/// Hides from the compiler what the value is.
fn unknown(mut value: f64) -> f64 {
    unsafe { std::arch::asm!("/* {0} */", inout(xmm_reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

fn take_roots(count: u32) {
    unknown((0..count).map(|i| unknown(f64::from(i)).sqrt()).sum());
}

fn roots(runtime: &Runtime, n: u64, count: u32) {
    join(runtime, (0..n).map(|_| runtime.spawn_blocking(move || take_roots(count))).collect());
}

fn submit_idle(job: &Job) {
    let runtime = pool_of(job, job.workers, Duration::from_secs(10));
    let (origin, at) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let mut samples: Vec<u64> = (0..job.operations)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            let begin = origin.elapsed().as_nanos() as u64;
            let its_at = at.clone();
            drop(runtime.spawn_blocking(move || its_at.store(origin.elapsed().as_nanos() as u64, Ordering::Release)));
            loop {
                std::thread::sleep(Duration::from_micros(200));
                match at.swap(0, Ordering::Acquire) {
                    0 => continue,
                    at => return at - begin,
                }
            }
        })
        .collect();
    samples.sort_unstable();
    for (name, share) in [("p50", 50), ("p99", 99)] {
        let value = samples[(samples.len() - 1) * share / 100];
        report_value(job, &format!("{}.{}", job.case, name), "ns", value as f64);
    }
}

fn threads_of_process() -> usize {
    std::fs::read_dir("/proc/self/task").expect("proc is there").count()
}

fn burst(job: &Job) {
    let n = job.operations;
    let runtime = pool_of(job, n as usize, Duration::from_millis(100));
    let state = Arc::new((Mutex::new((0, false)), Condvar::new()));
    // The workers are there when they have run something.
    runtime.block_on(async { tokio::spawn(async {}).await.expect("it ends") });
    std::thread::sleep(Duration::from_millis(20));
    let before = threads_of_process();
    let begin = Instant::now();
    for _ in 0..n {
        let its_state = state.clone();
        drop(runtime.spawn_blocking(move || {
            let mut now = its_state.0.lock().expect("nobody panics");
            now.0 += 1;
            its_state.1.notify_all();
            drop(its_state.1.wait_while(now, |now| !now.1).expect("nobody panics"));
        }));
    }
    let guard = state.0.lock().expect("nobody panics");
    let mut guard = state.1.wait_while(guard, |now| now.0 != n).expect("nobody panics");
    report_value(job, "burst.grow", "ms", begin.elapsed().as_secs_f64() * 1e3);
    let begin = Instant::now();
    guard.1 = true;
    drop(guard);
    state.1.notify_all();
    while threads_of_process() > before {
        std::thread::sleep(Duration::from_millis(1));
    }
    report_value(job, "burst.shrink", "ms", begin.elapsed().as_secs_f64() * 1e3);
}

async fn sleep_thrice() {
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn timers(runtime: &Runtime, n: u64) {
    join(runtime, (0..n).map(|_| runtime.spawn(sleep_thrice())).collect());
}

async fn yield_often() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

fn yields(runtime: &Runtime, n: u64) {
    join(runtime, (0..n / 10).map(|_| runtime.spawn(yield_often())).collect());
}

fn spin_for(span: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < span {}
}

async fn busy_and_waiting() {
    spin_for(Duration::from_millis(2));
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(3)).await;
        spin_for(Duration::from_millis(2));
    }
}

/// Tokio has no priorities: what is waited for is the same, and comes when it comes.
fn priority_works(job: &Job) {
    let runtime = pool_of(job, job.workers, Duration::from_secs(10));
    let begin = Instant::now();
    let mut all: Vec<_> = (0..job.operations / 4).map(|_| runtime.spawn(busy_and_waiting())).collect();
    let mut high = vec![];
    for _ in 0..job.operations {
        all.push(runtime.spawn(busy_and_waiting()));
        all.push(runtime.spawn(busy_and_waiting()));
        high.push(runtime.spawn(busy_and_waiting()));
    }
    join(&runtime, high);
    report_value(job, "priority_works.high", "ms", begin.elapsed().as_secs_f64() * 1e3);
    join(&runtime, all);
    report_value(job, "priority_works.all", "ms", begin.elapsed().as_secs_f64() * 1e3);
}
