//! Trusted certificates. Reading those of the system takes milliseconds, and much longer from a slow disk, so it is
//! done while the first request is prepared.

use crate::NetworkError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use rustls_native_certs::{CertificateResult, ErrorKind, load_certs_from_paths, load_native_certs};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Bytes that are read of a certificate file: those of a whole system take up a quarter of a mebibyte.
const MOST: u64 = 16 << 20;

/// The source of trusted certificates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrustedBy {
    /// A file or folders that the user names.
    User,
    /// The system.
    System,
    /// This program, as the system has none.
    Program,
}

/// Certificates of trusted authorities. They are read once, on first use.
#[derive(Clone)]
pub struct Trust {
    roots: Arc<Roots>,
    is_named: bool,
}

type Roots = LazyLock<Result<Read, NetworkError>, Box<dyn FnOnce() -> Result<Read, NetworkError> + Send>>;

/// Certificates that were read.
struct Read {
    by: TrustedBy,
    store: Arc<RootCertStore>,
    verifier: Arc<WebPkiServerVerifier>,
    /// Those that the user names, unparsed.
    named: Vec<CertificateDer<'static>>,
}

impl Default for Trust {
    /// The built-in certificates.
    fn default() -> Self {
        Trust::of(false, || Read::of(TrustedBy::Program, built_in(), Vec::new()))
    }
}

impl Trust {
    /// The system's certificates or, if it has none, the built-in ones.
    pub fn system() -> Self {
        Trust::of(false, || {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(load_native_certs().certs);
            match store.is_empty() {
                true => Read::of(TrustedBy::Program, built_in(), Vec::new()),
                false => Read::of(TrustedBy::System, store, Vec::new()),
            }
        })
    }

    /// Only the certificates in a file and in the files of folders. Each comes with the name of its variable.
    pub fn named(file: Option<(String, PathBuf)>, folders: Option<(String, Vec<PathBuf>)>) -> Self {
        Trust::of(true, move || {
            let mut certificates = Vec::new();
            if let Some((name, file)) = &file {
                certificates.extend(in_file(name, file)?);
            }
            if let Some((name, folders)) = &folders {
                let found = in_folders(name, folders);
                // As in curl, missing folders are ignored if there is a file.
                certificates.extend(if file.is_some() {
                    found.unwrap_or_default()
                } else {
                    found?
                });
            }
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(certificates.iter().cloned());
            Read::of(TrustedBy::User, store, certificates)
        })
    }

    /// Adds the certificates in a text (PEM).
    ///
    /// # Errors
    /// If one of them cannot be used, or there is none.
    pub fn and(&self, name: &str, pem: &str) -> Result<Self, NetworkError> {
        let wrong = |why: String| NetworkError::Certificates {
            name: name.to_owned(),
            why,
        };
        let mut more = RootCertStore::empty();
        let mut named = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            named.push(certificate.clone());
            more.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        if more.is_empty() {
            return Err(wrong("it contains no certificate".to_owned()));
        }
        let base = Arc::clone(&self.roots);
        Ok(Trust::of(self.is_named, move || {
            let read = LazyLock::force(&base).as_ref().map_err(Clone::clone)?;
            let mut store = RootCertStore::clone(&read.store);
            store.extend(more.roots);
            named.extend(read.named.iter().cloned());
            Read::of(read.by, store, named)
        }))
    }

    /// The number of certificates and their source; reads them.
    ///
    /// # Errors
    /// If those that the user names cannot be used.
    pub fn count(&self) -> Result<(usize, TrustedBy), NetworkError> {
        let read = self.read()?;
        Ok((read.store.len(), read.by))
    }

    /// Reads the certificates in the background, or at once if the user has named them, so that errors are reported.
    pub(crate) fn prepare(&self) -> Result<(), NetworkError> {
        if self.is_named {
            return self.read().map(|_| ());
        }
        let roots = Arc::clone(&self.roots);
        // If no thread can be started, they are read when a server presents its certificate.
        let _ = std::thread::Builder::new()
            .name("certificates".to_owned())
            .spawn(move || {
                LazyLock::force(&roots);
            });
        Ok(())
    }

    fn of(is_named: bool, read: impl FnOnce() -> Result<Read, NetworkError> + Send + 'static) -> Self {
        Trust {
            roots: Arc::new(LazyLock::new(Box::new(read))),
            is_named,
        }
    }

    fn read(&self) -> Result<&Read, NetworkError> {
        LazyLock::force(&self.roots).as_ref().map_err(Clone::clone)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("is_named", &self.is_named)
            .finish_non_exhaustive()
    }
}

impl Read {
    fn of(by: TrustedBy, store: RootCertStore, named: Vec<CertificateDer<'static>>) -> Result<Self, NetworkError> {
        let store = Arc::new(store);
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(&store), provider())
            .build()
            .map_err(|error| NetworkError::Client { why: error.to_string() })?;
        Ok(Read {
            by,
            store,
            verifier,
            named,
        })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let read = self.read().map_err(|error| Error::General(error.to_string()))?;
        let verifier = &read.verifier;
        match verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // A self-signed server certificate that the user names is accepted, as in curl. Its validity period was
            // checked before.
            Err(error) if is_of_authority(&error) && read.named.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            done => done,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Returns whether the only problem with a server's certificate is that it is an authority's.
fn is_of_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(why))) = error else {
        return false;
    };
    matches!(why.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// The cryptography for TLS.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
    Arc::clone(&PROVIDER)
}

fn built_in() -> RootCertStore {
    RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    }
}

/// The certificates in a file; an error if one of them is broken.
fn in_file(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let wrong = |why: &str| NetworkError::Certificates {
        name: name.to_owned(),
        why: format!("{}: {why}", file.display()),
    };
    // A relative path would depend on the project of the session.
    if !file.is_absolute() {
        return Err(wrong("expected an absolute path"));
    }
    // Checked before opening, which could block on a pipe.
    match std::fs::metadata(file) {
        Err(error) => return Err(wrong(&words(&error))),
        Ok(found) if found.is_dir() => return Err(wrong("this is a folder, which SSL_CERT_DIR names")),
        Ok(found) if !found.is_file() => return Err(wrong("expected a regular file")),
        Ok(found) if found.len() > MOST => return Err(wrong("the file is too large for certificates")),
        Ok(_) => {}
    }
    let CertificateResult { certs, errors, .. } = load_certs_from_paths(Some(file), None);
    if let Some(error) = errors.first() {
        return Err(wrong(&match &error.kind {
            ErrorKind::Io { inner, .. } => words(inner),
            ErrorKind::Pem(error) => format!("a certificate in it is broken ({error})"),
            other => format!("{other:?}"),
        }));
    }
    usable(certs).ok_or_else(|| wrong("it contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)"))
}

/// The certificates in folders; other files there are ignored.
fn in_folders(name: &str, folders: &[PathBuf]) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let absolute = || folders.iter().filter(|folder| folder.is_absolute());
    let found = absolute().flat_map(|folder| load_certs_from_paths(None, Some(folder)).certs);
    usable(found.collect()).ok_or_else(|| {
        let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let why = match (absolute().next(), absolute().find(|folder| folder.is_dir())) {
            (None, _) => "expected absolute paths",
            (_, None) => "no such folder",
            _ => "no file there holds a certificate in PEM form",
        };
        NetworkError::Certificates {
            name: name.to_owned(),
            why: format!("{}: {why}", shown.join(":")),
        }
    })
}

/// The certificates, if at least one is usable. Bundles of whole systems contain some of other kinds.
fn usable(certificates: Vec<CertificateDer<'static>>) -> Option<Vec<CertificateDer<'static>>> {
    let (added, _) = RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned());
    (added > 0).then_some(certificates)
}

/// A system error without its number.
fn words(error: &std::io::Error) -> String {
    let said = error.to_string();
    said.split(" (os error").next().unwrap_or(&said).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    /// A PEM certificate of an authority of this name.
    fn authority(name: &str) -> String {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn a_server_that_signs_for_itself_is_trusted_where_its_very_certificate_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.pem");
        let made = |year: i32| {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            params.self_signed(&KeyPair::generate().unwrap()).unwrap()
        };
        let (own, other, expired) = (made(4000), made(4000), made(2001));
        std::fs::write(&file, format!("{}{}", own.pem(), expired.pem())).unwrap();
        let trust = Trust::named(Some(("SSL_CERT_FILE".to_owned(), file)), None);
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000));
        let is_taken = |certificate: &rcgen::Certificate, host: &'static str| {
            let host = ServerName::try_from(host).unwrap();
            trust
                .verify_server_cert(certificate.der(), &[], &host, &[], now)
                .is_ok()
        };
        assert!(is_taken(&own, "localhost"));
        assert!(!is_taken(&own, "elsewhere"));
        assert!(!is_taken(&other, "localhost"));
        assert!(!is_taken(&expired, "localhost"));
    }

    fn of_file(path: &Path) -> Result<usize, String> {
        let trust = Trust::named(Some(("SSL_CERT_FILE".to_owned(), path.to_owned())), None);
        trust.count().map(|(count, _)| count).map_err(|error| error.to_string())
    }

    fn of_folders(folders: &[PathBuf]) -> Result<usize, String> {
        let trust = Trust::named(None, Some(("SSL_CERT_DIR".to_owned(), folders.to_vec())));
        trust.count().map(|(count, _)| count).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bundle_is_trusted_with_all_its_certificates_and_whatever_stands_between_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.pem");
        let key = KeyPair::generate().unwrap().serialize_pem();
        let text = format!(
            "# Ours\n{}\r\nSubject: two\n{}{key}{}",
            authority("one"),
            authority("two"),
            authority("three")
        );
        std::fs::write(&path, text).unwrap();
        assert_eq!(of_file(&path), Ok(3));
    }

    #[test]
    fn what_is_wrong_with_a_bundle_is_told_with_the_variable_and_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let good = authority("one");
        let broken = good.replace("-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n!!");
        for (name, content, expected) in [
            ("empty", "", "contains no certificate"),
            ("text", "no certificate\n", "contains no certificate"),
            (
                "garbage",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "contains no certificate",
            ),
            ("broken", &broken, "is broken"),
            ("second", &format!("{good}{broken}"), "is broken"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            let error = of_file(&path).unwrap_err();
            assert!(
                error.starts_with(&format!("SSL_CERT_FILE: {}: ", path.display())),
                "{error}"
            );
            assert!(error.contains(expected), "{name}: {error}");
        }
        for (path, expected) in [
            (folder.path().join("missing"), "no such file"),
            (folder.path().to_owned(), "this is a folder"),
            ("ca.pem".into(), "expected an absolute path"),
            ("/dev/null".into(), "expected a regular file"),
        ] {
            let error = of_file(&path).unwrap_err();
            assert!(
                error.contains(expected) && error.starts_with("SSL_CERT_FILE: "),
                "{error}"
            );
        }
    }

    #[test]
    fn folders_are_trusted_with_whatever_certificates_lie_there() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for made in [&one, &two] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::write(one.join("a.pem"), authority("one")).unwrap();
        std::os::unix::fs::symlink("a.pem", one.join("0123abcd.0")).unwrap();
        std::fs::write(one.join("README"), "Our authorities").unwrap();
        std::fs::write(two.join("b.crt"), format!("{}{}", authority("two"), authority("three"))).unwrap();
        assert_eq!(of_folders(std::slice::from_ref(&one)), Ok(1));
        assert_eq!(of_folders(&[one.clone(), folder.path().join("missing"), two]), Ok(3));
        for (folders, expected) in [
            (vec![folder.path().join("missing")], "no such folder"),
            (vec![folder.path().to_owned()], "no file there holds a certificate"),
            (vec!["certs".into()], "expected absolute paths"),
        ] {
            let error = of_folders(&folders).unwrap_err();
            assert!(
                error.starts_with("SSL_CERT_DIR: ") && error.contains(expected),
                "{error}"
            );
        }
        // With an existing file, since many systems set both.
        let file = one.join("a.pem");
        let both = |folder: PathBuf| {
            Trust::named(
                Some(("F".to_owned(), file.clone())),
                Some(("D".to_owned(), vec![folder])),
            )
        };
        assert_eq!(both("/missing".into()).count(), Ok((1, TrustedBy::User)));
    }

    #[test]
    fn what_a_setting_adds_is_trusted_beside_the_others() {
        let base = Trust::default();
        let (count, by) = base.count().unwrap();
        let more = base
            .and("ca", &format!("{}{}", authority("one"), authority("two")))
            .unwrap();
        assert_eq!(more.count(), Ok((count + 2, by)));
        for (pem, expected) in [
            ("", "ca: it contains no certificate"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ca: "),
        ] {
            let error = base.and("ca", pem).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
