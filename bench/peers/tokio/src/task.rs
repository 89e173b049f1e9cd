// The cases of bench/task/rota.cpp.
use crate::{measure, report, runtime_of, Case, Job, Stretch};
use std::sync::Arc;
use tokio::sync::Notify;

pub const CASES: &[Case] = &[
    Case { name: "spawn_await", full: 1_000_000, quick: 200_000, run: |job| on_worker(job, spawn_await) },
    Case { name: "spawn_await_block_on", full: 200_000, quick: 50_000, run: |job| in_block_on(job, spawn_await) },
    Case { name: "spawn_100k_outside", full: 100_000, quick: 100_000, run: spawn_outside },
    Case { name: "yield_alone", full: 2_000_000, quick: 400_000, run: |job| on_worker(job, yield_alone) },
    Case { name: "yield_alone_block_on", full: 1_000_000, quick: 200_000, run: |job| in_block_on(job, yield_alone) },
    Case { name: "yield_1000", full: 5_000_000, quick: 1_000_000, run: |job| on_worker(job, yield_1000) },
    Case { name: "ping_pong", full: 1_000_000, quick: 200_000, run: |job| on_worker(job, ping_pong) },
];

pub fn on_worker<F, Fut>(job: &Job, work: F)
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: std::future::Future<Output = ()> + Send + 'static,
{
    let runtime = runtime_of(job);
    let root = runtime.spawn(measure(job.clone(), work));
    report(job, runtime.block_on(root).expect("the root ends"));
}

fn in_block_on<F, Fut>(job: &Job, work: F)
where
    F: Fn(u64) -> Fut,
    Fut: std::future::Future<Output = ()>,
{
    report(job, runtime_of(job).block_on(measure(job.clone(), work)));
}

async fn nothing() {}

async fn spawn_await(n: u64) {
    for _ in 0..n {
        tokio::spawn(nothing()).await.expect("the child ends");
    }
}

async fn yield_alone(n: u64) {
    for _ in 0..n {
        tokio::task::yield_now().await;
    }
}

async fn yield_1000(n: u64) {
    let all: Vec<_> = (0..1000).map(|_| tokio::spawn(yield_alone((n + 999) / 1000))).collect();
    for each in all {
        each.await.expect("the child ends");
    }
}

async fn ping_pong(n: u64) {
    let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (its_ping, its_pong) = (ping.clone(), pong.clone());
    let other = tokio::spawn(async move {
        for _ in 0..n {
            its_ping.notified().await;
            its_pong.notify_one();
        }
    });
    for _ in 0..n {
        ping.notify_one();
        pong.notified().await;
    }
    other.await.expect("the child ends");
}

fn spawn_and_wait_outside(runtime: &tokio::runtime::Runtime, n: u64) {
    let all: Vec<_> = (0..n).map(|_| runtime.spawn(nothing())).collect();
    runtime.block_on(async {
        for each in all {
            each.await.expect("the child ends");
        }
    });
}

fn spawn_outside(job: &Job) {
    let runtime = runtime_of(job);
    spawn_and_wait_outside(&runtime, job.warm_up);
    let measured = Stretch::begin();
    spawn_and_wait_outside(&runtime, job.operations);
    report(job, measured.end());
}
