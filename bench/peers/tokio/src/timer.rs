// The cases of bench/timer/rota.cpp.
use crate::{report_value, runtime_of, task, Case, Job, Stretch};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Sleep;

pub const CASES: &[Case] = &[
    Case { name: "arm_cancel", full: 1_000_000, quick: 200_000, run: |job| task::on_worker(job, arm_cancel) },
    Case { name: "ping_pong_timeout", full: 500_000, quick: 100_000, run: |job| task::on_worker(job, ping_pong_timeout) },
    Case { name: "sleeps_100k", full: 100_000, quick: 100_000, run: sleeps },
];

/// Polls a sleep once, which arms it.
struct Arm<'a>(Pin<&'a mut Sleep>);

impl Future for Arm<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        assert!(self.0.as_mut().poll(context).is_pending());
        Poll::Ready(())
    }
}

/// Dropped, the sleep is taken back.
async fn arm_cancel(n: u64) {
    for _ in 0..n {
        let sleep = tokio::time::sleep(Duration::from_secs(1));
        tokio::pin!(sleep);
        Arm(sleep.as_mut()).await;
    }
}

async fn notified_in_time(event: &Notify) {
    tokio::time::timeout(Duration::from_secs(10), event.notified()).await.expect("in time");
}

async fn ping_pong_timeout(n: u64) {
    let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (its_ping, its_pong) = (ping.clone(), pong.clone());
    let other = tokio::spawn(async move {
        for _ in 0..n {
            notified_in_time(&its_ping).await;
            its_pong.notify_one();
        }
    });
    for _ in 0..n {
        ping.notify_one();
        notified_in_time(&pong).await;
    }
    other.await.expect("the child ends");
}

async fn sleep_all(n: u64) {
    let one = |i: u64| tokio::spawn(tokio::time::sleep(Duration::from_millis(50 + i * 7919 % 950)));
    let all: Vec<_> = (0..n).map(one).collect();
    for each in all {
        each.await.expect("the child ends");
    }
}

fn sleeps(job: &Job) {
    let runtime = runtime_of(job);
    let measured = Stretch::begin();
    runtime.block_on(runtime.spawn(sleep_all(job.operations))).expect("the root ends");
    let (_, cpu) = measured.end();
    report_value(job, &job.case, "cpu ns", cpu / job.operations as f64);
}
