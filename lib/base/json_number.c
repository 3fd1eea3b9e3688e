/*
 * Number text to double and back, exact and without any locale.
 *
 * Reading takes the first of three ways that fits, and each gives the correctly rounded value: one double operation on
 * exact operands; 128-bit arithmetic with a power of five that fits 64 bits; big integers. Writing tries short decimals
 * that read back, then generates the shortest digits with big integers (after Steele and White; Dybvig and Burger).
 * The floating-point environment is expected to round to nearest, as C programs start.
 */
#include "base/json_number.h"

#include <assert.h>
#include <float.h>

#include "base/json.h"

#define TOP_BIT (UINT64_C(1) << 63)
#define HIDDEN_BIT (UINT64_C(1) << 52)
#define HEAD_DIGITS 19
#define MAX_POW5 27 /* 5^27 < 2^63 */

/* ---- Taking text apart ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *take_digits(decimal *d, const char *p, const char *end) {
    for (; p < end && is_digit(*p); p++) {
        if (d->count == 0) {
            if (*p == '0') continue;
            d->first = p;
        }
        if (d->count < HEAD_DIGITS) d->head = d->head * 10 + (uint64_t)(*p - '0');
        d->count++;
    }
    return p;
}

/* Saturates far beyond any text that fits in memory, so that leading zeros can't turn it round. */
static const char *take_exponent(decimal *d, const char *p, const char *end) {
    const int64_t limit = INT64_C(1000000000000000000);
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char *digits = p;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++) {
        value = value < limit / 10 ? value * 10 + (*p - '0') : limit;
    }
    if (p == digits) return NULL;
    d->exponent += negative ? -value : value;
    return p;
}

bool decimal_scan(decimal *out, const char *p, const char *end, const char **stop) {
    decimal d = { 0 };
    d.negative = p < end && *p == '-';
    if (d.negative) p++;

    *stop = p;
    if (p == end || !is_digit(*p)) return false;
    const char *digits = p;
    p = *p == '0' ? p + 1 : take_digits(&d, p, end);
    d.last = p;
    assert(p > digits);
    (void)digits;

    if (p < end && *p == '.') {
        const char *fraction = p + 1;
        p = take_digits(&d, fraction, end);
        *stop = p;
        if (p == fraction) return false;
        d.exponent = -(int64_t)(p - fraction);
        d.last = p;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *after = take_exponent(&d, p + 1, end);
        if (after == NULL) {
            p++;
            *stop = p < end && (*p == '-' || *p == '+') ? p + 1 : p;
            return false;
        }
        p = after;
    }
    *stop = p;
    *out = d;
    return true;
}

bool decimal_to_integer(const decimal *d, uint64_t *magnitude) {
    uint64_t value = 0;
    int64_t fraction = d->exponent < 0 ? -d->exponent : 0; /* digits that stand behind the point */
    int64_t seen = 0;
    for (const char *p = d->first; seen < d->count; p++) {
        if (*p == '.') continue;
        uint64_t digit = (uint64_t)(*p - '0');
        if (d->count - seen++ <= fraction) {
            if (digit != 0) return false;
            continue;
        }
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    for (int64_t i = 0; value != 0 && i < d->exponent; i++) {
        if (value > UINT64_MAX / 10) return false;
        value *= 10;
    }
    *magnitude = value;
    return true;
}

/* ---- Bits of a double ---- */

static double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static unsigned leading_zeros(uint64_t v) {
    unsigned n = 0;
    assert(v != 0);
    for (unsigned step = 32; step > 0; step /= 2) {
        if (v >> (64 - step) == 0) {
            v <<= step;
            n += step;
        }
    }
    return n;
}

/* top × 2^exponent, and a bit more if `sticky`, rounded to the nearest double. Needs at least 55 bits or no sticky. */
static double round_to_double(uint64_t top, int64_t exponent, bool sticky) {
    assert(top != 0);
    unsigned shift = leading_zeros(top);
    top <<= shift;
    int64_t power = exponent - shift + 63; /* the value is 1.… × 2^power */
    if (power > 1023) return DBL_MAX;
    if (power < -1075) return 0;

    bool normal = power >= -1022;
    unsigned drop = normal ? 11 : (unsigned)(11 + (-1022 - power));
    uint64_t kept = drop < 64 ? top >> drop : 0;
    uint64_t rest = drop < 64 ? top << (64 - drop) : top;
    if (rest > TOP_BIT || (rest == TOP_BIT && (sticky || (kept & 1) != 0))) kept++;
    /* A carry out of the fraction raises the exponent field by itself. */
    uint64_t bits = normal ? ((uint64_t)(power + 1022) << 52) + kept : kept;
    double value = double_of_bits(bits);
    return value > DBL_MAX ? DBL_MAX : value;
}

/* ---- 128 bits in two halves ---- */

typedef struct wide {
    uint64_t high, low;
} wide;

static wide multiply_wide(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32;
    uint64_t b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0;
    uint64_t mid = a1 * b0 + (low >> 32);
    uint64_t cross = a0 * b1 + (uint32_t)mid;
    wide w = { a1 * b1 + (mid >> 32) + (cross >> 32), cross << 32 | (uint32_t)low };
    return w;
}

/* One 32-bit digit of a quotient: (rest·2^32 + next) / divisor, for rest < divisor and a divisor with its top bit set. */
static uint64_t quotient_digit(uint64_t *rest, uint32_t next, uint64_t divisor) {
    uint64_t high = divisor >> 32;
    uint64_t low = (uint32_t)divisor;
    uint64_t q = *rest / high;
    uint64_t r = *rest % high;
    while (q > UINT32_MAX || q * low > (r << 32 | next)) {
        q--;
        r += high;
        if (r > UINT32_MAX) break;
    }
    /* Both products overflow alike; their difference is the true remainder. */
    *rest = (*rest << 32 | next) - q * divisor;
    return q;
}

static uint64_t divide_wide(wide n, uint64_t divisor, bool *is_exact) {
    assert(n.high < divisor && (divisor & TOP_BIT) != 0);
    uint64_t rest = n.high;
    uint64_t q1 = quotient_digit(&rest, (uint32_t)(n.low >> 32), divisor);
    uint64_t q0 = quotient_digit(&rest, (uint32_t)n.low, divisor);
    *is_exact = rest == 0;
    return q1 << 32 | q0;
}

static uint64_t pow5(unsigned k) {
    uint64_t value = 1;
    assert(k <= MAX_POW5);
    while (k-- > 0) {
        value *= 5;
    }
    return value;
}

static double scale_up(uint64_t head, unsigned k) {
    wide w = multiply_wide(head, pow5(k));
    if (w.high == 0) return round_to_double(w.low, k, false);
    unsigned shift = leading_zeros(w.high);
    uint64_t top = shift == 0 ? w.high : w.high << shift | w.low >> (64 - shift);
    bool sticky = w.low << shift != 0;
    return round_to_double(top, (int64_t)k + 64 - shift, sticky);
}

static double scale_down(uint64_t head, unsigned k) {
    uint64_t divisor = pow5(k);
    unsigned head_shift = leading_zeros(head);
    unsigned divisor_shift = leading_zeros(divisor);
    head <<= head_shift;
    divisor <<= divisor_shift;
    /* Half of the head on top keeps the quotient below 2^64 and above 2^62. */
    wide n = { head >> 1, head << 63 };
    bool is_exact;
    uint64_t q = divide_wide(n, divisor, &is_exact);
    return round_to_double(q, (int64_t)divisor_shift - head_shift - 63 - k, !is_exact);
}

/* ---- Big integers ---- */

/* Room for 770 digits against 10^1100, and for 10^324 × 2^60 when writing. */
#define BIG_LIMBS 136
typedef struct big {
    unsigned len; /* limbs in use; the top one isn't zero */
    uint32_t limb[BIG_LIMBS];
} big;

static void big_set(big *b, uint64_t value) {
    b->len = 0;
    for (; value != 0; value >>= 32) {
        b->limb[b->len++] = (uint32_t)value;
    }
}

static void big_copy(big *to, const big *from) {
    to->len = from->len;
    memcpy(to->limb, from->limb, from->len * sizeof from->limb[0]);
}

static void big_trim(big *b) {
    while (b->len > 0 && b->limb[b->len - 1] == 0) {
        b->len--;
    }
}

static void big_multiply(big *b, uint32_t factor, uint32_t carry_in) {
    uint64_t carry = carry_in;
    for (unsigned i = 0; i < b->len; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry == 0) return;
    assert(b->len < BIG_LIMBS);
    b->limb[b->len++] = (uint32_t)carry;
}

static void big_multiply_pow5(big *b, int64_t k) {
    assert(k >= 0);
    for (; k >= 13; k -= 13) {
        big_multiply(b, 1220703125, 0); /* 5^13 */
    }
    big_multiply(b, (uint32_t)pow5((unsigned)k), 0);
}

static void big_shift(big *b, int64_t bits) {
    assert(bits >= 0);
    unsigned limbs = (unsigned)(bits / 32);
    unsigned rest = (unsigned)(bits % 32);
    if (b->len == 0 || bits == 0) return;
    assert(b->len + limbs < BIG_LIMBS);
    uint32_t carry = 0;
    memmove(b->limb + limbs, b->limb, b->len * sizeof b->limb[0]);
    memset(b->limb, 0, limbs * sizeof b->limb[0]);
    b->len += limbs;
    for (unsigned i = limbs; rest != 0 && i < b->len; i++) {
        uint32_t limb = b->limb[i];
        b->limb[i] = limb << rest | carry;
        carry = limb >> (32 - rest);
    }
    if (carry != 0) b->limb[b->len++] = carry;
}

static int64_t big_bits(const big *b) {
    return b->len == 0 ? 0 : (int64_t)b->len * 32 - leading_zeros(b->limb[b->len - 1]) + 32;
}

static int big_compare(const big *a, const big *b) {
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    for (unsigned i = a->len; i-- > 0;) {
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

/* a -= factor × b; the result isn't negative. */
static void big_subtract(big *a, const big *b, uint32_t factor) {
    uint64_t carry = 0;
    uint64_t borrow = 0;
    for (unsigned i = 0; i < a->len && (i < b->len || carry != 0 || borrow != 0); i++) {
        if (i < b->len) carry += (uint64_t)b->limb[i] * factor;
        uint64_t diff = (uint64_t)a->limb[i] - (uint32_t)carry - borrow;
        a->limb[i] = (uint32_t)diff;
        borrow = diff >> 63;
        carry >>= 32;
    }
    assert(carry == 0 && borrow == 0);
    big_trim(a);
}

/* a + b compared with c. */
static int big_compare_sum(const big *a, const big *b, const big *c) {
    big sum;
    big_copy(&sum, a->len >= b->len ? a : b);
    const big *less = a->len >= b->len ? b : a;
    uint64_t carry = 0;
    for (unsigned i = 0; i < sum.len; i++) {
        carry += (uint64_t)sum.limb[i] + (i < less->len ? less->limb[i] : 0);
        sum.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        assert(sum.len < BIG_LIMBS);
        sum.limb[sum.len++] = (uint32_t)carry;
    }
    return big_compare(&sum, c);
}

/* The highest 64 bits; *sticky is set if anything below them isn't zero. The value is about top × 2^(bits - 64). */
static uint64_t big_top(const big *b, bool *sticky) {
    uint64_t top = 0;
    int64_t bits = big_bits(b);
    assert(bits >= 64); /* 20 digits, or a factor of 5^28 */
    for (int64_t i = bits - 1; i >= bits - 64; i--) {
        top = top << 1 | (b->limb[i / 32] >> (i % 32) & 1);
    }
    for (int64_t i = 0; i < bits - 64 && !*sticky; i += 32) {
        uint32_t limb = b->limb[i / 32];
        int64_t below = bits - 64 - i;
        *sticky = (below < 32 ? limb << (32 - below) : limb) != 0;
    }
    return top;
}

/* Divide by a divisor whose top bit is set, for n < 2^32 × d: the quotient; n becomes the rest. */
static uint64_t big_divide_digit(big *n, const big *d) {
    uint64_t high = n->len > d->len ? n->limb[d->len] : 0;
    high = n->len >= d->len ? high << 32 | n->limb[d->len - 1] : 0;
    uint64_t q = high / ((uint64_t)d->limb[d->len - 1] + 1); /* never too large, at most a little too small */
    if (q != 0) big_subtract(n, d, (uint32_t)q);
    for (; big_compare(n, d) >= 0; q++) {
        big_subtract(n, d, 1);
    }
    return q;
}

/* ---- Reading, the exact way ---- */

/* No midpoint of two doubles has more significant digits than 767: what follows can only break a tie. */
#define EXACT_DIGITS 770

/* The first digits as an integer; returns how many were left out, *sticky if one of those isn't zero. */
static int64_t load_digits(big *n, const decimal *d, bool *sticky) {
    int64_t taken = 0;
    big_set(n, 0);
    for (const char *p = d->first; p < d->last; p++) {
        if (*p == '.') continue;
        if (taken == EXACT_DIGITS) {
            *sticky = *sticky || *p != '0';
            continue;
        }
        big_multiply(n, 10, (uint32_t)(*p - '0'));
        taken++;
    }
    return d->count - taken;
}

static double exact_to_double(const decimal *d) {
    big n;
    bool sticky = false;
    int64_t exponent = d->exponent + load_digits(&n, d, &sticky);
    if (exponent >= 0) {
        big_multiply_pow5(&n, exponent);
        uint64_t top = big_top(&n, &sticky);
        return round_to_double(top, big_bits(&n) - 64 + exponent, sticky);
    }
    big divisor;
    big_set(&divisor, 1);
    big_multiply_pow5(&divisor, -exponent);
    /* Align the divisor to whole limbs, then the number to just below the divisor: the quotient has 63 or 64 bits. */
    int64_t up = (32 - big_bits(&divisor) % 32) % 32;
    big_shift(&divisor, up);
    int64_t shift = big_bits(&divisor) - 1 - big_bits(&n);
    if (shift < 0) {
        int64_t whole = (-shift + 31) / 32 * 32; /* keeps the alignment */
        big_shift(&divisor, whole);
        up += whole;
        shift += whole;
    }
    big_shift(&n, shift + 32);
    uint64_t q = big_divide_digit(&n, &divisor);
    big_shift(&n, 32);
    q = q << 32 | big_divide_digit(&n, &divisor);
    return round_to_double(q, up - shift - 64 + exponent, sticky || n.len != 0);
}

/* Exact in a double up to 10^22. */
static const double small_powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
#define MAX_SMALL_POWER 22

static double magnitude_to_double(const decimal *d) {
    if (d->count == 0) return 0;
    if (d->count + d->exponent > DBL_MAX_10_EXP + 2) return DBL_MAX;
    if (d->count + d->exponent < -330) return 0;
    if (d->count > HEAD_DIGITS) return exact_to_double(d);

    /* Wider intermediate results (x87) would round twice. */
    bool is_plain = FLT_EVAL_METHOD == 0 && d->head <= HIDDEN_BIT * 2;
    if (is_plain && d->exponent >= 0 && d->exponent <= MAX_SMALL_POWER) {
        return (double)d->head * small_powers[d->exponent];
    }
    if (is_plain && d->exponent < 0 && d->exponent >= -MAX_SMALL_POWER) {
        return (double)d->head / small_powers[-d->exponent];
    }
    if (d->exponent >= 0 && d->exponent <= MAX_POW5) return scale_up(d->head, (unsigned)d->exponent);
    if (d->exponent < 0 && d->exponent >= -MAX_POW5) return scale_down(d->head, (unsigned)-d->exponent);
    return exact_to_double(d);
}

double decimal_to_double(const decimal *d) {
    double magnitude = magnitude_to_double(d);
    return d->negative ? -magnitude : magnitude;
}

bool json_number(uar_str token, double *out) {
    decimal d;
    const char *stop;
    if (token.len == 0) return false;
    const char *end = token.ptr + token.len;
    if (!decimal_scan(&d, token.ptr, end, &stop) || stop != end) return false;
    *out = decimal_to_double(&d);
    return true;
}

/* ---- Writing ---- */

#define SHORTEST_DIGITS 17
typedef struct digits {
    unsigned count;
    int point; /* the value is 0.DDD × 10^point */
    char text[SHORTEST_DIGITS + 1];
} digits;

static void digits_of_integer(digits *out, uint64_t value, int exponent) {
    char reversed[20];
    unsigned n = 0;
    assert(value != 0);
    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    out->point = (int)n + exponent;
    unsigned zeros = 0;
    while (zeros + 1 < n && reversed[zeros] == '0') {
        zeros++;
    }
    out->count = n - zeros;
    assert(out->count <= SHORTEST_DIGITS);
    for (unsigned i = 0; i < out->count; i++) {
        out->text[i] = reversed[n - 1 - i];
    }
}

/*
 * Decimals of at most 15 digits and a few places, as people write them. Such a decimal is the only one of its length
 * that reads back as the value, so the first found is the shortest.
 */
static bool short_decimal(digits *out, double value) {
    if (FLT_EVAL_METHOD != 0 || value >= 1e15 || value < 1e-5) return false;
    for (int places = 0; places <= 15; places++) {
        double scaled = value * small_powers[places] + 0.5;
        if (scaled >= 1e15) return false;
        uint64_t whole = (uint64_t)scaled;
        if ((double)whole / small_powers[places] == value) {
            digits_of_integer(out, whole, -places);
            return true;
        }
    }
    return false;
}

/* value = rest / scale; half of the gap to each neighbour is above / scale and below / scale. */
typedef struct generator {
    big rest, scale, above, below;
    bool includes_ends; /* the ends of the interval read back as the value too */
} generator;

static void generator_init(generator *g, uint64_t fraction, int exponent, bool is_lower_gap_half) {
    int extra = is_lower_gap_half ? 2 : 1;
    g->includes_ends = (fraction & 1) == 0;
    big_set(&g->rest, fraction);
    big_set(&g->scale, 1);
    big_set(&g->above, is_lower_gap_half ? 2 : 1);
    big_set(&g->below, 1);
    if (exponent >= 0) {
        big_shift(&g->rest, exponent + extra);
        big_shift(&g->scale, extra);
        big_shift(&g->above, exponent);
        big_shift(&g->below, exponent);
    } else {
        big_shift(&g->rest, extra);
        big_shift(&g->scale, extra - exponent);
    }
}

static bool reaches_above(const generator *g) {
    int order = big_compare_sum(&g->rest, &g->above, &g->scale);
    return g->includes_ends ? order >= 0 : order > 0;
}

static bool reaches_below(const generator *g) {
    int order = big_compare(&g->rest, &g->below);
    return g->includes_ends ? order <= 0 : order < 0;
}

static void multiply_pow10(big *b, int k) {
    big_multiply_pow5(b, k);
    big_shift(b, k);
}

/* Bring the value into [0.1, 1) and return the power of ten that it took. `power` is the value's binary exponent. */
static int generator_normalise(generator *g, int power) {
    /* 1233 / 4096 is log10(2), a little less: together with the step down for negative ones never too large. */
    int k = power >= 0 ? power * 1233 / 4096 : -((-power * 1233 + 4095) / 4096);
    if (k < 0) k--;
    if (k >= 0) {
        multiply_pow10(&g->scale, k);
    } else {
        multiply_pow10(&g->rest, -k);
        multiply_pow10(&g->above, -k);
        multiply_pow10(&g->below, -k);
    }
    while (reaches_above(g)) {
        big_multiply(&g->scale, 10, 0);
        k++;
    }
    return k;
}

static unsigned next_digit(generator *g) {
    unsigned digit = 0;
    big_multiply(&g->rest, 10, 0);
    big_multiply(&g->above, 10, 0);
    big_multiply(&g->below, 10, 0);
    for (; big_compare(&g->rest, &g->scale) >= 0; digit++) {
        big_subtract(&g->rest, &g->scale, 1);
    }
    assert(digit <= 9);
    return digit;
}

/* The interval holds this digit, the next higher, or both: take the nearer, the even one half way. */
static bool rounds_up(const generator *g, unsigned digit, bool low_fits, bool high_fits) {
    if (low_fits != high_fits) return high_fits;
    int order = big_compare_sum(&g->rest, &g->rest, &g->scale);
    return order > 0 || (order == 0 && digit % 2 != 0);
}

static void shortest_digits(digits *out, uint64_t bits) {
    int field = (int)(bits >> 52);
    uint64_t fraction = bits & (HIDDEN_BIT - 1);
    bool is_lower_gap_half = fraction == 0 && field > 1;
    if (field != 0) fraction |= HIDDEN_BIT;
    int exponent = (field != 0 ? field : 1) - 1075;

    generator g;
    generator_init(&g, fraction, exponent, is_lower_gap_half);
    out->point = generator_normalise(&g, exponent + 63 - (int)leading_zeros(fraction));
    out->count = 0;
    for (;;) {
        unsigned digit = next_digit(&g);
        bool low_fits = reaches_below(&g);
        bool high_fits = reaches_above(&g);
        bool is_last = low_fits || high_fits;
        if (is_last && rounds_up(&g, digit, low_fits, high_fits)) digit++;
        assert(digit <= 9 && out->count < SHORTEST_DIGITS);
        out->text[out->count++] = (char)('0' + digit);
        if (is_last) return;
    }
}

static void append_zeros(buffer *out, int count) {
    for (; count > 0; count--) {
        buffer_append_char(out, '0');
    }
}

/* Plain from 1e-6 to below 1e21, else with an exponent: the forms that JSON writers of browsers use. */
static void append_digits(buffer *out, const digits *d) {
    int count = (int)d->count;
    if (d->point > 21 || d->point < -5) {
        buffer_append(out, d->text, 1);
        if (count > 1) buffer_append_char(out, '.');
        buffer_append(out, d->text + 1, d->count - 1);
        buffer_append_char(out, 'e');
        if (d->point > 0) buffer_append_char(out, '+');
        buffer_append_i64(out, d->point - 1);
    } else if (d->point <= 0) {
        buffer_append_text(out, "0.");
        append_zeros(out, -d->point);
        buffer_append(out, d->text, d->count);
    } else if (d->point >= count) {
        buffer_append(out, d->text, d->count);
        append_zeros(out, d->point - count);
    } else {
        buffer_append(out, d->text, (size_t)d->point);
        buffer_append_char(out, '.');
        buffer_append(out, d->text + d->point, (size_t)(count - d->point));
    }
}

void json_append_double(buffer *out, double value) {
    uint64_t bits = bits_of_double(value);
    uint64_t magnitude = bits & ~TOP_BIT;
    if (magnitude >> 52 == 0x7FF) {
        buffer_append_text(out, "null");
        return;
    }
    if (bits != magnitude) buffer_append_char(out, '-');
    if (magnitude == 0) {
        buffer_append_char(out, '0');
        return;
    }
    digits d;
    double positive = double_of_bits(magnitude);
    if (!short_decimal(&d, positive)) shortest_digits(&d, magnitude);
    append_digits(out, &d);
}
