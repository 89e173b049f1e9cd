// As bench/support/rounds.hpp: cases whose operations come in rounds of a fixed number, each with something new.
use crate::{allocations, process_cpu_ns, runtime_of, Job};
use std::future::Future;
use std::time::Instant;

/// What of a round is to be timed: wall time and processor time.
#[derive(Clone, Copy, Default)]
pub struct Timed {
    wall: f64,
    cpu: f64,
}

pub struct Stretch {
    begin: Instant,
    cpu: f64,
}

impl Stretch {
    pub fn begin() -> Stretch {
        Stretch { cpu: process_cpu_ns(), begin: Instant::now() }
    }
    pub fn end(&self) -> Timed {
        Timed { wall: self.begin.elapsed().as_nanos() as f64, cpu: process_cpu_ns() - self.cpu }
    }
}

/// All rounds: what was timed, and what was allocated, timed or not.
#[derive(Default)]
pub struct Sum {
    timed: Timed,
    calls: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, timed: Timed, before: (u64, u64)) {
        let now = allocations::so_far();
        self.timed.wall += timed.wall;
        self.timed.cpu += timed.cpu;
        self.calls += now.0 - before.0;
        self.bytes += now.1 - before.1;
    }
}

/// The compiler must have it, and must think it changed.
pub fn keep<T>(value: &mut T) {
    unsafe { std::arch::asm!("/* {} */", in(reg) value as *mut T, options(nostack, preserves_flags)) };
}

/// The same for what was only read, in a register.
pub fn has_read(value: u64) {
    unsafe { std::arch::asm!("/* {} */", in(reg) value, options(nostack, preserves_flags)) };
}

/// For cases without rounds.
pub const ONE_ROUND: u64 = u64::MAX;

fn report(job: &Job, sum: Sum) {
    let n = job.operations as f64;
    let allocated = if job.allocations {
        format!(",\"bytes_per_op\":{:.4},\"allocations_per_op\":{:.4}", sum.bytes as f64 / n, sum.calls as f64 / n)
    } else {
        String::new()
    };
    println!(
        "{{\"case\":\"{}\",\"workers\":{},\"unit\":\"ns\",\"value\":{:.4},\"cpu_ns\":{:.4}{}}}",
        job.case, job.workers, sum.timed.wall / n, sum.timed.cpu / n, allocated
    );
}

fn play(operations: u64, size: u64, round: impl Fn(u64) -> Timed) -> Sum {
    let (mut sum, mut left) = (Sum::default(), operations);
    while left != 0 {
        let part = left.min(size);
        let before = allocations::so_far();
        sum.add(round(part), before);
        left -= part;
    }
    sum
}

async fn play_async<F, Fut>(operations: u64, size: u64, round: &F) -> Sum
where
    F: Fn(u64) -> Fut,
    Fut: Future<Output = Timed>,
{
    let (mut sum, mut left) = (Sum::default(), operations);
    while left != 0 {
        let part = left.min(size);
        let before = allocations::so_far();
        sum.add(round(part).await, before);
        left -= part;
    }
    sum
}

async fn play_twice<F, Fut>(job: Job, size: u64, round: F) -> Sum
where
    F: Fn(u64) -> Fut,
    Fut: Future<Output = Timed>,
{
    play_async(job.warm_up, size, &round).await;
    play_async(job.operations, size, &round).await
}

/// A case without a runtime, one of two shapes with one.
pub fn rounds(job: &Job, size: u64, round: fn(u64) -> Timed) {
    play(job.warm_up, size, round);
    report(job, play(job.operations, size, round));
}

pub fn on_worker<F, Fut>(job: &Job, size: u64, round: F)
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Timed> + Send + 'static,
{
    let runtime = runtime_of(job);
    let root = runtime.spawn(play_twice(job.clone(), size, round));
    report(job, runtime.block_on(root).expect("the root ends"));
}

pub fn in_block_on<F, Fut>(job: &Job, size: u64, round: F)
where
    F: Fn(u64) -> Fut,
    Fut: Future<Output = Timed>,
{
    report(job, runtime_of(job).block_on(play_twice(job.clone(), size, round)));
}
