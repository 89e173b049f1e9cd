// The cases of bench/latency/rota.cpp.
use crate::{report_value, runtime_of, Case, Job};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

pub const CASES: &[Case] = &[
    Case { name: "spawn_idle", full: 1000, quick: 300, run: spawn_idle },
    Case { name: "wake_idle", full: 1000, quick: 300, run: wake_idle },
];

/// When the other side ran: nanoseconds after `origin`, 0 until then.
struct Stamp {
    origin: Instant,
    at: AtomicU64,
}

impl Stamp {
    fn new() -> Arc<Stamp> {
        Arc::new(Stamp { origin: Instant::now(), at: AtomicU64::new(0) })
    }
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
    fn set(&self) {
        self.at.store(self.now(), Ordering::Release);
    }
    fn take(&self) -> u64 {
        loop {
            std::thread::sleep(Duration::from_millis(1));
            match self.at.swap(0, Ordering::Acquire) {
                0 => continue,
                at => return at,
            }
        }
    }
}

fn report_quantiles(job: &Job, mut samples: Vec<u64>) {
    samples.sort_unstable();
    for (name, share) in [("p50", 50), ("p99", 99)] {
        let value = samples[samples.len() * share / 100];
        report_value(job, &format!("{}.{}", job.case, name), "ns", value as f64);
    }
}

fn sample(job: &Job, stamp: &Arc<Stamp>, act: impl Fn()) {
    std::thread::sleep(Duration::from_millis(5));
    let samples = (0..job.operations).map(|_| {
        let begin = stamp.now();
        act();
        stamp.take() - begin
    });
    report_quantiles(job, samples.collect());
}

fn spawn_idle(job: &Job) {
    let runtime = runtime_of(job);
    let stamp = Stamp::new();
    sample(job, &stamp, || {
        let its_stamp = stamp.clone();
        drop(runtime.spawn(async move { its_stamp.set() }));
    });
}

fn wake_idle(job: &Job) {
    let runtime = runtime_of(job);
    let (stamp, event) = (Stamp::new(), Arc::new(Notify::new()));
    let (its_stamp, its_event) = (stamp.clone(), event.clone());
    runtime.spawn(async move {
        loop {
            its_event.notified().await;
            its_stamp.set();
        }
    });
    sample(job, &stamp, || event.notify_one());
}
