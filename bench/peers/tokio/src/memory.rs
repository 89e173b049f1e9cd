// The cases of bench/memory/rota.cpp.
use crate::{report_value, runtime_of, Case, Job};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub const CASES: &[Case] = &[
    Case { name: "sleeping_task", full: 1_000_000, quick: 100_000, run: sleeping_task },
    Case { name: "idle_connection", full: 4000, quick: 1000, run: idle_connection },
];

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: f64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096.0
}

/// Waits until `begun` says so many, and then until they have gone to sleep, too.
fn wait_for(begun: &AtomicU64, n: u64) {
    while begun.load(Ordering::Acquire) < n {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
}

fn finish(job: &Job, before: f64) -> ! {
    report_value(job, &job.case, "bytes", (resident_bytes() - before) / job.operations as f64);
    std::process::exit(0);
}

fn sleeping_task(job: &Job) {
    let runtime = runtime_of(job);
    let (begun, n) = (Arc::new(AtomicU64::new(0)), job.operations);
    let before = resident_bytes();
    let its_begun = begun.clone();
    runtime.spawn(async move {
        for _ in 0..n {
            let its_begun = its_begun.clone();
            drop(tokio::spawn(async move {
                its_begun.fetch_add(1, Ordering::Release);
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }));
        }
    });
    wait_for(&begun, n);
    finish(job, before);
}

async fn echo(mut stream: tokio::net::TcpStream, begun: Arc<AtomicU64>) {
    let mut buffer = [0u8; 64];
    begun.fetch_add(1, Ordering::Release);
    while let Ok(got) = stream.read(&mut buffer).await {
        if got == 0 || stream.write_all(&buffer[..got]).await.is_err() {
            return;
        }
    }
}

fn idle_connection(job: &Job) {
    let runtime = runtime_of(job);
    let begun = Arc::new(AtomicU64::new(0));
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut clients = Vec::with_capacity(job.operations as usize);
    let before = resident_bytes();
    let its_begun = begun.clone();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream, its_begun.clone()));
        }
    });
    (0..job.operations).for_each(|_| clients.push(TcpStream::connect(address).expect("a connection")));
    wait_for(&begun, job.operations);
    finish(job, before);
}
