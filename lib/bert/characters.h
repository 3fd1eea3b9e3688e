/* Classes of characters as BERT's tokenizer draws them. No state. */
#ifndef UAR_LIB_BERT_CHARACTERS_H
#define UAR_LIB_BERT_CHARACTERS_H

#include <stdbool.h>
#include <stdint.h>

/* White space of Unicode. */
bool character_is_space(uint32_t c);
/* Goes when a text is cleaned: U+0000, U+FFFD, controls, formats, private use; tab and line ends stay. */
bool character_is_noise(uint32_t c);
/* A Chinese character in the sense of the reference: the blocks of unified ideographs, no kana and no hangul. */
bool character_is_chinese(uint32_t c);
/* Every symbol of ASCII that is no letter and no digit counts, beside Unicode's punctuation. */
bool character_is_punctuation(uint32_t c);
/* A mark without width: what an accent is once letters are taken apart. */
bool character_is_accent(uint32_t c);

/* Most characters that one becomes when it is taken apart or made small. */
#define CHARACTER_PARTS 8
/* Take a character apart (canonically) or make it small: what it becomes into `out`, and how many. */
unsigned character_decompose(uint32_t out[CHARACTER_PARTS], uint32_t c);
unsigned character_lower(uint32_t out[CHARACTER_PARTS], uint32_t c);

#endif
