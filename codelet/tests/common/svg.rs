//! Screens of a terminal as one animated picture.

use std::fmt::Write as _;

/// Points of a character cell, in the picture's units.
const CELL: (f64, f64) = (8.4, 18.0);
const FONT: f64 = 14.0;
const MARGIN: f64 = 14.0;
/// How long each screen is shown, in seconds.
const SHOWN: f64 = 3.0;
/// The text and the background, and the sixteen colours of a dark terminal.
const TEXT: &str = "#d7dae0";
const BACKGROUND: &str = "#16181d";
const COLOURS: [&str; 16] = [
    "#3b4048", "#ff6b6b", "#7ec77b", "#e5c07b", "#6fb3ff", "#d58fe8", "#5cc9d6", "#d7dae0", "#7f8792", "#ff8f8f",
    "#9ee09b", "#f2d49b", "#96c9ff", "#e6b3f2", "#8fdfe8", "#ffffff",
];

/// The screens one after the other, each for a few seconds; the last one alone for whoever wants no motion.
pub fn svg(title: &str, screens: &[vt100::Screen]) -> String {
    let (rows, columns) = screens.first().map_or((1, 1), |screen| screen.size());
    let width = f64::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(rows) * CELL.1 + 2.0 * MARGIN;
    let count = screens.len().max(1);
    let share = 100.0 / count as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<style>\n\
         text {{ font: {FONT}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; \
         fill: {TEXT}; white-space: pre; }}\n\
         .b {{ font-weight: 700; }} .d {{ opacity: .6; }} .i {{ font-style: italic; }} .u {{ text-decoration: underline; }}\n\
         .s {{ opacity: 0; animation: shown {:.1}s step-end infinite; }}\n\
         @keyframes shown {{ 0% {{ opacity: 1; }} {share:.3}% {{ opacity: 0; }} }}\n\
         @media (prefers-reduced-motion: reduce) {{ .s {{ animation: none; }} .s:last-child {{ opacity: 1; }} }}\n\
         </style>\n<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{BACKGROUND}\"/>\n",
        escaped(title),
        SHOWN * count as f64,
    );
    for (number, screen) in screens.iter().enumerate() {
        let delay = SHOWN * number as f64;
        let _ = writeln!(svg, "<g class=\"s\" style=\"animation-delay: {delay:.1}s\">");
        for row in 0..rows {
            draw(&mut svg, screen, row, columns);
        }
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// What can be read on the screens of a picture, row by row, each screen behind a line of its own.
pub fn words(svg: &str) -> String {
    let mut out = String::new();
    let mut row = "";
    for line in svg.lines() {
        if line.starts_with("<g ") {
            out.push_str("\n---");
            row = "";
            continue;
        }
        let Some(text) = line.strip_prefix("<text x=\"") else {
            continue;
        };
        let pieces: Vec<&str> = text.splitn(3, '"').collect();
        let [_, _, behind] = pieces[..] else { continue };
        let (at, behind) = behind.trim_start_matches(" y=\"").split_once('"').unwrap_or_default();
        let words = behind.split_once('>').map_or("", |(_, words)| words);
        out.push(if at == row { ' ' } else { '\n' });
        out.push_str(words.trim_end_matches("</text>"));
        row = at;
    }
    out
}

/// One row: a piece of text for each run of cells that look alike.
fn draw(svg: &mut String, screen: &vt100::Screen, row: u16, columns: u16) {
    let mut run = String::new();
    let mut look = String::new();
    let mut from = 0;
    let flush = |svg: &mut String, run: &str, look: &str, from: u16| {
        if !run.trim().is_empty() {
            let x = MARGIN + f64::from(from) * CELL.0;
            let y = MARGIN + f64::from(row) * CELL.1 + FONT;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\"{look}>{}</text>",
                escaped(run.trim_end())
            );
        }
    };
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let contents = if cell.has_contents() { cell.contents() } else { " " };
        let next = attributes(cell);
        // What may be wider than a cell begins a run, so that nothing behind it is moved.
        if next != look || !contents.is_ascii() || run.chars().last().is_some_and(|last| !last.is_ascii()) {
            flush(svg, &run, &look, from);
            (run, look, from) = (String::new(), next, column);
        }
        run.push_str(contents);
    }
    flush(svg, &run, &look, from);
}

fn attributes(cell: &vt100::Cell) -> String {
    let mut classes = Vec::new();
    for (is_set, class) in [
        (cell.bold(), "b"),
        (cell.dim(), "d"),
        (cell.italic(), "i"),
        (cell.underline(), "u"),
    ] {
        if is_set {
            classes.push(class);
        }
    }
    let mut look = String::new();
    if !classes.is_empty() {
        let _ = write!(look, " class=\"{}\"", classes.join(" "));
    }
    // A property of the style is stronger than the rule for all text.
    match cell.fgcolor() {
        vt100::Color::Default => {}
        vt100::Color::Idx(number) => {
            if let Some(colour) = COLOURS.get(usize::from(number)) {
                let _ = write!(look, " style=\"fill:{colour}\"");
            }
        }
        vt100::Color::Rgb(red, green, blue) => {
            let _ = write!(look, " style=\"fill:#{red:02x}{green:02x}{blue:02x}\"");
        }
    }
    look
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
