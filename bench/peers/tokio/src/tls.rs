// The cases of bench/tls/rota.cpp, by tokio-openssl: the same OpenSSL. The crates have no name for a server without tickets; OpenSSL has.
use crate::{measure, report, runtime_of, Case, Job};
use foreign_types::ForeignTypeRef;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    Ssl, SslAcceptor, SslConnector, SslContextBuilder, SslMethod, SslSession, SslSessionCacheMode, SslVersion,
};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509Builder, X509NameBuilder, X509};
use std::future::Future;
use std::net::SocketAddr;
use std::os::unix::io::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_openssl::SslStream;

pub const CASES: &[Case] = &[
    Case { name: "handshake", full: 3000, quick: 600, run: |job| handshakes(job, false) },
    Case { name: "handshake_resumed", full: 4000, quick: 800, run: |job| handshakes(job, true) },
    Case { name: "echo_1", full: 50_000, quick: 10_000, run: |job| echoes(job, 1) },
    Case { name: "echo_50", full: 100_000, quick: 20_000, run: |job| echoes(job, 50) },
    Case { name: "bulk", full: 1024, quick: 128, run: blocks },
    Case { name: "handshake_1", full: 3000, quick: 600, run: |job| handshakes(job, false) },
    Case { name: "handshake_resumed_1", full: 4000, quick: 800, run: |job| handshakes(job, true) },
    Case { name: "echo_1_1", full: 50_000, quick: 10_000, run: |job| echoes(job, 1) },
    Case { name: "echo_50_1", full: 100_000, quick: 20_000, run: |job| echoes(job, 50) },
    Case { name: "bulk_1", full: 1024, quick: 128, run: blocks },
];

const VISITORS: usize = 8;
const MESSAGE: usize = 64;
const BLOCK: usize = 16 << 10;
const BLOCKS_OF_A_MIB: u64 = (1 << 20) / BLOCK as u64;
const CIPHER: &str = "TLS_AES_128_GCM_SHA256";

type Stream = SslStream<TcpStream>;
type Served = Pin<Box<dyn Future<Output = ()> + Send>>;
type Serve = fn(Stream) -> Served;

extern "C" {
    fn SSL_CTX_set_num_tickets(of: *mut openssl_sys::SSL_CTX, many: usize) -> libc::c_int;
}

fn choose(context: &mut SslContextBuilder) {
    context.set_min_proto_version(Some(SslVersion::TLS1_3)).expect("TLS 1.3");
    context.set_ciphersuites(CIPHER).expect("the cipher");
    context.set_groups_list("X25519").expect("the group");
}

fn own_certificate() -> (PKey<Private>, X509) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("P-256");
    let key = PKey::from_ec_key(EcKey::generate(&group).expect("a key")).expect("a key");
    let mut name = X509NameBuilder::new().expect("a name");
    name.append_entry_by_text("CN", "localhost").expect("a name");
    let name = name.build();
    let mut made = X509Builder::new().expect("a certificate");
    made.set_version(2).expect("a version");
    made.set_serial_number(&BigNum::from_u32(1).and_then(|n| n.to_asn1_integer()).expect("a number")).expect("a number");
    made.set_subject_name(&name).expect("a name");
    made.set_issuer_name(&name).expect("a name");
    made.set_not_before(&Asn1Time::days_from_now(0).expect("today")).expect("today");
    made.set_not_after(&Asn1Time::days_from_now(1).expect("tomorrow")).expect("tomorrow");
    made.set_pubkey(&key).expect("a key");
    let names = SubjectAlternativeName::new().dns("localhost").build(&made.x509v3_context(None, None));
    made.append_extension(names.expect("a host")).expect("a host");
    made.sign(&key, MessageDigest::sha256()).expect("a signature");
    (key, made.build())
}

fn server_of(key: &PKey<Private>, own: &X509, tickets: bool) -> SslAcceptor {
    let mut made = SslAcceptor::mozilla_modern_v5(SslMethod::tls()).expect("a context");
    choose(&mut made);
    made.set_private_key(key).expect("the key");
    made.set_certificate(own).expect("the certificate");
    made.set_session_cache_mode(SslSessionCacheMode::OFF);
    let made = made.build();
    if !tickets {
        assert_eq!(unsafe { SSL_CTX_set_num_tickets(made.context().as_ptr(), 0) }, 1);
    }
    made
}

/// One that keeps the newest of its sessions, and offers it once.
struct Client {
    connector: SslConnector,
    session: Arc<Mutex<Option<SslSession>>>,
}

impl Client {
    fn new(own: &X509, tickets: bool) -> Client {
        let session = Arc::new(Mutex::new(None));
        let mut made = SslConnector::builder(SslMethod::tls()).expect("a context");
        choose(&mut made);
        made.cert_store_mut().add_cert(own.clone()).expect("trust");
        if tickets {
            let kept = session.clone();
            made.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
            made.set_new_session_callback(move |_, newest| *kept.lock().expect("a lock") = Some(newest));
        }
        Client { connector: made.build(), session }
    }
    fn new_ssl(&self) -> Ssl {
        let mut ssl = self.connector.configure().and_then(|c| c.into_ssl("localhost")).expect("a connection");
        if let Some(earlier) = self.session.lock().expect("a lock").take() {
            unsafe { ssl.set_session(&earlier) }.expect("a session");
        }
        ssl
    }
}

/// What all connections have in common.
struct Place {
    resumes: bool,
    at: SocketAddr,
    clients: Vec<Client>,
}

impl Place {
    async fn new(tickets: bool, clients: usize, work: Serve) -> Arc<Place> {
        let (key, own) = own_certificate();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        send_at_once(&listener);
        let at = listener.local_addr().expect("an address");
        tokio::spawn(serve(listener, server_of(&key, &own, tickets), work));
        let clients = (0..clients).map(|_| Client::new(&own, tickets)).collect();
        Arc::new(Place { resumes: tickets, at, clients })
    }
    async fn connect(&self, which: usize, resumed: bool) -> Stream {
        let socket = TcpStream::connect(self.at).await.expect("a connection");
        socket.set_nodelay(true).expect("TCP_NODELAY");
        let mut stream = SslStream::new(self.clients[which].new_ssl(), socket).expect("a connection");
        Pin::new(&mut stream).connect().await.unwrap_or_else(|why| fail(&why.to_string()));
        require(stream.ssl().current_cipher().map(|c| c.name()) == Some(CIPHER), "another cipher than was asked for");
        require(stream.ssl().session_reused() == resumed, "a session was resumed that should not, or was not");
        stream
    }
    async fn visit(&self, which: usize, resumed: bool) {
        let mut stream = self.connect(which, resumed).await;
        stream.read_exact(&mut [0; 1]).await.expect("a byte");
        stream.shutdown().await.expect("a goodbye");
        expect_end(&mut stream).await;
    }
}

/// A task that panics would only be missed.
fn fail(why: &str) -> ! {
    eprintln!("{}", why);
    std::process::exit(1);
}

fn require(right: bool, what: &str) {
    if !right {
        fail(what);
    }
}

/// Connections inherit it.
fn send_at_once(listener: &TcpListener) {
    let yes: libc::c_int = 1;
    let size = std::mem::size_of_val(&yes) as libc::socklen_t;
    let at = &yes as *const libc::c_int as *const libc::c_void;
    let done = unsafe { libc::setsockopt(listener.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, at, size) };
    require(done == 0, "TCP_NODELAY");
}

async fn serve(listener: TcpListener, server: SslAcceptor, work: Serve) {
    loop {
        let (socket, _) = listener.accept().await.unwrap_or_else(|why| fail(&why.to_string()));
        let ssl = Ssl::new(server.context()).expect("a connection");
        tokio::spawn(async move {
            let mut stream = SslStream::new(ssl, socket).expect("a connection");
            Pin::new(&mut stream).accept().await.unwrap_or_else(|why| fail(&why.to_string()));
            work(stream).await;
        });
    }
}

async fn expect_end(from: &mut Stream) {
    let got = from.read(&mut [0; 1]).await;
    require(matches!(got, Ok(0)), "not the end");
}

fn greet(mut stream: Stream) -> Served {
    Box::pin(async move {
        require(stream.write_all(&[1]).await.is_ok(), "a write failed");
        expect_end(&mut stream).await;
        require(stream.shutdown().await.is_ok(), "no goodbye");
    })
}

fn share(n: u64, many: usize, which: usize) -> u64 {
    n / many as u64 + u64::from((which as u64) < n % many as u64)
}

async fn visits(here: Arc<Place>, n: u64) {
    let all: Vec<_> = (0..VISITORS)
        .map(|i| {
            let here = here.clone();
            tokio::spawn(async move {
                for _ in 0..share(n, VISITORS, i) {
                    here.visit(i, here.resumes).await;
                }
            })
        })
        .collect();
    for each in all {
        each.await.unwrap_or_else(|why| fail(&why.to_string()));
    }
}

fn handshakes(job: &Job, tickets: bool) {
    let its_job = job.clone();
    let root = async move {
        let here = Place::new(tickets, VISITORS, greet).await;
        for i in 0..VISITORS {
            here.visit(i, false).await;
        }
        measure(its_job, |n| visits(here.clone(), n)).await
    };
    run(job, root);
}

/// The root was spawned and runs on a worker.
fn run(job: &Job, root: impl Future<Output = (f64, f64)> + Send + 'static) {
    let runtime = runtime_of(job);
    let spawned = runtime.spawn(root);
    report(job, runtime.block_on(spawned).unwrap_or_else(|why| fail(&why.to_string())));
}

fn answer(mut stream: Stream) -> Served {
    Box::pin(async move {
        let mut one = [0; MESSAGE];
        while let Ok(got) = stream.read(&mut one).await {
            if got == 0 {
                return; // the run is over
            }
            require(stream.write_all(&one[..got]).await.is_ok(), "a write failed");
        }
    })
}

async fn ask(over: &mut Stream, n: u64) {
    let mut sent = [0; MESSAGE];
    let mut got = [0; MESSAGE];
    for left in (1..=n).rev() {
        sent[..8].copy_from_slice(&left.to_le_bytes());
        over.write_all(&sent).await.expect("a write");
        over.read_exact(&mut got).await.expect("an answer");
        require(got == sent, "an answer is not what was asked");
    }
}

type Streams = Arc<Vec<tokio::sync::Mutex<Stream>>>;

async fn connected(many: usize, work: Serve) -> (Arc<Place>, Streams) {
    let here = Place::new(false, 1, work).await;
    let mut streams = Vec::new();
    for _ in 0..many {
        streams.push(tokio::sync::Mutex::new(here.connect(0, false).await));
    }
    (here, Arc::new(streams))
}

async fn ask_all(streams: Streams, n: u64) {
    let many = streams.len();
    let all: Vec<_> = (0..many)
        .map(|i| {
            let streams = streams.clone();
            tokio::spawn(async move { ask(&mut *streams[i].lock().await, share(n, many, i)).await })
        })
        .collect();
    for each in all {
        each.await.unwrap_or_else(|why| fail(&why.to_string()));
    }
}

fn echoes(job: &Job, connections: usize) {
    let its_job = job.clone();
    run(job, async move {
        let (_here, streams) = connected(connections, answer).await;
        measure(its_job, |n| ask_all(streams.clone(), n)).await
    });
}

fn take_blocks(mut stream: Stream) -> Served {
    Box::pin(async move {
        let mut block = vec![0; BLOCK];
        let mut left = 0;
        while stream.read_exact(&mut block).await.is_ok() {
            let number = u64::from_le_bytes(block[..8].try_into().expect("eight"));
            require(left == 0 || number == left, "another block than was sent");
            left = number - 1;
            if left == 0 {
                require(stream.write_all(&block[..1]).await.is_ok(), "a write failed");
            }
        }
    })
}

async fn send_blocks(streams: Streams, n: u64) {
    let mut over = streams[0].lock().await;
    let mut block = vec![0; BLOCK];
    for left in (1..=n * BLOCKS_OF_A_MIB).rev() {
        block[..8].copy_from_slice(&left.to_le_bytes());
        over.write_all(&block).await.expect("a write");
    }
    over.read_exact(&mut block[..1]).await.expect("a byte");
}

fn blocks(job: &Job) {
    let its_job = job.clone();
    run(job, async move {
        let (_here, streams) = connected(1, take_blocks).await;
        measure(its_job, |n| send_blocks(streams.clone(), n)).await
    });
}
