// QUESTION  What do the cases of rota's benchmarks cost on Tokio's multi-thread runtime?
// WHY       It is the runtime that most programs of this kind are compared with.
// BASELINE  rota's own programs, which print the same lines: bench/<suite>/rota.cpp says what one operation is.
// READ IT   As those. Where Tokio has no such thing, as a plain call of a child (the compiler makes it part of its
//           caller), the case is missing.
mod allocations;
mod channel;
mod echo;
mod file;
mod gate;
mod latency;
mod memory;
mod pool;
mod rounds;
mod sync;
mod task;
mod timer;
mod tls;

use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: allocations::Counted = allocations::Counted;

/// What the command line asks for.
#[derive(Clone)]
pub struct Job {
    pub case: String,
    pub workers: usize,
    pub operations: u64,
    pub warm_up: u64,
    pub allocations: bool,
}

pub struct Case {
    pub name: &'static str,
    pub full: u64,
    pub quick: u64,
    pub run: fn(&Job),
}

/// From its beginning on: wall time and the process's processor time.
pub struct Stretch {
    begin: Instant,
    cpu: f64,
}

impl Stretch {
    pub fn begin() -> Stretch {
        Stretch { cpu: process_cpu_ns(), begin: Instant::now() }
    }
    pub fn end(&self) -> (f64, f64) {
        (self.begin.elapsed().as_nanos() as f64, process_cpu_ns() - self.cpu)
    }
}

fn process_cpu_ns() -> f64 {
    let mut used = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let ns = |t: libc::timeval| t.tv_sec as f64 * 1e9 + t.tv_usec as f64 * 1e3;
    ns(used.ru_utime) + ns(used.ru_stime)
}

pub fn report(job: &Job, (wall, cpu): (f64, f64)) {
    let n = job.operations as f64;
    println!(
        "{{\"case\":\"{}\",\"workers\":{},\"unit\":\"ns\",\"value\":{:.4},\"cpu_ns\":{:.4}}}",
        job.case, job.workers, wall / n, cpu / n
    );
}

pub fn report_value(job: &Job, case: &str, unit: &str, value: f64) {
    println!("{{\"case\":\"{}\",\"workers\":{},\"unit\":\"{}\",\"value\":{:.4}}}", case, job.workers, unit, value);
}

pub fn runtime_of(job: &Job) -> Runtime {
    Builder::new_multi_thread().worker_threads(job.workers).enable_all().build().expect("a runtime")
}

/// Runs the loop twice, once to warm up.
pub async fn measure<F, Fut>(job: Job, work: F) -> (f64, f64)
where
    F: Fn(u64) -> Fut,
    Fut: std::future::Future<Output = ()>,
{
    work(job.warm_up).await;
    let measured = Stretch::begin();
    work(job.operations).await;
    measured.end()
}

fn misuse(what: &str) -> ! {
    eprintln!("{}", what);
    std::process::exit(2);
}

fn number(text: Option<&String>) -> u64 {
    text.and_then(|t| t.parse().ok()).filter(|&n| n > 0).unwrap_or_else(|| misuse("not a number above 0"))
}

fn parse(arguments: &[String], case: &Case) -> Job {
    let mut job = Job { case: case.name.into(), workers: 2, operations: case.full, warm_up: 0, allocations: false };
    for pair in arguments.chunks(2) {
        match pair[0].as_str() {
            "--workers" => job.workers = number(pair.get(1)) as usize,
            "--scale" if pair.get(1).map(String::as_str) == Some("quick") => job.operations = case.quick,
            "--scale" => (),
            "--operations" => job.operations = number(pair.get(1)),
            "--allocations" => {
                job.allocations = true;
                allocations::count();
            }
            unknown => misuse(&format!("unknown option: {}", unknown)),
        }
    }
    job.warm_up = job.operations / 10;
    job
}

fn main() {
    let cases: Vec<&Case> = [
        task::CASES, timer::CASES, gate::CASES, latency::CASES, memory::CASES, pool::CASES, sync::CASES, channel::CASES,
        file::CASES, echo::CASES, tls::CASES,
    ]
    .into_iter()
    .flatten()
    .collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = arguments.first().unwrap_or_else(|| misuse("CASE [--workers N] [--scale quick|full] [--allocations 1], or --list"));
    if wanted == "--list" {
        cases.iter().for_each(|case| println!("{}", case.name));
        return;
    }
    let case = cases.iter().find(|case| case.name == wanted);
    let case = case.unwrap_or_else(|| misuse(&format!("there is no such case: {}", wanted)));
    (case.run)(&parse(&arguments[1..], case));
}
