#!/usr/bin/env python3
"""
Write lib/bert/characters_table.h: which characters the reference tokenizer (the Python package `tokenizers`) drops as noise,
drops as accents, and splits off as punctuation. Asked character by character, so that the table says what it does.
usage: make_characters.py > lib/bert/characters_table.h
"""

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

ALL = [c for c in range(0x80, 0x110000) if not 0xD800 <= c <= 0xDFFF]


def normalizer(**on):
    switches = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    switches.update(on)
    return BertNormalizer(**switches)


def ranges(members):
    """Runs of code points, as (first, last)."""
    runs = []
    for c in members:
        if runs and runs[-1][1] == c - 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return runs


def write(name, members):
    print("static const character_range %s[] = {" % name)
    items = ["{ 0x%X, 0x%X }," % tuple(run) for run in ranges(members)]
    line = "   "
    for item in items:
        if len(line) + 1 + len(item) > 118:
            print(line)
            line = "   "
        line += " " + item
    print(line)
    print("};")


cleaner, stripper, splitter = normalizer(clean_text=True), normalizer(strip_accents=True), BertPreTokenizer()
print("""/*
 * Classes of characters beyond ASCII as the reference tokenizer has them (tokenizers %s), made by
 * tests/data/bert/make_characters.py. They stand here and are not asked of the Unicode library of the machine: the tokens
 * of a text, and so its vector, must not change with a library.
 */
#ifndef UAR_LIB_BERT_CHARACTERS_TABLE_H
#define UAR_LIB_BERT_CHARACTERS_TABLE_H

#include <stdint.h>

typedef struct character_range {
    uint32_t first, last;
} character_range;

/* clang-format off */""" % tokenizers.__version__)
write("noise_ranges", [c for c in ALL if cleaner.normalize_str("a%cb" % c) == "ab"])
write("accent_ranges", [c for c in ALL if stripper.normalize_str("a%cb" % c) == "ab"])
write("punctuation_ranges", [c for c in ALL if len(splitter.pre_tokenize_str("a%cb" % c)) == 3])
print("/* clang-format on */\n\n#endif")
