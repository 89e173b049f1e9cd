// The cases of bench/file/rota.cpp, by tokio::fs, with 8 threads that may block. It has no reads and writes at an offset: the random
// cases give each of them to spawn_blocking, as tokio::fs itself does, which is one hand-over instead of the two of seek and read.
use crate::{report, Case, Job, Stretch};
use std::future::Future;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

pub const CASES: &[Case] = &[
    Case { name: "seq_read", full: 2048, quick: 128, run: seq_read },
    Case { name: "seq_write", full: 2048, quick: 128, run: seq_write },
    Case { name: "random_read_1", full: 100_000, quick: 20_000, run: |job| random_read(job, 1) },
    Case { name: "random_read_32", full: 100_000, quick: 20_000, run: |job| random_read(job, 32) },
    Case { name: "random_write_1", full: 100_000, quick: 20_000, run: |job| random_write(job, 1) },
    Case { name: "random_write_32", full: 100_000, quick: 20_000, run: |job| random_write(job, 32) },
    Case { name: "small_files", full: 20_000, quick: 4000, run: small_files },
    Case { name: "tree_files", full: 20_000, quick: 4000, run: tree_files },
    Case { name: "copy_file", full: 2048, quick: 128, run: copy_file },
    Case { name: "copy_stream", full: 2048, quick: 128, run: copy_stream },
];

const MIB: u64 = 1 << 20;
const PAGE: usize = 4096;
const BLOCK: usize = 64 << 10;
const PAGES_OF_A_BLOCK: u64 = (BLOCK / PAGE) as u64;
const THREADS: usize = 8;
const RANDOM_PAGES: u64 = 64 * MIB / PAGE as u64;
const PASSES: u64 = 8;
const LARGEST_MIB: u64 = 256;
const SMALL_FILES: u64 = 1000;
const FILES_OF_A_FOLDER: u64 = 100;

/// A folder below $TMPDIR that goes with all that is in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Arc<Folder> {
        let path = std::env::temp_dir().join(format!("rota_bench_tokio_{}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder");
        Arc::new(Folder(path))
    }
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

const FILLER: u64 = 0x9E37_79B9_7F4A_7C15;

fn stamp(page: u64, pass: u64) -> u64 {
    (page + 1).wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(pass.wrapping_mul(0xAF25_1AF3_B0F0_25B5))
}

fn sum_of_page(page: u64, pass: u64) -> u64 {
    stamp(page, pass).wrapping_add(FILLER.wrapping_mul(PAGE as u64 / 8 - 1))
}

fn sum_of(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight")));
    words.fold(0, u64::wrapping_add)
}

fn check_sum(sum: u64, pages: u64) {
    let all = (0..pages).map(|page| sum_of_page(page, 0)).fold(0, u64::wrapping_add);
    assert_eq!(sum, all, "what was read is not what was written");
}

fn check_page(bytes: &[u8], page: u64, pass: u64) {
    assert!(bytes.len() == PAGE && sum_of(bytes) == sum_of_page(page, pass), "a page is not what was written there");
}

fn buffer_of(bytes: usize) -> Vec<u8> {
    FILLER.to_le_bytes().repeat(bytes / 8)
}

fn stamp_pages(buffer: &mut [u8], first: u64, pass: u64) {
    for (i, page) in buffer.chunks_exact_mut(PAGE).enumerate() {
        page[..8].copy_from_slice(&stamp(first + i as u64, pass).to_le_bytes());
    }
}

fn make_file(path: &Path, pages: u64) {
    let to = std::fs::File::create(path).expect("a file");
    let mut one = buffer_of(PAGE);
    for page in 0..pages {
        stamp_pages(&mut one, page, 0);
        to.write_all_at(&one, page * PAGE as u64).expect("a write");
    }
}

fn check_file(path: &Path, pages: u64, pass_of: impl Fn(u64) -> u64) {
    let from = std::fs::File::open(path).expect("a file");
    assert_eq!(from.metadata().expect("a length").len(), pages * PAGE as u64, "a file has not its length");
    let mut one = vec![0; PAGE];
    for page in 0..pages {
        from.read_exact_at(&mut one, page * PAGE as u64).expect("a page");
        check_page(&one, page, pass_of(page));
    }
}

/// The loop on a worker, twice, once to warm up; nothing is printed before `check` has seen the files.
fn on_worker<F, Fut>(job: &Job, work: F, check: impl FnOnce())
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let runtime =
        Builder::new_multi_thread().worker_threads(job.workers).max_blocking_threads(THREADS).enable_all().build().expect("a runtime");
    let its_job = job.clone();
    let root = runtime.spawn(async move {
        work(its_job.warm_up).await;
        let measured = Stretch::begin();
        work(its_job.operations).await;
        measured.end()
    });
    let spent = runtime.block_on(root).expect("the root ends");
    check();
    report(job, spent);
}

/// A large file, and how often a run goes over it. One operation is a MiB.
#[derive(Clone)]
struct Large {
    folder: Arc<Folder>,
    job: Job,
    mib: u64,
}

impl Large {
    fn new(job: &Job) -> Large {
        let (folder, mut job) = (Folder::new(), job.clone());
        let mib = (job.operations / PASSES).clamp(1, LARGEST_MIB);
        job.operations = job.operations / mib * mib;
        job.warm_up = mib;
        let all = Large { folder, job, mib };
        make_file(&all.path(), all.pages());
        all
    }
    fn path(&self) -> PathBuf {
        self.folder.at("large")
    }
    fn passes(&self, n: u64) -> u64 {
        n / self.mib
    }
    /// Who warms up has another one.
    fn target(&self, n: u64) -> PathBuf {
        self.folder.at(&format!("copy_{}", self.passes(n)))
    }
    fn bytes(&self) -> u64 {
        self.mib * MIB
    }
    fn pages(&self) -> u64 {
        self.bytes() / PAGE as u64
    }
}

fn seq_read(job: &Job) {
    let large = Large::new(job);
    let its = large.clone();
    on_worker(&large.job, move |n| read_all(its.clone(), n), || ());
}

async fn read_all(large: Large, n: u64) {
    let mut block = vec![0; BLOCK];
    for _ in 0..large.passes(n) {
        let mut from = tokio::fs::File::open(large.path()).await.expect("a file");
        let (mut left, mut sum, mut odd) = (large.bytes() as usize, 0u64, 0);
        while left != 0 {
            let got = from.read(&mut block).await.expect("a read");
            assert!(got != 0 && got <= left, "a file has not its length");
            sum = sum.wrapping_add(sum_of(&block[..got]));
            odd |= got % 8;
            left -= got;
        }
        assert_eq!(odd, 0, "a read ended within a word");
        check_sum(sum, large.pages());
    }
}

fn seq_write(job: &Job) {
    let large = Large::new(job);
    let its = large.clone();
    let last = large.passes(large.job.operations);
    on_worker(&large.job, move |n| write_all(its.clone(), n), || check_file(&large.path(), large.pages(), |_| last));
}

async fn write_all(large: Large, n: u64) {
    let mut block = buffer_of(BLOCK);
    for pass in 1..=large.passes(n) {
        let mut to = tokio::fs::OpenOptions::new().write(true).open(large.path()).await.expect("a file");
        for first in (0..large.pages()).step_by(PAGES_OF_A_BLOCK as usize) {
            stamp_pages(&mut block, first, pass);
            to.write_all(&block).await.expect("a write");
        }
        to.flush().await.expect("the last write");
    }
}

struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % RANDOM_PAGES
    }
}

fn share(n: u64, streams: u64, which: u64) -> u64 {
    n / streams + u64::from(which < n % streams)
}

/// What the `i`th of a stream's `n` writes says of itself: another thing than that of any other run.
fn pass_of_write(n: u64, i: u64) -> u64 {
    (n << 32) + i + 1
}

async fn read_pages(from: Arc<std::fs::File>, mut pages: Chance, n: u64) {
    let mut one = vec![0; PAGE];
    for _ in 0..n {
        let (page, its) = (pages.next(), from.clone());
        let read = move || its.read_at(&mut one, page * PAGE as u64).map(|got| (got, one));
        let (got, back) = tokio::task::spawn_blocking(read).await.expect("it ends").expect("a read");
        check_page(&back[..got], page, 0);
        one = back;
    }
}

async fn write_pages(to: Arc<std::fs::File>, mut pages: Chance, n: u64) {
    let mut one = buffer_of(PAGE);
    for i in 0..n {
        let (page, its) = (pages.next(), to.clone());
        stamp_pages(&mut one, page, pass_of_write(n, i));
        let write = move || its.write_at(&one, page * PAGE as u64).map(|put| (put, one));
        let (put, back) = tokio::task::spawn_blocking(write).await.expect("it ends").expect("a write");
        assert_eq!(put, PAGE, "a write took less than it was given");
        one = back;
    }
}

/// So many streams, of which each has one in flight.
async fn by_chance<F, Fut>(path: PathBuf, streams: u64, n: u64, pages: F)
where
    F: Fn(Arc<std::fs::File>, Chance, u64) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let file = tokio::fs::OpenOptions::new().read(true).write(true).open(path).await.expect("a file");
    let file = Arc::new(file.into_std().await);
    if streams == 1 {
        return pages(file, Chance(0), n).await;
    }
    let all: Vec<_> = (0..streams).map(|i| tokio::spawn(pages(file.clone(), Chance(i), share(n, streams, i)))).collect();
    for each in all {
        each.await.expect("a stream ends");
    }
}

fn random_file(folder: &Folder) -> PathBuf {
    let path = folder.at("random");
    make_file(&path, RANDOM_PAGES);
    path
}

fn random_read(job: &Job, streams: u64) {
    let folder = Folder::new();
    let path = random_file(&folder);
    on_worker(job, move |n| by_chance(path.clone(), streams, n, read_pages), || ());
}

fn random_write(job: &Job, streams: u64) {
    let folder = Folder::new();
    let path = random_file(&folder);
    let its = path.clone();
    let check = || check_written(&path, streams, job.operations);
    on_worker(job, move |n| by_chance(its.clone(), streams, n, write_pages), check);
}

/// Each page as the last write of one of the streams has left it; who writes to it last of all is not known.
fn check_written(path: &Path, streams: u64, operations: u64) {
    let mut last = vec![Vec::new(); RANDOM_PAGES as usize];
    for which in 0..streams {
        let (n, mut pages) = (share(operations, streams, which), Chance(which));
        let mut mine = vec![0; RANDOM_PAGES as usize];
        (0..n).for_each(|i| mine[pages.next() as usize] = pass_of_write(n, i));
        mine.iter().enumerate().filter(|(_, &pass)| pass != 0).for_each(|(page, &pass)| last[page].push(pass));
    }
    let from = std::fs::File::open(path).expect("a file");
    let mut one = vec![0; PAGE];
    for (page, passes) in last.iter().enumerate().filter(|(_, passes)| !passes.is_empty()) {
        from.read_exact_at(&mut one, (page * PAGE) as u64).expect("a page");
        let sum = sum_of(&one);
        assert!(passes.iter().any(|&pass| sum == sum_of_page(page as u64, pass)), "a page is not what was written there last");
    }
}

fn small_path(root: &Path, i: u64) -> PathBuf {
    root.join(format!("{}/{}", i / FILES_OF_A_FOLDER, i))
}

fn small_tree(folder: &Folder) -> PathBuf {
    let root = folder.at("tree");
    let mut one = buffer_of(PAGE);
    for i in 0..SMALL_FILES {
        let path = small_path(&root, i);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        stamp_pages(&mut one, i, 0);
        std::fs::write(path, &one).expect("a file");
    }
    root
}

fn small_files(job: &Job) {
    let folder = Folder::new();
    let root = small_tree(&folder);
    on_worker(job, move |n| read_small(root.clone(), n), || ());
}

async fn read_small(root: PathBuf, n: u64) {
    for i in (0..SMALL_FILES).cycle().take(n as usize) {
        let all = tokio::fs::read(small_path(&root, i)).await.expect("a file");
        check_page(&all, i, 0);
    }
}

fn tree_files(job: &Job) {
    let folder = Folder::new();
    let root = small_tree(&folder);
    on_worker(job, move |n| read_tree(root.clone(), n), || ());
}

async fn read_tree(root: PathBuf, mut n: u64) {
    while n != 0 {
        let files = walk(root.clone(), n).await;
        assert!(files == n || files == SMALL_FILES, "a walk has not found all files");
        n -= files;
    }
}

/// Reads so many files at most; how many.
async fn walk(root: PathBuf, most: u64) -> u64 {
    let (mut files, mut folders) = (0, vec![root]);
    while let Some(folder) = folders.pop() {
        let mut found = tokio::fs::read_dir(folder).await.expect("a folder");
        while let Some(each) = found.next_entry().await.expect("an entry") {
            if files == most {
                return files;
            }
            if each.file_type().await.expect("a type").is_dir() {
                folders.push(each.path());
                continue;
            }
            let page = each.file_name().to_str().and_then(|name| name.parse().ok()).expect("a number");
            check_page(&tokio::fs::read(each.path()).await.expect("a file"), page, 0);
            files += 1;
        }
    }
    files
}

fn copy_file(job: &Job) {
    let large = Large::new(job);
    let its = large.clone();
    on_worker(&large.job, move |n| copy_by_name(its.clone(), n), || check_copy(&large));
}

fn check_copy(large: &Large) {
    check_file(&large.target(large.job.operations), large.pages(), |_| 0);
}

async fn copy_by_name(large: Large, n: u64) {
    for _ in 0..large.passes(n) {
        let copied = tokio::fs::copy(large.path(), large.target(n)).await.expect("a copy");
        assert_eq!(copied, large.bytes(), "a copy is shorter than its file");
    }
}

fn copy_stream(job: &Job) {
    let large = Large::new(job);
    let its = large.clone();
    on_worker(&large.job, move |n| copy_open(its.clone(), n), || check_copy(&large));
}

async fn copy_open(large: Large, n: u64) {
    for _ in 0..large.passes(n) {
        let mut from = tokio::fs::File::open(large.path()).await.expect("a file");
        let mut to = tokio::fs::File::create(large.target(n)).await.expect("a file");
        let copied = tokio::io::copy(&mut from, &mut to).await.expect("a copy");
        to.flush().await.expect("the last write");
        assert_eq!(copied, large.bytes(), "a copy is shorter than its file");
    }
}
