// The cases of bench/gate/rota.cpp: a mailbox is a task with an unbounded channel.
use crate::{report, runtime_of, Case, Job, Stretch};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};

pub const CASES: &[Case] = &[
    Case { name: "hop", full: 5_000_000, quick: 1_000_000, run: hop },
    Case { name: "fan_in_1", full: 10_000_000, quick: 2_000_000, run: |job| fan_in(job, 1) },
    Case { name: "fan_in_8", full: 10_000_000, quick: 2_000_000, run: |job| fan_in(job, 8) },
    Case { name: "fan_in_64", full: 10_000_000, quick: 2_000_000, run: |job| fan_in(job, 64) },
    Case { name: "ring", full: 10_000_000, quick: 2_000_000, run: ring },
];

/// Runs the loop twice, once to warm up.
fn measured(job: &Job, mut work: impl FnMut(u64)) {
    work(job.warm_up);
    let all = Stretch::begin();
    work(job.operations);
    report(job, all.end());
}

/// Members that pass a number on until it is 0, and then tell `end`.
fn members(runtime: &Runtime, count: usize, end: std::sync::mpsc::Sender<()>) -> UnboundedSender<u64> {
    let channels: Vec<_> = (0..count).map(|_| unbounded_channel::<u64>()).collect();
    let first = channels[0].0.clone();
    let senders: Vec<_> = channels.iter().map(|(to, _)| to.clone()).collect();
    for (i, (_, mut from)) in channels.into_iter().enumerate() {
        let (next, end) = (senders[(i + 1) % count].clone(), end.clone());
        runtime.spawn(async move {
            while let Some(left) = from.recv().await {
                if left == 0 {
                    end.send(()).expect("somebody waits");
                } else {
                    next.send(left - 1).expect("the next is there");
                }
            }
        });
    }
    first
}

fn pass_round(job: &Job, count: usize) {
    let runtime = runtime_of(job);
    let (end, ended) = std::sync::mpsc::channel();
    let first = members(&runtime, count, end);
    measured(job, |n| {
        first.send(n.max(1) - 1).expect("the first is there");
        ended.recv().expect("it comes round");
    });
    // The ring keeps itself alive.
    runtime.shutdown_background();
}

fn hop(job: &Job) {
    pass_round(job, 2);
}

fn ring(job: &Job) {
    pass_round(job, 1_000_000);
}

fn fan_in(job: &Job, senders: u64) {
    let runtime = runtime_of(job);
    let (to, mut from) = unbounded_channel::<u64>();
    let (end, ended) = std::sync::mpsc::channel();
    let (count, mut counts) = unbounded_channel::<u64>();
    runtime.spawn(async move {
        while let Some(all) = counts.recv().await {
            for _ in 0..all {
                from.recv().await.expect("a message");
            }
            end.send(()).expect("somebody waits");
        }
    });
    measured(job, |n| {
        let each = (n + senders - 1) / senders;
        count.send(each * senders).expect("the receiver is there");
        let all: Vec<_> = (0..senders)
            .map(|_| {
                let to = to.clone();
                std::thread::spawn(move || (0..each).for_each(|m| to.send(m).expect("the receiver is there")))
            })
            .collect();
        ended.recv().expect("all come");
        all.into_iter().for_each(|one| one.join().expect("a sender ends"));
    });
}
