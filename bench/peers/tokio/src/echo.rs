// The servers of bench/echo/rota.cpp. One worker: the runtime of the calling thread, as its manual advises for that.
use crate::{runtime_of, Case, Job};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

pub const CASES: &[Case] = &[
    Case { name: "echo_64", full: 1, quick: 1, run: server::<128> },
    Case { name: "echo_16k", full: 1, quick: 1, run: server::<32768> },
];

async fn echo<const BUFFER: usize>(mut stream: TcpStream) {
    let mut buffer = [0u8; BUFFER];
    while let Ok(got) = stream.read(&mut buffer).await {
        if got == 0 || stream.write_all(&buffer[..got]).await.is_err() {
            return;
        }
    }
}

async fn serve<const BUFFER: usize>() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{{\"port\":{}}}", listener.local_addr().expect("an address").port());
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        tokio::spawn(echo::<BUFFER>(stream));
    }
}

fn server<const BUFFER: usize>(job: &Job) {
    let runtime: Runtime = match job.workers {
        1 => Builder::new_current_thread().enable_all().build().expect("a runtime"),
        _ => runtime_of(job),
    };
    // Accepted by a worker, not by the thread that waits here.
    runtime.block_on(async { tokio::spawn(serve::<BUFFER>()).await }).expect("a server without an end");
}
