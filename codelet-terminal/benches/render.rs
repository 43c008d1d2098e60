//! Rendering costs: streamed Markdown, plain text, code, a tool's whole output, the slowest single push, and the whole
//! path from events to terminal output.
#![allow(missing_docs, clippy::unwrap_used)]

use codelet_agent::event::Event;
use codelet_context::body::Body;
use codelet_terminal::finished::Finished;
use codelet_terminal::render::{Background, Look, Markdown, Renderer, Role, Styles, Unfolding};
use codelet_terminal::screen::{Frame, Screen};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use std::time::Duration;

const TORTURE: &str = include_str!("../tests/markdown/torture.md");
/// Maximum text per frame when a session is replayed.
const FRAME: usize = 64 * 1024;
/// Maximum text finished per frame.
const DRAWN: usize = 16 * 1024;
const ALL: usize = 10_000_000;

fn main() {
    divan::main();
}

fn look() -> Look {
    Look::new(100, Styles::Colour, Background::Dark)
}

fn text(kind: &str, bytes: usize) -> String {
    let unit = match kind {
        "torture" => TORTURE.to_owned(),
        "prose" => "The engine keeps the conversation small, and **every** removal can be read back with `Recall`.\n\n"
            .to_owned(),
        "plain" => "A line of plain words that says nothing in particular and goes on for a while.\n".to_owned(),
        "line" => "words without an end of the line and ".to_owned(),
        "code" => format!(
            "```rust\n{}```\n\n",
            "    let name = self.parts.get(index).map(|part| part.body.as_str()); // why\n".repeat(200)
        ),
        "table" => format!(
            "| a | b | c |\n|---|---|---|\n{}\n",
            "| some words | `code` and more of it | 12,345 |\n".repeat(500)
        ),
        other => unreachable!("{other}"),
    };
    unit.repeat(bytes / unit.len() + 1)
}

/// Streamed in chunks like a model's output.
#[divan::bench(args = ["torture", "prose", "plain", "line", "code", "table"], sample_count = 5, sample_size = 1)]
fn stream(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind, ALL);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut markdown = Markdown::new(look());
        let mut lines = 0;
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.floor_char_boundary(48).max(1));
            lines += markdown.push(part).len();
            rest = more;
        }
        lines + markdown.finish().len()
    });
}

/// One frame's worth at once: this must stay below 16 ms.
#[divan::bench(args = ["torture", "prose", "plain", "line", "code", "table"], sample_count = 100, sample_size = 1)]
fn push_of_64_kb(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind, FRAME);
    let frame = &text[..text.floor_char_boundary(FRAME)];
    bencher
        .counter(BytesCount::of_str(frame))
        .with_inputs(|| Markdown::new(look()))
        .bench_local_values(|mut markdown| black_box(markdown.push(frame)).len());
}

/// The preview of an open block in each frame, at its longest.
#[divan::bench(args = ["line", "table", "code"])]
fn pending(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind, 12_000);
    let mut markdown = Markdown::new(look());
    let _ = markdown.push(&text[..12_000]);
    bencher.bench(|| markdown.pending().len());
}

/// A tool's whole output, unfolded.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn unfold_10_mb(bencher: Bencher<'_, '_>) {
    let text =
        Body::new("src/main.rs:12:\tlet x = compute(all, of, them); -- some output of a tool\n".repeat(ALL / 72));
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        let mut unfolding = Unfolding::new("Bash", text.clone(), Role::Text);
        let mut lines = 0;
        while let Some(more) = unfolding.next_lines(&look()) {
            lines += more.len();
        }
        lines
    });
}

/// The rows below the finished lines, as a session draws them.
fn frame(renderer: &Renderer, now: Duration) -> Frame {
    let mut rows = renderer.live(20, now);
    rows.push("› ".into());
    rows.push(renderer.status(now));
    Frame {
        cursor: Some((0, 2)),
        rows,
    }
}

/// A streaming answer, from events to terminal output: each frame holds what arrived since the last one, up to the
/// maximum per frame.
#[divan::bench(args = ["torture", "prose", "plain", "line", "code", "table"], sample_count = 5, sample_size = 1)]
fn shown(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind, ALL);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut renderer = Renderer::new(look());
        let mut screen = Screen::new(std::io::sink(), (101, 30));
        let mut finished = Finished::default();
        let mut now = Duration::ZERO;
        let mut rest = text.as_str();
        while !rest.is_empty() || !finished.is_empty() {
            let mut bytes = 0;
            while bytes < DRAWN && !rest.is_empty() {
                let (part, more) = rest.split_at(rest.floor_char_boundary(48).max(1));
                finished.extend(renderer.on(&Event::Text(part.to_owned()), now));
                (rest, bytes) = (more, bytes + part.len());
            }
            now += Duration::from_millis(1);
            screen.draw(&finished.next(DRAWN), frame(&renderer, now)).unwrap();
        }
    });
}

/// A frame with the maximum of finished text, from events to terminal output: must stay far below 16 ms.
#[divan::bench(args = ["torture", "prose", "plain", "line", "code", "table"], sample_count = 100, sample_size = 1)]
fn one_frame(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind, DRAWN);
    bencher
        .with_inputs(|| (Renderer::new(look()), Screen::new(std::io::sink(), (101, 30))))
        .bench_local_values(|(mut renderer, mut screen)| {
            let mut finished = Finished::default();
            finished.extend(renderer.on(&Event::Text(text.clone()), Duration::ZERO));
            screen
                .draw(&finished.next(usize::MAX), frame(&renderer, Duration::ZERO))
                .unwrap();
            renderer
        });
}
