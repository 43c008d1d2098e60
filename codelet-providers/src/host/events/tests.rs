use super::*;
use codelet_testkit::server::{chunk_frame, event_frame};
use proptest::prelude::*;

const PIECES: [&str; 3] = [
    r#"{"type":"message_start"}"#, r#"{"type":"ping"}"#, "{\"text\":\"größer\"}",
];

fn stream() -> Vec<u8> {
    let mut bytes: Vec<u8> = PIECES.iter().flat_map(|data| chunk_frame(data)).collect();
    // An unknown kind of event contains nothing of the answer.
    bytes.extend(event_frame(
        &[(":message-type", "event"), (":event-type", "metadata")],
        b"{}",
    ));
    bytes
}

#[test]
fn a_stream_says_the_same_wherever_it_is_cut() {
    let bytes = stream();
    for cut in 0..=bytes.len() {
        let mut framer = EventFramer::new();
        let mut frames = framer.push(&bytes[..cut]).unwrap();
        let is_between = cut == 0 || framer.pending() == 0;
        frames.extend(framer.push(&bytes[cut..]).unwrap());
        assert_eq!(frames, PIECES, "cut at {cut}");
        assert_eq!(framer.pending(), 0, "cut at {cut}, between frames: {is_between}");
    }
    let mut framer = EventFramer::new();
    let frames: Vec<String> = bytes.iter().flat_map(|byte| framer.push(&[*byte]).unwrap()).collect();
    assert_eq!(frames, PIECES, "byte by byte");
}

#[test]
fn a_byte_that_is_changed_anywhere_is_noticed() {
    let good = chunk_frame(PIECES[0]);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        let mut framer = EventFramer::new();
        // A larger length waits for data that never arrives, and yields no frame either.
        let came = framer.push(&bytes);
        assert!(
            came.is_err() || came == Ok(Vec::new()) && framer.pending() > 0,
            "byte {at}: {came:?}"
        );
    }
}

#[test]
fn an_exception_is_an_error_with_the_status_that_it_has_outside_of_a_stream() {
    let exception = |kind: &str, payload: &str| {
        let frame = event_frame(
            &[(":message-type", "exception"), (":exception-type", kind)],
            payload.as_bytes(),
        );
        let frames = EventFramer::new().push(&frame).unwrap();
        serde_json::from_str::<Value>(&frames[0]).unwrap()["error"].clone()
    };
    let throttled = exception(
        "throttlingException",
        r#"{"message":"Too many requests, please wait before trying again."}"#,
    );
    assert_eq!(throttled["code"], 429);
    assert_eq!(
        throttled["message"],
        "Too many requests, please wait before trying again."
    );
    assert_eq!(exception("modelStreamErrorException", "{}")["code"], 424);
    assert_eq!(exception("somethingNew", "no JSON")["message"], "no reason was given");
    let error = event_frame(
        &[
            (":message-type", "error"),
            (":error-code", "InternalFailure"),
            (":error-message", "sorry"),
        ],
        b"",
    );
    let frames = EventFramer::new().push(&error).unwrap();
    assert!(
        frames[0].contains("InternalFailure") && frames[0].contains("sorry"),
        "{frames:?}"
    );
}

#[test]
fn an_event_that_is_none_is_told_so() {
    let named = [(":message-type", "event"), (":event-type", "chunk")];
    for payload in ["", "{}", r#"{"bytes":"!"}"#, r#"{"bytes":"/w=="}"#] {
        let frame = event_frame(&named, payload.as_bytes());
        assert!(EventFramer::new().push(&frame).is_err(), "{payload}");
    }
    let other = event_frame(&[(":message-type", "song")], b"");
    assert!(EventFramer::new().push(&other).unwrap_err().contains("song"));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        let cut = cut.min(bytes.len());
        let mut framer = EventFramer::new();
        if framer.push(&bytes[..cut]).is_ok() {
            let _ = framer.push(&bytes[cut..]);
        }
    }
}
