/* Owns: the table of words of time and the cutting of a question. Invariants: each word has one meaning; a date in
 * digits is a day or month that exists. */
#include "index/time_words.h"

#include <assert.h>
#include <string.h>

#include "index/fold.h"

#define WORD_BYTES 15

/* Words of one meaning, each between two spaces. */
typedef struct meaning {
    word_kind kind;
    int value;
    const char *words;
} meaning;

/* Folded, without marks. Abbreviations that are words of another of the languages are left out. */
static const meaning meanings[] = {
    { WORD_NUMBER, 1, " a one ein eine einem einen einer un una uno une " },
    { WORD_NUMBER, 2, " two couple zwei dos deux " },
    { WORD_NUMBER, 3, " three few drei tres trois " },
    { WORD_NUMBER, 4, " four vier cuatro quatre " },
    { WORD_NUMBER, 5, " five funf cinco cinq " },
    { WORD_NUMBER, 6, " six sechs seis " },
    { WORD_NUMBER, 7, " seven sieben siete sept " },
    { WORD_NUMBER, 8, " eight acht ocho huit " },
    { WORD_NUMBER, 9, " nine neun nueve neuf " },
    { WORD_NUMBER, 10, " ten zehn diez dix " },
    { WORD_NUMBER, 11, " eleven elf onze " },
    { WORD_NUMBER, 12, " twelve zwolf doce douze " },
    { WORD_AN, 1, " an " },
    { WORD_MONTH, 1, " january jan januar janner enero janvier janv " },
    { WORD_MONTH, 2, " february feb februar febrero fevrier fevr " },
    { WORD_MONTH, 3, " march marz marzo mars " },
    { WORD_MONTH, 4, " april apr abril avril avr " },
    { WORD_MONTH, 5, " may mai mayo " },
    { WORD_MONTH, 6, " june jun juni junio juin " },
    { WORD_MONTH, 7, " july jul juli julio juillet juil " },
    { WORD_MONTH, 8, " august aug agosto aout " },
    { WORD_MONTH, 9, " september sep septiembre setiembre septembre " },
    { WORD_MONTH, 10, " october oct oktober okt octubre octobre " },
    { WORD_MONTH, 11, " november nov noviembre novembre " },
    { WORD_MONTH, 12, " december dec dezember dez diciembre decembre " },
    { WORD_WEEKDAY, 0, " monday montag lunes lundi " },
    { WORD_WEEKDAY, 1, " tuesday dienstag martes mardi " },
    { WORD_WEEKDAY, 2, " wednesday mittwoch miercoles mercredi " },
    { WORD_WEEKDAY, 3, " thursday donnerstag jueves jeudi " },
    { WORD_WEEKDAY, 4, " friday freitag viernes vendredi " },
    { WORD_WEEKDAY, 5, " saturday samstag sonnabend sabado samedi " },
    { WORD_WEEKDAY, 6, " sunday sonntag domingo dimanche " },
    { WORD_UNIT, UNIT_HOUR, " hour hours stunde stunden hora horas heure heures " },
    { WORD_UNIT, UNIT_DAY, " day days tag tage tagen dia dias jour jours " },
    { WORD_UNIT, UNIT_WEEK, " week weeks woche wochen semana semanas semaine semaines " },
    { WORD_UNIT, UNIT_MONTH, " month months monat monate monaten mes meses mois " },
    { WORD_UNIT, UNIT_YEAR, " year years jahr jahre jahren ano anos ans annee annees " },
    { WORD_UNIT, UNIT_WEEKEND, " weekend weekends wochenende wochenenden " },
    { WORD_SEASON, 3, " spring fruhling fruhjahr primavera printemps " },
    { WORD_SEASON, 6, " summer sommer verano ete " },
    { WORD_SEASON, 9, " autumn fall herbst otono automne " },
    { WORD_SEASON, 12, " winter invierno hiver " },
    { WORD_LAST, 0,
      " last previous letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes vorige "
      "vorigen voriger voriges pasado pasada pasados pasadas ultimo ultima ultimos ultimas dernier derniere derniers "
      "dernieres passe passee " },
    { WORD_LAST, 1, " past " },
    { WORD_THIS, 0, " this diese diesen dieser dieses diesem este esta ce cet cette " },
    { WORD_NEXT, 0,
      " next nachste nachsten nachster nachstes kommende kommenden kommender kommendes proximo proxima proximos "
      "proximas prochain prochaine prochains prochaines " },
    { WORD_AGO, 0, " ago " },
    { WORD_AGO_FIRST, 0, " vor hace " },
    { WORD_SINCE, 0, " since seit desde depuis " },
    { WORD_BEFORE, 0, " before until till by bis hasta antes avant " },
    { WORD_AFTER, 0, " after nach despues apres " },
    { WORD_IN, 0,
      " in on from between von zwischen entre at during of the im am vom dem den der des die das en el la los las del "
      "de le les au du d l " },
    { WORD_DAY, 0, " today tonight heute hoy aujourd " },
    { WORD_DAY, -1, " yesterday gestern ayer anoche " },
    { WORD_DAY, -2, " vorgestern anteayer " },
    { WORD_HIER, -1, " hier " },
    { WORD_AND, 0, " and to through und et e " },
    { WORD_AND, 1, " y " },
    { WORD_FRENCH, 0,
      " je j tu il elle nous vous ils elles est ai avons avez ont que qu quoi quel quelle qui soir matin " },
};

/* `text` is a word between two spaces. */
static time_word look_up(const char *text) {
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strstr(meanings[i].words, text) != NULL)
            return (time_word){ .kind = meanings[i].kind, .value = meanings[i].value };
    return (time_word){ .kind = WORD_OTHER };
}

typedef struct reader {
    const int32_t *points;
    size_t count, at;
} reader;

static bool is_digit(int32_t c) {
    return c >= '0' && c <= '9';
}

/* Marks beyond ASCII that stand between words are left out. */
static bool is_letter(int32_t c) {
    if (c < 0x80) return c >= 'a' && c <= 'z';
    return c >= 0xC0 && !(c >= 0x2000 && c <= 0x206F) && !(c >= 0x3000 && c <= 0x303F);
}

static int32_t point_at(const reader *r, size_t at) {
    return at < r->count ? r->points[at] : 0;
}

/* Digits from `at` on, as many as there are; 0 digits: there is none. A number too long for a date or a count is -1. */
static size_t digits_at(const reader *r, size_t at, int *value) {
    size_t n = 0;
    *value = 0;
    for (; is_digit(point_at(r, at + n)); n++)
        if (n < 4)
            *value = *value * 10 + (int)(point_at(r, at + n) - '0');
        else
            *value = -1;
    return n;
}

/* Three numbers as they were written, with their digits. */
typedef struct triple {
    int value[3];
    size_t digits[3];
    int32_t between;
} triple;

static bool is_real(civil_date d) {
    return d.year >= 1000 && d.year <= 9990 && d.month >= 1 && d.month <= 12 &&
           (d.day == 0 || (d.day >= 1 && d.day <= civil_month_days(d.year, d.month)));
}

/* "2023-05-07", "2023/5/7", "7.5.2023", and "7/5/2023" where only one order of day and month is possible. */
static bool to_date(civil_date *out, const triple *t) {
    if (t->digits[0] == 4)
        *out = (civil_date){ t->value[0], t->value[1], t->value[2] };
    else if (t->digits[2] == 4 && t->between == '/' && t->value[0] <= 12 && t->value[1] > 12)
        *out = (civil_date){ t->value[2], t->value[0], t->value[1] };
    else if (t->digits[2] == 4 && (t->between != '/' || t->value[0] > 12 || t->value[0] == t->value[1]))
        *out = (civil_date){ t->value[2], t->value[1], t->value[0] };
    else
        return false;
    return out->day != 0 && is_real(*out);
}

static bool is_part(size_t digits) {
    return digits == 1 || digits == 2;
}

/* A date written in digits; what only looks like one ("2023-13-40") is passed over as a whole. */
static bool take_date(reader *r, time_word *out) {
    triple t = { .between = 0 };
    t.digits[0] = digits_at(r, r->at, &t.value[0]);
    size_t at = r->at + t.digits[0];
    t.between = point_at(r, at);
    if (t.between != '-' && t.between != '/' && t.between != '.') return false;
    t.digits[1] = digits_at(r, at + 1, &t.value[1]);
    if (!is_part(t.digits[1]) || (t.digits[0] != 4 && !is_part(t.digits[0]))) return false;
    at += 1 + t.digits[1];
    bool is_long = point_at(r, at) == t.between;
    if (is_long) t.digits[2] = digits_at(r, at + 1, &t.value[2]);
    *out = (time_word){ .kind = WORD_OTHER };
    if (t.digits[2] != 0) {
        r->at = at + 1 + t.digits[2];
        if (to_date(&out->date, &t)) out->kind = WORD_DATE;
        return true;
    }
    if (t.digits[0] != 4 || t.between != '-' || t.digits[1] != 2) return false;
    r->at = at;
    out->date = (civil_date){ t.value[0], t.value[1], 0 };
    if (is_real(out->date)) out->kind = WORD_DATE;
    return true;
}

/* "7th", "1er": an ordinal is its number. Other letters make it a word that says nothing ("3d"). */
static time_word take_number(reader *r) {
    static const char *const ends[] = { "", "st", "nd", "rd", "th", "er", "e", "o", "s" };
    time_word w = { .kind = WORD_OTHER };
    r->at += digits_at(r, r->at, &w.value);
    char end[4] = { 0 };
    size_t n = 0;
    for (; is_letter(point_at(r, r->at)); r->at++, n++)
        if (n < 3 && point_at(r, r->at) < 0x80) end[n] = (char)point_at(r, r->at);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (n == strlen(ends[i]) && strcmp(end, ends[i]) == 0) w.kind = WORD_NUMBER;
    if (w.value < 0 || (n == 1 && end[0] == 's')) w.kind = WORD_OTHER;
    return w;
}

static time_word take_word(reader *r) {
    char text[WORD_BYTES + 3] = " ";
    size_t n = 0;
    bool is_plain = true;
    for (; is_letter(point_at(r, r->at)) || is_digit(point_at(r, r->at)); r->at++, n++) {
        int32_t c = point_at(r, r->at);
        if (n < WORD_BYTES && c < 0x80) text[n + 1] = (char)c;
        is_plain = is_plain && n < WORD_BYTES && c < 0x80;
    }
    if (!is_plain) return (time_word){ .kind = WORD_OTHER };
    text[n + 1] = ' ';
    return look_up(text);
}

uar_status time_words_read(time_word out[TIME_WORDS_MAX], size_t *count, const uar_allocator *a, uar_str text) {
    assert(out != NULL && count != NULL);
    folded f;
    uar_status status = fold_points(&f, a, text, FOLD_DROP_MARKS);
    if (status != UAR_OK) return status;
    reader r = { f.points, f.count, 0 };
    size_t n = 0;
    while (r.at < r.count && n < TIME_WORDS_MAX) {
        int32_t c = point_at(&r, r.at);
        if (is_digit(c)) {
            if (!take_date(&r, &out[n])) out[n] = take_number(&r);
            n++;
        } else if (is_letter(c)) {
            out[n++] = take_word(&r);
        } else {
            r.at++;
        }
    }
    *count = n;
    folded_dispose(&f);
    return UAR_OK;
}
