use super::*;
use std::time::Duration;

fn keys(session: Option<&str>) -> AwsKeys {
    AwsKeys {
        id: "AKIDEXAMPLE".to_owned(),
        secret: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        session: session.map(Secret::new),
    }
}

/// 2015-08-30T12:36:00Z.
fn then() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160)
}

/// From AWS' published test suite for Signature Version 4: `get-vanilla`, `get-vanilla-with-session-token`,
/// `post-vanilla`, `get-vanilla-query-order-encoded`, and the rule of `double-encode-path` in its canonical form.
#[test]
fn signatures_are_those_of_the_published_tests() {
    let token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
    for (method, path, session, signature) in [
        (
            "GET",
            "/",
            None,
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "GET",
            "/",
            Some(token),
            "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
        ),
        (
            "POST",
            "/",
            None,
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "GET",
            "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            None,
            "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
        ),
    ] {
        let url = Url::parse(&format!("https://example.amazonaws.com{path}")).unwrap();
        let request = Signed {
            method,
            url: &url,
            headers: &[],
            body: &[],
        };
        let scope = Scope {
            region: "us-east-1",
            service: "service",
            at: then(),
        };
        let headers = request.headers(&keys(session), &scope).unwrap();
        let authorization = headers["authorization"].to_str().unwrap();
        assert!(
            authorization.ends_with(&format!("Signature={signature}")),
            "{method} {path}: {authorization}"
        );
        assert_eq!(headers["x-amz-date"], "20150830T123600Z");
        assert!(headers["authorization"].is_sensitive());
    }
}

#[test]
fn a_body_in_slices_is_signed_as_the_whole() {
    let url = Url::parse("https://bedrock-runtime.us-east-1.amazonaws.com/model/a%2Fb:0/invoke").unwrap();
    let sign = |body: &[Bytes]| {
        let request = Signed {
            method: "POST",
            url: &url,
            headers: &[("content-type", "application/json")],
            body,
        };
        let scope = Scope {
            region: "us-east-1",
            service: "bedrock",
            at: then(),
        };
        request.headers(&keys(None), &scope).unwrap()["authorization"].clone()
    };
    let whole = sign(&[Bytes::from_static(b"{\"a\":1}")]);
    assert_eq!(
        whole,
        sign(&[Bytes::from_static(b"{\"a\""), Bytes::new(), Bytes::from_static(b":1}")])
    );
    assert_ne!(whole, sign(&[Bytes::from_static(b"{\"a\":2}")]));
}

const CREDENTIALS: &str = "\u{feff}# mine\r
[default]\r
aws_access_key_id = AKIAFIRST\r
aws_secret_access_key=first/secret+key   # from the console\r
\r
[ work ]
aws_access_key_id = AKIAWORK
  nested = no
aws_secret_access_key = work-secret
aws_session_token = work-token==
[broken
aws_access_key_id = AKIABROKEN
";
const CONFIG: &str = "
[default]
region = us-east-1
[profile work]
region=eu-west-1
s3 =
    region = nowhere
[profile sso]
sso_session = corp
region = us-west-2
[sso-session corp]
sso_start_url = https://corp.example
[profile role]
role_arn = arn:aws:iam::1:role/r
source_profile = default
aws_access_key_id = AKIASOURCE
aws_secret_access_key = source
[profile tool]
credential_process = /bin/tool
[work]
region = not-a-profile
";

#[test]
fn profiles_are_read_as_awss_own_tools_read_them() {
    let read = |name: &str| profile(CREDENTIALS, CONFIG, name);
    let default = read("default");
    let keys = default.keys.clone().unwrap();
    assert_eq!(
        (keys.id.as_str(), keys.secret.reveal(), keys.session),
        ("AKIAFIRST", "first/secret+key", None)
    );
    assert_eq!(default.region.as_deref(), Some("us-east-1"));
    let work = read("work");
    let keys = work.keys.clone().unwrap();
    assert_eq!((keys.id.as_str(), keys.secret.reveal()), ("AKIAWORK", "work-secret"));
    assert_eq!(keys.session.unwrap().reveal(), "work-token==");
    assert_eq!(work.region.as_deref(), Some("eu-west-1"));
    for (name, from) in [
        ("sso", "single sign-on"),
        ("role", "another role (role_arn)"),
        ("tool", "a program (credential_process)"),
    ] {
        let profile = read(name);
        assert_eq!(
            (profile.keys, profile.elsewhere, profile.is_there),
            (None, Some(from), true),
            "{name}"
        );
    }
    assert_eq!(read("nobody"), Profile::default());
    assert_eq!(
        format!("{:?}", read("work")).matches("work-").count(),
        0,
        "keys are not shown"
    );
}
