//! What the first line of an answer says in another language than English: that the user has not let the call be made, or
//! that it failed. A few words of each language are known; what they do not settle stays open.

use super::HEAD;
use memchr::memmem;

/// Words of a line that are looked at.
const WORDS: usize = 16;
/// Where the user, or what was refused, stands at the latest.
const EARLY: usize = 8;
/// Words between the user and what the user did.
const BETWEEN: usize = 6;

/// What such a line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Abroad {
    /// The user has not let the call be made; or, if it is a stop, be made to its end.
    Refused { is_stop: bool },
    /// It failed, or was refused by nobody knows whom.
    Failed,
}

/// How the words begin that mean the user.
#[rustfmt::skip]
const USERS: &[&str] = &[
    "anvendar", "användar", "benutzer", "nutzer", "anwender", "bruger", "bruker", "felhasznál", "gebruiker", "kullanıcı",
    "käyttäj", "pengguna", "utent", "utilisat", "utilizador", "utilizator", "usuari", "usuári", "uživatel", "użytkowni",
    "χρήστη", "корисник", "користувач", "пользовател", "потребител", "המשתמש", "المستخدم",
];
/// How the words begin that mean no.
#[rustfmt::skip]
const NOES: &[&str] = &[
    // German, Dutch, and the north.
    "abgelehnt", "ablehn", "lehnt", "verweiger", "zurückgewiesen", "untersagt", "geweiger", "weiger", "afgewezen",
    "avvisa", "avvist", "avslå", "avslog", "nekad", "nekat", "nektet", "afvis", "nægte", "hylkä", "hylät", "kielsi",
    "kiels",
    // Romance.
    "rechaz", "deneg", "rehus", "refus", "refuz", "rejet", "rejeit", "recus", "rifiut", "negato", "negata", "negad",
    "negó", "respin", "declin", "déclin",
    // Slavic, Greek, and others.
    "odrzuc", "odmów", "odmówi", "odmít", "zamít", "отклон", "отказ", "запре", "відхил", "відмов", "απορρ", "αρνήθ",
    "reddet", "redded", "elutas", "ditolak", "menolak", "דחה", "סירב", "נדחה", "رفض",
];
/// How the words begin that mean a stop.
#[rustfmt::skip]
const STOPS: &[&str] = &[
    "abgebroch", "brach", "annul", "anulow", "anuleaz", "anulat", "avbröt", "avbrut", "avbrutt", "avbrøt", "afbrudt",
    "cancelad", "cancelar", "canceló", "cancelou", "geannuleer", "interrump", "interromp", "interrott", "zruš", "отмен",
    "прерв", "скасов", "iptal", "megszakít", "dibatalkan", "peruut",
];
/// What stands between somebody and what is not wanted: `did not allow`.
const NOTS: &[&str] = &[
    "no", "nicht", "ne", "pas", "não", "non", "niet", "inte", "ikke", "nie", "не", "nu", "ei",
];
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    "accept", "acept", "aceit", "accett", "allow", "aprob", "aprov", "approuv", "approv", "autori", "consent", "concedi",
    "erlaub", "genehm", "gestatt", "godkän", "godkend", "godkjen", "permit", "permes", "permett", "quier", "quis",
    "souhait", "tillåt", "tillad", "tillat", "toegestaan", "goedgek", "veut", "voul", "wollte", "will", "zugestimmt",
    "zugelass", "zezwol", "zgodz", "разреш", "одобр", "дозвол",
];
/// What stands before who has done it.
const BY: &[&str] = &[
    "af", "av", "da", "dal", "dall", "dalla", "de", "della", "door", "durch", "oleh", "par", "pela", "pelo", "por",
    "przez", "od", "vom", "von",
];
const ARTICLES: &[&str] = &[
    "de", "dem", "den", "der", "die", "el", "het", "il", "l", "la", "le", "o", "a",
];
/// The user as who has done it, where that takes no other word.
const BY_USER: &[&str] = &[
    "användaren",
    "käyttäjä",
    "uživatelem",
    "користувачем",
    "пользователем",
    "brukeren",
    "brugeren",
];
/// What makes the user the one that was refused: `Der Benutzer wurde abgelehnt`.
const SUFFERED: &[&str] = &[
    "blev", "ble", "est", "estado", "fue", "foi", "fu", "sido", "stato", "stata", "vart", "werd", "wird", "worden",
    "wurde", "został", "została", "è", "été", "był", "была", "был", "byl",
];
/// How words end that say by themselves what was done to somebody: `Usuario rechazado`.
#[rustfmt::skip]
const PARTICIPLES: &[&str] = &[
    "ado", "ada", "ato", "ata", "é", "ée", "abgelehnt", "abgebrochen", "untersagt", "verweigert", "zurückgewiesen",
    "afgewezen", "geannuleerd", "geweigerd", "ён", "ен", "ена", "ony",
];
/// A label before what went wrong.
#[rustfmt::skip]
const FAULTS: &[&str] = &[
    "błąd", "chyba", "eroare", "erreur", "erro", "errore", "error", "fehler", "feil", "fejl", "fel", "fout", "galat",
    "greška", "hata", "hiba", "kesalahan", "virhe", "xato", "σφάλμα", "грешка", "ошибка", "помилка", "שגיאה", "خطأ",
];
/// What says in some languages that something was not found, or could not be done.
#[rustfmt::skip]
const FAILED: &[&str] = &[
    "nicht gefunden", "konnte nicht", "konnten nicht", "fehlgeschlagen", "no se encontr", "no se ha encontrado",
    "no se pudo", "no se ha podido", "no fue posible", "introuvable", "pas été trouvé", "pas trouvé", "impossible de ",
    "impossible d'", "n'a pas pu", "a échoué", "não encontrad", "não foi encontrad", "não foi possível", "falhou",
    "non trovat", "impossibile", "non è stato possibile", "niet gevonden", "kon niet", "mislukt", "hittades inte",
    "misslyckades", "ikke fundet", "ikke funnet", "kunne ikke", "nie znaleziono", "nie udało", "nenalezen", "nepodařilo",
    "bulunamadı", "başarısız", "không tìm thấy", "thất bại", "tidak ditemukan", "gagal", "не найден", "не удалось",
    "не вдалося", "не знайдено", "nem található", "未找到", "找不到", "无法", "無法", "失败", "失敗", "見つかりません", "見つかりませんでした", "できません",
    "찾을 수 없", "실패",
];
/// … and that it was done. What is said first counts.
#[rustfmt::skip]
const DONE: &[&str] = &[
    "aktualisier", "geändert", "ersetzt", "erstellt", "geschrieben", "gespeichert", "erledigt", "erfolgreich", "behoben",
    "fertig", "actualiz", "modific", "reemplaz", "cread", "escrit", "guardad", "hecho", "listo", "éxito", "corregid",
    "mis à jour", "modifié", "remplacé", "créé", "écrit", "enregistré", "terminé", "fait", "succès", "corrigé",
    "atualizad", "substituíd", "criad", "salv", "sucesso", "concluíd", "aggiornat", "sostituit", "creat", "scritt",
    "salvat", "fatto", "successo", "bijgewerkt", "gewijzigd", "vervangen", "geslaagd", "uppdatera", "ändra", "opdatere",
    "oppdater", "zaktualizowa", "zapisano", "zmienion", "güncellen", "başarıyla", "обновл", "измен", "записан", "готово",
    "успешно", "成功", "已更新", "已修改", "已写入", "完成", "完了", "更新しました", "변경했", "성공", "완료",
];
/// The words of a language that does not part them by blanks, or puts them the other way round.
struct Together {
    users: &'static [&'static str],
    noes: &'static [&'static str],
    stops: &'static [&'static str],
    /// Between the two it says that it was done to the user.
    suffered: &'static str,
}

#[rustfmt::skip]
const TOGETHER: &[Together] = &[
    Together {
        users: &["用户", "用戶", "使用者"],
        noes: &["拒绝", "拒絕", "否决", "驳回", "不同意", "不允许", "未批准", "未同意", "未授权"],
        stops: &["取消", "中止", "中断", "终止"],
        suffered: "被",
    },
    Together {
        users: &["ユーザー", "ユーザ", "利用者"],
        noes: &["拒否", "却下", "許可しません", "許可されません", "許可されていません", "承認しません"],
        stops: &["キャンセル", "取り消", "中止", "中断"],
        suffered: "は拒否され",
    },
    Together {
        users: &["사용자"],
        noes: &["거부", "거절", "허용하지", "승인하지"],
        stops: &["취소", "중단"],
        suffered: "가 거부되",
    },
    Together {
        users: &["người dùng"],
        noes: &["từ chối", "không cho phép"],
        stops: &["hủy", "huỷ"],
        suffered: "bị",
    },
    Together {
        users: &["ผู้ใช้"],
        noes: &["ปฏิเสธ"],
        stops: &["ยกเลิก"],
        suffered: "ถูก",
    },
    Together {
        users: &["उपयोगकर्ता"],
        noes: &["अस्वीकार", "अस्वीकृत", "मना"],
        stops: &["रद्द"],
        suffered: "को",
    },
];

/// What the first line of a text says.
pub(super) fn tells(text: &str) -> Option<Abroad> {
    let head = &text[..text.floor_char_boundary(HEAD.min(text.len()))];
    let line = head.lines().find(|line| !line.trim().is_empty())?.trim();
    // What these tell of begins with a letter, perhaps behind a sign.
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let line = unquoted(line).to_lowercase();
    let words: Vec<&str> = line.split_whitespace().flat_map(words).take(WORDS).collect();
    refused(&line, &words).or_else(|| failed(&line, &words).then_some(Abroad::Failed))
}

/// A line up to its first quotation, which is nobody's word on the call.
fn unquoted(line: &str) -> &str {
    let end = line.find(['"', '`', '“', '„', '«', '「', '『']).unwrap_or(line.len());
    &line[..end]
}

/// The words of what stands between two blanks. Of names of files and of values it is one that means nothing.
fn words(token: &str) -> impl Iterator<Item = &str> {
    let is_sign = |c: char| !c.is_alphanumeric();
    let bare = token.trim_matches(is_sign);
    let is_name = bare.contains(['_', '/', '\\', '.', '=', '(', '<', '>']);
    let split = bare.split(move |c: char| !is_name && is_sign(c));
    split
        .map(move |word| if is_name { "_" } else { word })
        .filter(|word| !word.is_empty())
}

fn begins(word: &str, all: &[&str]) -> bool {
    all.iter().any(|with| word.starts_with(with))
}

/// Whether a word means no, and whether it means a stop.
fn is_no(word: &str) -> Option<bool> {
    match word {
        _ if begins(word, NOES) => Some(false),
        _ if begins(word, STOPS) => Some(true),
        _ => None,
    }
}

fn refused(line: &str, words: &[&str]) -> Option<Abroad> {
    let refused = |is_stop| Some(Abroad::Refused { is_stop });
    if let Some(is_stop) = together(line) {
        return refused(is_stop);
    }
    let user = words.iter().take(EARLY).position(|word| begins(word, USERS))?;
    let first_no = words.iter().take(user).position(|word| is_no(word).is_some());
    let is_by = |at: usize| {
        let before = words[..at].last().copied().unwrap_or_default();
        let two = if ARTICLES.contains(&before) {
            at.checked_sub(2).map(|two| words[two])
        } else {
            None
        };
        BY.contains(&before) || two.is_some_and(|two| BY.contains(&two)) || BY_USER.contains(&words[at])
    };
    // `Rechazado por el usuario`, `Отклонено пользователем`, and in Arabic the verb before the one who does it.
    if let Some(no) = first_no {
        let is_next = no + 1 == user && words[user] == "المستخدم";
        return if is_by(user) || is_next {
            refused(is_no(words[no])?)
        } else {
            None
        };
    }
    let behind = &words[user + 1..(user + 1 + BETWEEN).min(words.len())];
    let no = behind.iter().position(|word| is_no(word).is_some());
    if let Some(no) = no {
        // `Vom Benutzer abgelehnt` is by the user, `Der Benutzer wurde abgelehnt` is not.
        let is_suffered = behind[..no].iter().any(|word| SUFFERED.contains(word));
        let is_done_to = is_suffered || no == 0 && PARTICIPLES.iter().any(|end| behind[0].ends_with(end));
        return if is_by(user) || !is_done_to {
            refused(is_no(behind[no])?)
        } else {
            None
        };
    }
    // `El usuario no permitió …`
    let not = behind.iter().position(|word| NOTS.contains(word))?;
    let is_denied = behind.iter().any(|word| begins(word, ALLOWED));
    let is_suffered = behind[..not].iter().any(|word| SUFFERED.contains(word));
    if is_denied && !is_suffered {
        refused(false)
    } else {
        None
    }
}

/// The same where words are not parted by blanks.
fn together(line: &str) -> Option<bool> {
    /// Bytes between the user and what the user did.
    const NEAR: usize = 40;
    if line.is_ascii() {
        return None;
    }
    TOGETHER.iter().find_map(|words| {
        let Together {
            users,
            noes,
            stops,
            suffered,
        } = words;
        let (at, user) = users.iter().find_map(|user| Some((line.find(user)?, user)))?;
        let behind = &line[at + user.len()..];
        let behind = &behind[..behind.floor_char_boundary(NEAR.min(behind.len()))];
        let find = |all: &[&str]| all.iter().filter_map(|no| behind.find(no)).min();
        let (no, is_stop) = match (find(noes), find(stops)) {
            (Some(no), _) => (no, false),
            (None, stop) => (stop?, true),
        };
        let is_suffered = behind.find(suffered).is_some_and(|suffered| suffered <= no);
        (!is_suffered).then_some(is_stop)
    })
}

fn failed(line: &str, words: &[&str]) -> bool {
    const PREPOSITIONS: &[&str] = &[
        "al", "ao", "bei", "beim", "bij", "d", "de", "del", "di", "do", "en", "im", "in", "lors", "nel", "při", "при",
    ];
    let Some(first) = words.first() else { return false };
    let behind = line.get(first.len()..).unwrap_or_default().trim_start();
    let is_label = behind.starts_with([':', '：']);
    let is_fault = FAULTS.contains(first) && *first != "error";
    let is_prefixed = || words.get(1).is_some_and(|word| PREPOSITIONS.contains(word)) && line.contains(':');
    if is_fault && (is_label || is_prefixed()) || is_no(first).is_some() && (is_label || words.len() <= 3) {
        return true;
    }
    if [
        "错误：",
        "错误:",
        "錯誤：",
        "錯誤:",
        "エラー:",
        "エラー：",
        "오류:",
        "에러:",
        "lỗi:",
    ]
    .iter()
    .any(|label| line.starts_with(label))
    {
        return true;
    }
    // A line is short, and these are many: no search is worth setting up.
    let is_plain = line.is_ascii();
    let may_be = |words: &&&str| !is_plain || words.is_ascii();
    let found = |words: &&str| memmem::find(line.as_bytes(), words.as_bytes());
    let Some(failed) = FAILED.iter().filter(may_be).filter_map(found).min() else {
        return false;
    };
    !DONE.iter().any(|done| line[..failed].contains(done))
}

#[cfg(test)]
mod tests;
