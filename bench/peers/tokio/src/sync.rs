// The cases of bench/sync/rota.cpp.
use crate::rounds::{has_read, in_block_on, keep, on_worker, rounds, Stretch, Timed, ONE_ROUND};
use crate::{report_value, runtime_of, Case, Job};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore};

const ALONE: u64 = 1_000_000;
const TASKS: u64 = 10_000;

pub const CASES: &[Case] = &[
    Case { name: "mutex", full: 10_000_000, quick: 3_000_000, run: |job| rounds(job, ALONE, mutex) },
    Case { name: "rwlock_read", full: 10_000_000, quick: 3_000_000, run: |job| rounds(job, ALONE, rwlock_read) },
    Case { name: "rwlock_write", full: 10_000_000, quick: 3_000_000, run: |job| rounds(job, ALONE, rwlock_write) },
    Case { name: "semaphore", full: 10_000_000, quick: 3_000_000, run: |job| rounds(job, ALONE, semaphore) },
    Case { name: "oncecell_get", full: 50_000_000, quick: 20_000_000, run: |job| rounds(job, ALONE, oncecell_get) },
    Case { name: "oncecell_set", full: 10_000_000, quick: 3_000_000, run: |job| rounds(job, ALONE, oncecell_set) },
    Case { name: "notify", full: 10_000_000, quick: 3_000_000, run: |job| on_worker(job, ALONE, notify) },
    Case { name: "notify_block_on", full: 10_000_000, quick: 3_000_000, run: |job| in_block_on(job, ALONE, notify) },
    Case { name: "barrier", full: 5_000_000, quick: 1_000_000, run: |job| on_worker(job, ALONE, barrier) },
    Case { name: "barrier_block_on", full: 5_000_000, quick: 1_000_000, run: |job| in_block_on(job, ALONE, barrier) },
    Case { name: "mutex_contended", full: 2_000_000, quick: 500_000, run: |job| on_worker(job, TASKS, |n| mutex_among(n, 4)) },
    Case { name: "mutex_contended_block_on", full: 2_000_000, quick: 500_000, run: |job| in_block_on(job, TASKS, |n| mutex_among(n, 4)) },
    Case { name: "rwlock_contended", full: 2_000_000, quick: 500_000, run: |job| on_worker(job, TASKS, rwlock_among) },
    Case { name: "rwlock_contended_block_on", full: 2_000_000, quick: 500_000, run: |job| in_block_on(job, TASKS, rwlock_among) },
    Case { name: "semaphore_contended", full: 2_000_000, quick: 500_000, run: |job| on_worker(job, TASKS, semaphore_among) },
    Case { name: "semaphore_contended_block_on", full: 2_000_000, quick: 500_000, run: |job| in_block_on(job, TASKS, semaphore_among) },
    Case { name: "task_spawn", full: 500_000, quick: 100_000, run: |job| on_worker(job, TASKS, spawn_each) },
    Case { name: "task_spawn_block_on", full: 200_000, quick: 50_000, run: |job| in_block_on(job, TASKS, spawn_each) },
    Case { name: "task_spawn_batch", full: 1_000_000, quick: 300_000, run: |job| on_worker(job, TASKS, spawn_batches) },
    Case { name: "task_spawn_batch_block_on", full: 1_000_000, quick: 300_000, run: |job| in_block_on(job, TASKS, spawn_batches) },
    Case { name: "blocking_spawn", full: 50_000, quick: 10_000, run: |job| on_worker(job, TASKS, spawn_blocking_each) },
    Case { name: "blocking_spawn_block_on", full: 50_000, quick: 10_000, run: |job| in_block_on(job, TASKS, spawn_blocking_each) },
    Case { name: "mutex_lock", full: 10_000_000, quick: 2_000_000, run: |job| on_worker(job, ONE_ROUND, lock_alone) },
    Case { name: "mutex_lock_block_on", full: 10_000_000, quick: 2_000_000, run: |job| in_block_on(job, ONE_ROUND, lock_alone) },
    Case { name: "mutex_2", full: 2_000_000, quick: 500_000, run: |job| among_on_worker(job, 2) },
    Case { name: "mutex_2_block_on", full: 2_000_000, quick: 500_000, run: |job| among_in_block_on(job, 2) },
    Case { name: "mutex_8", full: 2_000_000, quick: 500_000, run: |job| among_on_worker(job, 8) },
    Case { name: "mutex_8_block_on", full: 2_000_000, quick: 500_000, run: |job| among_in_block_on(job, 8) },
    Case { name: "mutex_64", full: 2_000_000, quick: 500_000, run: |job| among_on_worker(job, 64) },
    Case { name: "mutex_64_block_on", full: 2_000_000, quick: 500_000, run: |job| among_in_block_on(job, 64) },
];

// ---- alone, without a runtime

fn mutex(n: u64) -> Timed {
    let lock = Mutex::new(());
    let measured = Stretch::begin();
    for _ in 0..n {
        drop(lock.try_lock().expect("it is free"));
    }
    measured.end()
}

fn rwlock_read(n: u64) -> Timed {
    let lock = RwLock::new(0u64);
    let measured = Stretch::begin();
    for _ in 0..n {
        drop(lock.try_read().expect("it is free"));
    }
    measured.end()
}

fn rwlock_write(n: u64) -> Timed {
    let lock = RwLock::new(0u64);
    let measured = Stretch::begin();
    for _ in 0..n {
        drop(lock.try_write().expect("it is free"));
    }
    measured.end()
}

fn semaphore(n: u64) -> Timed {
    let permits = Semaphore::new(10);
    let measured = Stretch::begin();
    for _ in 0..n {
        drop(permits.try_acquire().expect("there is one"));
    }
    measured.end()
}

fn oncecell_get(n: u64) -> Timed {
    let cell = OnceCell::new_with(Some(42u64));
    let measured = Stretch::begin();
    for _ in 0..n {
        has_read(*cell.get().expect("it is full"));
    }
    measured.end()
}

fn oncecell_set(n: u64) -> Timed {
    let measured = Stretch::begin();
    for i in 0..n {
        let mut cell = OnceCell::new();
        cell.set(i).expect("it is empty");
        keep(&mut cell);
    }
    measured.end()
}

// ---- alone, by a task

async fn notify(n: u64) -> Timed {
    let measured = Stretch::begin();
    for _ in 0..n {
        let event = Notify::new();
        event.notify_one();
        event.notified().await;
    }
    measured.end()
}

async fn barrier(n: u64) -> Timed {
    let measured = Stretch::begin();
    for _ in 0..n {
        Barrier::new(1).wait().await;
    }
    measured.end()
}

// ---- tasks that want the same

/// So many tasks, each with its own `one`.
async fn join_all<Fut>(count: u64, one: impl Fn(u64) -> Fut)
where
    Fut: Future<Output = ()> + Send + 'static,
{
    let all: Vec<_> = (0..count).map(|i| tokio::spawn(one(i))).collect();
    for each in all {
        each.await.expect("it ends");
    }
}

async fn count_up(lock: &Mutex<u64>, n: u64) {
    for _ in 0..n {
        *lock.lock().await += 1;
    }
}

async fn mutex_among(n: u64, tasks: u64) -> Timed {
    let measured = Stretch::begin();
    let lock = Arc::new(Mutex::new(0u64));
    join_all(tasks, |_| {
        let lock = lock.clone();
        async move { count_up(&lock, n / tasks).await }
    })
    .await;
    assert_eq!(*lock.lock().await, n / tasks * tasks);
    measured.end()
}

async fn rwlock_among(n: u64) -> Timed {
    let measured = Stretch::begin();
    let lock = Arc::new(RwLock::new(0u64));
    join_all(6, |i| {
        let lock = lock.clone();
        async move {
            for _ in 0..n / 6 {
                if i < 4 {
                    let mut seen = *lock.read().await;
                    keep(&mut seen);
                } else {
                    *lock.write().await += 1;
                }
            }
        }
    })
    .await;
    measured.end()
}

async fn semaphore_among(n: u64) -> Timed {
    let measured = Stretch::begin();
    let permits = Arc::new(Semaphore::new(2));
    join_all(8, |_| {
        let permits = permits.clone();
        async move {
            for _ in 0..n / 8 {
                drop(permits.acquire().await.expect("it is open"));
            }
        }
    })
    .await;
    measured.end()
}

// ---- tasks

async fn nothing() {}

async fn spawn_each(n: u64) -> Timed {
    let measured = Stretch::begin();
    for _ in 0..n {
        tokio::spawn(nothing()).await.expect("the child ends");
    }
    measured.end()
}

async fn spawn_batches(n: u64) -> Timed {
    let measured = Stretch::begin();
    for _ in 0..n / 100 {
        join_all(100, |_| nothing()).await;
    }
    measured.end()
}

async fn spawn_blocking_each(n: u64) -> Timed {
    let measured = Stretch::begin();
    for _ in 0..n {
        tokio::task::spawn_blocking(|| ()).await.expect("the child ends");
    }
    measured.end()
}

// ---- locks for longer

async fn lock_alone(n: u64) -> Timed {
    let lock = Mutex::new(0u64);
    let measured = Stretch::begin();
    count_up(&lock, n).await;
    measured.end()
}

async fn longest_wait(n: u64, tasks: u64) -> Duration {
    let lock = Arc::new(Mutex::new(Duration::ZERO));
    join_all(tasks, |_| {
        let lock = lock.clone();
        async move {
            for _ in 0..n / tasks {
                let begin = Instant::now();
                let mut longest = lock.lock().await;
                *longest = begin.elapsed().max(*longest);
            }
        }
    })
    .await;
    let longest = *lock.lock().await;
    longest
}

fn report_longest(job: &Job, longest: Duration) {
    report_value(job, &format!("{}.max_wait", job.case), "us", longest.as_nanos() as f64 / 1000.0);
}

fn among_on_worker(job: &Job, tasks: u64) {
    on_worker(job, ONE_ROUND, move |n| mutex_among(n, tasks));
    let runtime = runtime_of(job);
    let root = runtime.spawn(longest_wait(job.operations, tasks));
    report_longest(job, runtime.block_on(root).expect("the root ends"));
}

fn among_in_block_on(job: &Job, tasks: u64) {
    in_block_on(job, ONE_ROUND, move |n| mutex_among(n, tasks));
    report_longest(job, runtime_of(job).block_on(longest_wait(job.operations, tasks)));
}
