// The cases of bench/channel/rota.cpp.
use crate::rounds::{in_block_on, keep, on_worker, rounds, Stretch, Timed, ONE_ROUND};
use crate::Case;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

const ALONE: u64 = 100_000;
const TASKS: u64 = 10_000;

pub const CASES: &[Case] = &[
    Case { name: "channel_send", full: 5_000_000, quick: 1_000_000, run: |job| rounds(job, ALONE, |n| fill_and_drain(n).0) },
    Case { name: "channel_recv", full: 5_000_000, quick: 1_000_000, run: |job| rounds(job, ALONE, |n| fill_and_drain(n).1) },
    Case { name: "channel_roundtrip", full: 5_000_000, quick: 1_000_000, run: |job| rounds(job, ALONE, channel_roundtrip) },
    Case { name: "oneshot", full: 5_000_000, quick: 1_000_000, run: |job| rounds(job, ALONE, once) },
    Case { name: "broadcast", full: 1_000_000, quick: 300_000, run: |job| rounds(job, ALONE, to_all) },
    Case { name: "watch", full: 5_000_000, quick: 1_000_000, run: |job| rounds(job, ALONE, watched) },
    Case { name: "channel_mpmc", full: 2_000_000, quick: 500_000, run: |job| on_worker(job, TASKS, channel_mpmc) },
    Case { name: "channel_mpmc_block_on", full: 2_000_000, quick: 500_000, run: |job| in_block_on(job, TASKS, channel_mpmc) },
    Case { name: "round_trip", full: 1_000_000, quick: 200_000, run: |job| on_worker(job, ONE_ROUND, round_trip) },
    Case { name: "round_trip_block_on", full: 100_000, quick: 20_000, run: |job| in_block_on(job, ONE_ROUND, round_trip) },
    Case { name: "mpsc_1", full: 5_000_000, quick: 1_000_000, run: |job| on_worker(job, ONE_ROUND, |n| to_one(n, 1)) },
    Case { name: "mpsc_1_block_on", full: 5_000_000, quick: 1_000_000, run: |job| in_block_on(job, ONE_ROUND, |n| to_one(n, 1)) },
    Case { name: "mpsc_1_unbounded", full: 5_000_000, quick: 1_000_000, run: |job| on_worker(job, ONE_ROUND, |n| to_one_unbounded(n, 1)) },
    Case { name: "mpsc_1_unbounded_block_on", full: 5_000_000, quick: 1_000_000, run: |job| in_block_on(job, ONE_ROUND, |n| to_one_unbounded(n, 1)) },
    Case { name: "mpsc_4", full: 5_000_000, quick: 1_000_000, run: |job| on_worker(job, ONE_ROUND, |n| to_one(n, 4)) },
    Case { name: "mpsc_4_block_on", full: 5_000_000, quick: 1_000_000, run: |job| in_block_on(job, ONE_ROUND, |n| to_one(n, 4)) },
    Case { name: "mpsc_4_unbounded", full: 5_000_000, quick: 1_000_000, run: |job| on_worker(job, ONE_ROUND, |n| to_one_unbounded(n, 4)) },
    Case { name: "mpsc_4_unbounded_block_on", full: 5_000_000, quick: 1_000_000, run: |job| in_block_on(job, ONE_ROUND, |n| to_one_unbounded(n, 4)) },
    Case { name: "select", full: 2_000_000, quick: 500_000, run: |job| on_worker(job, ONE_ROUND, select_of_two) },
    Case { name: "select_block_on", full: 2_000_000, quick: 500_000, run: |job| in_block_on(job, ONE_ROUND, select_of_two) },
];

// ---- alone, without a runtime

/// The times of the sends and of the receives.
fn fill_and_drain(n: u64) -> (Timed, Timed) {
    let (to, mut from) = mpsc::channel(ALONE as usize);
    let sending = Stretch::begin();
    for i in 0..n {
        to.try_send(i).expect("there is room");
    }
    let sends = sending.end();
    let receiving = Stretch::begin();
    for i in 0..n {
        assert_eq!(from.try_recv(), Ok(i));
    }
    (sends, receiving.end())
}

fn channel_roundtrip(n: u64) -> Timed {
    let (to, mut from) = mpsc::channel(1);
    let measured = Stretch::begin();
    for i in 0..n {
        to.try_send(i).expect("there is room");
        assert_eq!(from.try_recv(), Ok(i));
    }
    measured.end()
}

fn once(n: u64) -> Timed {
    let measured = Stretch::begin();
    for i in 0..n {
        let (to, mut from) = oneshot::channel();
        to.send(i).expect("the receiver is there");
        assert_eq!(from.try_recv(), Ok(i));
    }
    measured.end()
}

/// One operation: a send, and its four receives.
fn to_all(n: u64) -> Timed {
    let (to, first) = broadcast::channel(ALONE as usize);
    let mut all = vec![first];
    all.extend((1..4).map(|_| to.subscribe()));
    let measured = Stretch::begin();
    for i in 0..n {
        to.send(i).expect("receivers are there");
    }
    for from in &mut all {
        for i in 0..n {
            assert_eq!(from.try_recv(), Ok(i));
        }
    }
    measured.end()
}

fn watched(n: u64) -> Timed {
    let (to, from) = watch::channel(0u64);
    let measured = Stretch::begin();
    for i in 0..n {
        to.send(i).expect("the receiver is there");
        let mut seen = *from.borrow();
        keep(&mut seen);
    }
    measured.end()
}

// ---- many to many

const SIDES: u64 = 4;

async fn channel_mpmc(n: u64) -> Timed {
    let measured = Stretch::begin();
    let (to, from) = async_channel::bounded::<u64>(1000);
    let senders: Vec<JoinHandle<()>> = (0..SIDES)
        .map(|_| {
            let to = to.clone();
            tokio::spawn(async move {
                for i in 0..n / SIDES {
                    to.send(i).await.expect("it is open");
                }
            })
        })
        .collect();
    let receivers: Vec<JoinHandle<u64>> = (0..SIDES)
        .map(|_| {
            let from = from.clone();
            tokio::spawn(async move {
                let mut count = 0;
                while from.recv().await.is_ok() {
                    count += 1;
                }
                count
            })
        })
        .collect();
    drop((to, from));
    let mut count = 0;
    for each in senders {
        each.await.expect("a sender ends");
    }
    for each in receivers {
        count += each.await.expect("a receiver ends");
    }
    assert_eq!(count, n / SIDES * SIDES);
    measured.end()
}

// ---- between two, and many to one

async fn round_trip(n: u64) -> Timed {
    let (to, mut its) = mpsc::channel(1);
    let (back, mut from) = mpsc::channel(1);
    let measured = Stretch::begin();
    let other = tokio::spawn(async move {
        while let Some(got) = its.recv().await {
            back.send(got).await.expect("it is open");
        }
    });
    for i in 0..n {
        to.send(i).await.expect("it is open");
        assert_eq!(from.recv().await, Some(i));
    }
    drop(to);
    other.await.expect("the child ends");
    measured.end()
}

async fn end_all(all: Vec<JoinHandle<()>>) {
    for each in all {
        each.await.expect("a sender ends");
    }
}

async fn to_one(n: u64, senders: u64) -> Timed {
    let measured = Stretch::begin();
    let (to, mut from) = mpsc::channel(128);
    let all = (0..senders)
        .map(|_| {
            let to = to.clone();
            tokio::spawn(async move {
                for i in 0..n / senders {
                    to.send(i).await.expect("it is open");
                }
            })
        })
        .collect();
    for _ in 0..n / senders * senders {
        from.recv().await.expect("an item");
    }
    end_all(all).await;
    measured.end()
}

async fn to_one_unbounded(n: u64, senders: u64) -> Timed {
    let measured = Stretch::begin();
    let (to, mut from) = mpsc::unbounded_channel();
    let all = (0..senders)
        .map(|_| {
            let to = to.clone();
            tokio::spawn(async move {
                for i in 0..n / senders {
                    to.send(i).expect("it is open");
                }
            })
        })
        .collect();
    for _ in 0..n / senders * senders {
        from.recv().await.expect("an item");
    }
    end_all(all).await;
    measured.end()
}

/// From two channels, a sender for each.
async fn select_of_two(n: u64) -> Timed {
    let measured = Stretch::begin();
    let (to_left, mut left) = mpsc::channel(128);
    let (to_right, mut right) = mpsc::channel(128);
    // These channels stay open: who has got all of one waits for the other.
    let all = [to_left.clone(), to_right.clone()]
        .into_iter()
        .map(|to| {
            tokio::spawn(async move {
                for i in 0..n / 2 {
                    to.send(i).await.expect("it is open");
                }
            })
        })
        .collect();
    let (mut from_left, mut from_right) = (0, 0);
    for _ in 0..n / 2 * 2 {
        tokio::select! {
            got = left.recv() => {
                assert_eq!(got, Some(from_left));
                from_left += 1;
            }
            got = right.recv() => {
                assert_eq!(got, Some(from_right));
                from_right += 1;
            }
        }
    }
    end_all(all).await;
    measured.end()
}
