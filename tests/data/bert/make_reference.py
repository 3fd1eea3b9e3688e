#!/usr/bin/env python3
"""
Make what the encoder is measured against: sentences in many scripts, their token ids and vectors by the reference
(the Python packages `transformers` and `torch`, on one thread, in float32).

usage: make_reference.py MODEL_FOLDER OUTPUT_FOLDER

Writes tokens.jsonl (a line a sentence: text, ids without marks) and vectors.bin (for every fifth sentence 384 half floats,
little-endian, length 1 before rounding). The same run gives the same files.
"""

import json
import os
import struct
import sys

# Parts of sentences, a column each: opening, doer, deed, thing. Written for this test.
COLUMNS = {
    "english": (["Yesterday", "I think", "Last summer", "Every Monday", "In Oslo", "Honestly,"],
                ["Maria", "our neighbour", "the old captain", "my sister's dog", "a doctor", "the team"],
                ["found", "was looking for", "repaired", "couldn't remember", "sold", "wrote about"],
                ["the blue bicycle.", "a recipe for walnut bread!", "version 2.4.1 of the app", "three unread letters?",
                 "the e-mail address bob@example.com", "an unbelievably overengineered coffeemaker"]),
    "german": (["Gestern", "Im März", "Übrigens:", "Trotzdem"], ["hat Jürgen", "hat die Ärztin", "haben wir"],
               ["den größten", "einen süßen", "keinen"], ["Apfelkuchen gegessen.", "Schlüssel verloren!", "Maßstab geändert"]),
    "french": (["Hier,", "À midi", "Malgré tout,", "Où"], ["l'élève", "ma sœur", "le garçon"],
               ["a mangé", "préfère", "n'a jamais oublié"], ["une crème brûlée.", "l'île d'Oléron", "ça, peut-être…"]),
    "spanish": (["¿Cuándo", "Mañana", "El año pasado"], ["la niña", "mi corazón", "José"],
                ["encontró", "soñaba con", "escribió"], ["un pingüino?", "la lección número 3.", "¡una canción!"]),
    "polish": (["Wczoraj", "W Łodzi", "Może"], ["żółw", "pani Wiśniewska", "źle ubrany gość"],
               ["zgubił", "przeczytała", "kupił"], ["książkę.", "pięć jabłek", "ćwierć chleba!"]),
    "turkish": (["Dün", "İstanbul'da", "Işıl ile"], ["öğretmen", "küçük kız", "İbrahim"],
                ["çay içti", "şarkı söyledi", "yağmuru izledi"], ["mı?", "ve güldü.", "— ağır ağır"]),
    "vietnamese": (["Hôm qua", "Ở Đà Nẵng", "Thật ra"], ["chị Hương", "người bạn cũ", "bác sĩ"],
                   ["đã mua", "không thích", "đang đọc"], ["một quyển sách.", "cà phê sữa đá", "những bức thư cũ!"]),
    "russian": (["Вчера", "В Москве", "Честно говоря,"], ["ёжик", "наша бабушка", "капитан"],
                ["нашёл", "починила", "не забыл"], ["синий велосипед.", "три письма?", "рецепт хлеба!"]),
    "ukrainian": (["Учора", "У Києві", "Ґанок і"], ["сусідка", "їжак", "мій друг"],
                  ["шукає", "з'їв", "пише про"], ["яблука.", "старий лист", "щастя?"]),
    "greek": (["Χθες", "Στην Αθήνα", "Ίσως"], ["η γιαγιά", "ο καπετάνιος", "το σκυλί"],
              ["βρήκε", "ξέχασε", "έγραψε"], ["το ποδήλατο.", "τρία γράμματα;", "για τη θάλασσα"]),
    "arabic": (["أمس", "في القاهرة", "ربما"], ["وجدت مريم", "نسي الطبيب", "كتب جاري"],
               ["الرسالة", "المفتاح", "كتابًا"], ["القديمة.", "في البيت؟", "عن البحر!"]),
    "persian": (["دیروز", "در تهران"], ["پدرم", "پزشک", "آن گربه"], ["نامه‌ها", "چای", "کتاب"], ["را پیدا کرد.", "می‌خواهد؟", "را دید"]),
    "hebrew": (["אתמול", "בחיפה", "אולי"], ["השכנה", "הרופא", "אחי"], ["מצאה", "שכח", "כתב"], ["את המפתח.", "שָׁלוֹם", "שלושה מכתבים?"]),
    "hindi": (["कल", "दिल्ली में", "शायद"], ["मेरी बहन ने", "डॉक्टर ने", "पड़ोसी ने"],
              ["तीन चिट्ठियाँ", "नीली साइकिल", "पुरानी किताब"], ["पाईं।", "बेच दी!", "क्यों पढ़ी?"]),
    "bengali": (["গতকাল", "ঢাকায়"], ["আমার বোন", "ডাক্তার", "বুড়ো মাঝি"], ["চিঠি", "নীল সাইকেল", "বই"], ["পেয়েছে।", "বিক্রি করল", "ভুলে গেছে?"]),
    "tamil": (["நேற்று", "சென்னையில்"], ["என் தங்கை", "மருத்துவர்", "அண்டை வீட்டார்"], ["கடிதம்", "மிதிவண்டி"], ["எழுதினார்.", "வாங்கினாள்!", "தேடுகிறார்?"]),
    "telugu": (["నిన్న", "హైదరాబాద్‌లో"], ["మా అక్క", "వైద్యుడు"], ["ఉత్తరం", "పాత పుస్తకం"], ["రాసింది.", "చదివాడు!", "మర్చిపోయాడు?"]),
    "thai": (["เมื่อวาน", "ที่กรุงเทพ"], ["พี่สาว", "คุณหมอ", "แมวดำ"], ["หา", "ซื้อ", "ลืม"], ["จดหมายเก่า", "จักรยานสีฟ้า", "ขนมปังสามชิ้น"]),
    "georgian": (["გუშინ", "თბილისში"], ["ჩემმა დამ", "ექიმმა"], ["იპოვა", "დაწერა"], ["წერილი.", "ძველი წიგნი?", "ველოსიპედი!"]),
    "armenian": (["Երեկ", "Երևանում"], ["քույրս", "բժիշկը"], ["գտավ", "գրեց"], ["նամակը։", "հին գիրքը", "երեք խնձոր"]),
    "chinese": (["昨天", "在上海", "也许", "三月五日，"], ["我的妹妹", "老船长", "那位医生"],
                ["找到了", "忘记了", "写了"], ["一辆蓝色自行车。", "三封信！", "《面包食谱》第２版", "龘字"]),
    "japanese": (["昨日、", "東京で", "たぶん"], ["妹が", "お医者さんが", "トムは"], ["青い自転車を", "ﾊﾝｶｸの手紙を", "コーヒーを"],
                 ["見つけた。", "忘れました！", "買ったの？"]),
    "korean": (["어제", "서울에서"], ["제 동생이", "의사 선생님이", "옆집 고양이가"], ["파란 자전거를", "편지 세 통을"], ["찾았다.", "팔았어요!", "잊어버렸나요?"]),
    "amharic": (["ትናንት", "በአዲስ አበባ"], ["እህቴ", "ሐኪሙ"], ["ደብዳቤ", "ሰማያዊ ብስክሌት"], ["አገኘች።", "ጻፈ", "ሸጠ፤"]),
    "khmer": (["ម្សិលមិញ", "នៅភ្នំពេញ"], ["ប្អូនស្រី", "វេជ្ជបណ្ឌិត"], ["រកឃើញ", "ទិញ"], ["សំបុត្រ។", "កង់ពណ៌ខៀវ"]),
    "code": (["if (x >= 10)", "SELECT name", "git commit -m"], ["{ return y[i]++; }", "FROM users WHERE id=42;", "'fix: don''t crash'"],
             ["// naïve", "<br/>", "$HOME/.config"], ["~80% done", "C++17 & C#", "a_b-c.d@e:8080/f?g=h#i"]),
    "emoji": (["😀", "Nice 👍🏽", "👩‍👩‍👧‍👦 family"], ["🇳🇴 flag", "❤️ love", "1️⃣ first"], ["🚀🚀", "☕ time", "🫠"], ["!!!", "…", "ok 🆗"]),
}

EDGES = [
    "", " ", "\t\n\r ", "a", "A", "İ", "ẞß", "ﬁne ﬂow", "e\u0301 versus \u00e9", "o\u0308\u0304x", "\u212b\u2126", "Ångström",
    "soft\u00adhyphen", "zero\u200bwidth", "\ufeffbom", "nul\u0000inside", "bad \ufffd char", "private \ue000 use",
    "\u2028line\u2029paragraph", "no\u00a0break\u3000wide", "x" * 99, "x" * 100, "x" * 101, "é" * 100, "e\u0301" * 100,
    "ab" * 60 + " tail", "[CLS] literal [SEP] marks [MASK] here [PAD][UNK]", "[cls] small [SEP", "##ing ing##", "a##b",
    "don't can't I'll", "U.S.A. vs. e.g.", "3.14159 -2e10 1,000,000 ½ ² Ⅷ", "²³¹ ₂ ①②", "ＦＵＬＬ ｗｉｄｔｈ", "가각간 한글",
    "\u1112\u1161\u11ab", "豈更車", "𠮷野家", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "Ǆ ǅ ǆ", "ΑΣ ΑΣΑΣ σς", "ʼn ŉ", "a\u0300\u0301\u0302b", "\u0300 alone",
    "क्षि त्र ज्ञ", "كتَاب ﷺ", "שׁ\u05bc", "อำ ฤๅ", "„Zitat“ «citation» ‹x› “quotes”", "—–-‐‑", "…!?¿¡", "€£¥₹₿ §¶†‡",
    "a/b\\c|d", "<html>&amp;", "^_^ `code` ~tilde~", "tab\tseparated\tvalues", "line one\nline two\r\nline three",
    "supercalifragilisticexpialidocious antidisestablishmentarianism", "pneumonoultramicroscopicsilicovolcanoconiosis",
    "the the the the the", "日本語とEnglishとрусский mixed", "abcдеф123一二三", "The quick brown fox " * 30,
]


def chosen(columns, count):
    """`count` different sentences, spread over all of them."""
    opening, doer, deed, thing = columns
    total = len(opening) * len(doer) * len(deed) * len(thing)
    count = min(count, total)
    for i in range(count):
        at = i * total // count
        parts = []
        for column in (thing, deed, doer, opening):
            parts.append(column[at % len(column)])
            at //= len(column)
        glue = "" if opening[0] == "昨天" or opening[0] == "昨日、" else " "
        yield glue.join(reversed(parts))


def sentences():
    listed = list(EDGES)
    share = (1000 - len(listed)) // len(COLUMNS) + 24
    for columns in COLUMNS.values():
        listed += chosen(columns, share)
    return list(dict.fromkeys(listed))


def main(model_folder, output):
    import torch
    import transformers

    torch.set_num_threads(1)
    texts = sentences()
    assert len(texts) >= 1000, len(texts)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder)
    model = transformers.AutoModel.from_pretrained(model_folder, attn_implementation="eager", dtype=torch.float32).eval()
    with open(os.path.join(output, "tokens.jsonl"), "w", encoding="utf-8") as file:
        for text in texts:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            # U+0000 is no JSON here; the reading side puts it back.
            line = {"text": text.replace("\0", "\u2400"), "ids": ids}
            if "\0" in text:
                line["nul"] = True
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    with open(os.path.join(output, "vectors.bin"), "wb") as file, torch.no_grad():
        for text in texts[::5]:
            inputs = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
            vector = torch.nn.functional.normalize(model(**inputs)[0][0].mean(0), dim=0)
            file.write(struct.pack("<%de" % len(vector), *vector.tolist()))
    print("%d sentences, transformers %s, torch %s" % (len(texts), transformers.__version__, torch.__version__))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
