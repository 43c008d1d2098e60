//! What stands in front of a server on loopback: TLS, and proxies that let through and note whom they were asked for.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The host for which certificates are made; nobody can resolve it.
pub const HOST: &str = "model.test";

/// An authority that nobody knows.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its certificate.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Listens with TLS in front of a server, with a certificate for [`HOST`] and `localhost`.
    pub fn in_front_of(&self, server: SocketAddr) -> SocketAddr {
        let names = [HOST, "localhost"].map(str::to_owned);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            );
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        listen(move |client| {
            let acceptor = acceptor.clone();
            async move {
                let mut client = acceptor.accept(client).await.ok()?;
                let mut server = TcpStream::connect(server).await.ok()?;
                copy_bidirectional(&mut client, &mut server).await.ok().map(drop)
            }
        })
    }
}

/// What a proxy was asked for: hosts and ports, and what it was sent to let somebody in.
pub type Seen = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// An HTTP proxy by which every host is this server. It may want this in `Proxy-Authorization`.
pub fn http_proxy(server: SocketAddr, wants: Option<&'static str>) -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let address = listen(move |mut client| {
        let seen = Arc::clone(&kept);
        async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.ok()?);
            }
            let head = String::from_utf8(head).ok()?;
            let (first, fields) = head.split_once("\r\n")?;
            let mut words = first.split(' ');
            let (method, target) = (words.next()?, words.next()?);
            let login = fields.lines().find_map(|field| {
                let (name, value) = field.split_once(": ")?;
                name.eq_ignore_ascii_case("proxy-authorization")
                    .then(|| value.to_owned())
            });
            let is_let_in = wants.is_none_or(|wants| login.as_deref() == Some(wants));
            let (host, path) = match target.strip_prefix("http://") {
                Some(rest) => rest.split_once('/')?,
                None => (target, ""),
            };
            seen.lock().unwrap().push((host.to_owned(), login));
            if !is_let_in {
                let refusal =
                    "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                return client.write_all(refusal.as_bytes()).await.ok();
            }
            let mut server = TcpStream::connect(server).await.ok()?;
            if method == "CONNECT" {
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
            } else {
                let head = format!("{method} /{path} HTTP/1.1\r\n{fields}");
                server.write_all(head.as_bytes()).await.ok()?;
            }
            copy_bidirectional(&mut client, &mut server).await.ok().map(drop)
        }
    });
    (address, seen)
}

/// A SOCKS5 proxy by which every host is this server.
pub fn socks_proxy(server: SocketAddr) -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let address = listen(move |mut client| {
        let seen = Arc::clone(&kept);
        async move {
            let mut greeting = [0; 2];
            client.read_exact(&mut greeting).await.ok()?;
            client.read_exact(&mut vec![0; greeting[1].into()]).await.ok()?;
            client.write_all(&[5, 0]).await.ok()?;
            // Version, command, nothing, the kind of address (a name), its length.
            let mut asked = [0; 5];
            client.read_exact(&mut asked).await.ok()?;
            let mut host = vec![0; asked[4].into()];
            client.read_exact(&mut host).await.ok()?;
            let port = client.read_u16().await.ok()?;
            let host = format!("{}:{port}", String::from_utf8(host).ok()?);
            seen.lock().unwrap().push((host, None));
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
            let mut server = TcpStream::connect(server).await.ok()?;
            copy_bidirectional(&mut client, &mut server).await.ok().map(drop)
        }
    });
    (address, seen)
}

/// Serves each connection until the tests end.
fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = Option<()>> + Send + 'static,
{
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client));
            }
        });
    });
    told.recv().unwrap()
}
