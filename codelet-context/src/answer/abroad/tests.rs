use super::*;
use crate::answer::is_done;
use crate::message::{ActionKind, ToolResult};
use proptest::prelude::*;

#[test]
fn a_call_that_the_user_has_not_let_be_made_is_known_in_many_languages() {
    for text in [
        "Rechazado por la usuaria: \"te dije que no toques build.gradle\"",
        "El usuario ha rechazado esta operación.",
        "La acción fue rechazada por el usuario",
        "El usuario no permitió ejecutar la herramienta",
        "Refusé par l'utilisateur : pas ce fichier",
        "L'utilisateur a refusé cette action",
        "L’utilisateur n’a pas autorisé cet appel",
        "Vom Benutzer abgelehnt",
        "❌ Aktion wurde vom Nutzer abgelehnt",
        "Der Benutzer hat diesen Aufruf abgelehnt: prod ist tabu!",
        "Die Benutzerin lehnt das ab",
        "Der Benutzer hat das nicht erlaubt.",
        "Rifiutato dall'utente",
        "L'utente ha rifiutato la modifica",
        "Recusado pelo usuário: não",
        "O utilizador rejeitou a alteração",
        "De gebruiker heeft dit geweigerd",
        "Geweigerd door de gebruiker",
        "Użytkownik odrzucił tę zmianę",
        "Odrzucone przez użytkownika",
        "Отклонено пользователем",
        "Пользователь отклонил действие: не трогай",
        "Користувач відхилив зміну",
        "Användaren nekade åtgärden",
        "Brugeren afviste ændringen",
        "Kullanıcı tarafından reddedildi",
        "Uživatel odmítl tuto změnu",
        "A felhasználó elutasította",
        "用户拒绝了此操作",
        "操作已被用户拒绝",
        "使用者拒絕執行此工具",
        "ユーザーが操作を拒否しました",
        "ユーザーによって拒否されました",
        "사용자가 이 작업을 거부했습니다",
        "Người dùng đã từ chối thao tác này",
        "Ditolak oleh pengguna",
        "رفض المستخدم هذا الإجراء",
    ] {
        assert_eq!(tells(text), Some(Abroad::Refused { is_stop: false }), "{text}");
    }
    for text in [
        "Vom Benutzer abgebrochen",
        "Annulé par l'utilisateur",
        "Cancelado por el usuario",
        "Отменено пользователем",
        "用户取消了操作",
        "ユーザーによってキャンセルされました",
    ] {
        assert_eq!(tells(text), Some(Abroad::Refused { is_stop: true }), "{text}");
    }
}

#[test]
fn what_programs_say_of_users_and_what_stands_in_quotations_is_no_refusal() {
    for text in [
        "Zugriff verweigert: /etc/shadow",
        "Accès refusé à l'utilisateur root",
        "Acceso denegado para el usuario root",
        "Der Benutzer root wurde abgelehnt",
        "El usuario fue rechazado por el servidor",
        "La conexión fue rechazada por el servidor",
        "用户被拒绝访问",
        "Der Benutzer wurde angelegt",
        "Benutzer gelöscht, nichts abzulehnen",
        "El usuario no existe",
        "Ersetzt: \"Vom Benutzer abgelehnt\"",
        "set the text to «Refusé par l'utilisateur»",
        "def usuario_rechazado(self): return False",
        "Usuario rechazado: root",
        "Benutzer abgelehnt",
        "usuario.py rechaza todo",
        "usuarios: 3",
        "The user has declined",
        "test result: ok. 3 passed",
        "",
        "\n\n",
    ] {
        assert!(!matches!(tells(text), Some(Abroad::Refused { .. })), "{text}");
    }
}

fn done(text: &str) -> bool {
    is_done(ActionKind::Change, &ToolResult::new("1", None, text))
}

#[test]
fn a_change_that_failed_in_another_language_was_not_made() {
    for text in [
        "Fehler: Text nicht gefunden",
        "Fehler beim Schreiben: kein Platz",
        "Der Text wurde nicht gefunden.",
        "Text konnte nicht ersetzt werden",
        "Erreur : texte introuvable",
        "Texte introuvable dans a.rs",
        "No se encontró el texto a reemplazar",
        "Não foi possível gravar",
        "Errore: testo non trovato",
        "Ошибка: текст не найден",
        "Не удалось записать файл",
        "错误：未找到匹配的文本",
        "未找到要替换的文本",
        "エラー: 文字列が見つかりません",
        "텍스트를 찾을 수 없습니다",
        "Abgelehnt: diese Datei nicht",
        "Rechazado.",
    ] {
        assert!(!done(text), "{text}");
    }
    for text in [
        "Hecho: 1 sustitución.",
        "Aktualisiert: a.rs (die Prüfung konnte nicht laufen)",
        "Datei gespeichert. 0 Fehler: gut",
        "Fehler behoben in a.rs",
        "Keine Fehler: a.rs",
        "Modifié : a.rs",
        "Erreur corrigée dans a.rs",
        "已更新 a.rs",
        "文件修改成功，未找到其他问题",
        "更新しました",
        "Готово",
        "Updated the message 'nicht gefunden'",
        "Updated a.rs: no se encontró is gone",
        "a.rs geändert",
        "1 Ersetzung in fehler.rs",
        "",
    ] {
        assert!(done(text), "{text}");
    }
}

proptest! {
    #[test]
    fn no_line_is_too_odd(line in "(Der Benutzer |vom |abgelehnt|用户|被|拒绝|: |：|\"|«|ß|İ|Σ|\\PC|\n){0,12}") {
        tells(&line);
    }
}
