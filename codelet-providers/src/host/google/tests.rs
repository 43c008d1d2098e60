use super::*;
use codelet_testkit::server::Google;

#[test]
fn both_kinds_of_files_are_read_and_show_nothing_of_themselves() {
    let server = "https://oauth2.googleapis.com/token";
    for (file, hidden) in [(Google::service_account(server).0, 20), (Google::user(server).0, 2)] {
        let credentials = GoogleCredentials::read(&file).unwrap();
        assert_eq!(credentials.project(), Some("project-1"));
        assert_eq!(credentials.server().as_str(), server);
        let secrets = credentials.secrets();
        assert!(secrets.len() >= hidden, "{}", secrets.len());
        assert!(secrets.iter().all(|secret| file.contains(secret.as_str())));
        assert_eq!(format!("{credentials:?}"), "[credentials]");
    }
}

#[test]
fn a_file_that_is_of_no_use_is_told_why_and_nothing_else() {
    let account = |change: &dyn Fn(&mut Value)| {
        let mut file: Value = serde_json::from_str(&Google::service_account("https://t.example/token").0).unwrap();
        change(&mut file);
        GoogleCredentials::read(&file.to_string()).unwrap_err()
    };
    for (said, words) in [
        (GoogleCredentials::read("{").unwrap_err(), "not valid JSON"),
        (GoogleCredentials::read("[]").unwrap_err(), "has no type"),
        (
            account(&|file| file["type"] = json!("external_account")),
            "external_account, which is not supported: set $CLOUDSDK_AUTH_ACCESS_TOKEN",
        ),
        (account(&|file| file["client_email"] = json!("")), "has no client_email"),
        (
            account(&|file| {
                file["private_key"] = json!("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
            }),
            "not a valid RSA key",
        ),
        (
            account(&|file| file["private_key"] = json!("s3cret")),
            "not a valid RSA key",
        ),
        (
            account(&|file| file["token_uri"] = json!("http://thief.example/token")),
            "token_uri",
        ),
        (
            account(&|file| file["token_uri"] = json!("file:///etc/passwd")),
            "token_uri",
        ),
    ] {
        assert!(
            said.contains(words) && !said.contains("s3cret") && !said.contains("thief"),
            "{said}"
        );
    }
}
