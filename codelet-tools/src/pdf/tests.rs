#![allow(clippy::unwrap_used)]

use super::*;
use std::time::{Duration, Instant};

/// PDFs of several makers; `tests/pdf/README.md` lists them.
const FILES: [(&str, &[u8]); 8] = [
    ("chromium", include_bytes!("../../tests/pdf/chromium.pdf")),
    ("form", include_bytes!("../../tests/pdf/form.pdf")),
    ("fpdf2", include_bytes!("../../tests/pdf/fpdf2.pdf")),
    ("matplotlib", include_bytes!("../../tests/pdf/matplotlib.pdf")),
    ("no-password", include_bytes!("../../tests/pdf/no-password.pdf")),
    ("reportlab", include_bytes!("../../tests/pdf/reportlab.pdf")),
    ("typst", include_bytes!("../../tests/pdf/typst.pdf")),
    ("weasyprint", include_bytes!("../../tests/pdf/weasyprint.pdf")),
];

fn bytes(name: &str) -> Vec<u8> {
    FILES.iter().find(|(known, _)| *known == name).unwrap().1.to_vec()
}

fn all(bytes: Vec<u8>) -> Vec<String> {
    pages(bytes, 1, usize::MAX, usize::MAX).unwrap().texts
}

/// The only page of a file.
fn page(name: &str) -> String {
    let [text] = <[String; 1]>::try_from(all(bytes(name))).unwrap();
    text
}

/// A file with one page, which shows this with the font `F`; its objects from number 6 are `more`.
fn made(content: &str, font: &str, more: &[&str]) -> Vec<u8> {
    let content = format!("<</Length {}>>stream\n{content}\nendstream", content.len());
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 4 0 R>>/XObject<</X 6 0 R>>>>/Contents 5 0 R>>",
        font,
        &content,
    ];
    file(objects.iter().chain(more))
}

fn file<'a>(objects: impl Iterator<Item = &'a &'a str>) -> Vec<u8> {
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    let mut count = 1;
    for object in objects {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{count} 0 obj\n{object}\nendobj\n");
        count += 1;
    }
    let at = file.len();
    file += &format!("xref\n0 {count}\n{table}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{at}\n%%EOF");
    file.into_bytes()
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

const PARAGRAPH: &str = "\
The office files a fine report about
workflows every morning, and affluent staff
waffle over it until noon. The office files a
fine report about workflows every morning,
and affluent staff waffle over it until noon.";

#[test]
fn columns_follow_each_other_and_a_table_stays_one() {
    let columns = [PARAGRAPH; 4].join("\n\n");
    let table = "Rust 1,234 fit\nGo       sea";
    assert_eq!(
        page("chromium"),
        format!("File\n\n{columns}\n\n{table}\n\nпривет 1 שלום")
    );
    let text = page("weasyprint");
    assert!(
        text.contains("morning, and\naffluent staff waffle over it until noon.\nThe office"),
        "{text}"
    );
    assert!(text.ends_with(&format!("\n\n{table}\n\nпривет 1 שלום")), "{text}");
}

#[test]
fn fonts_without_widths_are_set_in_columns_too() {
    let pages = all(bytes("reportlab"));
    assert_eq!(pages.len(), 2);
    assert!(
        pages[0].starts_with("Annual report, page 1\n\n Section 1\n The office files a fine report"),
        "{}",
        pages[0]
    );
    // The last section of the first column, and the first one of the second.
    let order = ["Section 1\n", "Section 4\n", "Section 5\n", "Section 8\n"].map(|part| pages[0].find(part));
    assert!(order.is_sorted() && order[0].is_some(), "{order:?}: {}", pages[0]);
    let row = |name: &str| pages[1].lines().find(|line| line.contains(name)).unwrap();
    assert_eq!(
        row("Item").split_whitespace().collect::<Vec<_>>(),
        ["Item", "Pieces", "Price"]
    );
    assert_eq!(row("Apples").find("3.50"), row("Pears").find("4.25"), "{}", pages[1]);
    let rotated = include_bytes!("../../tests/pdf/rotated.pdf");
    assert_eq!(all(rotated.to_vec()), pages[..1]);
}

#[test]
fn other_scripts_turned_text_and_empty_cells_are_read() {
    let pages = all(bytes("fpdf2"));
    assert_eq!(pages[0], "Größe — “quotes”\n\nПривет\n\nx² ≤ ∞\n\nsideways");
    let lines: Vec<&str> = pages[1].lines().filter(|line| !line.is_empty()).collect();
    let [names, full, sparse] = lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(names.split_whitespace().collect::<Vec<_>>(), ["Name", "City", "Age"]);
    for (cell, other) in [("Paris", "Oslo"), ("34", "7")] {
        assert_eq!(full.find(cell), sparse.find(other), "{}", pages[1]);
    }
}

#[test]
fn fonts_that_are_drawings_formulas_and_form_fields_are_read() {
    let plot = page("matplotlib");
    assert!(
        plot.contains("A plot of speed\n") && plot.ends_with("\n\nmetres"),
        "{plot}"
    );
    let paper = page("typst");
    assert!(
        paper.starts_with("Paper\nAn office of waffles.\n") && paper.contains("∑ 𝑥2𝑖 ≤ ∫ 𝑓"),
        "{paper}"
    );
    for name in ["form", "no-password"] {
        assert_eq!(page(name), "A form, filled in:\n\nforty-two");
    }
}

#[test]
fn names_of_glyphs_say_what_codes_are() {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/X/FirstChar 1/Widths[600 600 600 600 600 600 600]\
        /Encoding<</Differences[1/ffi/eacute/uni20AC/A.small/f_l/u1F600/g17]>>>>";
    let text = all(made("BT /F 12 Tf 50 700 Td <01020304050607> Tj ET", font, &[]));
    assert_eq!(text, ["ffié€Afl😀\u{fffd}"]);
}

#[test]
fn the_encoding_in_a_type_1_program_counts() {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/X/FirstChar 11/Widths[600 600]/FontDescriptor 7 0 R>>";
    let program = "%!PS\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 11 /ff put\n\
        dup 12 /Omega put\nreadonly def\ncurrentfile eexec";
    let program = format!("<</Length {}>>stream\n{program}\nendstream", program.len());
    let more = ["null", "<</Type/FontDescriptor/FontFile 8 0 R>>", program.as_str()];
    assert_eq!(all(made("BT /F 12 Tf 50 700 Td <0b0c> Tj ET", font, &more)), ["ffΩ"]);
}

#[test]
fn gaps_are_spaces_and_kerning_is_none() {
    let shown = "BT /F 12 Tf 50 700 Td [(T) 70 (able) -278 (of) -2500 (data)] TJ ET";
    assert_eq!(all(made(shown, HELVETICA, &[])), ["Table of   data"]);
    // Bold by printing twice.
    let twice = "BT /F 12 Tf 50 700 Td (bold) Tj ET BT /F 12 Tf 50.3 700 Td (bold) Tj ET";
    assert_eq!(all(made(twice, HELVETICA, &[])), ["bold"]);
    let replaced = "BT /F 12 Tf 50 700 Td (a) Tj /Span<</ActualText(ffi)>>BDC (xy) Tj EMC (b) Tj ET";
    assert_eq!(all(made(replaced, HELVETICA, &[])), ["affib"]);
}

#[test]
fn only_the_pages_that_are_wanted_are_read() {
    let all = all(bytes("reportlab"));
    let second = Pages {
        total: 2,
        texts: all[1..].to_vec(),
    };
    assert_eq!(pages(bytes("reportlab"), 2, 5, usize::MAX), Ok(second));
    let first = Pages {
        total: 2,
        texts: all[..1].to_vec(),
    };
    assert_eq!(pages(bytes("reportlab"), 1, 5, 10), Ok(first));
    assert_eq!(pages(bytes("reportlab"), 3, 5, 10).unwrap().texts, [""; 0]);
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let encrypted = include_bytes!("../../tests/pdf/password.pdf").to_vec();
    assert_eq!(pages(encrypted, 1, 1, 1), Err("it is encrypted and needs a password"));
    assert_eq!(pages(b"%PDF-1.7\nwords".to_vec(), 1, 1, 1), Err("it is damaged"));
    let scan = include_bytes!("../../tests/pdf/scan.pdf").to_vec();
    assert_eq!(all(scan), [""]);
}

#[test]
fn circles_and_depth_come_to_an_end() {
    let shown = "BT /F 12 Tf 50 700 Td (before) Tj ET /X Do";
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 11>>stream\n/X Do /X Do\nendstream";
    assert_eq!(all(made(shown, HELVETICA, &[form])), ["before"]);
    // Each form shows the next one ten times.
    let forms: Vec<String> = (6..40)
        .map(|number| {
            let content = "/X Do ".repeat(10);
            format!(
                "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {} 0 R>>>>/Length 60>>stream\n{content}\nendstream",
                number + 1
            )
        })
        .collect();
    let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
    let began = Instant::now();
    assert_eq!(all(made(shown, HELVETICA, &forms)), ["before"]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let deep = format!("{} (x) TJ BT /F 12 Tf 50 700 Td (after) Tj ET", "[".repeat(300_000));
    let _ = all(made(&deep, HELVETICA, &[]));
    let kids = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[2 0 R 2 0 R]>>",
    ];
    let empty = pages(file(kids.iter()), 1, 1, 1);
    assert!(empty.is_err() || empty.unwrap().total == 0);
}

/// Every file is cut at each fiftieth, and has bytes changed in 100 ways; nothing panics or takes long.
#[test]
fn damaged_files_are_read_as_far_as_they_go_or_refused() {
    let mut random = fastrand::Rng::with_seed(30);
    let mut longest = Duration::ZERO;
    let mut read = 0;
    for (_, whole) in FILES {
        let cut = (0..50).map(|part| whole[..whole.len() * part / 50].to_vec());
        let changed: Vec<Vec<u8>> = (0..100)
            .map(|_| {
                let mut bytes = whole.to_vec();
                for _ in 0..random.usize(1..20) {
                    let at = random.usize(..bytes.len());
                    bytes[at] = random.u8(..);
                }
                bytes
            })
            .collect();
        for bytes in cut.chain(changed) {
            let began = Instant::now();
            read += usize::from(pages(bytes, 1, 10, 50_000).is_ok());
            longest = longest.max(began.elapsed());
        }
    }
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    assert!(read > FILES.len() * 100 / 2, "{read}");
}

#[test]
fn the_last_of_ten_thousand_pages_is_reached_directly() {
    let count = 10_000;
    let kids: String = (0..count).map(|at| format!("{} 0 R ", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {count}/Kids[{kids}]>>"),
        HELVETICA.to_owned(),
    ];
    for at in 0..count {
        let shown = format!("BT /F 12 Tf 50 700 Td (page {}) Tj ET", at + 1);
        let contents = 5 + 2 * at;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/Resources<</Font<</F 3 0 R>>>>/Contents {contents} 0 R>>"
        ));
        objects.push(format!("<</Length {}>>stream\n{shown}\nendstream", shown.len()));
    }
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let found = pages(file(objects.iter()), count, 5, 50_000).unwrap();
    assert_eq!((found.total, &found.texts[..]), (count, &["page 10000".to_owned()][..]));
}
